//! The units of losses.

use crate::value::{Leaf, LeafKind};

/// The factors between nats and bits, to three digits.
const NATS_AND_BITS: [(f64, f64); 2] = [(0.692, 0.694), (1.441, 1.444)];

/// The unit of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossUnit {
    /// Bits.
    Bits,
    /// Nats.
    Nats,
}

/// The unit of what a run recorded. A loss that is only typed may be in any.
pub fn unit_of_leaf(leaf: &Leaf) -> Option<LossUnit> {
    let pointer = &leaf.evidence.as_ref()?.pointer;
    // A slash inside a name is `~1` in a pointer: `eval/paloma/c4_en/bpb`.
    let last = pointer.rsplit('/').next()?;
    match last.rsplit("~1").next()? {
        "bpb" => Some(LossUnit::Bits),
        "loss" | "nats" if leaf.kind == LeafKind::Recorded => Some(LossUnit::Nats),
        _ => None,
    }
}

/// Whether a number is the factor between nats and bits, or its inverse.
pub fn is_nats_per_bit(number: f64) -> bool {
    NATS_AND_BITS.iter().any(|(low, high)| (*low..*high).contains(&number))
}
