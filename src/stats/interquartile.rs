//! The interquartile mean of scores by task and run, with a bootstrap over the runs of each task, as
//! in rliable (R. Agarwal and others, 2021).

use super::Refused;
use super::bootstrap::{BootstrapInterval, check_resamples, interpolated, tail};
use crate::rng::{Draws, Rng};

/// The scores of some tasks, a list of runs for each.
#[derive(Debug, Clone)]
pub struct ScoresByTask<'a> {
    tasks: &'a [Vec<f64>],
    /// The number of scores that are cut off at each end.
    cut: usize,
    count: usize,
}

impl<'a> ScoresByTask<'a> {
    /// The scores of at least one task, with at least one run each.
    pub fn new(tasks: &'a [Vec<f64>]) -> Result<Self, Refused> {
        if tasks.is_empty() || tasks.iter().any(Vec::is_empty) {
            return Err(Refused::TooFew { needed: 1, found: 0 });
        }
        if tasks.iter().flatten().any(|score| !score.is_finite()) {
            return Err(Refused::NotFinite);
        }
        let count = tasks.iter().map(Vec::len).sum();
        Ok(Self { tasks, cut: count / 4, count })
    }

    /// The mean of the middle half of all scores: a quarter, rounded down, is cut off at each end.
    ///
    /// ```
    /// use repro_stats::interquartile::ScoresByTask;
    ///
    /// let tasks = [vec![0.0, 2.0], vec![4.0, 100.0]];
    /// assert_eq!(ScoresByTask::new(&tasks)?.interquartile_mean(), 3.0);
    /// # Ok::<(), repro_stats::Refused>(())
    /// ```
    pub fn interquartile_mean(&self) -> f64 {
        self.mean_of_middle(&mut self.tasks.concat())
    }

    fn mean_of_middle(&self, scores: &mut [f64]) -> f64 {
        scores.sort_unstable_by(f64::total_cmp);
        let middle = scores.get(self.cut..self.count - self.cut).unwrap_or_default();
        middle.iter().sum::<f64>() / middle.len() as f64
    }

    /// The percentile interval of the interquartile mean when the runs of each task are drawn anew,
    /// each as often as there are runs.
    pub fn interval(
        &self,
        level: f64,
        resamples: usize,
        seed: u64,
    ) -> Result<BootstrapInterval, Refused> {
        let tail = tail(level)?;
        check_resamples(resamples, self.count)?;
        if self.tasks.iter().any(|runs| runs.len() < 2) {
            return Err(Refused::TooFew { needed: 2, found: 1 });
        }
        let mut rng = Rng::new(seed, "interquartile mean");
        let bound = |runs: &Vec<f64>| u32::try_from(runs.len()).unwrap_or(u32::MAX);
        let draws: Vec<_> =
            self.tasks.iter().map(|runs| Draws::new(bound(runs), runs.len())).collect();
        let mut scores = Vec::with_capacity(self.count);
        let means = (0..resamples).map(|_| {
            scores.clear();
            for (runs, draws) in self.tasks.iter().zip(&draws) {
                draws
                    .collect(&mut rng, &mut scores, |at| runs.get(at).copied().unwrap_or(f64::NAN));
            }
            self.mean_of_middle(&mut scores)
        });
        Ok(interpolated(means.collect(), tail, 1.0 - tail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_half() {
        let scores = [vec![1.0, 2.0, 3.0, 100.0], vec![4.0, 5.0, -50.0, 6.0], vec![7.0]];
        let scores = ScoresByTask::new(&scores).unwrap();
        // Nine scores: two are cut at each end, 2 to 6... of -50, 1, 2, 3, 4, 5, 6, 7, 100.
        assert_eq!(scores.interquartile_mean(), 4.0);
        assert_eq!(ScoresByTask::new(&[vec![3.0]]).unwrap().interquartile_mean(), 3.0);
        assert!(matches!(scores.interval(0.95, 1000, 1), Err(Refused::TooFew { needed: 2, .. })));
        assert!(matches!(ScoresByTask::new(&[vec![]]), Err(Refused::TooFew { .. })));
        assert!(matches!(ScoresByTask::new(&[vec![f64::NAN]]), Err(Refused::NotFinite)));
    }

    #[test]
    fn runs_are_drawn_within_their_task() {
        // No task varies, so resampling within tasks always leads to the same scores.
        let flat = [vec![1.0; 3], vec![5.0; 3], vec![9.0; 3]];
        let flat = ScoresByTask::new(&flat).unwrap();
        let interval = flat.interval(0.9, 200, 1).unwrap();
        assert_eq!((interval.low, interval.high), (5.0, 5.0));
        let varied = [vec![1.0, 1.53, 2.0], vec![5.01, 5.5, 4.47], vec![9.0, 8.0, 8.5]];
        let varied = ScoresByTask::new(&varied).unwrap();
        let interval = varied.interval(0.95, 2000, 1).unwrap();
        let mean = varied.interquartile_mean();
        assert!(interval.low < mean && mean < interval.high);
        assert!(interval.low > 3.5 && interval.high < 6.5, "{interval:?}");
        assert_eq!(interval, varied.interval(0.95, 2000, 1).unwrap());
        assert_ne!(interval, varied.interval(0.95, 2000, 2).unwrap());
    }
}
