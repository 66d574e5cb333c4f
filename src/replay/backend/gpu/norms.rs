//! Norms of rows, and of queries and keys, by kernels.

use super::operations::{BackwardTables, ForwardTables};
use super::{Gpu, GpuKept};
use crate::ops::{Norm, NormKind, VectorNorms};
use repro_kernels::device::{DeviceTable, NormRows, NormSpread, TablePart};

/// The weight that the formula has: that of the model, or one made from it.
enum NormWeight<'a> {
    Model(TablePart<'a, f32>),
    Own(DeviceTable<f32>),
}

impl NormWeight<'_> {
    fn part(&self) -> TablePart<'_, f32> {
        match self {
            Self::Model(part) => *part,
            Self::Own(own) => own.from(0),
        }
    }
}

impl Gpu {
    /// The weight of a norm, from a place of the model's on.
    fn norm_weight<'a>(
        &self,
        kind: NormKind,
        width: usize,
        w: Option<(&'a DeviceTable<f32>, usize)>,
    ) -> NormWeight<'a> {
        let model = w.filter(|_| kind.is_weighted()).map(|(w, from)| w.from(from));
        match (kind, model) {
            (NormKind::Rms | NormKind::Layer | NormKind::LayerBiased, Some(model)) => {
                NormWeight::Model(model)
            }
            (_, model) => {
                let mut own = self.device.table(width);
                self.device.fill(&mut own, 0..width, 1.0);
                if let Some(model) = model {
                    self.device.add_row(&mut own, model, width);
                }
                NormWeight::Own(own)
            }
        }
    }

    pub(super) fn norm(&self, norm: &Norm<f32>, pass: ForwardTables<'_>) -> GpuKept {
        let (Some(x), width) = (pass.x, norm.width) else { return GpuKept::Nothing };
        let weight = self.norm_weight(norm.kind, width, pass.w.map(|w| (w, 0)));
        let centred = norm.kind.is_centred().then(|| {
            let mut centred = self.device.copied(x);
            self.device.centre(&mut centred, width);
            centred
        });
        self.device.norm(norm_rows(norm, centred.as_ref().unwrap_or(x), &weight), pass.y);
        if let (NormKind::LayerBiased, Some(w)) = (norm.kind, pass.w) {
            self.device.add_row(pass.y, w.from(width), width);
        }
        self.add_some(pass.y, pass.residual);
        centred.map_or(GpuKept::Nothing, GpuKept::Centred)
    }

    pub(super) fn norm_back(&self, norm: &Norm<f32>, kept: &GpuKept, pass: BackwardTables<'_>) {
        let BackwardTables { x: Some(x), w, g, before, gx: Some(gx), mut gw, sums } = pass else {
            return;
        };
        let weight = self.norm_weight(norm.kind, norm.width, w.map(|w| (w, 0)));
        let centred = match kept {
            GpuKept::Centred(centred) => Some(centred),
            _ => None,
        };
        let rows = norm_rows(norm, centred.unwrap_or(x), &weight);
        let known = if centred.is_none() { before } else { None };
        let own = gw.as_deref_mut().filter(|_| norm.kind.is_weighted()).map(|gw| (gw, 0));
        let factors = self.device.norm_back(rows, g, known, gx, own);
        if centred.is_some() {
            self.device.centre_back(gx, before, norm.width);
        }
        let Some(gw) = gw else { return };
        if norm.kind == NormKind::LayerBiased {
            self.device.sum_rows(g, (gw, norm.width), norm.width);
        }
        if let (Some(rounding), true) = (sums, centred.is_some()) {
            self.device.norm_sums(rows, [g, &factors], gw, rounding);
        }
    }

    pub(super) fn vector_norms(&self, norms: VectorNorms, pass: ForwardTables<'_>) {
        let Some(x) = pass.x else { return };
        self.device.copy(x, pass.y);
        let weights = self.vector_weights(norms, pass.w);
        for (at, weight) in weights.iter().enumerate() {
            self.device.norm(vector_rows(norms, at, x, weight), pass.y);
        }
        self.add_some(pass.y, pass.residual);
    }

    pub(super) fn vector_norms_back(&self, norms: VectorNorms, pass: BackwardTables<'_>) {
        let BackwardTables { x: Some(x), w, g, before, gx: Some(gx), mut gw, .. } = pass else {
            return;
        };
        self.device.copy(g, gx);
        let (weights, mut place) = (self.vector_weights(norms, w), 0);
        for (at, weight) in weights.iter().enumerate() {
            let own = gw.as_deref_mut().filter(|_| norms.kind.is_weighted());
            let rows = vector_rows(norms, at, x, weight);
            self.device.norm_back(rows, g, None, gx, own.map(|gw| (gw, place)));
            place += norms.weights()[at];
        }
        self.add_some(gx, before);
    }

    /// The weights of queries and of keys.
    fn vector_weights<'a>(
        &self,
        norms: VectorNorms,
        w: Option<&'a DeviceTable<f32>>,
    ) -> [NormWeight<'a>; 2] {
        let [first, second] = norms.parts.map(|part| part.of_norm);
        [(first, 0), (second, norms.weights()[0])]
            .map(|(width, from)| self.norm_weight(norms.kind, width, w.map(|w| (w, from))))
    }
}

fn norm_rows<'a>(
    norm: &Norm<f32>,
    x: &'a DeviceTable<f32>,
    weight: &'a NormWeight<'_>,
) -> NormRows<'a> {
    let (width, epsilon) = (norm.width, norm.epsilon as f32);
    NormRows { x, weight: weight.part(), width, epsilon, spread: None }
}

/// The vectors of queries (0) or of keys (1) in all rows.
fn vector_rows<'a>(
    norms: VectorNorms,
    at: usize,
    x: &'a DeviceTable<f32>,
    weight: &'a NormWeight<'_>,
) -> NormRows<'a> {
    let part = norms.parts[at];
    let (parts, apart) = (part.width / part.of_norm, norms.width);
    NormRows {
        x,
        weight: weight.part(),
        width: part.of_norm,
        epsilon: norms.epsilon as f32,
        spread: Some(NormSpread { from: part.from, parts, apart }),
    }
}
