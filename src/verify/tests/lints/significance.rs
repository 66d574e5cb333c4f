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
fn an_adjustment_is_said_of_the_sentence() {
    let p = "is = ['p(moe.loss, dense.loss)']";
    let decided =
        "says = 'not significant(p(moe.loss, dense.loss))'\nis = ['p(moe.loss, dense.loss)']";
    check(
        LintKind::Test,
        &[(
            "with Holm's correction over all of the gaps, the one between the arms has p = 0.27",
            p,
        )],
        &[("not significant after Holm's correction (raw p = 0.27)", decided)],
    );
}

#[test]
fn no_p_shows_that_two_are_equal() {
    let p = "is = ['p(moe.loss, dense.loss)']";
    check(
        LintKind::Test,
        &[("p = 0.27: the arms are equally good", p)],
        &[("p = 0.27: no difference is shown between the arms", p)],
    );
}

#[test]
fn an_interval_is_of_the_kind_of_the_words() {
    let interval = "is = 'ci95(moe.loss)'";
    check(
        LintKind::Test,
        &[("bootstrap interval of the MoE: 1.684 to 1.720", interval)],
        &[("t interval of the MoE: 1.684 to 1.720", interval)],
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
