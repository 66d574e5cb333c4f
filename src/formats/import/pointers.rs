//! How a post refers to the metrics of imported runs.

use std::collections::BTreeMap;
use std::ops::Range;

use super::group::LogGroup;
use super::run::{LogNumber, LoggedRun, Metric};
use super::tables::{RowKind, SUMMARY, SUMMARY_KEY, SUMMARY_VALUE, heading, piece_of, pieces};
use repro_claim::locator::part_text;

/// A metric of a group's runs at its last step, and its binding in a post.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricPlace {
    /// The log's name for it.
    pub name: String,
    /// The step; none for a number about the whole run.
    pub step: Option<u64>,
    /// The expression for `[names]`, covering all runs that have the metric at that step.
    pub pointer: Option<String>,
    /// The value in each of these runs.
    pub values: Vec<LogNumber>,
}

/// A run and the pieces of its table, which are cut once for all metrics.
struct CutRun<'a> {
    run: &'a LoggedRun,
    pieces: Vec<Range<usize>>,
}

impl CutRun<'_> {
    /// The value of a metric at a step, and the piece of the table that contains it, counted from one.
    fn at(&self, kind: RowKind, metric: &Metric, step: u64) -> Option<(LogNumber, usize)> {
        let rows = kind.rows(self.run);
        let row = rows.binary_search_by_key(&step, |row| row.step).ok()?;
        let number = rows.get(row)?.get(metric)?.clone();
        Some((number, piece_of(&self.pieces, row)?))
    }
}

/// A metric with the runs that have it, their last steps and the values there.
type Lasts<'a> = Vec<(&'a CutRun<'a>, u64, &'a LogNumber)>;

/// The metrics of the counted runs in a group, or of all runs if none counts.
pub fn places(group: &LogGroup) -> Vec<MetricPlace> {
    let counting: Vec<&LoggedRun> = group.runs.iter().filter(|run| run.counts()).collect();
    let runs = if counting.is_empty() { group.runs.iter().collect() } else { counting };
    let mut places = Vec::new();
    for kind in [RowKind::Validation, RowKind::Training] {
        let runs = runs.iter().copied();
        let cut: Vec<_> = runs.map(|run| CutRun { run, pieces: pieces(kind.rows(run)) }).collect();
        let mut metrics: BTreeMap<(String, &Metric), Lasts<'_>> = BTreeMap::new();
        for own in &cut {
            for (metric, (step, value)) in lasts(kind, own.run) {
                let told = metrics.entry((heading(metric, own.run), metric)).or_default();
                told.push((own, step, value));
            }
        }
        places.extend(
            metrics.into_iter().map(|((name, metric), lasts)| in_table(kind, name, metric, &lasts)),
        );
    }
    places.extend(of_summaries(&runs));
    places
}

/// The last value of each metric of a run.
fn lasts(kind: RowKind, run: &LoggedRun) -> BTreeMap<&Metric, (u64, &LogNumber)> {
    let mut lasts = BTreeMap::new();
    for row in kind.rows(run).iter().rev() {
        for (metric, number) in &row.cells {
            lasts.entry(metric).or_insert((row.step, number));
        }
    }
    lasts
}

/// The location of a metric at the last step that all runs share; if they share none, of the first run.
fn in_table(kind: RowKind, name: String, metric: &Metric, lasts: &Lasts<'_>) -> MetricPlace {
    let shared = lasts.iter().map(|(_, step, _)| *step).min().unwrap_or_default();
    let told: Option<Vec<_>> = lasts.iter().map(|(own, ..)| own.at(kind, metric, shared)).collect();
    let told = told.filter(|told| {
        told.windows(2).all(|pair| matches!(pair, [one, other] if one.1 == other.1))
    });
    let (runs, step, told) = match told {
        Some(told) => (lasts.iter().map(|(own, ..)| own.run).collect(), shared, told),
        None => {
            let first = lasts.first().map(|(own, step, _)| (*own, *step));
            let told = first.and_then(|(own, step)| own.at(kind, metric, step));
            (
                first.iter().map(|(own, _)| own.run).collect::<Vec<_>>(),
                first.map_or(0, |(_, step)| step),
                told.into_iter().collect(),
            )
        }
    };
    let piece = told.first().map_or(1, |(_, piece)| *piece);
    let pointer = pointer(&runs, &kind.file(piece), &[&format!("step={step}"), &name]);
    let values = told.into_iter().map(|(number, _)| number).collect();
    MetricPlace { name, step: Some(step), pointer, values }
}

/// Numbers about whole runs.
fn of_summaries(runs: &[&LoggedRun]) -> Vec<MetricPlace> {
    let mut names: BTreeMap<&str, Vec<(&LoggedRun, &LogNumber)>> = BTreeMap::new();
    for run in runs {
        let told: BTreeMap<&str, &LogNumber> =
            run.summary.iter().map(|(name, number)| (&**name, number)).collect();
        for (name, number) in told {
            names.entry(name).or_default().push((run, number));
        }
    }
    let place = |(name, told): (&str, Vec<(&LoggedRun, &LogNumber)>)| {
        let runs: Vec<_> = told.iter().map(|(run, _)| *run).collect();
        let way = format!("{SUMMARY_KEY}={name}");
        MetricPlace {
            name: name.to_owned(),
            step: None,
            pointer: pointer(&runs, SUMMARY, &[&way, SUMMARY_VALUE]),
            values: told.into_iter().map(|(_, number)| number.clone()).collect(),
        }
    };
    names.into_iter().map(place).collect()
}

/// `BUNDLES:FILE#PATH`; none if a name contains both kinds of quotes.
fn pointer(runs: &[&LoggedRun], file: &str, way: &[&str]) -> Option<String> {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let way: Option<Vec<String>> = way.iter().map(|part| part_text(part)).collect();
    Some(format!("{}:{file}#{}", bundles(&names), way?.join(".")))
}

/// Several bundle names as one expression: a range, a list, or the only name.
fn bundles(names: &[&str]) -> String {
    let Some((first, rest)) = names.split_first() else { return String::new() };
    if rest.is_empty() {
        return (*first).to_owned();
    }
    let alike = |other: &&str| first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let common = rest.iter().map(alike).min().unwrap_or_default();
    // Numbers are kept whole: `s1` and `s12` differ in their number, not after its first digit.
    let before =
        first.get(..common).unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_digit());
    let ends: Vec<&str> = names.iter().filter_map(|name| name.get(before.len()..)).collect();
    let numbers: Option<Vec<u64>> = ends.iter().map(|end| number(end)).collect();
    let in_order = |numbers: &Vec<u64>| {
        numbers.windows(2).all(|pair| matches!(pair, [one, next] if one + 1 == *next))
    };
    match (numbers.filter(in_order), ends.first(), ends.last()) {
        (Some(_), Some(low), Some(high)) => format!("{before}{{{low}..{high}}}"),
        _ => {
            // Splits after the last separator, so that words are kept whole.
            let joint = before.rfind(['-', '_']).map_or(0, |at| at + 1);
            let ends: Vec<&str> = names.iter().filter_map(|name| name.get(joint..)).collect();
            format!("{}{{{}}}", before.get(..joint).unwrap_or_default(), ends.join(","))
        }
    }
}

/// A number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok().filter(|number| *number < 1 << 53)?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_claim::locator::Locator;

    #[test]
    fn bundles_have_one_name_together() {
        for (names, wanted) in [
            (&["a-s1", "a-s2", "a-s3"][..], "a-s{1..3}"),
            (&["a-1"], "a-1"),
            (&["a-s1", "a-s3"], "a-{s1,s3}"),
            (&["a-s9", "a-s10"], "a-s{9..10}"),
            (&["a-run", "a-rerun"], "a-{run,rerun}"),
            (&["a-b", "a-b-2"], "a-{b,b-2}"),
            (&["a-01", "a-02"], "a-{01,02}"),
        ] {
            let text = bundles(names);
            assert_eq!(text, wanted);
            assert_eq!(Locator::parse(&text).unwrap().bundles, names);
        }
    }
}
