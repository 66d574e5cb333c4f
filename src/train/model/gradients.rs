//! The gradients of one step.

use std::sync::Arc;

use super::{Failure, Named};
use crate::train::ops::{Element, Memory, Pass};

/// The gradients of all tensors, in flat variables as the weights are. The memory goes back to the model.
#[derive(Debug)]
pub struct Gradients<T: Element> {
    named: Arc<[Named]>,
    flat: Vec<Vec<T>>,
    memory: Arc<Memory<T>>,
}

impl<T: Element> Gradients<T> {
    /// Takes what a pass has written.
    pub(super) fn take(named: Arc<[Named]>, pass: &Pass<T>) -> Result<Self, Failure> {
        let flat = pass.take()?.map_err(|variable| {
            let of = named.iter().find(|named| named.variable == variable);
            Failure::NoGradient { name: of.map_or_else(String::new, |named| named.name.clone()) }
        })?;
        Ok(Self { named, flat, memory: pass.memory.clone() })
    }

    /// The gradient of a tensor.
    pub fn of(&self, name: &str) -> Result<&[T], Failure> {
        let found = self.named.binary_search_by(|named| named.name.as_str().cmp(name));
        let named = found.ok().and_then(|number| self.named.get(number));
        let lies = |named: &Named| self.flat.get(named.variable)?.get(named.range());
        named.and_then(lies).ok_or_else(|| Failure::NoTensor { name: name.to_owned() })
    }
}

impl<T: Element> Drop for Gradients<T> {
    fn drop(&mut self) {
        self.memory.give_back(std::mem::take(&mut self.flat));
    }
}
