//! What was recorded of posts: `repro/verdicts.lock`, the verdict and assurance of every claim, and
//! `repro/ID.lock`, which a post in the language of claims has for itself, with the digests of its bundles
//! and what each claim says.
//!
//! A post about other people's work is allowed to be refuted; what a CI gate has to notice is a
//! verdict that changes. The file is TOML with one line a claim, sorted, so that a change is one line
//! of a diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use repro_receipt::bundle::Bundle;
use repro_receipt::digest::Digest;
use repro_receipt::source::{Document, Error, Location, Source, codes};
use repro_report::outcome::{ClaimReport, LockDifference, PostReport, Report};

/// Where it lies, from the root of the project.
pub const FILE: &str = "repro/verdicts.lock";
/// The schema id that it opens with.
pub const SCHEMA: &str = "repro.lock/1";

codes! {
    WRONG_SCHEMA = "lock::wrong-schema", "the lock file has another schema", "rewrite it with `repro verify --post all --write-lock`";
    BAD_ENTRY = "lock::bad-entry", "an entry of a lock is malformed", "write it anew with `repro verify --post ID --write-lock`";
    UNPINNED = "lock::unpinned", "the lock of a post does not hold the digest of a bundle that it names", "look at the bundle, then write the lock anew: `repro verify --post ID --write-lock`";
    NO_LOCK = "lock::missing", "a post has no lock", "write it with `repro verify --post ID --write-lock`";
}

/// The schema id that the lock of one post opens with.
pub const OWN_SCHEMA: &str = "repro.lock/2";

/// What was recorded of one post.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostLock {
    /// The digests of its bundles, `sha256:…`, by name, and where they stand.
    bundles: BTreeMap<String, (String, Location)>,
    /// Of each claim: verdict and assurance, what is claimed, what it is held against.
    claims: BTreeMap<String, [String; 3]>,
}

/// The name of the lock of one post.
pub fn own_file(post: &str) -> String {
    format!("repro/{post}.lock")
}

/// The lock of a post, where it has one.
pub fn own(root: &Path, post: &str) -> Result<Option<PostLock>, Error> {
    let name = own_file(post);
    let path = root.join(&name);
    if !path.is_file() {
        return Ok(None);
    }
    PostLock::parse(&Document::parse_toml(Source::load(&path, name)?)?).map(Some)
}

impl PostLock {
    /// What is to be recorded of a post.
    pub fn of(post: &PostReport) -> Self {
        let bundles = post
            .bundles
            .iter()
            .map(|bundle| (bundle.name.clone(), (bundle.digest.clone(), Location::default())));
        let claims = post.claims.iter().map(|claim| {
            (claim.id.clone(), [entry(claim), claim.claimed.clone(), claim.said.clone()])
        });
        Self { bundles: bundles.collect(), claims: claims.collect() }
    }

    /// Reads a lock.
    pub fn parse(document: &Document) -> Result<Self, Error> {
        let root = document.root();
        root.only(&["schema", "bundles", "claims"])?;
        let schema = root.required("schema")?;
        if schema.text()? != OWN_SCHEMA {
            let found = format!("`{}`", schema.text()?);
            return Err(WRONG_SCHEMA.at(schema.place(), format!("`{OWN_SCHEMA}`"), found));
        }
        let mut lock = Self::default();
        for (name, digest) in root.required("bundles")?.members()? {
            lock.bundles.insert(name.to_owned(), (digest.text()?.to_owned(), digest.place()));
        }
        for (id, parts) in root.required("claims")?.members()? {
            let texts = parts.items()?.map(|part| part.text().map(str::to_owned));
            let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
            let entry = <[String; 3]>::try_from(texts).map_err(|texts| {
                let found = format!("{} texts", texts.len());
                BAD_ENTRY.at(parts.place(), "three texts", found)
            })?;
            lock.claims.insert(id.to_owned(), entry);
        }
        Ok(lock)
    }

    /// The text of the lock, one line for each bundle and claim.
    pub fn render(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!(
            "# Written by `repro verify --write-lock`.\nschema = \"{OWN_SCHEMA}\"\n\n[bundles]\n"
        );
        // Writing to a string cannot fail.
        for (name, (digest, _)) in &self.bundles {
            let _ = writeln!(text, "{} = \"{digest}\"", quoted(name));
        }
        text.push_str("\n[claims]\n");
        for (id, parts) in &self.claims {
            let parts: Vec<_> = parts.iter().map(|part| quoted(part)).collect();
            let _ = writeln!(text, "{} = [{}]", quoted(id), parts.join(", "));
        }
        text
    }

    /// Refuses a bundle that is not the recorded one.
    pub fn check_pin(&self, bundle: &Bundle, asked: &Location) -> Result<(), Error> {
        let Some((pinned, place)) = self.bundles.get(bundle.name()) else {
            let expected = "a bundle whose digest the lock holds";
            return Err(UNPINNED.at(asked.clone(), expected, format!("`{}`", bundle.name())));
        };
        let digest = Digest::parse_prefixed(pinned).ok_or_else(|| {
            crate::post::BAD_DIGEST.at(place.clone(), "`sha256:…`", format!("`{pinned}`"))
        })?;
        bundle.check_pin(&digest, place)
    }

    /// What differs between what was recorded of a post and what was found now.
    pub fn differences(&self, post: &str, found: &Self) -> Vec<LockDifference> {
        let ids: BTreeSet<_> = self.claims.keys().chain(found.claims.keys()).collect();
        let shown = |parts: &[String; 3]| {
            parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" | ")
        };
        let changed = |id: &&String| self.claims.get(*id) != found.claims.get(*id);
        let difference = |id: &String| LockDifference {
            post: post.to_owned(),
            claim: id.clone(),
            recorded: self.claims.get(id).map(shown),
            found: found.claims.get(id).map(shown),
        };
        ids.into_iter().filter(changed).map(difference).collect()
    }
}

/// Recorded verdicts: post, then claim, then "verified transcribed recomputed".
pub type Verdicts = BTreeMap<String, BTreeMap<String, String>>;

/// The verdicts of a report, as they are recorded, of posts without a lock of their own.
pub fn of(report: &Report) -> Verdicts {
    let entries = |claims: &[ClaimReport]| {
        claims.iter().map(|claim| (claim.id.clone(), entry(claim))).collect()
    };
    let shared = report.posts.iter().filter(|post| post.lock.is_none());
    shared.map(|post| (post.id.clone(), entries(&post.claims))).collect()
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
