//! The formulas of `portable-f32/1` on devices of their own: graphics processors, and whatever else speaks OpenCL.
//!
//! One text of kernels (`text/`) is OpenCL C and CUDA C at once. A [`Device`] holds it compiled, lends [`DeviceTable`]s that lie
//! in its memory, and runs kernels on them one after the other; what it answers has the bits of `portable`, or
//! `golden` says so. Which operation follows which is left to `replay`.
//!
//! Work is handed over and not waited for. What goes wrong is kept, and later work is dropped: [`Device::fault`] tells it.

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
