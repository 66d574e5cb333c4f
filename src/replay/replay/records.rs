//! The records of a run, held against the steps of a slice.
//!
//! A record of ours has the numbers of its step. Other trainers log what is convenient: means since the record before, the
//! learning rate of the step to come, numbers that are rounded. So each column of theirs is read in each of these ways, and
//! agrees where one of them fits every record. A column that fits in none is told, and decides nothing: what a trainer
//! averages is its own affair, and is written down nowhere.

use std::collections::BTreeSet;
use std::ops::Range;

use super::step::Step;
use crate::schedule::LearningRateSchedule;
use crate::{Regime, narrow};
use repro_bundle::bundle::{Bundle, CONFIG, METRICS};
use repro_core::columns;
use repro_core::source::{Error, Kind, Location, Node};
use repro_model::replay::{OTHER_RUN, RecordsReport, ReplayComparison};

/// The columns that are compared, and what else every record has.
const COLUMNS: [&str; 4] = ["loss", "grad_norm", "lr", "tokens"];
const OF_RECORDS: [&str; 2] = ["chain", "step"];
/// So many others are named.
const NAMED: usize = 8;
/// Decimals from which on a column is taken as unrounded.
const UNROUNDED: i32 = 7;
/// The largest share of a number that its rounding may be.
const LEAST_DIGITS: f64 = 0.02;
/// So far apart are rates of one schedule that two programs compute.
const SCHEDULED: f64 = 1e-6;
/// How far ratios of one factor are apart by the rounding of both numbers to float32,
const SCALED: f64 = 2e-6;
/// how many of them show a factor,
const FEWEST_SCALED: usize = 3;
/// and how near one is to a factor that trainers use.
const USUAL: f64 = 1e-3;
/// So many equal numbers show that a column under an unknown name is one that is compared, and this share of all.
const FEWEST_EQUAL: usize = 3;
const MOST_EQUAL: f64 = 0.6;
/// The distance of float32 from 1 to the next number.
const UNIT: f64 = f32::EPSILON as f64;

/// A number of a slice that is another in the records of its run.
#[derive(Debug, Clone)]
pub struct Contradiction {
    /// The slice.
    pub place: Location,
    /// The recorded value.
    pub expected: String,
    /// The value in the slice.
    pub found: String,
    /// Whether no number of several records agrees: the slice then looks like one of another run.
    pub total: bool,
}

impl Contradiction {
    /// The refusal of a slice that agrees with no record of the run.
    pub fn of_another_run(&self) -> Error {
        OTHER_RUN.at(self.place.clone(), self.expected.as_str(), self.found.as_str())
    }
}

/// How the records of a run agree with a slice.
#[derive(Debug, Clone, Default)]
pub struct RecordsFound {
    /// For the report.
    pub report: RecordsReport,
    /// Where records and slice of our own trainer contradict each other.
    pub contradiction: Option<Contradiction>,
}

/// The possible readings of a record's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// That of its step.
    Step,
    /// That of the step after it.
    Next,
    /// That of the step before it.
    Before,
    /// The mean of all steps since the record before.
    Mean,
}

const READINGS: [Reading; 4] = [Reading::Step, Reading::Mean, Reading::Next, Reading::Before];

impl Reading {
    fn words(self) -> &'static str {
        match self {
            Self::Step => "",
            Self::Next => ", of the next step",
            Self::Before => ", of the previous step",
            Self::Mean => ", means since the previous record",
        }
    }
}

/// A column of the records.
#[derive(Clone)]
struct Column {
    /// Its name in the log.
    name: String,
    /// Of each record, its step, that of the record before it, and the number.
    rows: Vec<(u64, u64, f64)>,
    /// Half of what one step of the last printed digit is worth.
    half: f64,
    /// How far a number may be off, relative to it, because it was added up in float32.
    narrow: f64,
}

impl Column {
    fn read(records: &[Node<'_>], name: &str) -> Result<Self, Error> {
        let (mut rows, mut decimals, mut before) = (Vec::new(), 0, 0);
        for record in records {
            let step = record.required("step")?.integer()?;
            if let Some(node) = record.get(name)
                && let Ok(value) = node.float()
            {
                decimals = decimals.max(decimals_of(node.printed()?));
                rows.push((step, before, value));
                before = step;
            }
        }
        let half = if decimals < UNROUNDED { half_of_last(decimals) } else { 0.0 };
        Ok(Self { name: name.to_owned(), rows, half, narrow: 0.0 })
    }

    /// The value for a record from the steps in one reading; nothing if that lies outside the slice.
    fn said(
        reading: Reading,
        (step, before): (u64, u64),
        value: &dyn Fn(u64) -> Option<f64>,
    ) -> Option<f64> {
        match reading {
            Reading::Step => value(step),
            Reading::Next => value(step + 1),
            Reading::Before => value(step.checked_sub(1)?),
            Reading::Mean => {
                let steps = (before + 1..=step).map(value).collect::<Option<Vec<_>>>()?;
                (steps.len() > 1).then(|| steps.iter().sum::<f64>() / steps.len() as f64)
            }
        }
    }

    /// Whether a reading fits every record.
    fn is_read(&self, value: &dyn Fn(u64) -> Option<f64>) -> bool {
        READINGS
            .iter()
            .map(|reading| self.fits(*reading, value))
            .any(|(fits, other)| fits > 0 && other == 0)
    }

    /// Whether a number has enough digits to be compared.
    fn tells(&self, (.., recorded): &(u64, u64, f64)) -> bool {
        self.half <= LEAST_DIGITS * recorded.abs() || self.half == 0.0
    }

    /// The first record that may be a mean with steps before those that are known.
    fn beyond(&self, value: &dyn Fn(u64) -> Option<f64>) -> Option<u64> {
        let is_partly = |(step, before, _): &&(u64, u64, f64)| {
            value(*step).is_some() && value(before + 1).is_none()
        };
        self.rows.iter().find(is_partly).map(|(step, ..)| *step)
    }

    /// How many records fit in a reading, and how many do not.
    fn fits(&self, reading: Reading, value: &dyn Fn(u64) -> Option<f64>) -> (usize, usize) {
        let fits = |(step, before, recorded): &(u64, u64, f64)| {
            let said = Self::said(reading, (*step, *before), value)?;
            Some((recorded - said).abs() <= self.half + (2.0 * UNIT + self.narrow) * said.abs())
        };
        let all: Vec<bool> =
            self.rows.iter().filter(|row| self.tells(row)).filter_map(fits).collect();
        let fitting = all.iter().filter(|fits| **fits).count();
        (fitting, all.len() - fitting)
    }

    /// Whether each record lies between the record before and the steps since, as averages over time do, however they weigh.
    fn may_be_smoothed(&self, value: &dyn Fn(u64) -> Option<f64>) -> bool {
        let mut before = None;
        self.rows.iter().all(|(step, last, recorded)| {
            let known = before.replace(*recorded);
            let since = (last + 1..=*step).map(value).collect::<Option<Vec<_>>>();
            let (Some(known), Some(since)) = (known, since) else { return true };
            let room = self.half + 2.0 * UNIT * recorded.abs();
            let all = || since.iter().copied().chain([known]);
            let (low, high) =
                (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
            (low - room..=high + room).contains(recorded)
        })
    }

    /// The constant factor of all numbers in a reading: nothing where there are too few, and where trainers multiply so
    /// themselves, by whole numbers and their reciprocals (parts of a batch, machines, scales of the loss) or into bits.
    fn factor(&self, value: &dyn Fn(u64) -> Option<f64>) -> Option<(f64, usize)> {
        let of = |reading: &Reading| {
            let ratio = |(step, before, recorded): &(u64, u64, f64)| {
                let said = Self::said(*reading, (*step, *before), value)?;
                (said != 0.0).then(|| (recorded / said, self.half / said.abs() + SCALED))
            };
            let ratios: Vec<(f64, f64)> = self.rows.iter().filter_map(ratio).collect();
            let (factor, _) = *ratios.first()?;
            let is_one = |(ratio, room): &(f64, f64)| {
                (ratio - factor).abs() <= 2.0 * room * factor.abs().max(1.0)
            };
            (ratios.len() >= FEWEST_SCALED && ratios.iter().all(is_one))
                .then_some((factor, ratios.len()))
        };
        let is_usual = |(factor, _): &(f64, usize)| {
            let is_whole = |of: f64| (of - of.round()).abs() <= USUAL * of.abs();
            let bits = std::f64::consts::LN_2;
            *factor <= 0.0
                || is_whole(*factor)
                || is_whole(factor.recip())
                || [*factor, factor.recip()].iter().any(|of| (of - bits).abs() <= USUAL)
        };
        [Reading::Step, Reading::Mean].iter().find_map(of).filter(|found| !is_usual(found))
    }
}

/// How far the norm of all gradients of a run may be off, relative to it, where another program adds up their squares in
/// float32: each may be lost in its sum. So much is no norm at all for large models, of which a hundredth is told apart.
fn lost_at_most(bundle: &Bundle) -> f64 {
    let counts = bundle.document(CONFIG).and_then(repro_model::params::recompute);
    let all = counts.map_or(0, |counts| counts.total());
    (narrow::rounding(all) + 0.5 * all as f64 * 0.5 * UNIT / narrow::LANES as f64).min(0.01)
}

/// Half of what one step of the last of so many decimals is worth.
fn half_of_last(decimals: i32) -> f64 {
    format!("5e{}", -decimals - 1).parse().unwrap_or(0.0)
}

/// The decimals that a number is printed with.
fn decimals_of(printed: &str) -> i32 {
    let (digits, exponent) = printed.split_once(['e', 'E']).unwrap_or((printed, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    decimals - exponent.parse::<i32>().unwrap_or(0)
}

/// The columns that we do not name.
fn unknown<'r>(records: &[Node<'r>]) -> Result<BTreeSet<&'r str>, Error> {
    let mut unknown = BTreeSet::new();
    for record in records {
        let names = record.members()?.map(|(name, _)| name);
        unknown.extend(names.filter(|name| !COLUMNS.contains(name) && !OF_RECORDS.contains(name)));
    }
    Ok(unknown)
}

/// Whether a column under another name than ours is compared.
fn is_compared(name: &str) -> bool {
    columns::column_of(name).is_some_and(|ours| COLUMNS.contains(&ours))
}

/// The rates that a config says, in it or in a table of it.
fn declared_rates(config: Node<'_>) -> Vec<(String, f64)> {
    let known: Vec<&str> = columns::setting_names("lr").collect();
    let rates = |node: Node<'_>| -> Vec<(String, f64)> {
        let members = node.members().into_iter().flatten();
        let named = members.filter(|(name, _)| known.contains(&columns::plain(name).as_str()));
        let number = |(name, node): (&str, Node<'_>)| {
            let is_number = matches!(node.value().kind, Kind::Number(_));
            is_number.then(|| Some((name.to_owned(), node.float().ok()?)))?
        };
        named.filter_map(number).collect()
    };
    let tables = config.members().into_iter().flatten().map(|(_, node)| node);
    let tables = tables.filter(|node| node.members().is_ok());
    rates(config).into_iter().chain(tables.flat_map(rates)).collect()
}

impl RecordsFound {
    /// Of a slice after `from` steps.
    pub fn of(
        bundle: &Bundle,
        place: &Location,
        (from, steps): (u64, &[Step]),
        regime: &Regime,
        comparison: ReplayComparison,
    ) -> Result<Self, Error> {
        let mut found = Self::default();
        if !bundle.documents().any(|name| name == METRICS) {
            found.report.open.push("the bundle has no records".to_owned());
            return Ok(found);
        }
        let document = bundle.document(METRICS)?;
        let records: Vec<_> = document.root().items()?.collect();
        found.ends(&records, regime.shape.steps)?;
        found.passed_over(&records)?;
        let of = |number: u64| steps.get(usize::try_from(number.checked_sub(from + 1)?).ok()?);
        let per_step = regime.shape.tokens_per_step();
        let within = |number: u64| of(number).map(|_| number);
        type Value<'v> = Box<dyn Fn(u64) -> Option<f64> + 'v>;
        let columns: [(&'static str, Value<'_>); COLUMNS.len()] = [
            ("loss", Box::new(|number| of(number)?.loss)),
            ("grad_norm", Box::new(|number| of(number)?.norm)),
            ("lr", Box::new(|number| Some(f64::from(regime.rates.first(within(number)? - 1))))),
            ("tokens", Box::new(|number| Some((within(number)? * per_step) as f64))),
        ];
        let (mut agreeing, mut tested) = (0, 0);
        for (name, value) in &columns {
            let column = Column::read(&records, name)?;
            let narrow = if *name == "grad_norm" { lost_at_most(bundle) } else { 0.0 };
            let column = Column { narrow, ..column };
            if comparison == ReplayComparison::Bitwise {
                let (fitting, differing) = found.exact(&column, place, value);
                (agreeing, tested) = (agreeing + fitting, tested + fitting + differing);
            } else if *name == "loss" && !regime.loss_scales.is_empty() && !column.is_read(value) {
                // What was backpropagated.
                let scaled = |number: u64| {
                    let at = usize::try_from(number.checked_sub(from + 1)?).ok()?;
                    Some(value(number)? * regime.loss_scales.get(at)?)
                };
                found.read(&column, &scaled);
            } else if *name == "lr" {
                // Of several groups a log has one.
                let rate = |number: u64, group: usize| {
                    let rates = regime.rates.of(within(number)? - 1);
                    rates.get(group).copied().map(f64::from)
                };
                let groups = 0..regime.optimizer.groups.len().max(1);
                let read = groups.into_iter().find(|group| column.is_read(&|at| rate(at, *group)));
                found.read(&column, &|at| rate(at, read.unwrap_or(0)));
            } else if *name != "loss" || !found.is_multiplied(&column, place, value) {
                found.read(&column, value);
            }
            if comparison == ReplayComparison::Calibrated {
                found.under_other_names(&records, name, place, value)?;
            }
        }
        if let Some(contradiction) = &mut found.contradiction {
            contradiction.total = agreeing == 0 && tested > 2;
        }
        Ok(found)
    }

    /// Says where records end before the last step of the config, or after it: what no record reaches may not have been made.
    fn ends(&mut self, records: &[Node<'_>], steps: u64) -> Result<(), Error> {
        let Some(last) = records.last() else { return Ok(()) };
        let last = last.required("step")?.integer()?;
        if last != steps {
            self.report.open.push(format!("the records end at step {last}; `steps` is {steps}"));
        }
        Ok(())
    }

    /// Names columns of which nothing is known, and what is no number in those that are; and steps that are recorded again.
    fn passed_over(&mut self, records: &[Node<'_>]) -> Result<(), Error> {
        let unknown: BTreeSet<&str> =
            unknown(records)?.into_iter().filter(|name| !is_compared(name)).collect();
        let (mut odd, mut before, mut again) = (BTreeSet::new(), None, None);
        for record in records {
            for (name, node) in record.members()? {
                if COLUMNS.contains(&name) && node.float().is_err() {
                    odd.insert(name);
                }
            }
            let step = record.required("step")?.integer()?;
            if before.is_some_and(|before| step <= before) {
                again.get_or_insert(step);
            }
            before = Some(step);
        }
        let listed = |names: &BTreeSet<&str>| {
            let shown: Vec<_> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
            shown.join(", ")
        };
        if !unknown.is_empty() {
            self.report.open.push(format!("columns not compared: {}", listed(&unknown)));
        }
        if !odd.is_empty() {
            self.report.open.push(format!("{} are not numbers in every record", listed(&odd)));
        }
        if let Some(step) = again {
            self.report.open.push(format!("step {step} is recorded again after a later step"));
        }
        Ok(())
    }

    /// Holds a column of ours against the steps: the same float32 numbers.
    fn exact(
        &mut self,
        column: &Column,
        place: &Location,
        value: &dyn Fn(u64) -> Option<f64>,
    ) -> (usize, usize) {
        let (mut fitting, mut differing) = (0, 0);
        for (step, _, recorded) in &column.rows {
            let Some(said) = value(*step) else { continue };
            // A record may have more digits than a slice.
            if *recorded as f32 == said as f32 {
                fitting += 1;
                continue;
            }
            differing += 1;
            let name = &column.name;
            self.contradiction.get_or_insert_with(|| Contradiction {
                place: place.clone(),
                expected: format!("the recorded {name} of step {step}, {recorded}"),
                found: said.to_string(),
                total: false,
            });
        }
        self.agrees(&column.name, fitting, Reading::Step);
        (fitting, differing)
    }

    /// Holds columns against the steps that others call otherwise than we do: by their names, and by what they hold.
    fn under_other_names(
        &mut self,
        records: &[Node<'_>],
        ours: &str,
        place: &Location,
        value: &dyn Fn(u64) -> Option<f64>,
    ) -> Result<(), Error> {
        for name in unknown(records)? {
            let column = Column::read(records, name)?;
            let is_named = columns::column_of(name) == Some(ours);
            if is_named && ours == "loss" && self.is_multiplied(&column, place, value) {
                continue;
            }
            if is_named
                && (column.is_read(value) || ours == "loss" && !column.may_be_smoothed(value))
            {
                self.read(&column, value);
            } else if is_named {
                // A smoothed loss, the norm after clipping, the rate of another group: a name promises less than ours.
                self.report.open.push(format!("`{name}` is not the {ours} of each step"));
            } else if ours == "loss" {
                self.edited(&column, value);
            }
        }
        Ok(())
    }

    /// Whether a column is the loss of the steps times a constant that no trainer uses, which contradicts the slice.
    fn is_multiplied(
        &mut self,
        column: &Column,
        place: &Location,
        value: &dyn Fn(u64) -> Option<f64>,
    ) -> bool {
        let Some((factor, count)) = column.factor(value).filter(|_| !column.is_read(value)) else {
            return false;
        };
        self.contradiction.get_or_insert_with(|| Contradiction {
            place: place.clone(),
            expected: format!("the loss of the steps in the records' `{}`", column.name),
            found: format!("{factor:.4} times the loss in {count} records"),
            total: false,
        });
        true
    }

    /// Tells where a column under an unknown name holds the losses of the steps, and other numbers in some records.
    fn edited(&mut self, column: &Column, value: &dyn Fn(u64) -> Option<f64>) {
        let (fitting, differing) = column.fits(Reading::Step, value);
        let share = fitting as f64 / (fitting + differing).max(1) as f64;
        let first = column.rows.iter().find_map(|row| {
            let one = Column { rows: vec![*row], ..column.clone() };
            (one.fits(Reading::Step, value).1 > 0).then_some((row.0, row.2, value(row.0)?))
        });
        if fitting < FEWEST_EQUAL || share < MOST_EQUAL || column.half > 0.0 {
            return;
        }
        let name = &column.name;
        match first {
            None => self.report.agreeing.push(format!("`{name}` ({fitting}, the loss)")),
            Some((step, recorded, said)) => self.report.differing.push(format!(
                "`{name}` equals the loss in {fitting} records and differs in {differing}: {recorded} in the record of step {step}, {said} in \
                 the step"
            )),
        }
    }

    /// Holds the rates that a slice states against the rates of the config, where that has no schedule that is computed here:
    /// a rate that is above all of them is none of theirs. One below may follow from a schedule.
    pub fn below_peak(&mut self, config: Node<'_>, steps: Range<u64>, stated: &Regime) {
        let said = declared_rates(config);
        let Some(peak) = said.iter().map(|(_, rate)| *rate).reduce(f64::max) else { return };
        let lowest = steps.filter_map(|step| {
            let rates = stated.rates.of(step);
            rates.into_iter().map(f64::from).reduce(f64::min).map(|rate| (step, rate))
        });
        let most = lowest.reduce(|known, one| if one.1 > known.1 { one } else { known });
        let Some((step, rate)) = most.filter(|(_, rate)| *rate > peak * (1.0 + SCHEDULED)) else {
            return;
        };
        let names: Vec<_> = said.iter().map(|(name, rate)| format!("`{name}` is {rate}")).collect();
        self.report.differing.push(format!(
            "the slice states the learning rate {} for step {}, larger than any in the config: {}",
            rate as f32,
            step + 1,
            names.join(", ")
        ));
    }

    /// Holds the rates that a slice states against the schedule of the config.
    pub fn scheduled(
        &mut self,
        steps: Range<u64>,
        declared: Result<LearningRateSchedule, Error>,
        stated: &Regime,
    ) {
        let declared = match declared {
            Ok(declared) => declared,
            Err(why) => {
                let told = format!(
                    "the config's schedule cannot be computed: expected {}, found {}",
                    why.expected, why.found
                );
                return self.report.open.push(told);
            }
        };
        let count = steps.end - steps.start;
        let other = steps.into_iter().find_map(|step| {
            let (said, made) = (declared.rate(step), stated.rates.first(step));
            let apart = f64::from((said - made).abs());
            (apart > SCHEDULED * f64::from(said.max(made))).then_some((step, said, made))
        });
        match other {
            None => self.report.agreeing.push(format!("the config's schedule ({count})")),
            Some((step, said, made)) => self.report.differing.push(format!(
                "the config's schedule gives the learning rate {said} for step {}, the slice states {made}",
                step + 1
            )),
        }
    }

    /// Tries to read a column of another trainer.
    fn read(&mut self, column: &Column, value: &dyn Fn(u64) -> Option<f64>) {
        let of = |reading: &Reading| (*reading, column.fits(*reading, value));
        let all: Vec<_> = READINGS.iter().map(of).collect();
        // The plainest reading is the likeliest.
        let fitting = all.iter().find(|(_, (fitting, differing))| *fitting > 0 && *differing == 0);
        if let Some((reading, (count, _))) = fitting {
            return self.agrees(&column.name, *count, *reading);
        }
        let name = &column.name;
        if column.rows.iter().any(|row| value(row.0).is_some() && !column.tells(row)) {
            return self.report.open.push(format!("`{name}` is rounded too coarsely to compare"));
        }
        let other = |row: &&(u64, u64, f64)| {
            let one = Column { rows: vec![**row], ..column.clone() };
            one.fits(Reading::Step, value).1 > 0
        };
        let first = column.rows.iter().find(other).and_then(|(step, _, recorded)| {
            Some(format!("{recorded} in the record of step {step}, {} in the step", value(*step)?))
        });
        let is_mean =
            all.iter().any(|(reading, tried)| *reading == Reading::Mean && *tried != (0, 0));
        if let Some(step) = column.beyond(value).filter(|_| first.is_some() && !is_mean) {
            self.report.open.push(format!(
                "`{name}` in the record of step {step} may be a mean that includes steps before the slice"
            ));
        } else if let Some(first) = first {
            self.report.differing.push(format!("`{name}` matches in no known reading: {first}"));
        } else if !column.rows.is_empty() {
            self.report.open.push(format!("no `{name}` was recorded for these steps"));
        }
    }

    fn agrees(&mut self, name: &str, count: usize, reading: Reading) {
        if count > 0 {
            self.report.agreeing.push(format!("`{name}` ({count}{})", reading.words()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(half: f64, rows: &[(u64, u64, f64)]) -> Column {
        Column { name: "loss".to_owned(), rows: rows.to_vec(), half, narrow: 0.0 }
    }

    fn read(column: &Column) -> RecordsReport {
        let mut found = RecordsFound::default();
        let losses = [4.0, 3.0, 2.5, 2.25];
        found.read(column, &|step| {
            losses.get(usize::try_from(step.checked_sub(11)?).ok()?).copied()
        });
        found.report
    }

    #[test]
    fn columns_are_read_as_other_trainers_write_them() {
        for (half, rows, words) in [
            (0.0, vec![(11, 10, 4.0), (12, 11, 3.0)], "`loss` (2)"),
            (
                0.0,
                vec![(10, 8, 9.0), (12, 10, 3.5), (14, 12, 2.375)],
                "`loss` (2, means since the previous record)",
            ),
            (0.05, vec![(12, 10, 3.04)], "`loss` (1)"),
            (0.0, vec![(10, 8, 4.0), (12, 10, 2.5)], "`loss` (2, of the next step)"),
        ] {
            assert_eq!(read(&column(half, &rows)).agreeing, [words]);
        }
        let other = read(&column(0.0, &[(12, 11, 2.9)]));
        let told =
            "`loss` matches in no known reading: 2.9 in the record of step 12, 3 in the step";
        assert_eq!((other.agreeing.len(), other.differing), (0, vec![told.to_owned()]));
        let none = read(&column(0.0, &[(30, 20, 2.9)]));
        assert_eq!(none.open, ["no `loss` was recorded for these steps"]);
        // The mean of a step before the slice and its first one may be anything.
        let partly = read(&column(0.0, &[(9, 7, 9.0), (11, 9, 4.5)]));
        let told =
            "`loss` in the record of step 11 may be a mean that includes steps before the slice";
        assert_eq!((partly.differing.len(), partly.open), (0, vec![told.to_owned()]));
        // Not where another record shows that this column has no means.
        let whole = read(&column(0.0, &[(11, 9, 4.5), (13, 11, 9.0)]));
        assert_eq!((whole.differing.len(), whole.open.len()), (1, 0));
    }

    #[test]
    fn a_constant_factor_is_found_unless_trainers_use_it() {
        let losses = [4.0, 3.1, 2.5];
        let value = |step: u64| losses.get(usize::try_from(step.checked_sub(11)?).ok()?).copied();
        let scaled = |factor: f64| {
            let rows: Vec<_> =
                losses.iter().zip(11..).map(|(loss, at)| (at, at - 1, factor * loss)).collect();
            column(0.0, &rows).factor(&value).map(|(factor, _)| factor)
        };
        assert_eq!(scaled(0.9), Some(0.9));
        // As it is, a part of a batch, a sum over parts, bits.
        for usual in [1.0, 0.125, 8.0, 1.0 / std::f64::consts::LN_2] {
            assert_eq!(scaled(usual), None, "{usual}");
        }
        // Two records are too few, and an average has no factor.
        assert_eq!(column(0.0, &[(11, 10, 3.6), (12, 11, 2.79)]).factor(&value), None);
        let smoothed = column(0.0, &[(10, 9, 4.2), (11, 10, 4.1), (12, 11, 3.9), (13, 12, 3.7)]);
        assert_eq!(smoothed.factor(&value), None);
        assert!(smoothed.may_be_smoothed(&value));
        assert!(
            !column(0.0, &[(10, 9, 3.9), (11, 10, 3.6), (12, 11, 2.8)]).may_be_smoothed(&value)
        );
    }

    #[test]
    fn a_column_is_known_by_what_it_holds() {
        let losses = [4.0, 3.125, 2.5, 2.25, 2.0];
        let value = |step: u64| losses.get(usize::try_from(step.checked_sub(11)?).ok()?).copied();
        let told = |last: f64| {
            let mut rows: Vec<_> =
                losses.iter().zip(11..).map(|(loss, at)| (at, at - 1, *loss)).collect();
            rows.last_mut().unwrap().2 = last;
            let mut found = RecordsFound::default();
            found.edited(&Column { name: "objective".to_owned(), ..column(0.0, &rows) }, &value);
            (found.report.agreeing, found.report.differing)
        };
        assert_eq!(told(2.0), (vec!["`objective` (5, the loss)".to_owned()], Vec::new()));
        let (_, differing) = told(1.5);
        assert!(differing[0].contains("differs in 1: 1.5 in the record of step 15, 2 in the step"));
    }

    #[test]
    fn printed_decimals_are_counted() {
        assert_eq!([half_of_last(0), half_of_last(2)], [0.5, 0.005]);
        for (printed, decimals) in
            [("3", 0), ("3.25", 2), ("1e-5", 5), ("1.5e-5", 6), ("2.0E3", -2)]
        {
            assert_eq!(decimals_of(printed), decimals, "{printed}");
        }
    }
}
