//! What an evaluation writes is what claims read: files of two runs, sealed as bundles, under a post.

use std::path::Path;

use repro_bundle::bundle::{BundleWriter, Checkpoint, Origin, Receipt, Run};
use repro_core::source::Error;
use repro_replay::data::{HeldOutDocument, Tokenizer};
use repro_replay::evaluate::{Evaluation, HeldOut, evaluate};
use repro_replay::record::Record;
use repro_replay::scorer::{RowScores, Scorer};
use repro_replay::tasks::Suite;
use repro_report::outcome::Verdict;
use repro_verify::verify::{Demands, verify};

/// A source that has seen a text: a token costs less, the more often it followed the one before.
struct Bigrams([[u32; 256]; 256]);

impl Bigrams {
    fn of(text: &str) -> Self {
        let mut counts = [[1; 256]; 256];
        for pair in text.as_bytes().windows(2) {
            counts[usize::from(pair[0])][usize::from(pair[1])] += 1;
        }
        Self(counts)
    }
}

impl Scorer for Bigrams {
    type Failure = Error;

    fn length(&self) -> usize {
        48
    }

    fn rows(&mut self, inputs: &[u32], targets: &[u32], _: usize) -> Result<RowScores, Error> {
        let of = |(before, next): (&u32, &u32)| {
            let counts = &self.0[*before as usize];
            let (count, all) = (counts[*next as usize], counts.iter().sum::<u32>());
            let most = counts.iter().max() == Some(&count);
            ((f64::from(all) / f64::from(count)).ln() as f32, most)
        };
        let (nats, greedy) = inputs.iter().zip(targets).map(of).unzip();
        Ok(RowScores {
            nats,
            greedy,
            loads: vec![vec![inputs.len() as u64, targets.len() as u64 / 2]],
        })
    }
}

const TEXT: &str = "the cat sat on the mat. the rat ate the oat. a cat sat there.\n";

/// A task list with its items and baselines, as users have them.
fn suite(folder: &Path) -> Suite {
    let choices = |at: usize| {
        let (noun, other) = [("cat", "xat"), ("mat", "mzt"), ("qat", "rat")][at % 3];
        format!(
            "{{\"query\": \"item {at}: the\", \"choices\": [\"{noun}\", \"{other}\"], \"gold\": {}}}\n",
            at % 2
        )
    };
    let contexts = |at: usize| {
        format!(
            "{{\"context_options\": [\"{at} a c\", \"{at} a q\"], \"continuation\": \"at sat\", \"gold\": {}}}\n",
            usize::from(at.is_multiple_of(5))
        )
    };
    let texts = |at: usize| {
        format!("{{\"context\": \"{at} th\", \"continuation\": \"{}\"}}\n", ["e", "a"][at % 2])
    };
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    write("choices.jsonl", (0..37).map(choices).collect());
    write("contexts.jsonl", (0..21).map(contexts).collect());
    write("texts.jsonl", (0..18).map(texts).collect());
    let entry = |label: &str, kind: &str, shots: usize| {
        format!(
            "- label: {label}\n  dataset_uri: {label}.jsonl\n  icl_task_type: {kind}\n  num_fewshot: [{shots}]\n"
        )
    };
    let joined = "  continuation_delimiter: \"\"\n";
    let list = entry("choices", "multiple_choice", 2)
        + &entry("contexts", "schema", 0)
        + joined
        + &entry("texts", "language_modeling", 1)
        + joined;
    write("core.yaml", format!("icl_tasks:\n{list}"));
    write("baselines.csv", "Eval Task,Random baseline\nchoices,50\ncontexts,50\ntexts,0\n".into());
    Suite::load(&folder.join("core.yaml"), Some(&folder.join("baselines.csv")), 7).unwrap()
}

/// Evaluates what has seen `seen`, and seals what it writes as the bundle of the run `id`.
fn run(root: &Path, suite: &Suite, id: &str, seen: &str) -> Evaluation {
    let document = |text: &str| HeldOutDocument {
        text: text.to_owned(),
        tokens: text.bytes().map(u32::from).collect(),
    };
    let tokenizer = Tokenizer::bytes();
    let documents: Vec<_> = (0..300).map(|_| document(TEXT)).collect();
    let mut source = Bigrams::of(seen);
    let text = evaluate(&mut source, &HeldOut::of(&documents, &tokenizer).unwrap()).unwrap();
    let tasks = Some(suite.evaluate(&mut source, &tokenizer).unwrap());
    let record =
        Record { step: 40, tokens_seen: 40_960, tensors_sha256: None, text: text.clone(), tasks };
    let mut writer = BundleWriter::create(&root.join("receipts").join(id)).unwrap();
    writer.json("data/config.json", &serde_json::json!({"experts": 2, "active": 1})).unwrap();
    for (name, text) in record.files(true).unwrap() {
        writer.file(&name, text.as_bytes()).unwrap();
    }
    let baselines = std::fs::read(root.join("baselines.csv")).unwrap();
    writer.file("data/baselines.csv", &baselines).unwrap();
    let run = Run { id: id.into(), study: None, arm: None, plan_commit: None, finished: None };
    let checkpoint = Checkpoint {
        step: 40,
        tokens_seen: Some(40_960),
        evaluation: Some(Record::name(40)),
        weights: None,
        weights_sha256: None,
        tensors_sha256: None,
    };
    let receipt =
        Receipt { run: Some(run), checkpoints: vec![checkpoint], ..Receipt::new(Origin::Emitted) };
    writer.finish(&receipt).unwrap();
    text
}

/// The p of McNemar's exact test on the task `contexts`, from the bits of two files.
fn mcnemar(first: &str, second: &str) -> f64 {
    let bits = |text: &str| {
        let lines =
            text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let line = lines.into_iter().find(|line| line["task"] == "contexts").unwrap();
        u64::from_str_radix(line["bits"].as_str().unwrap(), 16).unwrap()
    };
    let (a, b) = (bits(first), bits(second));
    let (a_only, b_only) = ((a & !b).count_ones(), (b & !a).count_ones());
    repro_stats::proportion::mcnemar(a_only.into(), b_only.into()).unwrap().exact
}

#[test]
fn claims_read_what_an_evaluation_writes() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path());
    let first = run(folder.path(), &suite, "first", TEXT);
    let second = run(folder.path(), &suite, "second", "a qat, a qat");
    assert!(first.bits_per_byte() < second.bits_per_byte());
    assert_eq!((first.bytes, first.blocks.len()), (300 * TEXT.len() as u64, 2));
    let in_file = |bundle: &str, ending: &str| {
        let folder = folder.path().join(format!("receipts/{bundle}/data/evaluation"));
        std::fs::read_to_string(folder.join(format!("step-000040.{ending}"))).unwrap()
    };
    let table = in_file("first", "tasks.csv");
    let cells = |row: usize| -> Vec<String> {
        table.lines().nth(row).unwrap().split(',').map(str::to_owned).collect()
    };
    assert_eq!(cells(0).join(","), "task,type,n,correct,accuracy,baseline,centered");
    let centered: f64 = (1..4).map(|row| cells(row)[6].parse::<f64>().unwrap()).sum::<f64>() / 3.0;
    let accuracy: f64 = cells(1)[4].parse().unwrap();
    assert!(accuracy > 0.3 && accuracy < 0.9, "{table}");
    let record = in_file("first", "json");
    assert!(record.contains("\"few_shot_seed\":\"7\"") && !record.contains("\"core\""), "{record}");
    let bits = first.bits_per_byte();
    // The quote and what it is, or says. The second source was asked the same items.
    let paired = mcnemar(&in_file("first", "outcomes.jsonl"), &in_file("second", "outcomes.jsonl"));
    let sentences = [
        (format!("{bits} bits per byte"), "is = \"one.nats / (one.bytes * ln(2))\"".to_owned()),
        (
            format!("{bits:.4} bits"),
            "is = \"one.loss * one.predicted_tokens / (one.bytes * ln(2))\"".into(),
        ),
        (
            format!("right in {} of the choices", cells(1)[4]),
            "is = \"table.choices.correct / table.choices.n\"".into(),
        ),
        (
            format!("a score of {centered}"),
            "is = \"core(one.tasks, baselines = baselines, tasks = 'given')\"".into(),
        ),
        (
            format!("a mean centred accuracy of {centered:.3}"),
            "is = \"core(one.tasks, tasks = 'given')\"".into(),
        ),
        (
            format!("p = {paired:.4}"),
            "is = \"mcnemar(one.tasks, two.tasks, task = 'contexts')\"".into(),
        ),
        (
            "they differ on contexts".into(),
            "says = \"significant(mcnemar(one.tasks, two.tasks, task = 'contexts'))\"".into(),
        ),
    ];
    let mut post = String::from(
        "schema = \"repro.post/2\"\nid = \"post\"\ntitle = \"T\"\ntext = \"post.md\"\n[names]\none = \"first\"\n\
         two = \"second\"\nbaselines = \"first:data/baselines.csv\"\n\
         table.choices = \"first:data/evaluation/step-000040.tasks.csv#0\"\n",
    );
    let mut text = String::new();
    for (quote, what) in &sentences {
        post += &format!("[[sentence]]\nquote = \"{quote}\"\n{what}\n");
        text += &format!("{quote}.\n");
    }
    std::fs::create_dir_all(folder.path().join("repro")).unwrap();
    std::fs::write(folder.path().join("repro/post.toml"), post).unwrap();
    std::fs::write(folder.path().join("repro/post.md"), text).unwrap();
    let report = verify(folder.path(), &["post".to_owned()], &Demands::default(), 2);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    for claim in &report.posts[0].claims {
        assert_eq!(claim.outcome.verdict, Verdict::Verified, "{claim:?}");
    }
    assert_eq!(report.posts[0].claims.len(), sentences.len());
}
