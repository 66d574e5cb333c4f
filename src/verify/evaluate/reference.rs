//! From names of evidence to what is there.
//!
//! In a transcribed bundle the way leads along the names of its facts; in a file along its keys; in a
//! run's bundle first to what it recorded, then to its configuration.

use std::rc::Rc;

use repro_bundle::bundle::{Bundle, CONFIG, FACTS, Origin, RECEIPT};
use repro_claim::locator::Locator;
use repro_core::decimal::{Printed, Unit, nearest_f64};
use repro_core::similar::did_you_mean;
use repro_core::source::{Document, Error, Kind, Location, Node, escape};
use repro_report::outcome::{EvidenceOrigin, EvidenceRef};

use super::{Evaluator, Frame, NO_FIELD, READING, UNREADABLE_VALUE, WRONG_KIND};
use crate::library::evidence_ref;
use crate::post::UNKNOWN_BUNDLE;
use crate::value::{
    BestOf, Evaluated, EvidencePath, EvidenceWords, Leaf, LeafKind, Quantity, RunSample,
};

/// The fields of a receipt that are fixed before the run, or counted; other fields may have been measured.
const SETTLED_IN_RECEIPTS: [&str; 6] = ["contract", "data", "environment", "model", "run", "seeds"];

/// The bundles that a name stands for.
pub fn open<'a>(
    evaluator: &Evaluator<'a>,
    locator: &Locator,
    place: &Location,
) -> Result<EvidencePath<'a>, Error> {
    let bundles = locator.bundles.iter().map(|name| {
        evaluator.library().bundle(name).ok_or_else(|| {
            UNKNOWN_BUNDLE.at(place.clone(), "a bundle of `receipts/`", format!("`{name}`"))
        })
    });
    Ok(EvidencePath {
        bundles: bundles.collect::<Result<_, _>>()?,
        is_group: locator.is_group,
        file: locator.file.clone(),
        path: locator.path.clone(),
        step: None,
        best: None,
    })
}

/// The way into a document as a JSON pointer.
pub fn pointer(path: &[String]) -> String {
    path.iter().map(|key| format!("/{}", escape(key))).collect()
}

/// The way into an evaluation, by the names that it has for its fields.
pub fn as_recorded(path: &[String]) -> Vec<String> {
    let mut path = path.to_vec();
    if let Some(first) = path.first_mut().filter(|first| *first == "val_loss") {
        *first = "loss".to_owned();
    }
    path
}

/// The value at a location: a number, words, or one number per run of a group.
pub fn read<'a>(
    frame: Frame<'_, 'a>,
    reference: &EvidencePath<'a>,
) -> Result<Evaluated<'a>, Error> {
    let one = |bundle| At { frame, bundle, best: reference.best }.read(reference);
    match reference.bundles.as_slice() {
        [bundle] if !reference.is_group => one(bundle),
        bundles => {
            let values = bundles.iter().map(|bundle| one(bundle)).collect::<Result<Vec<_>, _>>()?;
            group(frame, &reference.runs(), values)
        }
    }
}

/// One value of each run as a group; where each run has a list, a list of groups.
fn group<'a>(
    frame: Frame<'_, 'a>,
    runs: &[String],
    values: Vec<Evaluated<'a>>,
) -> Result<Evaluated<'a>, Error> {
    let length = values.iter().find_map(|value| match value {
        Evaluated::List(items) => Some(items.len()),
        _ => None,
    });
    let Some(length) = length else {
        // The same setting of each run, in words.
        if values.iter().all(|value| matches!(value, Evaluated::Text(_))) {
            return Ok(Evaluated::List(values));
        }
        let numbers = values.into_iter().map(|value| frame.number_of(value));
        let numbers = numbers.collect::<Result<_, _>>()?;
        return Ok(Evaluated::Sample(RunSample { runs: runs.to_vec(), numbers }));
    };
    let mut columns: Vec<Vec<Evaluated<'a>>> = (0..length).map(|_| Vec::new()).collect();
    for value in values {
        match value {
            Evaluated::List(items) if items.len() == length => {
                columns.iter_mut().zip(items).for_each(|(column, item)| column.push(item));
            }
            _ => {
                let expected = "lists of equal length in all runs";
                return Err(frame.wrong(&WRONG_KIND, expected, "others"));
            }
        }
    }
    let groups = columns.into_iter().map(|column| group(frame, runs, column));
    groups.collect::<Result<_, _>>().map(Evaluated::List)
}

/// A bundle and the part of an expression that reads it.
struct At<'f, 'a> {
    frame: Frame<'f, 'a>,
    bundle: &'a Bundle,
    best: Option<BestOf>,
}

/// Whether a number of a receipt was measured: a fraction outside the members that are fixed or counted.
fn is_measured(node: Node<'_>, pointer: &str) -> bool {
    let is_settled = pointer
        .strip_prefix("/predicate/")
        .and_then(|rest| rest.split('/').next())
        .is_some_and(|member| SETTLED_IN_RECEIPTS.contains(&member));
    let is_fraction = node.printed().is_ok_and(|text| text.contains(['.', 'e', 'E']));
    !is_settled && matches!(node.value().kind, Kind::Number(_)) && is_fraction
}

impl<'a> At<'_, 'a> {
    fn read(&self, reference: &EvidencePath<'a>) -> Result<Evaluated<'a>, Error> {
        let EvidencePath { file, path, step, .. } = reference;
        let is_recorded = file.is_none()
            && self.bundle.origin() == Origin::Emitted
            && !path.first().is_some_and(|first| ["config", "receipt"].contains(&&**first));
        // A record of a table that was chosen as the best knows its step.
        if let (Some(step), false, None) = (step, is_recorded, self.best) {
            let expected =
                "a field that a run records at its evaluations, such as `run.loss @ 500`";
            let found = format!("step {step} of `{}`", self.bundle.name());
            return Err(self.frame.wrong(&WRONG_KIND, expected, &found));
        }
        match (file, self.bundle.origin()) {
            (Some(file), _) => self.in_file(file, path, self.step_of(file, path).or(*step)),
            (None, Origin::Transcribed) => self.fact(path),
            (None, Origin::Emitted) => self.of_run(path, *step),
        }
    }

    /// The fact whose name is the way.
    fn fact(&self, path: &[String]) -> Result<Evaluated<'a>, Error> {
        let id = path.join(".");
        let Some((index, fact)) = self.bundle.fact(&id) else {
            return Err(self.no_field(&id, self.nearby_facts(&id)));
        };
        // Read from the document, where the mutation check may have put another number.
        let node = self.document(FACTS)?.root().at(&format!("/facts/{index}/value"))?;
        self.leaf(node.printed()?, FACTS, &fact.pointer(), LeafKind::Printed, None)
    }

    /// The names of facts that go on where this one fails.
    fn nearby_facts(&self, id: &str) -> Vec<String> {
        let facts = self.bundle.facts().iter().map(|fact| fact.id.as_str());
        let mut before = id;
        loop {
            let longer = if before.is_empty() { String::new() } else { format!("{before}.") };
            let next = facts.clone().filter_map(|fact| fact.strip_prefix(longer.as_str()));
            let mut next: Vec<String> = next
                .map(|rest| format!("{longer}{}", rest.split('.').next().unwrap_or(rest)))
                .collect();
            next.dedup();
            if !next.is_empty() || before.is_empty() {
                return next;
            }
            before = before.rsplit_once('.').map_or("", |(before, _)| before);
        }
    }

    /// The step at which a run recorded a value of a file: that of the evaluation, or of the record of a log.
    fn step_of(&self, file: &str, path: &[String]) -> Option<u64> {
        if self.bundle.origin() == Origin::Transcribed {
            return None;
        }
        // The answers to the tasks are next to the losses: `step-000242.tasks.csv`.
        let belongs = |evaluation: &str| {
            let stem = evaluation.strip_suffix(".json").unwrap_or(evaluation);
            file.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'))
        };
        let checkpoints = &self.bundle.receipt().checkpoints;
        let of_evaluation = checkpoints
            .iter()
            .find(|saved| saved.evaluation.as_deref().is_some_and(belongs))
            .map(|saved| saved.step);
        let of_record = || {
            let record = path.first().filter(|_| file.ends_with(".jsonl"))?;
            let root = self.document(file).ok()?.root();
            root.at(&format!("/{record}/step")).ok()?.integer().ok()
        };
        of_evaluation.or_else(of_record)
    }

    /// A value of a file.
    fn in_file(
        &self,
        file: &str,
        path: &[String],
        recorded: Option<u64>,
    ) -> Result<Evaluated<'a>, Error> {
        let document = self.document(file)?;
        let pointer = pointer(path);
        let node = document.root().at(&pointer).map_err(|_| {
            let mut reached = document.root();
            for key in path {
                let Ok(next) = reached.at(&format!("/{}", escape(key))) else { break };
                reached = next;
            }
            let known = reached.members().into_iter().flatten().map(|(key, _)| key.to_owned());
            // What was no number when it was recorded is not there, and its earlier values are not its last one.
            let words = reached.get("not_finite");
            let word = words.and_then(|words| words.get(path.last()?)?.text().ok());
            if let Some(word) = word {
                let wanted = format!("{}, which is {word} there", path.join("."));
                return self.no_field(&wanted, Vec::new());
            }
            self.no_field(&path.join("."), known.collect())
        })?;
        // What a run writes beside its configuration and its receipt is what it recorded.
        let is_setting = self.bundle.origin() == Origin::Transcribed
            || file == CONFIG
            || file == RECEIPT && !is_measured(node, &pointer);
        let is_setting = recorded.is_none() && is_setting;
        let kind = if is_setting { LeafKind::Setting } else { LeafKind::Recorded };
        match &node.value().kind {
            Kind::Bool(truth) => self.leaf(&truth.to_string(), file, &pointer, kind, recorded),
            Kind::Array(_) => {
                let items = node.items()?.enumerate().map(|(index, item)| {
                    self.leaf(item.printed()?, file, &format!("{pointer}/{index}"), kind, recorded)
                });
                items.collect::<Result<_, _>>().map(Evaluated::List)
            }
            _ => self.leaf(node.printed()?, file, &pointer, kind, recorded),
        }
    }

    /// A recorded or configured value of a run. `loss` and its neighbours are those of an
    /// evaluation, the last one where no step is named.
    fn of_run(&self, path: &[String], step: Option<u64>) -> Result<Evaluated<'a>, Error> {
        let Some((first, rest)) = path.split_first() else {
            let known = ["loss", "config", "receipt"].map(str::to_owned);
            return Err(self.no_field("", known.to_vec()));
        };
        if first == "config" {
            return self.in_file(CONFIG, rest, None);
        }
        if first == "receipt" {
            return self.in_file(RECEIPT, &[&["predicate".to_owned()], rest].concat(), None);
        }
        let checkpoints = &self.bundle.receipt().checkpoints;
        let evaluated = checkpoints
            .iter()
            .filter_map(|saved| saved.evaluation.as_deref().map(|file| (saved.step, file)));
        let wanted = match step {
            Some(step) => evaluated.clone().find(|(saved, _)| *saved == step),
            None => evaluated.clone().max_by_key(|(saved, _)| *saved),
        };
        let Some((step, file)) = wanted else {
            let words = |step: u64| format!("step {step}");
            let asked = step.map_or("an evaluation".to_owned(), words);
            return Err(self.no_field(&asked, evaluated.map(|(step, _)| words(step)).collect()));
        };
        let value = self.in_file(file, &as_recorded(path), Some(step));
        let is_direct = rest.is_empty();
        value.map_err(|error| if is_direct { self.also_of_run(first, error) } else { error })
    }

    /// The error of a field that no evaluation has, with where else a run has fields.
    fn also_of_run(&self, wanted: &str, error: Error) -> Error {
        if error.code.id != NO_FIELD.id {
            return error;
        }
        match did_you_mean(wanted, ["config", "receipt"]) {
            Some(hint) => error.help(hint),
            None => {
                let end = if error.help.ends_with('?') { "" } else { "." };
                let help = format!("{}{end} A run also has `config` and `receipt`", error.help);
                error.help(help)
            }
        }
    }

    /// One value with its provenance.
    fn leaf(
        &self,
        text: &str,
        file: &str,
        pointer: &str,
        kind: LeafKind,
        step: Option<u64>,
    ) -> Result<Evaluated<'a>, Error> {
        let name = format!("{} {file} {pointer}", self.bundle.name());
        let key = (name, kind, step);
        if self.frame.evaluator.supposes()
            && let Some(known) = self.frame.evaluator.known.borrow().get(&key).cloned()
        {
            self.frame.evaluator.works(READING);
            return Ok(Evaluated::Number(self.frame.evaluator.as_supposed(&key.0, known)));
        }
        let evidence = self.frame.evaluator.show(self.bundle, file, pointer);
        let quote = self.bundle.fact_at(file, pointer).and_then(|fact| fact.at.quote.clone());
        let leaf = Leaf::without_place(kind, text.to_owned());
        let leaf = Leaf { evidence: Some(evidence), quote, step, best: self.best, ..leaf };
        let leaf = Rc::new(leaf);
        self.frame.evaluator.note(&leaf);
        let leaves = vec![leaf];
        let Ok(printed) = Printed::parse(text) else {
            return Ok(Evaluated::Text(EvidenceWords { text: text.to_owned(), leaves }));
        };
        if printed.bound().is_some() {
            let found = format!("\"{text}\", which is only a bound");
            return Err(self.frame.wrong(&UNREADABLE_VALUE, "a number", &found));
        }
        let per_one = printed.unit().per_one();
        let exact = kind != LeafKind::Printed
            || (printed.is_integer_text() && printed.unit() == Unit::Plain);
        let interval = if printed.approximate() {
            printed.about(&repro_core::decimal::about_tolerance())
        } else if exact {
            printed.exact()
        } else {
            printed.interval()
        };
        let (interval, float) =
            (interval.scaled(&per_one.recip()), printed.as_f64() / nearest_f64(&per_one));
        let number = Quantity {
            leaf: Some(kind),
            last_place: Some(printed.last_place() / per_one),
            leaves,
            ..Quantity::result(interval, float, text.to_owned(), [])
        };
        let supposed = self.frame.evaluator.as_supposed(&key.0, number.clone());
        self.frame.evaluator.known.borrow_mut().insert(key, number);
        Ok(Evaluated::Number(supposed))
    }

    /// A file of the bundle; an error stands at the expression.
    fn document(&self, file: &str) -> Result<&'a Document, Error> {
        self.frame.document(self.bundle, file)
    }

    fn no_field(&self, wanted: &str, known: Vec<String>) -> Error {
        let shown: Vec<_> = known.iter().take(12).map(|name| format!("`{name}`")).collect();
        let more = if known.len() > 12 { ", …" } else { "" };
        let hint = did_you_mean(wanted, known.iter().map(String::as_str));
        let expected = if shown.is_empty() || hint.is_some() {
            "a field of the evidence".to_owned()
        } else {
            format!("one of {}{more}", shown.join(", "))
        };
        let found = format!("`{wanted}` of `{}`", self.bundle.name());
        let error = self.frame.wrong(&NO_FIELD, &expected, &found);
        match hint {
            Some(hint) => error.help(hint),
            None => error,
        }
    }
}

impl Evaluator<'_> {
    /// Notes that a claim saw a piece of evidence, and says where it stands.
    pub fn show(&self, bundle: &Bundle, file: &str, pointer: &str) -> EvidenceRef {
        let evidence = evidence_ref(bundle, file, pointer);
        // A number that is moved to see whether it matters stands where it was shown before.
        if self.supposes() {
            return evidence;
        }
        let signature = self.library().signature(&self.page().id, bundle.name());
        let origin = EvidenceOrigin::from(bundle.origin());
        let is_attested = self.library().builders.contains_key(bundle.name());
        let origin = origin.vouched_for(signature, is_attested);
        self.shown.borrow_mut().push((evidence.clone(), origin));
        evidence
    }
}
