use repro_report::meaning::LintKind;

use super::check;

#[test]
fn a_name_of_the_relation_stands_in_the_words() {
    let dtype = "says = 'one.config.dtype = \"float32\"'";
    check(
        LintKind::Quantity,
        &[("the run is trained in full precision", dtype)],
        &[("the run is trained in float32", dtype)],
    );
}

#[test]
fn words_that_deny_contradict_a_relation_that_affirms() {
    let dtype = "says = 'one.config.dtype = \"float32\"'";
    check(
        LintKind::Direction,
        &[("the run is not trained in float32", dtype)],
        &[("the run is trained in float32", dtype)],
    );
}

#[test]
fn words_that_deny_a_number_contradict_it() {
    let mean = "is = 'mean(moe.loss)'";
    check(
        LintKind::Direction,
        &[("the loss is not 1.7015", mean), ("the MoE does not reach 1.7015", mean)],
        &[("the loss does not exceed 1.71", mean), ("not only the loss of 1.7015 is low", mean)],
    );
}
