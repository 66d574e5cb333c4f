//! A GPU backend: numbers are in device memory, and kernels execute the operations of our models and others'.
//!
//! Deliberate deviations for calibration are computed on the host, by the same operation over numbers that are copied
//! there and back: correct, but slow. So every walk runs on every device, with the bits of the CPU;
//! [`Gpu::done_on_host`] lists what was computed this way.

mod head;
mod mixture;
mod norms;
mod operations;
mod updates;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Backend, BackwardNumbers, ForwardNumbers, Host, HostNumbers, MovedTensor, TensorUpdate,
};
use crate::ops::{Batch, Head, HeadLoss, HeadScores, Load, Mixture, StepKind};
use head::HeadKept;
use mixture::MixtureKept;
use operations::AttentionKept;
use repro_kernels::device::{Device, DeviceTable};
use repro_kernels::portable::Isa;
use repro_kernels::portable::rounding::Rounding;

/// A device, and the processor for what it has no kernels for.
#[derive(Debug, Clone)]
pub struct Gpu {
    device: Device,
    host: Host,
    /// How often what was done on the host; copies count together.
    on_host: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

/// The kept values of an operation for its backward pass.
#[derive(Debug, Default)]
pub enum GpuKept {
    /// Nothing; or what the operation itself keeps, where it was done on the host.
    #[default]
    Nothing,
    Attention(Box<AttentionKept>),
    /// Rows less their mean.
    Centred(DeviceTable<f32>),
    /// The products of a gated network.
    Gated(DeviceTable<f32>),
    Mixture(Box<MixtureKept>),
    Head(HeadKept),
}

impl Gpu {
    /// A model on this device; what it has no kernels for is done with these instructions.
    pub fn new(device: Device, isa: Isa) -> Self {
        Self { device, host: Host::new(isa), on_host: Arc::default() }
    }

    /// How often this and its copies had the host do what there are no kernels for, by what it was.
    pub fn done_on_host(&self) -> BTreeMap<&'static str, u64> {
        self.on_host.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count_on_host(&self, what: &'static str) {
        let mut all = self.on_host.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(what).or_default() += 1;
    }

    /// The numbers on the host.
    fn fetched(&self, of: Option<&DeviceTable<f32>>) -> Option<HostNumbers<f32>> {
        of.map(|of| HostNumbers::Own(of.read_all()))
    }

    /// Adds numbers, where there are any.
    fn add_some(&self, into: &mut DeviceTable<f32>, numbers: Option<&DeviceTable<f32>>) {
        if let Some(numbers) = numbers {
            self.device.add(into, numbers);
        }
    }

    /// Does an operation on the host.
    fn forward_on_host(
        &self,
        step: &mut StepKind<f32>,
        batch: Batch<'_>,
        pass: ForwardNumbers<'_, DeviceTable<f32>>,
    ) {
        self.count_on_host("an operation forward");
        let [x, w, residual] = [pass.x, pass.w, pass.residual].map(|of| self.fetched(of));
        let mut y = self.host.buffer(pass.y.len());
        let (x, w, residual) = (x.as_ref(), w.as_ref(), residual.as_ref());
        self.host.forward(step, &mut (), batch, ForwardNumbers { x, w, residual, y: &mut y });
        pass.y.write(0, &y);
    }

    fn backward_on_host(
        &self,
        step: &StepKind<f32>,
        batch: Batch<'_>,
        pass: BackwardNumbers<'_, DeviceTable<f32>>,
    ) {
        self.count_on_host("an operation backward");
        let [x, w, before] = [pass.x, pass.w, pass.before].map(|of| self.fetched(of));
        let g = HostNumbers::Own(pass.g.read_all());
        let mut gx = pass.gx.as_ref().map(|gx| self.host.buffer(gx.len()));
        // Where a table is also the matrix of the head, its gradient there is added to.
        let mut gw = self.fetched(pass.gw.as_deref());
        self.host.backward(
            step,
            &(),
            batch,
            BackwardNumbers {
                x: x.as_ref(),
                w: w.as_ref(),
                g: &g,
                before: before.as_ref(),
                gx: gx.as_mut(),
                gw: gw.as_mut(),
                sums: pass.sums,
            },
        );
        for (there, here) in [(pass.gx, gx), (pass.gw, gw)] {
            if let Some((there, here)) = there.zip(here) {
                there.write(0, &here);
            }
        }
    }

    /// Moves a tensor by a rule that the device has no kernel for.
    fn update_on_host(
        &self,
        tensor: MovedTensor<'_, DeviceTable<f32>>,
        moments: [&mut DeviceTable<f32>; 3],
        rule: &TensorUpdate<f32>,
    ) {
        self.count_on_host("an update");
        let MovedTensor { weights, gradient, range } = tensor;
        let mut own = HostNumbers::Own(weights.read(range.clone()));
        let own_gradient = HostNumbers::Own(gradient.read(range.clone()));
        let mut own_moments = moments.each_ref().map(|of| HostNumbers::Own(of.read_all()));
        let [mean, square, greatest] = &mut own_moments;
        let moved =
            MovedTensor { weights: &mut own, gradient: &own_gradient, range: 0..range.len() };
        self.host.update(moved, [mean, square, greatest], rule);
        weights.write(range.start, &own);
        for (there, here) in std::iter::zip(moments, &own_moments) {
            there.write(0, here);
        }
    }
}

impl Backend for Gpu {
    type Number = f32;
    type Numbers = DeviceTable<f32>;
    type Kept = GpuKept;

    fn zeros(&self, length: usize) -> DeviceTable<f32> {
        self.device.zeros(length)
    }

    fn buffer(&self, length: usize) -> DeviceTable<f32> {
        self.device.table(length)
    }

    fn put(&self, numbers: Vec<f32>) -> DeviceTable<f32> {
        self.device.upload(&numbers)
    }

    fn length(&self, of: &DeviceTable<f32>) -> usize {
        of.len()
    }

    fn resize(&self, numbers: &mut DeviceTable<f32>, length: usize) {
        if numbers.len() != length {
            *numbers = self.device.table(length);
        }
    }

    fn get<'a>(&self, of: &'a DeviceTable<f32>, range: Range<usize>) -> Cow<'a, [f32]> {
        Cow::Owned(of.read(range))
    }

    fn set(&self, into: &mut DeviceTable<f32>, at: usize, numbers: &[f32]) {
        into.write(at, numbers);
    }

    fn copy(&self, of: &DeviceTable<f32>) -> DeviceTable<f32> {
        self.device.copied(of)
    }

    fn clear(&self, numbers: &mut DeviceTable<f32>, range: Range<usize>) {
        self.device.fill(numbers, range, 0.0);
    }

    fn add(&self, into: &mut DeviceTable<f32>, numbers: &DeviceTable<f32>) {
        self.device.add(into, numbers);
    }

    fn scale(&self, numbers: &mut DeviceTable<f32>, by: f32) {
        self.device.scale(numbers, by);
    }

    fn add_scaled(&self, into: &mut DeviceTable<f32>, numbers: &DeviceTable<f32>, by: f32) {
        self.device.add_scaled(into, numbers, by);
    }

    fn round(&self, numbers: &mut DeviceTable<f32>, rounding: Rounding) {
        self.device.narrow(numbers, rounding, numbers.len());
    }

    fn forward(
        &self,
        step: &mut StepKind<f32>,
        kept: &mut GpuKept,
        batch: Batch<'_>,
        pass: ForwardNumbers<'_, DeviceTable<f32>>,
    ) {
        *kept = match operations::is_native(step) {
            true => self.forward_here(step, std::mem::take(kept), batch, pass),
            false => {
                self.forward_on_host(step, batch, pass);
                GpuKept::Nothing
            }
        };
    }

    fn backward(
        &self,
        step: &StepKind<f32>,
        kept: &GpuKept,
        batch: Batch<'_>,
        pass: BackwardNumbers<'_, DeviceTable<f32>>,
    ) {
        match operations::is_native(step) {
            true => self.backward_here(step, kept, batch, pass),
            false => self.backward_on_host(step, batch, pass),
        }
    }

    fn load(&self, layer: usize, mixture: &Mixture<f32>, kept: &GpuKept) -> Option<Load> {
        let GpuKept::Mixture(kept) = kept else { return self.host.load(layer, mixture, &()) };
        Some(self.load_of(layer, kept))
    }

    fn balance_jointly(
        &self,
        mixture: &mut Mixture<f32>,
        kept: &mut GpuKept,
        counts: &[u64],
        layers: usize,
    ) {
        if let GpuKept::Mixture(kept) = kept {
            let balance = mixture.losses.balance;
            self.device.balance_jointly(&mut kept.chosen, counts, layers, balance);
        }
    }

    fn loss(
        &self,
        head: &mut Head<f32>,
        kept: &mut GpuKept,
        targets: &[u32],
        of: [&DeviceTable<f32>; 2],
    ) -> HeadLoss<f32> {
        if head::is_native(head) {
            let (loss, own) = self.loss_here(head, targets, of);
            *kept = GpuKept::Head(own);
            return loss;
        }
        self.count_on_host("a loss");
        *kept = GpuKept::Nothing;
        let [h, matrix] = of.map(|of| HostNumbers::Own(of.read_all()));
        self.host.loss(head, &mut (), targets, [&h, &matrix])
    }

    fn scores(
        &self,
        head: &Head<f32>,
        targets: &[u32],
        of: [&DeviceTable<f32>; 2],
    ) -> HeadScores<f32> {
        self.scores_here(head, targets, of)
    }

    fn head_backward(
        &self,
        head: &Head<f32>,
        kept: &GpuKept,
        of: [&DeviceTable<f32>; 2],
        into: [&mut DeviceTable<f32>; 2],
    ) {
        if let GpuKept::Head(kept) = kept {
            return self.head_back_here(head, kept, of, into);
        }
        self.count_on_host("the gradients of a loss");
        let [h, matrix] = of.map(|of| HostNumbers::Own(of.read_all()));
        let mut own = into.each_ref().map(|into| self.host.buffer(into.len()));
        let [gh, g_matrix] = &mut own;
        self.host.head_backward(head, &(), [&h, &matrix], [gh, g_matrix]);
        for (there, here) in std::iter::zip(into, &own) {
            there.write(0, here);
        }
    }

    fn squares(&self, parts: &[(&DeviceTable<f32>, Range<usize>)]) -> Vec<f64> {
        self.device.squares(parts)
    }

    fn update(
        &self,
        tensor: MovedTensor<'_, DeviceTable<f32>>,
        moments: [&mut DeviceTable<f32>; 3],
        rule: &TensorUpdate<f32>,
    ) {
        match updates::is_native(rule) {
            true => self.update_here(tensor, moments, rule),
            false => self.update_on_host(tensor, moments, rule),
        }
    }

    fn fault(&self) -> Option<String> {
        self.device.fault().map(|fault| format!("{}: {fault}", self.device.id()))
    }
}
