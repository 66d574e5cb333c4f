//! The comparison for people, as text and Markdown, and for programs (`repro.compare/1`).

use crate::outcome::Verdict;
use crate::{
    COMMENT_LIMIT, MarkdownSheet, Page, ReportOptions, SCOPE, clipped, mark, markdown_code,
    markdown_text, scope, visible,
};
use anstyle::{Effects, Style};
use serde::Serialize;

use crate::compare::change::{ChangeKind, EntryChange, PartChange, ReportComparison};
use crate::compare::ground::{GroundChange, GroundKind};
use crate::compare::judged::JudgedEntry;
use crate::compare::locks::LockChange;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);
/// So many changes of one kind in one post are listed without being asked for.
const LISTED: usize = 12;
/// The most characters of a title.
const TITLE: usize = 160;
/// Said where a verdict changed and nothing that it rests on did.
const UNEXPLAINED: &str = "nothing recorded in the reports changed for it: the program, its options, or files that the reports do not record did";

/// Changes of one post that have the same kind and the same causes.
struct Alike<'c, 'r> {
    first: &'c EntryChange<'r>,
    all: Vec<&'c EntryChange<'r>>,
}

/// Groups the changes that are reported together, in order.
fn alike<'c, 'r>(changes: &[&'c EntryChange<'r>]) -> Vec<Alike<'c, 'r>> {
    let mut groups: Vec<Alike> = Vec::new();
    for change in changes.iter().copied() {
        let same = |group: &&mut Alike| {
            let first = group.first;
            first.because == change.because
                && why(first) == why(change)
                && from_to(first) == from_to(change)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.all.push(change),
            None => groups.push(Alike { first: change, all: vec![change] }),
        }
    }
    groups
}

/// Why the verdict is what it is now; of what is gone nothing.
fn why<'c>(change: &'c EntryChange) -> &'c str {
    change.now.map_or("", |entry| &entry.reason)
}

/// "verified declared recomputed → refuted declared recomputed".
fn from_to(change: &EntryChange) -> String {
    let words = |entry: Option<&JudgedEntry>, none: &str| {
        entry.map_or(none.to_owned(), |entry| entry.judged_as.clone())
    };
    let (was, now) = (words(change.was, "not judged"), words(change.now, "not judged"));
    if was == now { was } else { format!("{was} → {now}") }
}

/// The changes of a post or document.
struct ToldPart<'c, 'r> {
    name: &'r str,
    title: &'r str,
    kinds: Vec<(ChangeKind, Vec<&'c EntryChange<'r>>)>,
    /// Changes that are counted and listed only on request.
    counted: Option<String>,
    whole: Option<&'c PartChange<'r>>,
}

/// Collects the changes of each post or document.
fn told<'c, 'r>(comparison: &'c ReportComparison<'r>, verbose: bool) -> Vec<ToldPart<'c, 'r>> {
    let mut names: Vec<&str> = comparison.entries.iter().map(|change| change.part).collect();
    names.extend(comparison.parts.iter().map(|change| change.part));
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| told_part(comparison, name, verbose)).collect()
}

fn told_part<'c, 'r>(
    comparison: &'c ReportComparison<'r>,
    name: &'r str,
    verbose: bool,
) -> ToldPart<'c, 'r> {
    let whole = comparison.parts.iter().find(|one| one.part == name);
    let old_name = whole.and_then(|whole| whole.of(GroundKind::Name)?.was.as_deref());
    let was = comparison.was.parts.get(old_name.unwrap_or(name));
    let now = comparison.now.parts.get(name);
    let own: Vec<_> = comparison.entries.iter().filter(|change| change.part == name).collect();
    let is_missing = was.is_none() || now.is_none();
    let (listed, folded): (Vec<_>, Vec<_>) = own.into_iter().partition(|change| {
        verbose
            || !(change.is_of_evidence_alone()
                || is_missing && change.kind != ChangeKind::NowRefuted)
    });
    let of_kind = |kind| listed.iter().copied().filter(|one| one.kind == kind).collect();
    let kinds = ChangeKind::ALL.map(|kind| (kind, of_kind(kind)));
    let count = folded.len();
    let counted = match (was, now) {
        _ if count == 0 => None,
        (Some(_), None) => Some(format!("no longer judged, {count}: {}", verdicts(&folded))),
        (None, _) => Some(format!("judged for the first time, {count}: {}", verdicts(&folded))),
        _ => Some(format!("{count} more: different files, same result")),
    };
    ToldPart {
        name,
        title: now.or(was).map_or("", |part| &part.title),
        kinds: kinds.into_iter().filter(|(_, changes): &(_, Vec<_>)| !changes.is_empty()).collect(),
        counted,
        whole,
    }
}

/// "11 verified · 2 unchecked".
fn verdicts(changes: &[&EntryChange]) -> String {
    let verdict = |change: &EntryChange| change.now.or(change.was).map(|entry| entry.verdict);
    let count = |of| changes.iter().filter(|change| verdict(change) == Some(of)).count();
    let counts = Verdict::ALL.into_iter().rev().map(|of| (of, count(of)));
    let told = counts.filter(|(_, n)| *n > 0).map(|(of, n)| format!("{n} {}", of.word()));
    Vec::from_iter(told).join(" · ")
}

/// "2 refuted now · 1 gone", or that nothing changed.
fn summary(comparison: &ReportComparison) -> String {
    if comparison.is_equal() {
        return "nothing changed".to_owned();
    }
    let kinds = comparison.counts().map(|(kind, count)| (count, kind.words()));
    let inputs = [
        (comparison.broken.len(), "unusable now"),
        (comparison.mended.len(), "fixed"),
        (comparison.unknown.len(), "unusable on both sides"),
        (comparison.unjudged_gone.len(), "gone, not judged before"),
        (comparison.unlocked().count(), "no longer locked"),
        (comparison.less_covered(), "with lost coverage (a number, a text or a signature)"),
        (
            comparison.left_behind(),
            "moved to different words, leaving the old ones without a claim",
        ),
        (
            comparison.locks.len(),
            if comparison.locks.len() == 1 { "lock changed" } else { "locks changed" },
        ),
    ];
    let counts = inputs.into_iter().filter(|(count, _)| *count > 0).chain(kinds);
    let told = counts.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>();
    if told.is_empty() { "no verdict changed".to_owned() } else { told.join(" · ") }
}

/// The mark by which changes of a kind are told.
fn sign(kind: ChangeKind) -> (&'static str, Style) {
    mark(match kind {
        ChangeKind::NowRefuted => Verdict::Refuted,
        ChangeKind::Weaker | ChangeKind::Gone => Verdict::Inconclusive,
        ChangeKind::Stronger => Verdict::Verified,
        ChangeKind::NoLongerRefuted | ChangeKind::New | ChangeKind::SameVerdict => {
            Verdict::Unchecked
        }
    })
}

/// The comparison as text.
pub fn text(comparison: &ReportComparison, options: &ReportOptions) -> String {
    let mut page = Page::new(options.width, options.colour);
    let sides = [comparison.was, comparison.now].map(|side| visible(&side.name));
    page.paragraph(0, 2, BOLD, &sides.join(" → "));
    let failures = [
        ("unusable now", &comparison.broken),
        ("fixed", &comparison.mended),
        ("unusable on both sides", &comparison.unknown),
        ("gone, not judged before", &comparison.unjudged_gone),
    ];
    for (heading, failures) in failures.into_iter().filter(|(_, failures)| !failures.is_empty()) {
        page.blank();
        page.paragraph(0, 2, BOLD, heading);
        failures.iter().for_each(|failure| page.paragraph(2, 4, PLAIN, &visible(failure)));
    }
    if !comparison.locks.is_empty() {
        page.blank();
        page.paragraph(0, 2, BOLD, "locks");
        comparison.locks.iter().for_each(|one| page.paragraph(2, 4, PLAIN, &visible(&one.told())));
    }
    for told in told(comparison, options.verbose) {
        part(&mut page, &told, options);
    }
    page.blank();
    page.paragraph(0, 2, BOLD, &summary(comparison));
    page.blank();
    scope(&mut page);
    page.finish()
}

fn part(page: &mut Page, told: &ToldPart, options: &ReportOptions) {
    page.blank();
    page.paragraph(0, 2, BOLD, &visible(&format!("{}  {}", told.name, told.title)));
    for (kind, changes) in &told.kinds {
        if !options.quiet || matches!(kind, ChangeKind::NowRefuted | ChangeKind::Weaker) {
            entries(page, *kind, changes, options);
        }
    }
    if let Some(line) = &told.counted {
        page.paragraph(0, 2, PLAIN, line);
    }
    for change in told.whole.iter().flat_map(|one| &one.changes) {
        page.paragraph(2, 4, PLAIN, &visible(&change.told()));
    }
}

fn entries(page: &mut Page, kind: ChangeKind, changes: &[&EntryChange], options: &ReportOptions) {
    let (sign, style) = sign(kind);
    page.paragraph(0, 2, style, &format!("{}, {}", kind.words(), changes.len()));
    let mut left = if options.verbose { usize::MAX } else { LISTED };
    for Alike { first, all } in alike(changes) {
        let shown = left.min(all.len());
        left -= shown;
        if shown == 0 {
            break;
        }
        for change in all.iter().take(shown) {
            let title = clipped(&visible(change.title()), TITLE);
            page.paragraph(2, 4, style, &format!("{sign} {title}"));
        }
        if shown < all.len() {
            page.paragraph(
                4,
                4,
                FAINT,
                &format!("and {} more for the same reason", all.len() - shown),
            );
        }
        page.paragraph(4, 6, FAINT, &from_to(first));
        for line in causes(first) {
            page.paragraph(4, 6, PLAIN, &visible(&line));
        }
    }
    let listed = if options.verbose { changes.len() } else { LISTED.min(changes.len()) };
    if listed < changes.len() {
        let more = format!("{} of {} listed (--verbose lists all)", listed, changes.len());
        page.paragraph(2, 4, FAINT, &more);
    }
}

/// Lists the changed grounds of a verdict, and the reason for the verdict now.
fn causes(change: &EntryChange) -> Vec<String> {
    // Names are made of the words: where these changed, nobody asks why the name did.
    let others = change.because.iter().filter(|one| one.what != GroundKind::Name);
    let mut lines: Vec<_> = others.map(GroundChange::told).collect();
    if lines.is_empty() {
        lines.extend(change.because.iter().map(GroundChange::told));
    }
    if change.is_unexplained() {
        lines.push(UNEXPLAINED.to_owned());
    }
    let reason = why(change);
    if !reason.is_empty() {
        lines.push(format!("now: {reason}"));
    }
    lines
}

/// The comparison as Markdown for a comment, within what such a place takes.
pub fn markdown(comparison: &ReportComparison) -> String {
    let mut sheet = MarkdownSheet::new(COMMENT_LIMIT);
    let [was, now] = [comparison.was, comparison.now].map(|side| markdown_code(&side.name));
    sheet.line(&format!("## repro: {}\n\n{was} → {now}\n\n", summary(comparison)));
    let line = |failure: &&str| vec![markdown_text(failure)];
    sheet.table("Unusable now", &["input"], comparison.broken.iter().map(line));
    sheet.table("Fixed", &["input"], comparison.mended.iter().map(line));
    sheet.table("Unusable on both sides", &["input"], comparison.unknown.iter().map(line));
    let gone = comparison.unjudged_gone.iter().map(line);
    sheet.table("Gone, not judged before", &["post"], gone);
    let locks = comparison.locks.iter().map(|one| vec![markdown_text(&one.told())]);
    sheet.table("Locks", &["change"], locks);
    for told in told(comparison, false) {
        part_in_markdown(&mut sheet, &told);
    }
    sheet.finish("`repro diff --format json` lists all of them") + SCOPE + "\n"
}

fn part_in_markdown(sheet: &mut MarkdownSheet, told: &ToldPart) {
    let name = markdown_code(told.name);
    for (kind, changes) in &told.kinds {
        let heading = format!("{name} {}: {}", markdown_text(told.title), kind.words());
        let groups = alike(changes);
        sheet.table(&heading, &["claim", "was → now", "because"], groups.iter().map(row));
    }
    if let Some(line) = &told.counted {
        sheet.line(&format!("{name}: {line}\n\n"));
    }
    let whole = told.whole.into_iter().flat_map(|one| &one.changes);
    let heading = format!("{name} as a whole");
    sheet.table(&heading, &["change"], whole.map(|one| vec![markdown_text(&one.told())]));
}

fn row(group: &Alike) -> Vec<String> {
    let titles = group.all.iter().map(|one| markdown_text(one.title()));
    let causes = causes(group.first);
    let causes = causes.iter().map(|line| markdown_text(line));
    vec![
        Vec::from_iter(titles).join("<br>"),
        markdown_text(&from_to(group.first)),
        Vec::from_iter(causes).join("<br>"),
    ]
}

#[derive(Serialize)]
struct CompareJson<'r> {
    schema: &'static str,
    was: &'r str,
    now: &'r str,
    changes: Vec<EntryChangeJson<'r>>,
    posts: &'r [PartChange<'r>],
    broken: &'r [&'r str],
    mended: &'r [&'r str],
    unknown: &'r [&'r str],
    unjudged_gone: &'r [&'r str],
    locks: &'r [LockChange<'r>],
    lost: usize,
    exit_code: u8,
}

#[derive(Serialize)]
struct EntryChangeJson<'r> {
    post: &'r str,
    claim: &'r str,
    change: ChangeKind,
    title: &'r str,
    was: Option<EntryJson<'r>>,
    now: Option<EntryJson<'r>>,
    because: &'r [GroundChange],
    is_explained: bool,
}

#[derive(Serialize)]
struct EntryJson<'r> {
    verdict: Verdict,
    judged_as: &'r str,
    reason: &'r str,
}

/// The comparison for programs, with a line feed at its end.
pub fn json(comparison: &ReportComparison) -> String {
    let json = CompareJson {
        schema: "repro.compare/1",
        was: &comparison.was.name,
        now: &comparison.now.name,
        changes: comparison.entries.iter().map(change_json).collect(),
        posts: &comparison.parts,
        broken: &comparison.broken,
        mended: &comparison.mended,
        unknown: &comparison.unknown,
        unjudged_gone: &comparison.unjudged_gone,
        locks: &comparison.locks,
        lost: comparison.lost(),
        exit_code: comparison.status().code(),
    };
    // Plain data with string keys always has a JSON form.
    let text = serde_json::to_string_pretty(&json).unwrap_or_default();
    crate::escaped_json(text) + "\n"
}

fn change_json<'r>(change: &'r EntryChange<'r>) -> EntryChangeJson<'r> {
    EntryChangeJson {
        post: change.part,
        claim: change.name,
        change: change.kind,
        title: change.title(),
        was: change.was.map(entry_json),
        now: change.now.map(entry_json),
        because: &change.because,
        is_explained: !change.is_unexplained(),
    }
}

fn entry_json(entry: &JudgedEntry) -> EntryJson<'_> {
    EntryJson { verdict: entry.verdict, judged_as: &entry.judged_as, reason: &entry.reason }
}
