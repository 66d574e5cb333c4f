//! Norms of rows.

use rayon::prelude::*;

use super::{BackwardPass, Batch, ForwardPass, Operation, ROWS, add, round_sum, sized};
use repro_kernels::portable::rounding::Rounding;
use repro_kernels::portable::{Isa, Kernels, norm};

/// How rows are normalised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NormKind {
    /// By their root mean square, times a weight.
    #[default]
    Rms,
    /// By their root mean square, times one more than a weight.
    RmsFromOne,
    /// By their root mean square.
    RmsAlone,
    /// Around their mean, times a weight.
    Layer,
    /// Around their mean, times a weight, plus a bias.
    LayerBiased,
}

impl NormKind {
    /// Whether it has a weight.
    pub fn is_weighted(self) -> bool {
        self != Self::RmsAlone
    }

    /// Whether it is around the mean.
    pub fn is_centred(self) -> bool {
        matches!(self, Self::Layer | Self::LayerBiased)
    }

    /// The weight that the formula has, made from that of the model.
    pub(super) fn weight<T: Kernels>(self, width: usize, weight: &[T]) -> Vec<T> {
        match self {
            Self::Rms | Self::Layer | Self::LayerBiased => weight.to_vec(),
            Self::RmsFromOne => weight.iter().map(|weight| T::ONE + *weight).collect(),
            Self::RmsAlone => vec![T::ONE; width],
        }
    }
}

/// `y = norm(x)`. The weights are those of the norm: its weight and its bias, where it has them.
#[derive(Debug)]
pub struct Norm<T> {
    pub kind: NormKind,
    pub width: usize,
    pub epsilon: f64,
    /// Rows less their mean, where it is around it.
    pub centred: Vec<T>,
}

impl<T: Kernels> Norm<T> {
    /// The gradients of weight and bias, as sums over tokens that are rounded after each.
    fn sums(
        &self,
        isa: Isa,
        [x, g, weight]: [&[T]; 3],
        rounding: Option<Rounding>,
        [g_weight, g_bias]: [&mut [T]; 2],
    ) {
        let (d, epsilon) = (self.width, T::from_f64(self.epsilon));
        let (mut own, mut gx, nothing) = (vec![T::ZERO; d], vec![T::ZERO; d], vec![T::ZERO; d]);
        g_weight.fill(T::ZERO);
        g_bias.fill(T::ZERO);
        for (at, (x, g)) in x.chunks_exact(d).zip(g.chunks_exact(d)).enumerate() {
            T::layer_norm_back(isa, x, weight, epsilon, g, &nothing, &mut gx, &mut own);
            add(g_weight, Some(&own));
            add(g_bias, Some(g));
            round_sum(isa, rounding, 2 * at, g_weight);
            round_sum(isa, rounding, 2 * at + 1, g_bias);
        }
    }

    fn split<'a>(&self, w: &'a [T]) -> (Vec<T>, &'a [T]) {
        let (weight, bias) = w.split_at(if self.kind.is_weighted() { self.width } else { 0 });
        (self.kind.weight(self.width, weight), bias)
    }
}

impl<T: Kernels> Operation<T> for Norm<T> {
    fn forward(&mut self, isa: Isa, _batch: Batch<'_>, pass: ForwardPass<'_, T>) {
        let ForwardPass { x, w, residual, y } = pass;
        let (d, epsilon) = (self.width, T::from_f64(self.epsilon));
        let (weight, bias) = self.split(w);
        if self.kind.is_centred() {
            let centred = sized(&mut self.centred, x.len()).par_chunks_mut(ROWS * d);
            x.par_chunks(ROWS * d).zip(y.par_chunks_mut(ROWS * d)).zip(centred).for_each(
                |((x, y), centred)| T::layer_norm(isa, x, [&weight, bias], epsilon, centred, y),
            );
        } else {
            x.par_chunks(ROWS * d)
                .zip(y.par_chunks_mut(ROWS * d))
                .for_each(|(x, y)| T::norm(isa, x, &weight, epsilon, y));
        }
        add(y, residual);
    }

    fn backward(&self, isa: Isa, _batch: Batch<'_>, pass: BackwardPass<'_, T>) {
        let BackwardPass { x, w, g, before, gx, gw, sums } = pass;
        let (d, epsilon) = (self.width, T::from_f64(self.epsilon));
        let (weight, bias) = self.split(w);
        let x = if self.kind.is_centred() { &self.centred[..x.len()] } else { x };
        let mut parts = T::buffer((x.len() / d).div_ceil(norm::ROWS) * d);
        let nothing = vec![T::ZERO; (ROWS * d).min(x.len())];
        let other = |at: usize, length: usize| match before {
            Some(before) => &before[at * ROWS * d..][..length],
            None => &nothing[..length],
        };
        x.par_chunks(ROWS * d)
            .zip(g.par_chunks(ROWS * d))
            .zip(gx.par_chunks_mut(ROWS * d))
            .zip(parts.par_chunks_mut(ROWS / norm::ROWS * d))
            .enumerate()
            .for_each(|(at, (((x, g), gx), part))| {
                let before = other(at, x.len());
                match self.kind.is_centred() {
                    true => T::layer_norm_back(isa, x, &weight, epsilon, g, before, gx, part),
                    false => T::norm_back(isa, x, &weight, epsilon, g, before, gx, part),
                }
            });
        let (g_weight, g_bias) = gw.split_at_mut(gw.len() - bias.len());
        if !g_weight.is_empty() {
            T::norm_combine(&parts, g_weight);
        }
        if !g_bias.is_empty() {
            T::add_bias_back(isa, g, g_bias);
        }
        if sums.is_some() && self.kind.is_centred() {
            self.sums(isa, [x, g, &weight], sums, [g_weight, g_bias]);
        }
    }
}
