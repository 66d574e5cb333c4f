//! How much is done for one post. Whatever a post file asks for, judging it ends soon, with verdicts or with an error.
//!
//! One budget counts all work, so that no way of asking for much, formulas that use each other twice, lists of
//! lists, thousands of quotes of a long text, needs a limit of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use repro_core::source::{Error, Location, codes};

codes! {
    TOO_MUCH_WORK = "post::too-much-work", "a post is too expensive to check", "reduce nested formulas or resamples, or split the post";
}

/// The most steps for one post, each of a microsecond at most. No post of this repository takes a thirtieth of them.
pub const MOST_STEPS: u64 = 10_000_000;
/// The most bytes of a post file, and of each of its texts: a long book has as many. What is held in memory is so
/// many times what is read.
pub const MOST_BYTES: usize = 1 << 20;
/// The most numbers of a text: each is read with the words around it.
pub const MOST_NUMBERS: usize = 50_000;
/// The most characters of a quote: a report repeats it for each of its numbers.
pub const MOST_QUOTED: usize = 4_000;
/// So many bytes that a report repeats count as one step: what is repeated is held in memory.
pub const BYTES_REPEATED: usize = 16;
/// So many bytes of a text are looked through in one step.
const BYTES_IN_A_STEP: usize = 200;

/// The work that was done so far.
#[derive(Debug)]
pub struct Work {
    steps: AtomicU64,
    most: u64,
}

impl Work {
    /// For one post.
    pub fn of_a_post() -> Self {
        Self::of_posts(1)
    }

    /// For so many posts.
    pub fn of_posts(count: u64) -> Self {
        Self { steps: AtomicU64::new(0), most: count.saturating_mul(MOST_STEPS) }
    }

    /// Counts steps.
    pub fn takes(&self, steps: usize) {
        self.steps.fetch_add(steps as u64, Ordering::Relaxed);
    }

    /// Counts what was done of other work.
    pub fn takes_as(&self, other: &Self) {
        self.steps.fetch_add(other.steps.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Counts the steps of looking through a text once.
    pub fn looks_through(&self, text: &str) {
        self.takes(1 + text.len() / BYTES_IN_A_STEP);
    }

    /// Whether nothing more is done.
    pub fn is_spent(&self) -> bool {
        self.steps.load(Ordering::Relaxed) > self.most
    }

    /// Refuses to go on where nothing more is done. Whichever part of a post asks too late, the whole post is rejected.
    pub fn goes_on(&self, place: &Location) -> Result<(), Error> {
        match self.is_spent() {
            false => Ok(()),
            true => Err(TOO_MUCH_WORK.at(
                place.clone(),
                format!("at most {} million steps", self.most / 1_000_000),
                "more steps (parts of expressions, numbers, draws, and quotes times the length of their text)",
            )),
        }
    }
}
