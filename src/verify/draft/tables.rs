//! Tables whose rows are arms: one expression for each column, which gives the digits of every row.

use std::collections::BTreeMap;

use repro_claim::quote::{self, HeadUnit};
use repro_claim::table::PrintedCell;
use repro_core::decimal::{Printed, Unit, nearest_f64};

use crate::draft::around::{is_another_quantity, words_of_text};
use crate::draft::candidates::DraftCandidate;
use crate::draft::evidence::{NamedArm, NamedMetric};
use crate::draft::nouns::is_untold_rate;
use crate::draft::numbers::{printed, range};
use crate::draft::quantities::{LoggedPart, has_one, is_in, quantities, words_of_list};
use crate::draft::text::DraftTable;
use crate::draft::written::{one_or_list, toml_text};
use crate::work::Work;

/// Of so many templates of a column the best are kept.
const KEPT: usize = 4;

/// A candidate for a table column: an expression for each number in its cells, over `runs` and `run`.
#[derive(Debug, Clone)]
pub struct ColumnDraft {
    pub head: String,
    /// By likelihood, each a list for the numbers of a cell.
    pub templates: Vec<Vec<String>>,
    /// The rows that the first does not fit.
    pub misfits: Vec<String>,
}

/// A table with what its rows and columns are.
#[derive(Debug, Clone)]
pub struct BoundTable {
    pub head: String,
    pub place: String,
    /// The labels of its rows, each with what its variables stand for.
    pub rows: Vec<(String, Vec<(String, String)>)>,
    pub columns: Vec<ColumnDraft>,
    /// The heads of columns with numbers to which nothing fits.
    pub open: Vec<String>,
}

/// The arm that a row is about: the one whose words its first cells have.
fn arm_of(row: &[PrintedCell], arms: &[NamedArm]) -> Option<usize> {
    let words = words_of_text(&row.first()?.text);
    // The row "without RoPE" is about other runs than those with it.
    let is_absent = |word: &&String| is_in("absent", word);
    let absent: Vec<_> = words.iter().filter(is_absent).collect();
    let fits = |arm: &&(usize, &NamedArm)| {
        arm.1.words.iter().all(|word| words.contains(word))
            && absent.iter().all(|word| arm.1.words.contains(word))
    };
    let all: Vec<_> = arms.iter().enumerate().collect();
    let mut found: Vec<_> = all.iter().filter(fits).collect();
    // Of `moe` and `moe big`, the row "moe big" is the second.
    found.sort_by_key(|(_, arm)| std::cmp::Reverse(arm.words.len()));
    match found.as_slice() {
        [one] => Some(one.0),
        [one, next, ..] if one.1.words.len() > next.1.words.len() => Some(one.0),
        _ => None,
    }
}

/// An expression about an arm as one about the row.
fn template(candidate: &DraftCandidate, arm: &NamedArm) -> String {
    let of_first = replaced(&candidate.expression, &arm.first(), "run");
    let of_group = match arm.is_group() {
        true => replaced(&of_first, &arm.name, "runs"),
        false => of_first,
    };
    // A metric with a name of its own has a variable of its own in each row.
    let own = |text: String, metric: &NamedMetric| replaced(&text, &metric.name, &variable(metric));
    arm.own_names().fold(of_group, own)
}

/// The values of the column variables in an arm's row.
fn variables(arm: &NamedArm) -> Vec<(String, String)> {
    let mut all = vec![("run".to_owned(), arm.first())];
    if arm.is_group() {
        all.push(("runs".to_owned(), arm.name.clone()));
    }
    all.extend(arm.own_names().map(|metric| (variable(metric), metric.name.clone())));
    all
}

/// The variable for a metric in the rows of a table.
fn variable(metric: &NamedMetric) -> String {
    metric.name.split('.').next().unwrap_or(&metric.name).to_owned()
}

/// An expression with another name for a name.
fn replaced(expression: &str, name: &str, with: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut written = String::new();
    let mut rest = expression;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (word, behind) = from.split_at(end);
        written.push_str(before);
        match word.strip_prefix(name) {
            Some("") => written.push_str(with),
            Some(field) if field.starts_with('.') => {
                written.push_str(with);
                written.push_str(field);
            }
            _ => written.push_str(word),
        }
        rest = behind;
    }
    written + rest
}

/// Whether some row of a table is about an arm.
pub fn is_of_arms(table: &DraftTable, arms: &[NamedArm]) -> bool {
    table.table.rows.iter().any(|row| arm_of(row, arms).is_some())
}

/// Finds what the columns of a table are; none if its rows are no arms.
pub fn bind(
    table: &DraftTable,
    arms: &[NamedArm],
    candidates: &[DraftCandidate],
    work: &Work,
) -> Option<BoundTable> {
    work.takes(table.table.rows.len() * arms.len());
    if work.is_spent() {
        return None;
    }
    let rows: Vec<_> =
        table.table.rows.iter().filter_map(|row| Some((arm_of(row, arms)?, row))).collect();
    if rows.is_empty() {
        return None;
    }
    let label = |row: &[PrintedCell]| row.first().map(|cell| cell.text.clone()).unwrap_or_default();
    let named = rows.iter().filter_map(|(arm, row)| Some((label(row), variables(arms.get(*arm)?))));
    let mut bound = BoundTable {
        head: table.head.clone(),
        place: table.place.clone(),
        rows: named.collect(),
        columns: Vec::new(),
        open: Vec::new(),
    };
    for (at, head) in table.table.head.iter().enumerate().skip(1) {
        let cells: Vec<_> =
            rows.iter().filter_map(|(arm, row)| Some((*arm, label(row), row.get(at)?))).collect();
        // Most candidates are of other arms.
        work.takes(1 + cells.len() * candidates.len() / 64);
        let has_numbers = cells.iter().any(|(_, _, cell)| !quote::items(&cell.text).is_empty());
        let words = HeadWords::of(&head.text, &table.place, &bound.columns);
        match column(&head.text, &words, &cells, arms, candidates) {
            Some(column) => bound.columns.push(column),
            None if has_numbers => bound.open.push(head.text.clone()),
            None => {}
        }
    }
    (!bound.columns.is_empty()).then_some(bound)
}

/// The words of a column head.
struct HeadWords {
    words: Vec<String>,
    quantities: Vec<usize>,
    part: Option<LoggedPart>,
    /// The steps that it names, or the heading above the table.
    steps: Vec<u64>,
    /// Where it is of spreads: the expressions of the column before, which they are around.
    means: Option<Vec<String>>,
}

impl HeadWords {
    fn of(head: &str, place: &str, before: &[ColumnDraft]) -> Self {
        let words = words_of_text(head);
        let steps = words_of_text(place).into_iter().chain(words.clone());
        let means =
            before.last().map(|column| column.templates.iter().flatten().cloned().collect());
        Self {
            quantities: quantities(&words),
            part: LoggedPart::of(&words),
            steps: steps.filter_map(|word| word.parse().ok()).collect(),
            means: means.filter(|_| has_one(words_of_list("spreads"), &words)),
            words,
        }
    }

    /// Whether a column may be a candidate: some word speaks for it, and none for something else.
    fn may_mean(&self, candidate: &DraftCandidate, is_spread: bool) -> bool {
        let is_step = |step: u64| self.steps.contains(&step);
        let has_a_word = candidate.words.iter().any(|word| self.words.contains(word));
        candidate.is_spread == (is_spread || self.means.is_some())
            && (is_spread || has_a_word)
            && (candidate.needs.is_empty() || has_one(candidate.needs, &self.words))
            && candidate.step.is_none_or(is_step)
            && !is_another_quantity(&self.quantities, self.part, candidate)
            && !is_untold_rate(&candidate.words, &self.words)
    }

    /// Whether a spread of a column of spreads is around what is in the column before.
    fn is_around(&self, template: &str) -> bool {
        let field = |one: &str| {
            let inner = one.split_once('(').map_or(one, |(_, inner)| inner);
            inner.trim_end_matches(')').to_owned()
        };
        let own = field(template);
        self.means.as_ref().is_none_or(|means| means.iter().any(|mean| field(mean) == own))
    }
}

fn column(
    head: &str,
    words: &HeadWords,
    cells: &[(usize, String, &PrintedCell)],
    arms: &[NamedArm],
    candidates: &[DraftCandidate],
) -> Option<ColumnDraft> {
    let unit = quote::unit_of_head(head);
    let with_numbers: Vec<_> = cells
        .iter()
        .map(|(arm, label, cell)| (*arm, label, quote::items(&cell.text)))
        .filter(|(_, _, items)| !items.is_empty())
        .collect();
    let count = with_numbers.first()?.2.len();
    if with_numbers.iter().any(|(_, _, items)| items.len() != count) {
        return None;
    }
    let mut parts = Vec::new();
    let mut misfits: Vec<String> = Vec::new();
    for position in 0..count {
        // The rows that each template fits, and its score.
        let mut fits: BTreeMap<String, (Vec<usize>, f64)> = BTreeMap::new();
        for (row, (arm, _, items)) in with_numbers.iter().enumerate() {
            let (Some(arm_named), Some(item)) = (arms.get(*arm), items.get(position)) else {
                continue;
            };
            let Some((number, is_spread)) = printed(item) else { continue };
            let factor = unit.as_ref().map_or(1.0, |unit| in_ones(unit, number));
            let [low, high] = range(number, false).map(|end| end * factor);
            let (low, high) = (low.min(high), low.max(high));
            for candidate in candidates {
                let is_about = candidate.arms.first() == Some(arm);
                let meets = candidate.number.low <= high && low <= candidate.number.high;
                if !is_about || !meets || !words.may_mean(candidate, is_spread) {
                    continue;
                }
                let template = template(candidate, arm_named);
                if !words.is_around(&template) {
                    continue;
                }
                let said = candidate.words.iter().filter(|word| words.words.contains(word));
                let score = (said.count() as f64).min(4.0) * 1.5 - candidate.cost;
                let entry = fits.entry(template).or_insert((Vec::new(), score));
                entry.0.push(row);
            }
        }
        let mut ranked: Vec<_> = fits.into_iter().collect();
        ranked.sort_by(|a, b| {
            let key = |one: &(String, (Vec<usize>, f64))| (one.1.0.len(), one.1.1);
            let ((rows_a, score_a), (rows_b, score_b)) = (key(a), key(b));
            rows_b.cmp(&rows_a).then(score_b.total_cmp(&score_a)).then_with(|| a.0.cmp(&b.0))
        });
        let best = ranked.first()?;
        let fitted = &best.1.0;
        if fitted.len() * 2 <= with_numbers.len() && with_numbers.len() > 1 {
            return None;
        }
        let missing = with_numbers.iter().enumerate().filter(|(row, _)| !fitted.contains(row));
        misfits.extend(missing.map(|(_, (_, label, _))| (*label).clone()));
        let most = fitted.len();
        let kept = ranked.iter().take_while(|one| one.1.0.len() == most).take(KEPT);
        parts.push(kept.map(|one| one.0.clone()).collect::<Vec<_>>());
    }
    let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
    let nth = |rank: usize| {
        let part = |part: &Vec<String>| {
            part.get(rank).or_else(|| part.first()).cloned().unwrap_or_default()
        };
        parts.iter().map(part).collect::<Vec<_>>()
    };
    misfits.sort_unstable();
    misfits.dedup();
    Some(ColumnDraft { head: head.to_owned(), templates: (0..longest).map(nth).collect(), misfits })
}

/// The factor for a plain number below a head.
fn in_ones(unit: &HeadUnit, number: &Printed) -> f64 {
    match number.unit() {
        Unit::Plain => nearest_f64(&unit.factor) / nearest_f64(&unit.unit.per_one()),
        _ => 1.0,
    }
}

impl BoundTable {
    /// As a statement of a post file, without its mark.
    pub fn written(&self) -> String {
        let mut text = format!(
            "[[table]]\nplace = {}\nhead = {}\n[table.rows]\n",
            toml_text(&self.place),
            toml_text(&self.head)
        );
        let columns = self.columns.iter().filter_map(|column| column.templates.first()).flatten();
        let used: Vec<&String> = columns.collect();
        let is_used = |name: &str| used.iter().any(|one| replaced(one, name, "\u{1}") != **one);
        for (label, variables) in &self.rows {
            let own = variables.iter().filter(|(name, _)| is_used(name));
            let own: Vec<_> = own.map(|(name, of)| format!("{name} = {}", toml_text(of))).collect();
            text.push_str(&format!("{} = {{ {} }}\n", toml_text(label), own.join(", ")));
        }
        text.push_str("[table.columns]\n");
        for column in &self.columns {
            let Some(first) = column.templates.first() else { continue };
            let parts: Vec<_> = first.iter().map(|part| toml_text(part)).collect();
            let is = one_or_list(&parts);
            text.push_str(&format!("{} = {is}\n", toml_text(&column.head)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn names_are_replaced_as_whole_words() {
        let of = |expression: &str| replaced(expression, "moe", "runs");
        assert_eq!(
            of("mean(moe.loss) - mean(moe_big.loss)"),
            "mean(runs.loss) - mean(moe_big.loss)"
        );
        assert_eq!(of("count(moe)"), "count(runs)");
        assert_eq!(
            replaced("one.moe.config.lr / total(moe)", "one.moe", "run"),
            "run.config.lr / total(moe)"
        );
    }
}
