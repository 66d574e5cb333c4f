//! The read-only view of the evidence that a claim may query.
//!
//! Owns how evidence is named in post files: references (`bundle`, `file`, `pointer`, or `fact`) and
//! terms, which add formulas, parameter counts and columns of records. It remembers what it showed,
//! so that a report can say what a verdict depends on. Reading and checking bundles is left to `bundle`.

mod library;
mod lists;

use std::cell::RefCell;
use std::sync::Arc;

use jiff::civil::DateTime;
use num_rational::BigRational;

use crate::post::Post;
pub use library::Library;
use repro_exact::decimal::{Interval, Printed, Unit, format_significant, nearest_f64};
use repro_exact::formula::{Formula, FormulaValue, Operand, Precision};
use repro_params::{self as params, Convention, ParameterCount, ParameterCounts};
use repro_receipt::bundle::{Bundle, FACTS, RECEIPT};
use repro_receipt::source::{Document, Error, Node, codes};
use repro_report::outcome::{EvidenceOrigin, EvidenceRef};
use repro_runs::replay::{Extent, ReplayOutcome};
use repro_runs::study::Study;

codes! {
    NO_BUNDLE = "evidence::no-bundle", "the evidence names no bundle, and the post has no default", "name the bundle, or give the post a `default_bundle`";
    NO_FACT = "evidence::no-fact", "the bundle has no fact with this id", "correct the id; `data/facts.json` lists them";
    NOT_A_NUMBER = "evidence::not-a-number", "a value is not the required kind of number", "give that kind of number, as printed";
    UNKNOWN_FORMULA = "evidence::unknown-formula", "no formula has this name", "`repro list formulas` lists them; a new one is one entry in `src/exact/formula/registry.rs`";
    WRONG_INPUTS = "evidence::wrong-inputs", "the inputs do not match the formula", "give exactly the named inputs";
    NOT_COMPUTABLE = "evidence::not-computable", "the formula has no value for these inputs", "check the inputs: a divisor may be zero";
    BAD_CHOICE = "evidence::bad-choice", "a field has a value that is not allowed", "write what is expected";
}

/// The start of 1970, from which seconds are counted.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The evidence as one claim sees it.
#[derive(Debug)]
pub struct Evidence<'a> {
    library: &'a Library,
    post: &'a Post,
    shown: RefCell<Vec<(EvidenceRef, EvidenceOrigin)>>,
    printed: RefCell<Vec<&'a str>>,
}

/// One value of a bundle.
#[derive(Debug, Clone)]
pub struct Datum<'a> {
    /// The value.
    pub node: Node<'a>,
    /// Where it stands.
    pub evidence_ref: EvidenceRef,
}

impl<'a> Datum<'a> {
    /// Its text as printed.
    pub fn printed(&self) -> Result<&'a str, Error> {
        match &self.node.value().kind {
            repro_receipt::source::Kind::Bool(true) => Ok("true"),
            repro_receipt::source::Kind::Bool(false) => Ok("false"),
            _ => self.node.printed(),
        }
    }

    /// Whether it was typed from the very place that a claim quotes.
    pub fn is_printed_at(&self, at: Option<crate::post::At<'_>>) -> bool {
        at.is_some_and(|at| {
            self.evidence_ref.document.as_deref() == Some(at.source)
                && self.evidence_ref.printed_at.as_deref() == Some(at.place)
        })
    }
}

/// A number and how it came about.
#[derive(Debug, Clone)]
pub struct EvidenceQuantity {
    /// The label it carries in a list.
    pub label: String,
    /// Where it lies, in `unit`.
    pub interval: Interval,
    /// The nearest binary float.
    pub float: f64,
    /// The unit: shares are plain fractions, results of formulas have the formula's unit.
    pub unit: Unit,
    /// As printed, or what a formula gave.
    pub text: String,
    /// How it came about, with values in place: "(6 + 2) × 384"; empty for a plain value.
    pub derivation: String,
    /// Whether something it depends on is printed as "about", so that the default tolerance widened it.
    pub approximate: bool,
}

impl EvidenceQuantity {
    /// An exact whole number.
    pub fn count(number: u64) -> Self {
        Self::plain(Operand::computed(number.to_string(), Interval::integer(number), number as f64))
    }

    /// The one value that it stands for: what is printed, or what a formula gives for its inputs as
    /// printed, which need not be the middle of the interval.
    pub fn value(&self) -> BigRational {
        let middle = self.interval.middle();
        if self.derivation.is_empty() || self.interval.is_point() {
            return middle;
        }
        let computed = BigRational::from_float(self.float);
        computed.filter(|value| self.interval.contains(value)).unwrap_or(middle)
    }

    fn plain(operand: Operand) -> Self {
        let Operand { text, interval, float, approximate } = operand;
        Self {
            label: String::new(),
            interval,
            float,
            unit: Unit::Plain,
            text,
            derivation: String::new(),
            approximate,
        }
    }

    fn computed(value: FormulaValue, unit: Unit) -> Self {
        let FormulaValue { interval, float, text: derivation, approximate } = value;
        let (label, text) = (String::new(), String::new());
        let bare = Self { label, interval, float, unit, text, derivation, approximate };
        Self { text: format_significant(&bare.value(), 10), ..bare }
    }

    /// As the input of a formula, where shares are fractions.
    fn into_operand(self) -> Operand {
        let per_one = self.unit.per_one();
        let float = self.float / nearest_f64(&per_one);
        let text = if self.derivation.is_empty() { self.text } else { self.derivation };
        let interval = self.interval.scaled(&per_one.recip());
        Operand { approximate: self.approximate, ..Operand::computed(text, interval, float) }
    }
}

impl<'a> Evidence<'a> {
    /// The view that a claim of `post` has on `library`.
    pub fn new(library: &'a Library, post: &'a Post) -> Self {
        Self { library, post, shown: RefCell::default(), printed: RefCell::default() }
    }

    /// Everything shown so far, sorted, and the weakest origin among it.
    pub fn shown(&self) -> (Vec<EvidenceRef>, Option<EvidenceOrigin>) {
        let shown = self.shown.borrow();
        let weakest = shown.iter().map(|(_, origin)| *origin).min();
        let mut evidence_refs: Vec<_> =
            shown.iter().map(|(evidence_ref, _)| evidence_ref.clone()).collect();
        evidence_refs.sort();
        evidence_refs.dedup();
        (evidence_refs, weakest)
    }

    /// Whether one of the values shown so far is printed so.
    pub fn prints(&self, text: &str) -> bool {
        self.printed.borrow().contains(&text)
    }

    /// Follows a reference.
    pub fn datum(&self, reference: Node) -> Result<Datum<'a>, Error> {
        let bundle = self.bundle_of(reference)?;
        let (file, pointer) = match reference.get("fact") {
            Some(fact) => (FACTS, self.fact_pointer(bundle, fact)?),
            None => (self.file_of(reference)?, reference.required("pointer")?.text()?.to_owned()),
        };
        self.datum_in(bundle, file, pointer, reference)
    }

    /// The value at `pointer` of a file of a bundle; a refusal stands at `asked`.
    fn datum_in(
        &self,
        bundle: &Bundle,
        file: &str,
        pointer: String,
        asked: Node,
    ) -> Result<Datum<'a>, Error> {
        let document = self.library.document(bundle.name(), file, asked)?;
        let node = document.root().at(&pointer).map_err(|error| {
            let inside = match error.place.pointer.as_str() {
                "" => String::new(),
                pointer => format!(" at `{pointer}`"),
            };
            let found = format!("{}{inside} of `{}`", error.found, error.place.file);
            let expected = error.expected.clone();
            error.code.at(asked.place(), expected, found)
        })?;
        // However a fact is pointed at, it stays the fact that was typed from one place.
        let odd = file == FACTS && bundle.fact_at(file, &pointer).is_none();
        let evidence_ref = evidence_ref(bundle, file, &if odd { node.pointer() } else { pointer });
        self.show(bundle, evidence_ref.clone());
        self.printed.borrow_mut().extend(node.printed().ok());
        Ok(Datum { node, evidence_ref })
    }

    /// Evaluates a term: a reference, a formula over terms, or a parameter count of a model.
    pub fn quantity(&self, term: Node) -> Result<EvidenceQuantity, Error> {
        self.quantity_as(term, Precision::Auto)
    }

    /// Evaluates a term; a plain value is as exact as `nature` says, unless the term says otherwise.
    pub fn quantity_as(&self, term: Node, precision: Precision) -> Result<EvidenceQuantity, Error> {
        let label = term.get("label").map(Node::text).transpose()?.unwrap_or_default().to_owned();
        let quantity = if term.get("formula").is_some() {
            term.only(&["formula", "inputs", "label"])?;
            self.formula(term)?
        } else if let Some(model) = term.get("model") {
            term.only(&["model", "parameters", "convention", "label"])?;
            EvidenceQuantity::count(
                self.objects(model)?.count(parameters_of(term)?, convention_of(term)?),
            )
        } else if let Some(reference) = term.get("timestamp") {
            term.only(&["timestamp", "label"])?;
            self.seconds(reference)?
        } else {
            self.value(term, precision)?
        };
        Ok(EvidenceQuantity { label, ..quantity })
    }

    /// The moment that a reference leads to, `YYYY-MM-DD hh:mm:ss`.
    pub fn moment(&self, reference: Node) -> Result<DateTime, Error> {
        let text = self.datum(reference)?.printed()?;
        timestamp(text).ok_or_else(|| {
            let found = format!("`{text}`");
            BAD_CHOICE.at(reference.place(), "a timestamp `YYYY-MM-DD hh:mm:ss`", found)
        })
    }

    /// The seconds since the start of 1970 that the timestamp at a reference stands for in UTC.
    fn seconds(&self, reference: Node) -> Result<EvidenceQuantity, Error> {
        let seconds = self.moment(reference)?.duration_since(EPOCH).as_secs();
        let (text, value) = (seconds.to_string(), Interval::integer(seconds));
        Ok(EvidenceQuantity::plain(Operand::computed(text, value, seconds as f64)))
    }

    /// The number that a reference leads to.
    fn value(&self, term: Node, precision: Precision) -> Result<EvidenceQuantity, Error> {
        term.only(&["bundle", "file", "pointer", "fact", "label", "precision"])?;
        let datum = self.datum(term)?;
        number(datum.printed()?, datum.node, term, precision)
    }

    /// Evaluates the `formula` of `node` over its `inputs`.
    pub fn formula(&self, node: Node) -> Result<EvidenceQuantity, Error> {
        let name = node.required("formula")?;
        let text = name.text()?;
        let formula = Formula::find(text).ok_or_else(|| {
            UNKNOWN_FORMULA.at(name.place(), "a formula of the registry", format!("`{text}`"))
        })?;
        let inputs = node.required("inputs")?;
        let wrong = |found: String| {
            let names: Vec<_> =
                formula.inputs.iter().map(|spec| format!("`{}`", spec.name)).collect();
            WRONG_INPUTS.at(inputs.place(), format!("{} for `{text}`", names.join(", ")), found)
        };
        if let Some((key, _)) =
            inputs.members()?.find(|(key, _)| formula.inputs.iter().all(|spec| spec.name != *key))
        {
            return Err(wrong(format!("`{key}`")));
        }
        let mut operands = Vec::new();
        for spec in formula.inputs {
            let input =
                inputs.get(spec.name).ok_or_else(|| wrong(format!("no `{}`", spec.name)))?;
            let quantities = match spec.many {
                true => self.quantities_as(input, spec.precision)?,
                false => vec![self.quantity_as(input, spec.precision)?],
            };
            operands.extend(quantities.into_iter().map(EvidenceQuantity::into_operand));
        }
        let value = formula.evaluate(&operands).map_err(|error| {
            NOT_COMPUTABLE.at(
                inputs.place(),
                "inputs for which the formula has a value",
                error.to_string(),
            )
        })?;
        Ok(EvidenceQuantity::computed(value, formula.unit))
    }

    /// The parameter counts of the model whose config stands at `reference` (`bundle`, `file`).
    pub fn objects(&self, reference: Node) -> Result<Arc<ParameterCounts>, Error> {
        let bundle = self.bundle_of(reference)?;
        let file = self.file_of(reference)?;
        self.show(bundle, evidence_ref(bundle, file, ""));
        let key = (bundle.name().to_owned(), file.to_owned());
        if let Some(objects) = self.library.counted().get(&key) {
            return Ok(Arc::clone(objects));
        }
        let document = self.library.document(bundle.name(), file, reference)?;
        let objects = Arc::new(params::recompute(document)?);
        self.library.counted().insert(key, Arc::clone(&objects));
        Ok(objects)
    }

    /// The parsed file that `reference` names.
    pub fn document(&self, reference: Node) -> Result<&'a Document, Error> {
        let bundle = self.bundle_of(reference)?;
        let file = self.file_of(reference)?;
        self.show(bundle, evidence_ref(bundle, file, ""));
        self.library.document(bundle.name(), file, reference)
    }

    /// The study that stands at `name`.
    pub fn study(&self, name: Node) -> Result<&'a Study, Error> {
        let pin = self.post.study(name.text()?, name)?;
        self.library.study(&pin.name).ok_or_else(|| {
            let found = format!("`{}`", pin.name);
            crate::post::UNKNOWN_STUDY.at(name.place(), "a loaded study", found)
        })
    }

    /// The names of all bundles that say they belong to a study, whether the post pins them or not.
    pub fn bundles_of(&self, study: &Study) -> impl Iterator<Item = &'a str> {
        self.library.bundles_of(&study.id)
    }

    /// The bundle of a run, where the post pins it.
    pub fn run(&self, id: &str) -> Option<&'a Bundle> {
        let pinned = self.post.pins.iter().any(|pin| pin.name == id);
        let bundle = self.library.bundle(id).filter(|_| pinned)?;
        self.show(bundle, evidence_ref(bundle, RECEIPT, ""));
        Some(bundle)
    }

    /// What became of replaying steps of the bundle that `reference` names, where that was asked for.
    pub fn replay(
        &self,
        reference: Node,
        extent: Extent,
    ) -> Result<Option<&'a ReplayOutcome>, Error> {
        let bundle = self.bundle_of(reference)?;
        let slice = bundle.receipt().slices.iter().find(|slice| extent.lies_in(slice));
        let file = slice.map_or(RECEIPT, |slice| slice.file.as_str());
        self.show(bundle, evidence_ref(bundle, file, ""));
        Ok(self.library.replays().get(&(bundle.name().to_owned(), extent)))
    }

    /// A parsed file of a bundle; a refusal stands at `asked`.
    pub fn file(&self, bundle: &Bundle, file: &str, asked: Node) -> Result<&'a Document, Error> {
        self.show(bundle, evidence_ref(bundle, file, ""));
        self.library.document(bundle.name(), file, asked)
    }

    /// Notes a piece of evidence with the origin of its bundle.
    fn show(&self, bundle: &Bundle, evidence_ref: EvidenceRef) {
        let signature = self.library.signature(&self.post.id, bundle.name());
        let origin = EvidenceOrigin::from(bundle.origin()).vouched_for(signature);
        self.shown.borrow_mut().push((evidence_ref, origin));
    }

    fn file_of<'n>(&self, reference: Node<'n>) -> Result<&'n str, Error> {
        reference.required("file")?.text()
    }

    fn bundle_of(&self, reference: Node) -> Result<&'a Bundle, Error> {
        let name = match reference.get("bundle") {
            Some(name) => self.post.pin(name.text()?, name)?.name.as_str(),
            None => self
                .post
                .default_bundle
                .as_deref()
                .ok_or_else(|| NO_BUNDLE.at(reference.place(), "`bundle`", "none"))?,
        };
        self.loaded(name, reference)
    }

    fn loaded(&self, name: &str, asked: Node) -> Result<&'a Bundle, Error> {
        self.library.bundle(name).ok_or_else(|| {
            let found = format!("`{name}`");
            crate::post::UNKNOWN_BUNDLE.at(asked.place(), "a loaded bundle", found)
        })
    }

    fn fact_pointer(&self, bundle: &Bundle, fact: Node) -> Result<String, Error> {
        let id = fact.text()?;
        let at = bundle.fact(id).map(|(at, _)| at);
        let at = at.ok_or_else(|| {
            NO_FACT.at(fact.place(), format!("a fact of `{}`", bundle.name()), format!("`{id}`"))
        })?;
        Ok(format!("/facts/{at}/value"))
    }
}

/// Which parameter count a term or claim means.
pub fn parameters_of(node: Node) -> Result<ParameterCount, Error> {
    let object = node.required("parameters")?;
    match object.text()? {
        "total" => Ok(ParameterCount::Total),
        "active" => Ok(ParameterCount::Active),
        other => Err(BAD_CHOICE.at(object.place(), "`total` or `active`", format!("`{other}`"))),
    }
}

/// How exact a term or a list of terms says that its values are.
pub fn precision_of(node: Node) -> Result<Option<Precision>, Error> {
    let Some(precision) = node.get("precision") else { return Ok(None) };
    match precision.text()? {
        "exact" => Ok(Some(Precision::Coefficient)),
        "measured" => Ok(Some(Precision::Measured)),
        other => {
            Err(BAD_CHOICE.at(precision.place(), "`exact` or `measured`", format!("`{other}`")))
        }
    }
}

/// The counting convention that a term or claim declares, else the default one.
pub fn convention_of(node: Node) -> Result<Convention, Error> {
    let Some(convention) = node.get("convention") else { return Ok(Convention::Default) };
    let name = convention.text()?;
    Convention::named(name).ok_or_else(|| {
        let known: Vec<_> =
            Convention::ALL.iter().map(|known| format!("`{}`", known.name())).collect();
        BAD_CHOICE.at(
            convention.place(),
            format!("one of {}", known.join(", ")),
            format!("`{name}`"),
        )
    })
}

/// A moment on a clock whose time zone is not stated.
fn timestamp(text: &str) -> Option<DateTime> {
    text.trim_end_matches('Z').parse().ok()
}

/// The exhibit for a value: a transcribed one also names the publication it was typed from.
pub(crate) fn evidence_ref(bundle: &Bundle, file: &str, pointer: &str) -> EvidenceRef {
    let fact = bundle.fact_at(file, pointer);
    let (document, printed_at, pointer) = match fact {
        Some(fact) => (Some(fact.at.source.clone()), Some(fact.at.place.clone()), fact.pointer()),
        None => (
            bundle.typed_from(file).map(str::to_owned),
            bundle.typed_from(file).map(|_| pointer.to_owned()).filter(|place| !place.is_empty()),
            pointer.to_owned(),
        ),
    };
    EvidenceRef {
        bundle: bundle.name().to_owned(),
        file: file.to_owned(),
        pointer,
        document,
        printed_at,
    }
}

/// The number that `text`, standing at `node`, prints; the term `asked` may say how exact it is.
fn number(
    text: &str,
    node: Node,
    asked: Node,
    precision: Precision,
) -> Result<EvidenceQuantity, Error> {
    let precision = precision_of(asked)?.unwrap_or(precision);
    let not_a_number = |why: String| {
        let found = format!("\"{text}\" at {}: {why}", node.place());
        NOT_A_NUMBER.at(asked.place(), "a number", found)
    };
    let printed = Printed::parse(text).map_err(|error| not_a_number(error.to_string()))?;
    Operand::read(&printed, precision)
        .map(EvidenceQuantity::plain)
        .map_err(|error| not_a_number(error.to_string()))
}

/// An interval that is one whole number.
pub fn whole(interval: &Interval) -> Option<num_bigint::BigInt> {
    (interval.is_point() && interval.low().is_integer()).then(|| interval.low().to_integer())
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn timestamps_are_subtracted_across_days() {
        let (start, end) =
            (timestamp("2024-02-28 23:59:50").unwrap(), timestamp("2024-03-01T00:00:00Z").unwrap());
        assert_eq!(end.duration_since(start).as_secs(), 86_410);
        assert_eq!(timestamp("2026-13-01 00:00:00"), None);
        assert_eq!(timestamp("yesterday"), None);
    }
}
