//! nanochat's counts for a model of a given depth: parameters, scaling-law parameters, and FLOPs per token.
//!
//! `nanochat/gpt.py` and `scripts/base_train.py` of karpathy/nanochat changed these definitions over time. This module
//! contains every version from its main branch, and a printed number is compared with the version that fits best.

use repro_claim::relation::{PrintedRange, RelationNumber, Term};

use crate::check::stated::StatedRow;

/// The vocabulary sizes of its tokenizers: until 7 January 2026, and since.
pub const VOCABULARIES: [f64; 2] = [65_536.0, 32_768.0];

/// The parameters that a version adds to the layer matrices, embeddings and head.
#[derive(Debug, Clone, Copy)]
struct Additions {
    /// Learned scalars, per layer and single.
    layer_scalars: f64,
    scalars: f64,
    /// The input channels of the value embedding gate, which every second layer has.
    gate_channels: f64,
    /// Rows of a bigram table per vocabulary token.
    bigrams: f64,
}

/// The versions, oldest first.
const VERSIONS: &[Additions] = &[
    Additions { layer_scalars: 0.0, scalars: 0.0, gate_channels: 0.0, bigrams: 0.0 },
    // 11 January 2026
    Additions { layer_scalars: 2.0, scalars: 0.0, gate_channels: 0.0, bigrams: 0.0 },
    // 17 January 2026
    Additions { layer_scalars: 2.0, scalars: 0.0, gate_channels: 32.0, bigrams: 0.0 },
    // 25 to 28 January 2026
    Additions { layer_scalars: 3.0, scalars: 0.0, gate_channels: 32.0, bigrams: 5.0 },
    // 9 March 2026
    Additions { layer_scalars: 2.0, scalars: 0.0, gate_channels: 12.0, bigrams: 0.0 },
    // 14 March 2026: a gate with 24 channels, and two scalars
    Additions { layer_scalars: 2.0, scalars: 26.0, gate_channels: 12.0, bigrams: 0.0 },
];

/// The channels of the embedding smear gate.
const SMEAR_CHANNELS: f64 = 24.0;
/// The parameter fraction below which FLOPs with seven digits do not change.
const FEW: f64 = 2e-6;

/// The model facts that a run states.
#[derive(Debug, Clone, PartialEq)]
pub struct NanochatModel {
    pub depth: f64,
    pub sequence: f64,
    /// Width per layer, and per head.
    pub aspect: f64,
    pub head: f64,
    /// The attention windows of the layers, `S` and `L`, if stated.
    pub windows: Option<String>,
    /// Its vocabulary size, or the possible ones.
    pub vocabularies: Vec<f64>,
}

/// The counts of one version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelCount {
    pub parameters: f64,
    /// The matrices of the layers and the head, which set training horizons since 27 January 2026.
    pub scaling: f64,
    pub flops_per_token: f64,
}

impl NanochatModel {
    /// Reads the arguments of a run.
    pub fn of(row: &StatedRow, vocabularies: Vec<f64>) -> Option<Self> {
        let depth = row.number("depth").filter(|depth| (1.0..1000.0).contains(depth))?;
        Some(Self {
            depth,
            sequence: row.number("max_seq_len").unwrap_or(2048.0),
            aspect: row.number("aspect_ratio").unwrap_or(64.0),
            head: row.number("head_dim").filter(|head| *head > 0.0).unwrap_or(128.0),
            windows: row.text("window_pattern").map(str::to_owned),
            vocabularies,
        })
    }

    /// The counts of every version.
    pub fn counts(&self) -> Vec<ModelCount> {
        let exact = self.depth * self.aspect;
        let mut widths = vec![exact, (exact / self.head).ceil() * self.head];
        widths.dedup();
        let mut all = Vec::new();
        for vocabulary in &self.vocabularies {
            // Padded to a multiple of 64 since 9 December 2025.
            let mut tables = vec![*vocabulary, (vocabulary / 64.0).ceil() * 64.0];
            tables.dedup();
            for table in tables {
                for width in &widths {
                    all.extend(
                        VERSIONS.iter().flat_map(|version| self.count(version, table, *width)),
                    );
                }
            }
        }
        all
    }

    fn count(&self, version: &Additions, vocabulary: f64, width: f64) -> Vec<ModelCount> {
        let Self { depth, head, .. } = *self;
        let has_values = version.gate_channels > 0.0;
        let with_values = if has_values { (depth / 2.0).ceil() } else { 0.0 };
        let gates = with_values * version.gate_channels * (width / head).ceil();
        let layers = 12.0 * depth * width * width + gates;
        let scaling = layers + vocabulary * width;
        let scalars = version.layer_scalars * depth + version.scalars;
        let tables = vocabulary * width * (1.0 + with_values + version.bigrams);
        let of = |(attention, counted): (f64, f64)| ModelCount {
            parameters: scaling + tables + scalars,
            scaling,
            flops_per_token: 6.0 * (scaling + counted) + 12.0 * width * attention,
        };
        let mut counted = vec![0.0];
        // On 11 January the new scalars were counted as matrix parameters at first.
        if scalars > 0.0 {
            counted.push(scalars);
        }
        // The channels of the embedding smear gate count since 3 July.
        if version.scalars > 0.0 {
            counted.push(SMEAR_CHANNELS);
        }
        let attended = self.attended();
        let pairs = attended
            .iter()
            .flat_map(|attention| counted.iter().map(|counted| (*attention, *counted)));
        pairs.map(of).collect()
    }

    /// The positions attended to, summed over the layers, for each historical size of the short window.
    fn attended(&self) -> Vec<f64> {
        let tiles = |share: f64| (self.sequence / share / 128.0).ceil() * 128.0;
        let shorts = [self.sequence / 2.0, tiles(3.0), tiles(4.0)];
        let pattern = self.windows.clone().unwrap_or_else(|| "SSSL".to_owned());
        let is_short: Vec<bool> = pattern.chars().map(|c| matches!(c, 's' | 'S')).collect();
        let layers = self.depth as usize;
        let of = |short: f64| {
            let window = |at: usize| match is_short.get(at % is_short.len().max(1)) {
                Some(true) if at + 1 < layers => short.min(self.sequence),
                _ => self.sequence,
            };
            (0..layers).map(window).sum::<f64>()
        };
        let mut all = vec![self.depth * self.sequence];
        all.extend(shorts.into_iter().map(of));
        all
    }
}

/// Computes nanochat's counts for a run's model with the version that fits best, and whether some version matches the
/// printed parameters and FLOPs per token.
pub fn count(row: &mut StatedRow, model: &NanochatModel, parameters: &str, flops: &str) {
    let counts = model.counts();
    let [printed_parameters, printed_flops] = [parameters, flops].map(|name| row.range(name));
    let has_parameters = |one: &&ModelCount| is_in(printed_parameters, one.parameters);
    let has_flops = |one: &&ModelCount| is_in(printed_flops, one.flops_per_token);
    let by_parameters = |one: &&ModelCount| off(printed_parameters, one.parameters);
    let by_flops = |one: &&ModelCount| off(printed_flops, one.flops_per_token);
    let closest = |a: f64, b: f64| a.total_cmp(&b);
    let of_parameters = counts.iter().filter(has_parameters);
    let of_parameters = of_parameters.min_by(|a, b| closest(by_flops(a), by_flops(b)));
    // Several versions have the same FLOPs per token; the oldest is the simplest.
    let of_flops = counts.iter().find(has_flops);
    let of_none = counts.iter().min_by(|a, b| closest(by_parameters(a), by_parameters(b)));
    let Some(best) = of_parameters.or(of_flops).or(of_none) else { return };
    let how = format!("from nanochat's code, for depth {}", model.depth);
    // A fork may have a few more scalars, which the printed FLOPs do not show.
    let is_other = by_parameters(&best) == 0.0 || by_parameters(&best) > FEW;
    let mut is = |name: &str, truth: bool| {
        row.compute(name, Term::Truth(truth), "from some version of nanochat's code");
    };
    is("known.parameters", of_parameters.is_some());
    is("known.model", of_flops.is_some() && is_other);
    row.compute_number("counted.parameters", best.parameters, how.clone());
    row.compute_number("counted.scaling", best.scaling, format!("{how}, matrices and head"));
    row.compute_number("counted.flops_per_token", best.flops_per_token, how);
}

fn is_in(printed: Option<PrintedRange>, counted: f64) -> bool {
    printed.is_some_and(|printed| {
        let [low, high] = printed.ends();
        low <= counted && counted <= high
    })
}

/// The relative difference from a printed number; 0 if there is none.
fn off(printed: Option<PrintedRange>, counted: f64) -> f64 {
    printed.map_or(0.0, |printed| ((printed.middle() - counted) / counted).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(depth: f64, vocabulary: f64) -> NanochatModel {
        NanochatModel {
            depth,
            sequence: 2048.0,
            aspect: 64.0,
            head: 128.0,
            windows: None,
            vocabularies: vec![vocabulary],
        }
    }

    /// The counts in nanochat's own logs and pages, for several versions.
    #[test]
    fn versions_count_as_their_code_did() {
        let has = |model: &NanochatModel, fits: &dyn Fn(&ModelCount) -> bool| {
            assert!(model.counts().iter().any(fits), "{model:?}");
        };
        has(&model(20.0, 65_536.0), &|one| one.parameters == 560_988_160.0);
        has(&model(20.0, 65_536.0), &|one| (one.flops_per_token - 3.491_758e9).abs() < 500.0);
        has(&model(24.0, 32_768.0), &|one| one.flops_per_token == 4_945_112_064.0);
        has(&model(24.0, 32_768.0), &|one| one.flops_per_token == 4_775_242_752.0);
        has(&model(24.0, 32_768.0), &|one| (12.0 * one.scaling / 524_288.0).floor() == 16_704.0);
        has(&model(26.0, 32_768.0), &|one| (8.25 * one.scaling / 1_048_576.0).floor() == 7_226.0);
    }

    #[test]
    fn odd_depths_are_widened_to_whole_heads() {
        let widths: Vec<f64> =
            model(11.0, 32_768.0).counts().iter().map(|one| one.scaling).collect();
        assert!(widths.contains(&(12.0 * 11.0 * 704.0 * 704.0 + 32_768.0 * 704.0)));
        assert!(widths.contains(&(12.0 * 11.0 * 768.0 * 768.0 + 32_768.0 * 768.0)));
    }
}
