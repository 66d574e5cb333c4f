//! The formulas of `portable-f32/1` on devices: GPUs, and everything else that supports OpenCL.
//!
//! One kernel source (`text/`) is both OpenCL C and CUDA C. A [`Device`] contains it compiled, provides [`DeviceTable`]s
//! in its memory, and runs kernels on them one after the other; its results have the bits of `portable`, or
//! `golden` reports it. `replay` decides the order of operations.
//!
//! Work is queued without waiting. The first error is kept, and later work is dropped: [`Device::fault`] returns it.

mod arrange;
mod attention;
mod cuda;
mod handle;
mod list;
mod muon;
mod opencl;
mod product;
mod ptx;
mod queue;
mod rows;
mod runtime;
mod table;
mod tensor_cores;
mod tensor_inputs;
mod text;
mod update;

pub use arrange::{Arranged, Chosen, ChosenSums, PlacesOfTokens};
pub use attention::{AttentionHeads, AttentionTables};
pub use handle::Device;
pub use list::{Runtime, has_library, list, open, parse};
pub use product::{Added, KRange, Product, ProductBatches, ProductPlace, TableMatrix};
pub use rows::{ActivatedRows, GatedRows, NormRows, NormSpread, NumberFunction};
pub use runtime::{DeviceError, Listed};
pub use table::{DeviceTable, Element, TablePart};
pub use tensor_cores::{Capture, Explained, TensorCores, capture};
pub use tensor_inputs::{COLUMNS, Inputs, Operand, ROWS, WORDS};

#[cfg(test)]
mod tests;
