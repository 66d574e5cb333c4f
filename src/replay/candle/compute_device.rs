//! Where candle computes.

use candle_core::Device;

use crate::candle::EngineError;

/// A device of candle's.
#[derive(Debug, Clone)]
pub struct ComputeDevice {
    name: String,
    pub(crate) device: Device,
}

impl ComputeDevice {
    /// The processor.
    pub fn cpu() -> Self {
        Self { name: "cpu".to_owned(), device: Device::Cpu }
    }

    /// `cpu`, `cuda:N` or `metal:N`. The caller has checked that the driver of CUDA is installed: candle's loader panics
    /// without it.
    ///
    /// # Errors
    /// [`EngineError::Device`] where this build has no such device, or it does not open.
    pub fn open(name: &str) -> Result<Self, EngineError> {
        let refuse = |why: String| EngineError::Device { device: name.to_owned(), why };
        if name == "cpu" {
            return Ok(Self::cpu());
        }
        let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
        let number: usize = number
            .parse()
            .map_err(|_| refuse("expected `cpu`, `cuda:N` or `metal:N`".to_owned()))?;
        let has = match kind {
            "cuda" => candle_core::utils::cuda_is_available(),
            "metal" => candle_core::utils::metal_is_available(),
            _ => return Err(refuse("expected `cpu`, `cuda:N` or `metal:N`".to_owned())),
        };
        if !has {
            let why = format!(
                "this program was built without the feature `{kind}`; build it with `--features {kind}`, or leave out `--device`"
            );
            return Err(refuse(why));
        }
        let device = match kind {
            "cuda" => Device::new_cuda(number),
            // candle panics at a number that no device has.
            _ if number >= metal_devices() => {
                return Err(refuse(format!("this machine has {} Metal devices", metal_devices())));
            }
            _ => Device::new_metal(number),
        };
        let device = device.map_err(|error| refuse(error.to_string()))?;
        Ok(Self { name: name.to_owned(), device })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The devices of Metal on this machine.
#[cfg(feature = "metal")]
fn metal_devices() -> usize {
    candle_metal_kernels::metal::Device::all().len()
}

/// None, in a build without its kernels.
#[cfg(not(feature = "metal"))]
fn metal_devices() -> usize {
    0
}
