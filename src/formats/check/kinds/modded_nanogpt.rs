//! Logs of modded-nanogpt speedruns, `step:N/M val_loss:X train_time:Yms step_avg:Zms`, and the table of records.
//!
//! Definitions: the training scripts of KellerJordan/modded-nanogpt, which most logs include, and its README.

use std::ops::Range;
use std::sync::Arc;

use repro_claim::relation::{PrintedRange, RelationNumber};
use repro_claim::table::head;
use repro_core::source::Source;

use crate::check::kind::{DocumentKind, Reads, RelationTable};
use crate::check::stated::{Digits, StatedRow};

/// The kind.
pub static KIND: DocumentKind = DocumentKind {
    id: "modded-nanogpt",
    what: "log or records of the modded-nanogpt speedrun",
    reads: Reads::Text { is, read },
    relations: &RELATIONS,
    twins: None,
};

/// Numbers of steps that the averages of different script versions leave out: none or the first ten, with one more or
/// fewer if a line is printed before or after its step is counted.
const LEFT_OUT: [f64; 5] = [0.0, 10.0, 9.0, 11.0, -1.0];
/// The fields of a line.
const FIELDS: &[&str] = &["val_loss", "train_loss", "train_time", "step_avg"];

fn is(name: &str, text: &str) -> bool {
    let is_log = || text.lines().filter_map(metrics).take(2).count() == 2;
    let is_page = || text.lines().any(|line| records_head(line).is_some());
    if name.to_ascii_lowercase().ends_with(".md") { is_page() } else { is_log() }
}

fn read(source: &Arc<Source>) -> StatedRow {
    let mut whole = StatedRow::default();
    let text = source.text();
    let mut lines: Vec<StatedRow> = Vec::new();
    let mut runs: Vec<StatedRow> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if let Some(fields) = metrics(bare) {
            let row = logged(&fields, at, source);
            let goes_back = |last: &StatedRow| row.number("step") < last.number("step");
            // A restart from the beginning is a different run, or a run quoted in the source code before the log.
            if lines.last().is_some_and(goes_back) {
                runs.push(run(std::mem::take(&mut lines)));
            }
            lines.push(row);
        }
        at += line.len();
    }
    runs.push(run(lines));
    runs.retain(|run| run.rows("line").len() > 1);
    if let [_, _, ..] = runs.as_slice() {
        for (at, run) in runs.iter_mut().enumerate() {
            run.label = format!("run {}", at + 1);
        }
    }
    whole.add("run", runs);
    memory(&mut whole, source);
    whole.add("record", records(source));
    whole
}

/// A field of a line: its name, and the range of its number.
type Field<'t> = (&'t str, Range<usize>);

/// The fields of a line that matches the grammar completely.
fn metrics(line: &str) -> Option<Vec<Field<'_>>> {
    let rest = line.strip_prefix("step:")?;
    let mut at = line.len() - rest.len();
    let mut parts = rest.split(' ');
    let steps = parts.next()?;
    let (step, planned) = steps.split_once('/')?;
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_count(step) || !is_count(planned) {
        return None;
    }
    let mut fields =
        vec![("step", at..at + step.len()), ("planned", at + step.len() + 1..at + steps.len())];
    at += steps.len() + 1;
    for part in parts {
        let (name, number) = part.split_once(':')?;
        // A line that ends before the unit is truncated.
        let bare = match name {
            "train_time" | "step_avg" => number.strip_suffix("ms").or(number.strip_suffix('s'))?,
            _ => number,
        };
        let start = at + name.len() + 1;
        fields.push((name, start..start + bare.len()));
        at += part.len() + 1;
    }
    fields.iter().any(|(name, _)| FIELDS.contains(name)).then_some(fields)
}

fn logged(fields: &[Field<'_>], start: usize, source: &Arc<Source>) -> StatedRow {
    let mut row = StatedRow::default();
    for (name, span) in fields {
        row.print(*name, source, start + span.start..start + span.end, Digits::Rounded);
    }
    // Times are floats printed as whole milliseconds.
    if let Some((time, cell)) = row.number("train_time").zip(row.cell("train_time")) {
        let printed = cell.printed.clone();
        row.quote("time", "train_time", PrintedRange::between(time - 0.5, time + 0.5), &printed);
    }
    if let Some(step) = row.number("step") {
        row.label = format!("step {step}");
    }
    row
}

/// A run of lines, with the number of steps that its averages leave out.
fn run(mut lines: Vec<StatedRow>) -> StatedRow {
    let mut run = StatedRow::default();
    let fits = |left_out: f64| {
        let holds = |line: &&StatedRow| {
            let of = |name: &str| line.range(name);
            let Some([step, time, average]) = of("step")
                .zip(of("time"))
                .zip(of("step_avg"))
                .map(|((step, time), average)| [step, time, average])
            else {
                return false;
            };
            let counted = step.middle() - left_out;
            let quotient = time.scaled(1.0 / counted);
            let ([low, high], [least, most]) = (quotient.ends(), average.ends());
            counted > 0.0 && low <= most && least <= high
        };
        lines.iter().filter(holds).count()
    };
    let best = LEFT_OUT.into_iter().map(|left_out| (fits(left_out), left_out));
    let best = best.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let timed = lines.iter().filter(|line| line.number("step_avg").is_some()).count();
    if let Some((count, left_out)) = best.filter(|(count, _)| 2 * count > timed) {
        let how = format!("the steps left out by {count} of {timed} averages");
        for line in &mut lines {
            let step = line.number("step").filter(|_| line.number("step_avg").is_some());
            if let Some(step) = step.filter(|step| *step > left_out.max(0.0)) {
                line.compute_number("counted", step - left_out, how.clone());
            }
        }
    }
    if let Some(last) = lines.last() {
        run.copy("last_step", last, "step");
        run.copy("planned", last, "planned");
    }
    run.add("line", lines);
    run
}

/// `peak memory allocated: 32619 MiB reserved: 40002 MiB`
fn memory(whole: &mut StatedRow, source: &Arc<Source>) {
    let text = source.text();
    let Some(at) = text.rfind("\npeak memory") else { return };
    let line = text.get(at + 1..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    for (name, word) in [("allocated", "allocated: "), ("reserved", "reserved: ")] {
        let Some(start) = line.find(word).map(|start| start + word.len()) else { continue };
        let rest = line.get(start..).unwrap_or_default();
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let start = at + 1 + start;
        whole.print(name, source, start..start + length, Digits::Rounded);
    }
}

/// The number, time and date columns in the header of a records table.
fn records_head(line: &str) -> Option<[usize; 3]> {
    let head = head(line)?;
    let column = |name: &str| head.iter().position(|cell| cell.text.eq_ignore_ascii_case(name));
    Some([column("#")?, column("Record time")?, column("Date")?])
}

/// The tables of records; each record is faster than the one before.
fn records(source: &Arc<Source>) -> Vec<StatedRow> {
    let mut all = Vec::new();
    let (mut at, mut columns): (usize, Option<[usize; 3]>) = (0, None);
    for line in source.text().split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(row) = head(line) else {
            columns = None;
            continue;
        };
        let Some([number, time, day]) = columns else {
            columns = records_head(line);
            continue;
        };
        let mut record = StatedRow::default();
        for (name, column) in [("number", number), ("record_time", time), ("date", day)] {
            if let Some(cell) = row.get(column) {
                let span = start + cell.span.start..start + cell.span.end;
                record.print(name, source, span, Digits::Rounded);
            }
        }
        record.label = record
            .cell("number")
            .map(|cell| format!("record {}", cell.printed))
            .unwrap_or_default();
        read_minutes(&mut record);
        read_day(&mut record);
        if record.cell("minutes").is_some() {
            all.push(record);
        }
    }
    all
}

/// `45 minutes`, `3.14 minutes`.
fn read_minutes(record: &mut StatedRow) {
    let Some(text) = record.text("record_time").map(str::to_owned) else { return };
    let Some((number, unit)) = text.split_once(' ') else { return };
    let minutes = match unit.trim() {
        "minutes" | "minute" | "min" | "mins" => 1.0,
        "hours" | "hour" => 60.0,
        "seconds" | "sec" | "s" => 1.0 / 60.0,
        _ => return,
    };
    if let Some(time) = PrintedRange::printed(number) {
        record.quote("minutes", "record_time", time.scaled(minutes), &text);
    }
}

/// Parses `05/28/24` to a number that grows with time.
fn read_day(record: &mut StatedRow) {
    let Some(text) = record.text("date").map(str::to_owned) else { return };
    let parts: Option<Vec<f64>> = text.split('/').map(|part| part.parse().ok()).collect();
    if let Some([month, day, year]) = parts.as_deref() {
        let number = (year * 100.0 + month) * 100.0 + day;
        record.quote("day", "date", PrintedRange::of(number), &text);
    }
}

/// The consistency checks.
static RELATIONS: RelationTable =
    RelationTable::new("modded_nanogpt.toml", include_str!("modded_nanogpt.toml"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_metric_lines() {
        let names = |line| {
            metrics(line).map(|fields| fields.iter().map(|(name, _)| *name).collect::<Vec<_>>())
        };
        let whole = "step:5/10 val_loss:3.28 train_time:12ms step_avg:nanms";
        assert_eq!(
            names(whole),
            Some(vec!["step", "planned", "val_loss", "train_time", "step_avg"])
        );
        for line in [
            "step:{step}/{all} val_loss:{loss:.4f}",
            "  step:5/10 val_loss:3.28",
            "step:5/10 train_time:12",
            "step:5/10",
            "step:5 val_loss:3.28",
            "step:5/10 and more words",
        ] {
            assert_eq!(names(line), None, "{line}");
        }
    }

    #[test]
    fn records_are_minutes_whatever_their_unit() {
        let minutes = |text: &str| {
            let source = Arc::new(Source::new("x.md", text.as_bytes().to_vec()).unwrap());
            let mut record = StatedRow::default();
            record.print("record_time", &source, 0..text.len(), Digits::Rounded);
            read_minutes(&mut record);
            record.number("minutes").map(f64::round)
        };
        assert_eq!(minutes("5.8 hours"), Some(348.0));
        assert_eq!(minutes("45 minutes"), Some(45.0));
        assert_eq!(minutes("90 seconds"), Some(2.0));
        assert_eq!(minutes("soon"), None);
    }
}
