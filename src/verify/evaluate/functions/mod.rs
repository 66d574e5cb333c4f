//! The functions of the language. A new one is a line of `FUNCTIONS`, what computes it, and its texts in `functions.toml`.

pub mod again;
mod best;
pub mod complete;
pub mod everywhere;
mod files;
pub mod fixed;
pub mod items;
mod numbers;
pub mod parameters;
pub mod possible;
pub mod said;
mod samples;
pub mod tasks;
pub mod tested;

use std::ops::RangeInclusive;

use num_rational::BigRational;
use repro_core::source::{DataFile, Error};
use repro_model::params::ParameterCount;

use crate::evaluate::Call;
use crate::value::Evaluated;
use Gives::{AsItStands, Derived, Ends};

/// The texts of a function.
#[derive(Debug, Clone, Copy)]
pub struct FunctionTexts {
    /// How it is written: `mean(numbers)`.
    pub signature: &'static str,
    /// Its words in a fact: {1} is the first argument, {*} all of them. Empty where a noun of facts says it.
    pub phrase: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// How it misleads.
    pub misleads: &'static str,
    /// An example.
    pub example: &'static str,
}

static TEXTS: DataFile = DataFile::new("functions.toml", include_str!("functions.toml"));

/// A function of the language.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How many values without a name it takes.
    pub takes: RangeInclusive<usize>,
    /// The names of those with one, each of which may be left out.
    pub options: &'static [&'static str],
    /// The kind of its result.
    pub gives: Gives,
    /// The computation.
    pub evaluate: Evaluate,
}

/// The kind of a function's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// Something derived from its arguments.
    Derived,
    /// The two ends of an interval, which stand for two numbers of a quote, or for one behind `±`.
    Ends,
    /// Its arguments as they stand, or whether they hold against each other.
    AsItStands,
}

/// How a function is evaluated.
pub type Evaluate = for<'f, 'a> fn(Call<'f, 'a>) -> Result<Evaluated<'a>, Error>;

/// As many values as are given.
const ANY: usize = usize::MAX;

/// Every function, in the order of lists.
static FUNCTIONS: &[Function] = &[
    new("exp", 1..=1, &[], Derived, |call| numbers::one(call, |x| x.exp(), libm::exp)),
    new("ln", 1..=1, &[], Derived, |call| numbers::one(call, |x| x.ln(), libm::log)),
    new("abs", 1..=1, &[], Derived, |call| numbers::one(call, |x| Some(x.abs()), f64::abs)),
    new("floor", 1..=1, &[], Derived, |call| numbers::one(call, |x| Some(x.floor()), f64::floor)),
    new("ceil", 1..=1, &[], Derived, |call| numbers::one(call, |x| Some(x.ceil()), f64::ceil)),
    new("whole", 1..=1, &[], Derived, numbers::whole),
    new("max", 1..=ANY, &[], Derived, |call| numbers::extreme(call, BigRational::max, f64::max)),
    new("min", 1..=ANY, &[], Derived, |call| numbers::extreme(call, BigRational::min, f64::min)),
    new("sum", 1..=ANY, &[], Derived, numbers::sum),
    new("percent_below", 2..=2, &[], Derived, |call| numbers::relative(call, true)),
    new("percent_above", 2..=2, &[], Derived, |call| numbers::relative(call, false)),
    new("count", 1..=1, &[], Derived, samples::count),
    new("mean", 1..=ANY, &[], Derived, samples::mean),
    new("median", 1..=ANY, &[], Derived, samples::median),
    new("means", 1..=1, &[], Derived, samples::means),
    new("sd", 1..=ANY, &[], Derived, |call| samples::summary(call, |of| of.sd)),
    new("population_sd", 1..=ANY, &[], Derived, |call| {
        samples::summary(call, |of| of.population_sd())
    }),
    new("se", 1..=ANY, &[], Derived, |call| samples::summary(call, |of| of.standard_error())),
    new("ci95", 1..=ANY, &[], Ends, samples::ci95),
    new("best", 1..=1, &["by"], Derived, best::best),
    new("how_many", 1..=1, &[], Derived, samples::how_many),
    new("p", 1..=2, &[], Derived, tested::p_value),
    new("gap_ci95", 2..=2, &[], Ends, tested::interval),
    new("gap_se", 2..=2, &[], Derived, tested::standard_error),
    new("significant", 1..=1, &["family"], Derived, tested::significant),
    new("equivalent", 3..=3, &[], Derived, tested::equivalent),
    new("printed_runs", 3..=3, &[], Derived, tested::printed_runs),
    new("in_family", 1..=1, &["family"], Derived, tested::in_family),
    new("reversed", 2..=2, &[], Derived, tested::reversed),
    new("wilson95", 2..=2, &[], Ends, items::wilson),
    new("bootstrap95", 1..=1, &["resamples"], Ends, samples::bootstrap),
    new("slopes", 1..=1, &["over"], Derived, samples::slopes),
    new("detectable", 2..=2, &["family"], Derived, tested::detectable),
    new("core", 1..=1, &["baselines", "tasks"], Derived, tasks::core),
    new("mcnemar", 2..=2, &["task"], Derived, items::paired),
    new("proportions_p", 4..=4, &["test"], Derived, items::two_lots),
    new("mann_whitney", 2..=2, &[], Derived, tested::mann_whitney),
    new("ks", 2..=2, &[], Derived, tested::kolmogorov_smirnov),
    new("anova", 2..=ANY, &[], Derived, tested::analysis_of_variance),
    new("chi_squared", 1..=1, &["expected"], Derived, items::chi_squared),
    new("fisher", 4..=4, &[], Derived, items::table),
    new("total", 1..=1, &["convention", "of"], Derived, |call| {
        parameters::count(call, ParameterCount::Total)
    }),
    new("active", 1..=1, &["convention", "of"], Derived, |call| {
        parameters::count(call, ParameterCount::Active)
    }),
    new("held_fixed", 1..=ANY, &["over"], AsItStands, fixed::held_fixed),
    new("nearly_fixed", 1..=ANY, &["over", "within"], AsItStands, fixed::nearly_fixed),
    new("differs", 1..=ANY, &["over"], AsItStands, fixed::differs),
    new("reached", 2..=2, &[], AsItStands, possible::reached),
    new("possible", 3..=3, &[], Derived, possible::between),
    new("grim", 2..=2, &[], Derived, possible::grim),
    new("on_grid", 3..=3, &[], Derived, possible::on_grid),
    new("more_right", 3..=3, &[], Derived, items::more_right),
    new("holds", 1..=1, &["for_all"], Derived, everywhere::holds),
    new("complete", 0..=0, &[], Derived, complete::complete),
    new("planned_runs", 0..=0, &[], Derived, complete::planned_runs),
    new(again::REPLAYED, 2..=2, &[], Derived, again::replayed),
    new("unix", 1..=1, &[], Derived, said::unix),
    new("part", 2..=2, &[], Derived, said::part),
    new("same", 2..=ANY, &[], AsItStands, said::same),
    new("each", 2..=ANY, &[], AsItStands, said::each),
    new("quoted", 1..=1, &[], AsItStands, said::quoted),
    new("declared", 1..=1, &[], Derived, said::declared),
    new("printed", 1..=1, &[], AsItStands, said::printed),
];

const fn new(
    name: &'static str,
    takes: RangeInclusive<usize>,
    options: &'static [&'static str],
    gives: Gives,
    evaluate: Evaluate,
) -> Function {
    Function { name, takes, options, gives, evaluate }
}

/// Every function, in the order of lists.
pub fn all() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter()
}

/// The function of this name.
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}

impl Function {
    /// Its texts. A test in this module reads all of them.
    pub fn texts(&self) -> FunctionTexts {
        let own = TEXTS.root().and_then(|root| root.get(self.name));
        let text = |key: &str| own.and_then(|own| own.get(key)?.text().ok()).unwrap_or_default();
        FunctionTexts {
            signature: text("signature"),
            phrase: text("phrase"),
            summary: text("summary"),
            misleads: text("misleads"),
            example: text("example"),
        }
    }

    /// All of that for a reader.
    pub fn explain(&self) -> String {
        let FunctionTexts { signature, summary, misleads, example, .. } = self.texts();
        format!("{signature}\n  {summary}\n\nIt misleads: {misleads}\nExample: {example}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_its_texts() {
        for function in all() {
            let FunctionTexts { signature, summary, misleads, example, .. } = function.texts();
            assert!(signature.starts_with(function.name), "{}", function.name);
            let texts = [summary, misleads, example];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}", function.name);
        }
    }
}
