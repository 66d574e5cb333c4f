//! The differences between two reports and their kinds.

use std::collections::{BTreeMap, BTreeSet};

use crate::outcome::Verdict;
use repro_core::source::{Error, Location};
use serde::Serialize;

use crate::compare::OTHER_KIND;
use crate::compare::ground::{GroundChange, GroundKind};
use crate::compare::judged::{JudgedEntry, JudgedPart, JudgedReport};
use crate::compare::locks::{LockChange, changed_locks, unjudged_gone};
use crate::compare::paired::{KnownRefutations, moved, same_claims};

/// How a verdict changed, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Refuted now; or more of it is.
    NowRefuted,
    /// No longer verified, or by weaker evidence, with a lint, or with a number of the post that it did not need before.
    Weaker,
    /// Not judged any more.
    Gone,
    /// Refuted before, undecided now.
    NoLongerRefuted,
    /// Verified now, or by stronger evidence.
    Stronger,
    /// Judged for the first time, and not refuted.
    New,
    /// The same verdict on other grounds.
    SameVerdict,
}

impl ChangeKind {
    /// Every kind, worst first.
    pub const ALL: [Self; 7] = [
        Self::NowRefuted,
        Self::Weaker,
        Self::Gone,
        Self::NoLongerRefuted,
        Self::Stronger,
        Self::New,
        Self::SameVerdict,
    ];

    /// Its words in reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::NowRefuted => "newly refuted",
            Self::Weaker => "weaker",
            Self::Gone => "gone",
            Self::NoLongerRefuted => "no longer refuted",
            Self::Stronger => "stronger",
            Self::New => "new",
            Self::SameVerdict => "same verdict, different grounds",
        }
    }

    /// How an entry changed that was judged before; none where it did not.
    fn of(was: &JudgedEntry, now: &JudgedEntry, is_refuted_anew: bool) -> Option<Self> {
        use Verdict::{Refuted, Verified};
        // What held or did not where nothing is asked any more is not known.
        let asks_less = now.rows() < was.rows();
        let fell = asks_less
            || now.brings_more_in(was)
            || was.strength.iter().zip(&now.strength).any(|(was, now)| now < was);
        Some(match (was.verdict, now.verdict) {
            _ if is_refuted_anew => Self::NowRefuted,
            (_, Refuted) if was.verdict != Refuted => Self::SameVerdict,
            (Verified, Verified) if fell => Self::Weaker,
            (Verified, Verified) if was.strength != now.strength => Self::Stronger,
            (Verified, Verified) | (Refuted, Refuted) if was == now => return None,
            (Verified, Verified) | (Refuted, Refuted) => Self::SameVerdict,
            (Verified, _) => Self::Weaker,
            (Refuted, Verified) if asks_less => Self::NoLongerRefuted,
            (_, Verified) => Self::Stronger,
            (Refuted, _) => Self::NoLongerRefuted,
            _ if was == now => return None,
            _ => Self::SameVerdict,
        })
    }
}

/// One claim or relation whose verdict, or what it rests on, changed.
#[derive(Debug, Clone)]
pub struct EntryChange<'r> {
    /// The post or document.
    pub part: &'r str,
    /// Its name now, or where it is gone, as it was.
    pub name: &'r str,
    pub kind: ChangeKind,
    pub was: Option<&'r JudgedEntry>,
    pub now: Option<&'r JudgedEntry>,
    /// The grounds that changed; if the report has none, the post file, if that changed. Of one that is new or gone
    /// nothing.
    pub because: Vec<GroundChange>,
}

impl EntryChange<'_> {
    /// Its subject, for people.
    pub fn title(&self) -> &str {
        self.now.or(self.was).map_or("", |entry| &entry.title)
    }

    /// Whether only the files of the evidence changed, and nothing that is said of them.
    pub fn is_of_evidence_alone(&self) -> bool {
        let same = |key: fn(&JudgedEntry) -> &str| self.was.map(key) == self.now.map(key);
        self.kind == ChangeKind::SameVerdict
            && self.because.iter().all(|change| change.what.is_only_evidence())
            && same(|entry| &entry.reason)
            && same(|entry| &entry.judged_as)
    }

    /// Whether nothing that the reports hold of it explains the change.
    pub fn is_unexplained(&self) -> bool {
        self.was.is_some() && self.now.is_some() && self.because.is_empty()
    }
}

/// The changes of a post or document as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct PartChange<'r> {
    #[serde(rename = "post")]
    pub part: &'r str,
    pub changes: Vec<GroundChange>,
}

impl<'r> PartChange<'r> {
    /// The changes; none if nothing changed. Where a text changed its lines move, and a number that stands in as many lines without
    /// a claim is no change.
    fn between(
        part: &'r str,
        old_name: Option<&str>,
        [was, now]: [&JudgedPart; 2],
    ) -> Option<Self> {
        let mut changes = GroundChange::between(&was.grounds, &now.grounds);
        changes.extend(old_name.map(|old| GroundChange {
            what: GroundKind::Name,
            of: String::new(),
            was: Some(old.to_owned()),
            now: Some(part.to_owned()),
        }));
        if changes.iter().any(|change| change.what == GroundKind::Text) {
            let has_moved = |one: &GroundChange| {
                one.what == GroundKind::Unbound
                    && lines(&one.was).count() == lines(&one.now).count()
            };
            changes.retain(|change| !has_moved(change));
        }
        (!changes.is_empty()).then_some(Self { part, changes })
    }

    /// The texts and bundles of it that are others, in words.
    fn files(&self) -> Vec<String> {
        let is_file =
            |change: &&GroundChange| matches!(change.what, GroundKind::Text | GroundKind::Bundle);
        self.changes.iter().filter(is_file).map(|change| change.what.words(&change.of)).collect()
    }

    /// The first change of a kind.
    pub fn of(&self, kind: GroundKind) -> Option<&GroundChange> {
        self.changes.iter().find(|change| change.what == kind)
    }
}

/// The lines of a number without a claim.
pub fn lines(value: &Option<String>) -> impl Iterator<Item = &str> {
    value.iter().flat_map(|lines| lines.split(", "))
}

/// All changes between two reports.
#[derive(Debug, Clone)]
pub struct ReportComparison<'r> {
    pub was: &'r JudgedReport,
    pub now: &'r JudgedReport,
    /// By post, then worst first.
    pub entries: Vec<EntryChange<'r>>,
    pub parts: Vec<PartChange<'r>>,
    /// Inputs that could not be used, and could before,
    pub broken: Vec<&'r str>,
    /// and the other way round;
    pub mended: Vec<&'r str>,
    /// those that cannot be used on either side.
    pub unknown: Vec<&'r str>,
    /// Posts that could not be judged at first and are gone.
    pub unjudged_gone: Vec<&'r str>,
    /// Locks that are others.
    pub locks: Vec<LockChange<'r>>,
}

/// Holds `now` against `was`.
pub fn compare<'r>(
    was: &'r JudgedReport,
    now: &'r JudgedReport,
) -> Result<ReportComparison<'r>, Error> {
    if was.kind != now.kind {
        let place = Location::file(now.name.clone());
        let expected = format!("a report of the same command as `{}`", was.name);
        return Err(OTHER_KIND.at(place, expected, "a report of a different command"));
    }
    let none = &EMPTY;
    let names: BTreeSet<&String> = was.parts.keys().chain(now.parts.keys()).collect();
    let moved = moved(was, now);
    let old_names: BTreeSet<&str> = moved.values().copied().collect();
    let (mut entries, mut parts) = (Vec::new(), Vec::new());
    for name in names.into_iter().filter(|name| !old_names.contains(name.as_str())) {
        let old = moved.get(name.as_str()).copied();
        let before = was.parts.get(old.unwrap_or(name));
        let after = now.parts.get(name);
        let both = [before.unwrap_or(none), after.unwrap_or(none)];
        let is_on_both = before.is_some() && after.is_some();
        let whole = is_on_both.then(|| PartChange::between(name, old, both)).flatten();
        let post = whole.as_ref().and_then(|whole| whole.of(GroundKind::Post));
        entries.extend(changed_entries(name, both, post));
        parts.extend(whole);
    }
    let only = |of: &'r JudgedReport, other: &'r JudgedReport| {
        of.failures.difference(&other.failures).map(String::as_str).collect()
    };
    let whole = parts.iter().map(|part| (part.part, part.files())).collect();
    let locks = changed_locks(was, now, &whole, &moved);
    Ok(ReportComparison {
        locks,
        unjudged_gone: unjudged_gone(was, now),
        was,
        now,
        entries,
        parts,
        broken: only(now, was),
        mended: only(was, now),
        unknown: was.failures.intersection(&now.failures).map(String::as_str).collect(),
    })
}

/// The empty part that stands for a post that one side does not have.
static EMPTY: JudgedPart =
    JudgedPart { title: String::new(), entries: BTreeMap::new(), grounds: Vec::new() };

/// The changed entries of a post or document; `post` is how its file changed.
fn changed_entries<'r>(
    part: &'r str,
    [was, now]: [&'r JudgedPart; 2],
    post: Option<&GroundChange>,
) -> Vec<EntryChange<'r>> {
    let same = same_claims(was, now);
    let mut known = KnownRefutations::of(was, now);
    let old_names: BTreeSet<&str> = same.values().copied().collect();
    let mut changes = Vec::new();
    for (name, entry) in &now.entries {
        let change =
            |kind, was, because| EntryChange { part, name, kind, was, now: Some(entry), because };
        let before = same.get(name.as_str()).and_then(|old| was.entries.get(*old));
        let is_anew = entry.verdict == Verdict::Refuted && !known.has(before, entry);
        match before {
            None if is_anew => changes.push(change(ChangeKind::NowRefuted, None, Vec::new())),
            None => changes.push(change(ChangeKind::New, None, Vec::new())),
            Some(before) => {
                let mut because = GroundChange::between(&before.grounds, &entry.grounds);
                if because.is_empty() {
                    because.extend(post.cloned());
                }
                let kind = ChangeKind::of(before, entry, is_anew);
                changes.extend(kind.map(|kind| change(kind, Some(before), because)));
            }
        }
    }
    let gone = was.entries.iter().filter(|(name, _)| !old_names.contains(name.as_str()));
    changes.extend(gone.map(|(name, entry)| EntryChange {
        part,
        name,
        kind: ChangeKind::Gone,
        was: Some(entry),
        now: None,
        because: Vec::new(),
    }));
    changes.sort_by_key(|change| change.kind);
    changes
}

impl<'r> ReportComparison<'r> {
    /// How many changes there are of each kind that occurs.
    pub fn counts(&self) -> impl Iterator<Item = (ChangeKind, usize)> {
        let count = |kind| self.entries.iter().filter(move |one| one.kind == kind).count();
        ChangeKind::ALL.into_iter().map(move |kind| (kind, count(kind))).filter(|(_, n)| *n > 0)
    }

    /// The locks that are gone while what they recorded is still there.
    pub fn unlocked(&self) -> impl Iterator<Item = &LockChange<'r>> {
        self.locks.iter().filter(|lock| lock.leaves_unlocked)
    }

    /// Whether nothing at all changed.
    pub fn is_equal(&self) -> bool {
        self.entries.is_empty()
            && self.parts.is_empty()
            && self.broken.is_empty()
            && self.mended.is_empty()
            && self.unknown.is_empty()
            && self.locks.is_empty()
            && self.unjudged_gone.is_empty()
    }
}
