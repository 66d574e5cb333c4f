//! A printed formula is what its derivation gives, and reduces correctly at its limits.

use super::tolerance::{DIGITS, fraction};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity, UNKNOWN_FORMULA, WRONG_INPUTS};
use crate::post::Claim;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use repro_exact::decimal::{Interval, Printed, format_significant, nearest_f64};
use repro_exact::formula::{Formula, InputSpec, Operand, Precision};
use repro_receipt::source::{Code, Error, MISSING_FIELD, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats::rng::Rng;

/// The random points where a claim names no number, the fewest and the most that it may name.
const POINTS: u64 = 8;
const FEWEST: u64 = 3;
const MOST: u64 = 100;
/// The random inputs are multiples of 1/64 up to 64.
const STEPS: u64 = 4096;
const STEP: u64 = 64;
/// The significant digits of values in reasons.
const SHOWN: usize = 4;

repro_receipt::source::codes! {
    DIFFERS = "formula_limits::differs", "a printed formula is not what its derivation gives", "correct the formula, or state the derivation that gives it";
    WRONG_LIMIT = "formula_limits::wrong-limit", "a printed formula does not reduce to what it must be at a limit", "correct the formula, or say for which models it is meant";
    WRONG_VALUE = "formula_limits::wrong-value", "a printed formula does not give a value that is known", "correct the formula or the value";
    NOT_INCREASING = "formula_limits::not-increasing", "a formula that is said to grow does not", "correct the sentence";
    UNDEFINED = "formula_limits::undefined", "a formula has no value where it is compared", "declare limits and points at which both sides have values";
    OTHER_TEXT = "formula_limits::other-text", "the registry's entry transcribes another formula than is claimed", "quote the formula in the `source` of its entry, letter by letter";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "formula_limits",
    summary: "a printed formula is what its derivation gives, and reduces correctly at its limits",
    explain: "The printed formula is an entry of the registry (`as_printed`), whose source quotes \
         it letter by letter; the formula that follows is another one (`derived`), built from its \
         own premises. Both are computed exactly at random points (multiples of 1/64, counts \
         whole) and must agree within a relative 1e-9. Each of the `limits` replaces inputs by \
         numbers, or by other inputs, and says what must remain; each of the `values` is a case \
         whose result is known, such as the counted parameters of a model. `repro explain` of \
         either entry shows its derivation.\n\
         Two rational functions that agree at eight random points are almost certainly the same; \
         one point at which they differ shows that they are not.\n\
         How it can mislead: a formula printed for other models than `meant_for` names is not \
         wrong; and a derivation can have a wrong premise, so `readings` names what else could \
         have been meant.\n\
         Reference: Schwartz 1980, Fast Probabilistic Algorithms for Verification of Polynomial \
         Identities.",
    fields: &[
        FieldSpec::required("as_printed", "the formula of the registry that transcribes the print"),
        FieldSpec::required("meant_for", "the models that it is meant for, in words"),
        FieldSpec::optional(
            "derived",
            "what it should be: a formula, or `formula` and `inputs` by name or number",
        ),
        FieldSpec::optional(
            "limits",
            "tables of `label`, `where` (input = number or input), `gives`",
        ),
        FieldSpec::optional(
            "values",
            "tables of `label`, `at` (input = term), `gives` (a term), `tolerance`",
        ),
        FieldSpec::optional("increases_in", "an input with which it is said to grow"),
        FieldSpec::optional("readings", "other formulas that may have been meant, as `derived`"),
        FieldSpec::optional("points", "how many random points: 8, at least 3"),
        FieldSpec::optional("seed", "the seed of the random points: 1"),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let name = node.required("as_printed")?;
    let printed = formula(name)?;
    let meant_for = node.required("meant_for")?.text()?;
    if let Some(claimed) = claim.claimed.map(Node::text).transpose()?
        && !printed.source.contains(claimed)
    {
        let reason = format!("`{}` does not quote the claimed formula", printed.name);
        return Ok(Outcome::unchecked(&OTHER_TEXT, reason));
    }
    let points = Points::read(claim, printed)?;
    let mut examined = Examined { printed, points, done: Vec::new(), faults: Vec::new() };
    examined.derivation(node)?;
    examined.limits(node)?;
    examined.growth(node)?;
    examined.values(node, evidence)?;
    if examined.done.is_empty() {
        let expected = "at least one of `derived`, `limits`, `values`, `increases_in`";
        return Err(MISSING_FIELD.at(claim.place(), expected, "none of them"));
    }
    let compared = format!("meant for {meant_for}; {}", examined.done.join("; "));
    Ok(told(examined.faults)
        .giving(printed.definition())
        .within("formula", compared)
        .by(Method::Recomputed))
}

/// A printed formula under examination: what was compared, and what was wrong.
struct Examined {
    printed: &'static Formula,
    points: Points,
    done: Vec<String>,
    faults: Vec<Fault>,
}

impl Examined {
    /// Holds it against its derivation at the random points.
    fn derivation(&mut self, node: Node) -> Result<(), Error> {
        let Some(derived) = node.get("derived") else { return Ok(()) };
        let derived = Call::read(derived, self.printed)?;
        let Points { list, seed, .. } = &self.points;
        self.done.push(format!("{} random points, seed {seed}, within 1e-9", list.len()));
        if let Some(parting) = self.points.compare(&Call::itself(self.printed), &derived) {
            let what = format!("the derivation gives {}", derived.shown(self.printed));
            self.faults.push(parting.fault(&DIFFERS, &what));
            self.faults.extend(other_readings(node, self.printed, &self.points)?);
        }
        Ok(())
    }

    /// Holds it against what must be left of it at each limit.
    fn limits(&mut self, node: Node) -> Result<(), Error> {
        for limit in tables(node, "limits")? {
            limit.only(&["label", "where", "gives"])?;
            let label = limit.required("label")?.text()?;
            let at = Call::itself(self.printed).with(limit.required("where")?, self.printed)?;
            let gives = Call::read(limit.required("gives")?, self.printed)?;
            self.done.push(label.to_owned());
            let parting = self.points.compare(&at, &gives);
            self.faults.extend(parting.map(|parting| parting.fault(&WRONG_LIMIT, label)));
        }
        Ok(())
    }

    /// Whether it grows with the input that it is said to grow with.
    fn growth(&mut self, node: Node) -> Result<(), Error> {
        let Some(input) = node.get("increases_in") else { return Ok(()) };
        let name = input.text()?;
        let index = input_of(self.printed, input, name)?;
        self.done.push(format!("grows with {name}"));
        self.faults.extend(self.points.not_increasing(&Call::itself(self.printed), index));
        Ok(())
    }

    /// Holds it against the cases whose result is known.
    fn values(&mut self, node: Node, evidence: &Evidence) -> Result<(), Error> {
        for value in tables(node, "values")? {
            self.done.push(value.required("label")?.text()?.to_owned());
            self.faults.extend(known_value(value, self.printed, evidence)?);
        }
        Ok(())
    }
}

/// The tables of a list; none where it is absent.
fn tables<'a>(node: Node<'a>, field: &str) -> Result<Vec<Node<'a>>, Error> {
    node.get(field).map_or(Ok(Vec::new()), |list| Ok(list.items()?.collect()))
}

/// One thing that is wrong with a formula, or cannot be decided.
struct Fault {
    code: &'static Code,
    text: String,
}

/// Everything that was found, in one outcome: the worst first.
fn told(mut faults: Vec<Fault>) -> Outcome {
    faults.sort_by_key(|fault| fault.code == &UNDEFINED);
    let texts: Vec<_> = faults.iter().map(|fault| fault.text.as_str()).collect();
    match faults.first() {
        None => Outcome::verified(),
        Some(first) if first.code == &UNDEFINED => {
            Outcome::inconclusive(first.code, texts.join("; "))
        }
        Some(first) => Outcome::refuted(first.code, texts.join("; ")),
    }
}

fn formula(name: Node) -> Result<&'static Formula, Error> {
    let text = name.text()?;
    let found =
        Formula::find(text).filter(|formula| formula.inputs.iter().all(|input| !input.many));
    let expected = "a formula of the registry without an input that is given many times";
    found.ok_or_else(|| UNKNOWN_FORMULA.at(name.place(), expected, format!("`{text}`")))
}

fn input_of(printed: &Formula, node: Node, name: &str) -> Result<usize, Error> {
    printed.inputs.iter().position(|input| input.name == name).ok_or_else(|| {
        let names: Vec<_> = printed.inputs.iter().map(|input| input.name).collect();
        WRONG_INPUTS.at(node.place(), format!("one of {}", names.join(", ")), format!("`{name}`"))
    })
}

/// What an input of a call is: an input of the printed formula, or a number.
#[derive(Clone)]
enum Argument {
    Input(usize),
    Number(BigRational),
}

impl Argument {
    /// A number as printed, taken exactly, or the name of an input of the printed formula.
    fn read(node: Node, printed: &Formula) -> Result<Self, Error> {
        let text = node.text()?;
        match Printed::parse(text) {
            Ok(number) => Ok(Self::Number(number.value() / number.unit().per_one())),
            Err(_) => Ok(Self::Input(input_of(printed, node, text)?)),
        }
    }
}

/// A formula over the inputs of the printed one; a plain number is a call without a formula.
#[derive(Clone)]
struct Call {
    formula: Option<&'static Formula>,
    arguments: Vec<Argument>,
}

impl Call {
    /// The printed formula over its own inputs.
    fn itself(printed: &'static Formula) -> Self {
        let arguments = (0..printed.inputs.len()).map(Argument::Input).collect();
        Self { formula: Some(printed), arguments }
    }

    /// A formula by name, `formula` with `inputs`, or a number; inputs that are not named are those of
    /// the same name.
    fn read(node: Node, printed: &Formula) -> Result<Self, Error> {
        let (name, inputs) = match node.get("formula") {
            Some(name) => {
                node.only(&["formula", "inputs"])?;
                (name, node.get("inputs"))
            }
            None if Printed::parse(node.text()?).is_ok() => {
                let arguments = vec![Argument::read(node, printed)?];
                return Ok(Self { formula: None, arguments });
            }
            None => (node, None),
        };
        let called = formula(name)?;
        if let Some((key, given)) = inputs
            .map(Node::members)
            .transpose()?
            .into_iter()
            .flatten()
            .find(|(key, _)| called.inputs.iter().all(|input| input.name != *key))
        {
            let expected = format!("inputs of `{}`", called.name);
            return Err(WRONG_INPUTS.at(given.place(), expected, format!("`{key}`")));
        }
        let argument = |spec: &InputSpec| match inputs.and_then(|i| i.get(spec.name)) {
            Some(given) => Argument::read(given, printed),
            None => Ok(Argument::Input(input_of(printed, name, spec.name)?)),
        };
        let arguments = called.inputs.iter().map(argument).collect::<Result<_, _>>()?;
        Ok(Self { formula: Some(called), arguments })
    }

    /// The same with other arguments for some inputs of the printed formula.
    fn with(&self, replaced: Node, printed: &Formula) -> Result<Self, Error> {
        let mut call = self.clone();
        for (name, given) in replaced.members()? {
            let index = input_of(printed, given, name)?;
            if let Some(argument) = call.arguments.get_mut(index) {
                *argument = Argument::read(given, printed)?;
            }
        }
        Ok(call)
    }

    /// "`relative_cost` (beta = mu)": the formula with the arguments that are not inputs of the same name.
    fn shown(&self, printed: &Formula) -> String {
        let Some(formula) = self.formula else { return "the number".to_owned() };
        let other = |(spec, argument): (&InputSpec, &Argument)| {
            let word = match argument {
                Argument::Input(at) => printed.inputs.get(*at)?.name.to_owned(),
                Argument::Number(number) => format_significant(number, SHOWN),
            };
            (word != spec.name).then(|| format!("{} = {word}", spec.name))
        };
        let others: Vec<_> = formula.inputs.iter().zip(&self.arguments).filter_map(other).collect();
        match others.is_empty() {
            true => format!("`{}`", formula.name),
            false => format!("`{}` ({})", formula.name, others.join(", ")),
        }
    }

    /// The value at a point; nothing where it has none.
    fn at(&self, point: &[BigRational]) -> Option<BigRational> {
        let number = |argument: &Argument| match argument {
            Argument::Input(index) => point.get(*index).cloned(),
            Argument::Number(number) => Some(number.clone()),
        };
        let numbers: Vec<_> = self.arguments.iter().map(number).collect::<Option<_>>()?;
        let Some(formula) = self.formula else { return numbers.into_iter().next() };
        let operand = |number: BigRational| {
            let float = nearest_f64(&number);
            Operand::computed(String::new(), Interval::point(number), float)
        };
        let operands: Vec<_> = numbers.into_iter().map(operand).collect();
        Some(formula.evaluate(&operands).ok()?.interval.middle())
    }
}

/// The random points of one claim.
struct Points {
    seed: u64,
    names: Vec<&'static str>,
    list: Vec<Vec<BigRational>>,
}

/// Where two sides part: at how many of the points, and one of them.
struct Parting {
    apart: usize,
    compared: usize,
    example: String,
}

impl Parting {
    /// The fault that it is.
    fn fault(self, code: &'static Code, what: &str) -> Fault {
        if self.compared == 0 {
            return Fault { code: &UNDEFINED, text: format!("{what}: no value at any point") };
        }
        let Self { apart, compared, example } = self;
        Fault { code, text: format!("{what}, but {apart} of {compared} points differ: {example}") }
    }
}

impl Points {
    fn read(claim: &Claim, printed: &'static Formula) -> Result<Self, Error> {
        let number =
            |field: &str, default| claim.node.get(field).map_or(Ok(default), |node| node.integer());
        let (count, seed) = (number("points", POINTS)?, number("seed", 1)?);
        if !(FEWEST..=MOST).contains(&count) {
            let expected = format!("{FEWEST} to {MOST} points");
            return Err(BAD_CHOICE.at(claim.place(), expected, count.to_string()));
        }
        let point = |at: u64| printed.inputs.iter().map(|input| drawn(seed, at, input)).collect();
        let names = printed.inputs.iter().map(|input| input.name).collect();
        Ok(Self { seed, names, list: (0..count).map(point).collect() })
    }

    /// Where two sides differ by more than 1e-9 of their size; nothing where they agree everywhere.
    fn compare(&self, left: &Call, right: &Call) -> Option<Parting> {
        let (mut apart, mut compared, mut example) = (0, 0, String::new());
        for point in &self.list {
            let Some((a, b)) = left.at(point).zip(right.at(point)) else { continue };
            compared += 1;
            let allowed = a.abs().max(b.abs()) / BigRational::from_integer(BigInt::from(10).pow(9));
            if (&a - &b).abs() > allowed {
                apart += 1;
                if example.is_empty() {
                    let [a, b] = [a, b].map(|value| format_significant(&value, SHOWN));
                    example = format!("printed {a}, not {b}, at {}", self.shown(point, left));
                }
            }
        }
        (apart > 0 || compared == 0).then_some(Parting { apart, compared, example })
    }

    /// Where a greater input does not give a greater value.
    fn not_increasing(&self, of: &Call, input: usize) -> Option<Fault> {
        let text = self.list.iter().find_map(|point| {
            let mut greater = point.clone();
            *greater.get_mut(input)? += BigRational::one();
            let (before, after) = (of.at(point)?, of.at(&greater)?);
            let [low, high] = [&before, &after].map(|value| format_significant(value, SHOWN));
            (after <= before).then(|| {
                let name = self.names.get(input).copied().unwrap_or_default();
                format!(
                    "from {low} it goes to {high} where {name} grows by 1, at {}",
                    self.shown(point, of)
                )
            })
        })?;
        Some(Fault { code: &NOT_INCREASING, text })
    }

    /// "alpha 1.5, beta 3": the inputs that the call still has.
    fn shown(&self, point: &[BigRational], of: &Call) -> String {
        let used =
            |at: usize| of.arguments.iter().any(|a| matches!(a, Argument::Input(i) if *i == at));
        let each = self.names.iter().zip(point).enumerate().filter(|(at, _)| used(*at));
        let each: Vec<_> = each
            .map(|(_, (name, value))| format!("{name} {}", format_significant(value, SHOWN)))
            .collect();
        each.join(", ")
    }
}

/// One input of one random point: whole for a count.
fn drawn(seed: u64, point: u64, input: &InputSpec) -> BigRational {
    let mut rng = Rng::new(seed, &format!("formula_limits/{point}/{}", input.name));
    match input.precision {
        Precision::Count => BigRational::from_integer((rng.below(STEP) + 1).into()),
        _ => BigRational::new((rng.below(STEPS) + 1).into(), STEP.into()),
    }
}

/// Which of the other readings the printed formula is, where it is not the derived one.
fn other_readings(
    node: Node,
    printed: &'static Formula,
    points: &Points,
) -> Result<Option<Fault>, Error> {
    let Some(readings) = node.get("readings") else { return Ok(None) };
    let mut names = Vec::new();
    for reading in readings.items()? {
        let reading = Call::read(reading, printed)?;
        let name = reading.shown(printed);
        if points.compare(&Call::itself(printed), &reading).is_none() {
            return Ok(Some(Fault { code: &DIFFERS, text: format!("it is {name} instead") }));
        }
        names.push(name);
    }
    let text = format!("nor is it {}", names.join(" or "));
    Ok((!names.is_empty()).then_some(Fault { code: &DIFFERS, text }))
}

/// A case whose result is known.
fn known_value(
    value: Node,
    printed: &'static Formula,
    evidence: &Evidence,
) -> Result<Option<Fault>, Error> {
    value.only(&["label", "at", "gives", "tolerance"])?;
    let label = value.required("label")?.text()?;
    let at = value.required("at")?;
    let mut operands = Vec::new();
    for input in printed.inputs {
        let EvidenceQuantity { interval, float, text, .. } =
            evidence.quantity_as(at.required(input.name)?, input.precision)?;
        operands.push(Operand::computed(text, interval, float));
    }
    let known = evidence.quantity(value.required("gives")?)?;
    let Ok(found) = printed.evaluate(&operands) else {
        return Ok(Some(Fault { code: &UNDEFINED, text: format!("{label}: no value") }));
    };
    let allowed =
        value.get("tolerance").map(fraction).transpose()?.unwrap_or_else(BigRational::zero);
    let around = Interval::around(&BigRational::one(), &allowed);
    if (&known.interval * &around).meets(&found.interval) {
        return Ok(None);
    }
    let [given, known] =
        [found.interval.middle(), known.value()].map(|value| format_significant(&value, DIGITS));
    Ok(Some(Fault {
        code: &WRONG_VALUE,
        text: format!("{label}: it gives {given}, known is {known}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(name: &str) -> &'static Formula {
        Formula::find(name).unwrap()
    }

    #[test]
    fn random_inputs_are_the_same_for_ever_and_within_their_range() {
        let [zeta, layers, ..] = printed("shape_params").inputs else { panic!("three inputs") };
        let drawn_twice = |seed, point| (drawn(seed, point, zeta), drawn(seed, point, zeta));
        let (first, again) = drawn_twice(1, 0);
        assert_eq!(first, again);
        assert!(drawn(2, 0, zeta) != first && drawn(1, 1, zeta) != first);
        for point in 0..200 {
            let (value, count) = (drawn(1, point, zeta), drawn(1, point, layers));
            for one in [&value, &count] {
                assert!(one.is_positive() && *one <= BigRational::from_integer(64.into()));
            }
            assert!(count.is_integer());
        }
    }

    #[test]
    fn a_call_puts_arguments_in_place() {
        let rate = printed("shape_activation_rate");
        let number = |n: i64| BigRational::from_integer(n.into());
        let of = |arguments| Call { formula: Some(rate), arguments };
        let point = [number(2), number(12)];
        let itself = Call::itself(rate);
        assert_eq!(itself.at(&point), Some(BigRational::new(1.into(), 4.into())));
        let all = of(vec![Argument::Input(1), Argument::Input(1)]);
        assert_eq!(all.at(&point), Some(number(1)));
        let none = of(vec![Argument::Number(number(0)), Argument::Input(1)]);
        assert_eq!(none.at(&point), Some(BigRational::new(1.into(), 10.into())));
        assert_eq!(of(vec![Argument::Input(7), Argument::Input(1)]).at(&point), None);
        let plain = Call { formula: None, arguments: vec![Argument::Number(number(3))] };
        assert_eq!(plain.at(&point), Some(number(3)));
    }
}
