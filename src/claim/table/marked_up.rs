//! HTML tables and TeX tabulars.
//!
//! A cell over several columns or rows shifts the others, so only rows with as many cells as the head are read.

use std::ops::Range;

use super::{PrintedCell, cell};
use crate::markup::Tag;
use crate::words::words;

/// The lines of each table of a text, cell by cell.
pub(super) fn tables(text: &str) -> Vec<Vec<Vec<PrintedCell>>> {
    let mut found = of_html(text);
    for name in ["tabular}", "tabular*}", "tabularx}"] {
        let inside = stretches(text, &format!("\\begin{{{name}"), &format!("\\end{{{name}"));
        found.extend(inside.into_iter().map(|inside| rows_of_tex(text, inside)));
    }
    found
}

/// The text between each opening and its end; of nested ones only the innermost.
fn stretches(text: &str, open: &str, close: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(end) = text[at..].find(close).map(|end| at + end) {
        let start = text[at..end].rfind(open).map(|start| at + start + open.len());
        found.extend(start.map(|start| start..end));
        at = end + close.len();
    }
    found
}

/// The rows of each table of HTML; of those inside each other only the innermost.
fn of_html(text: &str) -> Vec<Vec<Vec<PrintedCell>>> {
    let mut found = Vec::new();
    let mut rows: Option<Vec<Vec<PrintedCell>>> = None;
    let mut cell_start = None;
    let tags = text.match_indices('<').filter_map(|(at, _)| Some((at, Tag::read(&text[at..])?)));
    for (at, tag) in tags.filter(|(_, tag)| words().is_in("table.tags", &tag.name)) {
        let open_row = rows.as_mut().and_then(|rows| rows.last_mut());
        if let (Some(start), Some(row)) = (cell_start.take(), open_row) {
            row.push(cell(text, start..at));
        }
        match (tag.name.as_str(), tag.is_closing) {
            ("table", false) => rows = Some(Vec::new()),
            ("table", true) => found.extend(rows.take()),
            ("tr", false) => rows.iter_mut().for_each(|rows| rows.push(Vec::new())),
            ("td" | "th", false) => cell_start = Some(at + tag.length),
            _ => {}
        }
    }
    found
}

fn rows_of_tex(text: &str, inside: Range<usize>) -> Vec<Vec<PrintedCell>> {
    let mut rows = Vec::new();
    let mut at = inside.start;
    // The columns are named before the first row.
    if text[at..inside.end].starts_with('{') {
        at += text[at..inside.end].find('\n').unwrap_or(inside.end - at);
    }
    for line in text[at..inside.end].split("\\\\") {
        let start = at;
        at += line.len() + 2;
        let mut bare = line.trim_start();
        while let Some(rest) = words().behind("table.rules", bare) {
            bare = rest.trim_start();
        }
        let mut from = start + line.len() - bare.len();
        let mut row = Vec::new();
        let part = |at: &usize| !text[..*at].ends_with('\\');
        let ands: Vec<_> =
            bare.match_indices('&').map(|(and, _)| from + and).filter(part).collect();
        for and in ands {
            row.push(cell(text, from..and));
            from = and + 1;
        }
        row.push(cell(text, from..start + line.len()));
        if !bare.trim().is_empty() && !bare.contains("\\multicolumn") {
            rows.push(row);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::{TableLines, cells};

    fn found(text: &str, head: &str) -> Option<Vec<Vec<String>>> {
        let table = TableLines::of(text).table(&cells(head, 0).unwrap()).ok()?;
        let shown = |row: &Vec<super::PrintedCell>| {
            row.iter()
                .inspect(|cell| assert_eq!(text[cell.span.clone()], cell.text))
                .map(|cell| cell.text.clone())
                .collect()
        };
        Some(table.rows.iter().map(shown).collect())
    }

    #[test]
    fn tables_of_html_are_tables() {
        let text = "<Table>\n<thead><tr><th>Arm<th>Loss</thead>\n<tr><td>é <b>moe</b></td> <TD\0\0>1.70</TD></tr>\
                    <tr><td>over both</td></tr><tr><td>dense</td><td></td></tr></table> and";
        let expected = [["é <b>moe</b>", "1.70"], ["dense", ""]];
        assert_eq!(
            found(text, "| Arm | Loss |"),
            Some(
                expected
                    .iter()
                    .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect())
                    .collect()
            )
        );
        assert_eq!(found(text, "| Loss | Arm |"), None);
        assert_eq!(found("<table><tr><th>Arm<th>Loss", "| Arm | Loss |"), None);
        assert_eq!(found(&format!("{text}{text}"), "| Arm | Loss |"), None);
    }

    #[test]
    fn tabulars_of_tex_are_tables() {
        let text = r"\begin{tabular}{l r}
\toprule
Arm \& rate & Loss \\ \midrule
\multicolumn{2}{c}{small} \\
moe & \textbf{1.70} \\
dense & 1.72 \\ \hline
\end{tabular}";
        let rows = found(text, r"| Arm \& rate | Loss |").unwrap();
        assert_eq!(
            rows,
            [
                [String::from("moe"), String::from(r"\textbf{1.70}")],
                [String::from("dense"), String::from("1.72")]
            ]
        );
        assert_eq!(found(text, "| Arm | Loss |"), None);
    }
}
