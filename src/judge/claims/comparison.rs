//! Tests of groups of runs, each under every summary that the printed digits allow.
//!
//! Owns which test a comparison gets (pairs, Welch, one sample), the statistics that a publication can
//! print of it, and whether a printed statistic follows. Who wins is left to `significance`.

use num_rational::BigRational;
use num_traits::One;

use super::FieldSpec;
use super::arms::{ArmRuns, number, percent};
use super::tolerance::{self, Declared};
use crate::evidence::EvidenceQuantity;
use repro_exact::decimal::{Interval, Printed, Unit, format_significant, nearest_f64};
use repro_receipt::source::{Code, Error, Node};
use repro_report::outcome::{Outcome, Verdict};
use repro_stats::power::Goal;
use repro_stats::spread::ErrorBarMeaning;
use repro_stats::{self as stats, Refused, Summary, T};

/// The part by which a float that went through a distribution may differ from another program's.
const FLOAT_NOISE: f64 = 1e-9;

/// A test of one quantity: as recorded, and under every summary that the printed digits allow.
#[derive(Debug, Clone)]
pub struct Test {
    /// Its name: "Welch", "paired t".
    pub name: &'static str,
    /// What it tests for people: "dense - MoE-64".
    pub what: String,
    /// How many runs each group has.
    pub runs: Vec<usize>,
    estimate: Computed,
    all: Vec<T>,
    /// Whether it is of values as recorded.
    recorded: bool,
}

impl Test {
    /// A mean against an exact value.
    pub fn one_sample(name: &'static str, arm: &ArmRuns, null: f64) -> Result<Self, String> {
        let all = arm.summaries()?;
        let all = all.iter().map(|summary| stats::one_sample(summary, null)).collect();
        Self::new(name, arm.name().to_owned(), vec![arm.n()], arm.mean(), all, arm.is_recorded())
    }

    /// Two means, each with its own spread.
    pub fn welch(a: &ArmRuns, b: &ArmRuns) -> Result<Self, String> {
        Self::of_two("Welch", a, b, stats::welch)
    }

    /// Two means, one spread for both.
    pub fn pooled(a: &ArmRuns, b: &ArmRuns) -> Result<Self, String> {
        Self::of_two("pooled t", a, b, stats::pooled)
    }

    /// The difference of two means in units of a spread that was measured elsewhere.
    pub fn external(a: &ArmRuns, b: &ArmRuns, noise: &ArmRuns) -> Result<Self, String> {
        let scale = (1.0 / a.n() as f64 + 1.0 / b.n() as f64).sqrt();
        let difference = difference(a, b);
        let estimates = [&difference.0, difference.1.low(), difference.1.high()];
        let df = (noise.n() - 1) as f64;
        let spreads = noise.summaries()?;
        let tests = estimates.into_iter().flat_map(|estimate| {
            let estimate = nearest_f64(estimate);
            spreads.iter().map(move |noise| T::new(estimate, 0.0, noise.sd * scale, df))
        });
        let tests = tests.collect();
        let runs = vec![a.n(), b.n()];
        let recorded = [a, b, noise].iter().all(|arm| arm.is_recorded());
        Self::new("external variance", named(a, b), runs, difference, tests, recorded)
    }

    fn of_two(
        name: &'static str,
        a: &ArmRuns,
        b: &ArmRuns,
        test: impl Fn(&Summary, &Summary) -> Result<T, Refused>,
    ) -> Result<Self, String> {
        let (left, right) = match (a.summaries(), b.summaries()) {
            (Ok(left), Ok(right)) => (left, right),
            (left, right) => {
                let reasons: Vec<_> = left.err().into_iter().chain(right.err()).collect();
                return Err(reasons.join(", "));
            }
        };
        let all = left.iter().flat_map(|a| right.iter().map(|b| test(a, b))).collect();
        let recorded = a.is_recorded() && b.is_recorded();
        Self::new(name, named(a, b), vec![a.n(), b.n()], difference(a, b), all, recorded)
    }

    /// Refuses where the values as recorded have no statistic; where only a corner of what the digits
    /// allow has none, the spread may be zero and everything is possible.
    fn new(
        name: &'static str,
        what: String,
        runs: Vec<usize>,
        (point, span): (BigRational, Interval),
        all: Vec<Result<T, Refused>>,
        recorded: bool,
    ) -> Result<Self, String> {
        if let Some(Err(refused)) = all.first() {
            return Err(format!("{what}: {refused}"));
        }
        let found: Vec<T> = all.iter().filter_map(|test| test.as_ref().ok().copied()).collect();
        if found.len() < all.len() && !recorded {
            return Err(format!("{what}: the spread is printed as no more than zero"));
        }
        let estimate = Computed::exact((point, span), recorded);
        Ok(Self { name, what, runs, estimate, all: found, recorded })
    }

    /// The test of the values as recorded, or of the numbers as printed.
    pub fn as_printed(&self) -> T {
        self.all[0]
    }

    /// The tests that decide: of recorded values the one, of printed summaries all that are possible.
    pub fn possible(&self) -> &[T] {
        if self.recorded { &self.all[..1] } else { &self.all }
    }

    /// "Welch t = 6.91, df 2.34, p = 0.0123 (two-sided), 95% [0.02, 0.04]".
    pub fn text(&self, level: f64) -> String {
        let t = self.as_printed();
        let [low, high] = t.interval(level);
        format!(
            "{} = {}, df {}, two-sided p = {}, {} interval [{}, {}]",
            if self.name.ends_with('t') {
                self.name.to_owned()
            } else {
                format!("{} t", self.name)
            },
            number(t.t, 4),
            number(t.df, 4),
            number(t.p_two_sided(), 3),
            percent(level),
            number(low, 5),
            number(high, 5),
        )
    }

    /// A statistic of this test; none where it may be anything.
    pub fn statistic(&self, statistic: Statistic) -> Option<Computed> {
        if statistic == Statistic::Estimate {
            return Some(self.estimate.clone());
        }
        self.computed(|t| statistic.of(t, &self.runs))
    }

    /// What a function of the test comes to; none where it has no value.
    pub fn computed(&self, of: impl Fn(&T) -> Option<f64>) -> Option<Computed> {
        let values: Option<Vec<f64>> = self.all.iter().map(of).collect();
        Computed::of(&values?, self.recorded)
    }
}

/// A difference of means: as recorded, exactly, and all that the digits allow.
pub fn difference(a: &ArmRuns, b: &ArmRuns) -> (BigRational, Interval) {
    let ((left, lefts), (right, rights)) = (a.mean(), b.mean());
    (left - right, &lefts - &rights)
}

fn named(a: &ArmRuns, b: &ArmRuns) -> String {
    format!("{} - {}", a.name(), b.name())
}

/// Whether groups are compared run by run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairing {
    /// Whether the claim says that they are.
    pub claimed: bool,
    /// Whether that was declared before the runs, and one seed fixes the data order in both arms.
    pub established: bool,
}

/// Whether the runs are pairs.
pub const PAIRED: FieldSpec =
    FieldSpec::optional("paired", "whether the groups are compared run by run, in the order given");
/// When they were declared to be.
pub const PAIRED_BEFORE: FieldSpec =
    FieldSpec::optional("paired_before", "whether pairing was declared before the runs");
/// What makes them pairs.
pub const SAME_DATA_ORDER: FieldSpec =
    FieldSpec::optional("same_data_order", "whether the seed fixes the data order in both groups");

impl Pairing {
    /// Reads `paired`, `paired_before` and `same_data_order`.
    pub fn of(node: Node) -> Result<Self, Error> {
        let said = |field| node.get(field).map(Node::truth).transpose().map(|t| t == Some(true));
        let (claimed, before, order) =
            (said("paired")?, said("paired_before")?, said("same_data_order")?);
        Ok(Self { claimed, established: claimed && before && order })
    }
}

/// Two groups and the tests of their difference.
#[derive(Debug)]
pub struct Pair {
    /// The difference of the means.
    pub estimate: Computed,
    /// The test that decides, then the other one where there is one; or why there is none.
    pub tests: Result<Vec<Test>, String>,
    /// How closely the pairs move together.
    pub correlation: Option<f64>,
}

impl Pair {
    /// Compares two groups; groups that cannot be the pairs that they are said to be are refused at
    /// `asked`.
    pub fn of(a: &ArmRuns, b: &ArmRuns, pairing: Pairing, asked: Node) -> Result<Self, Error> {
        let differences = match (pairing.claimed, a.minus(b, asked)) {
            (true, Err(error)) => return Err(error),
            (_, differences) => differences.ok(),
        };
        let welch = Test::welch(a, b);
        let paired = differences.map(|pairs| Test::one_sample("paired t", &pairs, 0.0));
        let (decides, other) = match paired {
            Some(paired) if pairing.established => (paired, welch.ok()),
            paired => (welch, paired.and_then(Result::ok)),
        };
        let tests = decides.map(|test| std::iter::once(test).chain(other).collect());
        let correlation = match (a.values(), b.values()) {
            (Some(a), Some(b)) => stats::correlation(&a, &b).ok(),
            _ => None,
        };
        let recorded = a.is_recorded() && b.is_recorded();
        Ok(Self { estimate: Computed::exact(difference(a, b), recorded), tests, correlation })
    }

    /// "gap 0.0297; paired t = …; Welch t = …; rho = 0.98".
    pub fn text(&self, level: f64) -> String {
        let mut parts = vec![format!("gap {}", self.estimate.text())];
        parts.extend(self.tests.iter().flatten().map(|test| test.text(level)));
        parts.extend(self.correlation.map(|rho| format!("rho {}", number(rho, 3))));
        parts.join("; ")
    }
}

/// Which p a test has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PValueTail {
    /// Far from the null value on either side.
    Both,
    /// Below it.
    Less,
    /// Above it.
    Greater,
}

impl PValueTail {
    /// The p of a test.
    pub fn p(self, t: &T) -> f64 {
        match self {
            Self::Both => t.p_two_sided(),
            Self::Less => t.p_less(),
            Self::Greater => t.p_greater(),
        }
    }
}

/// What a publication can print of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The mean, the gap, the slope.
    Estimate,
    /// The t statistic.
    T,
    /// The degrees of freedom.
    Df,
    /// The p.
    P(PValueTail),
    /// An end of the interval at this level, the high one where true.
    End(f64, bool),
    /// Half the width of the interval at this level.
    HalfWidth(f64),
    /// What is printed after the ± of the estimate.
    Spread(ErrorBarMeaning),
    /// The smallest gap that a test of this error reaches this goal for.
    Detectable(Goal),
}

/// What is printed after the ± of an estimate; none where it does not follow from its test.
fn spread(reading: ErrorBarMeaning, t: &T, runs: &[usize]) -> Option<f64> {
    // Only one group has a standard deviation; a difference of two has but an error.
    let root = match runs {
        [n] => Some(*n as f64),
        _ => None,
    };
    match reading {
        ErrorBarMeaning::StandardError => Some(t.standard_error),
        ErrorBarMeaning::NormalConfidence => Some(1.96 * t.standard_error),
        ErrorBarMeaning::Confidence(level) => {
            Statistic::HalfWidth(f64::from(level) / 1000.0).of(t, runs)
        }
        ErrorBarMeaning::Sd => Some(t.standard_error * root?.sqrt()),
        ErrorBarMeaning::PopulationSd => Some(t.standard_error * (root? - 1.0).sqrt()),
        ErrorBarMeaning::HalfRange => None,
    }
}

impl Statistic {
    /// Its value; none for spreads that do not follow from the number of runs.
    fn of(self, t: &T, runs: &[usize]) -> Option<f64> {
        match self {
            Self::Estimate => Some(t.estimate),
            Self::T => Some(t.t),
            Self::Df => Some(t.df),
            Self::P(tail) => Some(tail.p(t)),
            Self::End(level, high) => Some(t.interval(level)[usize::from(high)]),
            Self::HalfWidth(level) => Some(t.interval(level)[1] - t.estimate),
            Self::Spread(reading) => spread(reading, t, runs),
            Self::Detectable(goal) => goal.minimum_detectable_gap(t.standard_error, t.df).ok(),
        }
    }

    /// Its name for people.
    pub fn word(self) -> String {
        match self {
            Self::Estimate => "estimate".to_owned(),
            Self::T => "t".to_owned(),
            Self::Df => "degrees of freedom".to_owned(),
            Self::P(PValueTail::Both) => "two-sided p".to_owned(),
            Self::P(_) => "one-sided p".to_owned(),
            Self::End(level, false) => format!("low end of the {} interval", percent(level)),
            Self::End(level, true) => format!("high end of the {} interval", percent(level)),
            Self::HalfWidth(level) => format!("half width of the {} interval", percent(level)),
            Self::Spread(reading) => reading.word(),
            Self::Detectable(_) => "smallest detectable gap".to_owned(),
        }
    }
}

/// A recomputed number.
#[derive(Debug, Clone)]
pub struct Computed {
    /// Of the values as recorded, or of the numbers as printed.
    pub point: BigRational,
    /// The same, and what is within the noise of floating point of it.
    near: Interval,
    /// Everything that the printed digits allow.
    pub span: Interval,
    /// Where it came from resampling: all that other seeds may give, which is a tolerance and not a
    /// coarse input.
    drawn: Option<Interval>,
    recorded: bool,
}

impl Computed {
    /// A number that was computed without rounding, and all that the printed digits allow.
    pub fn exact((point, span): (BigRational, Interval), recorded: bool) -> Self {
        Self { near: Interval::point(point.clone()), point, span, drawn: None, recorded }
    }

    /// The first of some floats, and all that they span; none where one is infinite.
    pub fn of(values: &[f64], recorded: bool) -> Option<Self> {
        let around = |value: &f64| {
            let (centre, part) = (BigRational::from_float(*value)?, FLOAT_NOISE * value.abs());
            Some(Interval::around(&centre, &BigRational::from_float(part)?))
        };
        let near: Option<Vec<_>> = values.iter().map(around).collect();
        let near = near?;
        let first = near.first()?.clone();
        let span = near.iter().fold(first.clone(), |span, value| span.hull(value));
        let point = BigRational::from_float(*values.first()?)?;
        Some(Self { point, near: first, span, drawn: None, recorded })
    }

    /// A float that other resamples would put anywhere in `drawn`; the values' unprinted digits move it
    /// by no more than `rounding`.
    pub fn resampled(point: f64, drawn: [f64; 2], rounding: f64) -> Option<Self> {
        let [low, high] = drawn;
        let exact = BigRational::from_float;
        let near = Interval::between(exact(low)?, exact(high)?);
        let span = Interval::between(near.low() - exact(rounding)?, near.high() + exact(rounding)?);
        let point = exact(point)?;
        Some(Self { drawn: Some(near.clone()), near, point, span, recorded: true })
    }

    /// Whether a value is within the noise of floating point, or of resampling, of this one.
    pub fn is_near(&self, value: f64) -> bool {
        BigRational::from_float(value).is_some_and(|value| self.near.contains(&value))
    }

    /// The number for people.
    pub fn text(&self) -> String {
        format_significant(&self.point, 6)
    }

    /// Whether a printed number follows. Of recorded values the value itself counts first; what else
    /// their digits allow counts only where it does not fit.
    pub fn follows(&self, claimed: &Printed, differs: &'static Code) -> Outcome {
        if claimed.is_full_float() && claimed.bound().is_none() && self.near.meets(&claimed.exact())
        {
            let outcome = Outcome::verified().giving(nearest_f64(&self.point).to_string());
            return outcome.within("float_4ulp", "1 part in 10^9, the noise of floating point");
        }
        if let Some(drawn) = &self.drawn
            && drawn.meets(&claimed.interval().scaled(&claimed.unit().per_one().recip()))
        {
            let room = format_significant(&drawn.width(), 2);
            return Outcome::verified()
                .within("rounding_interval", format!("5 sd of resampling: {room} wide"));
        }
        if self.recorded {
            let outcome = self.judge(claimed, &self.near, differs);
            if outcome.verdict == Verdict::Verified {
                return outcome;
            }
        }
        self.judge(claimed, &self.span, differs)
    }

    fn judge(&self, claimed: &Printed, interval: &Interval, differs: &'static Code) -> Outcome {
        let quantity = EvidenceQuantity {
            label: String::new(),
            interval: interval.clone(),
            float: nearest_f64(&self.point),
            unit: Unit::Plain,
            text: String::new(),
            derivation: String::new(),
            approximate: false,
        };
        let worth = claimed.unit().worth_in(Unit::Plain);
        let shown = format_significant(&(&self.point / worth.unwrap_or_else(BigRational::one)), 6);
        let outcome = tolerance::judge(claimed, &quantity, &Declared::default(), differs);
        outcome.giving(format!("{shown}{}", claimed.unit().sign()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tolerance::OTHER_UNIT as OTHER_DIGITS;
    use proptest::prelude::*;

    fn verdict(computed: &Computed, claimed: &str) -> Verdict {
        computed.follows(&Printed::parse(claimed).unwrap(), &OTHER_DIGITS).verdict
    }

    #[test]
    fn recorded_values_count_before_what_rounds_to_them() {
        let (a, b) = (
            ArmRuns::typed("a", &["1.1", "1.2", "1.4"]),
            ArmRuns::typed("b", &["1.0", "1.0", "1.1"]),
        );
        let gap = Computed::exact(difference(&a, &b), true);
        for (claimed, expected) in [
            ("0.2", Verdict::Verified),
            ("0.20000", Verdict::Verified),
            // Another value that the digits of the inputs allow: too coarse to say.
            ("0.21000", Verdict::Inconclusive),
            ("0.3", Verdict::Verified),
            ("0.31", Verdict::Refuted),
            ("20%", Verdict::Verified),
            ("over 0.35", Verdict::Refuted),
        ] {
            assert_eq!(verdict(&gap, claimed), expected, "{claimed}");
        }
    }

    #[test]
    fn a_spread_that_may_be_zero_has_no_test() {
        let near = |text| ArmRuns::summarised("a", text, 3, ErrorBarMeaning::Sd);
        let test = Test::welch(&near("1.5 ± 0.00"), &near("1.7 ± 0.00"));
        assert_eq!(
            test.unwrap_err(),
            "a - a: the values do not vary: there is no spread to compare with"
        );
        let test = Test::one_sample("t", &near("1.5 ± 0.0"), 1.0);
        assert!(test.is_err());
        let test = Test::welch(&ArmRuns::typed("a", &["1"]), &ArmRuns::typed("b", &["2"]));
        assert_eq!(test.unwrap_err(), "a is one run, b is one run");
    }

    #[test]
    fn external_variance_has_the_degrees_of_its_own() {
        let one = |label, value| ArmRuns::typed(label, &[value]);
        let noise = ArmRuns::typed("noise", &["0.050", "0.054"]);
        let test = Test::external(&one("a", "0.061"), &one("b", "0.052"), &noise).unwrap();
        let t = test.as_printed();
        // 0.009/(0.0028284 √2)
        assert!((t.t - 2.25).abs() < 1e-12 && t.df == 1.0, "{t:?}");
    }

    proptest! {
        /// What a correct program prints of a test of printed means and spreads is never refuted.
        #[test]
        fn statistics_of_the_values_behind_a_print_are_never_refuted(
            means in prop::array::uniform2(1000i32..5000),
            sds in prop::array::uniform2(50i32..400),
            runs in prop::array::uniform2(2u64..9),
            digits in 1usize..7,
        ) {
            let arms = [0, 1].map(|at| {
                let text = format!(
                    "{:.3} ± {:.3}",
                    f64::from(means[at]) / 3000.0,
                    f64::from(sds[at]) / 3000.0
                );
                ArmRuns::summarised("a", &text, runs[at], ErrorBarMeaning::Sd)
            });
            let exact = [0, 1].map(|at| Summary {
                n: runs[at] as usize,
                mean: f64::from(means[at]) / 3000.0,
                sd: f64::from(sds[at]) / 3000.0,
            });
            let truth = stats::welch(&exact[0], &exact[1]).unwrap();
            let test = Test::welch(&arms[0], &arms[1]).unwrap();
            let [low, high] = truth.interval(0.95);
            for (statistic, value) in [
                (Statistic::Estimate, truth.estimate),
                (Statistic::T, truth.t),
                (Statistic::P(PValueTail::Both), truth.p_two_sided()),
                (Statistic::P(PValueTail::Less), truth.p_less()),
                (Statistic::End(0.95, false), low),
                (Statistic::End(0.95, true), high),
                (Statistic::Spread(ErrorBarMeaning::StandardError), truth.standard_error),
            ] {
                let claimed = format!("{value:.digits$}");
                let found = test.statistic(statistic).map(|computed| verdict(&computed, &claimed));
                prop_assert!(found != Some(Verdict::Refuted), "{statistic:?} {claimed}");
            }
        }

        /// Of exact values the print of a statistic holds, and two more in its last place does not.
        #[test]
        fn statistics_of_recorded_values_hold_to_the_digit(
            values in prop::collection::vec(1000i32..2000, 3..8),
        ) {
            let texts: Vec<_> = values.iter().map(|v| format!("{v}.0000000000")).collect();
            let arm = ArmRuns::typed("a", &texts.iter().map(String::as_str).collect::<Vec<_>>());
            let Ok(test) = Test::one_sample("t", &arm, 1500.25) else { return Ok(()) };
            let t = test.as_printed().t;
            let computed = test.statistic(Statistic::T).unwrap();
            prop_assert_eq!(verdict(&computed, &format!("{t:.4}")), Verdict::Verified);
            prop_assert_eq!(verdict(&computed, &format!("{:.4}", t + 0.0002)), Verdict::Refuted);
        }
    }
}
