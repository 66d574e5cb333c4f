//! Tokens in the order of their experts, and back.

use std::ops::Range;

use rayon::prelude::*;

use super::isa::portable;
use super::{Isa, Real};

/// Rows that a thread takes at a time.
const ROWS: usize = 64;
/// Columns that are added up at a time.
const COLUMNS: usize = 64;

/// The tokens of all experts as the rows of one table: those of expert 0 in rising order, then those of
/// expert 1, and so on.
#[derive(Debug)]
pub struct Arrangement {
    offsets: Vec<usize>,
    tokens: Vec<u32>,
    rows: Vec<u32>,
    per_token: usize,
}

impl Arrangement {
    /// Arranges tokens by their experts, `per_token` for each.
    ///
    /// # Panics
    /// Where a choice is no expert.
    pub fn new(experts: usize, per_token: usize, chosen: &[u32]) -> Self {
        let mut offsets = vec![0; experts + 1];
        for expert in chosen {
            offsets[*expert as usize + 1] += 1;
        }
        for expert in 0..experts {
            offsets[expert + 1] += offsets[expert];
        }
        let mut next = offsets.clone();
        let mut tokens = vec![0; chosen.len()];
        let take = |(slot, expert): (usize, &u32)| {
            let row = next[*expert as usize];
            next[*expert as usize] += 1;
            tokens[row] = (slot / per_token) as u32;
            row as u32
        };
        let rows = chosen.iter().enumerate().map(take).collect();
        Self { offsets, tokens, rows, per_token }
    }

    /// Experts.
    pub fn experts(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The rows of an expert.
    pub fn of(&self, expert: usize) -> Range<usize> {
        self.offsets[expert]..self.offsets[expert + 1]
    }

    /// Rows of the table.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Copies the token of each of some rows.
    pub fn gather<T: Real>(&self, rows: Range<usize>, width: usize, of: &[T], into: &mut [T]) {
        for (into, token) in into.chunks_exact_mut(width).zip(&self.tokens[rows]) {
            into.copy_from_slice(&of[*token as usize * width..][..width]);
        }
    }

    /// The values of slots (a token's experts in rising order) in the order of the rows.
    pub fn to_rows<T: Real>(&self, slots: &[T]) -> Vec<T> {
        let mut rows = vec![T::ZERO; slots.len()];
        for (row, value) in self.rows.iter().zip(slots) {
            rows[*row as usize] = *value;
        }
        rows
    }

    /// The values of rows in the order of the slots.
    pub fn to_slots<T: Real>(&self, rows: &[T]) -> Vec<T> {
        self.rows.iter().map(|row| rows[*row as usize]).collect()
    }

    /// Adds to each token's row the sum of its rows of the table, which is taken in rising order of the
    /// experts, from the first.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn add<T: Real>(&self, isa: Isa, width: usize, table: &[T], to: &mut [T]) {
        assert_eq!(table.len(), self.rows.len() * width, "the shape of a mixture");
        assert_eq!(to.len() * self.per_token, table.len(), "the shape of a mixture");
        to.par_chunks_mut(ROWS * width)
            .zip(self.rows.par_chunks(ROWS * self.per_token))
            .for_each(|(to, rows)| add(isa, width, self.per_token, table, rows, to));
    }
}

portable! {
    fn add<T: Real>(width: usize, per_token: usize, table: &[T], rows: &[u32], to: &mut [T]) {
        for (to, rows) in to.chunks_exact_mut(width).zip(rows.chunks_exact(per_token)) {
            for (number, to) in to.chunks_mut(COLUMNS).enumerate() {
                let part = |row: &u32| &table[*row as usize * width + number * COLUMNS..][..to.len()];
                let mut sum = [T::ZERO; COLUMNS];
                let sum = &mut sum[..to.len()];
                for (at, row) in rows.iter().enumerate() {
                    match at {
                        0 => sum.copy_from_slice(part(row)),
                        _ => sum.iter_mut().zip(part(row)).for_each(|(sum, value)| *sum += *value),
                    }
                }
                for (to, sum) in to.iter_mut().zip(sum) {
                    *to += *sum;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_sorted_by_expert_and_put_back() {
        // Three tokens, two experts each of four; expert 2 has none.
        let arrangement = Arrangement::new(4, 2, &[1, 3, 0, 1, 0, 3]);
        let of: Vec<_> = (0..4).map(|expert| arrangement.of(expert)).collect();
        assert_eq!(of, [0..2, 2..4, 4..4, 4..6]);
        assert_eq!(arrangement.tokens, [1, 2, 0, 1, 0, 2]);
        assert_eq!((arrangement.len(), arrangement.experts()), (6, 4));
        let slots = [10.0, 30.0, 0.0, 11.0, 1.0, 31.0];
        let rows = arrangement.to_rows(&slots);
        assert_eq!(rows, [0.0, 1.0, 10.0, 11.0, 30.0, 31.0]);
        assert_eq!(arrangement.to_slots(&rows), slots);
        let mut own = [0.0; 4];
        arrangement.gather(1..3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut own);
        assert_eq!(own, [5.0, 6.0, 1.0, 2.0]);
    }

    #[test]
    fn a_token_gets_the_sum_of_its_experts() {
        let width = COLUMNS + 3;
        let arrangement = Arrangement::new(3, 2, &[0, 2, 1, 2]);
        // Large numbers of two experts take each other away before the small one of the row is added.
        let row = |value: f32| vec![value; width];
        let table = [row(1e9), row(3.0), row(-1e9), row(4.0)].concat();
        for isa in Isa::available() {
            let mut to = [row(1.0), row(0.5)].concat();
            arrangement.add(isa, width, &table, &mut to);
            assert_eq!(to, [row(1.0), row(7.5)].concat());
        }
    }
}
