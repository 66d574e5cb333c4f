//! The checkpoints that a bundle keeps, as numbers; and what its records say of the learning rates between them.

use std::collections::BTreeMap;
use std::ops::Range;

use repro_receipt::bundle::{Bundle, CONFIG};
use repro_receipt::checkpoint::{Header, Role, Stored};
use repro_receipt::digest::{Digest, Hasher};

/// The largest checkpoint that is looked at: two of them are in memory at a time.
const LARGEST: u64 = 512 << 20;
const PREFIX: usize = 8;
/// How the names of moments begin.
const MEAN: &str = "optimizer.m.";
const SQUARE: &str = "optimizer.v.";

/// Elements of float32.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elements<'a>(&'a [[u8; 4]]);

/// So many sums run side by side: one alone would wait for each addition.
const LANES: usize = 16;

impl<'a> Elements<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    /// In float64, in which nothing of them is lost.
    pub fn iter(self) -> impl Iterator<Item = f64> + 'a {
        self.0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
    }

    pub fn len(self) -> usize {
        self.0.len()
    }

    /// The sum of what a function makes of each.
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

    /// The first pair with the elements of another tensor of which something is `wrong`. Blocks are judged without a
    /// branch inside: nearly all are right.
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

    /// The root of the sum of its squares.
    pub fn norm(self) -> f64 {
        libm::sqrt(self.sum(|x| x * x))
    }
}

/// Where a tensor that is trained lies in its file.
#[derive(Debug)]
struct Parts {
    shape: Vec<u64>,
    weights: Range<usize>,
    /// The means of its gradients and of their squares.
    moments: Option<[Range<usize>; 2]>,
}

/// A tensor that is trained.
#[derive(Debug, Clone, Copy)]
pub struct TrainedTensor<'a> {
    pub shape: &'a [u64],
    pub weights: Elements<'a>,
    /// The means of its gradients and of their squares.
    pub moments: Option<(Elements<'a>, Elements<'a>)>,
}

/// A checkpoint that is in the bundle.
#[derive(Debug)]
pub struct KeptCheckpoint {
    pub step: u64,
    pub file: String,
    /// All that is stored, in the order of names.
    stored: Vec<Stored>,
    data: Vec<u8>,
    tensors: BTreeMap<String, Parts>,
}

impl KeptCheckpoint {
    /// Reads the checkpoint after `step` steps; or says why it is not looked at.
    pub fn read(bundle: &Bundle, step: u64, file: &str) -> Result<Self, String> {
        let length = bundle.files().get(file).map_or(0, |file| file.bytes);
        if length > LARGEST {
            return Err(format!("{length} bytes, more than the {LARGEST} that are looked at"));
        }
        Self::of(bundle.tensors(file).map_err(|error| error.to_string())?, step, file)
    }

    /// Reads the bytes of a file of tensors.
    pub fn of(mut bytes: Vec<u8>, step: u64, file: &str) -> Result<Self, String> {
        let (prefix, rest) = bytes.split_first_chunk::<PREFIX>().ok_or("no header")?;
        let length = usize::try_from(u64::from_le_bytes(*prefix)).unwrap_or(usize::MAX);
        let header = rest.get(..length).ok_or("no header")?.to_vec();
        let header = Header::parse(file, bytes.len() as u64, header);
        let header = header.map_err(|error| error.to_string())?;
        let data = bytes.split_off(PREFIX + length);
        let mut named: BTreeMap<&str, &Stored> = BTreeMap::new();
        named.extend(header.tensors.iter().map(|stored| (stored.name.as_str(), stored)));
        let range = |stored: &Stored| stored.offsets.start as usize..stored.offsets.end as usize;
        let floats = |name: &str| named.get(name).filter(|stored| stored.dtype.name == "F32");
        let trained = named.values().filter(|stored| Role::of(stored) == Role::Parameter);
        let read = |stored: &&Stored| {
            let moment = |prefix: &str| {
                let moment = floats(&format!("{prefix}{}", stored.name))?;
                (moment.elements == stored.elements).then(|| range(moment))
            };
            let parts = Parts {
                shape: stored.shape.clone(),
                weights: range(floats(&stored.name)?),
                moments: moment(MEAN).zip(moment(SQUARE)).map(<[_; 2]>::from),
            };
            Some((stored.name.clone(), parts))
        };
        let tensors: BTreeMap<_, _> = trained.filter_map(read).collect();
        let stored = named.into_values().cloned().collect();
        Ok(Self { step, file: file.to_owned(), stored, data, tensors })
    }

    /// The digest of all its tensors: of each, in the order of the bytes of its name, the name, a line feed, the type, a
    /// line feed, the dimensions with commas between them, a line feed, and the elements as they are stored.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        for Stored { name, dtype, shape, offsets, .. } in &self.stored {
            let shape: Vec<_> = shape.iter().map(u64::to_string).collect();
            hasher.update(format!("{name}\n{}\n{}\n", dtype.name, shape.join(",")).as_bytes());
            let range = offsets.start as usize..offsets.end as usize;
            hasher.update(self.data.get(range).unwrap_or_default());
        }
        hasher.finish()
    }

    /// How many tensors are trained.
    pub fn count(&self) -> usize {
        self.tensors.len()
    }

    /// All of them by their names.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, TrainedTensor<'_>)> {
        self.tensors.iter().map(|(name, parts)| (name.as_str(), self.tensor_of(parts)))
    }

    /// One of them.
    pub fn tensor(&self, name: &str) -> Option<TrainedTensor<'_>> {
        self.tensors.get(name).map(|parts| self.tensor_of(parts))
    }

    fn tensor_of<'a>(&'a self, parts: &'a Parts) -> TrainedTensor<'a> {
        let elements =
            |range: &Range<usize>| Elements::of(self.data.get(range.clone()).unwrap_or_default());
        TrainedTensor {
            shape: &parts.shape,
            weights: elements(&parts.weights),
            moments: parts
                .moments
                .as_ref()
                .map(|[mean, square]| (elements(mean), elements(square))),
        }
    }
}

/// The learning rates of the steps between two others, or numbers that they do not exceed: between two records the
/// greater of both, where the warmup of the config does not end there, else the greatest of the config and of all
/// records. None where neither says one.
pub fn rates(bundle: &Bundle, from: u64, to: u64) -> Option<Vec<f64>> {
    let config = bundle.document(CONFIG).ok().map(|document| document.root());
    let of_config = |field: &str| {
        let node = config?.get(field)?;
        node.printed().ok().and_then(|_| node.float().ok())
    };
    let records = bundle.records().map(|records| records.kept.as_slice()).unwrap_or_default();
    let logged: BTreeMap<u64, f64> =
        records.iter().filter_map(|record| Some((record.step? as u64, record.lr?))).collect();
    let greatest = logged.values().copied().chain(of_config("lr")).reduce(f64::max)?;
    let warm = of_config("warmup_steps");
    let rate = |step: u64| {
        // The record of a step is that of the update behind it.
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

/// How far the tensors of a slice moved, as the file beside it says.
pub fn logged_moves(bundle: &Bundle, slice: &str) -> Option<Vec<(String, f64)>> {
    let table = format!("{}.tensors.jsonl", slice.strip_suffix(".safetensors")?);
    bundle.files().get(&table)?;
    let lines = bundle.document(&table).ok()?.root().items().ok()?;
    let read = |line: repro_receipt::source::Node<'_>| {
        let name = line.get("name")?.text().ok()?.to_owned();
        Some((name, line.get("update_norm")?.float().ok()?))
    };
    lines.map(read).collect()
}
