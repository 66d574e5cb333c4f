//! The scale of a column: percents without a sign, with their spreads.

use repro_report::outcome::Verdict::{self, Refuted, Verified};

use super::claims;

/// The verdicts of a column of scores with their spreads.
fn verdicts(dense: &str, moe: &str) -> Vec<Verdict> {
    let text = format!("| arm | score ± sd |\n|---|---|\n| Dense | {dense} |\n| MoE | {moe} |\n");
    let table = "[[table]]\nhead = '| arm | score ± sd |'\n[table.rows]\n\
                 'Dense' = 'cloze.dense'\n'MoE' = 'cloze.moe'\n[table.columns]\n\
                 'score ± sd' = ['mean(it)', 'sd(it)']\n";
    claims(&text, table).iter().map(|claim| claim.outcome.verdict).collect()
}

#[test]
fn a_spread_has_the_scale_of_its_column() {
    assert_eq!(verdicts("32.2 ± 0.8", "32.4 ± 1.0"), [Verified; 4]);
    assert_eq!(verdicts("0.322 ± 0.008", "0.324 ± 0.010"), [Verified; 4]);
    assert_eq!(verdicts("32.2 ± 0.8", "32.4 ± 4.0"), [Verified, Verified, Verified, Refuted],);
}
