//! The values of expressions: numbers with their provenance, samples of runs, words, locations in evidence.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use num_bigint::BigInt;
use num_rational::BigRational;
use repro_bundle::bundle::Bundle;
use repro_core::decimal::{Interval, Printed, format_significant, nearest_f64};
use repro_model::params::CountScope;
use repro_report::outcome::{EvidenceRef, Impact, Measured, Outcome};

use crate::run_design::RunDesign;

/// The significant digits of computed numbers in reports.
pub const DIGITS: usize = 10;

/// The value of an expression.
#[derive(Debug, Clone)]
pub enum Evaluated<'a> {
    /// A number.
    Number(Quantity),
    /// One number of each run of a group.
    Sample(RunSample),
    /// Runs of which only mean, spread and number are printed.
    Stated(Box<PrintedRuns>),
    /// Words.
    Text(EvidenceWords),
    /// Several values.
    List(Vec<Evaluated<'a>>),
    /// A place in evidence whose value nobody has asked for yet.
    Reference(EvidencePath<'a>),
    /// The names that begin so.
    Names(String),
    /// Whether a relation holds.
    Judgement(Box<Outcome>),
}

/// A place in one bundle, or the same place in each bundle of a group.
#[derive(Debug, Clone)]
pub struct EvidencePath<'a> {
    /// The bundles.
    pub bundles: Vec<&'a Bundle>,
    /// Whether it is a group, of one bundle perhaps.
    pub is_group: bool,
    /// The file, where one is named.
    pub file: Option<String>,
    /// The way into it.
    pub path: Vec<String>,
    /// The step at which a quantity of a run is meant; else the last.
    pub step: Option<u64>,
    /// As the best of which records it is meant.
    pub best: Option<BestOf>,
}

/// The records of one run that its best one was sought among.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BestOf {
    /// Whether the highest is the best, as of accuracies; else the lowest, as of losses.
    pub is_highest: bool,
    /// How many there are.
    pub records: usize,
}

impl BestOf {
    /// "the lowest of 5 evaluations".
    pub fn words(self) -> String {
        let which = if self.is_highest { "highest" } else { "lowest" };
        let many = if self.records == 1 { "" } else { "s" };
        format!("the {which} of {} evaluation{many}", self.records)
    }
}

/// How a number that is not a result of an operation came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// Written in the expression itself.
    Literal,
    /// Taken from the words that the expression is held against.
    Quoted,
    /// Typed from a publication, as printed there.
    Printed,
    /// A field of a configuration.
    Setting,
    /// Counted from a configuration.
    Counted,
    /// Recorded by a run.
    Recorded,
}

impl LeafKind {
    /// Whether a post states it, in an expression or in its words, so that it is no evidence.
    pub fn is_stated(self) -> bool {
        matches!(self, Self::Literal | Self::Quoted)
    }
}

/// One piece of evidence that a value depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// Its kind.
    pub kind: LeafKind,
    /// Where it stands.
    pub evidence: Option<EvidenceRef>,
    /// The words around it in the publication that it was typed from.
    pub quote: Option<String>,
    /// Its digits.
    pub text: String,
    /// The step at which a run recorded it.
    pub step: Option<u64>,
    /// Of which records of its run it was chosen as the best: by `best(run.loss)`.
    pub best: Option<BestOf>,
}

/// Fields of what a run records that the length of its training fixes.
const COURSE: &[&str] = &["step", "tokens_seen", "predicted_tokens", "epochs_seen"];

impl Leaf {
    /// A piece that is in no file: what is written in an expression, or a count.
    pub fn without_place(kind: LeafKind, text: String) -> Self {
        Self { kind, evidence: None, quote: None, text, step: None, best: None }
    }

    /// Whether it says how far a run had come: another seed would record the same.
    pub fn counts_the_course(&self) -> bool {
        let field = self.evidence.as_ref().and_then(|one| one.pointer.rsplit('/').next());
        field.is_some_and(|field| COURSE.contains(&field))
    }
}

/// The role of a number, besides its value.
#[derive(Debug, Clone, PartialEq)]
pub enum NumberRole {
    /// Any number.
    Plain,
    /// The p of a test with this design.
    P(Rc<RunDesign>),
    /// How many runs there are: these.
    CountOfRuns(Rc<BTreeSet<String>>),
    /// The spread of these numbers of runs, as a number behind ± may be.
    Spread(Rc<Vec<f64>>),
    /// A parameter count, and what of the model it covers.
    Parameters(CountScope),
}

/// A number and how it came about.
#[derive(Debug, Clone)]
pub struct Quantity {
    /// Where it lies.
    pub interval: Interval,
    /// The nearest binary float, computed as a script would.
    pub float: f64,
    /// How it is derived, with values in place: "(6 + 2) * 384"; for a leaf, its digits.
    pub derivation: String,
    /// Its kind, if it is not the result of an operation.
    pub leaf: Option<LeafKind>,
    /// The size of one step of its last printed digit, if it is a leaf with one.
    pub last_place: Option<BigRational>,
    /// Whether only what is printed is meant, whatever the noise behind it.
    pub as_printed: bool,
    /// Its role, for operations that depend on it.
    pub role: NumberRole,
    /// The evidence that it depends on.
    pub leaves: Vec<Rc<Leaf>>,
}

/// Words of evidence.
#[derive(Debug, Clone)]
pub struct EvidenceWords {
    /// The words.
    pub text: String,
    /// The evidence that they come from.
    pub leaves: Vec<Rc<Leaf>>,
}

impl EvidenceWords {
    /// Words that are in an expression.
    pub fn without_place(text: &str) -> Self {
        Self { text: text.to_owned(), leaves: Vec::new() }
    }
}

/// One number of each run of a group.
#[derive(Debug, Clone, Default)]
pub struct RunSample {
    /// The runs, by the names of their bundles.
    pub runs: Vec<String>,
    /// The numbers in the same order.
    pub numbers: Vec<Quantity>,
}

/// Runs of which a publication prints the mean, a number behind ± and how many there were, and not what
/// the number behind ± is.
#[derive(Debug, Clone)]
pub struct PrintedRuns {
    /// The mean.
    pub mean: Quantity,
    /// The number behind ±.
    pub spread: Quantity,
    /// How many runs there were, at least two.
    pub runs: u64,
}

impl EvidencePath<'_> {
    /// The names of the bundles.
    pub fn runs(&self) -> Vec<String> {
        self.bundles.iter().map(|bundle| bundle.name().to_owned()).collect()
    }
}

impl Evaluated<'_> {
    /// A judgement that changes a decision where it is wrong.
    pub fn decided(outcome: Outcome) -> Self {
        Self::Judgement(Box::new(outcome.with_impact(Impact::Decision)))
    }

    /// The words that it is, or those of a list of nothing else.
    pub fn words(&self) -> Option<Vec<EvidenceWords>> {
        let words = |value: &Evaluated<'_>| match value {
            Evaluated::Text(words) => Some(words.clone()),
            _ => None,
        };
        match self {
            Evaluated::List(items) if !items.is_empty() => items.iter().map(words).collect(),
            other => words(other).map(|words| vec![words]),
        }
    }

    /// Its kind, for messages.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Sample(_) => "one number per run",
            Self::Stated(_) => "a printed mean with its ±",
            Self::Text(_) => "words",
            Self::List(_) => "a list",
            Self::Reference(_) => "a location in evidence",
            Self::Names(_) => "the beginning of a name",
            Self::Judgement(_) => "a relation",
        }
    }
}

impl Quantity {
    /// The part of a model that it counts, if it is a parameter count.
    pub fn count_scope(&self) -> Option<CountScope> {
        match self.role {
            NumberRole::Parameters(scope) => Some(scope),
            _ => None,
        }
    }

    /// The scopes of this count and of another one, where they differ: a part and a whole are not held against each other.
    pub fn other_scope(&self, other: &Self) -> Option<[CountScope; 2]> {
        let scopes = [self.count_scope()?, other.count_scope()?];
        (scopes[0] != scopes[1]).then_some(scopes)
    }

    /// A number that is in the expression, or in the words that it is held against.
    pub fn stated(printed: &Printed, kind: LeafKind) -> Self {
        let per_one = printed.unit().per_one();
        let leaf = Leaf::without_place(kind, printed.text().to_owned());
        let interval = printed.exact().scaled(&per_one.recip());
        let float = printed.as_f64() / nearest_f64(&per_one);
        let number = Self::result(interval, float, printed.text().to_owned(), []);
        Self { leaf: Some(kind), leaves: vec![Rc::new(leaf)], ..number }
    }

    /// The result of an operation on other numbers.
    pub fn result<'q>(
        interval: Interval,
        float: f64,
        derivation: String,
        of: impl IntoIterator<Item = &'q Self>,
    ) -> Self {
        Self {
            interval,
            float,
            derivation,
            leaf: None,
            last_place: None,
            as_printed: false,
            role: NumberRole::Plain,
            leaves: together(of),
        }
    }

    /// The one value that it stands for: what is printed, or what follows from the printed values,
    /// which need not be the middle of the interval.
    pub fn point(&self) -> BigRational {
        if self.interval.is_point() {
            return self.interval.low().clone();
        }
        if self.leaf.is_some() {
            return self.interval.middle();
        }
        let computed = BigRational::from_float(self.float);
        let inside = computed.filter(|value| self.interval.contains(value));
        inside.unwrap_or_else(|| self.interval.middle())
    }

    /// The float nearest to it: of what is known exactly not the one that a script would come to, whose
    /// 1.3 - 1.2 and 1.2 - 1.1 are two numbers.
    pub fn nearest(&self) -> f64 {
        if self.interval.is_point() { nearest_f64(self.interval.low()) } else { self.float }
    }

    /// The float nearest to the difference to another number; that of prints is exact before it is rounded.
    pub fn nearest_difference(&self, other: &Self) -> f64 {
        let (own, others) = (&self.interval, &other.interval);
        if own.is_point() && others.is_point() {
            nearest_f64(&(own.low() - others.low()))
        } else {
            repro_stats::difference(self.float, other.float)
        }
    }

    /// It and its interval, for programs.
    pub fn measured(&self) -> Measured {
        let ends = [nearest_f64(self.interval.low()), nearest_f64(self.interval.high())];
        Measured { value: Some(self.float), interval: Some(ends), ..Measured::default() }
    }

    /// Its value in the digits of reports.
    pub fn brief(&self) -> String {
        format_significant(&self.point(), DIGITS)
    }

    /// As it is shown: its value, and how it is derived where that is not its value.
    pub fn shown(&self) -> String {
        match self.leaf {
            Some(_) => self.derivation.clone(),
            None => format!("{} = {}", self.brief(), self.derivation),
        }
    }

    /// Whether noise between runs cannot have moved it, or is not meant: settings, counts, literals, and what
    /// is only said to be printed.
    pub fn is_without_noise(&self) -> bool {
        let settled = |leaf: &Rc<Leaf>| match leaf.kind {
            LeafKind::Printed => false,
            LeafKind::Recorded => leaf.counts_the_course(),
            _ => true,
        };
        self.as_printed || self.leaves.iter().all(settled)
    }

    /// Whether both are prints of one precision. Such prints state one number only if they are the same: the
    /// intervals of two neighbours touch.
    pub fn has_precision_of(&self, other: &Self) -> bool {
        self.last_place.is_some() && self.last_place == other.last_place
    }

    /// Where the evidence that it depends on stands.
    pub fn evidence(&self) -> impl Iterator<Item = &EvidenceRef> {
        self.leaves.iter().filter_map(|leaf| leaf.evidence.as_ref())
    }

    /// Whether it may be a difference: it follows from one field of two runs, or of one run at two steps.
    fn is_difference(&self) -> bool {
        let mut fields = HashSet::new();
        let mut names = self.evidence().filter_map(|one| one.pointer.rsplit('/').next());
        names.any(|name| !fields.insert(name))
    }

    /// Whether it sums up several runs.
    pub fn is_of_runs(&self) -> bool {
        let recorded = self.leaves.iter().filter(|leaf| leaf.kind == LeafKind::Recorded);
        let mut runs = recorded.filter_map(|leaf| leaf.evidence.as_ref()).map(|one| &one.bundle);
        runs.next().is_some_and(|first| runs.any(|other| other != first))
    }

    /// Whether it is nothing but numbers of the words that it is held against.
    pub fn is_quoted(&self) -> bool {
        self.is_stated() && self.leaves.iter().any(|leaf| leaf.kind == LeafKind::Quoted)
    }

    /// Whether it is nothing but numbers of the post and its words.
    pub fn is_stated(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.kind.is_stated())
    }

    /// The whole number that it is.
    pub fn whole(&self) -> Option<BigInt> {
        let ends = &self.interval;
        (ends.is_point() && ends.low().is_integer()).then(|| ends.low().to_integer())
    }

    /// The whole number from zero up that it is.
    pub fn count(&self) -> Option<u64> {
        self.whole()?.try_into().ok()
    }
}

impl PrintedRuns {
    /// As a publication prints it: "1.5788 ± 0.0020".
    pub fn shown(&self) -> String {
        format!("{} ± {}", self.mean.derivation, self.spread.derivation)
    }
}

/// The evidence of several numbers, each piece once, in the order of the numbers.
fn together<'q>(of: impl IntoIterator<Item = &'q Quantity>) -> Vec<Rc<Leaf>> {
    let mut of = of.into_iter();
    let Some(first) = of.next() else { return Vec::new() };
    // Those of one number are each there once.
    let mut leaves = first.leaves.clone();
    let mut seen: HashSet<&Rc<Leaf>> = first.leaves.iter().collect();
    let more = of.flat_map(|number| &number.leaves);
    leaves.extend(more.filter(|leaf| seen.insert(leaf)).cloned());
    leaves
}

impl RunSample {
    /// Whether each number is a difference, between runs or steps.
    pub fn are_differences(&self) -> bool {
        self.numbers.iter().all(Quantity::is_difference)
    }

    /// The only number where no group was asked for, else all of them.
    pub fn into_value<'a>(mut self, is_group: bool) -> Evaluated<'a> {
        match self.numbers.pop() {
            Some(only) if !is_group && self.numbers.is_empty() => Evaluated::Number(only),
            last => {
                self.numbers.extend(last);
                Evaluated::Sample(self)
            }
        }
    }

    /// Adds the runs of another group.
    pub fn extend(&mut self, other: Self) {
        self.runs.extend(other.runs);
        self.numbers.extend(other.numbers);
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The mean of at least one number, derived in these words.
    pub fn mean(&self, derivation: String) -> Quantity {
        let zero = Interval::integer(0);
        let sum = self.numbers.iter().fold(zero, |sum, number| &sum + &number.interval);
        let share = BigRational::new(1.into(), self.count().max(1).into());
        let float = repro_stats::mean(&self.floats()).unwrap_or(f64::NAN);
        Quantity::result(sum.scaled(&share), float, derivation, &self.numbers)
    }

    /// The numbers as floats, each rounded once where it is known exactly.
    pub fn floats(&self) -> Vec<f64> {
        self.numbers.iter().map(Quantity::nearest).collect()
    }

    /// Each number less that of another group at its place, rounded once.
    pub fn less(&self, other: &Self) -> Vec<f64> {
        let pairs = std::iter::zip(&self.numbers, &other.numbers);
        pairs.map(|(a, b)| a.nearest_difference(b)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(texts: &[&str], kind: LeafKind) -> RunSample {
        let number = |text: &&str| Quantity::stated(&Printed::parse(text).unwrap(), kind);
        let runs = texts.iter().map(|text| (*text).to_owned()).collect();
        RunSample { runs, numbers: texts.iter().map(number).collect() }
    }

    #[test]
    fn differences_of_decimals_are_rounded_once() {
        let a = sample(&["1.3", "1.2", "1000000000000000.0003"], LeafKind::Recorded);
        let b = sample(&["1.2", "1.1", "1000000000000000.0001"], LeafKind::Recorded);
        assert_eq!(a.less(&b), [0.1, 0.1, 0.0002]);
        // Of rounded prints the points are exact, and so is what lies between them.
        let rounded = |sample: &RunSample| {
            let around = |number: &Quantity| Quantity {
                interval: Interval::around(
                    number.interval.low(),
                    &BigRational::new(1.into(), 20.into()),
                ),
                ..number.clone()
            };
            let numbers = sample.numbers.iter().map(around).collect();
            RunSample { numbers, ..sample.clone() }
        };
        assert_eq!(rounded(&a).less(&rounded(&b))[..2], [0.1, 0.1]);
        // What a script came to does not matter where the number is known exactly.
        let mut noisy = a.clone();
        noisy.numbers[0].float = 1.300_000_000_000_001;
        assert_eq!(noisy.floats(), a.floats());
    }
}
