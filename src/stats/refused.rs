//! Why a statistic cannot be computed.

use thiserror::Error;

/// Why a statistic cannot be computed from what was given.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refused {
    /// Fewer values than the statistic needs.
    #[error("{} needs at least {needed}", counted(*.found))]
    TooFew {
        /// The least number of values.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// Fewer groups or categories than the test needs.
    #[error("{found} groups where it needs at least {needed}")]
    TooFewGroups {
        /// The least number of groups.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// A count that is negative or not whole.
    #[error("a count is not a whole number from zero up")]
    NotACount,
    /// An expected share that is not above zero.
    #[error("an expected share is not above zero")]
    NoShare,
    /// All values are equal, so that nothing measures the noise.
    #[error("the values do not vary: there is no spread to compare with")]
    NoSpread,
    /// A value is not a finite number.
    #[error("a value is not a finite number")]
    NotFinite,
    /// Two computations of a probability or a quantile differ.
    #[error(
        "two implementations of {of} disagree: ours gives {first}, statrs a value that is {relative:.0e} of it away"
    )]
    Disagree {
        /// What was computed.
        of: &'static str,
        /// What this crate computes.
        first: f64,
        /// The relative difference of what `statrs` computes.
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
    #[error("a standard deviation of {0} is below zero")]
    NegativeSpread(f64),
    /// A level, a share of error or a power that is no probability strictly between 0 and 1.
    #[error("{0} does not lie strictly between 0 and 1")]
    NotAProbability(f64),
    /// Degrees of freedom that are not positive.
    #[error("{0} degrees of freedom are not above zero")]
    NoFreedom(f64),
    /// Too few or too many resamples.
    #[error("{found} resamples: between {least} and {most} can be drawn")]
    Resamples {
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
        /// How many were asked for.
        found: usize,
    },
    /// The bootstrap distribution lies on one side of the estimate, or the jackknife does not vary.
    #[error("the bootstrap distribution is degenerate: its bias cannot be corrected")]
    Degenerate,
    /// More successes than trials.
    #[error("{successes} successes of {trials} trials")]
    TooManySuccesses {
        /// How many succeeded.
        successes: u64,
        /// Of how many.
        trials: u64,
    },
    /// No trials at all.
    #[error("no trials")]
    NoTrials,
    /// Counts beyond those that are computed exactly.
    #[error("{0} is a larger count than is computed with (2^40)")]
    CountTooLarge(u64),
    /// Two proportions that are both 0 or both 1.
    #[error("all trials had one outcome: there is no spread to compare with")]
    OneOutcome,
    /// No pair is discordant.
    #[error("no pair differs in its outcome")]
    NoDiscordantPairs,
    /// A margin whose ends are not in order.
    #[error("the margin {low}..{high} does not run from a lower to a higher number")]
    Margin {
        /// The lower end.
        low: f64,
        /// The higher end.
        high: f64,
    },
    /// No gap, so that no number of runs shows one.
    #[error("a gap of zero cannot be detected with any number of runs")]
    NoGap,
    /// More runs than are searched.
    #[error("more than {0} runs would be needed")]
    TooManyRuns(usize),
}

fn counted(found: usize) -> String {
    match found {
        0 => "no value where it".to_owned(),
        1 => "one value where it".to_owned(),
        more => format!("{more} values where it"),
    }
}
