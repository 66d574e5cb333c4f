//! Why a statistic cannot be computed.

use thiserror::Error;

/// The reason why a statistic cannot be computed from the given data.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refused {
    /// Fewer values than the statistic needs.
    #[error("{} needs at least {needed}", counted(*.found))]
    TooFew {
        /// The required number of values.
        needed: usize,
        /// The number of values.
        found: usize,
    },
    /// Fewer groups or categories than the test needs.
    #[error("{found} groups; it needs at least {needed}")]
    TooFewGroups {
        /// The required number of groups.
        needed: usize,
        /// The number of groups.
        found: usize,
    },
    /// A count that is negative or not whole.
    #[error("a count is not a non-negative whole number")]
    NotACount,
    /// An expected share that is not above zero.
    #[error("an expected fraction is not positive")]
    NoShare,
    /// All values are equal, so nothing measures the noise.
    #[error("the values do not vary, so there is no noise to compare with")]
    NoSpread,
    /// A value is not a finite number.
    #[error("a value is not a finite number")]
    NotFinite,
    /// Two computations of a probability or a quantile differ.
    #[error(
        "two implementations of {of} disagree: ours computes {first}, statrs differs by a relative {relative:.0e}"
    )]
    Disagree {
        /// The quantity.
        of: &'static str,
        /// The result of this crate.
        first: f64,
        /// The relative difference from the result of `statrs`.
        relative: f64,
    },
    /// The result is beyond the range of floating point.
    #[error("the values are too large or too small for floating point")]
    OutOfRange,
    /// Pairs need lists of one length.
    #[error("{left} and {right} values do not form pairs")]
    UnequalLengths {
        /// Values on the left.
        left: usize,
        /// Values on the right.
        right: usize,
    },
    /// A spread below zero.
    #[error("a standard deviation of {0} is negative")]
    NegativeSpread(f64),
    /// A level, error rate or power that is not strictly between 0 and 1.
    #[error("{0} is not strictly between 0 and 1")]
    NotAProbability(f64),
    /// Degrees of freedom that are not positive.
    #[error("{0} degrees of freedom: the number must be positive")]
    NoFreedom(f64),
    /// Too few or too many resamples.
    #[error("{found} resamples: the number must be between {least} and {most}")]
    Resamples {
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
        /// The requested number.
        found: usize,
    },
    /// The bootstrap distribution lies on one side of the estimate, or the jackknife does not vary.
    #[error("the bootstrap distribution is degenerate: its bias cannot be corrected")]
    Degenerate,
    /// More successes than trials.
    #[error("{successes} successes of {trials} trials")]
    TooManySuccesses {
        /// The number of successes.
        successes: u64,
        /// The number of trials.
        trials: u64,
    },
    /// No trials at all.
    #[error("no trials")]
    NoTrials,
    /// Counts beyond those that are computed exactly.
    #[error("the count {0} is above the limit of 2^40")]
    CountTooLarge(u64),
    /// Two proportions that are both 0 or both 1.
    #[error("all trials had the same outcome, so there is no noise to compare with")]
    OneOutcome,
    /// No pair is discordant.
    #[error("no pair differs in its outcome")]
    NoDiscordantPairs,
    /// A margin whose ends are not in order.
    #[error("the margin {low}..{high} must go from a lower to a higher number")]
    Margin {
        /// The lower end.
        low: f64,
        /// The higher end.
        high: f64,
    },
    /// The gap is zero, so no number of runs detects it.
    #[error("a gap of zero cannot be detected with any number of runs")]
    NoGap,
    /// More runs than are searched.
    #[error("more than {0} runs would be needed")]
    TooManyRuns(usize),
}

fn counted(found: usize) -> String {
    match found {
        0 => "no values; it".to_owned(),
        1 => "one value; it".to_owned(),
        more => format!("{more} values; it"),
    }
}
