//! The record of a post: `repro/ID.lock` contains the digests of its bundles, and for each claim its
//! verdict and assurance, the words of the text, what they are held against, and the code of the verdict:
//! a claim that was refuted for one reason, and then is for another, is not as recorded.
//!
//! A post about other people's work is allowed to be refuted; what a CI gate has to notice is a verdict, or a
//! claim, that changes. The file is TOML with one line a claim, sorted, so that a change is one line of a diff.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use repro_bundle::bundle::Bundle;
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, Node, Source, codes};
use repro_report::outcome::{ClaimReport, LockDifference, PostReport, ReadBy, Verdict};

codes! {
    WRONG_SCHEMA = "lock::wrong-schema", "the lock file has a different schema", "rewrite it with `repro verify --post all --write-lock`";
    BAD_ENTRY = "lock::bad-entry", "an entry in the lock is malformed", "rewrite it with `repro verify --post ID --write-lock`";
    UNPINNED = "lock::missing-digest", "a post's lock does not contain its bundle's digest", "inspect the bundle, then rewrite the lock: `repro verify --post ID --write-lock`";
    NO_LOCK = "lock::missing", "the post has no lock", "write it with `repro verify --post ID --write-lock`";
}

/// The schema id that a lock opens with.
pub const SCHEMA: &str = "repro.lock/4";

/// Of a claim: verdict and assurance, what is claimed, what it is held against, and the code of the verdict, which is empty if
/// there is none.
type LockEntry = [String; 4];

/// The record of one post.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostLock {
    /// The digest of the post file.
    post: String,
    /// The digests of the texts that were available, by their ids.
    texts: BTreeMap<String, String>,
    /// The digests of its bundles, `sha256:…`, by name, and where they stand.
    bundles: BTreeMap<String, (String, Location)>,
    /// Its claims.
    claims: BTreeMap<String, LockEntry>,
}

/// The name of the lock of a post.
pub fn file(post: &str) -> String {
    format!("repro/{post}.lock")
}

/// The lock of a post, if it has one.
pub fn read(root: &Path, post: &str) -> Result<Option<PostLock>, Error> {
    let name = file(post);
    let path = root.join(&name);
    if !path.is_file() {
        return Ok(None);
    }
    PostLock::parse(&Document::parse_toml(Source::load_plain(&path, name)?)?).map(Some)
}

impl PostLock {
    /// The record to write for a post.
    pub fn of(post: &PostReport) -> Self {
        let bundles = post
            .bundles
            .iter()
            .map(|bundle| (bundle.name.clone(), (bundle.digest.clone(), Location::default())));
        let claims = post.claims.iter().map(|claim| {
            let code = claim.outcome.code.map_or("", |code| code.id).to_owned();
            (claim.id.clone(), [entry(claim), claim.claimed.clone(), claim.said.clone(), code])
        });
        let texts =
            post.texts.iter().filter_map(|text| Some((text.id.clone(), text.digest.clone()?)));
        Self {
            post: post.digest.clone(),
            texts: texts.collect(),
            bundles: bundles.collect(),
            claims: claims.collect(),
        }
    }

    /// Reads a lock.
    pub fn parse(document: &Document) -> Result<Self, Error> {
        let root = document.root();
        root.only(&["schema", "post", "texts", "bundles", "claims"])?;
        let schema = root.required("schema")?;
        if schema.text()? != SCHEMA {
            let found = format!("`{}`", schema.text()?);
            return Err(WRONG_SCHEMA.at(schema.place(), format!("`{SCHEMA}`"), found));
        }
        let digest = |node: Node| {
            let text = node.text()?;
            match Digest::parse_prefixed(text) {
                Some(_) => Ok(text.to_owned()),
                None => {
                    let found = format!("`{text}`");
                    Err(crate::post::BAD_DIGEST.at(node.place(), "`sha256:…`", found))
                }
            }
        };
        let mut lock = Self { post: digest(root.required("post")?)?, ..Self::default() };
        for (id, text) in root.required("texts")?.members()? {
            lock.texts.insert(id.to_owned(), digest(text)?);
        }
        for (name, digest) in root.required("bundles")?.members()? {
            lock.bundles.insert(name.to_owned(), (digest.text()?.to_owned(), digest.place()));
        }
        for (id, parts) in root.required("claims")?.members()? {
            let texts = parts.items()?.map(|part| part.text().map(str::to_owned));
            let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
            let entry = LockEntry::try_from(texts).map_err(|texts| {
                let found = format!("{} texts", texts.len());
                BAD_ENTRY.at(parts.place(), "four strings", found)
            })?;
            lock.claims.insert(id.to_owned(), entry);
        }
        Ok(lock)
    }

    /// The text of the lock, one line for each bundle and claim.
    pub fn render(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let line = |name: &str, value: &str| format!("{} = {value}\n", quoted(name));
        let texts = self.texts.iter().map(|(id, digest)| line(id, &quoted(digest)));
        let bundles = self.bundles.iter().map(|(name, (digest, _))| line(name, &quoted(digest)));
        let claims = self.claims.iter().map(|(id, parts)| {
            let parts: Vec<_> = parts.iter().map(|part| quoted(part)).collect();
            line(id, &format!("[{}]", parts.join(", ")))
        });
        format!(
            "# Written by `repro verify --write-lock`.\nschema = \"{SCHEMA}\"\npost = \"{}\"\n\n[texts]\n{}\n[bundles]\n{}\n[claims]\n{}",
            self.post,
            texts.collect::<String>(),
            bundles.collect::<String>(),
            claims.collect::<String>()
        )
    }

    /// Rejects a bundle that is not the recorded one.
    pub fn check_pin(&self, bundle: &Bundle, asked: &Location) -> Result<(), Error> {
        let Some((pinned, place)) = self.bundles.get(bundle.name()) else {
            let expected = "a bundle whose digest is in the lock";
            return Err(UNPINNED.at(asked.clone(), expected, format!("`{}`", bundle.name())));
        };
        let digest = Digest::parse_prefixed(pinned).ok_or_else(|| {
            crate::post::BAD_DIGEST.at(place.clone(), "`sha256:…`", format!("`{pinned}`"))
        })?;
        bundle.check_pin(&digest, place)
    }

    /// The differences between a post's record and its current result.
    pub fn differences(&self, post: &str, found: &Self) -> Vec<LockDifference> {
        let ids: BTreeSet<_> = self.claims.keys().chain(found.claims.keys()).collect();
        let shown = |parts: &LockEntry| {
            parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" | ")
        };
        let changed = |id: &&String| !is_as_recorded(self.claims.get(*id), found.claims.get(*id));
        let difference = |id: &String| LockDifference {
            post: post.to_owned(),
            claim: id.clone(),
            recorded: self.claims.get(id).map(shown),
            found: found.claims.get(id).map(shown),
            is_of_verdict: is_of_verdict(self.claims.get(id), found.claims.get(id)),
        };
        let mut all: Vec<_> = ids.into_iter().filter(changed).map(difference).collect();
        let file = |name: String, recorded: &str, found: &str| LockDifference {
            post: post.to_owned(),
            claim: name,
            recorded: Some(recorded.to_owned()),
            found: Some(found.to_owned()),
            is_of_verdict: false,
        };
        // Quotes, formulas, names and excuses are in the post file: where no claim tells, its digest does.
        if all.is_empty() && self.post != found.post {
            all.push(file("the post file".to_owned(), &self.post, &found.post));
        }
        for (id, recorded) in &self.texts {
            if let Some(now) = found.texts.get(id).filter(|now| *now != recorded) {
                all.push(file(format!("the text `{id}`"), recorded, now));
            }
        }
        all
    }
}

/// Whether a claim is as it was recorded. That more people have read it since is no difference: reviews are added all the time.
fn is_as_recorded(recorded: Option<&LockEntry>, found: Option<&LockEntry>) -> bool {
    let (Some(recorded), Some(found)) = (recorded, found) else { return recorded == found };
    let ((was, before), (is, now)) = (read_by(&recorded[0]), read_by(&found[0]));
    recorded[1..] == found[1..] && was == is && before <= now
}

/// An entry of a claim without who read it, and that: where nobody is named it was the author.
fn read_by(entry: &str) -> (&str, ReadBy) {
    let named = [ReadBy::Drafted, ReadBy::Reviewed].into_iter().find_map(|by| {
        let before = entry.strip_suffix(by.word())?.strip_suffix(' ')?;
        Some((before, by))
    });
    named.unwrap_or((entry, ReadBy::Author))
}

/// Whether the verdict of a claim is another one, or nobody recorded that it is refuted. The first part of an entry begins with it.
fn is_of_verdict(recorded: Option<&LockEntry>, found: Option<&LockEntry>) -> bool {
    let word = |[entry, ..]: &LockEntry| entry.split(' ').next().map(str::to_owned);
    match (recorded.and_then(word), found.and_then(word)) {
        (Some(recorded), Some(found)) => recorded != found,
        (None, found) => found.as_deref() == Some(Verdict::Refuted.word()),
        (_, None) => false,
    }
}

/// The verdict and the assurance. A reading by the author alone is not written.
fn entry(claim: &ClaimReport) -> String {
    let origin = claim.origin.map_or("none", |origin| origin.word());
    let method = claim.outcome.method.map_or("none", |method| method.word());
    let evidence = format!("{} {origin} {method}", claim.outcome.verdict.word());
    match claim.meaning.read_by {
        Some(read_by @ (ReadBy::Drafted | ReadBy::Reviewed)) => {
            format!("{evidence} {}", read_by.word())
        }
        Some(ReadBy::Author) | None => evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_as_recorded, is_of_verdict};

    #[test]
    fn a_review_that_is_added_is_no_difference_and_one_that_is_lost_is() {
        let entry = |text: &str| [text, "1.5", "moe.loss", ""].map(str::to_owned);
        let is_same = |recorded: &str, found: &str| {
            is_as_recorded(Some(&entry(recorded)), Some(&entry(found)))
        };
        let [author, drafted, reviewed] =
            ["", " drafted", " reviewed"].map(|by| format!("verified declared recomputed{by}"));
        assert!(is_same(&author, &reviewed) && is_same(&drafted, &author));
        assert!(!is_same(&reviewed, &author) && !is_same(&author, &drafted));
        assert!(!is_same(&author, "refuted declared recomputed reviewed"));
        assert!(!is_as_recorded(None, Some(&entry(&author))));
    }

    #[test]
    fn another_reason_for_the_same_verdict_is_a_difference() {
        let refuted = |code: &str| {
            ["refuted declared recomputed", "1.5", "moe.loss", code].map(str::to_owned)
        };
        let [differs, order] = ["value::differs", "order::wrong"].map(refuted);
        assert!(is_as_recorded(Some(&differs), Some(&differs)));
        assert!(!is_as_recorded(Some(&differs), Some(&order)));
        assert!(!is_of_verdict(Some(&differs), Some(&order)), "the verdict itself is the same");
    }
}
