//! Tokens to the rows of a table.

use super::sized;
use repro_portable::Kernels;

/// The rows of a table of `width` columns that belong to some tokens. The gradient of the table is the sum
/// of the gradients of its tokens' rows in their order: from +0, or, where the table is also the matrix of
/// the head, from its gradient there.
#[derive(Debug)]
pub struct Embedding {
    pub width: usize,
    /// Whether the table is also the matrix of the head.
    pub tied: bool,
    /// The tokens of the last forward pass.
    pub tokens: Vec<u32>,
}

impl Embedding {
    /// Writes the rows of tokens, each of which the table has.
    pub fn forward<T: Kernels>(&mut self, tokens: &[u32], table: &[T], rows: &mut Vec<T>) {
        let width = self.width;
        self.tokens.clear();
        self.tokens.extend_from_slice(tokens);
        let rows = sized(rows, tokens.len() * width).chunks_exact_mut(width);
        for (row, token) in rows.zip(tokens) {
            row.copy_from_slice(&table[*token as usize * width..][..width]);
        }
    }

    /// Writes the gradient of the table, or adds to it what the head wrote there.
    pub fn backward<T: Kernels>(&self, g: &[T], into: &mut [T]) {
        if !self.tied {
            into.fill(T::ZERO);
        }
        for (g, token) in g.chunks_exact(self.width).zip(&self.tokens) {
            let row = &mut into[*token as usize * self.width..][..self.width];
            for (sum, g) in row.iter_mut().zip(g) {
                *sum += *g;
            }
        }
    }
}
