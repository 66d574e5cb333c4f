use repro_report::meaning::LintKind;

use super::check;

#[test]
fn significance_needs_a_test() {
    check(
        LintKind::Test,
        &[
            ("the MoE is significantly better", "says = 'one.loss < other.loss'"),
            ("the difference is significant", "says = 'not significant(p(moe.loss, dense.loss))'"),
        ],
        &[(
            "the difference is not significant",
            "says = 'not significant(p(moe.loss, dense.loss))'",
        )],
    );
}

#[test]
fn the_test_is_the_one_of_the_words() {
    let p = "is = ['p(moe.loss, dense.loss)']";
    check(
        LintKind::Test,
        &[
            ("a Wilcoxon test between the arms gives p = 0.27", p),
            ("p = 0.27 after Holm's adjustment", p),
        ],
        &[("a test between the arms gives p = 0.27", p)],
    );
}
