//! What differs between two reports, and what that comes to.

use std::collections::{BTreeMap, BTreeSet};

use repro_receipt::source::{Error, Location};
use repro_report::outcome::{ExitStatus, Verdict};
use serde::Serialize;

use crate::OTHER_KIND;
use crate::ground::{GroundChange, GroundKind};
use crate::judged::{JudgedEntry, JudgedPart, JudgedReport};

/// How a verdict changed, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Refuted now; or more of it is.
    NowRefuted,
    /// No longer verified, or by weaker evidence.
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
            Self::NowRefuted => "refuted now",
            Self::Weaker => "weaker",
            Self::Gone => "gone",
            Self::NoLongerRefuted => "no longer refuted",
            Self::Stronger => "stronger",
            Self::New => "new",
            Self::SameVerdict => "the same verdict on other grounds",
        }
    }

    /// How an entry changed; none where it did not.
    fn of(was: &JudgedEntry, now: &JudgedEntry) -> Option<Self> {
        use Verdict::{Refuted, Verified};
        let fell = was.strength.iter().zip(&now.strength).any(|(was, now)| now < was);
        Some(match (was.verdict, now.verdict) {
            (_, Refuted) if was.verdict != Refuted || now.broken > was.broken => Self::NowRefuted,
            (Verified, Verified) if fell => Self::Weaker,
            (Verified, Verified) if was.strength != now.strength => Self::Stronger,
            (Verified, Verified) | (Refuted, Refuted) if was == now => return None,
            (Verified, Verified) | (Refuted, Refuted) => Self::SameVerdict,
            (Verified, _) => Self::Weaker,
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
    /// What it rests on that changed; of one that is new or gone nothing.
    pub because: Vec<GroundChange>,
}

impl EntryChange<'_> {
    /// What it is about, for people.
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

/// What changed of a post or document as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct PartChange<'r> {
    #[serde(rename = "post")]
    pub part: &'r str,
    pub changes: Vec<GroundChange>,
}

/// What changed between two reports.
#[derive(Debug, Clone)]
pub struct ReportComparison<'r> {
    pub was: &'r JudgedReport,
    pub now: &'r JudgedReport,
    /// By post, then worst first.
    pub entries: Vec<EntryChange<'r>>,
    pub parts: Vec<PartChange<'r>>,
    /// Inputs that could not be used, and could before,
    pub broken: Vec<&'r str>,
    /// and the other way round.
    pub mended: Vec<&'r str>,
}

/// Holds `now` against `was`.
pub fn compare<'r>(
    was: &'r JudgedReport,
    now: &'r JudgedReport,
) -> Result<ReportComparison<'r>, Error> {
    if was.kind != now.kind {
        let place = Location::file(now.name.clone());
        let expected = format!("a report of the command of `{}`", was.name);
        return Err(OTHER_KIND.at(place, expected, "one of another"));
    }
    let none = &EMPTY;
    let names: BTreeSet<&String> = was.parts.keys().chain(now.parts.keys()).collect();
    let (mut entries, mut parts) = (Vec::new(), Vec::new());
    for name in names {
        let (before, after) = (was.parts.get(name), now.parts.get(name));
        let both = [before.unwrap_or(none), after.unwrap_or(none)];
        entries.extend(changed_entries(name, both));
        if before.is_some() && after.is_some() {
            let changes = GroundChange::between(&both[0].grounds, &both[1].grounds);
            parts.extend((!changes.is_empty()).then_some(PartChange { part: name, changes }));
        }
    }
    let only = |of: &'r JudgedReport, other: &'r JudgedReport| {
        of.failures.difference(&other.failures).map(String::as_str).collect()
    };
    Ok(ReportComparison {
        was,
        now,
        entries,
        parts,
        broken: only(now, was),
        mended: only(was, now),
    })
}

/// What stands for a post that one side does not have.
static EMPTY: JudgedPart =
    JudgedPart { title: String::new(), entries: BTreeMap::new(), grounds: Vec::new() };

fn changed_entries<'r>(part: &'r str, [was, now]: [&'r JudgedPart; 2]) -> Vec<EntryChange<'r>> {
    let renamed = renamed(was, now);
    let old_names: BTreeSet<&str> = renamed.values().copied().collect();
    let mut changes = Vec::new();
    for (name, entry) in &now.entries {
        let before = renamed.get(name.as_str()).copied().unwrap_or(name);
        let change =
            |kind, was, because| EntryChange { part, name, kind, was, now: Some(entry), because };
        match was.entries.get(before) {
            None if entry.verdict == Verdict::Refuted => {
                changes.push(change(ChangeKind::NowRefuted, None, Vec::new()));
            }
            None => changes.push(change(ChangeKind::New, None, Vec::new())),
            Some(before) => {
                let because = GroundChange::between(&before.grounds, &entry.grounds);
                let kind = ChangeKind::of(before, entry);
                changes.extend(kind.map(|kind| change(kind, Some(before), because)));
            }
        }
    }
    let gone = was
        .entries
        .iter()
        .filter(|(name, _)| !now.entries.contains_key(*name) && !old_names.contains(name.as_str()));
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

/// New names with the old ones of the same claims: names are made of words, and words change. Two are the same claim where one alone on
/// each side is held against the same and has the same number; or else is held against the same; or else has the same words.
fn renamed<'r>(was: &'r JudgedPart, now: &'r JudgedPart) -> BTreeMap<&'r str, &'r str> {
    let mut pairs: BTreeMap<&str, &str> = BTreeMap::new();
    let keys: [&[GroundKind]; 3] = [
        &[GroundKind::Expression, GroundKind::Number],
        &[GroundKind::Expression],
        &[GroundKind::Words],
    ];
    for key in keys {
        let old: BTreeSet<&str> = pairs.values().copied().collect();
        let gone = alone(was, key, |name| !now.entries.contains_key(name) && !old.contains(name));
        let new =
            alone(now, key, |name| !was.entries.contains_key(name) && !pairs.contains_key(name));
        let same = new.into_iter().filter_map(|(key, new)| Some((new?, (*gone.get(&key)?)?)));
        pairs.extend(same.collect::<Vec<_>>());
    }
    pairs
}

/// The entries that alone have what they say about `kinds`; none where several have.
fn alone<'r>(
    part: &'r JudgedPart,
    kinds: &[GroundKind],
    is_open: impl Fn(&str) -> bool,
) -> BTreeMap<Vec<&'r str>, Option<&'r str>> {
    let mut alone = BTreeMap::new();
    for (name, entry) in part.entries.iter().filter(|(name, _)| is_open(name)) {
        let value = |kind: &GroundKind| {
            let grounds = entry.grounds.iter();
            grounds.filter(|ground| ground.kind == *kind).map(|ground| ground.value.as_str()).next()
        };
        let says: Vec<&str> = kinds.iter().filter_map(value).collect();
        if says.first().is_some_and(|first| !first.is_empty()) {
            alone.entry(says).and_modify(|one| *one = None).or_insert(Some(name.as_str()));
        }
    }
    alone
}

impl ReportComparison<'_> {
    /// How many changes there are of each kind that occurs.
    pub fn counts(&self) -> impl Iterator<Item = (ChangeKind, usize)> {
        let count = |kind| self.entries.iter().filter(move |one| one.kind == kind).count();
        ChangeKind::ALL.into_iter().map(move |kind| (kind, count(kind))).filter(|(_, n)| *n > 0)
    }

    /// Whether nothing at all changed.
    pub fn is_equal(&self) -> bool {
        self.entries.is_empty()
            && self.parts.is_empty()
            && self.broken.is_empty()
            && self.mended.is_empty()
    }

    /// What a pipeline goes by.
    pub fn status(&self) -> ExitStatus {
        let has = |kind| self.entries.iter().any(|change| change.kind == kind);
        let of_parts = |is_worse: fn(&GroundChange) -> bool| {
            self.parts.iter().flat_map(|part| &part.changes).any(is_worse)
        };
        let was_verified =
            |one: &EntryChange| one.was.is_some_and(|was| was.verdict == Verdict::Verified);
        let verified_gone =
            self.entries.iter().any(|one| one.kind == ChangeKind::Gone && was_verified(one));
        if !self.broken.is_empty() {
            ExitStatus::Refused
        } else if has(ChangeKind::NowRefuted) || of_parts(is_forged) {
            ExitStatus::Refuted
        } else if has(ChangeKind::Weaker) || verified_gone || of_parts(is_less_bound) {
            ExitStatus::Undecided
        } else {
            ExitStatus::Verified
        }
    }
}

/// Whether a signature does not hold any more.
fn is_forged(change: &GroundChange) -> bool {
    change.what == GroundKind::Signature && change.now.as_deref() == Some(Verdict::Refuted.word())
}

/// Whether a number of a text lost its claim, or stands there more often without one; or a signature or a text is gone.
fn is_less_bound(change: &GroundChange) -> bool {
    let times = |value: &Option<String>| {
        value.as_deref().and_then(|times| times.parse::<usize>().ok()).unwrap_or(0)
    };
    match change.what {
        GroundKind::Unbound => times(&change.now) > times(&change.was),
        GroundKind::Signature | GroundKind::Text => change.now.is_none(),
        _ => false,
    }
}
