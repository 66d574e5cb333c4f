//! The report as Markdown for a comment, an issue or a job summary. Text of inputs can open no
//! markup, link nowhere and call nobody; rows beyond the limit of the place are counted, not cut.

use crate::outcome::{ClaimReport, PostReport, Report, Verdict, VerdictCounts};
use repro_receipt::source::Error;

use super::visible::{clipped, prose, visible};
use super::wording::Remarks;
use super::{REPLAY_SCOPE, SCOPE, wording};

/// GitHub takes comments and issues of up to 65,536 characters.
pub(super) const COMMENT_LIMIT: usize = 65_000;
/// The most characters of a cell.
const CELL_LIMIT: usize = 400;
/// What is kept free for the lines that close the report.
const CLOSING: usize = 400;

/// The report in at most `limit` bytes.
pub(super) fn render(report: &Report, limit: usize) -> String {
    let mut sheet =
        Sheet { text: String::new(), limit: limit.saturating_sub(CLOSING), left_out: 0 };
    heading(report, &mut sheet);
    sheet.table(
        "Inputs that cannot be used",
        &["place", "what", "expected", "found", "help"],
        report.failures.iter().map(failure),
    );
    match &report.locked {
        Some(differences) => sheet.table(
            "Verdicts that differ from the recorded ones",
            &["claim", "recorded → found"],
            differences.iter().map(|difference| {
                let name = format!("{}/{}", difference.post, difference.claim);
                vec![code(&name), escaped(&wording::change(difference))]
            }),
        ),
        None => report.posts.iter().for_each(|post| section(report, post, &mut sheet)),
    }
    sheet.table(
        "Below the required minimum",
        &["claim"],
        report.below_minimum.iter().map(|claim| vec![code(claim)]),
    );
    let Sheet { mut text, left_out, .. } = sheet;
    if left_out > 0 {
        let rows = wording::many(left_out, "more row");
        text.push_str(&format!(
            "{rows} did not fit here: `repro verify --format json` has all.\n\n"
        ));
    }
    if report.replayed > 0 {
        text = text + REPLAY_SCOPE + "\n\n";
    }
    text + SCOPE + "\n"
}

fn heading(report: &Report, sheet: &mut Sheet) {
    let result = match &report.locked {
        Some(differences) if differences.is_empty() => {
            format!("all {} verdicts are as recorded", report.summary().total())
        }
        Some(differences) => {
            format!("{} of the recorded verdicts changed", differences.len())
        }
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

fn section(report: &Report, post: &PostReport, sheet: &mut Sheet) {
    let owner =
        if report.posts.len() > 1 { format!("{}: ", code(&post.id)) } else { String::new() };
    for verdict in Verdict::ALL {
        let claims = wording::ranked(post, verdict);
        sheet.table(
            &format!("{owner}{}", verdict.word()),
            &["claim", "kind", "claimed", "evidence gives", "assurance", "impact", "why"],
            claims.into_iter().map(row),
        );
    }
    let signatures = wording::signatures(post, |_| true).into_iter();
    let signatures = signatures.map(|words| vec![escaped(&words)]);
    sheet.table(&format!("{owner}signatures"), &["result"], signatures);
    sheet.table(
        &format!("{owner}also"),
        &["code", "place", "what"],
        Remarks::of(post).all().iter().map(|finding| {
            let place = wording::line_of(&finding.place);
            vec![code(finding.code.id), code(&place), escaped(&finding.message)]
        }),
    );
    let Some(referee) = &post.referee else { return };
    let lists = [
        ("premise", &referee.load_bearing_premises),
        ("free choice", &referee.free_parameters),
        ("missing fact", &referee.missing_facts),
    ];
    let asked = lists.into_iter().flat_map(|(name, items)| {
        items.iter().map(move |item| vec![name.to_owned(), escaped(item)])
    });
    sheet.table(&format!("{owner}what a referee would ask"), &["is", "what"], asked);
}

fn row(claim: &ClaimReport) -> Vec<String> {
    let said = match claim.claimed.is_empty() {
        true => escaped(&wording::claimed(claim, 120)),
        false => code(&claim.claimed),
    };
    let mut why = escaped(&claim.outcome.reason);
    if !claim.note.trim().is_empty() {
        why = format!("{why}<br>note: {}", escaped(&claim.note));
    }
    vec![
        format!("{}<br>{}", code(&claim.id), code(&wording::line_of(&claim.place))),
        escaped(claim.kind),
        said,
        code(&claim.outcome.recomputed),
        wording::assurance(claim),
        wording::impact(claim.impact).to_owned(),
        why.trim_start_matches("<br>").to_owned(),
    ]
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

/// The text so far, and how many rows did not fit.
struct Sheet {
    text: String,
    limit: usize,
    left_out: usize,
}

impl Sheet {
    /// Adds `line` whole or not at all.
    fn line(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() <= self.limit;
        if fits {
            self.text.push_str(line);
        }
        fits
    }

    /// A heading and a table, unless there are no rows.
    fn table(&mut self, name: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
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
fn code(text: &str) -> String {
    let shown = clipped(&visible(text), CELL_LIMIT);
    if shown.trim().is_empty() {
        String::new()
    } else if shown.contains(['`', '|', '\\']) || shown != shown.trim() {
        format!("<code>{}</code>", escaped(&shown))
    } else {
        format!("`{shown}`")
    }
}

/// `text` as text: no markup, no HTML, no link, no mention.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let text = clipped(prose(text).trim(), CELL_LIMIT);
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
