//! What devices there are.

use super::device::Device;
use super::opencl::{self, OpenCl};
use super::queue::Queue;
use super::runtime::{DeviceError, Listed};
use super::text::{MANY_ITEMS, ONE_ITEM};

/// What runs devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Any device with a driver of OpenCL 1.2 or later.
    OpenCl,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::OpenCl];

    /// What ids of its devices begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::OpenCl => "opencl",
        }
    }
}

/// The devices of a runtime, in the order of their numbers.
pub fn list(runtime: Runtime) -> Result<Vec<Listed>, DeviceError> {
    match runtime {
        Runtime::OpenCl => Ok(opencl::devices()?.into_iter().map(opencl::described).collect()),
    }
}

/// Opens the device with this id: the prefix of its runtime and its number, as in `opencl:0`.
pub fn open(id: &str) -> Result<Device, DeviceError> {
    let parts = id.split_once(':');
    let runtime =
        parts.and_then(|(prefix, _)| Runtime::ALL.into_iter().find(|it| it.prefix() == prefix));
    let number = parts.and_then(|(_, number)| number.parse::<usize>().ok());
    let unknown = |known: String| DeviceError::Unknown { id: id.to_owned(), known };
    let (Some(runtime), Some(number)) = (runtime, number) else {
        let prefixes = Runtime::ALL.map(|runtime| format!("`{}:0`", runtime.prefix()));
        return Err(unknown(format!("are the ids `cpu` and {}", prefixes.join(", "))));
    };
    match runtime {
        Runtime::OpenCl => {
            let all = opencl::devices()?;
            let own = all.get(number).copied();
            let own = own.ok_or_else(|| unknown(format!("are {} of OpenCL", all.len())))?;
            let products = if opencl::is_processor(own) { ONE_ITEM } else { MANY_ITEMS };
            let driver = Box::new(OpenCl::open(own)?);
            let name = opencl::described(own).name;
            Ok(Device::new(Queue::new(id.to_owned(), name, products, driver)))
        }
    }
}
