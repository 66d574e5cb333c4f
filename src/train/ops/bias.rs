//! A bias on the scores that choose experts: state that evens the load without a loss.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::portable::Real;

/// One number for each expert. The passes of a model share it with whoever moves it.
#[derive(Debug)]
pub struct Bias<T>(Mutex<Vec<T>>);

impl<T: Real> Bias<T> {
    /// No bias on any expert.
    pub fn new(experts: usize) -> Self {
        Self(Mutex::new(vec![T::ZERO; experts]))
    }

    /// The numbers, lent. They are whole whatever happened to an earlier holder: each is set by itself.
    pub fn lend(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers.
    pub fn read(&self) -> Vec<T> {
        self.lend().clone()
    }

    /// Sets the numbers, if there are as many as experts; otherwise says how many these are.
    pub fn write(&self, numbers: &[T]) -> Result<(), usize> {
        let mut bias = self.lend();
        if bias.len() != numbers.len() {
            return Err(bias.len());
        }
        bias.copy_from_slice(numbers);
        Ok(())
    }

    /// Adds the rate for experts with fewer choices than the mean, and takes it off for those with more.
    pub fn even_out(&self, counts: &[u64], rate: T) {
        let all = counts.iter().sum::<u64>();
        for (bias, count) in self.lend().iter_mut().zip(counts) {
            // In whole numbers: the mean is `all` over the experts.
            match (count * counts.len() as u64).cmp(&all) {
                std::cmp::Ordering::Less => *bias += rate,
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => *bias -= rate,
            }
        }
    }
}
