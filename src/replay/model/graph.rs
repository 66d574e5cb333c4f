//! A model as the operations that follow each other, and the walk over them: forward from the tokens to the loss, and in
//! reverse for the gradients. Rows, weights and gradients are handed on; only the backend looks at their numbers.

use std::ops::Deref;

use super::config::MixtureConfig;
use super::precision::{Rounded, Roundings};
use super::{OperationKind, OperationRows, PartRows};
use crate::backend::{Backend, BackwardNumbers, ForwardNumbers};
use crate::ops::{Batch, Head, HeadLoss, HeadScores, Load, Mixture, StepKind};
use repro_kernels::portable::rounding::Rounding;

/// All operations, and the memory between them. Their weights, and their gradients, are flat variables by number.
#[derive(Debug)]
pub(super) struct Graph<B: Backend> {
    backend: B,
    steps: Vec<Step<B>>,
    /// The numbers of a row of each value: the tokens' rows, and what each operation makes.
    widths: Vec<usize>,
    values: Vec<B::Numbers>,
    pub head: Head<B::Number>,
    kept_of_head: B::Kept,
    /// The value that the head reads, and its variable.
    pub end: (RowsAt, usize),
    /// Whether loads are balanced over all sparse blocks at once.
    pub is_joint: bool,
    /// The rows behind each part of the model, by the name of the part.
    pub parts: Vec<(String, RowsAt)>,
    pub roundings: Roundings,
    /// How many walks were made: each rounds otherwise, where it rounds at random.
    walks: u64,
}

/// Rows that an operation makes, by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowsAt(usize);

/// An operation, what it reads and what it makes.
#[derive(Debug)]
struct Step<B: Backend> {
    kind: StepKind<B::Number>,
    kept: B::Kept,
    x: Option<RowsAt>,
    /// Rows that are added to what it makes.
    residual: Option<RowsAt>,
    variable: Option<usize>,
    y: RowsAt,
}

impl<B: Backend> Graph<B> {
    /// A graph without operations yet.
    pub fn new(backend: B, head: Head<B::Number>, is_joint: bool) -> Self {
        Self {
            backend,
            steps: Vec::new(),
            widths: Vec::new(),
            values: Vec::new(),
            head,
            kept_of_head: B::Kept::default(),
            end: (RowsAt(0), 0),
            is_joint,
            parts: Vec::new(),
            roundings: Roundings::default(),
            walks: 0,
        }
    }

    /// Adds an operation that reads `x`, whose output has `width` numbers in a row and is added to `residual`.
    pub fn add(
        &mut self,
        kind: StepKind<B::Number>,
        (x, residual): (Option<RowsAt>, Option<RowsAt>),
        variable: Option<usize>,
        width: usize,
    ) -> RowsAt {
        let y = RowsAt(self.widths.len());
        self.widths.push(width);
        self.values.push(self.backend.zeros(0));
        self.steps.push(Step { kind, kept: B::Kept::default(), x, residual, variable, y });
        y
    }

    /// The numbers of a row of a value.
    pub fn width(&self, value: RowsAt) -> usize {
        self.widths[value.0]
    }

    /// Walks to the head.
    pub fn forward(&mut self, batch: Batch<'_>, weights: &[B::Numbers]) {
        self.walks += 1;
        let Self { backend, steps, widths, values, roundings, walks, .. } = self;
        let (backend, roundings, walk) = (&*backend, *roundings, *walks);
        for (number, step) in steps.iter_mut().enumerate() {
            let (before, after) = values.split_at_mut(step.y.0);
            let of = |value: Option<RowsAt>| value.map(|value| &before[value.0]);
            let (x, residual, y) = (of(step.x), of(step.residual), &mut after[0]);
            let w = step.variable.map(|variable| &weights[variable]);
            backend.resize(y, batch.tokens.len() * widths[step.y.0]);
            if let StepKind::Attention(attention) = &mut step.kind {
                attention.heads.disturb(roundings.seed);
            }
            let pass = ForwardNumbers { x, w, residual, y };
            if roundings.is_nothing() {
                backend.forward(&mut step.kind, &mut step.kept, batch, pass);
            } else {
                let (rounded, at) = (roundings.of(&step.kind), Place { walk, step: number });
                let rounder = Rounder { backend, roundings, rounded, at };
                rounder.forward((&mut step.kind, &mut step.kept), batch, pass);
            }
        }
        if self.is_joint {
            self.balance_jointly();
        }
    }

    /// Has each router see the choices of all.
    fn balance_jointly(&mut self) {
        let (mut counts, mut layers) = (Vec::<u64>::new(), 0);
        for load in self.loads() {
            counts.resize(load.counts.len(), 0);
            counts.iter_mut().zip(&load.counts).for_each(|(sum, count)| *sum += count);
            layers += 1;
        }
        for Step { kind, kept, .. } in &mut self.steps {
            if let StepKind::Mixture(_, mixture) = kind {
                self.backend.balance_jointly(mixture, kept, &counts, layers);
            }
        }
    }

    /// The place of the head in a walk: behind all operations.
    fn at_head(&self) -> Place {
        Place { walk: self.walks, step: self.steps.len() }
    }

    /// The loss of the targets, after a walk forward.
    pub fn loss(&mut self, targets: &[u32], weights: &[B::Numbers]) -> HeadLoss<B::Number> {
        let rounder = Rounder::of_head(&self.backend, self.roundings, self.at_head());
        self.head.rounding = rounder.rounded.y.then(|| rounder.rounding(Part::Output));
        let (h, variable) = self.end;
        let (h, matrix) = (rounder.x(&self.values[h.0]), rounder.w(&weights[variable]));
        let of = [&*h, &*matrix];
        self.backend.loss(&mut self.head, &mut self.kept_of_head, targets, of)
    }

    /// The nats of each target, after a walk forward.
    pub fn scores(&self, targets: &[u32], weights: &[B::Numbers]) -> HeadScores<B::Number> {
        let rounder = Rounder::of_head(&self.backend, self.roundings, self.at_head());
        let (h, variable) = self.end;
        let (h, matrix) = (rounder.x(&self.values[h.0]), rounder.w(&weights[variable]));
        self.backend.scores(&self.head, targets, [&*h, &*matrix])
    }

    /// Walks back from the loss, and writes all gradients.
    pub fn backward(&self, batch: Batch<'_>, weights: &[B::Numbers], gradients: &mut [B::Numbers]) {
        let mut of_values: Vec<Option<B::Numbers>> = self.widths.iter().map(|_| None).collect();
        of_values[self.end.0.0] = Some(self.backward_of_head(weights, gradients));
        for (number, step) in self.steps.iter().enumerate().rev() {
            let Some(mut g) = of_values[step.y.0].take() else { continue };
            let before = step.x.and_then(|x| of_values[x.0].take());
            let gx = self.backward_of(number, batch, (&mut g, before), weights, gradients);
            if let Some(x) = step.x {
                of_values[x.0] = gx;
            }
            if let Some(residual) = step.residual {
                let known = &mut of_values[residual.0];
                match known {
                    None => *known = Some(g),
                    Some(known) => self.backend.add(known, &g),
                }
            }
        }
    }

    /// The gradient of the rows that the head reads; that of its matrix is written.
    fn backward_of_head(&self, weights: &[B::Numbers], gradients: &mut [B::Numbers]) -> B::Numbers {
        let (h, variable) = self.end;
        let rounder = Rounder::of_head(&self.backend, self.roundings, self.at_head());
        let mut gh = self.backend.buffer(self.backend.length(&self.values[h.0]));
        let (h, matrix) = (rounder.x(&self.values[h.0]), rounder.w(&weights[variable]));
        let (of, g_matrix) = ([&*h, &*matrix], &mut gradients[variable]);
        self.backend.head_backward(&self.head, &self.kept_of_head, of, [&mut gh, g_matrix]);
        let Rounded { x, w, y, .. } = rounder.rounded;
        if x && y {
            rounder.round(Part::InputGradient, &mut gh);
        }
        if w && y {
            rounder.round(Part::WeightGradient, g_matrix);
        }
        gh
    }

    /// The gradient of what step `number` reads, plus that of its other uses; that of its weights is written. Its own is
    /// rounded where the recipe keeps it so.
    fn backward_of(
        &self,
        number: usize,
        batch: Batch<'_>,
        (g, before): (&mut B::Numbers, Option<B::Numbers>),
        weights: &[B::Numbers],
        gradients: &mut [B::Numbers],
    ) -> Option<B::Numbers> {
        let (backend, roundings, step) = (&self.backend, self.roundings, &self.steps[number]);
        let x = step.x.map(|x| &self.values[x.0]);
        let w = step.variable.map(|variable| &weights[variable]);
        let gw = step.variable.map(|variable| &mut gradients[variable]);
        let mut gx = x.map(|x| backend.buffer(backend.length(x)));
        if roundings.is_nothing() {
            let (before, gx) = (before.as_ref(), gx.as_mut());
            let pass = BackwardNumbers { x, w, g, before, gx, gw, sums: None };
            backend.backward(&step.kind, &step.kept, batch, pass);
        } else {
            let at = Place { walk: self.walks, step: number };
            let rounder = Rounder { backend, roundings, rounded: roundings.of(&step.kind), at };
            let into = [gx.as_mut(), gw];
            rounder.backward((&step.kind, &step.kept), batch, [x, w], (g, before), into);
        }
        gx
    }

    /// The rows behind each part of the model in the last walk, by the name of the part.
    pub fn rows_of_parts(&self) -> Vec<PartRows<B::Number>> {
        let rows = |(part, at): &(String, RowsAt)| {
            let values = self.values.get(at.0)?;
            let all = 0..self.backend.length(values);
            let rows = self.backend.get(values, all).into_owned();
            Some(PartRows { part: part.clone(), rows })
        };
        self.parts.iter().filter_map(rows).collect()
    }

    /// The rows that each operation with weights read and made in the last walk, by its variable, whose tensors are not named
    /// yet.
    pub fn rows_of_operations(&self) -> Vec<(usize, OperationRows<B::Number>)> {
        let numbers = |at: RowsAt| {
            let values = self.values.get(at.0)?;
            Some(self.backend.get(values, 0..self.backend.length(values)).into_owned())
        };
        let mut all = Vec::new();
        for step in &self.steps {
            let (Some(variable), Some(mut outputs)) = (step.variable, numbers(step.y)) else {
                continue;
            };
            for (output, added) in
                outputs.iter_mut().zip(step.residual.and_then(numbers).unwrap_or_default())
            {
                *output -= added;
            }
            let maker = step.x.and_then(|x| self.steps.get(x.0));
            let before = maker.filter(|maker| maker.residual.is_none());
            let rows = OperationRows {
                kind: kind_of(&step.kind),
                tensors: Vec::new(),
                inputs: step.x.and_then(numbers),
                before: before.map(|before| kind_of(&before.kind)),
                outputs,
            };
            all.push((variable, rows));
        }
        all
    }

    /// From now on takes so many times the balance losses of a config.
    pub fn balance(&mut self, config: Option<&MixtureConfig>, times: f64) {
        let Some([balance, _]) = config.map(MixtureConfig::coefficients) else { return };
        self.mixtures_mut().for_each(|(_, mixture)| mixture.losses.balance = balance * times);
    }

    /// The loads of sparse blocks in the last walk.
    pub fn loads(&self) -> Vec<Load> {
        let load = |step: &Step<B>| match &step.kind {
            StepKind::Mixture(layer, mixture) => self.backend.load(*layer, mixture, &step.kept),
            _ => None,
        };
        self.steps.iter().filter_map(load).collect()
    }

    /// The mixtures of sparse blocks, by number.
    pub fn mixtures(&self) -> impl Iterator<Item = (usize, &Mixture<B::Number>)> {
        self.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Mixture(layer, mixture) => Some((*layer, &**mixture)),
            _ => None,
        })
    }

    /// The same, to be changed.
    pub fn mixtures_mut(&mut self) -> impl Iterator<Item = (usize, &mut Mixture<B::Number>)> {
        self.steps.iter_mut().filter_map(|step| match &mut step.kind {
            StepKind::Mixture(layer, mixture) => Some((*layer, &mut **mixture)),
            _ => None,
        })
    }
}

fn kind_of<T>(kind: &StepKind<T>) -> OperationKind {
    match kind {
        StepKind::Activate(_) => OperationKind::Activation,
        StepKind::Attention(_) => OperationKind::Attention,
        StepKind::Embedding(_) | StepKind::Positions(_) => OperationKind::Embedding,
        StepKind::FeedForward(_) => OperationKind::Network,
        StepKind::Linear(_) => OperationKind::Linear,
        StepKind::Mixture(..) => OperationKind::Mixture,
        StepKind::Norm(_) => OperationKind::Norm,
        StepKind::VectorNorms(_) => OperationKind::VectorNorms,
    }
}

/// Where numbers are rounded: the walk, the operation, and a part of it.
#[derive(Debug, Clone, Copy)]
struct Place {
    walk: u64,
    step: usize,
}

/// The rounded parts of an operation.
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
}

/// Numbers as an operation sees them: as they are, or a copy that is rounded.
enum Seen<'a, N> {
    Whole(&'a N),
    Rounded(N),
}

impl<N> Deref for Seen<'_, N> {
    type Target = N;

    fn deref(&self) -> &N {
        match self {
            Self::Whole(numbers) => numbers,
            Self::Rounded(numbers) => numbers,
        }
    }
}

/// Does one operation of a walk with the roundings of a recipe.
struct Rounder<'a, B> {
    backend: &'a B,
    roundings: Roundings,
    /// The rounded parts of the operation.
    rounded: Rounded,
    at: Place,
}

impl<'a, B: Backend> Rounder<'a, B> {
    fn of_head(backend: &'a B, roundings: Roundings, at: Place) -> Self {
        Self { backend, roundings, rounded: roundings.of_head(), at }
    }

    fn rounding(&self, part: Part) -> Rounding {
        self.roundings.at(self.at.of(part))
    }

    fn round(&self, part: Part, numbers: &mut B::Numbers) {
        self.backend.round(numbers, self.rounding(part));
    }

    /// The input as it is rounded.
    fn x<'n>(&self, x: &'n B::Numbers) -> Seen<'n, B::Numbers> {
        self.seen((self.rounded.x, Part::Input), x)
    }

    /// The weights as they are rounded.
    fn w<'n>(&self, w: &'n B::Numbers) -> Seen<'n, B::Numbers> {
        self.seen((self.rounded.w, Part::Weights), w)
    }

    fn seen<'n>(
        &self,
        (is_rounded, part): (bool, Part),
        numbers: &'n B::Numbers,
    ) -> Seen<'n, B::Numbers> {
        if !is_rounded {
            return Seen::Whole(numbers);
        }
        let mut copy = self.backend.copy(numbers);
        self.round(part, &mut copy);
        Seen::Rounded(copy)
    }

    /// Does the operation; what is added to its output is added when that is rounded.
    fn forward(
        &self,
        (kind, kept): (&mut StepKind<B::Number>, &mut B::Kept),
        batch: Batch<'_>,
        pass: ForwardNumbers<'_, B::Numbers>,
    ) {
        let ForwardNumbers { x, w, residual, y } = pass;
        if let StepKind::Attention(attention) = kind {
            let of_scores = self.roundings.of_scores(self.at.of(Part::Scores));
            attention.heads.round_inside(of_scores);
        }
        let (x, w) = (x.map(|x| self.x(x)), w.map(|w| self.w(w)));
        let (x, w) = (x.as_deref(), w.as_deref());
        let pass = ForwardNumbers { x, w, residual: None, y: &mut *y };
        self.backend.forward(kind, kept, batch, pass);
        if self.rounded.y {
            self.round(Part::Output, y);
        }
        if let Some(residual) = residual {
            self.backend.add(y, residual);
            if self.rounded.sum {
                self.round(Part::Sum, y);
            }
        }
    }

    /// Writes the gradients of input and weights, given that of the output and what is known of that of the input.
    fn backward(
        &self,
        (kind, kept): (&StepKind<B::Number>, &B::Kept),
        batch: Batch<'_>,
        [x, w]: [Option<&B::Numbers>; 2],
        (g, before): (&mut B::Numbers, Option<B::Numbers>),
        [mut gx, mut gw]: [Option<&mut B::Numbers>; 2],
    ) {
        let Rounded { x: of_x, w: of_w, y: of_y, sum } = self.rounded;
        let (x, w) = (x.map(|x| self.x(x)), w.map(|w| self.w(w)));
        let is_rounded = of_y || of_w;
        if is_rounded && sum {
            self.round(Part::OutputGradient, g);
        }
        let own = self.seen((is_rounded && !sum, Part::OutputGradient), g);
        let sums = self.roundings.of_sums(self.at.of(Part::Sums));
        let pass = BackwardNumbers {
            x: x.as_deref(),
            w: w.as_deref(),
            g: &own,
            before: None,
            gx: gx.as_deref_mut(),
            gw: gw.as_deref_mut(),
            sums,
        };
        self.backend.backward(kind, kept, batch, pass);
        if let Some(gw) = gw.filter(|_| of_w && of_y) {
            self.round(Part::WeightGradient, gw);
        }
        let Some(gx) = gx else { return };
        if of_x && of_y {
            self.round(Part::InputGradient, gx);
        }
        if let Some(before) = before {
            self.backend.add(gx, &before);
            if sum {
                self.round(Part::SumGradient, gx);
            }
        }
    }
}
