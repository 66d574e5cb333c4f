//! The interface of implementations of the formulas, on which golden cases run.

use super::Bits;
use repro_core::source::Error;
use repro_kernels::portable::AttentionShape;
use repro_kernels::portable::adamw::Update;
use repro_kernels::portable::router::{Coefficients, Router};

/// The formulas of `portable-f32/1`, from numbers to numbers.
pub trait Formulas {
    /// `e^x`, or `ln x`, of each number.
    fn function(&self, x: &[f32], is_logarithm: bool) -> Vec<f32>;

    /// `a b`, plus what is added.
    fn product(&self, case: ProductCase<'_>) -> Vec<f32>;

    /// The norm of rows, and the gradients of rows and weight.
    fn norm(&self, rows: NormCase<'_>) -> [Vec<f32>; 3];

    /// The rotated rows, the outputs, and the gradient of the rows.
    fn attention(
        &self,
        shape: &AttentionShape<f32>,
        length: usize,
        rows: &[f32],
        gradient: &[f32],
    ) -> [Vec<f32>; 3];

    /// The inner rows of a gated network, these again, and the gradients of its products and of its gates, if there are any.
    fn swiglu(&self, inner: usize, a_b: &[f32], gates: Option<&[f32]>, gs: &[f32])
    -> [Vec<f32>; 4];

    /// A router's result for logits.
    fn route(&self, case: RouterCase<'_>) -> RouterAnswer;

    /// Rows plus the outputs of the experts of each.
    fn add_experts(
        &self,
        experts: [usize; 2],
        chosen: &[u32],
        width: usize,
        numbers: [&[f32]; 2],
    ) -> Vec<f32>;

    /// The surprise of each target, 1 where it was guessed, the surprise again, and the gradient of the logits.
    fn cross_entropy(&self, logits: &[f32], targets: &[u32]) -> [Vec<f32>; 4];

    /// The sum of squares in float64.
    fn squares(&self, values: &[f32]) -> f64;

    /// One update of weights, means and squares.
    fn adamw(&self, state: &mut [Vec<f32>; 3], gradient: &[f32], update: Update<f32>);

    /// Makes the steps of a small run, and collects what they give.
    fn train(&self, model: &str, bits: &mut Bits) -> Result<(), Error>;
}

/// A product of m x k and k x n numbers.
#[derive(Debug, Clone, Copy)]
pub struct ProductCase<'a> {
    /// m, n and k.
    pub shape: [usize; 3],
    pub a: &'a [f32],
    pub b: &'a [f32],
    /// Whether both matrices lie there as their transposes.
    pub turned: bool,
    pub add: Option<&'a [f32]>,
}

/// Rows, and what their norm is taken with and comes to.
#[derive(Debug, Clone, Copy)]
pub struct NormCase<'a> {
    pub x: &'a [f32],
    pub weight: &'a [f32],
    pub epsilon: f32,
    pub g: &'a [f32],
    pub residual: &'a [f32],
}

/// Logits, what chooses among them, and what is known of the gates' gradients.
#[derive(Debug, Clone, Copy)]
pub struct RouterCase<'a> {
    pub router: Router,
    pub logits: &'a [f32],
    pub bias: Option<&'a [f32]>,
    pub losses: Coefficients,
    pub g_gates: &'a [f32],
}

/// A router's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RouterAnswer {
    pub gates: Vec<f32>,
    /// The gradient of the logits.
    pub g_logits: Vec<f32>,
    pub chosen: Vec<u32>,
    /// Both losses.
    pub losses: [f64; 2],
}
