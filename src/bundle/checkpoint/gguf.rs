//! The header of a `.gguf` file: what llama.cpp and its relatives load. Metadata by key, then the tensors by name, then their blocks.
//!
//! The layout is that of the format's own document (ggml, `docs/gguf.md`), versions 2 and 3; block sizes are those of `ggml.h`.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Take};
use std::path::Path;

use super::file::{LFS_POINTER, lfs_pointer, open, unreadable};
use super::{FOREIGN_FORMAT, LAYOUT, LENGTH, Role, TENSOR};
use repro_core::source::{Error, Location, TOO_LARGE, TOO_MANY_VALUES};

/// The first bytes of every file.
const MAGIC: [u8; 4] = *b"GGUF";
/// The most bytes before the data: a vocabulary of a million pieces with its merges stays below it.
const HEADER_CAP: u64 = 128 << 20;
/// The most tensors.
const TENSOR_CAP: u64 = 250_000;
/// The most keys.
const KEY_CAP: u64 = 10_000;
/// The longest name of a tensor or key.
const NAME_CAP: u64 = 1 << 10;
/// Texts up to this length are kept.
const TEXT_CAP: u64 = 256;
/// The most dimensions of a tensor.
const DIMENSIONS: u32 = 4;
/// Where the file does not say to what its data is aligned.
const ALIGNMENT: u64 = 32;

/// How the elements of a tensor are packed: the number of the type, its name, elements and bytes of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockType {
    id: u32,
    /// Its name in ggml.
    pub name: &'static str,
    /// Elements of a block.
    pub elements: u64,
    /// Bytes of a block.
    pub bytes: u64,
}

impl BlockType {
    const fn new(id: u32, name: &'static str, elements: u64, bytes: u64) -> Self {
        Self { id, name, elements, bytes }
    }

    const ALL: &[BlockType] = &[
        Self::new(0, "F32", 1, 4),
        Self::new(1, "F16", 1, 2),
        Self::new(2, "Q4_0", 32, 18),
        Self::new(3, "Q4_1", 32, 20),
        Self::new(6, "Q5_0", 32, 22),
        Self::new(7, "Q5_1", 32, 24),
        Self::new(8, "Q8_0", 32, 34),
        Self::new(9, "Q8_1", 32, 36),
        Self::new(10, "Q2_K", 256, 84),
        Self::new(11, "Q3_K", 256, 110),
        Self::new(12, "Q4_K", 256, 144),
        Self::new(13, "Q5_K", 256, 176),
        Self::new(14, "Q6_K", 256, 210),
        Self::new(15, "Q8_K", 256, 292),
        Self::new(16, "IQ2_XXS", 256, 66),
        Self::new(17, "IQ2_XS", 256, 74),
        Self::new(18, "IQ3_XXS", 256, 98),
        Self::new(19, "IQ1_S", 256, 50),
        Self::new(20, "IQ4_NL", 32, 18),
        Self::new(21, "IQ3_S", 256, 110),
        Self::new(22, "IQ2_S", 256, 82),
        Self::new(23, "IQ4_XS", 256, 136),
        Self::new(24, "I8", 1, 1),
        Self::new(25, "I16", 1, 2),
        Self::new(26, "I32", 1, 4),
        Self::new(27, "I64", 1, 8),
        Self::new(28, "F64", 1, 8),
        Self::new(29, "IQ1_M", 256, 56),
        Self::new(30, "BF16", 1, 2),
        Self::new(34, "TQ1_0", 256, 54),
        Self::new(35, "TQ2_0", 256, 66),
        Self::new(39, "MXFP4", 32, 17),
    ];
}

/// One tensor as the header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockTensor {
    /// Its name.
    pub name: String,
    /// How it is packed.
    pub kind: BlockType,
    /// Its dimensions, the one of neighbours first, as the format has them: of a stack of experts the last counts these.
    pub shape: Vec<u64>,
    /// The product of the dimensions.
    pub elements: u64,
    /// Where its bytes begin, counted from the start of the data.
    offset: u64,
}

impl BlockTensor {
    /// Whether it is learned: tables of rotary angles and biases that balance experts are not.
    pub fn role(&self) -> Role {
        const BUFFERS: &[&str] = &[
            "rope_freqs.weight",
            "rope_factors_long.weight",
            "rope_factors_short.weight",
            "exp_probs_b.bias",
        ];
        let is_buffer = BUFFERS.iter().any(|end| self.name.ends_with(end))
            || matches!(self.kind.name, "I16" | "I32" | "I64");
        if is_buffer { Role::Buffer } else { Role::Parameter }
    }

    /// Whether it holds one part for each of `experts` experts.
    pub fn is_of_experts(&self, experts: u64) -> bool {
        let own = self.name.rsplit_once("_exps.").is_some();
        own && self.shape.last() == Some(&experts)
    }

    /// The block of the network that it belongs to.
    pub fn block(&self) -> Option<u64> {
        self.name.strip_prefix("blk.")?.split('.').next()?.parse().ok()
    }

    fn bytes(&self) -> Option<u64> {
        (self.elements / self.kind.elements).checked_mul(self.kind.bytes)
    }
}

/// A value of the metadata that is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataValue {
    /// A whole number that is not negative.
    Count(u64),
    /// A text.
    Text(String),
}

/// A checked header.
#[derive(Debug, Clone, PartialEq)]
pub struct GgufHeader {
    /// The tensors in the order of the header.
    pub tensors: Vec<BlockTensor>,
    /// Counts and short texts of the metadata; lists are passed by.
    pub metadata: BTreeMap<String, MetadataValue>,
}

impl GgufHeader {
    /// Reads and checks the header of the file at `path`, never its data.
    pub fn load(path: &Path, name: &str) -> Result<Self, Error> {
        let (file, length) = open(path, name)?;
        Self::read(BufReader::with_capacity(64 << 10, file), name, length)
    }

    /// Reads the header from `input`, the beginning of a file of `length` bytes, and no byte behind it.
    pub fn read(input: impl Read, name: &str, length: u64) -> Result<Self, Error> {
        let input = input.take(length.min(HEADER_CAP));
        let mut fields = Fields { input, name, at: 0, length };
        let start: [u8; 4] = fields.bytes()?;
        if LFS_POINTER.starts_with(&start) {
            return Err(lfs_pointer(name));
        }
        if start != MAGIC {
            let found = format!("the bytes {start:02x?}");
            return Err(FOREIGN_FORMAT.at(fields.place(), "the bytes `GGUF`", found));
        }
        let version = fields.number()?;
        if !matches!(version, 2 | 3) {
            // A file of the other byte order has its version in the upper bytes.
            let found = format!("version {version}");
            return Err(FOREIGN_FORMAT.at(fields.place(), "version 2 or 3, little-endian", found));
        }
        let tensors = fields.count(TENSOR_CAP, "tensors")?;
        let keys = fields.count(KEY_CAP, "keys")?;
        let mut metadata = BTreeMap::new();
        for _ in 0..keys {
            let key = fields.name()?;
            if let Some(value) = fields.value()?
                && metadata.insert(key.clone(), value).is_some()
            {
                return Err(TENSOR.at(fields.place(), "each key once", format!("{key:?} again")));
            }
        }
        let mut read = Vec::new();
        for _ in 0..tensors {
            read.push(fields.tensor()?);
        }
        let alignment = match metadata.get("general.alignment") {
            Some(MetadataValue::Count(alignment)) if alignment.is_power_of_two() => *alignment,
            None => ALIGNMENT,
            Some(other) => {
                let found = format!("{other:?}");
                return Err(LAYOUT.at(fields.place(), "an alignment that is a power of 2", found));
            }
        };
        let data = fields.at.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
        let header = Self { tensors: read, metadata };
        header.fits(&fields.place(), alignment, length, data)?;
        Ok(header)
    }

    /// Refuses tensors that overlap or have the same name, and a file that ends before them.
    fn fits(&self, place: &Location, alignment: u64, length: u64, data: u64) -> Result<(), Error> {
        let mut order: Vec<&BlockTensor> = self.tensors.iter().collect();
        order.sort_by_key(|tensor| tensor.offset);
        let mut end = 0_u64;
        for tensor in &order {
            let BlockTensor { name, offset, .. } = tensor;
            if *offset < end || !offset.is_multiple_of(alignment) {
                let expected = format!("`{name}` at a multiple of {alignment} from {end} on");
                return Err(LAYOUT.at(place.clone(), expected, format!("{offset}")));
            }
            let after = tensor.bytes().and_then(|bytes| offset.checked_add(bytes));
            end = after.unwrap_or(u64::MAX);
        }
        let whole = data.saturating_add(end);
        if length < whole {
            let expected = format!("at least {whole} bytes, where the last tensor ends");
            return Err(LENGTH.at(place.clone(), expected, format!("{length} bytes")));
        }
        order.sort_by_key(|tensor| &tensor.name);
        let mut pairs = order.windows(2);
        match pairs.find(|pair| matches!(pair, [one, other] if one.name == other.name)) {
            Some([one, _]) => {
                let found = format!("`{}` twice", one.name);
                Err(TENSOR.at(place.clone(), "each tensor once", found))
            }
            _ if order.is_empty() => Err(TENSOR.at(place.clone(), "at least one tensor", "none")),
            _ => Ok(()),
        }
    }

    /// A count of the metadata.
    pub fn count(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key)? {
            MetadataValue::Count(count) => Some(*count),
            MetadataValue::Text(_) => None,
        }
    }

    /// A text of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.metadata.get(key)? {
            MetadataValue::Text(text) => Some(text),
            MetadataValue::Count(_) => None,
        }
    }

    /// A count under the name of the architecture, such as `llama.block_count`.
    pub fn of_architecture(&self, key: &str) -> Option<u64> {
        self.count(&format!("{}.{key}", self.text("general.architecture")?))
    }
}

/// The fields of a header, one after the other.
struct Fields<'a, R> {
    input: R,
    name: &'a str,
    at: u64,
    length: u64,
}

impl<R: Read> Fields<'_, R> {
    fn place(&self) -> Location {
        Location::file(self.name)
    }

    /// The error for a file that ends too early.
    fn ended(&self, error: &std::io::Error) -> Error {
        if error.kind() != std::io::ErrorKind::UnexpectedEof {
            return unreadable(self.name, error);
        }
        if self.length > HEADER_CAP {
            let expected = format!("a header of at most {HEADER_CAP} bytes");
            return TOO_LARGE.at(self.place(), expected, "more");
        }
        let found = format!("the end of the file after byte {}", self.at);
        LENGTH.at(self.place(), "a complete header", found)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(|error| self.ended(&error))?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, Error> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, Error> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn count(&mut self, cap: u64, what: &str) -> Result<u64, Error> {
        let count = self.long()?;
        if count <= cap {
            return Ok(count);
        }
        let expected = format!("at most {cap} {what}");
        Err(TOO_MANY_VALUES.at(self.place(), expected, format!("{count}")))
    }

    /// Goes past `length` bytes.
    fn pass(&mut self, length: u64) -> Result<(), Error> {
        let mut part: Take<&mut R> = self.input.by_ref().take(length);
        let passed = std::io::copy(&mut part, &mut std::io::sink());
        let passed = passed.map_err(|error| unreadable(self.name, &error))?;
        self.at += passed;
        if passed == length {
            return Ok(());
        }
        Err(self.ended(&std::io::ErrorKind::UnexpectedEof.into()))
    }

    /// A text of at most `cap` bytes; a longer one is passed by.
    fn text(&mut self, cap: u64) -> Result<Option<String>, Error> {
        let length = self.long()?;
        if length > cap {
            return self.pass(length).map(|()| None);
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.input.read_exact(&mut bytes).map_err(|error| self.ended(&error))?;
        self.at += length;
        Ok(String::from_utf8(bytes).ok())
    }

    fn name(&mut self) -> Result<String, Error> {
        let expected = format!("a name of at most {NAME_CAP} bytes of UTF-8");
        self.text(NAME_CAP)?.ok_or_else(|| TENSOR.at(self.place(), expected, "a different name"))
    }

    /// A value of the metadata with its type; nothing where it is not kept.
    fn value(&mut self) -> Result<Option<MetadataValue>, Error> {
        let kind = self.number()?;
        self.value_of(kind, 0)
    }

    fn value_of(&mut self, kind: u32, depth: u32) -> Result<Option<MetadataValue>, Error> {
        let count =
            |count: Result<u64, std::num::TryFromIntError>| count.ok().map(MetadataValue::Count);
        Ok(match kind {
            0 => count(Ok(self.bytes().map(u8::from_le_bytes)?.into())),
            1 => count(u64::try_from(i8::from_le_bytes(self.bytes()?))),
            2 => count(Ok(self.bytes().map(u16::from_le_bytes)?.into())),
            3 => count(u64::try_from(i16::from_le_bytes(self.bytes()?))),
            4 => count(Ok(self.number()?.into())),
            5 => count(u64::try_from(i32::from_le_bytes(self.bytes()?))),
            6 | 7 => self.pass(if kind == 6 { 4 } else { 1 }).map(|()| None)?,
            8 => self.text(TEXT_CAP)?.map(MetadataValue::Text),
            9 => self.list(depth).map(|()| None)?,
            10 => count(Ok(self.long()?)),
            11 => count(u64::try_from(i64::from_le_bytes(self.bytes()?))),
            12 => self.pass(8).map(|()| None)?,
            _ => {
                let found = format!("type {kind}");
                return Err(TENSOR.at(self.place(), "a value type from 0 to 12", found));
            }
        })
    }

    /// Goes past a list.
    fn list(&mut self, depth: u32) -> Result<(), Error> {
        let kind = self.number()?;
        let length = self.long()?;
        let width = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            _ => 0,
        };
        if width > 0 {
            let bytes = length.saturating_mul(width);
            return self.pass(bytes);
        }
        // Each text or list takes bytes, so that the length of the file ends this.
        for _ in 0..length {
            match kind {
                8 => self.text(0).map(drop)?,
                9 if depth < 2 => self.list(depth + 1)?,
                _ => {
                    let found = format!("type {kind}");
                    return Err(TENSOR.at(self.place(), "a list of values", found));
                }
            }
        }
        Ok(())
    }

    fn tensor(&mut self) -> Result<BlockTensor, Error> {
        let name = self.name()?;
        let refuse = |place: Location, expected: &str, found: String| {
            Err(TENSOR.at(place, format!("{expected} for `{}`", name.escape_debug()), found))
        };
        let dimensions = self.number()?;
        if dimensions > DIMENSIONS {
            return refuse(self.place(), "at most 4 dimensions", format!("{dimensions}"));
        }
        let shape = (0..dimensions).map(|_| self.long()).collect::<Result<Vec<_>, _>>()?;
        let elements = shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
        let id = self.number()?;
        let offset = self.long()?;
        let Some(&kind) = BlockType::ALL.iter().find(|known| known.id == id) else {
            return refuse(self.place(), "a known type", format!("type {id}"));
        };
        let row = shape.first().copied().unwrap_or(1);
        match elements {
            Some(elements) if elements > 0 && row.is_multiple_of(kind.elements) => {
                Ok(BlockTensor { name, kind, shape, elements, offset })
            }
            _ => {
                let expected = format!("rows of whole blocks of {}", kind.elements);
                refuse(self.place(), &expected, format!("the shape {shape:?}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text as the format writes it.
    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }

    /// An entry of the metadata.
    fn key(name: &str, kind: u32, value: &[u8]) -> Vec<u8> {
        [text(name), kind.to_le_bytes().to_vec(), value.to_vec()].concat()
    }

    /// A tensor of the header.
    fn tensor(name: &str, shape: &[u64], kind: u32, offset: u64) -> Vec<u8> {
        let dimensions: Vec<u8> = shape.iter().flat_map(|size| size.to_le_bytes()).collect();
        let count = (shape.len() as u32).to_le_bytes();
        let end = [&kind.to_le_bytes()[..], &offset.to_le_bytes()].concat();
        [text(name), count.to_vec(), dimensions, end].concat()
    }

    /// A file of version 3 with `data` bytes behind its header.
    fn file(keys: &[Vec<u8>], tensors: &[Vec<u8>], data: usize) -> Vec<u8> {
        let counts = [tensors.len() as u64, keys.len() as u64].map(u64::to_le_bytes).concat();
        let mut bytes = [&MAGIC[..], &3_u32.to_le_bytes(), &counts].concat();
        bytes.extend(keys.iter().chain(tensors).flatten());
        bytes.resize(bytes.len().next_multiple_of(32) + data, 0);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<GgufHeader, Error> {
        GgufHeader::read(bytes, "m.gguf", bytes.len() as u64)
    }

    fn words() -> Vec<u8> {
        let list =
            [&8_u32.to_le_bytes()[..], &2_u64.to_le_bytes(), &text("a"), &text("b")].concat();
        key("tokenizer.ggml.tokens", 9, &list)
    }

    #[test]
    fn a_header_says_what_is_stored() {
        let keys = [
            key("general.architecture", 8, &text("llama")),
            words(),
            key("llama.expert_count", 4, &8_u32.to_le_bytes()),
            key("llama.rope.freq_base", 6, &1e4_f32.to_le_bytes()),
        ];
        let tensors = [
            tensor("token_embd.weight", &[256, 3], 12, 0),
            tensor("blk.7.ffn_up_exps.weight", &[32, 2, 8], 8, 448),
            tensor("rope_freqs.weight", &[8], 0, 1_024),
        ];
        let bytes = file(&keys, &tensors, 1_056);
        let header = read(&bytes).unwrap();
        assert_eq!(header.text("general.architecture"), Some("llama"));
        assert_eq!(header.of_architecture("expert_count"), Some(8));
        assert_eq!(header.metadata.len(), 2);
        let seen: Vec<_> =
            header.tensors.iter().map(|t| (t.elements, t.role(), t.block())).collect();
        let (learned, set) = (Role::Parameter, Role::Buffer);
        assert_eq!(seen, [(768, learned, None), (512, learned, Some(7)), (8, set, None)]);
        assert!(header.tensors[1].is_of_experts(8) && !header.tensors[1].is_of_experts(2));
        // What follows the last tensor is padding.
        assert!(read(&[bytes.clone(), vec![0; 31]].concat()).is_ok());
        for end in 0..bytes.len() {
            let code = read(&bytes[..end]).unwrap_err().code.id;
            assert_eq!(code, "checkpoint::wrong-length", "cut at {end}");
        }
    }

    #[test]
    fn hostile_headers_are_refused() {
        let one = || tensor("t", &[4], 0, 0);
        let counts = |tensors: u64, keys: u64| {
            [&MAGIC[..], &3_u32.to_le_bytes(), &tensors.to_le_bytes(), &keys.to_le_bytes()].concat()
        };
        let deep = {
            let level = [&9_u32.to_le_bytes()[..], &1_u64.to_le_bytes()].concat();
            key("a", 9, &level.repeat(100))
        };
        let endless = [&8_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
        let wide = [&10_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
        let number = |value: u32| key("general.alignment", 4, &value.to_le_bytes());
        for (bytes, code) in [
            (b"version https://git".to_vec(), "checkpoint::lfs-pointer"),
            (b"GGML\x03\0\0\0".to_vec(), "checkpoint::foreign-format"),
            ([&MAGIC[..], &1_u32.to_le_bytes()].concat(), "checkpoint::foreign-format"),
            ([&MAGIC[..], &3_u32.to_be_bytes()].concat(), "checkpoint::foreign-format"),
            (counts(u64::MAX, 0), "source::too-many-values"),
            (counts(0, u64::MAX), "source::too-many-values"),
            (counts(250_000, 10_000), "checkpoint::wrong-length"),
            (file(&[], &[], 0), "checkpoint::bad-tensor"),
            (file(&[key("a", 13, &[])], &[one()], 16), "checkpoint::bad-tensor"),
            (file(&[deep], &[one()], 16), "checkpoint::bad-tensor"),
            (file(&[key("a", 9, &endless)], &[one()], 16), "checkpoint::wrong-length"),
            (file(&[key("a", 9, &wide)], &[one()], 16), "checkpoint::wrong-length"),
            (
                file(&[key("a", 8, &u64::MAX.to_le_bytes())], &[one()], 16),
                "checkpoint::wrong-length",
            ),
            (file(&[number(0)], &[one()], 16), "checkpoint::noncontiguous-tensors"),
            (file(&[number(3)], &[one()], 16), "checkpoint::noncontiguous-tensors"),
            (file(&[number(32), number(64)], &[one()], 64), "checkpoint::bad-tensor"),
            (file(&[], &[one()], 15), "checkpoint::wrong-length"),
            (file(&[], &[one(), tensor("u", &[4], 0, 0)], 64), "checkpoint::noncontiguous-tensors"),
            (
                file(&[], &[one(), tensor("u", &[4], 0, 17)], 64),
                "checkpoint::noncontiguous-tensors",
            ),
            (file(&[], &[one(), tensor("t", &[4], 0, 32)], 64), "checkpoint::bad-tensor"),
            (file(&[], &[tensor("t", &[4], 5, 0)], 64), "checkpoint::bad-tensor"),
            (file(&[], &[tensor("t", &[0], 0, 0)], 64), "checkpoint::bad-tensor"),
            (file(&[], &[tensor("t", &[31], 8, 0)], 64), "checkpoint::bad-tensor"),
            (file(&[], &[tensor("t", &[1; 5], 0, 0)], 64), "checkpoint::bad-tensor"),
            (file(&[], &[tensor("t", &[u64::MAX, 2], 0, 0)], 64), "checkpoint::bad-tensor"),
            (file(&[], &[tensor("t", &[1 << 62], 0, 0)], 64), "checkpoint::wrong-length"),
            (file(&[], &[tensor(&"n".repeat(2_000), &[4], 0, 0)], 64), "checkpoint::bad-tensor"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.code.id, code, "{error}");
        }
    }

    proptest::proptest! {
        /// Whatever a file holds, reading it ends, and what passes lies within it.
        #[test]
        fn any_file_is_read_or_refused(changes in proptest::collection::vec((0..400_usize, proptest::num::u8::ANY), 0..6)) {
            let keys = [words(), key("general.architecture", 8, &text("x"))];
            let tensors = [tensor("a", &[64, 2], 8, 0), tensor("b", &[3], 0, 160)];
            let mut bytes = file(&keys, &tensors, 172);
            let end = bytes.len();
            for (at, byte) in changes {
                bytes[at % end] = byte;
            }
            if let Ok(header) = read(&bytes) {
                let bytes = header.tensors.iter().filter_map(BlockTensor::bytes).sum::<u64>();
                proptest::prop_assert!(bytes <= end as u64);
            }
        }
    }
}
