//! One judgement of one reviewer, as `repro/ID.reviews.toml` holds it.

use std::collections::BTreeMap;

use repro_bundle::bundle::record::{RecordValue, record};
use repro_bundle::signature::{PrivateKey, PublicKey, is_signed_by, sign_record};
use repro_core::digest::{Digest, NotCanonical, canonical};
use repro_core::source::{Error, Node, codes};
use serde_json::{Value as Json, json};

use super::key::{MeaningParts, WrittenDigest};

codes! {
    BAD_RECORD = "review::bad-record", "a review record cannot be read", "restore it from version control, or remove it and review the claim again";
}

/// The type of what is signed.
const KIND: &str = "application/vnd.repro.review+json";

/// The most characters of a name, a version or a date.
pub const MOST_NAME: usize = 120;
/// The most characters of a reason or an answer.
pub const MOST_WORDS: usize = 1_000;

/// A reviewer's verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// The words mean the fact.
    Approve,
    /// They do not.
    Dispute,
    /// Nobody has looked: the claim was there before the project asked for reviews.
    Exempt,
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

impl RecordValue for ReviewVerdict {
    fn read(node: Node<'_>) -> Result<Self, Error> {
        let word = node.text()?;
        Self::ALL.into_iter().find(|verdict| verdict.word() == word).ok_or_else(|| {
            let expected = "`approve`, `dispute` or `exempt`";
            BAD_RECORD.at(node.place(), expected, format!("`{word}`"))
        })
    }

    fn write(&self) -> Result<Option<Json>, NotCanonical> {
        Ok(Some(self.word().into()))
    }
}

record! {
    /// A model that judged, and what it was told.
    #[derive(Eq)]
    ModelIdentity {
        /// Its name.
        name: String,
        /// Its version.
        version: String,
        /// The digest of its prompt.
        prompt: WrittenDigest,
    }
}

/// Who judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewer {
    /// The name of the person, or of whoever ran the model.
    pub name: String,
    /// The identity of the key that signs; none if nobody signs.
    pub public_key: Option<Digest>,
    /// The model, where it was one.
    pub model: Option<ModelIdentity>,
}

impl Reviewer {
    /// Who it is, for sorting and for finding an earlier record: a key, else a name; a model is somebody else.
    pub fn identity(&self) -> String {
        let who = self.public_key.map_or_else(|| self.name.clone(), |key| key.prefixed());
        match &self.model {
            Some(model) => format!("{who} {} {} {}", model.name, model.version, model.prompt.0),
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

record! {
    /// How many facts a session showed until this record, how many of them were altered, and how many of those were
    /// disputed.
    #[derive(Copy, Eq, Default)]
    SessionCounts {
        /// Facts, decoys included.
        shown: u64,
        /// Altered facts.
        decoys: u64,
        /// Altered facts that were disputed.
        caught: u64,
    }
}

record! {
    /// A judgement.
    ReviewRecord {
        /// The key of what was judged.
        key: WrittenDigest,
        /// The claim's id at that time, for people.
        claim: String,
        /// The judgement.
        verdict: ReviewVerdict,
        /// The name of whose it is.
        reviewer: String,
        /// The identity of the key that signs; none if nobody signs.
        public_key: Option<WrittenDigest>,
        /// The model, where it was one.
        model: Option<ModelIdentity>,
        /// The day, `2026-11-26`.
        date: String,
        /// Why, where it is a dispute.
        reason: Option<String>,
        /// The kinds of lints that were shown.
        lints: Vec<String>,
        /// Answers to lints, by kind.
        answers: BTreeMap<String, String>,
        /// The digest of the values that were shown.
        values: WrittenDigest,
        /// The digests of what was judged, part by part.
        parts: MeaningParts,
        /// The decoy counts of the session.
        session: Option<SessionCounts>,
        /// The signature, in base64.
        signature: Option<String>,
    }
}

impl ReviewRecord {
    /// Whose it is.
    pub fn reviewer(&self) -> Reviewer {
        let (name, model) = (self.reviewer.clone(), self.model.clone());
        Reviewer { name, public_key: self.public_key.map(|key| key.0), model }
    }

    /// The text that is signed: everything but the signature, with the post that it belongs to.
    fn payload(&self, post: &str) -> String {
        let mut payload = json!({
            "post": post, "public_key": null, "model": null, "reason": "", "lints": [], "answers": {},
        });
        for (name, value) in self.members().into_iter().filter(|(name, _)| name != "signature") {
            payload[name] = value;
        }
        let parts = payload["parts"].as_object().into_iter().flatten();
        payload["parts"] = parts.map(|(name, digest)| json!([name, digest])).collect();
        let SessionCounts { shown, decoys, caught } = self.session.unwrap_or_default();
        // As texts, which canonical JSON writes whatever their size is.
        payload["session"] = [shown, decoys, caught].map(|count| count.to_string()).into();
        // Texts and lists of them always have a canonical form.
        canonical(&payload).unwrap_or_default()
    }

    /// Signs it.
    pub fn sign(&mut self, post: &str, key: &PrivateKey) {
        self.public_key = Some(WrittenDigest(key.public().id()));
        self.signature = Some(sign_record(KIND, &self.payload(post), key));
    }

    /// Whether the owner of a key signed it for this post.
    pub fn is_signed_by(&self, post: &str, key: &PublicKey) -> bool {
        let signature = self.signature.as_deref().unwrap_or_default();
        is_signed_by(KIND, &self.payload(post), signature, key)
    }

    /// The record as a table of TOML.
    pub fn write_toml(&self, text: &mut String) {
        for (name, value) in self.members() {
            text.push_str(&format!("{name} = {}\n", in_toml(&value)));
        }
    }

    /// Its members, in the order of the file.
    fn members(&self) -> Vec<(String, Json)> {
        // No number of a record is a float, so that it can always be written.
        match self.write() {
            Ok(Some(Json::Object(members))) => members.into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// A value on one line of TOML.
fn in_toml(value: &Json) -> String {
    let listed = |parts: Vec<String>| parts.join(", ");
    match value {
        Json::String(text) => quoted(text),
        Json::Array(items) => format!("[{}]", listed(items.iter().map(in_toml).collect())),
        Json::Object(members) => {
            let member = |(name, value)| format!("{name} = {}", in_toml(value));
            format!("{{ {} }}", listed(members.iter().map(member).collect()))
        }
        other => other.to_string(),
    }
}

/// A text in quotes, as TOML reads it.
pub fn quoted(text: &str) -> String {
    // JSON leaves this one character as it is, and TOML rejects it.
    Json::from(text).to_string().replace('\u{7f}', "\\u007F")
}
