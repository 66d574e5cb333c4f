//! Updates by kernels.

use super::super::{MovedTensor, TensorUpdate};
use super::Gpu;
use repro_kernels::device::{Device, DeviceTable};

/// Whether there are kernels for a rule: for all of them, as long as Muon's roundings are not off on purpose.
pub fn is_native(rule: &TensorUpdate<f32>) -> bool {
    match rule {
        TensorUpdate::Muon(update, _) => Device::has_muon(update.rounding),
        _ => true,
    }
}

impl Gpu {
    pub(super) fn update_here(
        &self,
        tensor: MovedTensor<'_, DeviceTable<f32>>,
        [mean, square, greatest]: [&mut DeviceTable<f32>; 3],
        rule: &TensorUpdate<f32>,
    ) {
        let (device, MovedTensor { weights, gradient, range }) = (&self.device, tensor);
        let of = (weights, gradient);
        match *rule {
            TensorUpdate::AdamW(update) => device.adamw(of, range, [mean, square], update),
            TensorUpdate::Adam(update, coupled) => {
                device.adam(of, range, [mean, square, greatest], update, coupled);
            }
            TensorUpdate::Momentum(update) => device.momentum(of, range, mean, update, false),
            TensorUpdate::Lion(update) => device.momentum(of, range, mean, update, true),
            TensorUpdate::Muon(update, shape) => device.muon(of, range, mean, shape, &update),
        }
    }
}
