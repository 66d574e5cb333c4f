//! Evaluations that are made again on the text that they name: honest ones come out, changed ones do not.

use std::path::Path;

use repro_core::digest::Digest;
use serde_json::{Value as Json, json};

use crate::replay::{changed, edit_json, repro};

const RUN: &str = "torch-dense";
const RECORD: &str = "evaluation/step-000040.json";
/// More bytes than PyTorch's model sees in a row, and a shorter row at the end.
const TOKENS: usize = 700;

/// A text of bytes that no batch of the run has.
fn text() -> Vec<u8> {
    (0..=TOKENS).map(|at| b"Evaluations are made again. "[at * at % 28]).collect()
}

/// Has an evaluation name its text, with this mean loss over it.
fn names_text(data: &Path, tokens: &[u8], loss: f64) {
    edit_json(&data.join(RECORD), |record| {
        let nats = loss * TOKENS as f64;
        *record = json!({
            "step": 40, "tokens_seen": record["tokens_seen"], "predicted_tokens": TOKENS, "bytes": TOKENS,
            "nats": nats, "loss": loss, "bpb": nats / (std::f64::consts::LN_2 * TOKENS as f64),
            "held_out": {
                "tokens": {"file": "val.bin", "dtype": "uint8", "sha256": Digest::of(tokens).to_string()},
                "text": {"file": "val.txt", "sha256": Digest::of(tokens).to_string()},
            },
        });
    });
}

/// What a replay of the slice says where the text is at hand, and the status that it ends with.
fn replayed(at_hand: &[u8], change: impl FnOnce(&Path)) -> (i32, Json) {
    let (folder, _) = changed(RUN, change);
    let data = folder.path().join("texts");
    std::fs::create_dir(&data).unwrap();
    for file in ["val.bin", "val.txt"] {
        std::fs::write(data.join(file), at_hand).unwrap();
    }
    let ran = repro(
        folder.path(),
        &["replay", RUN, "--slice", "40..46", "--data", "texts", "--format", "json"],
    );
    let answer: Json =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let of_one = answer.get("replays").map_or(answer.clone(), |all| all[0].clone());
    (ran.code, of_one)
}

/// The mean loss of the fixture over the text.
fn true_loss() -> f64 {
    let text = text();
    let (_, answer) = replayed(&text, |data| names_text(data, &text, 1.0));
    answer["evaluations"][0]["repeated"].as_f64().unwrap()
}

#[test]
fn an_honest_evaluation_comes_out_again_and_a_changed_one_does_not() {
    let (text, loss) = (text(), true_loss());
    let honest = replayed(&text, |data| names_text(data, &text, loss));
    assert_eq!((honest.0, honest.1["verdict"].as_str()), (0, Some("verified")), "{}", honest.1);
    assert_eq!(honest.1["evaluations"][0]["bytes"], TOKENS as u64 + 1);
    let unseen = honest.1["cannot_be_seen"].to_string();
    assert!(unseen.contains("all evaluations except those at step 40"), "{unseen}");

    for (factor, code, verdict) in [
        (1.00005, 0, "verified"),
        (1.003, 3, "inconclusive"),
        (0.997, 3, "inconclusive"),
        (0.97, 1, "refuted"),
        (1.5, 1, "refuted"),
    ] {
        let found = replayed(&text, |data| names_text(data, &text, loss * factor));
        assert_eq!((found.0, found.1["verdict"].as_str()), (code, Some(verdict)), "{factor}");
    }
}

#[test]
fn bytes_are_counted_again() {
    let (text, loss) = (text(), true_loss());
    let (code, answer) = replayed(&text, |data| {
        names_text(data, &text, loss);
        edit_json(&data.join(RECORD), |record| {
            record["bytes"] = (TOKENS * 115 / 100).into();
            let bytes = record["bytes"].as_f64().unwrap();
            record["bpb"] =
                (record["nats"].as_f64().unwrap() / (std::f64::consts::LN_2 * bytes)).into();
        });
    });
    assert_eq!(
        (code, answer["code"].as_str()),
        (1, Some("replay::evaluation-mismatch")),
        "{answer}"
    );
    assert_eq!(
        answer["reason"],
        "the evaluation at step 40: `val.txt` has 701 bytes, the log has 805"
    );
}

/// A text that is not at hand, or is another one, decides nothing.
#[test]
fn another_text_decides_nothing() {
    let (text, loss) = (text(), true_loss());
    let mut other = text.clone();
    other[5] = b'x';
    let (code, answer) = replayed(&other, |data| names_text(data, &text, loss * 0.5));
    assert_eq!((code, answer["verdict"].as_str()), (0, Some("verified")), "{answer}");
    let why = answer["evaluations"][0]["not_made"].as_str().unwrap();
    assert!(why.contains("a different digest"), "{why}");
}

#[test]
fn batches_that_stand_in_the_evaluated_text_are_told() {
    let (folder, _) = changed(RUN, |_| ());
    let slice = folder.path().join(RUN).join("data/slices/slice-000040.safetensors");
    let slice = repro_replay::TensorFile::parse("t", &std::fs::read(slice).unwrap()).unwrap();
    let tokens = slice.tensors["tokens"].as_numbers().unwrap();
    let mut trained: Vec<u8> =
        tokens.iter().map(|token| *token as u8).cycle().take(TOKENS + 1).collect();
    trained.truncate(TOKENS + 1);
    let seen = |loss: f64| replayed(&trained, |data| names_text(data, &trained, loss));
    let loss = seen(1.0).1["evaluations"][0]["repeated"].as_f64().unwrap();
    let (code, answer) = seen(loss);
    assert_eq!(
        (code, answer["code"].as_str()),
        (3, Some("replay::trained-on-evaluation")),
        "{answer}"
    );
}
