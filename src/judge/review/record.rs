//! One judgement of one reviewer, as `repro/ID.reviews.toml` holds it.

use std::collections::{BTreeMap, BTreeSet};

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
    const ALL: [Self; 3] = [Self::Approve, Self::Dispute, Self::Exempt];

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
        self.shown_as(&self.name)
    }

    /// The same where the project lists them by this name.
    pub(super) fn shown_as(&self, name: &str) -> String {
        match &self.model {
            Some(model) => format!("{} {} (run by {name})", model.name, model.version),
            None => name.to_owned(),
        }
    }
}

impl ReviewRecord {
    /// Everything but the signature, in the order of the file; what there is none of is null or empty.
    fn fields(&self) -> Json {
        let prefixed = |digest: &Digest| digest.prefixed();
        let model = self.reviewer.model.as_ref().map(|model| {
            json!({"name": model.name, "version": model.version, "prompt": model.prompt.prefixed()})
        });
        let MeaningParts { quote, context, readings, binding, premise, fact } = &self.parts;
        let SessionCounts { shown, decoys, caught } = self.session;
        json!({
            "key": self.key.prefixed(),
            "claim": self.claim,
            "verdict": self.verdict.word(),
            "reviewer": self.reviewer.name,
            "public_key": self.reviewer.public_key.as_ref().map(prefixed),
            "model": model,
            "date": self.date,
            "reason": self.reason,
            "lints": self.lints,
            "answers": self.answers,
            "values": self.values.prefixed(),
            "parts": {
                "quote": quote.prefixed(),
                "context": context.as_ref().map(prefixed),
                "readings": readings.prefixed(),
                "binding": binding.prefixed(),
                "premise": premise.prefixed(),
                "fact": fact.prefixed(),
            },
            "session": (shown > 0).then(|| json!({"shown": shown, "decoys": decoys, "caught": caught})),
        })
    }

    /// The text that is signed: everything but the signature, with the post that it belongs to.
    fn payload(&self, post: &str) -> String {
        let mut payload = self.fields();
        payload["post"] = Json::from(post);
        let parts = members(&payload["parts"]);
        payload["parts"] = parts.map(|(name, digest)| json!([name, digest])).collect();
        let SessionCounts { shown, decoys, caught } = self.session;
        // As texts, which canonical JSON writes whatever their size is.
        payload["session"] = [shown, decoys, caught].map(|count| count.to_string()).into();
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
        let is_empty = |value: &Json| {
            value == "" || value.as_array().is_some_and(Vec::is_empty) || *value == json!({})
        };
        let mut fields = self.fields();
        fields["signature"] = json!(self.signature);
        for (name, value) in members(&fields).filter(|(_, value)| !is_empty(value)) {
            text.push_str(&format!("{name} = {}\n", in_toml(value)));
        }
    }
}

/// The members of an object that are something.
fn members(of: &Json) -> impl Iterator<Item = (&String, &Json)> {
    of.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null())
}

/// A value on one line of TOML.
fn in_toml(value: &Json) -> String {
    let listed = |parts: Vec<String>| parts.join(", ");
    match value {
        Json::String(text) => quoted(text),
        Json::Array(items) => format!("[{}]", listed(items.iter().map(in_toml).collect())),
        Json::Object(_) => {
            let member = |(name, value)| format!("{name} = {}", in_toml(value));
            format!("{{ {} }}", listed(members(value).map(member).collect()))
        }
        other => other.to_string(),
    }
}

/// A text in quotes, as TOML reads it.
pub fn quoted(text: &str) -> String {
    // JSON leaves this one character as it is, and TOML refuses it.
    Json::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn words(node: Node, most: usize) -> Result<String, Error> {
    let text = node.text()?;
    let length = text.chars().count();
    if length <= most {
        return Ok(text.to_owned());
    }
    let found = format!("{length} characters");
    Err(BAD_RECORD.at(node.place(), format!("at most {most} characters"), found))
}

fn digest(node: Node) -> Result<Digest, Error> {
    let text = node.text()?;
    Digest::parse_prefixed(text).ok_or_else(|| {
        BAD_RECORD.at(node.place(), "`sha256:` and 64 hexadecimal digits", format!("`{text}`"))
    })
}

fn verdict(node: Node) -> Result<ReviewVerdict, Error> {
    let word = node.text()?;
    ReviewVerdict::ALL.into_iter().find(|verdict| verdict.word() == word).ok_or_else(|| {
        let expected = "`approve`, `dispute` or `exempt`";
        BAD_RECORD.at(node.place(), expected, format!("`{word}`"))
    })
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
