//! Work on many items by several threads, with results that do not depend on how many.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The results of `work` for all items, in their order, of which `threads` are worked on at a time.
pub fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        items.get(at).map(|item| (at, item))
    };
    let some = || std::iter::from_fn(take).map(|(at, item)| (at, work(item))).collect::<Vec<_>>();
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(some)).collect();
        let mut all = some();
        for thread in others {
            match thread.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let squares: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(map(&items, threads, |item| item * item), squares, "{threads} threads");
        }
        assert!(map(&[0_u64; 0], 4, |item| *item).is_empty());
    }
}
