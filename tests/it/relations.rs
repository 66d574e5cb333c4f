//! Bundles that are intact and contradict themselves: a real bundle is edited, and its digests are made right again.

use std::fs;
use std::path::{Path, PathBuf};

use repro_bundle::bundle::{Bundle, Chain, seal};
use repro_claim::relation::consistency::{self, SelfConsistency};
use repro_core::digest::{Digest, canonical};
use repro_replay::{TensorData, TensorFile};
use repro_report::outcome::{Report, Verdict};
use repro_verify::verify::{Demands, inspect_all};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::sealed::new_folder;

const BUNDLE: &str = "tiny-moe-moe-active12-s1";
const METRICS: &str = "metrics.jsonl";

/// A copy of a real bundle.
struct Copy {
    folder: TempDir,
}

impl Copy {
    fn new() -> Self {
        let folder = new_folder();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("receipts").join(BUNDLE);
        copy(&from, &folder.path().join(BUNDLE));
        Self { folder }
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.folder.path().join(BUNDLE).join("data").join(file)
    }

    /// What is found in the bundle when a file of it has these bytes; the file is put back.
    fn with(&self, file: &str, text: &str) -> Vec<&'static str> {
        let path = self.path(file);
        let before = fs::read(&path).unwrap();
        fs::write(&path, text).unwrap();
        let found = self.found();
        fs::write(&path, before).unwrap();
        found
    }

    /// The same of a file of tensors, whose digest the receipt repeats.
    fn with_bytes(&self, file: &str, bytes: &[u8]) -> Vec<&'static str> {
        let path = self.path(file);
        let (before, receipt) = (fs::read(&path).unwrap(), self.path("receipt.json"));
        let stated = fs::read_to_string(&receipt).unwrap();
        fs::write(&path, bytes).unwrap();
        let (old, new) = (Digest::of(&before).to_string(), Digest::of(bytes).to_string());
        fs::write(&receipt, stated.replace(&old, &new)).unwrap();
        let found = self.found();
        fs::write(&path, before).unwrap();
        fs::write(&receipt, stated).unwrap();
        found
    }

    /// The same, where the bundle may be refused.
    fn anything(&self, file: &str, text: &str) -> Vec<String> {
        let path = self.path(file);
        let (before, receipt) =
            (fs::read(&path).unwrap(), fs::read(self.path("receipt.json")).unwrap());
        fs::write(&path, text).unwrap();
        let bundle = self.folder.path().join(BUNDLE);
        let found = match seal(&bundle, BUNDLE, None) {
            Err(error) => vec![error.code.id.to_owned()],
            Ok(_) => {
                let mut report = Report::default();
                inspect_all(&[&bundle], &Demands::default(), 1, None, &mut report);
                let refused = report.failures.iter().map(|error| error.code.id.to_owned());
                let claims = report.posts.iter().flat_map(|post| &post.claims);
                let refuted = claims.filter(|claim| claim.outcome.verdict == Verdict::Refuted);
                refused
                    .chain(refuted.filter_map(|claim| Some(claim.outcome.code?.id.to_owned())))
                    .collect()
            }
        };
        fs::write(self.path("receipt.json"), receipt).unwrap();
        fs::write(&path, before).unwrap();
        found
    }

    fn found(&self) -> Vec<&'static str> {
        let bundle = self.folder.path().join(BUNDLE);
        let receipt = fs::read(self.path("receipt.json")).unwrap();
        seal(&bundle, BUNDLE, None).unwrap();
        let mut report = Report::default();
        inspect_all(&[&bundle], &Demands::default(), 1, None, &mut report);
        fs::write(self.path("receipt.json"), receipt).unwrap();
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let claims = report.posts.iter().flat_map(|post| &post.claims);
        let refuted = claims.filter(|claim| claim.outcome.verdict == Verdict::Refuted);
        refuted.filter_map(|claim| Some(claim.outcome.code?.id)).collect()
    }

    /// The same where the value behind a pointer of a JSON file is another.
    fn edited(&self, file: &str, pointer: &str, value: &str) -> Vec<&'static str> {
        let text = fs::read_to_string(self.path(file)).unwrap();
        let mut document: Json = serde_json::from_str(&text).unwrap();
        let place = document.pointer_mut(pointer).unwrap_or_else(|| panic!("{file} {pointer}"));
        *place = serde_json::from_str(value).unwrap();
        let line = canonical(&document).unwrap();
        self.with(file, &format!("{line}\n"))
    }

    /// The same where lines of the log are others; its chain is made again.
    fn logged(&self, edit: impl FnOnce(&mut Vec<Json>)) -> Vec<&'static str> {
        let text = fs::read_to_string(self.path(METRICS)).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        edit(&mut lines);
        let mut chain = Chain::default();
        let all = lines.iter().map(|line| chain.extend(line.as_object().unwrap().clone()).unwrap());
        self.with(METRICS, &all.collect::<String>())
    }
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn has(found: &[&str], code: &str, what: &str) {
    assert!(found.contains(&code), "{what}: {found:?} without {code}");
}

#[test]
fn a_bundle_that_agrees_with_itself_has_no_finding() {
    assert!(Copy::new().found().is_empty());
}

#[test]
fn contradictions_of_documents_are_found() {
    let copy = Copy::new();
    let evaluation = "evaluation/step-000725.json";
    for (file, pointer, value, code) in [
        (evaluation, "/loss", "1.5", "evaluations::loss"),
        (evaluation, "/bpb", "2.1", "evaluations::bpb"),
        (evaluation, "/nats", "900000.5", "evaluations::loss"),
        (evaluation, "/nats", "900000.5", "evaluations::block-sum"),
        (evaluation, "/blocks/3", "20000.5", "evaluations::block-sum"),
        (evaluation, "/blocks", "[1.5]", "evaluations::block-count"),
        (evaluation, "/block_bytes", "8192", "evaluations::block-count"),
        (evaluation, "/step", "726", "evaluations::file-name"),
        (evaluation, "/step", "726", "evaluations::step"),
        (evaluation, "/step", "726", "evaluations::planned-missing"),
        (evaluation, "/step", "726", "evaluations::unplanned"),
        (evaluation, "/tokens_seen", "1484801", "evaluations::tokens-seen"),
        (evaluation, "/tokens_seen", "1484801", "evaluations::receipt-tokens-seen"),
        (evaluation, "/bytes", "633933", "evaluations::text-length"),
        (evaluation, "/bytes", "633933", "evaluations::validation-bytes"),
        (evaluation, "/predicted_tokens", "633931", "evaluations::token-count"),
        (evaluation, "/router/layers/0/max_load", "0.9", "routers::max-load"),
        (evaluation, "/router/layers/1/max_load", "0.45", "routers::load-above-cv"),
        (evaluation, "/router/layers/0/cv", "1.5", "routers::load-below-cv"),
        (evaluation, "/router/layers/2/entropy", "2.5", "routers::entropy-range"),
        (evaluation, "/router/layers/2/entropy", "0.5", "routers::entropy-below-load"),
        (evaluation, "/router/layers/3/dead", "3", "routers::dead-experts"),
        (evaluation, "/router/layers", "[]", "evaluations::moe-layers"),
        (evaluation, "/tasks/centered", "0.4", "evaluations::core"),
        ("config.json", "/batch_size", "32", "contract::tokens-per-step"),
        ("config.json", "/steps", "1100", "contract::planned-tokens"),
        ("config.json", "/steps", "1100", "records::after-end"),
        ("config.json", "/steps", "1100", "checkpoints::after-end"),
        ("config.json", "/steps", "1300", "records::early-end"),
        ("config.json", "/steps", "970", "slices::after-end"),
        ("config.json", "/seed_init", "2", "receipt::init-seed"),
        ("config.json", "/seed_data", "2", "receipt::data-seed"),
        ("config.json", "/dtype", "\"bfloat16\"", "config::dtype"),
        ("config.json", "/arithmetic", "\"pytorch-f32\"", "receipt::arithmetic"),
        ("config.json", "/model_type", "\"gpt2\"", "receipt::model-family"),
        ("config.json", "/lr", "0.003", "receipt::learning-rate"),
        ("config.json", "/grad_clip", "-1", "config::negative-setting"),
        ("config.json", "/adam_beta1", "1.5", "config::adam-beta"),
        (evaluation, "/router", "{}", "evaluations::routing-missing"),
        (evaluation, "/tasks", "{}", "evaluations::tasks-missing"),
        (evaluation, "/tasks/few_shot_seed", "99", "evaluations::few-shot-seed"),
        ("config.json", "/lr", "0.003", "records::learning-rate"),
        ("config.json", "/lr", "0.003", "records::peak-learning-rate"),
        ("config.json", "/warmup_steps", "60", "records::learning-rate"),
        ("config.json", "/decay_floor", "0.2", "records::learning-rate"),
        ("config.json", "/log_every", "5", "records::gap"),
        ("config.json", "/max_epochs", "0", "data::epoch-limit"),
        (
            "config.json",
            "/checkpoints",
            "[242,484,725,967,1209,1300]",
            "checkpoints::planned-missing",
        ),
        ("config.json", "/checkpoints", "[242,484,725,967]", "checkpoints::unplanned"),
        ("config.json", "/slices", "[{\"from_step\":3,\"steps\":1}]", "slices::planned-missing"),
        ("config.json", "/data/name", "\"tiny\"", "data::name"),
        ("config.json", "/data/tokenizer", "\"gpt2\"", "data::tokenizer"),
        ("receipt.json", "/predicate/seeds/init", "\"7\"", "receipt::init-seed"),
        ("receipt.json", "/predicate/contract/tokens", "2576032", "contract::planned-tokens"),
        ("receipt.json", "/predicate/data/epochs", "2", "data::epochs"),
        ("receipt.json", "/predicate/data/unique_tokens", "5000000", "data::unique-tokens"),
        ("receipt.json", "/predicate/data/unique_tokens", "2000000", "data::unique-byte-count"),
        ("receipt.json", "/predicate/checkpoints/1/step", "485", "checkpoints::file-name"),
        ("receipt.json", "/predicate/checkpoints/1/step", "1000", "checkpoints::order"),
        ("receipt.json", "/predicate/checkpoints/1/tokens_seen", "5", "checkpoints::tokens-seen"),
        ("receipt.json", "/predicate/slices/0/from_step", "1", "slices::file-name"),
        ("receipt.json", "/predicate/slices/1/checkpoint_step", "968", "slices::checkpoint"),
        ("receipt.json", "/predicate/slices/1/from_step", "0", "slices::order"),
        ("receipt.json", "/predicate/slices/1/seconds", "-1", "slices::negative-duration"),
        ("receipt.json", "/predicate/environment/threads", "0", "environment::threads"),
        ("receipt.json", "/predicate/slices/1/checkpoint_step", "900", "slices::checkpoint"),
        ("receipt.json", "/predicate/slices/0/steps", "12", "slices::receipt-step-count"),
        ("receipt.json", "/predicate/model/tensors", "78", "slices::tensor-count-fixed"),
        ("receipt.json", "/predicate/model/tensors", "78", "checkpoints::tensor-count"),
        ("receipt.json", "/predicate/data/epochs", "1.009", "data::epochs"),
        ("receipt.json", "/predicate/environment/memory_bytes", "0", "environment::memory"),
        ("receipt.json", "/predicate/extra/data/train/documents", "0", "data::train-documents"),
        (
            "receipt.json",
            "/predicate/extra/data/validation/documents",
            "0",
            "data::validation-documents",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/development/documents",
            "0",
            "data::development-documents",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/development/bytes",
            "100",
            "data::development-size",
        ),
        ("receipt.json", "/predicate/extra/data/overlap", "{}", "data::missing-field"),
        ("receipt.json", "/predicate/extra/data/source_nats", "5", "data::source-nats-unexpected"),
        (
            "receipt.json",
            "/predicate/extra/data/overlap/shingles_of_13_words/seen",
            "500000",
            "overlap::word-hits",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/overlap/shingles_of_13_words/of",
            "500000",
            "overlap::word-shingles",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/overlap/shingles_of_64_bytes/seen",
            "1000000",
            "overlap::byte-hits",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/overlap/shingles_of_64_bytes/of",
            "1000",
            "overlap::byte-shingles",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/overlap/duplicate_documents/count",
            "99",
            "overlap::duplicate-count",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/overlap/duplicate_documents/count",
            "3",
            "overlap::duplicate-list",
        ),
        (
            "receipt.json",
            "/predicate/extra/data/overlap/duplicate_documents/count",
            "5",
            "overlap::duplicate-hits",
        ),
        ("config.json", "/slices", "[]", "slices::unplanned"),
        ("config.json", "/kept_checkpoints", "[]", "checkpoints::kept-unplanned"),
        ("config.json", "/data/validation/bytes", "1000000", "data::validation-size"),
        ("config.json", "/data/validation/share", "0.5", "data::validation-fraction"),
        ("config.json", "/data/development/share", "0.5", "data::development-fraction"),
        ("config.json", "/tasks", "{}", "evaluations::planned-tasks"),
        ("config.json", "/vocab_size", "100", "slices::token-id"),
        ("config.json", "/batch_size", "32", "slices::batch-size"),
        ("config.json", "/seq_len", "64", "slices::row-length"),
        (evaluation, "/tasks/cut/cloze", "0", "evaluations::truncation"),
        (evaluation, "/tasks/cut/cloze", "5000", "evaluations::truncated-contexts"),
        (evaluation, "/tasks/cut/cloze", "-1", "evaluations::truncated-contexts"),
        (evaluation, "/tasks/cut", "{}", "evaluations::truncation"),
        (evaluation, "/tasks/scoring/cloze", "\"best of five\"", "evaluations::scoring-rule"),
        (evaluation, "/tasks/scoring", "{}", "evaluations::scoring-rules-missing"),
        (evaluation, "/router/layers/0/max_load", "0.30000001", "routers::fractional-tokens"),
        ("receipt.json", "/predicate/extra/lr", "0.001", "receipt::learning-rate"),
        (
            "receipt.json",
            "/predicate/extra/data/validation/sha256",
            "\"00\"",
            "data::validation-digest",
        ),
        (
            "receipt.json",
            "/predicate/data/sha256",
            &format!("\"{}\"", "0".repeat(64)),
            "data::digest",
        ),
    ] {
        let found = copy.edited(file, pointer, value);
        has(&found, code, &format!("{file} {pointer} {value}"));
    }
}

#[test]
fn contradictions_of_tables_and_times_are_found() {
    let copy = Copy::new();
    let (table, outcomes) =
        ("evaluation/step-001209.tasks.csv", "evaluation/step-001209.outcomes.jsonl");
    for (file, from, to, code) in [
        (table, "1000,327,", "1000,328,", "tasks::accuracy"),
        (table, "1000,327,", "1000,328,", "outcomes::correct-count"),
        (table, "1000,327,", "300,327,", "tasks::correct-count"),
        (table, "1000,327,", "300,327,", "outcomes::item-count"),
        (table, ",0.25,", ",0.2,", "tasks::centered-accuracy"),
        (table, ",0.25,", ",0.2,", "evaluations::task-baselines"),
        (table, ",0.25,", ",-0.25,", "tasks::baseline-range"),
        (table, "cloze,", "songs,", "evaluations::task-names"),
        (table, "cloze,", "songs,", "evaluations::outcome-tasks"),
        (table, ",multiple_choice,", ",schema,", "evaluations::task-types"),
        (outcomes, "\"n\":1000", "\"n\":995", "outcomes::extra-bits"),
        (
            outcomes,
            "{",
            "{\"bits\":\"\",\"n\":0,\"task\":\"songs\"}\n{",
            "evaluations::outcome-tasks",
        ),
        (outcomes, "\"bits\":\"c1", "\"bits\":\"f1", "outcomes::correct-count"),
        ("timing.jsonl", "\"step\":20,", "\"step\":2,", "timing::order"),
        ("timing.jsonl", "{\"seconds\":0.5", "{\"seconds\":-0.5", "timing::negative-duration"),
        ("timing.jsonl", "{\"seconds\":0.5", "{\"seconds\":1.5", "timing::token-excess"),
        ("timing.jsonl", "{\"seconds\":0.5", "{\"seconds\":0.0", "timing::fractional-steps"),
        (table, ",0.25,", ",0.1,", "tasks::choice-baseline"),
        (table, ",multiple_choice,", ",schema,", "tasks::cloze-type"),
        (table, "cloze,", "songs,", "evaluations::cloze-task"),
    ] {
        let text = fs::read_to_string(copy.path(file)).unwrap();
        let found = copy.with(file, &text.replacen(from, to, 1));
        has(&found, code, &format!("{file} {to}"));
    }
}

#[test]
fn one_digest_is_of_one_text_and_of_one_checkpoint() {
    let copy = Copy::new();
    let receipt = fs::read_to_string(copy.path("receipt.json")).unwrap();
    let receipt: Json = serde_json::from_str(&receipt).unwrap();
    for (to, from, code) in [
        (
            "/predicate/checkpoints/1/weights_sha256",
            "/predicate/checkpoints/0/weights_sha256",
            "checkpoints::identical-files",
        ),
        (
            "/predicate/checkpoints/2/tensors_sha256",
            "/predicate/checkpoints/0/tensors_sha256",
            "checkpoints::identical-tensors",
        ),
        (
            "/predicate/checkpoints/0/weights_sha256",
            "/predicate/checkpoints/0/tensors_sha256",
            "checkpoints::equal-digests",
        ),
        (
            "/predicate/extra/data/train/sha256",
            "/predicate/extra/data/development/sha256",
            "data::train-is-development",
        ),
        (
            "/predicate/extra/data/development",
            "/predicate/extra/data/validation",
            "data::validation-is-development",
        ),
        (
            "/predicate/extra/data/train/sha256",
            "/predicate/extra/data/validation/sha256",
            "data::train-is-validation",
        ),
        (
            "/predicate/extra/data/development/sha256",
            "/predicate/extra/data/validation/sha256",
            "data::validation-is-development",
        ),
    ] {
        let value = receipt.pointer(from).unwrap().to_string();
        has(&copy.edited("receipt.json", to, &value), code, to);
    }
}

#[test]
fn evaluations_of_two_steps_are_not_one() {
    let copy = Copy::new();
    let (first, last) = ("evaluation/step-000967.json", "evaluation/step-001209.json");
    let read = |file: &str| -> Json {
        serde_json::from_str(&fs::read_to_string(copy.path(file)).unwrap()).unwrap()
    };
    let (mut edited, other) = (read(first), read(last));
    for field in ["loss", "bpb", "nats", "blocks"] {
        edited[field] = other[field].clone();
    }
    let found = copy.with(first, &(canonical(&edited).unwrap() + "\n"));
    has(&found, "evaluations::equal-nats", "the numbers of another evaluation");
    let mut silent = read(last);
    silent["tasks"].as_object_mut().unwrap().remove("outcomes");
    let found = copy.with(last, &(canonical(&silent).unwrap() + "\n"));
    has(&found, "evaluations::outcomes-missing", "no outcomes");
}

#[test]
fn what_a_slice_reads_and_moves_is_held_against_the_run() {
    let copy = Copy::new();
    let slice = "slices/slice-000967.safetensors";
    let tokens = |edit: fn(&mut Vec<u32>)| {
        let mut file = TensorFile::parse(slice, &fs::read(copy.path(slice)).unwrap()).unwrap();
        let data = &file.tensors["tokens"];
        let (mut numbers, shape) = (data.as_numbers().unwrap(), data.shape().to_vec());
        edit(&mut numbers);
        file.tensors.insert("tokens".to_owned(), TensorData::numbers(&shape, &numbers));
        copy.with_bytes(slice, &file.write())
    };
    assert!(tokens(|_| ()).is_empty());
    has(&tokens(|tokens| tokens[7] = 256), "slices::token-id", "a token beyond the vocabulary");
    // A batch has 16 rows of 129 tokens.
    has(
        &tokens(|tokens| tokens.copy_within(..2064, 4128)),
        "slices::repeated-batch",
        "a batch twice",
    );
    // A text may repeat itself: one row in a batch refutes nothing, and neither do two such batches.
    let one_row =
        |tokens: &mut Vec<u32>| (1..32).for_each(|row| tokens.copy_within(..129, 129 * row));
    assert!(tokens(one_row).is_empty());

    let table = "slices/slice-000967.tensors.jsonl";
    let text = fs::read_to_string(copy.path(table)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let zero = with_zero(lines[0], "update_norm");
    let found = copy.with(table, &(zero + "\n" + &joined(&lines[1..])));
    has(&found, "slices::unchanged-tensor", "a tensor that did not move");
    let mut other: Vec<&str> = lines.clone();
    other.swap(0, 1);
    has(&copy.with(table, &joined(&other)), "slices::tensor-digest", "two tensors exchanged");
    has(&copy.with(table, &joined(&lines[1..])), "slices::tensor-list", "a tensor less");
}

/// A line of JSON whose field, a number, is 0.
fn with_zero(line: &str, field: &str) -> String {
    let mut value: Json = serde_json::from_str(line).unwrap();
    value[field] = 0.into();
    canonical(&value).unwrap()
}

#[test]
fn contradictions_of_a_log_are_found() {
    let copy = Copy::new();
    let set = |at: usize, field: &'static str, value: Json| {
        copy.logged(move |lines| lines[at][field] = value)
    };
    has(&set(40, "lr", 0.001.into()), "records::learning-rate", "another rate");
    has(&set(40, "tokens", 7.into()), "records::tokens", "other tokens");
    has(&set(40, "loss", (-1).into()), "records::negative-loss", "a negative loss");
    has(&set(40, "grad_norm", (-1).into()), "records::zero-gradient", "a negative norm");
    has(&set(40, "grad_norm", 0.into()), "records::zero-gradient", "no gradient");
    has(&set(0, "loss", 4.into()), "records::first-loss", "weights that are trained already");
    let same = copy.logged(|lines| {
        let before = lines[39].clone();
        for field in ["loss", "grad_norm"] {
            lines[40][field] = before[field].clone();
        }
    });
    has(&same, "records::repeated-values", "a record twice");
    let set_of_router =
        |field: &'static str| copy.logged(move |lines| lines[40]["router"][field] = (-1).into());
    has(&set_of_router("balance_loss"), "records::balance-loss", "a negative loss of the balance");
    has(&set_of_router("z_loss"), "records::z-loss", "a negative loss of the logits");
    has(&set(40, "nonfinite", "nan".into()), "records::nonfinite", "no number");
    has(&copy.logged(|lines| drop(lines.remove(50))), "records::gap", "a record less");
    has(&copy.logged(|lines| lines.truncate(90)), "records::early-end", "a log that ends early");
    has(&copy.logged(|lines| lines.swap(30, 31)), "records::order", "records exchanged");
    let twice = copy.logged(|lines| {
        let again = lines[30].clone();
        lines.insert(30, again);
    });
    has(&twice, "records::order", "a record twice");
    let beyond = copy.logged(|lines| {
        let mut more = lines[121].clone();
        more["step"] = 1219.into();
        lines.push(more);
    });
    has(&beyond, "records::after-end", "a record behind the end");
}

/// All values of a document by their pointers; of a list, the second of its items or the only one.
fn leaves(value: &Json, pointer: &str, into: &mut Vec<String>) {
    match value {
        Json::Object(members) => {
            for (name, inner) in members {
                leaves(inner, &format!("{pointer}/{}", name.replace('/', "~1")), into);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            let at = usize::from(items.len() > 1);
            leaves(&items[at], &format!("{pointer}/{at}"), into);
        }
        _ => into.push(pointer.to_owned()),
    }
}

/// Another value of the same kind.
fn another(value: &Json) -> Json {
    match value {
        Json::Bool(truth) => (!truth).into(),
        Json::Number(number) if number.is_f64() => (number.as_f64().unwrap() * 1.0625).into(),
        Json::Number(number) => (number.as_i64().unwrap() + 1).into(),
        Json::String(text) => {
            let last = if text.ends_with('1') { '2' } else { '1' };
            let mut text = text.clone();
            text.pop();
            text.push(last);
            text.into()
        }
        other => other.clone(),
    }
}

#[test]
fn what_no_relation_reaches() {
    let copy = Copy::new();
    let mut table = String::new();
    let mut row = |file: &str, pointer: &str, found: &[String]| {
        let found = if found.is_empty() { "-".to_owned() } else { found.join(" ") };
        table.push_str(&format!("{file} {pointer}: {found}\n"));
    };
    let evaluation = "evaluation/step-001209.json";
    for file in ["receipt.json", "config.json", evaluation] {
        let text = fs::read_to_string(copy.path(file)).unwrap();
        let document: Json = serde_json::from_str(&text).unwrap();
        let mut pointers = Vec::new();
        leaves(&document, "", &mut pointers);
        for pointer in pointers {
            let mut edited = document.clone();
            let place = edited.pointer_mut(&pointer).unwrap();
            *place = another(place);
            let line = canonical(&edited).unwrap();
            row(file, &pointer, &copy.anything(file, &format!("{line}\n")));
        }
    }
    // Of each log, one line.
    for (file, at) in [("metrics.jsonl", 40), ("timing.jsonl", 40)] {
        let text = fs::read_to_string(copy.path(file)).unwrap();
        let lines: Vec<Json> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut pointers = Vec::new();
        leaves(&lines[at], "", &mut pointers);
        for pointer in pointers.iter().filter(|pointer| *pointer != "/chain") {
            let mut edited = lines.clone();
            let place = edited[at].pointer_mut(pointer).unwrap();
            *place = another(place);
            let mut chain = Chain::default();
            let line = |line: &Json| match file == METRICS {
                true => chain.extend(line.as_object().unwrap().clone()).unwrap(),
                false => canonical(line).unwrap() + "\n",
            };
            let text: String = edited.iter().map(line).collect();
            row(file, pointer, &copy.anything(file, &text));
        }
    }
    insta::assert_snapshot!("reached", table);
}

#[test]
fn contradictions_of_tensors_are_found() {
    let copy = Copy::new();
    let (slice, weights) =
        ("slices/slice-000967.safetensors", "checkpoints/step-000967.safetensors");
    let file = |name: &str| TensorFile::parse(name, &fs::read(copy.path(name)).unwrap()).unwrap();
    let floats = |name: &str, at: usize, by: f32| {
        let mut edited = file(slice);
        let data = &edited.tensors[name];
        let (mut numbers, shape) = (data.as_floats().unwrap(), data.shape().to_vec());
        numbers[at] += by;
        edited.tensors.insert(name.to_owned(), TensorData::floats(&shape, &numbers));
        copy.with_bytes(slice, &edited.write())
    };
    let without = |name: &str| {
        let mut edited = file(slice);
        edited.tensors.remove(name);
        copy.with_bytes(slice, &edited.write())
    };
    has(&without("logged.loss"), "slices::missing-field", "no losses");
    has(&without("logged.tensor_grad_norm"), "slices::missing-field", "no norms of tensors");
    has(&without("logged.routed"), "slices::routing-missing", "no routers");
    has(&floats("logged.loss", 2, 0.5), "slices::loss", "another loss");
    has(&floats("logged.grad_norm", 2, 0.5), "slices::grad-norm", "another norm");
    has(&floats("logged.tensor_grad_norm", 3, 0.5), "slices::tensor-norms", "a norm of a tensor");
    let routed = |edit: fn(&mut Vec<u32>)| {
        let mut edited = file(slice);
        let data = &edited.tensors["logged.routed"];
        let (mut numbers, shape) = (data.as_numbers().unwrap(), data.shape().to_vec());
        edit(&mut numbers);
        edited.tensors.insert("logged.routed".to_owned(), TensorData::numbers(&shape, &numbers));
        copy.with_bytes(slice, &edited.write())
    };
    has(&routed(|counts| counts[5] += 7), "routing::token-count", "more tokens");
    // Step 970 is recorded: the third of the slice, four layers of four experts each.
    let moved = routed(|counts| {
        counts[32] += 90;
        counts[33] -= 90;
    });
    for code in ["routing::max-load", "routing::load-cv", "routing::load-entropy"] {
        has(&moved, code, "tokens of another expert");
    }
    let described = |key: &str, value: &str| {
        let mut edited = file(weights);
        edited.metadata.insert(key.to_owned(), value.to_owned());
        copy.with_bytes(weights, &edited.write())
    };
    has(&described("step", "966"), "checkpoints::file-step", "another step");
    has(
        &described("arithmetic", "pytorch-f32"),
        "checkpoints::file-arithmetic",
        "another arithmetic",
    );
    has(&described("rng", "chacha8/1 seed 2"), "checkpoints::file-data-order", "another seed");
}

#[test]
fn what_has_honest_explanations_is_told_and_refutes_nothing() {
    let folder = new_folder();
    let bundle = folder.path().join("torch-dense");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/replay/torch-dense"), &bundle);
    let told = |bundle: &Path| {
        seal(bundle, "torch-dense", None).unwrap();
        let mut report = Report::default();
        inspect_all(&[bundle], &Demands::default(), 1, None, &mut report);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let claims = report.posts.iter().flat_map(|post| &post.claims);
        assert!(claims.clone().all(|claim| claim.outcome.verdict != Verdict::Refuted));
        let findings = report.posts.iter().flat_map(|post| &post.findings);
        findings.map(|finding| finding.code.id).collect::<Vec<_>>()
    };
    assert!(!told(&bundle).iter().any(|code| code.starts_with("warnings::")));
    let path = bundle.join("data/receipt.json");
    let mut receipt: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    receipt["predicate"]["data"]["validation_sha256"] =
        receipt["predicate"]["data"]["sha256"].clone();
    receipt["predicate"]["checkpoints"][2]["tensors_sha256"] =
        receipt["predicate"]["checkpoints"][1]["tensors_sha256"].clone();
    fs::write(&path, canonical(&receipt).unwrap() + "\n").unwrap();
    let found = told(&bundle);
    for code in ["warnings::validation-on-train", "warnings::equal-checkpoints"] {
        assert!(found.contains(&code), "{found:?} without {code}");
    }
}

#[test]
fn what_the_emitter_could_not_write_is_told() {
    let copy = Copy::new();
    let text = fs::read_to_string(copy.path("receipt.json")).unwrap();
    let mut receipt: Json = serde_json::from_str(&text).unwrap();
    receipt["predicate"]["extra"]["emitter_problems"] = serde_json::json!(["log: no number", "x"]);
    fs::write(copy.path("receipt.json"), canonical(&receipt).unwrap() + "\n").unwrap();
    let bundle = copy.folder.path().join(BUNDLE);
    seal(&bundle, BUNDLE, None).unwrap();
    let mut report = Report::default();
    inspect_all(&[&bundle], &Demands::default(), 1, None, &mut report);
    let first = &report.posts[0].findings[0];
    assert_eq!(first.message, format!("`{BUNDLE}`: log: no number and 1 more"));
}

#[test]
fn printed_tables_agree_with_the_values_beside_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = new_folder();
    let log = folder.path().join("log.csv");
    fs::write(&log, "step,lr,train/loss,val/accuracy,val/loss\n100,0.001,3.5,0.1,3.6\n200,0.002,3.1,0.2,3.3\n300,0.002,3.0,0.3,3.2\n").unwrap();
    let out = folder.path().join("out");
    let imported = crate::train::repro(
        root,
        &["import", log.to_str().unwrap(), "--out", out.to_str().unwrap()],
    );
    assert_eq!(crate::train::code(&imported), 0, "{}", crate::train::text(&imported.stderr));
    let bundle = folders(&out).pop().unwrap();
    let name = bundle.file_name().unwrap().to_str().unwrap();
    let found = || -> Vec<&str> {
        seal(&bundle, name, None).unwrap();
        let bundle = Bundle::load_folder(&bundle, name, None, 2).unwrap();
        SelfConsistency::of(&bundle).contradictions.iter().map(|one| one.code.id).collect()
    };
    assert_eq!(found(), Vec::<&str>::new());
    for (file, from, to, code) in [
        ("printed/validation.csv", "200,3.3,0.2", "200,3.2,0.2", "evaluations::unprinted-number"),
        (
            "printed/validation.csv",
            "val/loss,val/accuracy",
            "val/accuracy,val/loss",
            "evaluations::printed-value",
        ),
        ("printed/validation.csv", "300,3.2,0.3", "301,3.2,0.3", "evaluations::unprinted-step"),
        (
            "printed/validation.csv",
            "300,3.2,0.3",
            "300,3.2,0.3\n400,3.1,0.4",
            "evaluations::printed-step",
        ),
        (
            "evaluation/step-000200.json",
            "\"loss\":3.3",
            "\"loss\":0.2",
            "evaluations::printed-loss",
        ),
        (
            "evaluation/step-000200.json",
            "\"step\"",
            "\"core\":{\"value\":0.9},\"step\"",
            "evaluations::nested-value",
        ),
        ("printed/training.csv", "200,3.1,0.002", "200,3.5,0.002", "records::printed-loss"),
        (
            "printed/training.csv",
            "200,3.1,0.002",
            "200,3.1,0.001",
            "records::printed-learning-rate",
        ),
        ("printed/training.csv", "200,3.1,0.002", "201,3.1,0.002", "records::unprinted-step"),
    ] {
        let path = bundle.join("data").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).unwrap();
        let codes = found();
        assert!(codes.contains(&code), "{from} -> {to}: {codes:?}");
        fs::write(&path, text).unwrap();
    }
}

/// The page with all relations and the bundles that each was asked of.
const PAGE: &str = "docs/reference/relations.md";

#[test]
fn each_relation_is_asked_of_real_bundles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let imported = new_folder();
    for format in ["csv", "hf-trainer", "jsonl", "mlperf", "speedrun"] {
        let logs = root.join("tests/corpus/import").join(format);
        // Files and folders: each a group of its own.
        let groups = fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().path());
        for (at, group) in groups.enumerate() {
            let out = imported.path().join(format!("{format}-{at}"));
            // Some groups are refused, and leave nothing.
            let (logs, out) = (group.to_str().unwrap(), out.to_str().unwrap());
            crate::train::repro(root, &["import", format, logs, "--out", out]);
        }
    }
    let bundles = |below: Vec<PathBuf>| -> Vec<SelfConsistency> {
        let held = below.into_iter().filter(|path| path.join("bagit.txt").exists());
        let read = |path: PathBuf| {
            let bundle = Bundle::load_folder(&path, path.to_str().unwrap(), None, 2).unwrap();
            let found = SelfConsistency::of(&bundle);
            assert!(
                found.contradictions.is_empty(),
                "{}: {:?}",
                path.display(),
                found.contradictions
            );
            found
        };
        held.map(read).filter(|found| !found.asked.is_empty()).collect()
    };
    let ours = bundles(folders(&root.join("receipts")));
    let theirs = bundles(folders(imported.path()).iter().flat_map(|out| folders(out)).collect());
    // What is newer than the runs of this repository: committed states, starts in a log.
    let study = crate::train::root(|study| study + "\n[starts]\nfile = \"smoke.starts.jsonl\"\n");
    let trained =
        crate::train::repro(study.path(), &["train", crate::train::STUDY, "--out", "new"]);
    assert_eq!(crate::train::code(&trained), 0, "{}", crate::train::text(&trained.stderr));
    let new = bundles(folders(&study.path().join("new")));
    let asked = |bundles: &[SelfConsistency], code: &str| {
        bundles.iter().filter(|found| found.asked.iter().any(|(one, _)| one.id == code)).count()
    };
    let mut page = format!(
        "# Consistency checks of bundles\n\n\
         `INSTA_UPDATE=always cargo test --test it each_relation` writes this page. The test fails if the page is out of date or if a\n\
         check fails on an honest bundle. `repro explain relations` adds conditions and sources. For checks across runs, see\n\
         [runs that are one run](statistics.md#runs-that-are-one-run).\n\n\
         | code | check | applied to: runs of this repository ({}) | runs of the study `smoke` ({}) | imported test logs ({}) |\n|---|---|---|---|---|\n",
        ours.len(),
        new.len(),
        theirs.len()
    );
    for (code, says) in consistency::all() {
        let counts = [&ours, &new, &theirs].map(|bundles| asked(bundles, code.id));
        page.push_str(&format!(
            "| {} | `{}` | {} |\n",
            code.id,
            says.replace('|', "\\|"),
            counts.map(|count| count.to_string()).join(" | ")
        ));
    }
    let path = root.join(PAGE);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page, "{PAGE}");
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| {
        path.is_dir() && !path.file_name().unwrap().to_str().unwrap().starts_with('.')
    });
    folders.sort();
    folders
}
