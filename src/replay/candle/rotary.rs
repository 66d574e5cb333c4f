//! Rotary position embeddings (J. Su et al., 2021) with halves rotated against each other, and the ways to stretch them.

use candle_core::{D, Device, Result as CandleResult, Tensor};

use crate::candle::EngineError;
use crate::candle::fields::ConfigTable;

/// The angle of each pair of numbers at a position.
#[derive(Debug, Clone)]
pub(crate) enum RotaryAngles {
    /// `p base^(-2 i / size)` in float64.
    Wide { base: f64, pairs: usize },
    /// `p f_i`, both float32, as transformers computes it; cosines and sines are multiplied by a factor.
    Narrow { frequencies: Vec<f32>, factor: f64 },
}

/// Rotary embeddings of a kind of layer.
#[derive(Debug, Clone)]
pub(crate) struct Rotary {
    pub angles: RotaryAngles,
    /// Whether the rotation runs the other way, as nanochat has it.
    pub is_reversed: bool,
}

/// Cosines and sines of a batch, `(rows or 1, 1, tokens, pairs)`.
pub(crate) struct RotaryTable {
    cosines: Tensor,
    sines: Tensor,
}

impl RotaryAngles {
    /// Those of `rope_parameters`, or of `rope_theta` beside `rope_scaling`.
    pub fn read(fields: ConfigTable<'_>, size: usize) -> Result<Self, EngineError> {
        match (fields.table("rope_parameters"), fields.table("rope_scaling")) {
            (Some(own), _) => Self::scaled(own, own.positive("rope_theta")?, size),
            (None, Some(own)) => Self::scaled(own, fields.positive("rope_theta")?, size),
            (None, None) => Ok(Self::plain(fields.positive("rope_theta")?, size)),
        }
    }

    /// Plain frequencies of a base, each operation rounded to float32.
    pub fn plain(base: f64, size: usize) -> Self {
        let frequency = |pair: usize| {
            let power = (2 * pair) as f32 / size as f32;
            1.0 / base.powf(f64::from(power)) as f32
        };
        Self::Narrow { frequencies: (0..size / 2).map(frequency).collect(), factor: 1.0 }
    }

    /// Those of one table of parameters.
    pub fn scaled(own: ConfigTable<'_>, base: f64, size: usize) -> Result<Self, EngineError> {
        let field = if own.get("rope_type").is_some() { "rope_type" } else { "type" };
        let Self::Narrow { frequencies, .. } = Self::plain(base, size) else {
            return Err(own.refuse(field, "frequencies in float32"));
        };
        match own.word_or(field, "default")? {
            "default" => Ok(Self::plain(base, size)),
            "linear" => linear(own, frequencies),
            "llama3" => llama3(own, frequencies),
            "yarn" => yarn(own, base, frequencies),
            _ => Err(own.refuse(field, "`default`, `linear`, `llama3` or `yarn`")),
        }
    }

    fn pairs(&self) -> usize {
        match self {
            Self::Wide { pairs, .. } => *pairs,
            Self::Narrow { frequencies, .. } => frequencies.len(),
        }
    }

    /// Cosine and sine of a pair at a position.
    fn at(&self, position: u32, pair: usize) -> (f64, f64) {
        match self {
            Self::Wide { base, pairs } => {
                let angle = f64::from(position) * base.powf(-(pair as f64) / *pairs as f64);
                (angle.cos(), angle.sin())
            }
            Self::Narrow { frequencies, factor } => {
                let frequency = frequencies.get(pair).copied().unwrap_or_default();
                let angle = f64::from(position as f32 * frequency);
                (angle.cos() * factor, angle.sin() * factor)
            }
        }
    }
}

/// Positions pressed together.
fn linear(own: ConfigTable<'_>, frequencies: Vec<f32>) -> Result<RotaryAngles, EngineError> {
    let factor = own.positive("factor")? as f32;
    let frequencies = frequencies.into_iter().map(|frequency| frequency / factor).collect();
    Ok(RotaryAngles::Narrow { frequencies, factor: 1.0 })
}

/// Llama 3.1: long waves divided, short ones kept, a blend in between.
fn llama3(own: ConfigTable<'_>, frequencies: Vec<f32>) -> Result<RotaryAngles, EngineError> {
    let factor = own.positive("factor")? as f32;
    let (low, high) =
        (own.positive("low_freq_factor")? as f32, own.positive("high_freq_factor")? as f32);
    let context = own.positive("original_max_position_embeddings")? as f32;
    let stretch = |frequency: f32| {
        let wave = std::f32::consts::TAU / frequency;
        if wave > context / low {
            return frequency / factor;
        }
        if wave < context / high {
            return frequency;
        }
        let smooth = (context / wave - low) / (high - low);
        (1.0 - smooth) * frequency / factor + smooth * frequency
    };
    let frequencies = frequencies.into_iter().map(stretch).collect();
    Ok(RotaryAngles::Narrow { frequencies, factor: 1.0 })
}

/// YaRN (B. Peng et al., 2023).
fn yarn(
    own: ConfigTable<'_>,
    base: f64,
    frequencies: Vec<f32>,
) -> Result<RotaryAngles, EngineError> {
    let (factor, context) =
        (own.positive("factor")?, own.positive("original_max_position_embeddings")?);
    let size = 2.0 * frequencies.len() as f64;
    let correction = |rotations: f64| {
        size * (context / (rotations * std::f64::consts::TAU)).ln() / (2.0 * base.ln())
    };
    let fast = own.some_positive("beta_fast")?.unwrap_or(32.0);
    let slow = own.some_positive("beta_slow")?.unwrap_or(1.0);
    let (mut low, mut high) = (correction(fast), correction(slow));
    if own.flag_or("truncate", true)? {
        (low, high) = (low.floor(), high.ceil());
    }
    (low, high) = (low.max(0.0), high.min(size - 1.0));
    if low == high {
        high += 0.001;
    }
    let blend = |(pair, frequency): (usize, f32)| {
        let ramp = ((pair as f64 - low) / (high - low)).clamp(0.0, 1.0) as f32;
        frequency / factor as f32 * ramp + frequency * (1.0 - ramp)
    };
    let frequencies = frequencies.into_iter().enumerate().map(blend).collect();
    let scale = |of: f64| if factor <= 1.0 { 1.0 } else { 0.1 * of * factor.ln() + 1.0 };
    let of_all = own.coefficient("mscale_all_dim")?;
    let usual = match own.coefficient("mscale")? {
        of if of > 0.0 && of_all > 0.0 => scale(of) / scale(of_all),
        _ => scale(1.0),
    };
    let factor = own.some_positive("attention_factor")?.unwrap_or(usual);
    Ok(RotaryAngles::Narrow { frequencies, factor })
}

impl Rotary {
    /// The table of a batch whose tokens have these positions: `length` of one row for all, or of each row.
    pub fn table(
        &self,
        positions: &[u32],
        length: usize,
        device: &Device,
    ) -> CandleResult<RotaryTable> {
        let pairs = self.angles.pairs();
        let of_position =
            |position: &u32| (0..pairs).map(|pair| self.angles.at(*position, pair)).collect();
        let all: Vec<Vec<(f64, f64)>> = positions.iter().map(of_position).collect();
        let turn = if self.is_reversed { -1.0 } else { 1.0 };
        let cosines: Vec<f32> = all.iter().flatten().map(|(cosine, _)| *cosine as f32).collect();
        let sines: Vec<f32> = all.iter().flatten().map(|(_, sine)| (turn * sine) as f32).collect();
        let shape = (positions.len() / length.max(1), 1, length, pairs);
        Ok(RotaryTable {
            cosines: Tensor::from_vec(cosines, shape, device)?,
            sines: Tensor::from_vec(sines, shape, device)?,
        })
    }
}

impl RotaryTable {
    /// Rotates heads of `(rows, heads, tokens, 2 pairs)`.
    pub fn rotate(&self, x: &Tensor) -> CandleResult<Tensor> {
        let pairs = self.cosines.dim(D::Minus1)?;
        let (first, second) = (x.narrow(D::Minus1, 0, pairs)?, x.narrow(D::Minus1, pairs, pairs)?);
        let turned = [
            (first.broadcast_mul(&self.cosines)? - second.broadcast_mul(&self.sines)?)?,
            (second.broadcast_mul(&self.cosines)? + first.broadcast_mul(&self.sines)?)?,
        ];
        Tensor::cat(&turned, D::Minus1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `LlamaRotaryEmbedding` of transformers 5.23 with PyTorch 2.15, heads of 8 numbers and a base of 10,000.
    #[test]
    fn frequencies_are_those_of_transformers() {
        let context = json!({"original_max_position_embeddings": 128, "factor": 4.0});
        let cases = [
            (json!({"rope_type": "default"}), [1.0, 0.1, 0.01, 0.001], 1.0),
            (json!({"type": "linear", "factor": 4.0}), [0.25, 0.025, 0.0025, 0.000_25], 1.0),
            (
                json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 128}),
                [1.0, 0.042_751_18, 0.001_25, 0.000_125],
                1.0,
            ),
            (
                json!({"rope_type": "yarn", "original_max_position_embeddings": context["original_max_position_embeddings"],
                    "factor": context["factor"]}),
                [1.0, 0.0625, 0.0025, 0.000_25],
                1.138_629_436_111_989,
            ),
        ];
        for (mut parameters, expected, of_factor) in cases {
            parameters["rope_theta"] = 10_000.0.into();
            let config = json!({"rope_parameters": parameters});
            let fields = ConfigTable(config.as_object().unwrap());
            let RotaryAngles::Narrow { frequencies, factor } =
                RotaryAngles::read(fields, 8).unwrap()
            else {
                panic!("{parameters}")
            };
            for (found, expected) in frequencies.iter().zip(expected) {
                let apart = (found - expected).abs() / expected;
                assert!(apart < 4.0 * f32::EPSILON, "{parameters}: {found} {expected}");
            }
            assert!((factor - of_factor).abs() < 1e-12, "{factor}");
        }
        let config = json!({"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4}});
        let refused = RotaryAngles::read(ConfigTable(config.as_object().unwrap()), 8);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with("`rope_type`: expected `default`"), "{refused}");
    }

    #[test]
    fn a_rotation_keeps_lengths_and_its_reverse_undoes_it() {
        let angles = RotaryAngles::plain(100.0, 6);
        let rotary = |is_reversed| Rotary { angles: angles.clone(), is_reversed };
        let table = |is_reversed| rotary(is_reversed).table(&[0, 1, 5], 3, &Device::Cpu).unwrap();
        let x: Vec<f32> = (0..18).map(|at| (at as f32 * 0.7).sin()).collect();
        let x = Tensor::from_vec(x, (1, 1, 3, 6), &Device::Cpu).unwrap();
        let turned = table(false).rotate(&x).unwrap();
        let back = table(true).rotate(&turned).unwrap();
        let flat = |x: &Tensor| x.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(flat(&turned)[..6], flat(&x)[..6], "position 0 is not rotated");
        assert_ne!(flat(&turned)[6..], flat(&x)[6..]);
        for (x, back) in flat(&x).iter().zip(flat(&back)) {
            assert!((x - back).abs() < 1e-6, "{x} {back}");
        }
    }
}
