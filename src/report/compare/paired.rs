//! The pairing of claims in two reports.

use std::collections::{BTreeMap, BTreeSet};

use crate::common_folder;
use crate::outcome::Verdict;

use crate::compare::ground::GroundKind;
use crate::compare::judged::{JudgedEntry, JudgedPart, JudgedReport, ReportKind};

/// Names by what they alone have; none where several have it.
type Alone<'r, K> = BTreeMap<K, Option<&'r str>>;

fn note<'r, K: Ord>(alone: &mut Alone<'r, K>, key: K, name: &'r str) {
    alone.entry(key).and_modify(|one| *one = None).or_insert(Some(name));
}

/// New names with old ones: one alone on each side has the same.
fn in_both<'r, K: Ord>(gone: &Alone<'r, K>, new: &Alone<'r, K>) -> Vec<(&'r str, &'r str)> {
    let same = new.iter().filter_map(|(key, new)| Some(((*new)?, (*gone.get(key)?)?)));
    same.collect()
}

/// New names with the old ones of the same posts or documents, as far as names differ: a post has its title, and of two versions of a
/// folder each document its path within, or else the name of its file.
pub fn moved<'r>(was: &'r JudgedReport, now: &'r JudgedReport) -> BTreeMap<&'r str, &'r str> {
    let mut pairs: BTreeMap<&str, &str> = BTreeMap::new();
    for way in 0..2 {
        let old: BTreeSet<&str> = pairs.values().copied().collect();
        let gone = known_by(way, was, |name| !now.parts.contains_key(name) && !old.contains(name));
        let new =
            known_by(way, now, |name| !was.parts.contains_key(name) && !pairs.contains_key(name));
        pairs.extend(in_both(&gone, &new));
    }
    pairs
}

/// The posts or documents by what they are known by besides their names; none where several are.
fn known_by(
    way: usize,
    report: &JudgedReport,
    is_open: impl Fn(&str) -> bool,
) -> Alone<'_, (&str, &str)> {
    let open = || report.parts.iter().filter(|(name, _)| is_open(name));
    let folder = common_folder(open().map(|(name, _)| name.as_str()));
    let mut known = Alone::new();
    for (name, part) in open() {
        let key = match (report.kind, way) {
            (ReportKind::Verify, _) => "",
            (ReportKind::Check, 0) => name.strip_prefix(folder).unwrap_or(name),
            (ReportKind::Check, _) => name.rsplit('/').next().unwrap_or(name),
        };
        let key = (key, part.title.as_str());
        note(&mut known, key, name);
    }
    known
}

/// The statements refuted before. Authors choose names, and a name may pass to another statement: what is refuted now is known
/// only where the same statement was refuted.
pub struct KnownRefutations<'r> {
    /// Those whose own name is not refuted any more: they may stand under another.
    moved: Vec<&'r JudgedEntry>,
}

impl<'r> KnownRefutations<'r> {
    pub fn of(was: &'r JudgedPart, now: &JudgedPart) -> Self {
        let is_refuted = |entry: &JudgedEntry| entry.verdict == Verdict::Refuted;
        let is_still = |name| now.entries.get(name).is_some_and(is_refuted);
        let moved = was.entries.iter().filter(|(name, one)| is_refuted(one) && !is_still(*name));
        Self { moved: moved.map(|(_, one)| one).collect() }
    }

    /// Whether a refuted entry, which had the name of `before`, was refuted before.
    pub fn has(&mut self, before: Option<&JudgedEntry>, entry: &JudgedEntry) -> bool {
        const STATEMENT: [GroundKind; 4] =
            [GroundKind::Words, GroundKind::Number, GroundKind::Expression, GroundKind::Meaning];
        if let Some(before) = before.filter(|one| one.verdict == Verdict::Refuted) {
            let words = entry.says_as(before, &[GroundKind::Words]);
            let meant = entry.says_as(before, &[GroundKind::Expression, GroundKind::Number]);
            let is_silent = entry.says(GroundKind::Words).all(str::is_empty)
                && entry.says(GroundKind::Number).all(str::is_empty);
            return (words || meant || is_silent) && !breaks_more(before, entry);
        }
        let same = self.moved.iter().position(|one| entry.says_as(one, &STATEMENT));
        same.map(|at| self.moved.remove(at)).is_some()
    }
}

/// Whether a number does not fit that did before: one with the same digits may only have moved.
fn breaks_more(was: &JudgedEntry, now: &JudgedEntry) -> bool {
    let mut before: Vec<_> = was.says(GroundKind::Broken).collect();
    now.says(GroundKind::Broken).any(|one| {
        let known = before.iter().position(|known| *known == one);
        known.map(|at| before.swap_remove(at)).is_none()
    })
}

/// The names of claims now with their names before. A claim is the same by its name, unless an author gave that to another sentence. Of the
/// others two are the same where one alone on each side is held against the same and has the same number; or else is held against the same
/// in nearly the same words; or else has the same words: names are made of words, and words change.
pub fn same_claims<'r>(was: &'r JudgedPart, now: &'r JudgedPart) -> BTreeMap<&'r str, &'r str> {
    let named_alike = now.entries.iter().filter_map(|(name, entry)| {
        let (old, before) = was.entries.get_key_value(name)?;
        (!is_another(before, entry)).then_some((name.as_str(), old.as_str()))
    });
    let mut pairs: BTreeMap<&str, &str> = named_alike.collect();
    let keys: [&[GroundKind]; 3] = [
        &[GroundKind::Expression, GroundKind::Number],
        &[GroundKind::Expression],
        &[GroundKind::Words],
    ];
    for key in keys {
        let old: BTreeSet<&str> = pairs.values().copied().collect();
        let gone = alone(was, key, |name| !old.contains(name));
        let new = alone(now, key, |name| !pairs.contains_key(name));
        let mut same = in_both(&gone, &new);
        if key == [GroundKind::Expression] {
            same.retain(|(new, old)| reads_alike(&now.entries[*new], &was.entries[*old]));
        }
        pairs.extend(same);
    }
    pairs
}

/// Whether a name stands for another sentence now: with other words, of which there are some, and another number.
fn is_another(was: &JudgedEntry, now: &JudgedEntry) -> bool {
    const SENTENCE: usize = 3;
    let is_sentence = |entry: &JudgedEntry| {
        entry.says(GroundKind::Words).flat_map(str::split_whitespace).count() >= SENTENCE
    };
    is_sentence(was)
        && is_sentence(now)
        && !reads_alike(was, now)
        && !now.says(GroundKind::Number).eq(was.says(GroundKind::Number))
}

/// Whether two statements share at least half of their words.
fn reads_alike(a: &JudgedEntry, b: &JudgedEntry) -> bool {
    let words = |entry: &JudgedEntry| -> BTreeSet<String> {
        let words = entry.says(GroundKind::Words).flat_map(str::split_whitespace);
        words.map(str::to_lowercase).collect()
    };
    let (a, b) = (words(a), words(b));
    2 * a.intersection(&b).count() >= a.union(&b).count()
}

/// The entries that alone have what they say about `kinds`; none where several have.
fn alone<'r>(
    part: &'r JudgedPart,
    kinds: &[GroundKind],
    is_open: impl Fn(&str) -> bool,
) -> Alone<'r, Vec<&'r str>> {
    let mut alone = Alone::new();
    for (name, entry) in part.entries.iter().filter(|(name, _)| is_open(name)) {
        let says: Vec<&str> = kinds.iter().filter_map(|kind| entry.says(*kind).next()).collect();
        if says.first().is_some_and(|first| !first.is_empty()) {
            note(&mut alone, says, name);
        }
    }
    alone
}
