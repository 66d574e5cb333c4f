//! The choice between backends, as a value.

use crate::DEVICE_FAILED;
use repro_core::source::{Error, Location};
use repro_kernels::device::Device;
use repro_kernels::portable::Isa;

/// A processor, and the device that is used in its place, if one is.
#[derive(Debug, Clone)]
pub struct Place {
    /// The instructions that kernels of the processor use.
    pub isa: Isa,
    /// Where models in float32 live, if not in the memory of the processor.
    pub device: Option<Device>,
}

impl Place {
    /// The processor.
    pub fn host(isa: Isa) -> Self {
        Self { isa, device: None }
    }

    /// The same, with matrix products whose sums are single chains ([`Isa::chained`]).
    pub fn chained(&self) -> Self {
        Self { isa: self.isa.chained(), device: self.device.as_ref().map(Device::chained) }
    }

    /// Whether nothing went wrong on its device. What was computed after a fault is not looked at.
    pub fn sound(&self) -> Result<(), Error> {
        let fault = self.device.as_ref().and_then(Device::fault);
        fault.map_or(Ok(()), |fault| Err(device_failed(format!("{}: {fault}", self.id()))))
    }

    /// Its id for `--device`.
    pub fn id(&self) -> &str {
        self.device.as_ref().map_or("cpu", Device::id)
    }
}

/// The error for an operation that a device did not complete.
pub fn device_failed(what: String) -> Error {
    DEVICE_FAILED.at(Location::file("--device"), "a device that completes every operation", what)
}

/// Does work with the backend of a place, in float32: the same work is compiled for each backend.
macro_rules! on_place {
    ($place:expr, $backend:ident => $work:expr) => {{
        let place: &$crate::backend::Place = $place;
        match &place.device {
            None => {
                let $backend = $crate::backend::Host::<f32>::new(place.isa);
                $work
            }
            Some(device) => {
                let $backend = $crate::backend::Gpu::new(device.clone(), place.isa);
                $work
            }
        }
    }};
}

pub(crate) use on_place;
