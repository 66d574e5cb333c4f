//! Formats the report as text, with findings grouped by cause, and as JSON (`repro.check/1`).

use std::collections::BTreeMap;

use anstyle::{Effects, Style};
use repro_claim::relation::Weight;
use repro_core::source::{Error, Location};
use repro_report::outcome::Verdict;
use repro_report::{
    Page, Piece, ReportOptions, columns, common_folder, mark, render_failure, scope, visible,
};
use serde::Serialize;

use crate::check::asked::{AskedRelation, Broken, UsedValue};
use crate::check::outcome::{CheckCounts, CheckReport, CheckedDocument};
use crate::check::stated::StatedRow;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);
/// The maximum number of findings listed per cause.
const NAMED: usize = 6;
/// The maximum number of unknown files listed.
const UNKNOWN: usize = 3;

/// Findings with one code and the same explanation.
struct Alike<'r> {
    asked: &'r AskedRelation,
    broken: Vec<(&'r Broken, Option<&'r CheckedDocument>)>,
}

/// Groups findings; contradictions come first.
fn alike(report: &CheckReport) -> Vec<Alike<'_>> {
    let mut all: BTreeMap<(bool, &str, Vec<&str>), Alike<'_>> = BTreeMap::new();
    for (asked, document) in report.asked() {
        for broken in &asked.broken {
            let key = (asked.weight == Weight::Doubt, asked.code.id, broken.causes.clone());
            let group = all.entry(key).or_insert_with(|| Alike { asked, broken: Vec::new() });
            group.broken.push((broken, document));
        }
    }
    all.into_values().collect()
}

/// The report as text.
pub fn text(report: &CheckReport, options: &ReportOptions) -> String {
    let mut page = Page::new(options.width, options.colour);
    let paths = report.documents.iter().map(|document| document.path.as_str());
    // Each is shown once.
    let passed = report.passed_over.iter().map(|error| error.place.file.as_str());
    let others = report.unknown.iter().map(String::as_str).chain(passed);
    let folder = common_folder(paths.chain(others));
    for failure in &report.failures {
        page.blank();
        page.block(0, &render_failure(failure, options));
    }
    if !options.quiet {
        seen(&mut page, report, options, folder);
        counts(&mut page, report, folder);
    }
    let mut heading = None;
    for group in alike(report) {
        if options.quiet && group.asked.weight == Weight::Doubt {
            continue;
        }
        page.blank();
        let word = verdict(group.asked.weight).word();
        if heading.replace(word) != Some(word) {
            page.paragraph(0, 0, BOLD, word);
        }
        findings(&mut page, &group, options, folder);
    }
    if options.verbose {
        held(&mut page, report, folder);
    }
    page.blank();
    closing(&mut page, report);
    page.blank();
    scope(&mut page);
    page.finish()
}

/// A path relative to the folder that all documents share.
fn within<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder).unwrap_or(path)
}

fn verdict(weight: Weight) -> Verdict {
    match weight {
        Weight::Contradiction => Verdict::Refuted,
        Weight::Doubt => Verdict::Inconclusive,
    }
}

/// Summarizes the contents of the paths.
fn seen(page: &mut Page, report: &CheckReport, options: &ReportOptions, folder: &str) {
    if !folder.is_empty() {
        page.paragraph(0, 2, FAINT, &format!("in {}", visible(folder)));
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for document in &report.documents {
        *kinds.entry(document.what).or_default() += 1;
    }
    let mut parts: Vec<_> = kinds.iter().map(|(what, count)| format!("{count} × {what}")).collect();
    if !report.unknown.is_empty() {
        let names = report.unknown.iter().map(|name| visible(within(name, folder)));
        let named: Vec<_> = match options.verbose {
            true => names.collect(),
            false => names.take(UNKNOWN).collect(),
        };
        let more = report.unknown.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("{} × unknown kind ({}{more})", report.unknown.len(), named.join(", ")));
    }
    page.paragraph(0, 2, BOLD, &parts.join(" · "));
    if !report.passed_over.is_empty() {
        passed_over(page, report, options, folder);
    }
}

/// Lists unreadable changed files of no known kind, each with the error.
fn passed_over(page: &mut Page, report: &CheckReport, options: &ReportOptions, folder: &str) {
    let count = report.passed_over.len();
    let words = format!("{count} × ignored: unreadable and of no known kind");
    page.paragraph(0, 2, BOLD, &words);
    let named = if options.verbose { count } else { NAMED.min(count) };
    for error in report.passed_over.iter().take(named) {
        let (file, found) = (within(&error.place.file, folder), &error.found);
        let told = format!("{file}: {} (found {found})", error.code.meaning);
        page.paragraph(2, 4, FAINT, &visible(&told));
    }
    if count > named {
        let more = format!("and {} more (--verbose lists them)", count - named);
        page.paragraph(2, 4, FAINT, &more);
    }
}

/// Lists parameter counts side by side, then the stated sizes.
fn counts(page: &mut Page, report: &CheckReport, folder: &str) {
    /// The columns where totals and active parts end and where notes begin.
    const STOPS: [usize; 3] = [44, 64, 66];
    for document in report.documents.iter().filter(|one| !one.counts.is_empty()) {
        page.blank();
        page.paragraph(0, 2, BOLD, &visible(within(&document.path, folder)));
        let (counted, said): (Vec<_>, Vec<_>) =
            document.counts.iter().partition(|row| row.cell("total").is_some());
        let heads = (!counted.is_empty()).then(|| ["", "total", "active", ""].map(str::to_owned));
        for cells in heads.into_iter().chain(counted.into_iter().map(count_cells)) {
            let [label, total, active, note] = cells.map(|cell| visible(&cell));
            let [total_end, active_end, notes] = STOPS;
            let ending = |end: usize, cell: String| {
                Piece::at(end.saturating_sub(columns(&cell)), PLAIN, cell)
            };
            let label = Piece::at(2, PLAIN, label);
            let (total, active) = (ending(total_end, total), ending(active_end, active));
            page.row(4, &[label, total, active, Piece::at(notes, PLAIN, note)]);
        }
        for row in said {
            let [label, _, _, note] = count_cells(row).map(|cell| visible(&cell));
            page.paragraph(2, 4, PLAIN, &format!("{label}: {note}"));
        }
    }
}

/// The label, total, active part and note of a count.
fn count_cells(row: &StatedRow) -> [String; 4] {
    let cell = |name: &str| row.cell(name).map(|cell| cell.printed.clone()).unwrap_or_default();
    [row.label.clone(), cell("total"), cell("active"), cell("note")]
}

fn findings(page: &mut Page, group: &Alike<'_>, options: &ReportOptions, folder: &str) {
    let Alike { asked, broken } = group;
    let (sign, style) = mark(verdict(asked.weight));
    let count = match broken.len() {
        1 => String::new(),
        more => format!(", {more} times"),
    };
    let (meaning, id) = (asked.code.meaning, asked.code.id);
    page.paragraph(2, 4, style, &format!("{sign} {meaning}{count} [{id}]"));
    let Some(((first, document), others)) = broken.split_first() else { return };
    let line = |broken: &Broken, document: Option<&CheckedDocument>| {
        visible(&format!("{}: {}", place(broken, document, folder), against(broken, asked)))
    };
    page.paragraph(4, 6, PLAIN, &line(first, *document));
    behind(page, asked, first, folder);
    let shown = if options.verbose { others.len() } else { NAMED.min(others.len()) };
    for (broken, document) in others.iter().take(shown) {
        page.paragraph(4, 6, PLAIN, &line(broken, *document));
    }
    if others.len() > shown {
        let more = format!("and {} more (--verbose lists them)", others.len() - shown);
        page.paragraph(4, 6, FAINT, &more);
    }
}

/// Shows the evidence behind a finding.
fn behind(page: &mut Page, asked: &AskedRelation, broken: &Broken, folder: &str) {
    let own = broken.printed.iter().chain(&broken.values).find_map(|value| value.place.as_ref());
    let values = broken.values.iter().map(|value| told(value, own, folder)).collect::<Vec<_>>();
    let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
    page.paragraph(6, 8, PLAIN, &visible(&format!("`{}`{values}", asked.says)));
    let tried = asked.tried;
    for cause in &broken.causes {
        let fit = broken.causes.len();
        let words =
            format!("likely cause: {cause} (inferred; {fit} of {tried} alternative readings fit)");
        page.paragraph(6, 8, PLAIN, &words);
    }
    if broken.causes.is_empty() && tried > 0 {
        let words = match tried {
            1 => "one alternative reading was tried and does not explain it".to_owned(),
            _ => format!("{tried} alternative readings were tried and none explains it"),
        };
        page.paragraph(6, 8, FAINT, &words);
    }
    page.paragraph(6, 8, FAINT, &format!("source: {}", asked.source));
}

/// A value by name, with its file if that differs from the finding's.
fn told(value: &UsedValue, own: Option<&Location>, folder: &str) -> String {
    let UsedValue { name, value: text, place, how } = value;
    match place {
        None if !how.is_empty() => format!("{name} is {text} ({how})"),
        Some(place) if own.is_some_and(|own| own.file != place.file) => {
            format!("{name} is {text} ({}:{})", within(&place.file, folder), place.line)
        }
        _ => format!("{name} is {text}"),
    }
}

/// The location of the printed number, with its row.
fn place(broken: &Broken, document: Option<&CheckedDocument>, folder: &str) -> String {
    let printed =
        broken.printed.iter().chain(&broken.values).find_map(|value| value.place.as_ref());
    let place = match (printed, document) {
        (Some(place), _) => {
            let file = within(&place.file, folder);
            let line = if place.line > 0 { format!(":{}", place.line) } else { String::new() };
            format!("{file}{line} {}", place.pointer).trim_end().to_owned()
        }
        (None, Some(document)) => within(&document.path, folder).to_owned(),
        (None, None) => String::new(),
    };
    if broken.label.is_empty() { place } else { format!("{place} ({})", broken.label) }
}

fn against(broken: &Broken, asked: &AskedRelation) -> String {
    let Broken { printed, relation, recomputed, reason, values, .. } = broken;
    if !reason.is_empty() {
        return reason.clone();
    }
    // Both sides may be computed, from two locations.
    let own = match (printed, values.first()) {
        (Some(value), _) => format!("printed {}", value.value),
        (None, Some(value)) if !relation.is_empty() => {
            format!("{} is {}", value.name, value.value)
        }
        (None, _) => return format!("`{}` does not hold", asked.says),
    };
    match *relation {
        "" => format!("{own}, which does not match"),
        "=" if printed.is_none() => format!("{own}, but the other side is {recomputed}"),
        "=" => format!("{own}, recomputed {recomputed}"),
        other => format!("{own}, which should be {other} {recomputed}"),
    }
}

/// Lists every check that holds.
fn held(page: &mut Page, report: &CheckReport, folder: &str) {
    page.blank();
    page.paragraph(0, 0, BOLD, "holds");
    for document in &report.documents {
        let held = document.asked.iter().filter(|asked| asked.broken.is_empty());
        let told: Vec<_> = held
            .map(|asked| match asked.times {
                1 => asked.code.id.to_owned(),
                times => format!("{} ({times} rows)", asked.code.id),
            })
            .collect();
        if !told.is_empty() {
            let path = within(&document.path, folder);
            page.paragraph(2, 4, PLAIN, &visible(&format!("{path}: {}", told.join(", "))));
        }
    }
}

fn closing(page: &mut Page, report: &CheckReport) {
    if report.is_of_change && report.documents.is_empty() && report.failures.is_empty() {
        return page.paragraph(0, 2, PLAIN, "no document of a known kind changed");
    }
    let CheckCounts { consistent, refuted, inconclusive } = report.counts();
    let documents = report.documents.len();
    let plural = if documents == 1 { "" } else { "s" };
    let hold = if consistent == 1 { "check holds" } else { "checks hold" };
    let (sign, style) = match (refuted, inconclusive + usize::from(consistent == 0)) {
        (0, 0) => mark(Verdict::Verified),
        (0, _) => mark(Verdict::Inconclusive),
        _ => mark(Verdict::Refuted),
    };
    let words = format!(
        "{sign} {documents} document{plural}: {consistent} {hold} · {refuted} refuted · {inconclusive} inconclusive"
    );
    page.paragraph(0, 2, style, &words);
    let silent =
        report.documents.iter().filter(|one| one.asked.is_empty() && one.counts.is_empty()).count();
    if silent > 0 {
        page.paragraph(0, 2, PLAIN, &format!("nothing to check in {silent} of them"));
    }
}

#[derive(Serialize)]
struct CheckJson<'r> {
    schema: &'static str,
    documents: Vec<DocumentJson<'r>>,
    findings: Vec<CheckFindingJson<'r>>,
    unknown: &'r [String],
    passed_over: Vec<RefusalJson<'r>>,
    failures: Vec<RefusalJson<'r>>,
    summary: CheckCounts,
    exit_code: u8,
}

#[derive(Serialize)]
struct DocumentJson<'r> {
    path: &'r str,
    kind: &'static str,
    counts: Vec<BTreeMap<&'static str, String>>,
    relations: Vec<RelationJson<'r>>,
}

#[derive(Serialize)]
struct RelationJson<'r> {
    code: &'static str,
    says: &'r str,
    asked: usize,
    broken: usize,
}

#[derive(Serialize)]
struct CheckFindingJson<'r> {
    code: &'static str,
    verdict: &'static str,
    meaning: &'static str,
    document: Option<&'r str>,
    row: &'r str,
    place: Option<&'r Location>,
    printed: Option<&'r str>,
    recomputed: &'r str,
    says: &'r str,
    values: Vec<ValueJson<'r>>,
    causes: &'r [&'static str],
    causes_tried: usize,
    reason: &'r str,
    source: &'static str,
}

#[derive(Serialize)]
struct ValueJson<'r> {
    name: &'r str,
    value: &'r str,
    place: Option<&'r Location>,
    #[serde(skip_serializing_if = "str::is_empty")]
    how: &'r str,
}

#[derive(Serialize)]
struct RefusalJson<'r> {
    code: &'static str,
    place: &'r Location,
    expected: &'r str,
    found: &'r str,
    help: &'r str,
}

/// The report as JSON, ending in a line feed.
pub fn json(report: &CheckReport) -> String {
    let json = CheckJson {
        schema: "repro.check/1",
        documents: report.documents.iter().map(document_json).collect(),
        findings: report
            .asked()
            .flat_map(|(asked, document)| finding_json(asked, document))
            .collect(),
        unknown: &report.unknown,
        passed_over: report.passed_over.iter().map(refusal_json).collect(),
        failures: report.failures.iter().map(refusal_json).collect(),
        summary: report.counts(),
        exit_code: report.status().code(),
    };
    // Plain data with string keys always serializes to JSON.
    let text = serde_json::to_string_pretty(&json).unwrap_or_default();
    repro_report::escaped_json(text) + "\n"
}

fn document_json(document: &CheckedDocument) -> DocumentJson<'_> {
    let count = |row: &StatedRow| {
        let cell = |name: &'static str| Some((name, row.cell(name)?.printed.clone()));
        let cells = ["total", "active", "note"].into_iter().filter_map(cell);
        std::iter::once(("what", row.label.clone())).chain(cells).collect()
    };
    DocumentJson {
        path: &document.path,
        kind: document.kind,
        counts: document.counts.iter().map(count).collect(),
        relations: document.asked.iter().map(relation_json).collect(),
    }
}

fn relation_json(asked: &AskedRelation) -> RelationJson<'_> {
    let AskedRelation { code, says, times, broken, .. } = asked;
    RelationJson { code: code.id, says, asked: *times, broken: broken.len() }
}

fn finding_json<'r>(
    asked: &'r AskedRelation,
    document: Option<&'r CheckedDocument>,
) -> impl Iterator<Item = CheckFindingJson<'r>> {
    asked.broken.iter().map(move |broken| CheckFindingJson {
        code: asked.code.id,
        verdict: verdict(asked.weight).word(),
        meaning: asked.code.meaning,
        document: document.map(|document| document.path.as_str()),
        row: &broken.label,
        place: broken.printed.as_ref().and_then(|value| value.place.as_ref()),
        printed: broken.printed.as_ref().map(|value| value.value.as_str()),
        recomputed: &broken.recomputed,
        says: &asked.says,
        values: broken.values.iter().map(value_json).collect(),
        causes: &broken.causes,
        causes_tried: asked.tried,
        reason: &broken.reason,
        source: asked.source,
    })
}

fn value_json(value: &UsedValue) -> ValueJson<'_> {
    ValueJson {
        name: &value.name,
        value: &value.value,
        place: value.place.as_ref(),
        how: &value.how,
    }
}

fn refusal_json(error: &Error) -> RefusalJson<'_> {
    RefusalJson {
        code: error.code.id,
        place: &error.place,
        expected: &error.expected,
        found: &error.found,
        help: &error.help,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_nowhere_is_not_told_as_printed() {
        let asked = AskedRelation {
            code: &crate::check::NOTHING_ASKED,
            weight: Weight::Doubt,
            says: "a = b".into(),
            source: "",
            times: 1,
            tried: 0,
            broken: Vec::new(),
        };
        let value =
            UsedValue { name: "a".into(), value: "12".into(), place: None, how: "by hand".into() };
        let told = |printed: bool, values: Vec<UsedValue>, relation| {
            let printed = printed.then(|| value.clone());
            let recomputed = "13".to_owned();
            let broken = Broken { printed, relation, recomputed, values, ..Broken::default() };
            against(&broken, &asked)
        };
        let both = || vec![value.clone()];
        assert_eq!(told(true, both(), "="), "printed 12, recomputed 13");
        assert_eq!(told(false, both(), "="), "a is 12, but the other side is 13");
        assert_eq!(told(false, both(), "<="), "a is 12, which should be <= 13");
        assert_eq!(told(false, Vec::new(), ""), "`a = b` does not hold");
    }
}
