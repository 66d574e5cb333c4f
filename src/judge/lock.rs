//! `repro/verdicts.lock`: the verdict and assurance of every claim, as recorded.
//!
//! A post about other people's work is allowed to be refuted; what a CI gate has to notice is a
//! verdict that changes. The file is TOML with one line a claim, sorted, so that a change is one line
//! of a diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use repro_receipt::source::{Document, Error, codes};
use repro_report::outcome::{ClaimReport, LockDifference, Report};

/// Where it lies, from the root of the project.
pub const FILE: &str = "repro/verdicts.lock";
/// The schema id that it opens with.
pub const SCHEMA: &str = "repro.lock/1";

codes! {
    WRONG_SCHEMA = "lock::wrong-schema", "the lock file has another schema", "rewrite it with `repro verify --post all --write-lock`";
}

/// Recorded verdicts: post, then claim, then "verified transcribed recomputed".
pub type Verdicts = BTreeMap<String, BTreeMap<String, String>>;

/// The verdicts of a report, as they are recorded.
pub fn of(report: &Report) -> Verdicts {
    let entries = |claims: &[ClaimReport]| {
        claims.iter().map(|claim| (claim.id.clone(), entry(claim))).collect()
    };
    report.posts.iter().map(|post| (post.id.clone(), entries(&post.claims))).collect()
}

fn entry(claim: &ClaimReport) -> String {
    let origin = claim.origin.map_or("none", |origin| origin.word());
    let method = claim.outcome.method.map_or("none", |method| method.word());
    format!("{} {origin} {method}", claim.outcome.verdict.word())
}

/// The text of a lock file.
pub fn render(verdicts: &Verdicts) -> String {
    let mut text = format!("schema = \"{SCHEMA}\"\n");
    for (post, claims) in verdicts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n[\"{post}\"]");
        for (claim, entry) in claims {
            let _ = writeln!(text, "\"{claim}\" = \"{entry}\"");
        }
    }
    text
}

/// Reads a lock file.
pub fn parse(document: &Document) -> Result<Verdicts, Error> {
    let root = document.root();
    let schema = root.required("schema")?;
    if schema.text()? != SCHEMA {
        return Err(WRONG_SCHEMA.at(
            schema.place(),
            format!("`{SCHEMA}`"),
            format!("`{}`", schema.text()?),
        ));
    }
    let mut verdicts = Verdicts::new();
    for (post, claims) in root.members()?.filter(|(key, _)| *key != "schema") {
        let mut entries = BTreeMap::new();
        for (claim, entry) in claims.members()? {
            entries.insert(claim.to_owned(), entry.text()?.to_owned());
        }
        verdicts.insert(post.to_owned(), entries);
    }
    Ok(verdicts)
}

/// What differs between the recorded and the found verdicts of the posts that were asked for.
pub fn differences(recorded: &Verdicts, found: &Verdicts, posts: &[String]) -> Vec<LockDifference> {
    let none = BTreeMap::new();
    let mut differences = Vec::new();
    for post in posts.iter().collect::<BTreeSet<_>>() {
        let (before, now) = (recorded.get(post).unwrap_or(&none), found.get(post).unwrap_or(&none));
        for claim in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
            let (recorded, found) = (before.get(claim).cloned(), now.get(claim).cloned());
            if recorded != found {
                differences.push(LockDifference {
                    post: post.clone(),
                    claim: claim.clone(),
                    recorded,
                    found,
                });
            }
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_receipt::source::Source;

    fn verdicts(entries: &[(&str, &str)]) -> Verdicts {
        let claims = entries
            .iter()
            .map(|(claim, entry)| ((*claim).to_owned(), (*entry).to_owned()))
            .collect();
        Verdicts::from([("0001".to_owned(), claims)])
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written =
            verdicts(&[("a.b", "verified transcribed recomputed"), ("c", "unchecked none none")]);
        let source = Source::new(FILE, render(&written).into_bytes()).unwrap();
        assert_eq!(parse(&Document::parse_toml(source).unwrap()).unwrap(), written);
    }

    #[test]
    fn changed_new_and_gone_claims_differ() {
        let before = verdicts(&[
            ("changed", "verified x y"),
            ("gone", "refuted x y"),
            ("same", "refuted x y"),
        ]);
        let now = verdicts(&[
            ("changed", "refuted x y"),
            ("new", "verified x y"),
            ("same", "refuted x y"),
        ]);
        let found = differences(&before, &now, &["0001".to_owned()]);
        let names: Vec<_> = found.iter().map(|difference| difference.claim.as_str()).collect();
        assert_eq!(names, ["changed", "gone", "new"]);
        assert!(differences(&before, &before, &["0001".to_owned()]).is_empty());
        assert!(differences(&before, &now, &["other".to_owned()]).is_empty());
    }
}
