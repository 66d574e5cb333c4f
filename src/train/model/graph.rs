//! A model as the operations that follow each other, and the walk over them: forward from the tokens to the loss, and in
//! reverse for the gradients. Rows, weights and gradients are handed on; only operations look at their numbers.

use super::load::Load;
use crate::ops::{
    Activate, Attention, BackwardPass, Batch, Embedding, FeedForward, ForwardPass, Head, HeadLoss,
    HeadScores, Linear, Mixture, Norm, Operation, Positions, VectorNorms, sized,
};
use repro_portable::{Buffer, Isa, Kernels};

/// All operations, and the memory between them. Their weights, and their gradients, are flat variables by number.
#[derive(Debug)]
pub(super) struct Graph<T: Kernels> {
    pub isa: Isa,
    steps: Vec<Step<T>>,
    /// The numbers of a row of each value: the tokens' rows, and what each operation makes.
    widths: Vec<usize>,
    values: Vec<Vec<T>>,
    pub head: Head<T>,
    /// The value that the head reads, and its variable.
    pub end: (RowsAt, usize),
    /// Whether loads are balanced over all sparse blocks at once.
    pub is_joint: bool,
}

/// Rows that an operation makes, by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowsAt(usize);

/// An operation, what it reads and what it makes.
#[derive(Debug)]
struct Step<T> {
    kind: StepKind<T>,
    x: Option<RowsAt>,
    /// Rows that are added to what it makes.
    residual: Option<RowsAt>,
    variable: Option<usize>,
    y: RowsAt,
}

/// An operation.
#[derive(Debug)]
pub(super) enum StepKind<T> {
    Activate(Activate),
    Attention(Box<Attention<T>>),
    Embedding(Embedding),
    FeedForward(FeedForward<T>),
    Linear(Linear),
    /// Of the block with this number.
    Mixture(usize, Box<Mixture<T>>),
    Norm(Norm<T>),
    Positions(Positions),
    VectorNorms(VectorNorms),
}

impl<T: Kernels> StepKind<T> {
    fn operation(&self) -> &dyn Operation<T> {
        match self {
            Self::Activate(of) => of,
            Self::Attention(of) => &**of,
            Self::Embedding(of) => of,
            Self::FeedForward(of) => of,
            Self::Linear(of) => of,
            Self::Mixture(_, of) => &**of,
            Self::Norm(of) => of,
            Self::Positions(of) => of,
            Self::VectorNorms(of) => of,
        }
    }

    fn operation_mut(&mut self) -> &mut dyn Operation<T> {
        match self {
            Self::Activate(of) => of,
            Self::Attention(of) => &mut **of,
            Self::Embedding(of) => of,
            Self::FeedForward(of) => of,
            Self::Linear(of) => of,
            Self::Mixture(_, of) => &mut **of,
            Self::Norm(of) => of,
            Self::Positions(of) => of,
            Self::VectorNorms(of) => of,
        }
    }
}

impl<T: Kernels> Graph<T> {
    /// A graph without operations yet.
    pub fn new(isa: Isa, head: Head<T>, is_joint: bool) -> Self {
        let (steps, widths, values, end) = (Vec::new(), Vec::new(), Vec::new(), (RowsAt(0), 0));
        Self { isa, steps, widths, values, head, end, is_joint }
    }

    /// Adds an operation that reads `x`, whose output has `width` numbers in a row and is added to `residual`.
    pub fn add(
        &mut self,
        kind: StepKind<T>,
        (x, residual): (Option<RowsAt>, Option<RowsAt>),
        variable: Option<usize>,
        width: usize,
    ) -> RowsAt {
        let y = RowsAt(self.widths.len());
        self.widths.push(width);
        self.values.push(Vec::new());
        self.steps.push(Step { kind, x, residual, variable, y });
        y
    }

    /// The numbers of a row of a value.
    pub fn width(&self, value: RowsAt) -> usize {
        self.widths[value.0]
    }

    /// Walks to the head.
    pub fn forward(&mut self, batch: Batch<'_>, weights: &[Vec<T>]) {
        for step in &mut self.steps {
            let (before, after) = self.values.split_at_mut(step.y.0);
            let of = |value: Option<RowsAt>| value.map(|value| &before[value.0][..]);
            let x = of(step.x).unwrap_or_default();
            let w = step.variable.map_or(&[][..], |variable| &weights[variable]);
            let y = sized(&mut after[0], batch.tokens.len() * self.widths[step.y.0]);
            let pass = ForwardPass { x, w, residual: of(step.residual), y };
            step.kind.operation_mut().forward(self.isa, batch, pass);
        }
        if self.is_joint {
            self.balance_jointly();
        }
    }

    /// Has each router see the choices of all.
    fn balance_jointly(&mut self) {
        let (mut counts, mut layers) = (Vec::<u64>::new(), 0);
        for routing in self.mixtures().filter_map(|(_, mixture)| mixture.routing()) {
            counts.resize(routing.counts.len(), 0);
            counts.iter_mut().zip(&routing.counts).for_each(|(sum, count)| *sum += count);
            layers += 1;
        }
        for (_, mixture) in self.mixtures_mut() {
            mixture.balance_jointly(&counts, layers);
        }
    }

    /// The loss of the targets, after a walk forward.
    pub fn loss(&mut self, targets: &[u32], weights: &[Vec<T>]) -> HeadLoss<T> {
        let (h, variable) = self.end;
        self.head.forward(self.isa, targets, [&self.values[h.0], &weights[variable]])
    }

    /// The nats of each target, after a walk forward.
    pub fn scores(&self, targets: &[u32], weights: &[Vec<T>]) -> HeadScores<T> {
        let (h, variable) = self.end;
        self.head.score(self.isa, targets, [&self.values[h.0], &weights[variable]])
    }

    /// Walks back from the loss, and writes all gradients.
    pub fn backward(&self, batch: Batch<'_>, weights: &[Vec<T>], gradients: &mut [Vec<T>]) {
        let mut of_values: Vec<Option<Buffer<T>>> = self.widths.iter().map(|_| None).collect();
        let (h, variable) = self.end;
        let mut gh = T::buffer(self.values[h.0].len());
        let read = [&self.values[h.0][..], &weights[variable]];
        self.head.backward(self.isa, read, [&mut gh, &mut gradients[variable]]);
        of_values[h.0] = Some(gh);
        for step in self.steps.iter().rev() {
            let Some(g) = of_values[step.y.0].take() else { continue };
            let of_x = step.x.map(|x| &self.values[x.0][..]).unwrap_or_default();
            let before = step.x.and_then(|x| of_values[x.0].take());
            let mut gx = T::buffer(of_x.len());
            let (mut nothing, none) = (Vec::new(), Vec::new());
            let pass = BackwardPass {
                x: of_x,
                w: step.variable.map_or(&none, |variable| &weights[variable]),
                g: &g,
                before: before.as_deref(),
                gx: &mut gx,
                gw: step.variable.map_or(&mut nothing, |variable| &mut gradients[variable]),
            };
            step.kind.operation().backward(self.isa, batch, pass);
            if let Some(x) = step.x {
                of_values[x.0] = Some(gx);
            }
            if let Some(residual) = step.residual {
                let known = &mut of_values[residual.0];
                match known {
                    None => *known = Some(g),
                    Some(known) => known.iter_mut().zip(&*g).for_each(|(sum, g)| *sum += *g),
                }
            }
        }
    }

    /// The loads of sparse blocks in the last walk.
    pub fn loads(&self) -> Vec<Load> {
        let load = |(layer, mixture): (usize, &Mixture<T>)| {
            mixture.routing().map(|routing| Load::new(layer, routing))
        };
        self.mixtures().filter_map(load).collect()
    }

    /// The mixtures of sparse blocks, by number.
    pub fn mixtures(&self) -> impl Iterator<Item = (usize, &Mixture<T>)> {
        self.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Mixture(layer, mixture) => Some((*layer, &**mixture)),
            _ => None,
        })
    }

    /// The same, to be changed.
    pub fn mixtures_mut(&mut self) -> impl Iterator<Item = (usize, &mut Mixture<T>)> {
        self.steps.iter_mut().filter_map(|step| match &mut step.kind {
            StepKind::Mixture(layer, mixture) => Some((*layer, &mut **mixture)),
            _ => None,
        })
    }
}
