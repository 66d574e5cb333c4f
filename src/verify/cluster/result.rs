//! The stored result of an item: a line that identifies the item, then the findings. A reader can tell whether it is complete.

use crate::verify::InspectedBundle;
use repro_bundle::signature::{PrivateKey, PublicKey, is_signed_by, sign_record};
use repro_core::digest::Digest;
use repro_core::source::Error;
use repro_model::replay::ReplayOutcome;
use repro_report::outcome::PostReport;
use serde::{Deserialize, Serialize};

use crate::cluster::item::{WorkItem, line, written};
use crate::cluster::program::Program;

/// The schema of results.
const SCHEMA: &str = "repro.result/1";
/// The type of a signed first line, which holds the digest of the rest.
const KIND: &str = "application/vnd.repro.result+json";
/// The most bytes of a result.
pub const CAP: usize = 256 << 20;

/// The findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Found {
    /// A bundle, without its steps, or why it is rejected.
    Inspected(Box<Result<InspectedBundle, Error>>),
    /// The outcome of replaying steps.
    Replayed(ReplayOutcome),
    /// A post, where it could be judged, and what could not.
    Judged(Option<Box<PostReport>>, Vec<Error>),
}

/// The result of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkResult {
    /// The findings.
    pub found: Found,
    /// Which of the statements of others that options name had nothing to do with the item.
    pub unused: Vec<Error>,
}

impl WorkResult {
    /// Whether it holds for ever. What could not be read may be readable when it is tried again.
    pub fn is_final(&self) -> bool {
        match &self.found {
            Found::Inspected(inspected) => inspected.is_ok(),
            Found::Replayed(outcome) => matches!(outcome, ReplayOutcome::Done(_)),
            Found::Judged(post, failures) => post.is_some() && failures.is_empty(),
        }
    }
}

/// The first line of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultHead {
    schema: String,
    item: WorkItem,
    program: Program,
    bytes: usize,
    sha256: Digest,
    /// The worker's signature of this line without it, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// The subject of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultOf {
    /// The item.
    pub item: WorkItem,
    /// The program that executed it.
    pub program: Program,
    bytes: usize,
    sha256: Digest,
    signed: String,
    signature: Option<String>,
}

impl ResultOf {
    /// Whether one of these keys signed it, if there are any.
    pub fn is_signed_by(&self, keys: &[PublicKey]) -> bool {
        let signature = self.signature.as_deref().unwrap_or_default();
        keys.is_empty() || keys.iter().any(|key| is_signed_by(KIND, &self.signed, signature, key))
    }
}

/// The bytes in which a result is kept, signed where there is a key; or why that cannot be.
pub fn kept(
    item: &WorkItem,
    program: &Program,
    result: &WorkResult,
    key: Option<&PrivateKey>,
) -> Result<Vec<u8>, String> {
    let body = rmp_serde::to_vec_named(result).map_err(|error| error.to_string())?;
    let mut head = ResultHead {
        schema: SCHEMA.to_owned(),
        item: item.clone(),
        program: program.clone(),
        bytes: body.len(),
        sha256: Digest::of(&body),
        signature: None,
    };
    head.signature = key.map(|key| sign_record(KIND, &line(&written(&head)), key));
    let mut bytes = (line(&written(&head)) + "\n").into_bytes();
    bytes.extend(body);
    if bytes.len() > CAP {
        return Err(format!("{} bytes; the maximum is {CAP}", bytes.len()));
    }
    Ok(bytes)
}

/// The subject of a result, from its first line, or an error. The key must match the item and the program.
pub fn head(bytes: &[u8]) -> Result<ResultOf, String> {
    if bytes.is_empty() {
        return Err("an empty file".to_owned());
    }
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("no complete first line")?;
    let head = bytes.get(..end).unwrap_or_default();
    let mut head: ResultHead = serde_json::from_slice(head).map_err(|error| error.to_string())?;
    if head.schema != SCHEMA {
        return Err(format!("the schema `{}`", head.schema));
    }
    let signature = head.signature.take();
    let signed = line(&written(&head));
    let ResultHead { item, program, bytes, sha256, .. } = head;
    if item.key != item.own_key(&program) {
        return Err("a key that does not match its item".to_owned());
    }
    Ok(ResultOf { item, program, bytes, sha256, signed, signature })
}

/// The bytes after the first line: the findings, which do not depend on the signer.
pub fn body(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    bytes.get(end + 1..).unwrap_or_default()
}

/// A whole result; or what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<(ResultOf, WorkResult), String> {
    let of = head(bytes)?;
    let body = body(bytes);
    if body.len() != of.bytes {
        return Err(format!("{} of {} bytes after the first line", body.len(), of.bytes));
    }
    if Digest::of(body) != of.sha256 {
        return Err("bytes that do not match the digest in its first line".to_owned());
    }
    let result = rmp_serde::from_slice(body).map_err(|error| error.to_string())?;
    Ok((of, result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::item::tests::{item, program};
    use proptest::prelude::*;

    fn result() -> WorkResult {
        let outcome = ReplayOutcome::NotRun("no data".to_owned());
        WorkResult { found: Found::Replayed(outcome), unused: Vec::new() }
    }

    #[test]
    fn a_result_is_read_as_it_was_written() {
        let (own, bytes) = (item(1, 2), kept(&item(1, 2), &program(), &result(), None).unwrap());
        let (of, found) = read(&bytes).unwrap();
        assert_eq!((of.item, of.program, found), (own, program(), result()));
        assert!(!result().is_final());
    }

    #[test]
    fn a_signature_is_of_one_result_of_one_item() {
        let [key, other] = [(), ()].map(|()| PrivateKey::generate().unwrap());
        let keys = [key.public().clone()];
        let signed = |at, by| kept(&item(at, 2), &program(), &result(), by).unwrap();
        let is_signed = |bytes: &[u8], keys: &[PublicKey]| head(bytes).unwrap().is_signed_by(keys);
        assert!(is_signed(&signed(1, Some(&key)), &keys));
        assert!(!is_signed(&signed(1, None), &keys) && is_signed(&signed(1, None), &[]));
        assert!(!is_signed(&signed(1, Some(&other)), &keys));
        assert_eq!(body(&signed(1, Some(&other))), body(&signed(1, None)));
        // The signature of another item, or of another body, moved into this line.
        let moved = |line: &[u8], from: &[u8]| {
            let mut all: serde_json::Value = serde_json::from_slice(line).unwrap();
            let other: serde_json::Value = serde_json::from_slice(from).unwrap();
            all["signature"] = other["signature"].clone();
            (all.to_string() + "\n").into_bytes()
        };
        let first = |bytes: Vec<u8>| bytes.split(|byte| *byte == b'\n').next().unwrap().to_vec();
        let of = |at| first(signed(at, Some(&key)));
        assert!(is_signed(&moved(&of(1), &of(1)), &keys));
        assert!(!is_signed(&moved(&of(1), &of(2)), &keys));
        let outcome = ReplayOutcome::NotRun("another body".to_owned());
        let later = WorkResult { found: Found::Replayed(outcome), unused: Vec::new() };
        let later = first(kept(&item(1, 2), &program(), &later, None).unwrap());
        assert!(!is_signed(&moved(&later, &of(1)), &keys));
    }

    proptest! {
        #[test]
        fn no_result_that_was_cut_or_touched_is_taken_for_whole(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let whole = kept(&item(1, 2), &program(), &result(), None).unwrap();
            let at = at.index(whole.len());
            prop_assert!(read(&whole[..at]).is_err());
            let mut touched = whole.clone();
            touched[at] ^= 1 << bit;
            if let Ok((of, found)) = read(&touched) {
                // White space that JSON allows, at most.
                prop_assert_eq!((of.item, found), (item(1, 2), result()));
            }
            let mut longer = whole;
            longer.push(0);
            prop_assert!(read(&longer).is_err());
        }
    }
}
