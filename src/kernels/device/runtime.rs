//! The interface to kernels: memory, copies, launches. There is one for OpenCL and one for CUDA.

/// Why a device cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The runtime is not on this machine.
    #[error("{runtime} is not available on this machine: {why}")]
    NoRuntime {
        /// OpenCL or CUDA.
        runtime: &'static str,
        /// The library that was looked for, and the way out.
        why: String,
    },
    /// No device of this number.
    #[error("no device `{id}`; {known}")]
    Unknown {
        /// As it was asked for.
        id: String,
        /// The available ids or devices.
        known: String,
    },
    /// The device cannot compute these formulas.
    #[error("{device} has no {what}")]
    Lacks {
        /// Its name.
        device: String,
        /// The missing feature.
        what: String,
    },
    /// A call of the runtime failed.
    #[error("{what}")]
    Failed {
        /// The call, and its error.
        what: String,
    },
}

/// The properties that a device reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The version of its driver.
    pub driver: String,
    /// Bytes of its memory.
    pub memory: u64,
}

/// A piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The runtime's handle.
    pub handle: u64,
    /// Its size.
    pub bytes: usize,
}

/// The argument of a kernel at one place.
#[derive(Debug, Clone, Copy)]
pub enum KernelArgument {
    /// A piece of memory; its elements begin at this one.
    Table(Memory, &'static str, usize),
    /// A whole number.
    Int(i32),
    /// A whole number of 64 bits.
    Long(i64),
    /// A float32.
    Float(f32),
    /// A float64.
    Double(f64),
}

/// A device of some runtime, with the kernels compiled. Calls come one at a time.
pub trait Driver: Send {
    /// Memory of this size.
    fn allocate(&mut self, bytes: usize) -> Result<Memory, DeviceError>;
    /// Gives memory back; work under way may still use it.
    fn free(&mut self, memory: Memory);
    /// Copies there.
    fn write(&mut self, memory: Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError>;
    /// Copies from there, after all work before.
    fn read(&mut self, memory: Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError>;
    /// Has a kernel run in so many groups of so many items.
    fn launch(
        &mut self,
        kernel: &'static str,
        groups: [usize; 3],
        items: usize,
        arguments: &[KernelArgument],
    ) -> Result<(), DeviceError>;
}
