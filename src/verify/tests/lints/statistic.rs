use repro_report::meaning::LintKind;

use super::check;

#[test]
fn a_number_is_the_statistic_that_the_words_name() {
    check(
        LintKind::Statistic,
        &[
            ("the median is 1.7015", "is = 'mean(moe.loss)'"),
            ("a single run reaches 1.7015", "is = 'mean(moe.loss)'"),
            ("the best of three MoE runs is at 1.7015", "is = ['count(moe)', 'mean(moe.loss)']"),
        ],
        &[("the mean is 1.7015", "is = 'mean(moe.loss)'")],
    );
}

#[test]
fn a_spread_has_the_name_of_the_words() {
    let both = "is = ['mean(moe.loss)', 'sd(moe.loss)']";
    check(
        LintKind::Statistic,
        &[("1.7015 ± 0.0072", both), ("1.7015 ± 0.0072 (standard error)", both)],
        &[("1.7015 ± 0.0072 (standard deviation)", both)],
    );
}

#[test]
fn a_chosen_run_is_named_as_one() {
    check(
        LintKind::Statistic,
        &[("the MoE reaches 1.6963", "is = 'min(moe.loss)'")],
        &[("the best MoE reaches 1.6963", "is = 'min(moe.loss)'")],
    );
}
