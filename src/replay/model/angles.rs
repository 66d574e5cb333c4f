//! Rotary angles: those of our arithmetic, and those of other programs with what they do to reach longer texts.

use super::fields::{Fields, UNSUPPORTED};
use repro_core::source::{Error, Kind};
use repro_kernels::portable::{real::Real, rope::Rope};
use repro_stats::rng::Rng;

/// Rotary angles.
#[derive(Debug, Clone, PartialEq)]
pub enum Angles {
    /// `p theta^(-2 i / head_dim)` in float64, as our arithmetic has it.
    Exact {
        /// The base.
        theta: f64,
    },
    /// Products of positions and frequencies in float32, as PyTorch's programs have it.
    Narrow {
        /// The frequency of each pair.
        frequencies: Vec<f32>,
        /// The factor of cosines and sines.
        factor: f64,
        /// By how many units in the last place another program's frequencies may be off.
        units: u32,
    },
}

/// How many roundings there are in a frequency beyond the first.
const SCALED: u32 = 4;

/// A way to reach longer texts: its name, its fields beside the base, and what it makes of frequencies.
type Scaling = (&'static str, &'static [&'static str], Scale);
type Scale = fn(Fields<'_>, f64, &mut [f32]) -> Result<f64, Error>;

const SCALINGS: &[Scaling] = &[
    ("default", &[], |_, _, _| Ok(1.0)),
    ("linear", &["factor"], linear),
    (
        "llama3",
        &["factor", "high_freq_factor", "low_freq_factor", "original_max_position_embeddings"],
        llama3,
    ),
    (
        "yarn",
        &[
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "factor",
            "mscale",
            "mscale_all_dim",
            "original_max_position_embeddings",
            "truncate",
        ],
        yarn,
    ),
];

impl Angles {
    /// The known ways to reach longer texts, each with its fields in `rope_parameters` beside the base.
    pub fn scalings() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        SCALINGS.iter().map(|(name, fields, _)| (*name, *fields))
    }

    /// The tables for so many positions.
    pub fn rope<T: Real>(&self, positions: usize, head_dim: usize) -> Rope<T> {
        match self {
            Self::Exact { theta } => Rope::new(positions, head_dim, *theta),
            Self::Narrow { frequencies, factor, .. } => {
                Rope::of_frequencies(positions, frequencies, *factor)
            }
        }
    }

    /// Frequencies as another program may have computed them, each off by some units in the last place, up or down by a
    /// seed.
    pub fn disturbed(&self, seed: u64) -> Self {
        let Self::Narrow { frequencies, factor, units } = self else { return self.clone() };
        let mut rng = Rng::new(seed, "frequencies of a calibration");
        let mut moved = |frequency: &f32| match rng.below(2) {
            // The first is 1 in any arithmetic.
            _ if frequency.abs() == 1.0 => *frequency,
            0 => f32::from_bits(frequency.to_bits() + units),
            _ => f32::from_bits(frequency.to_bits() - units),
        };
        let frequencies = frequencies.iter().map(&mut moved).collect();
        Self::Narrow { frequencies, factor: *factor, units: *units }
    }

    /// Plain angles of this base, as other programs compute them.
    pub(super) fn narrow(theta: f64, head_dim: usize) -> Self {
        Self::Narrow { frequencies: plain(theta, head_dim), factor: 1.0, units: 1 }
    }

    /// The same, turned the other way.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Exact { .. } => self,
            Self::Narrow { mut frequencies, factor, units } => {
                frequencies.iter_mut().for_each(|frequency| *frequency = -*frequency);
                Self::Narrow { frequencies, factor, units }
            }
        }
    }

    /// The angles of a config of `transformers`: `rope_parameters`, or `rope_theta` beside `rope_scaling`.
    pub(super) fn read(fields: Fields<'_>, head_dim: usize) -> Result<Self, Error> {
        let given =
            |name: &str| fields.0.get(name).filter(|node| !matches!(node.value().kind, Kind::Null));
        match (given("rope_parameters"), given("rope_scaling")) {
            (Some(parameters), _) => {
                let inner = Fields(parameters);
                Self::scaled(inner, inner.positive("rope_theta")?, head_dim)
            }
            (None, Some(scaling)) => {
                Self::scaled(Fields(scaling), fields.positive("rope_theta")?, head_dim)
            }
            (None, None) => Ok(Self::narrow(fields.positive("rope_theta")?, head_dim)),
        }
    }

    /// Those of a table of parameters.
    pub(super) fn scaled(fields: Fields<'_>, theta: f64, head_dim: usize) -> Result<Self, Error> {
        let names = |(name, _, _): &Scaling| (*name, *name);
        let all: Vec<_> = SCALINGS.iter().map(names).collect();
        let field = if fields.0.get("rope_type").is_some() { "rope_type" } else { "type" };
        let name = match fields.0.get(field) {
            Some(_) => fields.word(field, &all)?,
            None => "default",
        };
        let Some((_, own, scale)) = SCALINGS.iter().find(|(known, _, _)| *known == name) else {
            return Err(fields.refuse(&UNSUPPORTED, field, "known angles"));
        };
        fields.0.only(&[&["rope_theta", "rope_type", "type"], *own].concat())?;
        let mut frequencies = plain(theta, head_dim);
        let factor = scale(fields, theta, &mut frequencies)?;
        let units = if own.is_empty() { 1 } else { SCALED };
        Ok(Self::Narrow { frequencies, factor, units })
    }
}

/// `1 / theta^(2 i / head_dim)`, each operation rounded to float32.
fn plain(theta: f64, head_dim: usize) -> Vec<f32> {
    let frequency = |pair: usize| {
        let power = (2 * pair) as f32 / head_dim as f32;
        1.0 / libm::pow(theta, f64::from(power)) as f32
    };
    (0..head_dim / 2).map(frequency).collect()
}

/// All frequencies divided by a factor: positions lie closer together.
fn linear(fields: Fields<'_>, _: f64, frequencies: &mut [f32]) -> Result<f64, Error> {
    let factor = fields.positive("factor")? as f32;
    frequencies.iter_mut().for_each(|frequency| *frequency /= factor);
    Ok(1.0)
}

/// Long waves divided by a factor, short ones left alone, those in between blended (Llama 3, 2024).
fn llama3(fields: Fields<'_>, _: f64, frequencies: &mut [f32]) -> Result<f64, Error> {
    let factor = fields.positive("factor")? as f32;
    let (low, high) =
        (fields.positive("low_freq_factor")? as f32, fields.positive("high_freq_factor")? as f32);
    let context = fields.positive("original_max_position_embeddings")? as f32;
    for frequency in frequencies {
        let wave = std::f32::consts::TAU / *frequency;
        if wave > context / low {
            *frequency /= factor;
        } else if wave >= context / high {
            let smooth = (context / wave - low) / (high - low);
            *frequency = (1.0 - smooth) * *frequency / factor + smooth * *frequency;
        }
    }
    Ok(1.0)
}

/// Pairs that turn seldom divided by a factor, those that turn often left alone, a ramp in between; cosines and sines
/// are scaled (B. Peng et al., 2023).
fn yarn(fields: Fields<'_>, theta: f64, frequencies: &mut [f32]) -> Result<f64, Error> {
    let context = fields.positive("original_max_position_embeddings")?;
    let factor = fields.positive("factor")?;
    let or = |name: &str, otherwise: f64| match fields.0.get(name) {
        Some(node) if !matches!(node.value().kind, Kind::Null) => fields.positive(name),
        _ => Ok(otherwise),
    };
    let size = (2 * frequencies.len()) as f64;
    let turning = |turns: f64| {
        size * libm::log(context / (turns * std::f64::consts::TAU)) / (2.0 * libm::log(theta))
    };
    let is_whole = fields.flag_or("truncate", true)?;
    let (low, high) = (turning(or("beta_fast", 32.0)?), turning(or("beta_slow", 1.0)?));
    let (low, high) = if is_whole { (low.floor(), high.ceil()) } else { (low, high) };
    let (low, high) = (low.max(0.0), high.min(size - 1.0));
    let width = if low == high { 0.001 } else { high - low };
    for (pair, frequency) in frequencies.iter_mut().enumerate() {
        let ramp = ((pair as f64 - low) / width).clamp(0.0, 1.0) as f32;
        let slow = *frequency / factor as f32;
        *frequency = slow * ramp + *frequency * (1.0 - ramp);
    }
    let magnitude = |of: f64| if factor <= 1.0 { 1.0 } else { 0.1 * of * libm::log(factor) + 1.0 };
    let (of, of_all) = (or("mscale", 0.0)?, or("mscale_all_dim", 0.0)?);
    let otherwise = match of > 0.0 && of_all > 0.0 {
        true => magnitude(of) / magnitude(of_all),
        false => magnitude(1.0),
    };
    or("attention_factor", otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    fn read(parameters: &str) -> Result<Angles, String> {
        let text = format!(r#"{{"rope_parameters": {parameters}}}"#);
        let source = Source::new("config.json", text.into_bytes()).unwrap();
        let document = Document::parse_json(source).unwrap();
        Angles::read(Fields(document.root()), 8).map_err(|error| error.to_string())
    }

    fn frequencies(parameters: &str) -> (Vec<f32>, f64) {
        match read(parameters).unwrap() {
            Angles::Narrow { frequencies, factor, .. } => (frequencies, factor),
            Angles::Exact { .. } => unreachable!(),
        }
    }

    #[test]
    fn frequencies_are_those_of_transformers() {
        // `LlamaRotaryEmbedding` of transformers 5.23 with PyTorch 2.15, head_dim 8.
        let base = r#""rope_theta": 10000.0, "#;
        for (parameters, expected, factor) in [
            (r#""rope_type": "default""#, DEFAULT, 1.0),
            (r#""rope_type": "linear", "factor": 4.0"#, LINEAR, 1.0),
            (
                r#""rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 128"#,
                LLAMA3,
                1.0,
            ),
            (
                r#""rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128"#,
                YARN,
                1.138_629_436_111_989,
            ),
        ] {
            let (found, found_factor) = frequencies(&format!("{{{base}{parameters}}}"));
            for (found, expected) in found.iter().zip(expected) {
                let apart = found.to_bits().abs_diff(f32::to_bits(expected));
                assert!(apart <= SCALED, "{parameters}: {found} {expected}");
            }
            assert!((found_factor - factor).abs() < 1e-15, "{found_factor}");
        }
        let refused = read(r#"{"rope_theta": 1e4, "rope_type": "longrope"}"#).unwrap_err();
        assert!(refused.contains("longrope"), "{refused}");
        assert!(read(r#"{"rope_theta": 1e4, "partial_rotary_factor": 0.5}"#).is_err());
    }

    #[test]
    fn disturbed_frequencies_are_near() {
        let angles = Angles::narrow(100.0, 6).turned();
        let (Angles::Narrow { frequencies: a, .. }, Angles::Narrow { frequencies: b, .. }) =
            (&angles, &angles.disturbed(1))
        else {
            unreachable!()
        };
        assert_eq!((a[0], b[0]), (-1.0, -1.0));
        assert!(a[1..].iter().zip(&b[1..]).all(|(a, b)| a.to_bits().abs_diff(b.to_bits()) == 1));
    }

    const DEFAULT: [f32; 4] = [1.0, 0.1, 0.01, 0.001];
    const LINEAR: [f32; 4] = [0.25, 0.025, 0.0025, 0.000_25];
    const LLAMA3: [f32; 4] = [1.0, 0.042_751_18, 0.001_25, 0.000_125];
    const YARN: [f32; 4] = [1.0, 0.0625, 0.0025, 0.000_25];
}
