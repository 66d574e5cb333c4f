use super::*;
use crate::decimal::{nearest_f64, rounds_to, ulp_distance};
use num_rational::BigRational;
use num_traits::One;

fn print(text: &str) -> Printed {
    Printed::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn evaluate(name: &str, inputs: &[&str]) -> Result<FormulaValue, FormulaError> {
    let formula = Formula::find(name).unwrap();
    let printed: Vec<_> = inputs.iter().map(|text| print(text)).collect();
    formula.evaluate(&formula.operands(&printed)?)
}

#[test]
fn every_example_follows_from_its_inputs_and_from_no_others() {
    for formula in formulas() {
        let (inputs, claimed) = formula.example;
        let (result, claimed) = (evaluate(formula.name, inputs).unwrap(), print(claimed));
        let worth = claimed.unit().worth_in(formula.unit).unwrap();
        let claimed_range = claimed.interval().scaled(&worth);
        assert!(result.interval.meets(&claimed_range), "{}: {}", formula.name, result.interval);
        // Tight enough to tell a claim that is off by a tenth.
        for factor in [9, 11] {
            let wrong =
                claimed.exact().scaled(&(&worth * BigRational::new(factor.into(), 10.into())));
            assert!(!result.interval.meets(&wrong), "{}: {}", formula.name, result.interval);
        }
    }
}

#[test]
fn floats_lie_in_the_exact_range() {
    for formula in formulas() {
        let result = evaluate(formula.name, formula.example.0).unwrap();
        let (low, high) = (nearest_f64(result.interval.low()), nearest_f64(result.interval.high()));
        let inside = low <= result.float && result.float <= high;
        let near = ulp_distance(low, result.float).min(ulp_distance(high, result.float)) <= 4;
        assert!(inside || near, "{}: {} in {}", formula.name, result.float, result.interval);
    }
}

#[test]
fn entries_are_well_formed() {
    let mut names: Vec<_> = formulas().map(|formula| formula.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert!(twice.is_none(), "two formulas have one name: {twice:?}");
    for formula in formulas() {
        let last = formula.inputs.len() - 1;
        let expression = (formula.expression)();
        for (index, input) in formula.inputs.iter().enumerate() {
            assert!(expression.mentions(index) > 0, "{} leaves out {}", formula.name, input.name);
            assert!(!input.many || index == last, "{}: only the last is many", formula.name);
            let text = formula.definition();
            assert!(text.contains(input.name), "{text}");
        }
        for text in [formula.what, formula.source, formula.misleads] {
            assert!(!text.is_empty() && formula.explain().contains(text), "{}", formula.name);
        }
    }
}

#[test]
fn text_shows_the_printed_values() {
    let result = evaluate("active_ffn_width", &["6", "2", "384"]).unwrap();
    assert_eq!(result.text, "(6 + 2) × 384");
    assert_eq!(result.interval, Interval::integer(3072));
    assert_eq!(Formula::find("tokens").unwrap().definition(), "steps × batch × length");
    assert_eq!(evaluate("mean", &["1", "2"]).unwrap().text, "(1 + 2) / 2");
    assert_eq!(evaluate("sum", &["7"]).unwrap().text, "7");
}

#[test]
fn natures_decide_the_slack_of_an_input() {
    let interval =
        |text: &str, precision| Operand::read(&print(text), precision).map(|o| o.interval);
    assert_eq!(interval("2,048", Precision::Auto), Ok(Interval::integer(2048)));
    assert_eq!(interval("2.0", Precision::Auto), Ok(print("2.0").interval()));
    assert_eq!(interval("524K", Precision::Auto), Ok(print("524K").interval()));
    assert_eq!(interval("2", Precision::Measured), Ok(print("2").interval()));
    assert_eq!(interval("0.5", Precision::Coefficient), Ok(print("0.5").exact()));
    assert_eq!(interval("~100", Precision::Count), Ok(print("100").about(&about_tolerance())));
    assert_eq!(
        interval("24%", Precision::Measured),
        Ok(Interval::between(print("0.235").value().clone(), print("0.245").value().clone()))
    );
    assert!(matches!(interval("2.5", Precision::Count), Err(FormulaError::NotACount { .. })));
    assert!(matches!(interval("> 3", Precision::Auto), Err(FormulaError::OneSided { .. })));
    assert!(evaluate("sum", &["1", "~2"]).unwrap().approximate);
    assert!(!evaluate("sum", &["1", "2"]).unwrap().approximate);
}

#[test]
fn percent_and_percentage_points_are_kept_apart() {
    let points = Formula::find("percentage_points").unwrap();
    let percent = Formula::find("relative_delta").unwrap();
    assert_eq!(Unit::Percent.worth_in(points.unit), None);
    assert_eq!(Unit::Points.worth_in(percent.unit), None);
    assert_eq!(Unit::Times.worth_in(percent.unit), None);
    assert_eq!(Unit::Plain.worth_in(percent.unit), Some(BigRational::one()));
    let mean = evaluate("mean", &["24%", "26%"]).unwrap();
    let worth = Unit::Percent.worth_in(Formula::find("mean").unwrap().unit).unwrap();
    assert!(print("25%").interval().scaled(&worth).meets(&mean.interval));
}

#[test]
fn full_floats_are_reproduced_to_the_bit() {
    let (a, b) = ("3.2791234567890123", "3.301234567890123");
    let result = evaluate("relative_delta", &[a, b]).unwrap();
    let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
    assert_eq!(result.float, (a - b) / b * 100.0);
    let result = evaluate("mean", &["0.1", "0.2", "0.3"]).unwrap();
    assert_eq!(result.float, (0.1 + 0.2 + 0.3) / 3.0);
}

#[test]
fn slack_of_rounded_inputs_reaches_the_result() {
    // Rounded to 3.28 and 3.30 the difference is anything from -0.03 to -0.01.
    let result = evaluate("delta", &["3.28", "3.30"]).unwrap();
    assert!(rounds_to(&result.interval, &print("-0.01")));
    assert!(rounds_to(&result.interval, &print("-0.03")));
    assert!(!rounds_to(&result.interval, &print("-0.036")));
}

#[test]
fn what_cannot_be_computed_is_an_error() {
    assert!(matches!(evaluate("ratio", &["1", "0"]), Err(FormulaError::DivisionByZero { .. })));
    assert!(matches!(evaluate("ratio", &["1", "0.0"]), Err(FormulaError::DivisionByZero { .. })));
    assert!(matches!(evaluate("perplexity", &["1e9"]), Err(FormulaError::Domain { .. })));
    assert!(matches!(evaluate("sum", &[]), Err(FormulaError::InputCount { found: 0, .. })));
    let error = evaluate("ratio", &["1"]).unwrap_err();
    assert_eq!(error.to_string(), "`ratio` takes a, b, not 1 values");
    assert!(Formula::find("no_such_formula").is_none());
}
