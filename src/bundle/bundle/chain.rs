//! The chain that runs through `metrics.jsonl` and `states.jsonl`, so that a torn, edited, moved or missing line shows.
//!
//! The `chain` of a line is the SHA-256, in lowercase hexadecimal, of the concatenation of:
//! 1. the `chain` of the previous line, as its 64 hexadecimal characters; nothing for the first line;
//! 2. the canonical text of this line without its member `chain`, and without the line feed.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::BROKEN_CHAIN;
use super::record::RecordValue;
use repro_core::digest::{Digest, Hasher, NotCanonical, canonical};
use repro_core::source::{Document, Error, Kind, Node};

/// The file of training records, whose lines are chained.
pub const METRICS: &str = "data/metrics.jsonl";
/// The file of the states that a run commits itself to, whose lines are chained.
pub const STATES: &str = "data/states.jsonl";
const MEMBER: &str = "chain";

/// The digest of the files of an evaluation, by which a run commits itself to them with its state: SHA-256 of a line
/// `DIGEST  NAME` for each, in the order of their names, as `sha256sum` writes them.
pub fn evaluation_digest<'f>(files: impl IntoIterator<Item = (&'f str, Digest)>) -> Digest {
    let files: BTreeMap<_, _> = files.into_iter().collect();
    let lines = files.into_iter().map(|(name, digest)| format!("{digest}  {name}\n"));
    Digest::of(lines.collect::<String>().as_bytes())
}

/// A chain up to some line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chain {
    last: Option<Digest>,
}

impl Chain {
    /// The chain that goes on after a line with the chain `last`.
    pub fn after(last: Option<Digest>) -> Self {
        Self { last }
    }

    /// The chain of the last line, or nothing before the first.
    pub fn last(&self) -> Option<Digest> {
        self.last
    }

    /// Adds a record, which has no `chain` yet, and answers the line to write, line feed included.
    pub fn extend(&mut self, mut record: Map<String, Json>) -> Result<String, NotCanonical> {
        record.remove(MEMBER);
        let mut line = Json::Object(record);
        let link = self.link([&canonical(&line)?, ""]);
        if let Json::Object(record) = &mut line {
            record.insert(MEMBER.to_owned(), link.to_string().into());
        }
        let text = canonical(&line)? + "\n";
        self.last = Some(link);
        Ok(text)
    }

    /// Checks the chain of one more line, whose text is canonical.
    pub(super) fn check_line(&mut self, line: Node<'_>) -> Result<(), Error> {
        let stated = line.required(MEMBER)?;
        let (link, digest) = (self.link(around_chain(line)), Digest::read(stated)?);
        if link != digest {
            return Err(BROKEN_CHAIN.at(stated.place(), link.to_string(), digest.to_string()));
        }
        self.last = Some(link);
        Ok(())
    }

    /// The chain of the next line: of its canonical text without the chain, in two parts.
    fn link(&self, [before, behind]: [&str; 2]) -> Digest {
        let mut hasher = Hasher::default();
        if let Some(last) = self.last {
            hasher.update(last.to_string().as_bytes());
        }
        hasher.update(before.as_bytes());
        hasher.update(behind.as_bytes());
        hasher.finish()
    }
}

/// The text of a line before its chain and behind it: together the canonical text without the chain, where that of the line
/// is canonical.
fn around_chain(line: Node<'_>) -> [&str; 2] {
    let (value, text) = (line.value(), line.document().source.text());
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let Kind::Object(members) = &value.kind else { return [part(value.span.clone()), ""] };
    let at = members.iter().position(|member| &*member.key == MEMBER).unwrap_or(members.len());
    let Some(chain) = members.get(at) else { return [part(value.span.clone()), ""] };
    // One comma goes with it: that before it, or that behind the first member.
    let (from, to) = match (at.checked_sub(1).and_then(|at| members.get(at)), members.get(at + 1)) {
        (Some(before), _) => (before.value.span.end, chain.value.span.end),
        (None, Some(next)) => (chain.key_span.start, next.key_span.start),
        (None, None) => (chain.key_span.start, chain.value.span.end),
    };
    [part(value.span.start..from), part(to..value.span.end)]
}

/// The chain of each line of a document; refuses it where one is not that of its line and of all before it.
pub fn chained_lines(lines: &Document) -> Result<Vec<Digest>, Error> {
    let mut chain = Chain::default();
    let link = |line| {
        chain.check_line(line)?;
        Ok(chain.last())
    };
    let chains: Vec<Option<Digest>> = lines.root().items()?.map(link).collect::<Result<_, _>>()?;
    Ok(chains.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::Source;
    use serde_json::json;

    fn lines() -> Vec<String> {
        let mut chain = Chain::default();
        (0..3)
            .map(|step| {
                let Json::Object(record) = json!({"step": step, "loss": 0.5}) else { panic!() };
                chain.extend(record).unwrap()
            })
            .collect()
    }

    fn check(lines: &[String]) -> Result<Chain, Error> {
        let source = Source::new("metrics.jsonl", lines.concat().into_bytes()).unwrap();
        let document = Document::parse_json_lines(source).unwrap();
        let mut chain = Chain::default();
        document.root().items()?.try_for_each(|line| chain.check_line(line))?;
        Ok(chain)
    }

    #[test]
    fn the_hashed_bytes_are_the_ones_that_are_written_down() {
        let lines = lines();
        let first = Digest::of(b"{\"loss\":0.5,\"step\":0}");
        assert_eq!(lines[0], format!("{{\"chain\":\"{first}\",\"loss\":0.5,\"step\":0}}\n"));
        let second = Digest::of(format!("{first}{{\"loss\":0.5,\"step\":1}}").as_bytes());
        assert_eq!(lines[1], format!("{{\"chain\":\"{second}\",\"loss\":0.5,\"step\":1}}\n"));
        assert!(check(&lines).is_ok());
        assert_eq!(check(&lines[..2]).unwrap().last(), Some(second));
    }

    #[test]
    fn edited_moved_and_missing_lines_show() {
        let good = lines();
        let edited = [good[0].clone(), good[1].replace("0.5", "0.4"), good[2].clone()];
        let moved = [good[1].clone(), good[0].clone(), good[2].clone()];
        let missing = [good[0].clone(), good[2].clone()];
        for (lines, line) in [(&edited[..], 2), (&moved[..], 1), (&missing[..], 2)] {
            let error = check(lines).unwrap_err();
            assert_eq!((error.code.id, error.place.line), ("bundle::broken-chain", line));
        }
        let bare = ["{\"step\":0}\n".to_owned()];
        assert_eq!(check(&bare).unwrap_err().code.id, "source::missing-field");
    }
}
