//! The exit status of a comparison, for a pipeline.

use crate::outcome::{ExitStatus, Verdict};

use crate::compare::change::{ChangeKind, EntryChange, PartChange, ReportComparison, lines};
use crate::compare::ground::{GroundChange, GroundKind};
use crate::compare::judged::JudgedEntry;

impl ReportComparison<'_> {
    /// The exit status for a pipeline.
    pub fn status(&self) -> ExitStatus {
        let has = |kind| self.entries.iter().any(|change| change.kind == kind);
        let was_verified =
            |one: &EntryChange| one.was.is_some_and(|was| was.verdict == Verdict::Verified);
        let verified_gone =
            self.entries.iter().any(|one| one.kind == ChangeKind::Gone && was_verified(one));
        if !self.broken.is_empty() || !self.unknown.is_empty() {
            ExitStatus::Refused
        } else if has(ChangeKind::NowRefuted) || self.parts.iter().any(is_forged) {
            ExitStatus::Refuted
        } else if has(ChangeKind::Weaker)
            || verified_gone
            || self.less_covered() > 0
            || self.left_behind() > 0
            || !self.unjudged_gone.is_empty()
            || self.unlocked().next().is_some()
        {
            ExitStatus::Undecided
        } else {
            ExitStatus::Verified
        }
    }

    /// How much this takes away: posts, claims and relations that are gone, weaker, or refuted and were verified; numbers that lost
    /// their claim; signatures, texts and locks that are gone.
    pub fn lost(&self) -> usize {
        let is_lost = |change: &&EntryChange| match change.kind {
            ChangeKind::Gone | ChangeKind::Weaker => true,
            ChangeKind::NowRefuted => {
                change.was.is_some_and(|was| was.verdict == Verdict::Verified)
            }
            _ => self.is_left_behind(change),
        };
        let others = self.less_covered() + self.unjudged_gone.len() + self.unlocked().count();
        self.entries.iter().filter(is_lost).count() + others
    }

    /// Whether a number of a post lost its claim, or a signature or a text is gone.
    fn is_less_bound(&self, part: &PartChange) -> bool {
        let text_changed = part.of(GroundKind::Text).is_some();
        part.changes.iter().any(|change| match change.what {
            GroundKind::Unbound if text_changed => {
                lines(&change.now).count() > lines(&change.was).count()
            }
            GroundKind::Unbound => {
                lines(&change.now).any(|line| lines(&change.was).all(|was| was != line))
            }
            GroundKind::Excused => {
                change.was.is_none()
                    && !self.was_reworded(part, change)
                    && self.had_a_claim(part.part, &change.of)
            }
            GroundKind::Signature | GroundKind::Text => change.now.is_none(),
            // Readers may still look at the old file, which nobody checks any more. A post that moves takes its text along.
            GroundKind::TextFile => change.was.is_some() && part.of(GroundKind::Name).is_none(),
            _ => false,
        })
    }

    /// Whether an excuse stands for one with the same reason, in a sentence whose claims have other words now.
    fn was_reworded(&self, part: &PartChange, excused: &GroundChange) -> bool {
        let has_words = |words: &str| {
            let of_part = self.entries.iter().filter(|change| change.part == part.part);
            of_part.filter_map(|change| change.was).any(|was| was.words() == words)
        };
        part.changes.iter().any(|gone| {
            gone.what == GroundKind::Excused
                && gone.now.is_none()
                && gone.was == excused.now
                && has_words(&gone.of)
        })
    }

    /// How many posts cover fewer numbers than before, or lost a signature or a text.
    pub fn less_covered(&self) -> usize {
        self.parts.iter().filter(|part| self.is_less_bound(part)).count()
    }

    /// How many claims left their words for other ones.
    pub fn left_behind(&self) -> usize {
        self.entries.iter().filter(|change| self.is_left_behind(change)).count()
    }

    /// Whether a claim went over to other words of an unchanged text, and no other claim took its place.
    fn is_left_behind(&self, change: &EntryChange) -> bool {
        let (Some(was), Some(now)) = (change.was, change.now) else { return false };
        let (was, now) = (was.words(), now.words());
        let own = self.parts.iter().find(|part| part.part == change.part);
        let text_changed = own.is_some_and(|part| part.of(GroundKind::Text).is_some());
        if was.is_empty() || was == now || text_changed {
            return false;
        }
        let entries =
            self.now.parts.get(change.part).into_iter().flat_map(|part| part.entries.values());
        let mut words = entries.map(JudgedEntry::words).filter(|words| !words.is_empty());
        !words.any(|other| other.contains(was) || was.contains(other))
    }

    /// Whether words that are excused now are those of a claim that is gone, or has other words now.
    fn had_a_claim(&self, part: &str, excused: &str) -> bool {
        let left = |change: &&EntryChange| {
            change.part == part
                && change.now.map(JudgedEntry::words) != change.was.map(JudgedEntry::words)
        };
        let overlap = |was: &JudgedEntry| {
            let number = was.says(GroundKind::Number).next().unwrap_or_default();
            let holds = |text: &str, part: &str| !part.is_empty() && text.contains(part);
            holds(was.words(), excused) || holds(excused, was.words()) || holds(excused, number)
        };
        self.entries.iter().filter(left).filter_map(|change| change.was).any(overlap)
    }
}

/// Whether a signature does not hold any more.
fn is_forged(part: &PartChange) -> bool {
    let is = |change: &GroundChange| {
        change.what == GroundKind::Signature
            && change.now.as_deref() == Some(Verdict::Refuted.word())
    };
    part.changes.iter().any(is)
}
