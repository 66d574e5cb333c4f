//! A part of an object.

/// Bytes of an object, and how many it has in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectPart {
    /// The bytes asked for; fewer where the object ends before.
    pub bytes: Vec<u8>,
    /// The length of the whole object.
    pub length: u64,
}
