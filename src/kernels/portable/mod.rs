//! The arithmetic of training: every float operation, forward and backward, as one written-down
//! formula, so that its bits are the same on every machine, with any number of threads and any build.
//!
//! `README.md` beside this file states each formula. Operations work on slices, in the rayon pool of
//! the caller, and are generic over [`Real`]: float32 is what trains, float64 is what finite differences
//! and closer looks use. [`Kernels`] has them compiled for both. Weights, and which operation follows
//! which, are left to `replay`.

pub mod activation;
pub mod adamw;
pub mod attention;
mod buffer;
pub mod cross_entropy;
mod each;
pub mod fused_dot;
pub mod isa;
mod kernels;
pub mod layer_norm;
pub mod mixture;
pub mod muon;
pub mod norm;
pub mod product;
pub mod real;
pub mod reduce;
pub mod rope;
pub mod rounding;
pub mod router;
pub mod rules;
pub mod swiglu;

pub use activation::Activation;
pub use attention::{AttentionShape, TokenPlaces};
pub use buffer::{Buffer, buffer};
pub use isa::Isa;
pub use kernels::Kernels;
pub use product::{Matrix, Packed, product};
pub use real::Real;
