//! One judgement of one reviewer, as `repro/ID.reviews.toml` holds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use repro_receipt::digest::{Digest, canonical};
use repro_receipt::source::{Error, Node, codes};
use repro_report::outcome::LintKind;
use repro_signature::{PrivateKey, PublicKey, is_signed_by, sign_record};
use serde_json::{Value as Json, json};

use super::key::MeaningParts;

codes! {
    BAD_RECORD = "review::bad-record", "a record of a review cannot be read", "restore it from version control, or remove it and review the claim again";
}

/// The type of what is signed.
const KIND: &str = "application/vnd.repro.review+json";
/// The most characters of a name, a version or a date.
pub const MOST_NAME: usize = 120;
/// The most characters of a reason or an answer.
pub const MOST_WORDS: usize = 1_000;
/// The most characters of the id of a claim.
const MOST_ID: usize = 1_000;
/// The keys of a record.
const KEYS: &[&str] = &[
    "key",
    "claim",
    "verdict",
    "reviewer",
    "public_key",
    "model",
    "date",
    "reason",
    "lints",
    "answers",
    "values",
    "parts",
    "session",
    "signature",
];

/// What a reviewer says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// The words mean the fact.
    Approve,
    /// They do not.
    Dispute,
    /// Nobody has looked: the claim was there before the project asked for reviews.
    Exempt,
}

/// A model that judged, and what it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelIdentity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The digest of its prompt.
    pub prompt: Digest,
}

/// Who judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewer {
    /// The name of the person, or of whoever ran the model.
    pub name: String,
    /// The identity of the key that signs; none where nobody signs.
    pub public_key: Option<Digest>,
    /// The model, where it was one.
    pub model: Option<ModelIdentity>,
}

/// How many facts a session showed until this record, how many of them were altered, and how many of those were disputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionCounts {
    /// Facts, decoys included.
    pub shown: u64,
    /// Altered facts.
    pub decoys: u64,
    /// Altered facts that were disputed.
    pub caught: u64,
}

/// A judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRecord {
    /// The key of what was judged.
    pub key: Digest,
    /// The claim's id at that time, for people.
    pub claim: String,
    /// The judgement.
    pub verdict: ReviewVerdict,
    /// Whose it is.
    pub reviewer: Reviewer,
    /// The day, `2026-11-26`.
    pub date: String,
    /// Why, where it is a dispute.
    pub reason: String,
    /// The kinds of lints that were shown.
    pub lints: BTreeSet<LintKind>,
    /// Answers to lints.
    pub answers: BTreeMap<LintKind, String>,
    /// The digest of the values that were shown.
    pub values: Digest,
    /// The digests of what was judged, part by part.
    pub parts: MeaningParts,
    /// What the session was worth.
    pub session: SessionCounts,
    /// The signature, in base64.
    pub signature: Option<String>,
}

impl ReviewVerdict {
    /// The word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Dispute => "dispute",
            Self::Exempt => "exempt",
        }
    }
}

impl Reviewer {
    /// Who it is, for sorting and for finding an earlier record: a key, else a name; a model is somebody else.
    pub fn identity(&self) -> String {
        let who = self.public_key.map_or_else(|| self.name.clone(), |key| key.prefixed());
        match &self.model {
            Some(model) => format!("{who} {} {} {}", model.name, model.version, model.prompt),
            None => who,
        }
    }

    /// The name for reports.
    pub fn shown(&self) -> String {
        match &self.model {
            Some(model) => format!("{} {} (run by {})", model.name, model.version, self.name),
            None => self.name.clone(),
        }
    }
}

impl ReviewRecord {
    /// The text that is signed: everything but the signature, with the post that it belongs to.
    fn payload(&self, post: &str) -> String {
        let answers: BTreeMap<_, _> =
            self.answers.iter().map(|(kind, answer)| (kind.word(), answer)).collect();
        let model = self.reviewer.model.as_ref().map(|model| {
            json!({"name": model.name, "version": model.version, "prompt": model.prompt.prefixed()})
        });
        let parts: Vec<Json> =
            self.part_texts().iter().map(|(name, digest)| json!([name, digest])).collect();
        let SessionCounts { shown, decoys, caught } = self.session;
        // As texts, which canonical JSON writes whatever their size is.
        let session = [shown, decoys, caught].map(|count| count.to_string());
        let payload = json!({
            "post": post,
            "key": self.key.prefixed(),
            "claim": self.claim,
            "verdict": self.verdict.word(),
            "reviewer": self.reviewer.name,
            "public_key": self.reviewer.public_key.map(|key| key.prefixed()),
            "model": model,
            "date": self.date,
            "reason": self.reason,
            "lints": self.lints.iter().map(|kind| kind.word()).collect::<Vec<_>>(),
            "answers": answers,
            "values": self.values.prefixed(),
            "parts": parts,
            "session": session,
        });
        // Texts and lists of them always have a canonical form.
        canonical(&payload).unwrap_or_default()
    }

    /// Signs it.
    pub fn sign(&mut self, post: &str, key: &PrivateKey) {
        self.reviewer.public_key = Some(key.public().id());
        self.signature = Some(sign_record(KIND, &self.payload(post), key));
    }

    /// Whether the owner of a key signed it for this post.
    pub fn is_signed_by(&self, post: &str, key: &PublicKey) -> bool {
        let signature = self.signature.as_deref().unwrap_or_default();
        is_signed_by(KIND, &self.payload(post), signature, key)
    }

    fn part_texts(&self) -> Vec<(&'static str, String)> {
        let MeaningParts { quote, context, readings, binding, premise, fact } = &self.parts;
        let parts = [
            ("quote", Some(quote)),
            ("context", context.as_ref()),
            ("readings", Some(readings)),
            ("binding", Some(binding)),
            ("premise", Some(premise)),
            ("fact", Some(fact)),
        ];
        let parts = parts.into_iter().filter_map(|(name, digest)| Some((name, digest?.prefixed())));
        parts.collect()
    }

    /// Reads a record.
    pub fn parse(node: Node) -> Result<Self, Error> {
        node.only(KEYS)?;
        let parts = node.required("parts")?;
        parts.only(&["quote", "context", "readings", "binding", "premise", "fact"])?;
        let part = |name: &str| digest(parts.required(name)?);
        let lints = match node.get("lints") {
            Some(list) => list.items()?.map(|kind| lint_kind(kind.text()?, kind)).collect(),
            None => Ok(BTreeSet::new()),
        };
        let mut answers = BTreeMap::new();
        if let Some(table) = node.get("answers") {
            for (kind, answer) in table.members()? {
                answers.insert(lint_kind(kind, answer)?, words(answer, MOST_WORDS)?);
            }
        }
        let optional = |name: &str, most: usize| {
            node.get(name).map(|node| words(node, most)).transpose().map(Option::unwrap_or_default)
        };
        let signature = optional("signature", MOST_WORDS)?;
        Ok(Self {
            key: digest(node.required("key")?)?,
            claim: words(node.required("claim")?, MOST_ID)?,
            verdict: verdict(node.required("verdict")?)?,
            reviewer: Reviewer {
                name: words(node.required("reviewer")?, MOST_NAME)?,
                public_key: node.get("public_key").map(digest).transpose()?,
                model: node.get("model").map(model).transpose()?,
            },
            date: words(node.required("date")?, MOST_NAME)?,
            reason: optional("reason", MOST_WORDS)?,
            lints: lints?,
            answers,
            values: digest(node.required("values")?)?,
            parts: MeaningParts {
                quote: part("quote")?,
                context: parts.get("context").map(digest).transpose()?,
                readings: part("readings")?,
                binding: part("binding")?,
                premise: part("premise")?,
                fact: part("fact")?,
            },
            session: node.get("session").map(session).transpose()?.unwrap_or_default(),
            signature: (!signature.is_empty()).then_some(signature),
        })
    }

    /// The record as a table of TOML.
    pub fn write(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name} = {value}");
        };
        line("key", &quoted(&self.key.prefixed()));
        line("claim", &quoted(&self.claim));
        line("verdict", &quoted(self.verdict.word()));
        line("reviewer", &quoted(&self.reviewer.name));
        if let Some(key) = self.reviewer.public_key {
            line("public_key", &quoted(&key.prefixed()));
        }
        if let Some(ModelIdentity { name, version, prompt }) = &self.reviewer.model {
            let [name, version, prompt] =
                [name, version, &prompt.prefixed()].map(|text| quoted(text));
            line("model", &format!("{{ name = {name}, version = {version}, prompt = {prompt} }}"));
        }
        line("date", &quoted(&self.date));
        if !self.reason.is_empty() {
            line("reason", &quoted(&self.reason));
        }
        if !self.lints.is_empty() {
            let lints: Vec<_> = self.lints.iter().map(|kind| quoted(kind.word())).collect();
            line("lints", &format!("[{}]", lints.join(", ")));
        }
        if !self.answers.is_empty() {
            let answers = self.answers.iter();
            let answers =
                answers.map(|(kind, answer)| format!("{} = {}", kind.word(), quoted(answer)));
            line("answers", &format!("{{ {} }}", answers.collect::<Vec<_>>().join(", ")));
        }
        line("values", &quoted(&self.values.prefixed()));
        let parts = self.part_texts();
        let parts = parts.iter().map(|(name, digest)| format!("{name} = {}", quoted(digest)));
        line("parts", &format!("{{ {} }}", parts.collect::<Vec<_>>().join(", ")));
        let SessionCounts { shown, decoys, caught } = self.session;
        if shown > 0 {
            line(
                "session",
                &format!("{{ shown = {shown}, decoys = {decoys}, caught = {caught} }}"),
            );
        }
        if let Some(signature) = &self.signature {
            line("signature", &quoted(signature));
        }
    }
}

/// A text in quotes, as TOML reads it.
pub fn quoted(text: &str) -> String {
    // JSON leaves this one character as it is, and TOML refuses it.
    Json::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn words(node: Node, most: usize) -> Result<String, Error> {
    let text = node.text()?;
    match text.chars().nth(most) {
        None => Ok(text.to_owned()),
        Some(_) => {
            let found = format!("{} characters", text.chars().count());
            Err(BAD_RECORD.at(node.place(), format!("at most {most} characters"), found))
        }
    }
}

fn digest(node: Node) -> Result<Digest, Error> {
    let text = node.text()?;
    Digest::parse_prefixed(text).ok_or_else(|| {
        BAD_RECORD.at(node.place(), "`sha256:` and 64 hexadecimal digits", format!("`{text}`"))
    })
}

fn verdict(node: Node) -> Result<ReviewVerdict, Error> {
    match node.text()? {
        "approve" => Ok(ReviewVerdict::Approve),
        "dispute" => Ok(ReviewVerdict::Dispute),
        "exempt" => Ok(ReviewVerdict::Exempt),
        other => {
            let expected = "`approve`, `dispute` or `exempt`";
            Err(BAD_RECORD.at(node.place(), expected, format!("`{other}`")))
        }
    }
}

fn model(node: Node) -> Result<ModelIdentity, Error> {
    node.only(&["name", "version", "prompt"])?;
    Ok(ModelIdentity {
        name: words(node.required("name")?, MOST_NAME)?,
        version: words(node.required("version")?, MOST_NAME)?,
        prompt: digest(node.required("prompt")?)?,
    })
}

fn session(node: Node) -> Result<SessionCounts, Error> {
    node.only(&["shown", "decoys", "caught"])?;
    let count = |name: &str| node.required(name)?.integer();
    let counts = SessionCounts {
        shown: count("shown")?,
        decoys: count("decoys")?,
        caught: count("caught")?,
    };
    if counts.caught > counts.decoys || counts.decoys > counts.shown {
        let SessionCounts { shown, decoys, caught } = counts;
        let found = format!("{shown} shown, {decoys} decoys, {caught} caught");
        let expected = "no more decoys than facts, and no more caught than shown";
        return Err(BAD_RECORD.at(node.place(), expected, found));
    }
    Ok(counts)
}

fn lint_kind(word: &str, node: Node) -> Result<LintKind, Error> {
    serde_json::from_value(Json::from(word)).map_err(|_| {
        BAD_RECORD.at(node.place(), "a kind of lint, such as `direction`", format!("`{word}`"))
    })
}
