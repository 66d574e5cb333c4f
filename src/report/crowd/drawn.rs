//! The text report on many bundles: counts, unusable and refuted bundles, the worst by name, undecided ones, and groups. Its length
//! depends on the number of finding kinds, not on the number of bundles.

use std::cmp::Reverse;

use anstyle::{Effects, Style};
use repro_core::decimal::grouped;

use super::Crowd;
use super::fate::{BundleFate, FateCounts};
use super::kinds::{TroubleKind, TroubleWeight};
use crate::ReportOptions;
use crate::columns::Columns;
use crate::layout::{GLUE, Page, columns, mark};
use crate::outcome::{Verdict, VerdictCounts};
use crate::visible::{clipped, visible};
use crate::wording;

/// At least so many characters of what was found in a bundle are told, however long its name is.
const LEAST_FOUND: usize = 40;
/// So many groups of names are told.
const GROUPS: usize = 12;
/// Where the lines below a kind begin.
const INDENT: usize = 4;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// All but the last lines.
pub(crate) fn draw(page: &mut Page, crowd: &Crowd, options: &ReportOptions) {
    let mut drawn = DrawnCrowd { page, crowd };
    drawn.heading();
    drawn.kinds("refused", Verdict::Refuted, TroubleWeight::Refused);
    drawn.kinds("refuted", Verdict::Refuted, TroubleWeight::Refuted);
    drawn.worst();
    if options.quiet {
        return;
    }
    drawn.kinds("inconclusive", Verdict::Inconclusive, TroubleWeight::Inconclusive);
    drawn.kinds("unchecked", Verdict::Unchecked, TroubleWeight::Unchecked);
    drawn.kinds("also", Verdict::Inconclusive, TroubleWeight::Remarked);
    drawn.below_minimum();
    drawn.groups();
    drawn.verified();
}

/// The last lines: whether anything is wrong, what most often, and the counts.
pub(crate) fn closing(page: &mut Page, crowd: &Crowd) {
    let (verdict, sentence) = conclusion(crowd);
    let (sign, style) = mark(verdict);
    page.paragraph(0, 2, style, &format!("{sign} {sentence}"));
    page.paragraph(2, 2, BOLD, &claims(&crowd.totals.claims));
    if crowd.fates.count(BundleFate::Verified) < crowd.len() {
        let hint = format!("`--format{GLUE}jsonl` reports each bundle on its own line.");
        page.paragraph(2, 2, FAINT, &hint);
    }
}

struct DrawnCrowd<'a> {
    page: &'a mut Page,
    crowd: &'a Crowd,
}

impl DrawnCrowd<'_> {
    fn heading(&mut self) {
        let folder = self.crowd.folder.as_deref().unwrap_or_default().trim_end_matches('/');
        let place = match folder.is_empty() {
            true => String::new(),
            false => format!(" in `{}`", visible(folder)),
        };
        let words =
            format!("{}{place}: {}", many(self.crowd.len(), "bundle"), fates(&self.crowd.fates));
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, &words);
    }

    /// Problems of one weight, each kind with the first bundles that have it.
    fn kinds(&mut self, heading: &str, like: Verdict, weight: TroubleWeight) {
        let kinds = self.crowd.kinds.of(weight);
        if kinds.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, mark(like).1, heading);
        for kind in kinds {
            let words = format!("{} [{}]", kind.code.meaning, kind.code.id);
            self.page.paragraph(2, INDENT, PLAIN, &format!("{}: {words}", counted(kind)));
            for example in &kind.examples {
                self.bundle(INDENT, &example.path, &example.found);
            }
            let more = kind.bundles - kind.examples.len();
            if more > 0 {
                self.page.paragraph(INDENT, INDENT, FAINT, &format!("and {} more", number(more)));
            }
        }
    }

    fn worst(&mut self) {
        let worst = self.crowd.worst.all();
        let refuted = self.crowd.fates.count(BundleFate::Refuted);
        if worst.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, mark(Verdict::Refuted).1, "worst bundles");
        for bundle in worst {
            self.bundle(2, &bundle.path, &bundle.why);
        }
        if refuted > worst.len() {
            let more = number(refuted - worst.len());
            self.page.paragraph(2, 2, FAINT, &format!("and {more} more"));
        }
    }

    /// A bundle and what was found in it, in one line where its name lets it.
    fn bundle(&mut self, indent: usize, path: &str, found: &str) {
        let name = visible(self.crowd.below_folder(path));
        let room = self.page.width().saturating_sub(indent + columns(&name) + 2);
        let words = format!("{name}: {}", clipped(found, room.max(LEAST_FOUND)));
        self.page.paragraph(indent, indent + 2, FAINT, &words);
    }

    fn below_minimum(&mut self) {
        let Some(first) = &self.crowd.first_below else { return };
        self.page.blank();
        self.page.paragraph(0, 2, mark(Verdict::Inconclusive).1, "below the required minimum");
        let count = many(self.crowd.totals.below_minimum, "verified claim");
        self.page.paragraph(2, INDENT, PLAIN, &format!("{count}; the first: {}", visible(first)));
    }

    /// How many bundles of each group came to what.
    fn groups(&mut self) {
        let Some((what, groups)) = self.crowd.names.told() else { return };
        let fates = BundleFate::ALL.into_iter().rev();
        let fates: Vec<_> = fates.filter(|fate| self.crowd.fates.count(*fate) > 0).collect();
        let words = fates.iter().map(|fate| fate.word().to_owned());
        let mut table = Columns::new(std::iter::once("bundles".to_owned()).chain(words).collect());
        for (name, counts) in groups.iter().take(GROUPS) {
            let cells = fates.iter().map(|fate| number(counts.count(*fate)));
            let cells = std::iter::once(number(counts.total())).chain(cells).collect();
            table.row(self.crowd.below_folder(name), cells);
        }
        self.page.blank();
        let width = self.page.width();
        self.page.block(0, &table.render(what, width, false));
        if groups.len() > GROUPS {
            let more = number(groups.len() - GROUPS);
            self.page.paragraph(2, 2, FAINT, &format!("and {more} more groups"));
        }
    }

    fn verified(&mut self) {
        if self.crowd.verified.is_empty() {
            return;
        }
        let parts = self.crowd.verified.iter().map(|(Reverse((method, origin)), count)| {
            wording::verified_as(&number(*count), *origin, *method)
        });
        let parts: Vec<_> = parts.collect();
        self.page.blank();
        let (style, word) = (mark(Verdict::Verified).1, Verdict::Verified.word());
        self.page.paragraph(0, 2, style, word);
        self.page.paragraph(2, INDENT, PLAIN, &parts.join(" · "));
    }
}

/// The conclusion about all bundles in a sentence.
fn conclusion(crowd: &Crowd) -> (Verdict, String) {
    let (all, fates) = (many(crowd.len(), "bundle"), &crowd.fates);
    let open = fates.count(BundleFate::Undecided);
    let often = |weights: &[TroubleWeight]| {
        let kinds = weights.iter().flat_map(|weight| crowd.kinds.of(*weight));
        let most = kinds.max_by_key(|kind| kind.bundles);
        most.map_or(String::new(), |kind| {
            format!(" Most often: {} ({}).", kind.code.meaning, many(kind.bundles, "bundle"))
        })
    };
    if fates.wrong() > 0 {
        let parts = [(BundleFate::Refuted, "refuted"), (BundleFate::Refused, "refused")];
        let parts = parts.map(|(fate, word)| (fates.count(fate), word));
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts = parts.map(|(count, word)| {
            format!("{} {} {word}", number(*count), if *count == 1 { "is" } else { "are" })
        });
        let parts: Vec<_> = parts.collect();
        let why = often(&[TroubleWeight::Refuted, TroubleWeight::Refused]);
        return (Verdict::Refuted, format!("Of {all}, {}.{why}", parts.join(" and ")));
    }
    if open > 0 {
        let why = often(&[TroubleWeight::Inconclusive, TroubleWeight::Unchecked]);
        let verb = if open == 1 { "is" } else { "are" };
        let words =
            format!("Nothing is refuted. Of {all}, {} {verb} undecided.{why}", number(open));
        return (Verdict::Inconclusive, words);
    }
    let count = many(crowd.totals.claims.total(), "claim");
    (Verdict::Verified, format!("Nothing is wrong: all {count} in {all} follow from the evidence."))
}

/// "9,461 verified · 505 refuted · 34 refused".
fn fates(counts: &FateCounts) -> String {
    let there = BundleFate::ALL.into_iter().filter(|fate| counts.count(*fate) > 0);
    let parts = there.map(|fate| format!("{}{GLUE}{}", number(counts.count(fate)), fate.word()));
    parts.collect::<Vec<_>>().join(&format!("{GLUE}· "))
}

/// "50,019 claims: 49,324 verified · 695 refuted", broken between verdicts only.
fn claims(counts: &VerdictCounts) -> String {
    let order = [Verdict::Verified, Verdict::Refuted, Verdict::Inconclusive, Verdict::Unchecked];
    let there = order.into_iter().filter(|verdict| counts.count(*verdict) > 0);
    let parts =
        there.map(|verdict| format!("{}{GLUE}{}", number(counts.count(verdict)), verdict.word()));
    let parts: Vec<_> = parts.collect();
    match parts.is_empty() {
        true => "no claims".to_owned(),
        false => {
            let all = many(counts.total(), "claim");
            format!("{all}: {}", parts.join(&format!("{GLUE}· ")))
        }
    }
}

/// "158 bundles", and how often, where that is more.
fn counted(kind: &TroubleKind) -> String {
    let bundles = many(kind.bundles, "bundle");
    match kind.times == kind.bundles {
        true => bundles,
        false => format!("{bundles}, {} times", number(kind.times)),
    }
}

fn many(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{}{GLUE}{noun}{plural}", number(count))
}

fn number(count: usize) -> String {
    grouped(&count.to_string())
}
