//! The report as Markdown for a comment, an issue or a job summary. Input text cannot create
//! markup, links or mentions; rows beyond the size limit are counted, not cut.

use crate::outcome::{PostReport, Report, Verdict, VerdictCounts};
use repro_core::source::Error;

use super::folded::{ToldTogether, by_code, told_together};
use super::layout::claim_mark;
use super::lead::{self, Block};
use super::visible::{clipped, prose, visible};
use super::wording::Remarks;
use super::{SCOPE, wording};

/// GitHub takes comments and issues of up to 65,536 characters.
pub const COMMENT_LIMIT: usize = 65_000;
/// So many files that were passed over are named.
const PASSED_NAMED: usize = 10;
/// So many contradicted sentences stand before what is folded.
const CONTRADICTED: usize = 5;
/// A name of more characters may be broken.
const LONG_NAME: usize = 20;
/// The most characters of a cell.
const CELL_LIMIT: usize = 400;
/// The space reserved for the closing lines of the report and for what is folded.
const CLOSING: usize = 600;

/// The report in at most `limit` bytes.
pub(super) fn render(report: &Report, limit: usize) -> String {
    let mut sheet = MarkdownSheet::new(limit);
    heading(report, &mut sheet);
    sheet.table(
        "Inputs that cannot be used",
        &["place", "what", "expected", "found", "help"],
        report.failures.iter().map(failure),
    );
    if !report.passed_over.is_empty() {
        let (count, names) = (report.passed_over.len(), report.passed_over.iter());
        let names: Vec<_> = names.take(PASSED_NAMED).map(|name| code(name)).collect();
        let more = count - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let files = wording::many(count, "file");
        sheet.line(&format!(
            "Skipped {files} that cannot be read and show no known kind: {}{more}.\n\n",
            names.join(", ")
        ));
    }
    match &report.locked {
        Some(differences) => sheet.table(
            "Verdicts not as recorded",
            &["claim", "recorded → found"],
            differences.iter().map(|difference| {
                let name = format!("{}/{}", difference.post, difference.claim);
                vec![code(&name), escaped(&wording::change(difference))]
            }),
        ),
        None => report.posts.iter().for_each(|post| section(report, post, &mut sheet)),
    }
    report.posts.iter().for_each(|post| disclosures(report, post, &mut sheet));
    sheet.table(
        "Below the required minimum",
        &["claim"],
        report.below_minimum.iter().map(|claim| vec![code(claim)]),
    );
    let mut text = sheet.finish("`repro verify --format json` lists all of them");
    if let Some(words) = super::replay_scope(report) {
        text = text + &words + "\n\n";
    }
    text + SCOPE + "\n"
}

fn heading(report: &Report, sheet: &mut MarkdownSheet) {
    let result = match &report.locked {
        _ if report.is_not_judged() => wording::NOT_JUDGED.to_owned(),
        Some(differences) if differences.is_empty() => wording::as_recorded(&report.summary()),
        Some(differences) => wording::entries_differ(differences.len()),
        None => wording::counts(&report.summary()),
    };
    sheet.line(&format!("## repro: {result}\n\n"));
    let row = |name: String, summary: VerdictCounts| {
        let mut cells = vec![name];
        let order =
            [Verdict::Verified, Verdict::Refuted, Verdict::Inconclusive, Verdict::Unchecked];
        cells.extend(order.map(|verdict| summary.count(verdict).to_string()));
        cells
    };
    let posts = report.posts.iter().map(|post| {
        row(format!("{} {}", code(&post.id), escaped(&post.title)), VerdictCounts::of(&post.claims))
    });
    sheet.rows(&["post", "verified", "refuted", "inconclusive", "unchecked"], posts);
}

/// The facts about a post that its counts do not show, whether it is judged or compared with its lock.
fn disclosures(report: &Report, post: &PostReport, sheet: &mut MarkdownSheet) {
    let lines = wording::disclosures(post).into_iter();
    let lines = lines.map(|line| vec![escaped_whole(&line)]);
    sheet.table(&format!("{}what this rests on", owner(report, post)), &["what"], lines);
}

/// The prefix of headings if there are several posts.
fn owner(report: &Report, post: &PostReport) -> String {
    if report.posts.len() > 1 { format!("{}: ", code(&post.id)) } else { String::new() }
}

/// The verdict on a post and what is contradicted; the rest is folded.
fn section(report: &Report, post: &PostReport, sheet: &mut MarkdownSheet) {
    let owner = owner(report, post);
    let is_refused = report.failures.iter().any(|failure| failure.place.file == post.file);
    let (sign, _) = lead::mark_of(post, is_refused);
    let headline = escaped_whole(&lead::headline(post, is_refused));
    sheet.line(&format!("{owner}**{sign} {headline}**\n\n"));
    let remarks = Remarks::of(post);
    let blocks = lead::blocks(&remarks, &lead::by_weight(post));
    blocks.iter().take(CONTRADICTED).for_each(|block| contradicted(block, &report.base, sheet));
    let counts = VerdictCounts::of(&post.claims);
    let order = [Verdict::Refuted, Verdict::Inconclusive, Verdict::Unchecked];
    let rest = wording::verdicts(&counts, &order);
    let rest: Vec<_> = rest.iter().map(|(count, word)| format!("{count} {word}")).collect();
    let rest = if rest.is_empty() { "details".to_owned() } else { rest.join(", ") };
    sheet
        .folded(&format!("{owner}{rest}"), |sheet| all_open(&owner, report, post, &remarks, sheet));
}

/// A sentence that is contradicted, with its values.
fn contradicted(block: &Block<'_>, base: &str, sheet: &mut MarkdownSheet) {
    for told in &block.told {
        let place = [told.place(), format!("{base}{}", wording::line_of(&told.first.written_at()))];
        let place: Vec<_> = place.iter().filter(|part| !part.is_empty()).collect();
        let place = place.iter().map(|part| escaped(part)).collect::<Vec<_>>().join(", ");
        let title = escaped(&told.title());
        sheet.line(&format!("- {} {title} ({place})\n", claim_mark(told.first).0));
    }
    sheet.line("\n");
    for table in &block.tables {
        let lines = table.lines(usize::MAX);
        let has_remarks = lines.iter().any(|line| !line.remark.is_empty());
        let lines = lines.iter().map(|line| {
            let cells = line.cells.iter().chain(has_remarks.then_some(&line.remark));
            std::iter::once(&line.label).chain(cells).map(|cell| escaped(cell)).collect()
        });
        let mut lines: Vec<Vec<String>> = lines.collect();
        let head = lines.remove(0);
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        sheet.rows(&head, lines.into_iter());
    }
    for words in block.words() {
        sheet.line(&format!("{}\n\n", escaped(&words)));
    }
}

/// Every claim that is not verified, what is remarked and what a referee would ask.
fn all_open(
    owner: &str,
    report: &Report,
    post: &PostReport,
    remarks: &Remarks,
    sheet: &mut MarkdownSheet,
) {
    let verified = wording::ranked(post, Verdict::Verified).into_iter();
    let questioned: Vec<_> = verified.filter(|claim| claim.is_questioned()).collect();
    let mut groups = Vec::new();
    for (doubt, claims) in wording::by_doubt(&lead::by_weight(post)) {
        let heading = doubt.map(|why| format!("differs ({why})"));
        groups.push((heading.unwrap_or_else(|| Verdict::Refuted.word().to_owned()), claims));
    }
    groups.push((
        Verdict::Inconclusive.word().to_owned(),
        wording::ranked(post, Verdict::Inconclusive),
    ));
    groups.push(("! verified, but questioned".to_owned(), questioned));
    for (heading, claims) in groups {
        sheet.table(
            &format!("{owner}{heading}"),
            &["quote and place", "why", "fact", "evidence"],
            told_together(&claims).iter().map(|told| row(told, &report.base)),
        );
    }
    let unchecked = wording::ranked(post, Verdict::Unchecked);
    sheet.table(
        &format!("{owner}unchecked"),
        &["claims", "why"],
        by_code(&unchecked).into_iter().map(|(reason, count)| {
            vec![count.to_string(), format!("{} ({})", escaped(reason.meaning), code(reason.id))]
        }),
    );
    sheet.table(
        &format!("{owner}also"),
        &["code", "place", "what"],
        remarks.all().iter().map(|finding| {
            let place = wording::line_of(&finding.place);
            vec![code(finding.code.id), code(&place), escaped(&finding.message)]
        }),
    );
    let Some(referee) = &post.referee else { return };
    let asked = wording::asked(referee).map(|(name, item)| vec![name.to_owned(), escaped(item)]);
    sheet.table(&format!("{owner}a referee would ask"), &["is", "what"], asked);
}

/// The claims of one sentence: four cells that fit on a page of 900 pixels.
fn row(told: &ToldTogether, base: &str) -> Vec<String> {
    let lines = |parts: Vec<String>| {
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("<br>")
    };
    let claim = told.first;
    let line = format!("{base}{}", wording::line_of(&claim.place));
    let claimed: Vec<_> = told.claims().map(|one| broken(&wording::held_against(one))).collect();
    let quote = match claim.quote.trim().is_empty() {
        true => broken(&claim.id),
        false => escaped(&format!("\"{}\"", claim.quote.trim())),
    };
    let untold = told.claims().filter(|one| !wording::is_told(one));
    let derived = untold.map(|one| broken(&wording::derived(one)));
    let rows = told.claims().map(|one| broken(&wording::row_of(one)));
    let all: Vec<_> = told.claims().collect();
    let facts = format!("{} · {}", wording::assurance(&all), wording::impact(claim.impact));
    let mut why: Vec<_> =
        told.by_reason().iter().map(|group| escaped(&group[0].outcome.reason)).collect();
    why.extend(told.claims().map(|claim| escaped(&wording::questions(claim))));
    why.extend(told.notes().into_iter().map(|note| format!("note: {}", escaped(note))));
    vec![
        lines(vec![quote, escaped(&told.place()), broken(&line)]),
        lines(why),
        lines(claimed),
        lines(derived.chain(rows).chain([escaped(&facts)]).collect()),
    ]
}

/// Text whose long names a browser may break at the marks inside them, so that no cell is wider than its share.
fn broken(text: &str) -> String {
    let word = |word: &str| {
        if word.chars().count() <= LONG_NAME {
            return word.to_owned();
        }
        word.replace('.', ".<wbr>").replace('/', "/<wbr>").replace('(', "(<wbr>")
    };
    escaped(text).split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn failure(error: &Error) -> Vec<String> {
    vec![
        code(&error.place.to_string()),
        format!("{} ({})", escaped(error.code.meaning), code(error.code.id)),
        escaped(&error.expected),
        escaped(&error.found),
        escaped(&error.help),
    ]
}

/// Markdown within a limit: the text so far, and how many rows did not fit.
pub struct MarkdownSheet {
    text: String,
    limit: usize,
    left_out: usize,
}

impl MarkdownSheet {
    /// Of at most `limit` bytes, with room for the lines that close it.
    pub fn new(limit: usize) -> Self {
        Self { text: String::new(), limit: limit.saturating_sub(CLOSING), left_out: 0 }
    }

    /// The text, and where rows did not fit, how many and where they are.
    pub fn finish(mut self, elsewhere: &str) -> String {
        if self.left_out > 0 {
            let rows = wording::many(self.left_out, "more row");
            self.text.push_str(&format!("{rows} did not fit here: {elsewhere}.\n\n"));
        }
        self.text
    }

    /// Adds `line` whole or not at all.
    pub fn line(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() <= self.limit;
        if fits {
            self.text.push_str(line);
        }
        fits
    }

    /// A folded part that the reader opens. Its end uses the space reserved for the lines that close the report.
    fn folded(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        let before = self.text.len();
        if self.line(&format!("<details><summary>{summary}</summary>\n\n")) {
            let opened = self.text.len();
            fill(self);
            if self.text.len() == opened {
                return self.text.truncate(before);
            }
            self.text.push_str("</details>\n\n");
        }
    }

    /// A heading and a table, unless there are no rows.
    pub fn table(&mut self, name: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let mut rows = rows.peekable();
        if rows.peek().is_some() {
            self.line(&format!("### {name}\n\n"));
            self.rows(columns, rows);
        }
    }

    fn rows(&mut self, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return;
        }
        let rule = "|---".repeat(columns.len());
        let head = self.line(&format!("| {} |\n{rule}|\n", columns.join(" | ")));
        for cells in rows {
            if !(head && self.line(&format!("| {} |\n", cells.join(" | ")))) {
                self.left_out += 1;
            }
        }
        self.line("\n");
    }
}

/// `text` as code; as escaped text where code could be broken out of.
pub fn code(text: &str) -> String {
    let shown = clipped(&visible(text), CELL_LIMIT);
    if shown.trim().is_empty() {
        String::new()
    } else if shown.contains(['`', '|', '\\']) || shown != shown.trim() {
        format!("<code>{}</code>", escaped(&shown))
    } else {
        format!("`{shown}`")
    }
}

/// `text` as text of a cell: no markup, no HTML, no link, no mention.
pub fn escaped(text: &str) -> String {
    escaped_whole(&clipped(prose(text).trim(), CELL_LIMIT))
}

/// Text of any length as text.
fn escaped_whole(text: &str) -> String {
    let text = prose(text);
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            // GitHub looks for names and issue numbers in the finished text, so these two are parted.
            '@' => shown.push_str("@&#8203;"),
            '#' => shown.push_str("\\#&#8203;"),
            // `http://` and `www.` would turn into links.
            ':' if characters.peek() == Some(&'/') => shown.push_str("&#58;"),
            '.' if shown.ends_with("www") => shown.push_str("&#46;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => shown.extend(['\\', c]),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_open_no_markup() {
        assert_eq!(
            escaped("a|b `c` <img src=x>\n![x](https://e.org) @you #1 www.e.org"),
            "a\\|b \\`c\\` &lt;img src=x&gt; \\!\\[x\\](https&#58;//e.org) @&#8203;you \\#&#8203;1 www&#46;e.org"
        );
        assert_eq!(code("a`|b"), "<code>a\\`\\|b</code>");
        assert_eq!(code("width-moe32"), "`width-moe32`");
    }
}
