//! `repro/ID.reviews.toml`: the records of one post, sorted, one for each key and reviewer.
//!
//! Records never make a verification fail: what cannot be read is a finding, and so are two records of one reviewer that
//! contradict each other, as a merge of two branches may leave them. Writing is stricter: nothing that cannot be read is lost.

use std::collections::BTreeMap;
use std::path::Path;

use repro_bundle::bundle::record::RecordValue;
use repro_core::source::{Document, Error, Location, Source, codes};

use super::key::WrittenDigest;
use super::record::{ReviewRecord, ReviewVerdict, quoted};

codes! {
    BAD_FILE = "review::bad-file", "the review file cannot be read", "restore the file from version control";
    CONFLICT = "review::conflict", "a reviewer has two records for the same claim", "delete one; until then a dispute counts, otherwise the later record";
    TOO_MANY = "review::too-many", "the review file has too many records", "remove records of claims that no longer exist";
}

/// The schema that the file opens with.
pub const SCHEMA: &str = "repro.reviews/1";
/// How its name ends.
pub const ENDING: &str = ".reviews.toml";
/// The most records of one post.
const MOST_RECORDS: usize = 10_000;

/// The records of one post.
#[derive(Debug, Default)]
pub struct Reviews {
    /// Those that can be read, sorted.
    pub records: Vec<ReviewRecord>,
    /// The errors of the others.
    pub problems: Vec<Error>,
}

/// The name of the file of a post.
pub fn file(post: &str) -> String {
    format!("repro/{post}{ENDING}")
}

impl Reviews {
    /// Reads the records of a post, as far as they can be read.
    pub fn load(root: &Path, post: &str) -> Self {
        let name = file(post);
        let path = root.join(&name);
        if path.symlink_metadata().is_err() {
            return Self::default();
        }
        let document = Source::load_plain(&path, name).and_then(Document::parse_toml);
        match document.and_then(|document| Self::parse(&document, post)) {
            Ok(reviews) => reviews,
            Err(error) => Self { records: Vec::new(), problems: vec![error] },
        }
    }

    /// Reads a file of records.
    pub fn parse(document: &Document, post: &str) -> Result<Self, Error> {
        let root = document.root();
        root.only(&["schema", "post", "review"])?;
        for (key, wanted) in [("schema", SCHEMA), ("post", post)] {
            let node = root.required(key)?;
            if node.text()? != wanted {
                let found = format!("`{}`", node.text()?);
                return Err(BAD_FILE.at(node.place(), format!("`{wanted}`"), found));
            }
        }
        let mut reviews = Self::default();
        let Some(list) = root.get("review") else { return Ok(reviews) };
        if list.items()?.len() > MOST_RECORDS {
            let found = format!("{}", list.items()?.len());
            let place = Location::file(document.source.name());
            return Err(TOO_MANY.at(place, format!("at most {MOST_RECORDS} records"), found));
        }
        let mut known: BTreeMap<(WrittenDigest, String), ReviewRecord> = BTreeMap::new();
        for node in list.items()? {
            let record = match ReviewRecord::read(node) {
                Ok(record) => record,
                Err(error) => {
                    reviews.problems.push(error);
                    continue;
                }
            };
            let of = (record.key, record.reviewer().identity());
            if let Some(other) = known.get(&of) {
                let found = format!("two by {}", record.reviewer().shown());
                let expected = format!("one record of `{}` per reviewer", record.claim);
                reviews.problems.push(CONFLICT.at(node.place(), expected, found));
                if weight(other) >= weight(&record) {
                    continue;
                }
            }
            known.insert(of, record);
        }
        reviews.records = known.into_values().collect();
        Ok(reviews)
    }

    /// Puts a record in its place; one of the same reviewer on the same key goes.
    pub fn add(&mut self, record: ReviewRecord) {
        let of = |one: &ReviewRecord| (one.key, one.reviewer().identity());
        let wanted = of(&record);
        match self.records.binary_search_by(|one| of(one).cmp(&wanted)) {
            Ok(at) => self.records[at] = record,
            Err(at) => self.records.insert(at, record),
        }
    }

    /// The text of the file.
    pub fn render(&self, post: &str) -> String {
        let mut text = format!(
            "# Written by `repro review`.\nschema = {}\npost = {}\n",
            quoted(SCHEMA),
            quoted(post)
        );
        for record in &self.records {
            text.push_str("\n[[review]]\n");
            record.write_toml(&mut text);
        }
        text
    }
}

/// Which of two records of one reviewer counts: a dispute, else one that is signed, else the later one.
fn weight(record: &ReviewRecord) -> (bool, bool, &str) {
    (record.verdict == ReviewVerdict::Dispute, record.signature.is_some(), &record.date)
}
