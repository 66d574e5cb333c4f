//! The named tensors of a model, and where they lie in its flat variables.

use repro_stats::rng::Rng;

/// Deviation of a matrix at the start.
const DEVIATION: f64 = 0.02;

/// A tensor of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTensor {
    /// The name in checkpoints.
    pub name: String,
    /// Rows and columns, or the length.
    pub shape: Vec<usize>,
    /// Whether weight decay applies: to matrices, not to the weights of norms.
    pub decays: bool,
    /// The number of the variable that it lies in.
    pub variable: usize,
    /// Where it begins there.
    pub offset: usize,
    /// How many numbers it has.
    pub len: usize,
    initializer: Initializer,
}

/// The initial values of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Initializer {
    /// Ones.
    Ones,
    /// Zeros.
    Zeros,
    /// Normal deviates.
    Normal,
    /// Normal deviates, less by the root of twice the layers: the matrices that write to the rows.
    Output {
        /// Blocks of the model.
        layers: usize,
    },
}

/// The flat variables of a model in the order of the forward pass, as tensors are added to them.
#[derive(Debug, Default)]
pub(super) struct FlatTensors {
    named: Vec<NamedTensor>,
    lengths: Vec<usize>,
}

impl FlatTensors {
    /// Begins a variable.
    pub fn variable(&mut self) {
        self.lengths.push(0);
    }

    /// Adds the weight of a norm to the last variable; where it counts from one, it begins with zeros.
    pub fn norm(&mut self, name: String, length: usize, is_from_one: bool) {
        let start = if is_from_one { Initializer::Zeros } else { Initializer::Ones };
        self.add(name, vec![length], start);
    }

    /// Adds a bias to the last variable.
    pub fn bias(&mut self, name: String, length: usize) {
        self.add(name, vec![length], Initializer::Zeros);
    }

    /// Adds a matrix to the last variable.
    pub fn matrix(&mut self, name: String, shape: [usize; 2], initializer: Initializer) {
        self.add(name, shape.to_vec(), initializer);
    }

    fn add(&mut self, name: String, shape: Vec<usize>, initializer: Initializer) {
        let Some(length) = self.lengths.last_mut() else { return };
        let (offset, len) = (*length, shape.iter().product());
        *length += len;
        let (variable, decays) = (self.lengths.len() - 1, shape.len() > 1);
        self.named.push(NamedTensor { name, shape, decays, variable, offset, len, initializer });
    }

    /// The tensors, sorted by name, and the lengths of the variables.
    pub fn finish(mut self) -> (Vec<NamedTensor>, Vec<usize>) {
        self.named.sort_by(|a, b| a.name.cmp(&b.name));
        (self.named, self.lengths)
    }
}

impl NamedTensor {
    /// Where it lies in its variable.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len
    }

    /// The numbers before training: ones, or the next deviates of a stream times their deviation, each
    /// product taken in float64.
    pub(super) fn start(&self, rng: &mut Rng) -> Vec<f64> {
        let deviation = match self.initializer {
            Initializer::Ones => return vec![1.0; self.len],
            Initializer::Zeros => return vec![0.0; self.len],
            Initializer::Normal => DEVIATION,
            Initializer::Output { layers } => DEVIATION / (2.0 * layers as f64).sqrt(),
        };
        (0..self.len).map(|_| deviate(rng) * deviation).collect()
    }
}

/// A nearly normal deviate (J. Irwin and P. Hall, 1927): the twelve 16-bit parts of three words, added,
/// less their mean 393210, over 65536. Its variance is 1 - 2^-32, and every step is exact.
fn deviate(rng: &mut Rng) -> f64 {
    let parts = |word: u64| (0..4).map(move |part| (word >> (16 * part)) & 0xffff);
    let sum: u64 = (0..3).map(|_| parts(rng.word()).sum::<u64>()).sum();
    (sum as f64 - 393_210.0) / 65_536.0
}
