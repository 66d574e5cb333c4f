//! The available devices.

use super::cuda::{self, Cuda};
use super::handle::Device;
use super::opencl::{self, OpenCl};
use super::ptx::{CAPABILITY, Image, PTX};
use super::queue::Queue;
use super::runtime::{DeviceError, Driver, Listed};
use super::text::{self, MANY_ITEMS, ONE_ITEM};

/// The runtimes of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Any device with a driver of OpenCL 1.2 or later.
    OpenCl,
    /// A device of NVIDIA.
    Cuda,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OpenCl, Self::Cuda];

    /// The prefix of ids of its devices.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::OpenCl => "opencl",
            Self::Cuda => "cuda",
        }
    }
}

/// The devices of a runtime, in the order of their numbers.
pub fn list(runtime: Runtime) -> Result<Vec<Listed>, DeviceError> {
    match runtime {
        Runtime::OpenCl => Ok(opencl::devices()?.into_iter().map(opencl::described).collect()),
        Runtime::Cuda => cuda::devices()?.into_iter().map(cuda::described).collect(),
    }
}

/// Whether a library can be loaded, by the name of its file, such as `libcublas.so.13`.
pub fn has_library(file: &str) -> bool {
    dlopen2::raw::Library::open(file).is_ok()
}

/// The runtime and the number that an id names, whether or not there is such a device. A device has one spelling.
pub fn parse(id: &str) -> Option<(Runtime, usize)> {
    let (prefix, number) = id.split_once(':')?;
    let runtime = Runtime::ALL.into_iter().find(|runtime| runtime.prefix() == prefix)?;
    let parsed = number.parse().ok().filter(|parsed: &u16| parsed.to_string() == number)?;
    Some((runtime, parsed.into()))
}

/// Opens the device with this id: the prefix of its runtime and its number, as in `opencl:0`.
pub fn open(id: &str) -> Result<Device, DeviceError> {
    let unknown = |known: String| DeviceError::Unknown { id: id.to_owned(), known };
    let Some((runtime, number)) = parse(id) else {
        let prefixes = Runtime::ALL.map(|runtime| format!("`{}:0`", runtime.prefix()));
        return Err(unknown(format!("the ids are `cpu` and {}", prefixes.join(", "))));
    };
    let numbered = |devices: usize, of: &str| unknown(format!("{of} has {devices}"));
    let (name, products, driver): (_, _, Box<dyn Driver>) = match runtime {
        Runtime::OpenCl => {
            let all = opencl::devices()?;
            let own = *all.get(number).ok_or_else(|| numbered(all.len(), "OpenCL"))?;
            let products = if opencl::is_processor(own) { ONE_ITEM } else { MANY_ITEMS };
            (opencl::described(own).name, products, Box::new(OpenCl::open(own)?))
        }
        Runtime::Cuda => {
            let all = cuda::devices()?;
            let own = *all.get(number).ok_or_else(|| numbered(all.len(), "CUDA"))?;
            let kernels: Vec<_> = text::kernels().keys().copied().collect();
            let image = Image { ptx: PTX, kernels: &kernels, capability: CAPABILITY };
            (cuda::described(own)?.name, MANY_ITEMS, Box::new(Cuda::open(own, &image)?))
        }
    };
    Ok(Device::new(Queue::new(id.to_owned(), name, products, driver)))
}
