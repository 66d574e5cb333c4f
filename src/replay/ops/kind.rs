//! Which operation a step of a model is.

use super::{
    Activate, Attention, Embedding, FeedForward, Linear, Mixture, Norm, Operation, Positions,
    VectorNorms,
};
use repro_kernels::portable::Kernels;

/// An operation.
#[derive(Debug)]
pub enum StepKind<T> {
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
    /// Its implementation on the host.
    pub fn operation(&self) -> &dyn Operation<T> {
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

    /// The same, for a forward pass, of which it keeps something.
    pub fn operation_mut(&mut self) -> &mut dyn Operation<T> {
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
