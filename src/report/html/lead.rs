//! The head of a page: contradicted sentences with their values, the central claim, and what depends on meaning.

use super::escaped::escaped;
use super::marks;
use crate::fact_table::FactTable;
use crate::folded::{ToldTogether, told_together};
use crate::layout::claim_mark;
use crate::lead::{self, Block};
use crate::outcome::{PostReport, Report, Verdict};
use crate::wording::{self, Remarks};

/// The classes of claims, the worst first, with the headings of those that are listed.
pub(super) const GROUPS: [(&str, &str); 6] = [
    ("refuted", "Contradicted"),
    ("differs", "Differs from the evidence"),
    ("inconclusive", "Open"),
    ("questioned", "Follows, but the words may say something else"),
    ("unchecked", "Not checked"),
    ("verified", "Follows from the evidence"),
];

/// Adds what a reader has to see first; of a report that is compared with a lock that stands elsewhere.
pub(super) fn draw(page: &mut String, report: &Report, post: &PostReport, remarks: &Remarks<'_>) {
    if report.locked.is_some() {
        return;
    }
    let mut drawn = String::new();
    for (doubt, claims) in wording::by_doubt(&lead::by_weight(post)) {
        let heading = match doubt {
            None => "Contradicted".to_owned(),
            Some(why) => format!("Differs from the evidence <small>{}</small>", escaped(why)),
        };
        section(&mut drawn, &heading, &lead::blocks(remarks, &claims));
    }
    central(&mut drawn, post);
    let (meant, _) = lead::by_meaning(post);
    let mut meant = lead::blocks(remarks, &meant);
    meant.sort_by_key(Block::effort);
    section(&mut drawn, "Depends on what is meant", &meant);
    if !drawn.is_empty() {
        page.push_str(&format!("<div class=\"lead\">\n{drawn}</div>\n"));
    }
}

fn section(page: &mut String, heading: &str, blocks: &[Block<'_>]) {
    if blocks.is_empty() {
        return;
    }
    page.push_str(&format!("<section>\n<h2>{heading}</h2>\n"));
    for block in blocks {
        page.push_str("<div class=\"block\">\n");
        block.told.iter().for_each(|told| quoted(page, told));
        block.tables.iter().for_each(|table| self::table(page, table));
        let Some(told) = block.told.first() else { continue };
        let premise = &told.first.meaning.premise;
        if !premise.is_empty() && told.first.outcome.verdict != Verdict::Refuted {
            page.push_str(&format!("<p>contradicted if one assumes: {}</p>\n", escaped(premise)));
        }
        for words in block.words() {
            page.push_str(&format!("<p>{}</p>\n", escaped(&words)));
        }
        page.push_str("</div>\n");
    }
    page.push_str("</section>\n");
}

/// The words of a sentence and their place.
fn quoted(page: &mut String, told: &ToldTogether<'_>) {
    let claims: Vec<_> = told.claims().collect();
    let class = marks::class_of(&claims).unwrap_or_default();
    let (sign, _) = claim_mark(told.first);
    let place = told.place();
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(" <small>{}</small>", escaped(&place))
    };
    page.push_str(&format!(
        "<p class=\"said\">{sign} <span class=\"s {class}\">{}</span>{place}</p>\n",
        escaped(&told.title())
    ));
}

fn table(page: &mut String, table: &FactTable) {
    let lines = table.lines(usize::MAX);
    let has_remarks = lines.iter().any(|line| !line.remark.is_empty());
    page.push_str(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"values\"><table>\n",
    );
    for (number, line) in lines.iter().enumerate() {
        let name = if number == 0 { "th" } else { "td" };
        let scope = if number == 0 { " scope=\"col\"" } else { "" };
        page.push_str(if number == 0 { "<thead><tr>" } else { "<tr>" });
        match (number, line.label.is_empty()) {
            (0, true) => page.push_str("<td></td>"),
            (0, false) => {
                page.push_str(&format!("<th scope=\"col\">{}</th>", escaped(&line.label)))
            }
            _ => page.push_str(&format!("<th scope=\"row\">{}</th>", escaped(&line.label))),
        }
        for cell in &line.cells {
            page.push_str(&format!("<{name}{scope} class=\"right\">{}</{name}>", escaped(cell)));
        }
        if has_remarks {
            page.push_str(&format!("<td>{}</td>", escaped(&line.remark)));
        }
        page.push_str(if number == 0 { "</tr></thead><tbody>\n" } else { "</tr>\n" });
    }
    page.push_str("</tbody></table></div>\n");
}

/// The central claim, and whether it was tested.
fn central(page: &mut String, post: &PostReport) {
    let Some(central) = lead::central(post) else { return };
    let class = marks::class_of(&[central.worst]).unwrap_or_default();
    page.push_str(&format!(
        "<section>\n<h2>Central claim <small class=\"verdict {class}\">{}</small></h2>\n<div class=\"block\">\n",
        escaped(&central.fate)
    ));
    told_together(&central.claims).iter().for_each(|told| quoted(page, told));
    let rows = central.claims.iter().flat_map(|claim| lead::rows_of(claim));
    FactTable::all(rows).iter().for_each(|one| table(page, one));
    if !central.worst.outcome.reason.is_empty() {
        page.push_str(&format!("<p>{}</p>\n", escaped(&central.worst.outcome.reason)));
    }
    page.push_str("</div>\n</section>\n");
}
