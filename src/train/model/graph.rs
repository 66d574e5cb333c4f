//! A model as the operations that follow each other, and the walk over them: forward from the tokens to the loss, and in
//! reverse for the gradients. Rows, weights and gradients are handed on; only operations look at their numbers.

use std::borrow::Cow;

use super::config::MixtureConfig;
use super::load::Load;
use super::precision::{OperationWork, Rounded, Roundings};
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
    pub roundings: Roundings,
    /// How many walks were made: each rounds otherwise, where it rounds at random.
    walks: u64,
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
    fn work(&self) -> OperationWork {
        match self {
            Self::FeedForward(_) | Self::Linear(_) | Self::Mixture(..) => OperationWork::Products,
            Self::Activate(_) | Self::Attention(_) => OperationWork::Functions,
            Self::Embedding(_) | Self::Norm(_) | Self::Positions(_) | Self::VectorNorms(_) => {
                OperationWork::Rest
            }
        }
    }

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
        let roundings = Roundings::default();
        Self { isa, steps, widths, values, head, end, is_joint, roundings, walks: 0 }
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
        self.walks += 1;
        let (isa, roundings, walk) = (self.isa, self.roundings, self.walks);
        for (number, step) in self.steps.iter_mut().enumerate() {
            let (before, after) = self.values.split_at_mut(step.y.0);
            let of = |value: Option<RowsAt>| value.map(|value| &before[value.0][..]);
            let x = of(step.x).unwrap_or_default();
            let w = step.variable.map_or(&[][..], |variable| &weights[variable]);
            let y = sized(&mut after[0], batch.tokens.len() * self.widths[step.y.0]);
            let residual = of(step.residual);
            if let StepKind::Attention(attention) = &mut step.kind {
                attention.heads.disturb(roundings.seed);
            }
            if roundings.is_nothing() {
                let pass = ForwardPass { x, w, residual, y };
                step.kind.operation_mut().forward(isa, batch, pass);
                continue;
            }
            let (rounded, at) = (roundings.of(step.kind.work()), Place { walk, step: number });
            if let StepKind::Attention(attention) = &mut step.kind {
                attention.heads.round_inside(roundings.of_scores(at.of(Part::Scores)));
            }
            let (x, w) = (at.x(isa, roundings, rounded, x), at.w(isa, roundings, rounded, w));
            let pass = ForwardPass { x: &x, w: &w, residual: None, y };
            step.kind.operation_mut().forward(isa, batch, pass);
            if rounded.y {
                roundings.round(isa, at.of(Part::Output), y);
            }
            if let Some(residual) = residual {
                y.iter_mut().zip(residual).for_each(|(sum, number)| *sum += *number);
                if rounded.sum {
                    roundings.round(isa, at.of(Part::Sum), y);
                }
            }
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

    /// The rows that the head reads and its matrix, rounded where the recipe rounds them.
    fn of_head<'a>(&'a self, weights: &'a [Vec<T>]) -> [Cow<'a, [T]>; 2] {
        let ((h, variable), at) = (self.end, self.at_head());
        let rounded = self.roundings.of_head();
        let h = at.x(self.isa, self.roundings, rounded, &self.values[h.0]);
        [h, at.w(self.isa, self.roundings, rounded, &weights[variable])]
    }

    fn at_head(&self) -> Place {
        Place { walk: self.walks, step: self.steps.len() }
    }

    /// The loss of the targets, after a walk forward.
    pub fn loss(&mut self, targets: &[u32], weights: &[Vec<T>]) -> HeadLoss<T> {
        let of_logits = self.roundings.of_head().y;
        self.head.rounding = of_logits.then(|| self.roundings.at(self.at_head().of(Part::Output)));
        let [h, matrix] = self.of_head(weights).map(Cow::into_owned);
        self.head.forward(self.isa, targets, [&h, &matrix])
    }

    /// The nats of each target, after a walk forward.
    pub fn scores(&self, targets: &[u32], weights: &[Vec<T>]) -> HeadScores<T> {
        let [h, matrix] = self.of_head(weights);
        self.head.score(self.isa, targets, [&h, &matrix])
    }

    /// Walks back from the loss, and writes all gradients.
    pub fn backward(&self, batch: Batch<'_>, weights: &[Vec<T>], gradients: &mut [Vec<T>]) {
        let mut of_values: Vec<Option<Buffer<T>>> = self.widths.iter().map(|_| None).collect();
        of_values[self.end.0.0] = Some(self.backward_of_head(weights, gradients));
        for (number, step) in self.steps.iter().enumerate().rev() {
            let Some(mut g) = of_values[step.y.0].take() else { continue };
            let before = step.x.and_then(|x| of_values[x.0].take());
            let gx = match self.roundings.is_nothing() {
                true => self.backward_of(step, batch, (&g, before.as_deref()), weights, gradients),
                false => self.backward_rounded(number, batch, (&mut g, before), weights, gradients),
            };
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

    /// The gradient of the rows that the head reads; that of its matrix is written.
    fn backward_of_head(&self, weights: &[Vec<T>], gradients: &mut [Vec<T>]) -> Buffer<T> {
        let ((h, variable), rounded) = (self.end, self.roundings.of_head());
        let mut gh = T::buffer(self.values[h.0].len());
        let [rows, matrix] = self.of_head(weights);
        let g_matrix = &mut gradients[variable];
        self.head.backward(self.isa, [&rows, &matrix], [&mut gh, g_matrix]);
        let at = self.at_head();
        for (is_rounded, part, numbers) in [
            (rounded.x, Part::InputGradient, &mut gh[..]),
            (rounded.w, Part::WeightGradient, g_matrix),
        ] {
            if is_rounded && rounded.y {
                self.roundings.round(self.isa, at.of(part), numbers);
            }
        }
        gh
    }

    /// The gradient of what a step reads, plus that of its other uses; that of its weights is written.
    fn backward_of(
        &self,
        step: &Step<T>,
        batch: Batch<'_>,
        (g, before): (&[T], Option<&[T]>),
        weights: &[Vec<T>],
        gradients: &mut [Vec<T>],
    ) -> Buffer<T> {
        let x = step.x.map(|x| &self.values[x.0][..]).unwrap_or_default();
        let w = step.variable.map_or(&[][..], |variable| &weights[variable]);
        let mut gx = T::buffer(x.len());
        let mut nothing = Vec::new();
        let gw = step.variable.map_or(&mut nothing, |variable| &mut gradients[variable]);
        let pass = BackwardPass { x, w, g, before, gx: &mut gx, gw, sums: None };
        step.kind.operation().backward(self.isa, batch, pass);
        gx
    }

    /// The same of step `number`, rounded where the recipe rounds.
    fn backward_rounded(
        &self,
        number: usize,
        batch: Batch<'_>,
        (g, before): (&mut Buffer<T>, Option<Buffer<T>>),
        weights: &[Vec<T>],
        gradients: &mut [Vec<T>],
    ) -> Buffer<T> {
        let (isa, roundings, step) = (self.isa, self.roundings, &self.steps[number]);
        let (rounded, at) =
            (roundings.of(step.kind.work()), Place { walk: self.walks, step: number });
        let x = step.x.map(|x| &self.values[x.0][..]).unwrap_or_default();
        let w = step.variable.map_or(&[][..], |variable| &weights[variable]);
        let (x, w) = (at.x(isa, roundings, rounded, x), at.w(isa, roundings, rounded, w));
        let mut own = g.to_vec();
        if rounded.y || rounded.w {
            roundings.round(isa, at.of(Part::OutputGradient), &mut own);
        }
        if rounded.sum {
            g.copy_from_slice(&own);
        }
        let mut gx = T::buffer(x.len());
        let mut nothing = Vec::new();
        let gw = step.variable.map_or(&mut nothing, |variable| &mut gradients[variable]);
        let sums = roundings.of_sums(at.of(Part::Sums));
        let pass = BackwardPass { x: &x, w: &w, g: &own, before: None, gx: &mut gx, gw, sums };
        step.kind.operation().backward(isa, batch, pass);
        if rounded.x && rounded.y {
            roundings.round(isa, at.of(Part::InputGradient), &mut gx);
        }
        if rounded.w && rounded.y {
            roundings.round(isa, at.of(Part::WeightGradient), gw);
        }
        for (sum, number) in gx.iter_mut().zip(before.as_deref().unwrap_or_default()) {
            *sum += *number;
        }
        if rounded.sum && before.is_some() {
            roundings.round(isa, at.of(Part::SumGradient), &mut gx);
        }
        gx
    }

    /// From now on takes so many times the balance losses of a config.
    pub fn balance(&mut self, config: Option<&MixtureConfig>, times: f64) {
        let Some([balance, _]) = config.map(MixtureConfig::coefficients) else { return };
        self.mixtures_mut().for_each(|(_, mixture)| mixture.losses.balance = balance * times);
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

/// Where numbers are rounded: the walk, the operation, and a part of it.
#[derive(Debug, Clone, Copy)]
struct Place {
    walk: u64,
    step: usize,
}

/// What of an operation is rounded.
#[derive(Debug, Clone, Copy)]
enum Part {
    Input,
    Weights,
    Output,
    Sum,
    InputGradient,
    WeightGradient,
    OutputGradient,
    SumGradient,
    Sums,
    Scores,
}

impl Place {
    fn of(self, part: Part) -> u64 {
        // Weights are rounded once for all walks between two updates; that they are again here costs nothing of the noise.
        ((self.walk << 20) + self.step as u64) << 4 | part as u64
    }

    /// The input as it is rounded.
    fn x<'a, T: Kernels>(
        self,
        isa: Isa,
        roundings: Roundings,
        rounded: Rounded,
        x: &'a [T],
    ) -> Cow<'a, [T]> {
        self.copy(isa, roundings, (rounded.x, Part::Input), x)
    }

    /// The weights as they are rounded.
    fn w<'a, T: Kernels>(
        self,
        isa: Isa,
        roundings: Roundings,
        rounded: Rounded,
        w: &'a [T],
    ) -> Cow<'a, [T]> {
        self.copy(isa, roundings, (rounded.w, Part::Weights), w)
    }

    fn copy<'a, T: Kernels>(
        self,
        isa: Isa,
        roundings: Roundings,
        (is_rounded, part): (bool, Part),
        numbers: &'a [T],
    ) -> Cow<'a, [T]> {
        if !is_rounded {
            return Cow::Borrowed(numbers);
        }
        let mut copy = numbers.to_vec();
        roundings.round(isa, self.of(part), &mut copy);
        Cow::Owned(copy)
    }
}
