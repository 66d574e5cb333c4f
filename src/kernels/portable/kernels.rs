//! The kernels by the numbers they work on: what a trainer calls.
//!
//! A generic function is compiled where it is used, with the optimisation of the crate that uses it, and
//! once in each. Kernels are large (three sets of instructions, two kinds of numbers) and slow where they
//! are not optimised, so this trait has each of them compiled once, here.

use super::activation::{self, Activation};
use super::adamw::{self, Update};
use super::attention::{AttentionShape, TokenPlaces};
use super::buffer::{self, Buffer};
use super::cross_entropy::Regularization;
use super::mixture::Arrangement;
use super::product::{self, Matrix, Packed};
use super::rounding::{self, Rounding};
use super::router::{Coefficients, Router, Routing};
use super::rules::{self, Momentum};
use super::{Isa, Real, cross_entropy, layer_norm, muon, norm, reduce, swiglu};

/// Declares the kernels, and implements them for float32 and float64.
macro_rules! kernels {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $kernel:path;)+) => {
        /// Numbers that there are kernels for. Each kernel is described where it is written.
        #[allow(clippy::too_many_arguments)]
        pub trait Kernels: Real {
            $($(#[$meta])* fn $name($($arg: $ty),*) $(-> $ret)?;)+
        }

        impl Kernels for f32 {
            $(fn $name($($arg: $ty),*) $(-> $ret)? { $kernel($($arg),*) })+
        }

        impl Kernels for f64 {
            $(fn $name($($arg: $ty),*) $(-> $ret)? { $kernel($($arg),*) })+
        }
    };
}

kernels! {
    /// [`activation::forward`].
    fn activation(isa: Isa, f: Activation, x: &[Self], y: &mut [Self]) = activation::forward;
    /// [`activation::backward`].
    fn activation_back(isa: Isa, f: Activation, x: &[Self], g: &[Self], gx: &mut [Self])
        = activation::backward;
    /// [`activation::gated`].
    fn gated(isa: Isa, f: Activation, width: usize, a_b: &[Self], s: &mut [Self])
        = activation::gated;
    /// [`activation::gated_back`].
    fn gated_back(
        isa: Isa, f: Activation, width: usize, a_b: &[Self], gs: &[Self], into: &mut [Self],
    ) = activation::gated_back;
    /// [`activation::cap`].
    fn cap(isa: Isa, numbers: &mut [Self], cap: Self) = activation::cap;
    /// [`activation::cap_back`].
    fn cap_back(isa: Isa, capped: &[Self], cap: Self, g: &mut [Self]) = activation::cap_back;
    /// [`adamw::step`].
    fn adamw(
        isa: Isa, w: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self], update: Update<Self>,
    ) = adamw::step;
    /// [`rules::adam`].
    fn adam(
        isa: Isa, w: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self], x: &mut [Self],
        update: Update<Self>, coupled: Self,
    ) = rules::adam;
    /// [`rules::momentum`].
    fn momentum(
        isa: Isa, w: &mut [Self], g: &[Self], m: &mut [Self], update: Momentum<Self>,
    ) = rules::momentum;
    /// [`rules::lion`].
    fn lion(isa: Isa, w: &mut [Self], g: &[Self], m: &mut [Self], update: Momentum<Self>)
        = rules::lion;
    /// [`muon::step`].
    fn muon(
        isa: Isa, w: &mut [Self], g: &[Self], m: &mut [Self], shape: [usize; 2],
        update: &muon::MuonUpdate<Self>,
    ) = muon::step;
    /// [`adamw::squares`].
    fn squares(isa: Isa, values: &[Self]) -> f64 = adamw::squares;
    /// [`AttentionShape::forward`].
    fn attention(
        shape: &AttentionShape<Self>, isa: Isa, length: usize, places: TokenPlaces<'_>,
        rows: &mut [Self], output: &mut [Self],
    ) = AttentionShape::forward;
    /// [`AttentionShape::backward`].
    fn attention_back(
        shape: &AttentionShape<Self>, isa: Isa, length: usize, places: TokenPlaces<'_>,
        rows: &[Self], gradient: &[Self], into: &mut [Self],
    ) = AttentionShape::backward;
    /// [`buffer::buffer`].
    fn buffer(length: usize) -> Buffer<Self> = buffer::buffer;
    /// [`cross_entropy::forward`].
    fn cross_entropy(
        isa: Isa, rows: usize, logits: &mut [Self], targets: &[u32], nats: &mut [Self],
    ) = cross_entropy::forward;
    /// [`cross_entropy::score`].
    fn score(
        isa: Isa, logits: &[Self], targets: &[u32], nats: &mut [Self], greedy: &mut [bool],
    ) = cross_entropy::score;
    /// [`reduce::distance`].
    fn distance(before: &[Self], after: &[Self]) -> f64 = reduce::distance;
    /// [`reduce::length`].
    fn length(of: &[Self]) -> f64 = reduce::length;
    /// [`Arrangement::add`].
    fn add_experts(
        arrangement: &Arrangement, isa: Isa, width: usize, table: &[Self], to: &mut [Self],
    ) = Arrangement::add;
    /// [`rounding::narrow`].
    fn narrow(isa: Isa, numbers: &mut [Self], rounding: Rounding) = rounding::narrow;
    /// [`layer_norm::add`].
    fn add_bias(isa: Isa, rows: &mut [Self], bias: &[Self]) = layer_norm::add;
    /// [`layer_norm::add_back`].
    fn add_bias_back(isa: Isa, g: &[Self], into: &mut [Self]) = layer_norm::add_back;
    /// [`layer_norm::forward`].
    fn layer_norm(
        isa: Isa, x: &[Self], weights: [&[Self]; 2], epsilon: Self, centred: &mut [Self],
        y: &mut [Self],
    ) = layer_norm::forward;
    /// [`layer_norm::backward`].
    fn layer_norm_back(
        isa: Isa, centred: &[Self], weight: &[Self], epsilon: Self, g: &[Self], residual: &[Self],
        gx: &mut [Self], gw: &mut [Self],
    ) = layer_norm::backward;
    /// [`cross_entropy::regularized`].
    fn regularized(
        isa: Isa, rows: usize, extra: Regularization<Self>, logits: &mut [Self], targets: &[u32],
        nats: &mut [Self], squares: &mut [Self],
    ) = cross_entropy::regularized;
    /// [`norm::forward`].
    fn norm(isa: Isa, x: &[Self], weight: &[Self], epsilon: Self, y: &mut [Self]) = norm::forward;
    /// [`norm::backward`].
    fn norm_back(
        isa: Isa, x: &[Self], weight: &[Self], epsilon: Self, g: &[Self], residual: &[Self],
        gx: &mut [Self], gw: &mut [Self],
    ) = norm::backward;
    /// [`norm::combine`].
    fn norm_combine(parts: &[Self], gw: &mut [Self]) = norm::combine;
    /// [`product::product`].
    fn product(
        isa: Isa, c: &mut [Self], a: Matrix<'_, Self>, b: Matrix<'_, Self>, add: Option<&[Self]>,
    ) = product::product;
    /// [`Packed::new`].
    fn packed(isa: Isa, b: Matrix<'_, Self>) -> Packed<Self> = Packed::new;
    /// [`Packed::product`].
    fn packed_product(
        packed: &Packed<Self>, isa: Isa, c: &mut [Self], a: Matrix<'_, Self>, add: Option<&[Self]>,
    ) = Packed::product;
    /// [`Packed::rows`].
    fn packed_rows(
        packed: &Packed<Self>, isa: Isa, c: &mut [Self], a: Matrix<'_, Self>, add: Option<&[Self]>,
    ) = Packed::rows;
    /// [`Router::choose`].
    fn choose(router: Router, isa: Isa, logits: &[Self], bias: Option<&[Self]>) -> Routing<Self>
        = Router::choose;
    /// [`Routing::backward`].
    fn choose_back(
        routing: &Routing<Self>, isa: Isa, losses: Coefficients, g_gates: &[Self], into: &mut [Self],
    ) = Routing::backward;
    /// [`swiglu::forward`].
    fn swiglu(isa: Isa, f: usize, gate_up: &[Self], gates: Option<&[Self]>, s: &mut [Self])
        = swiglu::forward;
    /// [`swiglu::backward`].
    fn swiglu_back(
        isa: Isa, f: usize, gate_up: &[Self], gates: Option<(&[Self], &mut [Self])>, gs: &[Self],
        s: &mut [Self], g_gate_up: &mut [Self],
    ) = swiglu::backward;
}
