//! The canonical sentence of a claim: `<statistic> <metric> of <arm>, <runs>, <split>, <step>: <value> <unit> [<source>]`.
//!
//! The sentence is written from the expression and the provenance of its value, never from the words of the quote.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_core::decimal::{format_float, format_significant, grouped};
use repro_model::params::CountScope;
use repro_report::meaning::Fact;
use repro_report::outcome::{Outcome, Verdict};

use super::nouns::{Noun, Scope, head};
use super::provenance::{Provenance, design_of};
use super::rows;
use crate::evaluate::functions::fixed;
use crate::loss_unit::{LossUnit, unit_of_leaf};
use crate::value::{EvidenceWords, LeafKind, Quantity};

/// The significant digits of values, unless the claim prints more.
const DIGITS: usize = 5;
/// Functions whose value has the unit of what they are given.
const SUMMARIES: [&str; 8] = ["mean", "sd", "se", "min", "max", "median", "ci95", "best"];
/// The placeholder for a value in the shape of a fact.
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
    let mut subject = Subject::of(scope, tree, given, digits);
    // A part is never taken for the whole.
    let part = given.iter().filter_map(Quantity::count_scope).find(|one| *one != CountScope::Whole);
    if let Some(part) = part {
        subject.words = format!("{}, {} only", subject.words, part.name());
    }
    let source = source_of(given);
    let worded = subject.value.map(|(value, unit)| (value, unit.to_owned()));
    let (value, unit) = worded.unwrap_or_else(|| {
        let typed = given.first().and_then(|number| scope.fact_of(number)?.unit.as_ref());
        let unit = match typed {
            Some(unit) => format!(" {unit}"),
            None => unit_of(scope, tree, given, provenance).to_owned(),
        };
        let values: Vec<_> = given.iter().map(|number| value_of(number, digits)).collect();
        match values.as_slice() {
            [one] => (format!("{one}{unit}"), unit),
            several => (format!("[{}]{unit}", several.join(", ")), unit),
        }
    });
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
        rows: rows::of_number(scope, tree, given).into_iter().collect(),
    }
}

/// The fact of words of the evidence.
pub fn of_words(scope: &Scope<'_>, tree: &Expression, words: &[EvidenceWords]) -> Fact {
    let subject = Subject::of(scope, tree, &[], DIGITS);
    let said: Vec<_> = words.iter().map(|words| format!("\"{}\"", words.text)).collect();
    let leaf = words.iter().flat_map(|words| &words.leaves).next();
    let evidence = leaf.and_then(|leaf| leaf.evidence.as_ref());
    let file = evidence.map(|one| name_of(&one.file)).filter(|file| !file.is_empty());
    let source = file.map(|file| format!(", from {file}")).unwrap_or_default();
    Fact {
        sentence: format!("{}: {}{source}", subject.words, said.join(", ")),
        shape: format!("{}: {VALUE}{source}", subject.words),
        rows: Vec::new(),
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
    Fact {
        sentence: format!("{state}{shape}{values}"),
        shape,
        rows: rows::of_relations(scope, trees, &outcome.measured),
    }
}

/// How far apart the values of an outcome lie: `, largest 1.73 times smallest`.
fn spread_of(outcome: &Outcome) -> String {
    let values = || outcome.measured.iter().filter_map(|one| one.value);
    let (least, most) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if least > 0.0 && most.is_finite() {
        format!(", largest {} times smallest", format_float(most / least, 4))
    } else {
        String::new()
    }
}

/// The subject of a number, and its value with its unit where a sign or a fraction is worded.
struct Subject {
    words: String,
    value: Option<(String, &'static str)>,
}

impl Subject {
    fn plain(words: String) -> Self {
        Self { words, value: None }
    }

    fn of(scope: &Scope<'_>, tree: &Expression, given: &[Quantity], digits: usize) -> Self {
        let plain = scope.plain(tree);
        if let Some(noun) = scope.noun(&plain) {
            return Self::plain(scope.words(&noun));
        }
        let [a, b] = plain.parts()[..] else { return Self::plain(scope.phrase(tree)) };
        let number = given.first().filter(|_| given.len() == 1);
        let (joint, value) = match &plain.kind {
            ExpressionKind::Arithmetic(ArithmeticOperator::Subtract, ..) => {
                ("less", number.map(|number| difference(number, first_label(scope, a, b), digits)))
            }
            ExpressionKind::Arithmetic(ArithmeticOperator::Divide, ..) => {
                let number = number.filter(|_| is_share(scope, a, b));
                ("/", number.map(|number| share(number, digits)))
            }
            ExpressionKind::Call(name, _) if name == "percent_below" => {
                ("against", number.map(|number| against(number, true)))
            }
            ExpressionKind::Call(name, _) if name == "percent_above" => {
                ("against", number.map(|number| against(number, false)))
            }
            ExpressionKind::Call(name, _) if name == "p" => {
                let sides = two(scope, tree, [a, b], "less");
                return Self::plain(format!("p of {}, two-sided, {sides}", test_name(given)));
            }
            _ => return Self::plain(scope.phrase(tree)),
        };
        Self { words: two(scope, tree, [a, b], joint), value }
    }
}

/// Whether the one side is a part of the other: two quantities of one arm in one unit.
fn is_share(scope: &Scope<'_>, a: &Expression, b: &Expression) -> bool {
    let (Some(a), Some(b)) = (scope.noun(a), scope.noun(b)) else { return false };
    a.arm == b.arm && a.metric.rsplit(' ').next() == b.metric.rsplit(' ').next()
}

/// A part of something, also in percent.
fn share(number: &Quantity, digits: usize) -> (String, &'static str) {
    (format!("{} ({}% of)", value_of(number, digits), percent(number)), "")
}

/// By how many percent the one side is below the other, or above it.
fn against(number: &Quantity, is_below: bool) -> (String, &'static str) {
    let side = if is_below != number.point().is_negative() { "below" } else { "above" };
    (format!("{}% {side}", percent(number)), "%")
}

/// A difference with the side that is lower, and its unit.
fn difference(number: &Quantity, first: Option<String>, digits: usize) -> (String, &'static str) {
    let (point, unit) = (number.point(), loss_unit(number));
    let size = format_significant(&point.abs(), digits);
    let first = first.unwrap_or_else(|| "the first".to_owned());
    let side = match point.is_negative() {
        _ if point.is_zero() => "equal".to_owned(),
        true => format!("{first} lower"),
        false => format!("{first} higher"),
    };
    (format!("{size}{unit} ({side})"), unit)
}

/// The size of a share in percent.
fn percent(share: &Quantity) -> String {
    let hundred = BigRational::from_integer(100.into());
    format_significant(&(share.point() * hundred).abs(), 4)
}

/// Two sides of a plain expression in words; what both have stands once. Sides without nouns are said as the whole is.
fn two(scope: &Scope<'_>, whole: &Expression, [a, b]: [&Expression; 2], joint: &str) -> String {
    let (Some(first), Some(second)) = (scope.noun(a), scope.noun(b)) else {
        return scope.phrase(whole);
    };
    let (metric, other_metric) = (head(&first), head(&second));
    let (label, other) = (first.label(), second.label());
    let scoped = scope.scope_of(&first);
    let is_one_scope = scoped == scope.scope_of(&second);
    if metric == other_metric && first.arm == second.arm {
        let [one, other] = [&first, &second]
            .map(|noun| noun.step_words().unwrap_or_else(|| "the last step".to_owned()));
        return format!("{metric} of {label}: {one} {joint} {other}");
    }
    if metric == other_metric && is_one_scope {
        let that = if joint == "/" { "" } else { "that of " };
        return format!("{metric} of {label} {joint} {that}{other}{scoped}");
    }
    if first.arm == second.arm && is_one_scope {
        return format!("{metric} {joint} {other_metric} of {label}{scoped}");
    }
    format!("{} {joint} {}", scope.words(&first), scope.words(&second))
}

/// The label that distinguishes the first of two sides: its arm, or its step.
fn first_label(scope: &Scope<'_>, a: &Expression, b: &Expression) -> Option<String> {
    let (first, second) = (scope.noun(a)?, scope.noun(b)?);
    match (&first.arm, &second.arm) {
        (Some(one), Some(other)) if one.label != other.label => Some(one.label.clone()),
        _ => first.step_words(),
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
        ExpressionKind::Relation(_, rest) => {
            let nouns: Option<Vec<Noun>> =
                plain.parts().into_iter().map(|side| scope.noun(side)).collect();
            let is_one_metric = |nouns: &Vec<Noun>| {
                let mut pairs = nouns.windows(2);
                pairs.all(|pair| head(&pair[0]) == head(&pair[1]) && pair[0].arm != pair[1].arm)
            };
            let Some(nouns) = nouns.filter(is_one_metric) else { return scope.phrase(tree) };
            let [first, others @ ..] = nouns.as_slice() else { return scope.phrase(tree) };
            let others = std::iter::zip(rest, others);
            let others = others
                .map(|((operator, _), side)| format!(" {} {}", operator.sign(), side.label()));
            let others: String = others.collect();
            format!("{}: {}{others}{}", head(first), first.label(), scope.scope_of(first))
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
            let of = arguments.first().map(|argument| match &argument.value.kind {
                ExpressionKind::List(items) => {
                    let shared = scope.one_quantity(items);
                    shared.map_or_else(|| scope.phrase(&argument.value), |one| one.words())
                }
                _ => scope.phrase(&argument.value),
            });
            format!("{}, {count} arms", of.unwrap_or_default())
        }
        _ => scope.phrase(tree),
    }
}

/// The test of a p.
fn test_name(given: &[Quantity]) -> &'static str {
    match design_of(given) {
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
    let mut units = number.leaves.iter().filter_map(|leaf| unit_of_leaf(leaf));
    match units.next() {
        Some(LossUnit::Nats) => " nats/token",
        Some(LossUnit::Bits) => " bits/byte",
        _ => "",
    }
}

/// The unit behind a value.
fn unit_of(
    scope: &Scope<'_>,
    tree: &Expression,
    given: &[Quantity],
    provenance: &Provenance,
) -> &'static str {
    let is_plain = matches!(
        scope.plain(tree).kind,
        ExpressionKind::Field(..) | ExpressionKind::At(..) | ExpressionKind::Name(_)
    );
    let is_summary =
        matches!(&tree.kind, ExpressionKind::Call(name, _) if SUMMARIES.contains(&name.as_str()));
    match given {
        [number, ..] if is_plain || is_summary => {
            // A sum of nats is no loss of a token.
            if provenance.fields.contains("nats") { " nats" } else { loss_unit(number) }
        }
        _ => match provenance.quantity.map(|one| one.name.as_str()) {
            Some("tokens") => " tokens",
            Some("steps") => " steps",
            _ => "",
        },
    }
}

/// The name of a file without its folders.
fn name_of(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Where a value was read that nothing recomputes: a setting, a print.
fn source_of(given: &[Quantity]) -> String {
    let [number] = given else { return String::new() };
    let [leaf] = number.leaves.as_slice() else { return String::new() };
    let Some(evidence) = &leaf.evidence else { return String::new() };
    match number.leaf {
        Some(LeafKind::Setting) => format!(", from {}", name_of(&evidence.file)),
        Some(LeafKind::Printed) => match &evidence.document {
            Some(document) => format!(", transcribed from {document}"),
            None => String::new(),
        },
        _ => String::new(),
    }
}
