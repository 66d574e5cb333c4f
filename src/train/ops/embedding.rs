//! Tokens to the rows of a table.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

use super::tape::{Pass, ticket};
use super::{Element, numbers};

/// The rows of a table of `width` columns that belong to some tokens. The gradient of the table is the sum
/// of the gradients of its tokens' rows in their order: from +0, or, where the table is also the matrix of
/// the head, from its gradient there.
#[derive(Debug)]
pub struct Embedding {
    pub width: usize,
    pub variable: usize,
}

impl Embedding {
    /// Writes the first rows of a pass; returns the ticket that stands for them.
    pub fn apply<T: Element>(
        &self,
        pass: &Pass<T>,
        tokens: Arc<[u32]>,
        weights: &[Tensor],
    ) -> Result<Tensor> {
        let &Self { width, variable } = self;
        weights[variable].apply_op1(OnTape { width, variable, tokens, pass: pass.clone() })
    }
}

struct OnTape<T> {
    width: usize,
    variable: usize,
    tokens: Arc<[u32]>,
    pass: Pass<T>,
}

impl<T: Element> CustomOp1 for OnTape<T> {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn cpu_fwd(&self, table: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (table, width) = (numbers::<T>(table, layout)?, self.width);
        let mut memory = self.pass.begin()?;
        let rows = memory.rows_mut(0, self.tokens.len() * width).chunks_exact_mut(width);
        for (row, token) in rows.zip(&*self.tokens) {
            match table.chunks_exact(width).nth(*token as usize) {
                Some(of) => row.copy_from_slice(of),
                None => candle_core::bail!("token {token} is not in the vocabulary"),
            }
        }
        Ok(ticket::<T>())
    }

    fn bwd(&self, table: &Tensor, _result: &Tensor, _g: &Tensor) -> Result<Option<Tensor>> {
        let width = self.width;
        let mut memory = self.pass.memory()?;
        let place = (self.variable, table.elem_count());
        let (g, into, written) = memory.end_gradients(self.tokens.len() * width, place);
        if !written {
            into.fill(T::ZERO);
        }
        for (g, token) in g.chunks_exact(width).zip(&*self.tokens) {
            let row = &mut into[*token as usize * width..][..width];
            for (sum, g) in row.iter_mut().zip(g) {
                *sum += *g;
            }
        }
        Ok(None)
    }
}
