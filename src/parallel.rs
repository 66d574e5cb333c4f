//! Work on many items by several threads, with results that do not depend on how many.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// The results of `work` for all items, in their order, of which `threads` are worked on at a time.
pub fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let done = on_threads(items, threads, |queue| {
        queue.map(|(at, item)| (at, work(item))).collect::<Vec<_>>()
    });
    let mut all: Vec<_> = done.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Does `work` on items until it fails. Whatever the number of threads, the error is that of the first
/// item in order: items are begun in their order, and one that is begun is finished.
pub fn first_error<T: Sync, E: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let errors = on_threads(items, threads, |queue| {
        queue.filter_map(|(at, item)| Some((at, work(item).err()?))).next()
    });
    let errors = errors.into_iter().flatten();
    errors.min_by_key(|(at, _)| *at).map_or(Ok(()), |(_, error)| Err(error))
}

/// What each of at most `threads` threads makes of the items, which they take in turn from one queue.
fn on_threads<'t, T: Sync, R: Send>(
    items: &'t [T],
    threads: usize,
    work: impl Fn(&mut dyn Iterator<Item = (usize, &'t T)>) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        items.get(at).map(|item| (at, item))
    };
    let one = || work(&mut std::iter::from_fn(take));
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(one)).collect();
        let mut all = vec![one()];
        for other in others {
            match other.join() {
                Ok(done) => all.push(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

/// An amount that threads share: each takes a part, waits while there is too little, and gives it back.
pub struct Allowance {
    whole: usize,
    left: Mutex<usize>,
    given_back: Condvar,
}

/// A part of an [`Allowance`], given back when it is dropped.
pub struct Part<'a> {
    allowance: &'a Allowance,
    amount: usize,
}

impl Allowance {
    /// An allowance of `whole`.
    pub fn of(whole: usize) -> Self {
        Self { whole, left: Mutex::new(whole), given_back: Condvar::new() }
    }

    /// Takes `amount`, or all there is where it is more: such a part is held alone. Who holds a part takes
    /// no second one.
    pub fn take(&self, amount: usize) -> Part<'_> {
        let amount = amount.min(self.whole);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = self.given_back.wait_while(left, |left| *left < amount);
        *enough.unwrap_or_else(PoisonError::into_inner) -= amount;
        Part { allowance: self, amount }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        *self.allowance.left.lock().unwrap_or_else(PoisonError::into_inner) += self.amount;
        self.allowance.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Allowance, first_error, map};

    #[test]
    fn no_more_is_taken_at_a_time_than_there_is() {
        let (allowance, taken, most) =
            (Allowance::of(10), AtomicUsize::new(0), AtomicUsize::new(0));
        let amounts: Vec<usize> = (0..200).map(|at| [1, 4, 7, 0, 25][at % 5]).collect();
        map(&amounts, 4, |&amount| {
            let _part = allowance.take(amount);
            let now = taken.fetch_add(amount.min(10), Ordering::SeqCst) + amount.min(10);
            most.fetch_max(now, Ordering::SeqCst);
            std::thread::yield_now();
            taken.fetch_sub(amount.min(10), Ordering::SeqCst);
        });
        assert_eq!(most.load(Ordering::SeqCst), 10);
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let squares: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(map(&items, threads, |item| item * item), squares, "{threads} threads");
        }
        assert!(map(&[0_u64; 0], 4, |item| *item).is_empty());
    }

    #[test]
    fn the_first_error_in_order_is_returned() {
        let items: Vec<u64> = (0..100).collect();
        let from = |least: u64| move |item: &u64| if *item < least { Ok(()) } else { Err(*item) };
        for threads in [0, 1, 3, 200] {
            assert_eq!(first_error(&items, threads, from(37)), Err(37), "{threads} threads");
            assert_eq!(first_error(&items, threads, from(100)), Ok(()), "{threads} threads");
        }
    }
}
