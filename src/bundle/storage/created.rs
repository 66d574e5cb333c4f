//! The result of writing an object that was not to replace another.

/// Whether an object was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It was, and is what its name stands for.
    New,
    /// There is one of its name, which was left as it is. It may be one's own: of a write whose answer was lost.
    Exists,
}
