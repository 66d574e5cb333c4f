//! Kept checkpoints of a bundle as numbers, and the learning rates that its records have between them.

use std::collections::BTreeMap;

use repro_bundle::bundle::{Bundle, CONFIG};
use repro_bundle::checkpoint::{Header, Role, Stored};
use repro_core::digest::{Digest, Hasher};

use super::adam::number_of;

/// The largest checkpoint that is read: two of them are in memory at a time.
const LARGEST: u64 = 512 << 20;
const PREFIX: usize = 8;
/// The name prefix of the first moments.
const MEAN: &str = "optimizer.m.";
const SQUARE: &str = "optimizer.v.";

/// The elements of a float32 tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elements<'a>(&'a [[u8; 4]]);

/// The number of sums that run in parallel: a single one would wait for each addition.
const LANES: usize = 16;

impl<'a> Elements<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    /// The elements in float64, without loss.
    pub fn iter(self) -> impl Iterator<Item = f64> + 'a {
        self.0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
    }

    pub fn len(self) -> usize {
        self.0.len()
    }

    /// The sum of `of` over all elements.
    pub fn sum(self, of: impl Fn(f64) -> f64) -> f64 {
        let (blocks, rest) = self.0.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for block in blocks {
            for (sum, bytes) in std::iter::zip(&mut sums, block) {
                *sum += of(f64::from(f32::from_le_bytes(*bytes)));
            }
        }
        let rest = Self(rest).iter().map(of).sum::<f64>();
        sums.iter().sum::<f64>() + rest
    }

    /// The first pair with the elements of a different tensor that is `wrong`. Blocks are tested without a branch inside,
    /// because nearly all are right.
    pub fn find(self, other: Self, wrong: impl Fn(f64, f64) -> bool) -> Option<(f64, f64)> {
        const BLOCK: usize = 256;
        let pairs = std::iter::zip(self.0.chunks(BLOCK), other.0.chunks(BLOCK));
        let mut blocks = pairs.map(|(a, b)| (Elements(a), Elements(b)));
        blocks.find_map(|(a, b)| {
            let pairs = || std::iter::zip(a.iter(), b.iter());
            let any = pairs().fold(false, |any, (a, b)| any | wrong(a, b));
            any.then(|| pairs().find(|(a, b)| wrong(*a, *b)))?
        })
    }

    /// Whether all elements are 0.
    pub fn is_zero(self) -> bool {
        self.iter().all(|x| x == 0.0)
    }

    /// The Euclidean norm.
    pub fn norm(self) -> f64 {
        libm::sqrt(self.sum(|x| x * x))
    }
}

/// A trained tensor.
#[derive(Debug, Clone, Copy)]
pub struct TrainedTensor<'a> {
    pub shape: &'a [u64],
    pub weights: Elements<'a>,
    /// The first and second moments of its gradients.
    pub moments: Option<(Elements<'a>, Elements<'a>)>,
}

impl TrainedTensor<'_> {
    /// The Euclidean distance to a different tensor.
    pub fn distance(self, other: Self) -> f64 {
        let pairs = std::iter::zip(self.weights.iter(), other.weights.iter());
        libm::sqrt(pairs.map(|(one, other)| (other - one) * (other - one)).sum::<f64>())
    }
}

/// A checkpoint in the bundle.
#[derive(Debug)]
pub struct KeptCheckpoint {
    pub step: u64,
    pub file: String,
    /// All stored tensors by name.
    stored: BTreeMap<String, Stored>,
    data: Vec<u8>,
}

impl KeptCheckpoint {
    /// Reads the checkpoint after `step` steps, or returns the reason why it is not read.
    pub fn read(bundle: &Bundle, step: u64, file: &str) -> Result<Self, String> {
        let length = bundle.files().get(file).map_or(0, |file| file.bytes);
        if length > LARGEST {
            return Err(format!("{length} bytes; the limit is {LARGEST}"));
        }
        Self::of(bundle.tensors(file).map_err(|error| error.to_string())?, step, file)
    }

    /// Parses the bytes of a file of tensors.
    pub fn of(mut bytes: Vec<u8>, step: u64, file: &str) -> Result<Self, String> {
        let (prefix, rest) = bytes.split_first_chunk::<PREFIX>().ok_or("no header")?;
        let length = usize::try_from(u64::from_le_bytes(*prefix)).unwrap_or(usize::MAX);
        let header = rest.get(..length).ok_or("no header")?.to_vec();
        let header = Header::parse(file, bytes.len() as u64, header);
        let header = header.map_err(|error| error.to_string())?;
        let data = bytes.split_off(PREFIX + length);
        let stored = header.tensors.into_iter().map(|stored| (stored.name.clone(), stored));
        Ok(Self { step, file: file.to_owned(), stored: stored.collect(), data })
    }

    /// The digest of all tensors, sorted by the bytes of their names. Each contributes its name, a line feed, the type, a
    /// line feed, the dimensions separated by commas, a line feed, and the stored elements.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        for stored in self.stored.values() {
            let Stored { name, dtype, shape, .. } = stored;
            let shape: Vec<_> = shape.iter().map(u64::to_string).collect();
            hasher.update(format!("{name}\n{}\n{}\n", dtype.name, shape.join(",")).as_bytes());
            hasher.update(self.bytes(stored));
        }
        hasher.finish()
    }

    fn bytes(&self, stored: &Stored) -> &[u8] {
        let range = stored.offsets.start as usize..stored.offsets.end as usize;
        self.data.get(range).unwrap_or_default()
    }

    /// The elements of a float32 tensor.
    fn elements(&self, name: &str) -> Option<Elements<'_>> {
        let stored = self.stored.get(name).filter(|stored| stored.dtype.name == "F32")?;
        Some(Elements::of(self.bytes(stored)))
    }

    /// The digest of the elements of a float32 tensor.
    pub fn digest_of(&self, name: &str) -> Option<Digest> {
        let stored = self.stored.get(name).filter(|stored| stored.dtype.name == "F32")?;
        let mut hasher = Hasher::default();
        hasher.update(self.bytes(stored));
        Some(hasher.finish())
    }

    /// All trained tensors with their names.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, TrainedTensor<'_>)> {
        self.stored.keys().filter_map(|name| Some((name.as_str(), self.tensor(name)?)))
    }

    /// The trained tensor with this name.
    pub fn tensor(&self, name: &str) -> Option<TrainedTensor<'_>> {
        let stored = self.stored.get(name).filter(|one| Role::of(one) == Role::Parameter)?;
        let weights = self.elements(name)?;
        let moment = |prefix: &str| {
            let moment = self.elements(&format!("{prefix}{name}"))?;
            (moment.len() == weights.len()).then_some(moment)
        };
        let moments = moment(MEAN).zip(moment(SQUARE));
        Some(TrainedTensor { shape: &stored.shape, weights, moments })
    }
}

/// The learning rates of the steps between two others, or upper bounds of them: between two records the larger of both,
/// unless the config's warmup ends there, otherwise the maximum over the config and all records. None if neither has a
/// learning rate.
pub fn rates(bundle: &Bundle, from: u64, to: u64) -> Option<Vec<f64>> {
    let config = bundle.document(CONFIG).ok().map(|document| document.root());
    let of_config = |field: &str| number_of(config?, field);
    let records = bundle.records().map(|records| records.kept.as_slice()).unwrap_or_default();
    let logged: BTreeMap<u64, f64> =
        records.iter().filter_map(|record| Some((record.step? as u64, record.lr?))).collect();
    let greatest = logged.values().copied().chain(of_config("lr")).reduce(f64::max)?;
    let warm = of_config("warmup_steps");
    let rate = |step: u64| {
        // The record of a step has the learning rate of the update after it.
        let (before, after) =
            (logged.range(..=step + 1).next_back(), logged.range(step + 1..).next());
        match (before, after) {
            (Some((a, before)), Some((b, after)))
                if warm.is_some_and(|end| end <= *a as f64 || end > *b as f64) || a == b =>
            {
                before.max(*after)
            }
            _ => greatest,
        }
    };
    Some((from..to).map(rate).collect())
}

/// A line of the slice's tensor table.
#[derive(Debug)]
pub struct LoggedTensor {
    pub name: String,
    /// The norm of its update over the slice.
    pub moved: f64,
    /// The digest of its elements at the end of the slice.
    pub digest: Option<Digest>,
}

/// The tensors of a slice, from the table next to it.
pub fn logged_tensors(bundle: &Bundle, slice: &str) -> Option<Vec<LoggedTensor>> {
    let table = format!("{}.tensors.jsonl", slice.strip_suffix(".safetensors")?);
    bundle.files().get(&table)?;
    let lines = bundle.document(&table).ok()?.root().items().ok()?;
    let read = |line: repro_core::source::Node<'_>| {
        let name = line.get("name")?.text().ok()?.to_owned();
        let moved = line.get("update_norm")?.float().ok()?;
        let digest = line.get("sha256_after").and_then(|node| Digest::parse_hex(node.text().ok()?));
        Some(LoggedTensor { name, moved, digest })
    };
    lines.map(read).collect()
}
