//! The logged values of steps in a file of tensors: the tensors `logged.…` of a slice, kept while the file passes by, so that they
//! can be compared with the records of the run without reading it again.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::record::record;
use crate::checkpoint::{Header, Role, Stored};

/// How the names of such tensors begin.
const LOGGED: &str = "logged.";
/// Where the files are of which they are kept.
const SLICES: &str = "data/slices/";
/// So many numbers of one file are kept,
const NUMBERS: u64 = 1 << 18;
/// of so many files, the first by name: together some 128 MB.
const FILES: usize = 64;

/// How many numbers may be kept of a file called `name`, before which there are `slices` files of slices.
pub fn room(name: &str, slices: &mut usize) -> u64 {
    if !(name.starts_with(SLICES) && name.ends_with(".safetensors")) {
        return 0;
    }
    *slices += 1;
    if *slices <= FILES { NUMBERS } else { 0 }
}

record! {
    /// The tensors of the model in a checkpoint.
    Holdings {
        /// How many tensors.
        tensors: u64,
        /// How many elements they have together.
        elements: u64,
        /// How many of these are of a head that may be a tied table of tokens, written twice.
        twice: u64,
    }
}

impl Holdings {
    /// The model's own tensors: the optimizer's moments lie beside them under a prefix, and buffers are no
    /// parameters.
    fn of(header: &Header) -> Self {
        let beside = |tensor: &&Stored| matches!(Role::of(tensor), Role::Optimizer | Role::Buffer);
        let own = || header.tensors.iter().filter(|tensor| !beside(tensor));
        let sum = |sum: u64, tensor: &Stored| sum.saturating_add(tensor.elements);
        let is_table = |tensor: &Stored| tensor.name.contains("emb") || tensor.name.contains("wte");
        let is_twice = |head: &&Stored| {
            head.name.ends_with("lm_head.weight")
                && own().any(|table| is_table(table) && table.shape == head.shape)
        };
        Self {
            tensors: own().count() as u64,
            elements: own().fold(0, sum),
            twice: own().filter(is_twice).fold(0, sum),
        }
    }
}

/// The kept contents of a file of tensors that has passed by.
#[derive(Debug, Clone, PartialEq)]
pub struct PassedTensors {
    /// Its tensors of a model.
    pub holdings: Holdings,
    /// Of the free text of its header, what somebody may hold against the receipt ([`COMPARED`](Self::COMPARED)).
    pub metadata: BTreeMap<String, String>,
    /// Its logged tensors by their names behind `logged.`, where there was room for them.
    pub logged: BTreeMap<String, LoggedTensor>,
    /// The batches of a slice, if there was room for them.
    pub batches: Vec<BatchTokens>,
}

/// The batch that a step of a slice reads: `tokens`, U32 of the shape `[steps, rows, length + 1]`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BatchTokens {
    /// How many rows it has.
    pub rows: u64,
    /// How many tokens a row has, with the last one that is only predicted.
    pub length: u64,
    /// How many of its rows differ from each other.
    pub distinct: u64,
    /// The largest token.
    pub largest: u32,
    /// A number that equal batches have in common. It is no digest that nobody can forge: whoever forges it makes their own
    /// batches look alike.
    pub likeness: u64,
}

impl PassedTensors {
    /// The keys of free text that are kept: what a trainer writes there beside them may be sixteen megabytes in each file.
    pub const COMPARED: [&str; 3] = ["arithmetic", "rng", "step"];
    /// No receipt says so much of one of them.
    const LONGEST_TEXT: usize = 4 << 10;

    /// The kept part of a header's free text.
    fn compared(metadata: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let kept = Self::COMPARED.iter().filter_map(|key| metadata.get_key_value(*key));
        let kept = kept.filter(|(_, text)| text.len() <= Self::LONGEST_TEXT);
        kept.map(|(key, text)| (key.clone(), text.clone())).collect()
    }
}

/// A logged tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedTensor {
    /// Its dimensions; the first one is that of steps.
    pub shape: Vec<u64>,
    /// Its elements, the last dimension innermost.
    pub numbers: Vec<f64>,
}

impl LoggedTensor {
    /// The numbers of one step.
    pub fn of_step(&self, step: usize) -> Option<&[f64]> {
        let steps = usize::try_from(*self.shape.first()?).ok()?;
        let each = self.numbers.len().checked_div(steps)?;
        self.numbers.get(step.checked_mul(each)?..(step + 1).checked_mul(each)?)
    }
}

/// How the elements of a logged tensor are written.
#[derive(Debug, Clone, Copy)]
enum Element {
    Float,
    Number,
}

impl Element {
    fn read(self, bytes: [u8; 4]) -> f64 {
        match self {
            Self::Float => f32::from_le_bytes(bytes).into(),
            Self::Number => u32::from_le_bytes(bytes).into(),
        }
    }
}

/// The tensor of a slice's tokens.
const TOKENS: &str = "tokens";

/// A reader of tokens that pass by in pieces.
struct BatchReader {
    range: Range<u64>,
    rows: u64,
    length: u64,
    /// The bytes of a token that was cut by the end of a piece.
    cut: Vec<u8>,
    /// How many tokens of the open row have passed, and what they have come to.
    column: u64,
    row: u64,
    /// The rows of the open batch so far.
    seen: HashSet<u64>,
    open: BatchTokens,
    batches: Vec<BatchTokens>,
}

impl BatchReader {
    /// A reader of the tokens that a header lists, if there is `room` for one number a row.
    fn of(header: &Header, room: &mut u64) -> Option<Self> {
        let tokens = header.tensors.iter().find(|stored| stored.name == TOKENS)?;
        let [steps, rows, length] = *tokens.shape.as_slice() else { return None };
        if tokens.dtype.name != "U32" || tokens.elements == 0 {
            return None;
        }
        *room = room.checked_sub(steps.checked_mul(rows)?)?;
        Some(Self {
            range: tokens.offsets.clone(),
            rows,
            length,
            cut: Vec::new(),
            column: 0,
            row: 0,
            seen: HashSet::new(),
            open: BatchTokens::default(),
            batches: Vec::new(),
        })
    }

    /// One step of FNV-1a, a word at a time, with the bits turned so that high ones count too.
    fn mixed(hash: u64, word: u64) -> u64 {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    }

    fn feed(&mut self, mut piece: &[u8]) {
        if !self.cut.is_empty() {
            let (head, rest) = piece.split_at((4 - self.cut.len()).min(piece.len()));
            self.cut.extend_from_slice(head);
            piece = rest;
            let Ok(whole) = <[u8; 4]>::try_from(self.cut.as_slice()) else { return };
            self.cut.clear();
            self.token(u32::from_le_bytes(whole));
        }
        let (whole, rest) = piece.as_chunks::<4>();
        whole.iter().for_each(|bytes| self.token(u32::from_le_bytes(*bytes)));
        self.cut.extend_from_slice(rest);
    }

    fn token(&mut self, token: u32) {
        self.open.largest = self.open.largest.max(token);
        self.row = Self::mixed(self.row, u64::from(token) + 1);
        self.column += 1;
        if self.column < self.length {
            return;
        }
        self.open.likeness = Self::mixed(self.open.likeness, self.row);
        self.seen.insert(self.row);
        (self.column, self.row) = (0, 0);
        self.open.rows += 1;
        if self.open.rows == self.rows {
            let distinct = self.seen.len() as u64;
            self.batches.push(BatchTokens { length: self.length, distinct, ..self.open });
            self.seen.clear();
            self.open = BatchTokens::default();
        }
    }
}

struct Wanted {
    name: String,
    shape: Vec<u64>,
    element: Element,
    range: Range<u64>,
    bytes: Vec<u8>,
}

/// A reader of data behind a header, which passes by in pieces.
pub struct LoggedReader {
    passed: PassedTensors,
    /// In the order of their bytes.
    wanted: Vec<Wanted>,
    batches: Option<BatchReader>,
    at: u64,
}

impl LoggedReader {
    /// A reader of what `header` lists, as far as there is `room` for numbers.
    pub fn new(header: &Header, mut room: u64) -> Self {
        let batches = BatchReader::of(header, &mut room);
        let wanted = header.tensors.iter().filter_map(|stored| {
            let name = stored.name.strip_prefix(LOGGED)?.to_owned();
            let element = match stored.dtype.name {
                "F32" => Element::Float,
                "U32" => Element::Number,
                _ => return None,
            };
            room = room.checked_sub(stored.elements)?;
            let (shape, range) = (stored.shape.clone(), stored.offsets.clone());
            Some(Wanted { name, shape, element, range, bytes: Vec::new() })
        });
        let passed = PassedTensors {
            holdings: Holdings::of(header),
            metadata: PassedTensors::compared(&header.metadata),
            logged: BTreeMap::new(),
            batches: Vec::new(),
        };
        Self { passed, wanted: wanted.collect(), batches, at: 0 }
    }

    /// Takes the next piece of the data.
    pub fn feed(&mut self, piece: &[u8]) {
        let end = self.at + piece.len() as u64;
        // Both ends are within the piece.
        let part = |range: &Range<u64>| {
            let [from, to] = [range.start, range.end].map(|at| at.clamp(self.at, end) - self.at);
            piece.get(from as usize..to as usize).unwrap_or_default()
        };
        for wanted in &mut self.wanted {
            wanted.bytes.extend(part(&wanted.range));
        }
        if let Some(batches) = &mut self.batches {
            batches.feed(part(&batches.range));
        }
        self.at = end;
    }

    /// The kept contents, after all of the file has passed.
    pub fn finish(self) -> PassedTensors {
        let mut passed = self.passed;
        passed.batches = self.batches.map_or(Vec::new(), |reader| reader.batches);
        for wanted in self.wanted {
            let (elements, _) = wanted.bytes.as_chunks();
            let numbers = elements.iter().map(|bytes| wanted.element.read(*bytes)).collect();
            passed.logged.insert(wanted.name, LoggedTensor { shape: wanted.shape, numbers });
        }
        passed
    }
}
