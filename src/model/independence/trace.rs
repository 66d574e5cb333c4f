//! The identity of a run: the digests of its states, and its noisy columns.

use std::collections::{BTreeMap, BTreeSet};

use repro_bundle::bundle::{Bundle, METRICS, STATES};
use repro_core::columns;
use repro_core::decimal::format_float;
use repro_core::source::{Kind, Node};

use super::{CERTAIN, ColumnAgreement, DOUBTFUL, Kinship, KinshipKind, Law, MeasuredColumn};

/// The folder of evaluations.
const EVALUATIONS: &str = "data/evaluation/";
/// The folder of tables from imported logs.
const PRINTED: &str = "data/printed/";
/// The field of an imported receipt with the seed from the log's path.
const SEED_IN_PATH: &str = "seed_in_path";
/// The columns that have the noise of their run, under our names,
const MEASURED: [&str; 3] = ["loss", "val_loss", "grad_norm"];
/// The columns that are kept for each bundle.
const OURS: [&str; 2] = ["loss", "grad_norm"];
/// The number of log lines that are searched for column names: evaluations may come later than losses.
const NAMED_LINES: usize = 200;
/// The digits of differences in messages.
const SHOWN_DIGITS: usize = 2;

/// The data of a run that is compared with other runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunTrace {
    /// Its name in findings, if it has one.
    pub name: String,
    /// Its stated seeds by purpose.
    pub seeds: BTreeMap<&'static str, String>,
    /// Digests of weights, by step and name: equal ones are of one run.
    weights: BTreeMap<u64, Vec<String>>,
    /// The digests of whole files of the run: its states, its records.
    files: BTreeMap<&'static str, String>,
    columns: BTreeMap<String, MeasuredColumn>,
    /// Its starting data by seed: digests of the initial weights, and batches of slices.
    given: BTreeMap<&'static str, Vec<String>>,
}

impl RunTrace {
    /// Reads a bundle. If its log is not a document, uses the kept records.
    pub fn of(bundle: &Bundle) -> Self {
        let mut trace = Self { name: bundle.name().to_owned(), ..Self::default() };
        let receipt = bundle.receipt();
        if let Some(seeds) = &receipt.seeds {
            trace.seeds.extend(seeds.init.clone().map(|seed| ("init", seed)));
            trace.seeds.extend(seeds.data.clone().map(|seed| ("data", seed)));
        }
        let of_log = receipt.extra.get(SEED_IN_PATH).and_then(|seed| seed.as_str());
        trace.seeds.extend(of_log.map(|seed| ("path", seed.to_owned())));
        // Weights at step 0 may be those that several runs began with.
        for checkpoint in receipt.checkpoints.iter().filter(|saved| saved.step > 0) {
            let digests = [checkpoint.tensors_sha256, checkpoint.weights_sha256];
            let digests = digests.into_iter().flatten().map(|digest| digest.to_string());
            trace.weights.entry(checkpoint.step).or_default().extend(digests);
        }
        let first = receipt.checkpoints.iter().filter(|saved| saved.step == 0);
        let first = first.filter_map(|saved| Some(saved.tensors_sha256?.to_string()));
        trace.given.insert("init", first.collect());
        let batches = receipt.slices.iter().flat_map(|slice| {
            let passed = bundle.passed_tensors(&slice.file);
            let batches = passed.map_or(&[][..], |passed| passed.batches.as_slice());
            let steps = slice.from_step + 1..;
            std::iter::zip(steps, batches)
                .map(|(step, batch)| format!("{step} {:x}", batch.likeness))
        });
        trace.given.insert("data", batches.collect());
        let states = receipt.states.as_ref().map(|states| (STATES, states.root.to_string()));
        trace.files.extend(states);
        let records = bundle.records().into_iter().flat_map(|records| &records.kept);
        let recorded = |of: fn(&repro_bundle::bundle::TrainingRecord) -> Option<f64>| {
            records.clone().filter_map(move |record| Some((record.step? as u64, of(record)?)))
        };
        trace.measured(&format!("`loss` in `{METRICS}`"), recorded(|record| record.loss));
        trace.measured(&format!("`grad_norm` in `{METRICS}`"), recorded(|record| record.grad_norm));
        trace.measured("the evaluation losses", evaluated(bundle));
        for (name, points) in logged_by_others(bundle) {
            trace.measured(&name, points);
        }
        trace
    }

    /// Adds a number that was measured step by step and has the noise of its run.
    pub fn measured(&mut self, name: &str, points: impl IntoIterator<Item = (u64, f64)>) {
        let column = MeasuredColumn::new(points);
        self.columns.extend(column.map(|column| (name.to_owned(), column)));
    }

    /// Whether both state seeds, and others.
    pub fn has_other_seeds(&self, other: &Self) -> bool {
        self.seeds.iter().any(|(of, seed)| other.seeds.get(of).is_some_and(|theirs| theirs != seed))
    }

    /// A description of starting data that both share although they state different seeds for it. There are honest reasons:
    /// pretrained weights, or a data order that does not depend on a seed.
    pub fn shared_beginning(&self, other: &Self) -> Option<String> {
        let shared = self.given.iter().find_map(|(of, own)| {
            let (seed, theirs) = (self.seeds.get(of)?, other.seeds.get(of)?);
            let held: BTreeSet<&String> = other.given.get(of)?.iter().collect();
            let first = own.iter().find(|one| seed != theirs && held.contains(one))?;
            Some((*of, first, seed, theirs))
        });
        let (of, first, seed, theirs) = shared?;
        let what = match of {
            "init" => "the initial weights".to_owned(),
            _ => format!("the tokens of step {}", first.split(' ').next().unwrap_or_default()),
        };
        Some(format!("{what} are the same, although the `{of}` seeds are {seed} and {theirs}"))
    }

    /// The digests alone.
    pub fn digests(self) -> Self {
        Self { columns: BTreeMap::new(), given: BTreeMap::new(), ..self }
    }

    /// The keys by which runs of a large set are paired: digests, and values of columns.
    pub(super) fn marks(&self) -> Vec<String> {
        let weights = self.weights.values().flatten().cloned();
        let courses = self.columns.iter().flat_map(|(name, column)| {
            column.marks().map(move |(step, bits)| format!("{name} {step} {bits:x}"))
        });
        weights.chain(self.files.values().cloned()).chain(courses).collect()
    }

    /// The agreement of two runs that no two seeds have; equal digests take precedence over columns.
    pub fn kinship(&self, other: &Self) -> Option<Kinship> {
        if let Some(same) = self.by_digest(other) {
            return Some(same);
        }
        let found = self.columns.iter().filter_map(|(name, column)| {
            let theirs = other.columns.get(name)?;
            let agreement = column.agreement(theirs)?;
            let kinship = told(name, &agreement, column.is_rounding_of(theirs))?;
            Some((kinship.is_refuted(), agreement.bits, kinship))
        });
        let strongest = found.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        strongest.map(|(_, _, kinship)| kinship)
    }

    /// Detects a column of this run that is the weighted mean of two other runs' columns, if chance is excluded.
    pub fn mean_of(&self, one: &Self, other: &Self) -> Option<Kinship> {
        self.columns.iter().find_map(|(name, column)| {
            let (one_column, other_column) = (one.columns.get(name)?, other.columns.get(name)?);
            let (share, found) = column.mean_of(one_column, other_column)?;
            let (of, beside) = (format_float(share, 4), format_float(1.0 - share, 4));
            let called = |of: &Self| match of.name.as_str() {
                "" => "a different run".to_owned(),
                name => format!("`{name}`"),
            };
            let evidence = format!(
                "{name}: {} of {} values are {of} times the values of {} plus {beside} times the values of {}; runs \
                 with different seeds differ from that by {} or more",
                found.follow,
                found.common,
                called(one),
                called(other),
                format_float(found.noise, SHOWN_DIGITS)
            );
            let is_certain = found.bits >= CERTAIN;
            is_certain.then_some(Kinship { kind: KinshipKind::Changed, is_certain, evidence })
        })
    }

    fn by_digest(&self, other: &Self) -> Option<Kinship> {
        let certain = |kind, evidence| Some(Kinship { kind, is_certain: true, evidence });
        for (file, digest) in &self.files {
            if other.files.get(file) == Some(digest) {
                return certain(KinshipKind::OneRun, format!("the chain of `{file}` is the same"));
            }
        }
        let is_shared = |step: &&u64| {
            let theirs = other.weights.get(step);
            self.weights
                .get(step)
                .zip(theirs)
                .is_some_and(|(own, theirs)| own.iter().any(|digest| theirs.contains(digest)))
        };
        let last = *self.weights.keys().rev().find(is_shared)?;
        let both = || self.weights.keys().filter(|step| other.weights.contains_key(step));
        let next = both().find(|step| **step > last);
        let Some(next) = next else {
            let evidence = format!("the weights after step {last} are identical");
            return certain(KinshipKind::OneRun, evidence);
        };
        let evidence = format!(
            "the weights after step {last} are identical, and those after step {next} differ"
        );
        certain(KinshipKind::SharedStart, evidence)
    }
}

/// The columns of other trainers under their own names, such as `train/loss`, and those of imported logs. Only losses and
/// norms have the noise of their run; learning rates and counts are the same in all.
fn logged_by_others(bundle: &Bundle) -> Vec<(String, Vec<(u64, f64)>)> {
    // Our own logs have no column but ours, and are not read again.
    let names = bundle.records().into_iter().flat_map(|records| &records.names);
    let has_others = names.clone().any(|name| is_measured(METRICS, name));
    let is_log = |file: &&str| (*file == METRICS && has_others) || file.starts_with(PRINTED);
    let logs = bundle.documents().filter(is_log);
    let columns = logs.filter_map(|file| {
        let root = bundle.document(file).ok()?.root();
        let lines: Vec<_> = root.items().ok()?.collect();
        let names = measured_names(file, &lines);
        let named =
            names.into_iter().map(|name| (format!("`{name}` in `{file}`"), points(&lines, name)));
        Some(named.collect::<Vec<_>>())
    });
    columns.flatten().collect()
}

/// The names of the measured columns of a log, some of which are kept for each bundle.
fn measured_names<'l>(file: &str, lines: &[Node<'l>]) -> BTreeSet<&'l str> {
    let ends = lines.iter().take(NAMED_LINES).chain(lines.last());
    let members = ends.flat_map(|line| line.members().into_iter().flatten());
    members.map(|(name, _)| name).filter(|name| is_measured(file, name)).collect()
}

/// Whether a column has the noise of its run, and is not kept of each bundle.
fn is_measured(file: &str, name: &str) -> bool {
    let is_kept = file == METRICS && OURS.contains(&name);
    columns::column_of(name).is_some_and(|of| MEASURED.contains(&of)) && !is_kept
}

/// A column by its steps. The cells of tables are texts.
fn points(lines: &[Node<'_>], name: &str) -> Vec<(u64, f64)> {
    let number = |node: Node<'_>| match &node.value().kind {
        Kind::Text(text) => text.parse::<f64>().ok(),
        _ => node.float().ok(),
    };
    let point =
        |line: &Node<'_>| Some((number(line.get("step")?)? as u64, number(line.get(name)?)?));
    lines.iter().filter_map(point).collect()
}

/// The losses of the evaluations by their steps.
fn evaluated(bundle: &Bundle) -> Vec<(u64, f64)> {
    let is_one = |name: &&String| name.starts_with(EVALUATIONS) && name.ends_with(".json");
    let loss = |name: &String| {
        let root = bundle.document(name).ok()?.root();
        let step = root.get("step")?.integer().ok()?;
        Some((step, root.get("loss")?.float().ok()?))
    };
    bundle.files().keys().filter(is_one).filter_map(loss).collect()
}

/// The kinship shown by the agreement of a column, if it is strong enough.
fn told(name: &str, found: &ColumnAgreement, is_rounded: bool) -> Option<Kinship> {
    if found.bits < DOUBTFUL {
        return None;
    }
    let short = |value: f64| format_float(value, SHOWN_DIGITS);
    let signed =
        |by: f64| format!("{} {}", if by < 0.0 { "less" } else { "plus" }, short(by.abs()));
    let rule = match found.law {
        Law::Equal if found.parts.is_none() && is_rounded => {
            "equal to the printed precision".to_owned()
        }
        Law::Equal => "equal".to_owned(),
        Law::Shifted(by) if found.has_rule => format!("the values of the first run {}", signed(by)),
        Law::Drifting => format!(
            "the values of the first run plus a slow drift; relative to their neighbors they differ by {}",
            short(found.residual)
        ),
        Law::Shifted(by) => {
            format!(
                "within {} of the values of the first run {}",
                short(found.residual),
                signed(by)
            )
        }
        Law::Scaled(factor) => {
            format!("the values of the first run times {}", format_float(factor, 4))
        }
        Law::Affine(factor, by) => {
            format!("the values of the first run times {} {}", format_float(factor, 4), signed(by))
        }
    };
    let honest = format!("runs with different seeds differ by {} or more", short(found.noise));
    let (kind, evidence) = match found.parts {
        Some((last, next)) => {
            let words = format!(
                "{name}: {} values are equal up to step {last}, and differ from step {next}; {honest}",
                found.follow
            );
            (KinshipKind::SharedStart, words)
        }
        None => {
            let moved = match found.moved {
                0 => String::new(),
                by => format!(" at steps that differ by {}", by.abs()),
            };
            let words = format!(
                "{name}: {} of {} common values{moved} are {rule}; {honest}",
                found.follow, found.common
            );
            let is_same = matches!(found.law, Law::Equal) && found.follow == found.common;
            (if is_same { KinshipKind::OneRun } else { KinshipKind::Changed }, words)
        }
    };
    Some(Kinship { kind, is_certain: found.has_rule && found.bits >= CERTAIN, evidence })
}

#[cfg(test)]
mod tests {
    use super::super::{MOST_COMPARED, related};
    use super::*;

    fn with_weights(digests: &[(u64, &str)]) -> RunTrace {
        let weights = digests.iter().map(|(step, digest)| (*step, vec![(*digest).to_owned()]));
        RunTrace { weights: weights.collect(), ..RunTrace::default() }
    }

    #[test]
    fn equal_weights_at_the_end_are_of_one_run_and_earlier_ones_of_one_parent() {
        let run = with_weights(&[(100, "a"), (200, "b")]);
        let copy = run.kinship(&with_weights(&[(100, "x"), (200, "b")])).unwrap();
        assert!(copy.is_refuted(), "{copy:?}");
        let sibling = run.kinship(&with_weights(&[(100, "a"), (200, "c")])).unwrap();
        assert_eq!(sibling.kind, KinshipKind::SharedStart);
        assert!(sibling.evidence.contains("after step 100"), "{sibling:?}");
        assert_eq!(run.kinship(&with_weights(&[(100, "x"), (200, "y")])), None);
        assert_eq!(run.kinship(&with_weights(&[(300, "b")])), None);
    }

    #[test]
    fn copies_are_found_among_very_many_runs() {
        let count = MOST_COMPARED + 10;
        let name = |at: usize| format!("weights {at}");
        let mut runs: Vec<_> =
            (0..count).map(|at| with_weights(&[(5, name(at).as_str())])).collect();
        runs.push(with_weights(&[(5, name(7).as_str())]));
        let runs: Vec<&RunTrace> = runs.iter().collect();
        let found = related(&runs);
        assert_eq!(
            found.iter().map(|one| (one.first, one.second)).collect::<Vec<_>>(),
            [(7, count)]
        );
    }

    #[test]
    fn a_copy_whose_steps_are_doubled_is_found() {
        let loss = |at: u64| 3.0 / (at as f64).sqrt() + (at * at * 7919 % 1013) as f64 * 1e-4;
        let run = |factor: u64| {
            let mut trace = RunTrace::default();
            trace.measured("loss", (1..=40).map(|at| (at * factor, loss(at))));
            trace
        };
        let copy = run(1).kinship(&run(2)).unwrap();
        assert!(copy.is_refuted(), "{copy:?}");
    }

    #[test]
    fn what_runs_of_other_seeds_began_with_is_told() {
        let run = |seed: &str, given: &str| RunTrace {
            seeds: BTreeMap::from([("init", seed.to_owned())]),
            given: BTreeMap::from([("init", vec![given.to_owned()])]),
            ..RunTrace::default()
        };
        let told = run("1", "a").shared_beginning(&run("2", "a")).unwrap();
        assert!(told.contains("seeds are 1 and 2"), "{told}");
        assert_eq!(run("1", "a").shared_beginning(&run("1", "a")), None);
        assert_eq!(run("1", "a").shared_beginning(&run("2", "b")), None);
    }

    #[test]
    fn only_seeds_that_both_state_differ() {
        let stated = |seeds: &[(&'static str, &str)]| RunTrace {
            seeds: seeds.iter().map(|(of, seed)| (*of, (*seed).to_owned())).collect(),
            ..RunTrace::default()
        };
        let run = stated(&[("init", "1"), ("data", "2")]);
        assert!(run.has_other_seeds(&stated(&[("init", "1"), ("data", "3")])));
        assert!(!run.has_other_seeds(&stated(&[("init", "1")])));
        assert!(!run.has_other_seeds(&stated(&[])));
    }
}
