//! Work on many items by several threads, with results that do not depend on the number of threads.
//!
//! Why this is not rayon: `docs/decisions/threads.md`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Idle threads that may help with the remaining items.
#[derive(Debug, Default)]
pub struct Spare(AtomicUsize);

impl Spare {
    /// Takes one of them, if there is one; dropping the result returns it.
    pub fn take(&self) -> Option<Lent<'_>> {
        let taken = |count: usize| count.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        Some(Lent(self))
    }

    fn add(&self, count: usize) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

/// A borrowed thread.
#[derive(Debug)]
pub struct Lent<'a>(&'a Spare);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.add(1);
    }
}

/// An amount from which parts are taken until it is used up.
#[derive(Debug)]
pub struct Stock(AtomicUsize);

impl Stock {
    /// An amount.
    pub fn of(amount: usize) -> Self {
        Self(AtomicUsize::new(amount))
    }

    /// Takes a part; returns whether enough was left.
    pub fn take(&self, part: usize) -> bool {
        let taken = |left: usize| left.checked_sub(part);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }
}

/// The results of `work` for all items in order, computed by `threads` threads.
pub fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let done = on_threads(items, threads, |queue| {
        queue.map(|(at, item)| (at, work(item))).collect::<Vec<_>>()
    });
    let mut all: Vec<_> = done.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The number of results per thread that may wait for their turn in [`in_order`].
const WAITING_PER_THREAD: usize = 64;

/// Does `work` on all items with `threads` threads, and passes the results to `take` in the order of the items, each as
/// soon as the ones before it have been passed. The queue is bounded: a thread that is too far ahead waits. `work` also
/// receives the number of threads that it may use itself, because the last items share the idle ones.
pub fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T, usize) -> R + Sync,
    take: impl FnMut(R) + Send,
) {
    let turns = Turns::new(take, WAITING_PER_THREAD * threads.max(1));
    on_threads(items, threads, |queue| {
        let _open = ClosedAtPanic(&turns);
        for (at, item) in queue {
            if !turns.wait_until_near(at) {
                return;
            }
            let left = (items.len() - at).clamp(1, threads.max(1));
            let result = work(item, (threads / left).max(1));
            turns.hand_over(at, result);
        }
    });
}

/// Results that arrive in any order and are consumed in item order.
struct Turns<R, F> {
    ahead: usize,
    waiting: Mutex<Waiting<R, F>>,
    moved: Condvar,
}

/// The results that wait for their turn.
struct Waiting<R, F> {
    next: usize,
    results: BTreeMap<usize, R>,
    take: F,
    /// Whether a thread has panicked, so that no more turns come.
    is_closed: bool,
}

impl<R, F: FnMut(R)> Turns<R, F> {
    fn new(take: F, ahead: usize) -> Self {
        let (results, is_closed) = (BTreeMap::new(), false);
        let waiting = Mutex::new(Waiting { next: 0, results, take, is_closed });
        Self { ahead, waiting, moved: Condvar::new() }
    }

    /// Waits until an item is not too far ahead of the next turn; returns whether its turn can come.
    fn wait_until_near(&self, at: usize) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_far = |one: &mut Waiting<R, F>| !one.is_closed && at >= one.next + self.ahead;
        let near = self.moved.wait_while(waiting, is_far);
        !near.unwrap_or_else(PoisonError::into_inner).is_closed
    }

    fn hand_over(&self, at: usize, result: R) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.results.insert(at, result);
        let one = &mut *waiting;
        let before = one.next;
        while let Some(result) = one.results.remove(&one.next) {
            one.next += 1;
            (one.take)(result);
        }
        if one.next > before {
            self.moved.notify_all();
        }
    }
}

/// Releases waiting threads after a panic.
struct ClosedAtPanic<'t, R, F: FnMut(R)>(&'t Turns<R, F>);

impl<R, F: FnMut(R)> Drop for ClosedAtPanic<'_, R, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let waiting = self.0.waiting.lock();
            waiting.unwrap_or_else(PoisonError::into_inner).is_closed = true;
            self.0.moved.notify_all();
        }
    }
}

/// An item with its position.
pub type Numbered<'t, T> = (usize, &'t T);

/// Does `work` on items until it fails. The error is that of the first failing item in order, whatever the number of
/// threads: after an error, only earlier items are started. The heaviest items start first, so that no thread is left alone
/// with one at the end; items of equal weight start in order.
///
/// `work` gets a single item or, if there are more heavy items than threads, two items that it may process together. Its
/// error is that of the first failing item, with the item's position.
pub fn first_error<T: Sync, E: Send>(
    items: &[T],
    threads: usize,
    weight: impl Fn(&T) -> u64,
    work: impl Fn(&[Numbered<'_, T>], &Spare) -> Result<(), (usize, E)> + Sync,
) -> Result<(), E> {
    let mut order: Vec<Numbered<'_, T>> = items.iter().enumerate().collect();
    order.sort_by_key(|(_, item)| std::cmp::Reverse(weight(item)));
    let (heavy, light) = order.split_at(order.partition_point(|(_, item)| weight(item) > 0));
    let together = if heavy.len() > threads { 2 } else { 1 };
    let groups: Vec<_> = heavy.chunks(together).chain(light.chunks(1)).collect();
    let (failed, spare) = (AtomicUsize::new(usize::MAX), Spare::default());
    spare.add(threads.saturating_sub(groups.len()));
    let errors = on_threads(&groups, threads, |queue| {
        let mut errors = Vec::new();
        for (_, group) in queue {
            let first = group.iter().map(|(at, _)| *at).min();
            if first < Some(failed.load(Ordering::Relaxed))
                && let Err((at, error)) = work(group, &spare)
            {
                failed.fetch_min(at, Ordering::Relaxed);
                errors.push((at, error));
            }
        }
        spare.add(1);
        errors
    });
    let errors = errors.into_iter().flatten();
    errors.min_by_key(|(at, _)| *at).map_or(Ok(()), |(_, error)| Err(error))
}

/// The results of at most `threads` threads, which take items from one queue.
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

/// A shared amount: each thread takes a part, waits while there is too little, and returns it.
pub struct Allowance {
    whole: usize,
    held: Mutex<Held>,
    given_back: Condvar,
}

/// The rest of an [`Allowance`], and the number of waiting threads.
struct Held {
    left: usize,
    waiting: usize,
}

/// A part of an [`Allowance`], returned when dropped.
pub struct Allotment<'a> {
    allowance: &'a Allowance,
    amount: usize,
}

impl Allowance {
    /// An allowance of `whole`.
    pub fn of(whole: usize) -> Self {
        let held = Mutex::new(Held { left: whole, waiting: 0 });
        Self { whole, held, given_back: Condvar::new() }
    }

    /// Takes `amount`, or everything if it is larger than the total. A thread that holds a part must not take a second one.
    pub fn take(&self, amount: usize) -> Allotment<'_> {
        let amount = amount.min(self.whole);
        if amount == 0 {
            return Allotment { allowance: self, amount };
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.left < amount {
            held.waiting += 1;
            let enough = self.given_back.wait_while(held, |held| held.left < amount);
            held = enough.unwrap_or_else(PoisonError::into_inner);
            held.waiting -= 1;
        }
        held.left -= amount;
        Allotment { allowance: self, amount }
    }
}

impl Drop for Allotment<'_> {
    fn drop(&mut self) {
        // Nothing was taken, so nobody waits for it.
        if self.amount == 0 {
            return;
        }
        let mut held = self.allowance.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.left += self.amount;
        // A notification without waiting threads would still cost a system call.
        if held.waiting > 0 {
            self.allowance.given_back.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Allowance, Numbered, Spare, WAITING_PER_THREAD, first_error, in_order, map};

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
    fn results_are_handed_over_in_their_order() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [0, 1, 3, 8] {
            let mut taken = Vec::new();
            let work = |item: &usize, _| {
                // Of two neighbors, the later one is processed first.
                if item.is_multiple_of(2) {
                    std::thread::yield_now();
                }
                item * 2
            };
            in_order(&items, threads, work, |result| taken.push(result / 2));
            assert_eq!(taken, items, "{threads} threads");
        }
        in_order(&[0_u64; 0], 4, |_, _| (), |()| panic!("there is nothing to take"));
    }

    #[test]
    fn no_thread_runs_far_ahead_of_a_slow_item() {
        let items: Vec<usize> = (0..2000).collect();
        let (done, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let most = WAITING_PER_THREAD * 2;
        let work = |item: &usize, _| {
            // The first item ends when the others cannot continue.
            while *item == 0 && done.load(Ordering::SeqCst) < most - 1 {
                std::thread::yield_now();
            }
            let done = done.fetch_add(1, Ordering::SeqCst);
            assert!(done <= taken.load(Ordering::SeqCst) + most, "{item}");
        };
        let take = |()| {
            taken.fetch_add(1, Ordering::SeqCst);
        };
        in_order(&items, 2, work, take);
        assert_eq!(taken.into_inner(), items.len());
    }

    #[test]
    fn the_last_items_share_the_threads() {
        let of = |count: usize, threads| {
            let mut given = Vec::new();
            in_order(&vec![(); count], threads, |(), each| each, |each| given.push(each));
            given
        };
        assert_eq!(of(5, 4), [1, 1, 1, 2, 4]);
        assert_eq!(of(1, 8), [8]);
        assert_eq!(of(2, 1), [1, 1]);
    }

    #[test]
    fn a_panic_ends_all() {
        let items: Vec<usize> = (0..1000).collect();
        let run = || in_order(&items, 3, |item, _| assert_ne!(*item, 5), |()| {});
        assert!(std::panic::catch_unwind(run).is_err());
    }

    /// Work on a group that fails if one of its items does.
    fn each<T, E>(
        one: impl Fn(&T) -> Result<(), E>,
    ) -> impl Fn(&[Numbered<'_, T>], &Spare) -> Result<(), (usize, E)> {
        move |group, _| {
            let mut group = group.to_vec();
            group.sort_by_key(|(at, _)| *at);
            group.iter().try_for_each(|(at, item)| one(item).map_err(|error| (*at, error)))
        }
    }

    #[test]
    fn the_first_error_in_order_is_returned() {
        let items: Vec<u64> = (0..100).collect();
        let from = |least: u64| each(move |item| if *item < least { Ok(()) } else { Err(*item) });
        let weights: [fn(&u64) -> u64; 4] = [|_| 0, |_| 1, |item| *item, |item| item % 7];
        for weight in weights {
            for threads in [0, 1, 3, 200] {
                let first = |least| first_error(&items, threads, weight, from(least));
                assert_eq!(first(37), Err(37), "{threads} threads");
                assert_eq!(first(100), Ok(()), "{threads} threads");
            }
        }
    }

    #[test]
    fn heavy_items_come_first_and_nothing_is_begun_after_an_error() {
        let begun = Mutex::new(Vec::new());
        let work = each(|item: &u64| {
            begun.lock().unwrap().push(*item);
            if *item == 2 { Err(()) } else { Ok(()) }
        });
        let items = [3, 10, 1, 2, 20, 2, 30, 4];
        assert_eq!(first_error(&items, 1, |item| item / 10, work), Err(()));
        assert_eq!(*begun.lock().unwrap(), [20, 30, 10, 3, 1, 2]);
    }

    #[test]
    fn heavy_items_come_in_pairs_where_threads_are_fewer() {
        let groups = |items: &[u64], threads| {
            let seen = Mutex::new(Vec::new());
            let work = |group: &[Numbered<'_, u64>], _: &Spare| {
                seen.lock().unwrap().push(group.iter().map(|(_, item)| **item).collect());
                Ok::<(), (usize, ())>(())
            };
            first_error(items, threads, |item| item / 10, work).unwrap();
            let mut seen: Vec<Vec<u64>> = seen.into_inner().unwrap();
            seen.sort();
            seen
        };
        assert_eq!(groups(&[10, 1, 40, 2, 20], 1), [vec![1], vec![2], vec![10], vec![40, 20]]);
        assert_eq!(groups(&[10, 1, 40, 2, 20], 2), [vec![1], vec![2], vec![10], vec![40, 20]]);
        assert_eq!(groups(&[10, 40, 20], 3), [[10], [20], [40]]);
    }

    #[test]
    fn threads_without_items_are_spare() {
        let spare_beside = |items: &[u8], threads| {
            let seen = Mutex::new(Vec::new());
            let work = |_: &[Numbered<'_, u8>], spare: &Spare| {
                let lent: Vec<_> = std::iter::from_fn(|| spare.take()).collect();
                seen.lock().unwrap().push(lent.len());
                Ok::<(), (usize, ())>(())
            };
            first_error(items, threads, |_| 1, work).unwrap();
            seen.into_inner().unwrap()
        };
        assert_eq!(spare_beside(&[0], 1), [0]);
        assert_eq!(spare_beside(&[0], 3), [2]);
        assert_eq!(spare_beside(&[0, 1], 1), [0]);
        assert_eq!(spare_beside(&[0, 1], 2).iter().min(), Some(&0));
    }
}
