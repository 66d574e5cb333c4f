//! What was recorded of a post: `repro/ID.lock` holds the digests of its bundles, and of each claim its
//! verdict and assurance, the words of the text and what they are held against.
//!
//! A post about other people's work is allowed to be refuted; what a CI gate has to notice is a verdict, or a
//! claim, that changes. The file is TOML with one line a claim, sorted, so that a change is one line of a diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use repro_receipt::bundle::Bundle;
use repro_receipt::digest::Digest;
use repro_receipt::source::{Document, Error, Location, Source, codes};
use repro_report::outcome::{ClaimReport, LockDifference, PostReport};

codes! {
    WRONG_SCHEMA = "lock::wrong-schema", "the lock file has another schema", "rewrite it with `repro verify --post all --write-lock`";
    BAD_ENTRY = "lock::bad-entry", "an entry of a lock is malformed", "write it anew with `repro verify --post ID --write-lock`";
    UNPINNED = "lock::unpinned", "the lock of a post does not hold the digest of a bundle that it names", "look at the bundle, then write the lock anew: `repro verify --post ID --write-lock`";
    NO_LOCK = "lock::missing", "a post has no lock", "write it with `repro verify --post ID --write-lock`";
}

/// The schema id that a lock opens with.
pub const SCHEMA: &str = "repro.lock/2";

/// What was recorded of one post.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostLock {
    /// The digests of its bundles, `sha256:…`, by name, and where they stand.
    bundles: BTreeMap<String, (String, Location)>,
    /// Of each claim: verdict and assurance, what is claimed, what it is held against.
    claims: BTreeMap<String, [String; 3]>,
}

/// The name of the lock of a post.
pub fn file(post: &str) -> String {
    format!("repro/{post}.lock")
}

/// The lock of a post, where it has one.
pub fn read(root: &Path, post: &str) -> Result<Option<PostLock>, Error> {
    let name = file(post);
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
        if schema.text()? != SCHEMA {
            let found = format!("`{}`", schema.text()?);
            return Err(WRONG_SCHEMA.at(schema.place(), format!("`{SCHEMA}`"), found));
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
            "# Written by `repro verify --write-lock`.\nschema = \"{SCHEMA}\"\n\n[bundles]\n"
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

fn entry(claim: &ClaimReport) -> String {
    let origin = claim.origin.map_or("none", |origin| origin.word());
    let method = claim.outcome.method.map_or("none", |method| method.word());
    format!("{} {origin} {method}", claim.outcome.verdict.word())
}
