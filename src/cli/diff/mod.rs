//! `repro diff`.

mod horizons;

use std::fmt::Write;
use std::path::Path;

use num_rational::BigRational;
use serde_json::{Value as Json, json};

use super::{Answer, BAD_USAGE};
use crate::cli::args;
use crate::cli::output::{Output, json_text};
use horizons::Horizons;
use repro_core::decimal::{format_significant, grouped};
use repro_core::source::Location;
use repro_model::contract::{
    ContractDiff, DiffRow, FieldGroup, RunAtStep, Standing, StatedValue, TOLERANCE_PERCENT,
};
use repro_report::outcome::{EvidenceOrigin, ExitStatus};
use repro_report::{Columns, Format, columns, paragraph, visible};

/// The schema of all that this command prints as JSON.
pub const SCHEMA: &str = "repro.diff/1";
/// The longest file name that names a column.
const NAME_CAP: usize = 18;
/// The significant digits that people see of a derived number, and of a stated one.
const DERIVED_DIGITS: usize = 4;
const STATED_DIGITS: usize = 10;

/// Runs the command: every run is read, or nothing is compared.
pub fn run(own: &args::DiffArgs, output: &Output) -> Answer {
    let (runs, errors): (Vec<_>, Vec<_>) =
        own.sides.iter().map(|argument| RunAtStep::load(argument)).partition(Result::is_ok);
    let errors: Vec<_> = errors.into_iter().filter_map(Result::err).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let runs: Vec<_> = runs.into_iter().flatten().collect();
    let labels = labels(&runs);
    let (json, text) = match own.horizon {
        Some(name) => {
            let horizons = Horizons::compute(name, own, &runs)?;
            (horizons.json(&runs, &labels), horizons.text(&labels, output.width()))
        }
        None if runs.len() < 2 => {
            let expected = "at least two runs, or `--horizon`";
            return Err(vec![BAD_USAGE.at(Location::file("diff"), expected, "one run")]);
        }
        None => {
            let comparison = ContractDiff::of(&runs);
            let text = text(&comparison, &runs, &labels, output);
            (document(&comparison, &runs, &labels), text)
        }
    };
    let paths = own.sides.iter().map(|side| side.split('@').next().unwrap_or(side));
    output.spares(paths)?;
    let fenced = || format!("```text\n{text}```\n");
    let draw = |format, _: &_| match format {
        Format::Json => json_text(&json),
        Format::Markdown => fenced(),
        _ => text.clone(),
    };
    output.drawn(&draw, &fenced)?;
    Ok(ExitStatus::Verified)
}

/// Short names for the columns: the names of the files where they tell the runs apart, else letters.
fn labels(runs: &[RunAtStep]) -> Vec<String> {
    let stem = |run: &RunAtStep| {
        let stem = Path::new(&run.file).file_stem().unwrap_or_default();
        visible(&stem.to_string_lossy())
    };
    let stems: Vec<_> = runs.iter().map(stem).collect();
    let mut distinct = stems.clone();
    distinct.sort();
    distinct.dedup();
    let short = stems.iter().all(|stem| !stem.is_empty() && columns(stem) <= NAME_CAP);
    if short && distinct.len() == runs.len() {
        stems
    } else {
        (0..runs.len()).map(letters).collect()
    }
}

/// A, B, … Z, AA, AB, …
fn letters(number: usize) -> String {
    let last = char::from(b'A' + u8::try_from(number % 26).unwrap_or(0));
    let before = if number >= 26 { letters(number / 26 - 1) } else { String::new() };
    format!("{before}{last}")
}

fn document(comparison: &ContractDiff, runs: &[RunAtStep], labels: &[String]) -> Json {
    let contract = |group| -> Vec<Json> {
        let rows = comparison.contract(group);
        rows.map(|(name, row)| {
            json!({"name": name, "quantity": row.name, "holds": row.holds(), "values": values(row),
                   "ratio": ratio(row)})
        })
        .collect()
    };
    let rows = |standing| -> Vec<Json> {
        comparison.with(standing).map(|row| entry(row, labels)).collect()
    };
    json!({
        "schema": SCHEMA,
        "tolerance": format!("{TOLERANCE_PERCENT}%"),
        "flop_per_token": "6 P_active",
        "runs": described(runs, labels),
        "match": contract(FieldGroup::Match),
        "horizon": contract(FieldGroup::Horizon),
        "differs": rows(Standing::Differs),
        "not_stated": rows(Standing::NotStated),
        "held_fixed": rows(Standing::HeldFixed),
    })
}

/// `runs` of a document.
pub fn described(runs: &[RunAtStep], labels: &[String]) -> Vec<Json> {
    let run = |(run, label): (&RunAtStep, &String)| {
        json!({
            "label": label,
            "file": run.file,
            "family": run.family,
            "step": run.step.map(|step| step.to_string()),
            "step_from": run.step_origin.map(|origin| origin.word()),
            "planned_steps": run.planned_steps().map(exact),
            "origin": run.bundle.as_ref().map(|(origin, _)| EvidenceOrigin::from(*origin).word()),
            "digest": run.bundle.as_ref().map(|(_, digest)| digest),
            "notes": run.notes,
        })
    };
    runs.iter().zip(labels).map(run).collect()
}

fn entry(row: &DiffRow, labels: &[String]) -> Json {
    let missing = row.values.iter().zip(labels).filter(|(value, _)| value.is_none());
    let missing: Vec<_> = missing.map(|(_, label)| label).collect();
    json!({
        "group": row.group.word(),
        "name": row.name,
        "derived": row.derived,
        "value": row.shared().map(StatedValue::plain),
        "values": values(row),
        "ratio": ratio(row),
        "missing": missing,
    })
}

fn values(row: &DiffRow) -> Vec<Option<String>> {
    row.values.iter().map(|value| value.as_ref().map(StatedValue::plain)).collect()
}

fn ratio(row: &DiffRow) -> Option<String> {
    row.ratio.as_ref().map(exact)
}

/// A number for programs.
pub fn exact(number: &BigRational) -> String {
    format_significant(number, STATED_DIGITS)
}

/// The comparison for people: what differs before what is equal.
fn text(
    comparison: &ContractDiff,
    runs: &[RunAtStep],
    labels: &[String],
    output: &Output,
) -> String {
    let width = output.width();
    let count = |standing| comparison.with(standing).count();
    let differing = match count(Standing::Differs) {
        0 => "nothing differs".to_owned(),
        1 => "1 difference".to_owned(),
        more => format!("{more} differences"),
    };
    let mut text = format!(
        "{} runs: {differing} · {} held fixed · {} not stated by all\n",
        runs.len(),
        count(Standing::HeldFixed),
        count(Standing::NotStated)
    );
    text.push_str(&legend(runs, labels));
    text.push('\n');
    text.push_str(&paragraph("match", &contract_sentence(comparison, FieldGroup::Match), width));
    text.push_str(&paragraph(
        "horizon",
        &contract_sentence(comparison, FieldGroup::Horizon),
        width,
    ));
    let table = |title, standing| {
        table(comparison, standing, labels).render(title, width, output.verbose())
    };
    if count(Standing::Differs) > 0 {
        text.push('\n');
        text.push_str(&table("differs", Standing::Differs));
    }
    if output.quiet() {
        return text;
    }
    if output.verbose() {
        for (title, standing) in
            [("not stated", Standing::NotStated), ("held fixed", Standing::HeldFixed)]
        {
            if count(standing) > 0 {
                text.push('\n');
                text.push_str(&table(title, standing));
            }
        }
    } else {
        text.push('\n');
        for sentence in missing(comparison, labels) {
            text.push_str(&paragraph("unstated", &sentence, width));
        }
        let names: Vec<_> =
            comparison.with(Standing::HeldFixed).map(|row| row.name.as_str()).collect();
        if !names.is_empty() {
            let sentence = format!("{} (--verbose lists their values)", names.join(", "));
            text.push_str(&paragraph("fixed", &sentence, width));
        }
    }
    text.push('\n');
    text.push_str(&paragraph("reading", &reading(), width));
    text
}

/// Notes for reading the table.
fn reading() -> String {
    format!(
        "Derived quantities count as held fixed within {TOLERANCE_PERCENT}%, stated fields if equal; \
         unstated fields never count as equal. A ratio is the largest over the smallest value. \
         Compute is approximated as 6 P_active FLOP per token; tokens per routed expert assume an \
         even load."
    )
}

/// Which run is which, read where, and what to know about it.
fn legend(runs: &[RunAtStep], labels: &[String]) -> String {
    let wide = labels.iter().map(|label| columns(label)).max().unwrap_or(0);
    let mut text = String::new();
    for (run, label) in runs.iter().zip(labels) {
        let step = match (run.step, run.planned_steps()) {
            (None, _) => "no step".to_owned(),
            (Some(step), None) => format!("step {}", grouped(&step.to_string())),
            (Some(step), Some(planned)) => {
                let planned = grouped(&exact(planned));
                format!("step {} of {planned}", grouped(&step.to_string()))
            }
        };
        let bundle = run.bundle.as_ref();
        let bundle =
            bundle.map(|(origin, _)| format!(", {} bundle", EvidenceOrigin::from(*origin).word()));
        let gap = " ".repeat(wide - columns(label));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {label}{gap}  {step}, {}{}, {}",
            run.family,
            bundle.unwrap_or_default(),
            visible(&run.file)
        );
        for note in &run.notes {
            let _ = writeln!(text, "  {}  note: {}", " ".repeat(wide), visible(note));
        }
    }
    text
}

/// Which matches or horizons hold, and by how much the others are missed.
fn contract_sentence(comparison: &ContractDiff, group: FieldGroup) -> String {
    let said = |holds: Option<bool>| -> Vec<String> {
        let rows = comparison.contract(group).filter(|(_, row)| row.holds() == holds);
        rows.map(|(name, row)| match &row.ratio {
            Some(ratio) => format!("{name} ({})", times(ratio)),
            None => name.to_owned(),
        })
        .collect()
    };
    let (held, missed, unknown) = (said(Some(true)), said(Some(false)), said(None));
    let mut parts = Vec::new();
    if !held.is_empty() {
        parts.push(format!("{} within {TOLERANCE_PERCENT}%", held.join(", ")));
    } else if !missed.is_empty() {
        parts.push(format!("none holds within {TOLERANCE_PERCENT}%"));
    }
    if !missed.is_empty() {
        parts.push(format!("not {}", missed.join(", ")));
    }
    if !unknown.is_empty() {
        parts.push(format!("not stated by all: {}", unknown.join(", ")));
    }
    parts.join("; ")
}

/// The rows of one standing by group: a column for each run, or one for what all share.
fn table(comparison: &ContractDiff, standing: Standing, labels: &[String]) -> Columns {
    let mut headings = match standing {
        Standing::HeldFixed => vec!["value".to_owned()],
        Standing::Differs | Standing::NotStated => labels.to_vec(),
    };
    if standing == Standing::Differs {
        headings.push("ratio".to_owned());
    }
    let mut table = Columns::new(headings);
    for group in FieldGroup::ALL {
        let mut rows = comparison.with(standing).filter(|row| row.group == group).peekable();
        if rows.peek().is_some() {
            table.title(group.word());
        }
        for row in rows {
            let mut cells: Vec<_> =
                row.values.iter().map(|value| cell(row, value.as_ref())).collect();
            match standing {
                Standing::HeldFixed => cells = vec![one_cell(row, cells)],
                Standing::Differs => cells.push(row.ratio.as_ref().map_or_else(String::new, times)),
                Standing::NotStated => {}
            }
            table.row(&row.name, cells);
        }
    }
    table
}

/// The value that all runs share, or all values where they are only close.
fn one_cell(row: &DiffRow, mut each: Vec<String>) -> String {
    match &row.ratio {
        _ if row.shared().is_some() => each.swap_remove(0),
        Some(ratio) => format!("{} ({})", each.join(" / "), times(ratio)),
        None => each.join(" / "),
    }
}

fn times(ratio: &BigRational) -> String {
    format!("{}×", grouped(&format_significant(ratio, DERIVED_DIGITS)))
}

fn cell(row: &DiffRow, value: Option<&StatedValue>) -> String {
    let digits = if row.derived { DERIVED_DIGITS } else { STATED_DIGITS };
    value.map_or_else(|| "not stated".to_owned(), |value| value.shown(digits))
}

/// The unstated fields, one sentence per set of runs that omit them.
fn missing(comparison: &ContractDiff, labels: &[String]) -> Vec<String> {
    let mut by_runs: Vec<(Vec<bool>, Vec<&str>)> = Vec::new();
    for row in comparison.with(Standing::NotStated) {
        let absent: Vec<_> = row.values.iter().map(Option::is_none).collect();
        match by_runs.iter_mut().find(|(runs, _)| *runs == absent) {
            Some((_, names)) => names.push(&row.name),
            None => by_runs.push((absent, vec![&row.name])),
        }
    }
    by_runs.sort();
    by_runs.reverse();
    let sentence = |(absent, names): (Vec<bool>, Vec<&str>)| {
        let runs: Vec<_> = labels
            .iter()
            .zip(&absent)
            .filter(|(_, absent)| **absent)
            .map(|(label, _)| label.as_str())
            .collect();
        let who = if runs.len() == labels.len() { "any run".to_owned() } else { runs.join(", ") };
        format!("by {who}: {}", names.join(", "))
    };
    by_runs.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_beyond_z_have_two_letters() {
        assert_eq!([0, 25, 26, 27, 702].map(letters), ["A", "Z", "AA", "AB", "AAA"]);
    }
}
