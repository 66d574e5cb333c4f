//! The canonical sentence of a claim: `<statistic> <metric> of <arm>, <runs>, <split>, <step>: <value> <unit> [<source>]`.
//!
//! The sentence is written from the expression and the provenance of its value, never from the words of the quote.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};
use repro_exact::decimal::{format_float, format_significant, grouped};
use repro_params::CountScope;
use repro_report::meaning::Fact;
use repro_report::outcome::{Outcome, Verdict};

use super::nouns::{Noun, Scope, head};
use super::provenance::Provenance;
use crate::evaluate::functions::fixed;
use crate::loss_unit::LossUnit;
use crate::value::{LeafKind, NumberRole, Quantity};

/// The significant digits of values, unless the claim prints more.
const DIGITS: usize = 5;
/// What stands for a value in the shape of a fact.
const VALUE: &str = "…";

/// The fact of a number.
pub fn of_number(
    scope: &Scope<'_>,
    tree: &Expression,
    given: &[Quantity],
    provenance: &Provenance,
    digits: usize,
) -> Fact {
    let digits = digits.max(DIGITS);
    let values: Vec<_> = given.iter().map(|number| value_of(number, digits)).collect();
    let value = match values.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let mut subject = Subject::of(scope, tree, given);
    // A part is never taken for the whole.
    let part = given.iter().filter_map(Quantity::count_scope).find(|one| *one != CountScope::Whole);
    if let Some(part) = part {
        subject.words = format!("{}, {} only", subject.words, part.name());
    }
    let source = source_of(given);
    let (value, unit) = match (&subject.change, given) {
        (Some(change), [number]) => (change.value(number, digits), change.unit().to_owned()),
        _ => {
            let unit = unit_of(&scope.plain(tree), given, provenance);
            (format!("{value}{unit}"), unit)
        }
    };
    // A formula is a name of its body: with another name the fact is the same.
    let name = match &tree.kind {
        ExpressionKind::Name(name) if scope.page.formulas.contains_key(name) => {
            format!("{name} = ")
        }
        _ => String::new(),
    };
    Fact {
        sentence: format!("{name}{}: {value}{source}", subject.words),
        shape: format!("{}: {VALUE}{unit}{source}", subject.words),
    }
}

/// The fact of words of the evidence.
pub fn of_words(scope: &Scope<'_>, tree: &Expression, words: &[String], source: &str) -> Fact {
    let subject = Subject::of(scope, tree, &[]);
    let said: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let source = if source.is_empty() { String::new() } else { format!(", from {source}") };
    Fact {
        sentence: format!("{}: {}{source}", subject.words, said.join(", ")),
        shape: format!("{}: {VALUE}{source}", subject.words),
    }
}

/// The fact of relations.
pub fn of_relations(scope: &Scope<'_>, trees: &[&Expression], outcome: &Outcome) -> Fact {
    let parts: Vec<_> = trees.iter().map(|tree| relation(scope, tree, outcome)).collect();
    let how = match outcome.rule {
        "order" => ", as printed, noise not tested",
        "test" => ", tested with the noise between runs",
        _ => "",
    };
    let shape = format!("{}{how}", parts.join("; "));
    let is_fixed = trees.iter().all(|tree| {
        matches!(&tree.kind, ExpressionKind::Call(name, _) if fixed::EQUALITIES.contains(&name.as_str()))
    });
    let state = match (is_fixed, outcome.verdict) {
        (true, Verdict::Verified) => "fixed: ",
        (true, Verdict::Refuted) => "not fixed: ",
        (false, Verdict::Refuted) => "not so: ",
        _ => "",
    };
    let values = match (is_fixed, outcome.recomputed.as_str()) {
        (true, _) => spread_of(outcome),
        (false, "") => String::new(),
        (false, values) => format!(": {values}"),
    };
    Fact { sentence: format!("{state}{shape}{values}"), shape }
}

/// How far apart the values of an outcome lie: `, largest 1.73 times smallest`.
fn spread_of(outcome: &Outcome) -> String {
    let values = || outcome.measured.iter().filter_map(|one| one.value);
    let (least, most) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    match least > 0.0 && most.is_finite() {
        true => format!(", largest {} times smallest", format_float(most / least, 4)),
        false => String::new(),
    }
}

/// What a number is of, and how its sign is worded.
struct Subject {
    words: String,
    change: Option<Change>,
}

/// A difference or a percentage between two sides, whose sign says which is the lower.
enum Change {
    /// Of the first less the second; the label of the first.
    Difference(String, String),
    /// In percent of the second: positive where the first lies below.
    Below,
    /// In percent of the second: positive where the first lies above.
    Above,
    /// A ratio of two parts.
    Ratio,
}

impl Change {
    fn value(&self, number: &Quantity, digits: usize) -> String {
        let point = number.point();
        let size = format_significant(&point.abs(), digits);
        let hundred = BigRational::from_integer(100.into());
        let percent = |share: &BigRational| format_significant(&(share * &hundred).abs(), 4);
        let (is_negative, is_zero) = (point.is_negative(), point.is_zero());
        match self {
            Self::Difference(first, unit) => {
                let side = match (is_zero, is_negative) {
                    (true, _) => "equal".to_owned(),
                    (_, true) => format!("{first} lower"),
                    (_, false) => format!("{first} higher"),
                };
                format!("{size}{unit} ({side})")
            }
            Self::Below | Self::Above => {
                let is_below = matches!(self, Self::Below) != is_negative;
                format!("{}% {}", percent(&point), if is_below { "below" } else { "above" })
            }
            Self::Ratio => format!("{} ({}% of)", value_of(number, digits), percent(&point)),
        }
    }

    /// What stands behind the value.
    fn unit(&self) -> &str {
        match self {
            Self::Difference(_, unit) => unit,
            Self::Below | Self::Above => "%",
            Self::Ratio => "",
        }
    }
}

impl Subject {
    fn plain(words: String) -> Self {
        Self { words, change: None }
    }

    fn of(scope: &Scope<'_>, tree: &Expression, given: &[Quantity]) -> Self {
        let plain = scope.plain(tree);
        if let Some(noun) = scope.noun(&plain) {
            return Self::plain(scope.words(&noun));
        }
        match &plain.kind {
            ExpressionKind::Arithmetic(ArithmeticOperator::Subtract, a, b) => {
                let unit = match given {
                    [number] => loss_unit(number),
                    _ => "",
                };
                let label = first_label(scope, a, b).unwrap_or_else(|| "the first".to_owned());
                let change = Some(Change::Difference(label, unit.to_owned()));
                Self { words: two(scope, tree, [a, b], "less"), change }
            }
            ExpressionKind::Arithmetic(ArithmeticOperator::Divide, a, b) => {
                let unit = |noun: &Noun| noun.metric.rsplit(' ').next().map(str::to_owned);
                let is_share = |(a, b): (Noun, Noun)| a.arm == b.arm && unit(&a) == unit(&b);
                let is_share = scope.noun(a).zip(scope.noun(b)).is_some_and(is_share);
                let change = is_share.then_some(Change::Ratio);
                Self { words: two(scope, tree, [a, b], "/"), change }
            }
            ExpressionKind::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
                ("percent_below", [a, b]) => Self {
                    words: two(scope, tree, [&a.value, &b.value], "against"),
                    change: Some(Change::Below),
                },
                ("percent_above", [a, b]) => Self {
                    words: two(scope, tree, [&a.value, &b.value], "against"),
                    change: Some(Change::Above),
                },
                ("p", [a, b]) => {
                    let test = test_name(given);
                    let sides = two(scope, tree, [&a.value, &b.value], "less");
                    Self::plain(format!("p of {test}, two-sided, {sides}"))
                }
                _ => Self::plain(scope.phrase(tree)),
            },
            _ => Self::plain(scope.phrase(tree)),
        }
    }
}

/// Two sides of a plain expression in words; what both have stands once. Sides without nouns are said as the whole is.
fn two(scope: &Scope<'_>, whole: &Expression, [a, b]: [&Expression; 2], joint: &str) -> String {
    let (Some(first), Some(second)) = (scope.noun(a), scope.noun(b)) else {
        return scope.phrase(whole);
    };
    let is_one_metric = head(&first) == head(&second);
    let label = |noun: &Noun| noun.arm.as_ref().map_or_else(String::new, |arm| arm.label.clone());
    if is_one_metric && first.arm == second.arm {
        let step = |noun: &Noun| noun.step.as_ref().map(|step| format!("step {}", grouped(step)));
        let (one, other) = (step(&first), step(&second));
        let own = Noun { step: None, ..first.clone() };
        let steps = [one, other].map(|step| step.unwrap_or_else(|| "the last step".to_owned()));
        return format!("{} of {}: {} {joint} {}", head(&own), label(&own), steps[0], steps[1]);
    }
    if is_one_metric && scope.scope_of(&first) == scope.scope_of(&second) {
        let of = if joint == "/" { label(&second) } else { format!("that of {}", label(&second)) };
        let scoped = scope.scope_of(&first);
        return format!("{} of {} {joint} {of}{scoped}", head(&first), label(&first));
    }
    if first.arm == second.arm && scope.scope_of(&first) == scope.scope_of(&second) {
        return format!(
            "{} {joint} {} of {}{}",
            head(&first),
            head(&second),
            label(&first),
            scope.scope_of(&first)
        );
    }
    format!("{} {joint} {}", scope.words(&first), scope.words(&second))
}

/// What tells the first of two sides from the second: its arm, or its step.
fn first_label(scope: &Scope<'_>, a: &Expression, b: &Expression) -> Option<String> {
    let (first, second) = (scope.noun(a)?, scope.noun(b)?);
    match (&first.arm, &second.arm) {
        (Some(one), Some(other)) if one.label != other.label => Some(one.label.clone()),
        _ => first.step.map(|step| format!("step {}", grouped(&step))),
    }
}

/// A relation in words.
fn relation(scope: &Scope<'_>, tree: &Expression, outcome: &Outcome) -> String {
    let tree = scope.body(tree);
    if let ExpressionKind::Not(of) = &tree.kind {
        return format!("not: {}", relation(scope, of, outcome));
    }
    let plain = scope.plain(tree);
    match &plain.kind {
        ExpressionKind::Relation(first, rest) => {
            let sides = std::iter::once(&**first).chain(rest.iter().map(|(_, side)| side));
            let nouns: Option<Vec<Noun>> = sides.map(|side| scope.noun(side)).collect();
            let is_one_metric = |nouns: &Vec<Noun>| {
                nouns
                    .windows(2)
                    .all(|pair| head(&pair[0]) == head(&pair[1]) && pair[0].arm != pair[1].arm)
            };
            let Some(nouns) = nouns.filter(is_one_metric) else { return scope.phrase(tree) };
            let labels: Vec<_> = nouns
                .iter()
                .map(|noun| noun.arm.as_ref().map_or_else(String::new, |arm| arm.label.clone()))
                .collect();
            let scoped = nouns.first().map(|noun| scope.scope_of(noun)).unwrap_or_default();
            let head = nouns.first().map(head).unwrap_or_default();
            format!("{head}: {}{scoped}", joined(&labels, rest))
        }
        ExpressionKind::Call(name, arguments)
            if fixed::EQUALITIES.contains(&name.as_str()) || name == "differs" =>
        {
            let over = arguments.iter().find(|argument| argument.name.as_deref() == Some("over"));
            let listed = over.or(arguments.first()).map(|argument| &argument.value);
            let count = match listed.map(|list| &list.kind) {
                Some(ExpressionKind::List(items)) => items.len(),
                _ => outcome.measured.len(),
            };
            let of = arguments.first().map(|argument| scope.phrase(&argument.value));
            format!("{}, {count} arms", of.unwrap_or_default())
        }
        _ => scope.phrase(tree),
    }
}

/// Sides with the signs between them.
fn joined(sides: &[String], rest: &[(RelationOperator, Expression)]) -> String {
    let mut text = sides.first().cloned().unwrap_or_default();
    for (side, (operator, _)) in std::iter::zip(sides.iter().skip(1), rest) {
        text.push_str(&format!(" {} {side}", operator.sign()));
    }
    text
}

/// The test of a p.
fn test_name(given: &[Quantity]) -> &'static str {
    let design = given.iter().find_map(|number| match &number.role {
        NumberRole::P(design) => Some(design),
        _ => None,
    });
    match design {
        Some(design) if design.is_paired => "a paired t test by seed",
        _ => "Welch's t test",
    }
}

/// A value in digits, whole ones in full with separators.
fn value_of(number: &Quantity, digits: usize) -> String {
    if let Some(whole) = number.whole() {
        return grouped(&whole.to_string());
    }
    if let Some(LeafKind::Printed | LeafKind::Setting) = number.leaf {
        return number.derivation.clone();
    }
    format_significant(&number.point(), digits)
}

/// The unit of a loss, where a number is one.
fn loss_unit(number: &Quantity) -> &'static str {
    let mut units = number.leaves.iter().filter_map(|leaf| crate::loss_unit::unit_of_leaf(leaf));
    match units.next() {
        Some(LossUnit::Nats) => " nats/token",
        Some(LossUnit::Bits) => " bits/byte",
        _ => "",
    }
}

/// The unit behind a value.
fn unit_of(tree: &Expression, given: &[Quantity], provenance: &Provenance) -> String {
    let is_plain = matches!(
        &tree.kind,
        ExpressionKind::Field(..) | ExpressionKind::At(..) | ExpressionKind::Name(_)
    );
    let is_summary = matches!(
        provenance.root.as_deref(),
        Some("mean" | "sd" | "se" | "min" | "max" | "median" | "ci95" | "best")
    );
    match given {
        [number, ..] if is_plain || is_summary => {
            // A sum of nats is no loss of a token.
            if provenance.fields.contains("nats") {
                " nats".to_owned()
            } else {
                loss_unit(number).to_owned()
            }
        }
        _ => match provenance.quantity.map(|one| one.name.as_str()) {
            Some(name @ ("tokens" | "steps")) => format!(" {name}"),
            _ => String::new(),
        },
    }
}

/// Where a value was read that nothing recomputes: a setting, a print.
fn source_of(given: &[Quantity]) -> String {
    let [number] = given else { return String::new() };
    let [leaf] = number.leaves.as_slice() else { return String::new() };
    let Some(evidence) = &leaf.evidence else { return String::new() };
    match number.leaf {
        Some(LeafKind::Setting) => {
            let file = evidence.file.rsplit('/').next().unwrap_or(&evidence.file);
            format!(", from {file}")
        }
        Some(LeafKind::Printed) => match &evidence.document {
            Some(document) => format!(", transcribed from {document}"),
            None => String::new(),
        },
        _ => String::new(),
    }
}
