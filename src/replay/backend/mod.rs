//! The backends of models, which store their numbers and execute their operations.
//!
//! [`Backend`] is the interface that the walk over a model, its optimizer and everything built on them need. [`Host`], the
//! CPU, is the first of them, and calls `ops`; [`Gpu`] calls the kernels of `repro-kernels`. Weights, gradients, moments and the rows between operations are
//! [`Backend::Numbers`], which nobody looks at but by [`Backend::get`]; losses, routers' loads and biases, and what is
//! counted are on the host. In which order operations follow each other is left to `model`, and rules to `optimizer`.

mod gpu;
mod host;
mod place;

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

use super::ops::{Batch, Head, HeadLoss, HeadScores, Load, Mixture, StepKind};
pub use gpu::Gpu;
pub use host::{Host, HostNumbers};
pub(crate) use place::on_place;
pub use place::{Place, device_failed};
use repro_kernels::portable::Kernels;
use repro_kernels::portable::adamw::Update;
use repro_kernels::portable::muon::MuonUpdate;
use repro_kernels::portable::rounding::Rounding;
use repro_kernels::portable::rules::Momentum;

/// Where a model lives. What is asked is done in the order in which it is asked, and may be done later: only what answers
/// numbers to the host waits.
pub trait Backend: Clone + Debug + Send + Sync + 'static {
    /// The number type.
    type Number: Kernels;
    /// Numbers that lie there.
    type Numbers: Debug + Send + Sync;
    /// The values kept of an operation for its backward pass, besides those that the operation itself keeps on the host.
    type Kept: Debug + Default + Send + Sync;

    /// So many zeros.
    fn zeros(&self, length: usize) -> Self::Numbers;

    /// So many numbers for a while. What they hold is left over: write before reading.
    fn buffer(&self, length: usize) -> Self::Numbers;

    /// These numbers.
    fn put(&self, numbers: Vec<Self::Number>) -> Self::Numbers;

    /// How many they are.
    fn length(&self, of: &Self::Numbers) -> usize;

    /// Makes it as many numbers as are asked for. What they hold is left over.
    fn resize(&self, numbers: &mut Self::Numbers, length: usize);

    /// Some numbers, on the host.
    fn get<'a>(&self, of: &'a Self::Numbers, range: Range<usize>) -> Cow<'a, [Self::Number]>;

    /// Writes numbers over those from number `at` on.
    fn set(&self, into: &mut Self::Numbers, at: usize, numbers: &[Self::Number]);

    /// The same numbers.
    fn copy(&self, of: &Self::Numbers) -> Self::Numbers;

    /// Makes some of them zero.
    fn clear(&self, numbers: &mut Self::Numbers, range: Range<usize>);

    /// Adds numbers, one by one.
    fn add(&self, into: &mut Self::Numbers, numbers: &Self::Numbers);

    /// Multiplies all of them.
    fn scale(&self, numbers: &mut Self::Numbers, by: Self::Number);

    /// Adds numbers, one by one, each times a factor: a product that is rounded, and a sum that is.
    fn add_scaled(&self, into: &mut Self::Numbers, numbers: &Self::Numbers, by: Self::Number);

    /// Rounds each of them.
    fn round(&self, numbers: &mut Self::Numbers, rounding: Rounding);

    /// Does an operation.
    fn forward(
        &self,
        step: &mut StepKind<Self::Number>,
        kept: &mut Self::Kept,
        batch: Batch<'_>,
        pass: ForwardNumbers<'_, Self::Numbers>,
    );

    /// Takes the gradients of the last forward pass of an operation.
    fn backward(
        &self,
        step: &StepKind<Self::Number>,
        kept: &Self::Kept,
        batch: Batch<'_>,
        pass: BackwardNumbers<'_, Self::Numbers>,
    );

    /// The router's decisions in the mixture of block number `layer` in the last forward pass.
    fn load(
        &self,
        layer: usize,
        mixture: &Mixture<Self::Number>,
        kept: &Self::Kept,
    ) -> Option<Load>;

    /// Takes the balance loss of a mixture over so many layers at once, whose choices of each expert these are.
    fn balance_jointly(
        &self,
        mixture: &mut Mixture<Self::Number>,
        kept: &mut Self::Kept,
        counts: &[u64],
        layers: usize,
    );

    /// The loss of the targets, of the rows and the matrix of a head; keeps what the gradients need.
    fn loss(
        &self,
        head: &mut Head<Self::Number>,
        kept: &mut Self::Kept,
        targets: &[u32],
        of: [&Self::Numbers; 2],
    ) -> HeadLoss<Self::Number>;

    /// The cost of each target by itself.
    fn scores(
        &self,
        head: &Head<Self::Number>,
        targets: &[u32],
        of: [&Self::Numbers; 2],
    ) -> HeadScores<Self::Number>;

    /// Writes the gradients of the last loss: of the rows and of the matrix.
    fn head_backward(
        &self,
        head: &Head<Self::Number>,
        kept: &Self::Kept,
        of: [&Self::Numbers; 2],
        into: [&mut Self::Numbers; 2],
    );

    /// The sum of squares of each part, in float64. They are asked for together, so that a device answers once.
    fn squares(&self, parts: &[(&Self::Numbers, Range<usize>)]) -> Vec<f64>;

    /// Makes one step for a tensor with these moments, which are empty where the rule keeps none of the kind.
    fn update(
        &self,
        tensor: MovedTensor<'_, Self::Numbers>,
        moments: [&mut Self::Numbers; 3],
        rule: &TensorUpdate<Self::Number>,
    );

    /// The error since the last question, if there was one: a device answers errors late.
    fn fault(&self) -> Option<String>;
}

/// The operands of a forward pass. Operations that only make rows of tokens have no `x`, and some operations have no weights.
#[derive(Debug)]
pub struct ForwardNumbers<'a, N> {
    /// The input.
    pub x: Option<&'a N>,
    /// The weights.
    pub w: Option<&'a N>,
    /// The addend of the output, added last.
    pub residual: Option<&'a N>,
    /// The output.
    pub y: &'a mut N,
}

/// The operands of a backward pass.
#[derive(Debug)]
pub struct BackwardNumbers<'a, N> {
    /// The input.
    pub x: Option<&'a N>,
    /// The weights.
    pub w: Option<&'a N>,
    /// The gradient of the output.
    pub g: &'a N,
    /// The addend of the input's gradient: the gradient of its other uses.
    pub before: Option<&'a N>,
    /// The gradient of the input.
    pub gx: Option<&'a mut N>,
    /// The gradient of the weights.
    pub gw: Option<&'a mut N>,
    /// How sums over tokens of rows of a table and of weights of norms are rounded after each token, if they are.
    pub sums: Option<Rounding>,
}

/// A tensor that an update moves: its weights and its gradient lie in the same place of two variables.
#[derive(Debug)]
pub struct MovedTensor<'a, N> {
    /// The variable with its weights.
    pub weights: &'a mut N,
    /// The variable with its gradient.
    pub gradient: &'a N,
    /// Where it lies in both.
    pub range: Range<usize>,
}

/// How one tensor is moved: a rule with its numbers of one step.
#[derive(Debug, Clone, Copy)]
pub enum TensorUpdate<T> {
    /// [`repro_kernels::portable::adamw::step`].
    AdamW(Update<T>),
    /// [`repro_kernels::portable::rules::adam`], and what of the weight is added to its gradient.
    Adam(Update<T>, T),
    /// [`repro_kernels::portable::rules::momentum`].
    Momentum(Momentum<T>),
    /// [`repro_kernels::portable::rules::lion`].
    Lion(Momentum<T>),
    /// [`repro_kernels::portable::muon::step`], of a matrix with these rows and columns.
    Muon(MuonUpdate<T>, [usize; 2]),
}
