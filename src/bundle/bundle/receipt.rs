//! The receipt: every field of `repro.receipt/1`, inside an in-toto Statement v1.
//!
//! Strict inside the receipt, tolerant of unknown fields in the envelope around it. Whether a receipt
//! agrees with the files next to it is checked when a bundle is loaded.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::record::{Open, RecordValue, record};
use super::{BAD_COMMIT, BAD_ORIGIN, DUPLICATE_NAME, WRONG_FIELD_FOR_ORIGIN, WRONG_SCHEMA, name};
use repro_core::digest::{Digest, NotCanonical, canonical};
use repro_core::source::{Document, Error, Node};

/// The file that holds the receipt.
pub const RECEIPT: &str = "data/receipt.json";
/// The configuration of a run.
pub const CONFIG: &str = "data/config.json";
/// The schema of a receipt.
pub const SCHEMA: &str = "repro.receipt/1";
/// The arithmetic of our trainer, as receipts name it: the same bits on each machine.
pub const ARITHMETIC: &str = "portable-f32/1";
/// The type of an in-toto statement.
pub const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The type of what the statement says.
pub const PREDICATE: &str = "https://repro.example/receipt/v1";

/// How the evidence came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Typed from a publication.
    Transcribed,
    /// Written by a trainer or an importer.
    Emitted,
}

impl Origin {
    /// The word that stands in the receipt.
    pub fn word(self) -> &'static str {
        match self {
            Self::Transcribed => "transcribed",
            Self::Emitted => "emitted",
        }
    }
}

impl RecordValue for Origin {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        let text = node.text()?;
        [Self::Transcribed, Self::Emitted].into_iter().find(|o| o.word() == text).ok_or_else(|| {
            let found = format!("`{}`", text.chars().take(40).collect::<String>());
            BAD_ORIGIN.at(node.place(), "`transcribed` or `emitted`", found)
        })
    }
    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok(Some(self.word().into()))
    }
}

record! {
    /// The receipt of one run, by a trainer, an importer or a transcriber.
    Receipt {
        /// The schema, [`SCHEMA`].
        schema: String,
        /// Which run.
        run: Option<Run>,
        /// How the evidence came to be.
        origin: Origin,
        /// The sizes of all other payload files, and files that live elsewhere.
        files: Vec<ListedFile>,
        /// The program that trained.
        trainer: Option<Trainer>,
        /// The model as declared.
        model: Option<DeclaredModel>,
        /// The quantities that are held fixed.
        contract: Option<Contract>,
        /// The seeds.
        seeds: Option<Seeds>,
        /// The training data.
        data: Option<Data>,
        /// The machine.
        environment: Option<Environment>,
        /// Where the run was saved.
        checkpoints: Vec<Checkpoint>,
        /// Stretches that can be re-executed.
        slices: Vec<DeclaredSlice>,
        /// The root of the committed states.
        states: Option<DeclaredStates>,
        /// Its line in the log of started runs.
        start: Option<DeclaredStart>,
        /// Anything else.
        extra: Open,
    }
}

record! {
    /// Which run a receipt is about.
    Run {
        /// The name of the bundle's folder.
        id: String,
        /// The study it belongs to.
        study: Option<String>,
        /// The arm of the study.
        arm: Option<String>,
        /// The commit of the plan.
        plan_commit: Option<String>,
        /// Whether it ran to its planned end.
        finished: Option<bool>,
    }
}

record! {
    /// One file and its declared size.
    ListedFile {
        /// Its name in the bundle, or its name elsewhere.
        name: String,
        /// Its length.
        bytes: u64,
        /// Its digest, needed where it is external.
        sha256: Option<Digest>,
        /// Whether it lives outside the bundle.
        external: Option<bool>,
    }
}

impl ListedFile {
    /// Whether the file lives outside the bundle.
    pub fn is_external(&self) -> bool {
        self.external == Some(true)
    }
}

record! {
    /// The program that trained.
    Trainer {
        /// Its name.
        name: String,
        /// Its version.
        version: Option<String>,
        /// The revision of its source.
        source_revision: Option<String>,
        /// Whether the source had changes beyond that revision.
        dirty: Option<bool>,
        /// The digest of the lock file of its dependencies.
        lockfile_sha256: Option<Digest>,
        /// The arithmetic it computes in.
        arithmetic: Option<String>,
    }
}

record! {
    /// The model as the trainer declares it; whether the numbers follow from the config is for a claim.
    DeclaredModel {
        /// The family.
        family: Option<String>,
        /// Everything stored.
        params_total: Option<u64>,
        /// The active parameters: those used for one token.
        params_active: Option<u64>,
        /// Parts of both.
        breakdown: Open,
        /// How many tensors.
        tensors: Option<u64>,
    }
}

record! {
    /// The quantities held fixed between runs.
    Contract {
        /// How two models are made comparable.
        matched ("match"): Option<String>,
        /// The model that was matched.
        match_target: Option<String>,
        /// The relative error of the match.
        mismatch: Option<f64>,
        /// How long each model trains.
        horizon: Option<String>,
        /// The factor of the horizon.
        coefficient: Option<f64>,
        /// The planned tokens.
        tokens: Option<u64>,
        /// Tokens a step.
        tokens_per_step: Option<u64>,
        /// The part of the horizon that was run.
        fraction: Option<f64>,
    }
}

record! {
    /// The seeds, as strings because they may exceed 2^53.
    Seeds {
        /// Of the initial weights.
        init: Option<String>,
        /// Of the order of the data.
        data: Option<String>,
    }
}

record! {
    /// The training data.
    Data {
        /// Its name.
        name: Option<String>,
        /// Its digest.
        sha256: Option<Digest>,
        /// Different tokens.
        unique_tokens: Option<u64>,
        /// Different bytes.
        unique_bytes: Option<u64>,
        /// How text becomes tokens.
        tokenizer: Option<String>,
        /// How the order is drawn.
        order: Option<String>,
        /// The digest of the validation text.
        validation_sha256: Option<Digest>,
        /// Passes over the data.
        epochs: Option<f64>,
    }
}

record! {
    /// The machine.
    Environment {
        /// The processor.
        cpu: Option<String>,
        /// Instructions that were used.
        features: Vec<String>,
        /// How many threads.
        threads: Option<u64>,
        /// The device.
        device: Option<String>,
        /// The operating system.
        os: Option<String>,
        /// Versions by library.
        libraries: BTreeMap<String, String>,
        /// The memory.
        memory_bytes: Option<u64>,
    }
}

record! {
    /// One saved state.
    Checkpoint {
        /// After how many steps.
        step: u64,
        /// After how many tokens.
        tokens_seen: Option<u64>,
        /// The file of its evaluation.
        evaluation: Option<String>,
        /// The file of its weights; a checkpoint may be hashed and not shipped.
        weights: Option<String>,
        /// The digest of that file.
        weights_sha256: Option<Digest>,
        /// The digest of names, types, shapes and bytes of all tensors.
        tensors_sha256: Option<Digest>,
    }
}

record! {
    /// One stretch that can be re-executed.
    DeclaredSlice {
        /// The step it starts from.
        from_step: u64,
        /// How many steps.
        steps: u64,
        /// The checkpoint it starts from.
        checkpoint_step: Option<u64>,
        /// The file of its tokens and logs.
        file: String,
        /// How long it took.
        seconds: Option<f64>,
    }
}

record! {
    /// The states of a run that it has committed itself to, step by step.
    DeclaredStates {
        /// The file with one line for each, `data/states.jsonl`.
        file: String,
        /// Every so many steps there is one, and at each checkpoint and at both ends.
        every: u64,
        /// The chain of its last line.
        root: Digest,
    }
}

record! {
    /// The line of a run in the log of the runs that were started.
    DeclaredStart {
        /// The name of the log, beside the plan that names it.
        log: String,
        /// The id that distinguishes this start from all others.
        attempt: Digest,
        /// The chain of its line, and so of all starts before it.
        chain: Digest,
    }
}

impl Run {
    /// A run of which only the name of its bundle's folder is known.
    pub fn named(id: impl Into<String>) -> Self {
        Self { id: id.into(), study: None, arm: None, plan_commit: None, finished: None }
    }
}

impl Trainer {
    /// A program of which only the name is known. Replays of its runs allow for rounding.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: None,
            source_revision: None,
            dirty: None,
            lockfile_sha256: None,
            arithmetic: None,
        }
    }
}

impl Receipt {
    /// Whether the run went to its end; none where the receipt does not say.
    pub fn finished(&self) -> Option<bool> {
        self.run.as_ref().and_then(|run| run.finished)
    }

    /// The digest of the plan that the run was made under, as the receipt has it.
    pub fn plan_sha256(&self) -> Option<&str> {
        self.extra.get("plan_sha256")?.as_str()
    }

    /// The study that the run belongs to.
    pub fn study(&self) -> Option<&str> {
        self.run.as_ref()?.study.as_deref()
    }

    /// Whether the run was computed in our arithmetic, [`ARITHMETIC`].
    pub fn is_portable(&self) -> bool {
        self.trainer.as_ref().and_then(|trainer| trainer.arithmetic.as_deref()) == Some(ARITHMETIC)
    }

    /// A receipt that says nothing but its origin.
    pub fn new(origin: Origin) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            run: None,
            origin,
            files: Vec::new(),
            trainer: None,
            model: None,
            contract: None,
            seeds: None,
            data: None,
            environment: None,
            checkpoints: Vec::new(),
            slices: Vec::new(),
            states: None,
            start: None,
            extra: Open::new(),
        }
    }

    /// Reads the predicate, and checks that its fields suit its origin.
    pub fn parse(node: Node<'_>) -> Result<Self, Error> {
        constant(node, "schema", SCHEMA)?;
        let receipt = Self::read(node)?;
        match receipt.origin {
            Origin::Transcribed => {
                for field in ["trainer", "checkpoints", "slices", "states", "start"] {
                    if let Some(present) = node.get(field) {
                        let expected = "no such field in a transcribed receipt";
                        let found = format!("`{field}`");
                        return Err(WRONG_FIELD_FOR_ORIGIN.at(present.place(), expected, found));
                    }
                }
            }
            Origin::Emitted => {
                node.required("run")?;
            }
        }
        let commit = receipt.run.as_ref().and_then(|run| run.plan_commit.as_deref());
        let is_commit = |text: &str| {
            let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            matches!(text.len(), 40 | 64) && text.chars().all(is_digit)
        };
        if let Some(text) = commit.filter(|text| !is_commit(text)) {
            let place = node.at("/run/plan_commit")?.place();
            return Err(BAD_COMMIT.at(place, "40 or 64 hexadecimal digits", name::shown(text)));
        }
        Ok(receipt)
    }
}

fn constant(node: Node<'_>, key: &str, wanted: &str) -> Result<(), Error> {
    let value = node.required(key)?;
    let text = value.text()?;
    if text == wanted {
        return Ok(());
    }
    let found: String = text.chars().take(80).collect();
    Err(WRONG_SCHEMA.at(value.place(), format!("`{wanted}`"), format!("`{found}`")))
}

/// A receipt and the files it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Digests of all other payload files.
    pub subjects: BTreeMap<String, Digest>,
    /// The receipt itself.
    pub receipt: Receipt,
}

impl Statement {
    /// Reads a whole statement; unknown fields of the envelope are left alone.
    pub fn parse(document: &Document) -> Result<Self, Error> {
        let root = document.root();
        constant(root, "_type", STATEMENT)?;
        constant(root, "predicateType", PREDICATE)?;
        let items = root.required("subject")?.items()?;
        let mut subjects = Vec::with_capacity(items.len());
        for subject in items {
            let name = subject.required("name")?.text()?.to_owned();
            let digest = Digest::read(subject.required("digest")?.required("sha256")?)?;
            subjects.push((name, digest));
        }
        let subjects = name::distinct(subjects).or_else(|at| {
            let name = root.at(&format!("/subject/{at}/name"))?;
            let found = format!("{} again", name::shown(name.text()?));
            Err(DUPLICATE_NAME.at(name.place(), "each subject once", found))
        })?;
        let receipt = Receipt::parse(root.required("predicate")?)?;
        Ok(Self { subjects, receipt })
    }

    /// Its canonical text with a line feed.
    pub fn write(&self) -> Result<String, NotCanonical> {
        let subjects: Vec<_> = self
            .subjects
            .iter()
            .map(|(name, digest)| json!({"name": name, "digest": {"sha256": digest.to_string()}}))
            .collect();
        let statement = json!({
            "_type": STATEMENT,
            "predicateType": PREDICATE,
            "subject": subjects,
            "predicate": self.receipt.write()?,
        });
        canonical(&statement).map(|text| text + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::Source;

    /// The example of the contract, with every field there is.
    fn example() -> Json {
        let digest = Digest::of(b"").to_string();
        json!({
            "schema": SCHEMA,
            "run": {"id": "tiny-s1", "study": "tiny", "arm": "dense", "plan_commit": "c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ff", "finished": true},
            "origin": "emitted",
            "files": [{"name": "data/config.json", "bytes": 3},
                      {"name": "w.safetensors", "bytes": 13_000_000_000_u64, "sha256": digest, "external": true}],
            "trainer": {"name": "repro", "version": "0.1.0", "source_revision": "c0ffee", "dirty": false,
                        "lockfile_sha256": digest, "arithmetic": "portable-f32/1"},
            "model": {"family": "repro-llama-moe", "params_total": 360448, "params_active": 230400,
                      "breakdown": {"embedding": 1}, "tensors": 42},
            "contract": {"match": "active", "match_target": "moe", "mismatch": 0.0012, "horizon": "active_dn",
                         "coefficient": 20.0, "tokens": 4608000, "tokens_per_step": 4096, "fraction": 1.0},
            "seeds": {"init": "18446744073709551615", "data": "1"},
            "data": {"name": "text", "sha256": digest, "unique_tokens": 41, "unique_bytes": 41, "tokenizer": "bytes",
                     "order": "chacha8/1", "validation_sha256": digest, "epochs": 1.12},
            "environment": {"cpu": "x", "features": ["avx2"], "threads": 2, "device": "cpu", "os": "linux",
                            "libraries": {"candle": "0.9"}, "memory_bytes": 1},
            "checkpoints": [{"step": 1000, "tokens_seen": 4096000, "evaluation": "data/evaluation/step-001000.json",
                             "weights": "w.safetensors", "weights_sha256": digest, "tensors_sha256": digest}],
            "slices": [{"from_step": 1000, "steps": 20, "checkpoint_step": 1000,
                        "file": "data/slices/slice-001000.safetensors", "seconds": 4.1}],
            "extra": {"note": null},
        })
    }

    fn parse(predicate: &Json) -> Result<Statement, Error> {
        let statement = json!({"_type": STATEMENT, "predicateType": PREDICATE, "later": 1,
            "subject": [{"name": "data/config.json", "digest": {"sha256": Digest::of(b"").to_string(), "sha1": "x"}}],
            "predicate": predicate});
        let source = Source::new("receipt.json", statement.to_string().into_bytes()).unwrap();
        Statement::parse(&Document::parse_json(source).unwrap())
    }

    #[test]
    fn the_whole_example_survives_reading_and_writing() {
        let statement = parse(&example()).unwrap();
        let text = statement.write().unwrap();
        let written: Json = serde_json::from_str(&text).unwrap();
        let wanted: Json = serde_json::from_str(&canonical(&example()).unwrap()).unwrap();
        assert_eq!(written.get("predicate"), Some(&wanted));
        let source = Source::new("receipt.json", text.into_bytes()).unwrap();
        assert_eq!(Statement::parse(&Document::parse_json(source).unwrap()).unwrap(), statement);
        let contract = statement.receipt.contract.unwrap();
        assert_eq!(
            (contract.matched.as_deref(), contract.coefficient),
            (Some("active"), Some(20.0))
        );
    }

    #[test]
    fn each_part_refuses_a_field_it_does_not_know() {
        for pointer in [
            "",
            "/run",
            "/files/0",
            "/trainer",
            "/model",
            "/contract",
            "/seeds",
            "/data",
            "/environment",
            "/checkpoints/0",
            "/slices/0",
        ] {
            let mut predicate = example();
            let table = predicate.pointer_mut(pointer).and_then(Json::as_object_mut).unwrap();
            table.insert("seed".to_owned(), json!(1));
            let error = parse(&predicate).unwrap_err();
            assert_eq!(error.code.id, "source::unknown-field", "{pointer}");
            assert_eq!(error.place.pointer, format!("/predicate{pointer}/seed"));
        }
    }

    #[test]
    fn the_origin_decides_what_may_stand_there() {
        let mut predicate = example();
        predicate["origin"] = json!("transcribed");
        assert_eq!(parse(&predicate).unwrap_err().code.id, "bundle::wrong-field-for-origin");
        predicate["origin"] = json!("signed");
        assert_eq!(parse(&predicate).unwrap_err().code.id, "bundle::bad-origin");
        let bare = json!({"schema": SCHEMA, "origin": "emitted"});
        assert_eq!(parse(&bare).unwrap_err().code.id, "source::missing-field");
        assert!(parse(&json!({"schema": SCHEMA, "origin": "transcribed"})).is_ok());
        let later = json!({"schema": "repro.receipt/2", "origin": "transcribed"});
        assert_eq!(parse(&later).unwrap_err().code.id, "bundle::wrong-schema");
    }
}
