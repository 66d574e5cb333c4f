//! Memory that is kept between operations: asking the system for pages anew in every step costs more than
//! many an operation does.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use super::Real;

/// A lent piece of memory, given back when it is dropped.
#[derive(Debug)]
pub struct Buffer<T: Real> {
    all: Vec<T>,
    from: usize,
    length: usize,
}

/// Bytes of a line of the cache, with which a buffer begins.
const LINE: usize = 64;
/// Bytes up to which memory stays with the thread that used it, in whose cache it is. What is larger is
/// shared: one thread may give back what another was lent.
const SMALL: usize = 1 << 16;
/// Pieces that a thread keeps at most, and that all threads share at most: more than a step has in use.
const MOST: usize = 64;

/// A buffer of this many numbers. What it holds is left over from earlier uses: write before reading.
pub fn buffer<T: Real>(length: usize) -> Buffer<T> {
    let room = room::<T>(length);
    let kept = match is_small::<T>(room) {
        true => T::kept(|kept| take(&mut kept.borrow_mut(), room)),
        false => take(&mut T::shared().lock().unwrap_or_else(PoisonError::into_inner), room),
    };
    let mut all = kept.unwrap_or_else(|| vec![T::ZERO; room]);
    let from = all.as_ptr().align_offset(LINE).min(room - length);
    // Whoever reads what was left over shall notice.
    #[cfg(debug_assertions)]
    all[from..from + length].fill(T::from_f64(f64::NAN));
    #[cfg(not(debug_assertions))]
    let _ = &mut all;
    Buffer { all, from, length }
}

/// Numbers that are asked for: room to begin with a line, and for lengths that differ a little from step
/// to step.
fn room<T>(length: usize) -> usize {
    let room = length + LINE / size_of::<T>();
    room.next_multiple_of((room.next_power_of_two() / 8).max(1))
}

fn is_small<T>(room: usize) -> bool {
    room * size_of::<T>() <= SMALL
}

/// The smallest that is large enough. Where none is, the largest is let go: its successor is asked for.
fn take<T>(kept: &mut Vec<Vec<T>>, room: usize) -> Option<Vec<T>> {
    let by_size = |(number, all): (usize, &Vec<T>)| (all.len(), number);
    let sizes = kept.iter().enumerate().map(by_size);
    match sizes.clone().filter(|(size, _)| *size >= room).min() {
        Some((_, number)) => Some(kept.swap_remove(number)),
        None => {
            let largest = sizes.max().map(|(_, number)| number);
            largest.map(|number| kept.swap_remove(number));
            None
        }
    }
}

/// Keeps a piece, unless there are many already: a thread that is given what others were lent, step after
/// step, would keep ever more.
fn keep<T>(kept: &mut Vec<Vec<T>>, all: Vec<T>) {
    if kept.len() < MOST {
        kept.push(all);
    }
}

impl<T: Real> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.from..][..self.length]
    }
}

impl<T: Real> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.from..][..self.length]
    }
}

impl<T: Real> Drop for Buffer<T> {
    fn drop(&mut self) {
        let all = std::mem::take(&mut self.all);
        match is_small::<T>(all.len()) {
            true => T::kept(|kept| keep(&mut kept.borrow_mut(), all)),
            false => keep(&mut T::shared().lock().unwrap_or_else(PoisonError::into_inner), all),
        }
    }
}

/// The buffers that a thread keeps.
pub(super) type Kept<T> = RefCell<Vec<Vec<T>>>;
/// The buffers that all threads share.
pub(super) type Shared<T> = Mutex<Vec<Vec<T>>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again() {
        let mut first = buffer::<f32>(100);
        first.fill(1.0);
        let place = first.as_ptr();
        let other = buffer::<f32>(100);
        assert_ne!(other.as_ptr(), place);
        drop(first);
        let again = buffer::<f32>(90);
        assert_eq!((again.as_ptr(), again.len()), (place, 90));
        assert!(again.as_ptr().addr().is_multiple_of(LINE));
    }

    #[test]
    fn the_smallest_that_fits_is_taken_and_the_largest_let_go() {
        let mut kept = vec![vec![0_u8; 30], vec![0; 10], vec![0; 20]];
        assert_eq!(take(&mut kept, 15).map(|all| all.len()), Some(20));
        assert_eq!(take(&mut kept, 31), None);
        assert_eq!(kept.iter().map(Vec::len).collect::<Vec<_>>(), [10]);
        assert_eq!(take(&mut Vec::<Vec<u8>>::new(), 1), None);
    }

    #[test]
    fn no_more_is_kept_than_a_step_uses() {
        // Lent by this thread and given back by another one, as rows of a mixture may be.
        for _ in 0..4 {
            let lent: Vec<_> = (0..MOST).map(|_| buffer::<f32>(100)).collect();
            let kept = std::thread::spawn(|| {
                drop(lent);
                <f32 as Real>::kept(|kept| kept.borrow().len())
            });
            assert_eq!(kept.join().unwrap(), MOST);
        }
        let kept = std::thread::spawn(|| {
            drop((0..3 * MOST).map(|_| buffer::<f32>(100)).collect::<Vec<_>>());
            <f32 as Real>::kept(|kept| kept.borrow().len())
        });
        assert_eq!(kept.join().unwrap(), MOST);
    }

    #[test]
    fn room_grows_by_parts() {
        assert_eq!(room::<f32>(100), 128);
        assert_eq!(room::<f32>(1000), 1024);
        assert_eq!(room::<f64>(1100), 1280);
    }
}
