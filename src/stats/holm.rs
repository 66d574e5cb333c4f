//! Holm's adjustment of several p-values.

/// The p-values adjusted by Holm's step-down rule, in the order given: the smallest times m, the next
/// times m - 1, none below one before it, none above 1.
///
/// ```
/// use repro_stats::holm;
///
/// assert_eq!(holm(&[0.25, 0.0625, 0.125]), [0.25, 0.1875, 0.25]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let at = |index: usize| p_values.get(index).copied().unwrap_or(1.0);
    order.sort_by(|&left, &right| at(left).total_cmp(&at(right)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        least = least.max((at(index) * remaining).min(1.0));
        if let Some(place) = adjusted.get_mut(index) {
            *place = least;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values_in_the_order_given() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - wanted).abs() < 1e-15, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn adjustment_never_lowers_a_value_nor_changes_the_order(
            p in prop::collection::vec(0.0..=1.0_f64, 1..20),
        ) {
            let adjusted = holm(&p);
            for (i, one) in p.iter().enumerate() {
                prop_assert!((*one..=1.0).contains(&adjusted[i]));
                for (j, other) in p.iter().enumerate() {
                    prop_assert!(one > other || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
