use repro_report::meaning::LintKind;

use super::check;

#[test]
fn runs_are_as_many_as_the_words_say() {
    let mean = "is = ['mean(moe.loss)', '_ not the matter here']";
    check(
        LintKind::Count,
        &[("1.7015 on average over five seeds", mean)],
        &[("1.7015 on average over three seeds", mean)],
    );
}

#[test]
fn several_runs_may_have_one_seed() {
    let both = "is = 'count([moe, dense])'";
    check(
        LintKind::Count,
        &[("trained with 6 random seeds", both), ("it takes 6 different seeds", both)],
        &[("6 runs are trained", both), ("the MoE has 3 seeds", "is = 'count(moe)'")],
    );
}

#[test]
fn a_mean_says_nothing_of_every_run() {
    check(
        LintKind::Count,
        &[
            ("every seed is at 1.7015", "is = 'mean(moe.loss)'"),
            ("each of our runs is at 1.7015", "is = 'mean(moe.loss)'"),
            ("all of our moe runs end at 1.7015", "is = 'mean(moe.loss)'"),
        ],
        &[
            ("every seed stays below 1.71", "is = { value = 'max(moe.loss)', as = 'below' }"),
            ("1.7015, averaged over all seeds", "is = 'mean(moe.loss)'"),
        ],
    );
}

#[test]
fn a_value_of_one_arm_says_nothing_of_every_arm() {
    check(
        LintKind::Count,
        &[
            ("every arm gets down to 1.7015", "is = 'mean(moe.loss)'"),
            ("all arms use a learning rate of 0.004", "is = 'one.config.lr'"),
        ],
        &[("every model is trained for 1,209 steps", "is = 'one.config.steps'")],
    );
}

#[test]
fn a_relation_has_the_limit_of_the_words() {
    check(
        LintKind::Limit,
        &[("the largest loss stays below 1.8", "is = '_ the limit'\nsays = 'max(moe.loss) < 1.9'")],
        &[("the largest loss stays below 1.8", "is = '_ the limit'\nsays = 'max(moe.loss) < 1.8'")],
    );
}
