//! The header of a `.safetensors` file: eight bytes of length, a JSON table, then the data.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use super::file::{LFS_POINTER, lfs_pointer, open, unreadable};
use super::{FOREIGN_FORMAT, LAYOUT, LENGTH, TENSOR};
use repro_core::source::{DOCUMENT_CAP, Document, Error, Kind, Location, Node, Source, WRONG_TYPE};

/// The most bytes a header may have: as many as a document.
pub const HEADER_CAP: u64 = DOCUMENT_CAP as u64;
/// The bytes before the header, which hold its length.
const PREFIX: u64 = 8;

/// The type of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype {
    /// Its name in the format.
    pub name: &'static str,
    /// Bits of one element; some types are narrower than a byte.
    pub bits: u64,
}

impl Dtype {
    const ALL: &[Dtype] = &[
        Dtype { name: "BOOL", bits: 8 },
        Dtype { name: "U8", bits: 8 },
        Dtype { name: "I8", bits: 8 },
        Dtype { name: "F4", bits: 4 },
        Dtype { name: "F6_E2M3", bits: 6 },
        Dtype { name: "F6_E3M2", bits: 6 },
        Dtype { name: "F8_E5M2", bits: 8 },
        Dtype { name: "F8_E4M3", bits: 8 },
        Dtype { name: "F8_E8M0", bits: 8 },
        Dtype { name: "I16", bits: 16 },
        Dtype { name: "U16", bits: 16 },
        Dtype { name: "F16", bits: 16 },
        Dtype { name: "BF16", bits: 16 },
        Dtype { name: "I32", bits: 32 },
        Dtype { name: "U32", bits: 32 },
        Dtype { name: "F32", bits: 32 },
        Dtype { name: "C64", bits: 64 },
        Dtype { name: "F64", bits: 64 },
        Dtype { name: "I64", bits: 64 },
        Dtype { name: "U64", bits: 64 },
    ];

    /// Whether its elements are floating-point numbers that a model may learn.
    pub fn is_float(self) -> bool {
        (self.name.starts_with('F') && self.name != "F8_E8M0") || self.name == "BF16"
    }
}

/// One tensor as the header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its dimensions; none for a scalar.
    pub shape: Vec<u64>,
    /// The product of the dimensions, at least 1.
    pub elements: u64,
    /// Where its bytes lie, counted from the end of the header.
    pub offsets: Range<u64>,
}

/// A checked header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The tensors in the order of their bytes, which fill the rest of the file without a gap.
    pub tensors: Vec<Stored>,
    /// Free text that the writer added.
    pub metadata: BTreeMap<String, String>,
    /// The bytes of the file before the data.
    pub data_start: u64,
}

impl Header {
    /// Reads and checks the header of the file at `path`, never its data.
    pub fn load(path: &Path, name: &str) -> Result<Self, Error> {
        let (mut file, length) = open(path, name)?;
        let mut prefix = [0; PREFIX as usize];
        if length < PREFIX {
            let expected = format!("at least {PREFIX} bytes");
            return Err(LENGTH.at(Location::file(name), expected, format!("{length} bytes")));
        }
        file.read_exact(&mut prefix).map_err(|error| unreadable(name, &error))?;
        let header_length = Self::length(name, length, prefix)?;
        let mut bytes = Vec::new();
        file.take(header_length)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(name, &error))?;
        Self::parse(name, length, bytes)
    }

    /// The length of the header by the first eight bytes of a file of `file_length` bytes.
    pub fn length(name: &str, file_length: u64, prefix: [u8; 8]) -> Result<u64, Error> {
        let length = u64::from_le_bytes(prefix);
        let cap = HEADER_CAP.min(file_length.saturating_sub(PREFIX));
        if length <= cap {
            return Ok(length);
        }
        if prefix == *LFS_POINTER {
            return Err(lfs_pointer(name));
        }
        // A header of 1,152 bytes begins like a pickle, too; what these begin with is longer than any header.
        if prefix.starts_with(b"PK\x03\x04") || matches!(prefix, [0x80, 2..=5, ..]) {
            let found = "the first bytes of a pickle or an archive";
            return Err(FOREIGN_FORMAT.at(Location::file(name), "a safetensors file", found));
        }
        let expected = format!("a header of at most {cap} bytes");
        Err(LENGTH.at(Location::file(name), expected, format!("{length} bytes")))
    }

    /// Checks the header bytes (those after the first eight) of a file of `file_length` bytes.
    pub fn parse(name: &str, file_length: u64, header: Vec<u8>) -> Result<Self, Error> {
        let data_start = PREFIX + header.len() as u64;
        let Some(data_length) = file_length.checked_sub(data_start) else {
            let expected = format!("at least {data_start} bytes");
            return Err(LENGTH.at(Location::file(name), expected, format!("{file_length} bytes")));
        };
        if header.first() != Some(&b'{') {
            let found = header.first().map_or("nothing".to_owned(), |byte| format!("byte {byte}"));
            return Err(TENSOR.at(Location::file(name), "a header that begins with `{`", found));
        }
        let document = Document::parse_json(Source::new(name, header)?)?;
        let mut metadata = BTreeMap::new();
        let mut tensors = Vec::new();
        for (key, node) in document.root().members()? {
            match key {
                "__metadata__" => {
                    for (key, value) in node.members()? {
                        metadata.insert(key.to_owned(), value.text()?.to_owned());
                    }
                }
                _ => tensors.push(stored(key, node)?),
            }
        }
        tensors.sort_by_key(|tensor: &Stored| tensor.offsets.start);
        side_by_side(&document, &tensors, data_length)?;
        Ok(Self { tensors, metadata, data_start })
    }
}

/// Whether a name shows what it is: no control or invisible characters, and no spaces around it.
fn is_plain(name: &str) -> bool {
    let visible = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric();
    !name.is_empty() && name.trim() == name && name.chars().all(visible)
}

/// A whole number in digits alone; other readers of the format take no others.
fn digits(node: Node<'_>) -> Result<u64, Error> {
    match &node.value().kind {
        Kind::Number(text) if !text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(WRONG_TYPE.at(node.place(), "a non-negative integer", format!("{text}")))
        }
        _ => node.integer(),
    }
}

/// Reads and checks one entry.
fn stored(name: &str, node: Node<'_>) -> Result<Stored, Error> {
    let refuse = |expected: &str, found: String| Err(TENSOR.at(node.place(), expected, found));
    if !is_plain(name) {
        let expected = "a name of visible characters without leading or trailing spaces";
        return refuse(expected, format!("{name:?}"));
    }
    node.only(&["dtype", "shape", "data_offsets"])?;
    let dtype = node.required("dtype")?;
    let Some(&dtype) = Dtype::ALL.iter().find(|known| Ok(known.name) == dtype.text()) else {
        return refuse("a known dtype", format!("\"{}\"", dtype.text()?));
    };
    let shape: Vec<u64> = node.required("shape")?.items()?.map(digits).collect::<Result<_, _>>()?;
    let offsets = node.required("data_offsets")?;
    let ends: Vec<u64> = offsets.items()?.map(digits).collect::<Result<_, _>>()?;
    let &[start, end] = ends.as_slice() else {
        return Err(WRONG_TYPE.at(offsets.place(), "two offsets", format!("{}", ends.len())));
    };
    let elements = shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
    let bits = elements.and_then(|elements| elements.checked_mul(dtype.bits));
    let (Some(elements), Some(bits)) = (elements, bits) else {
        return refuse("a shape whose product fits 64 bits", format!("{shape:?}"));
    };
    // An empty tensor could stand anywhere under any name: nothing a model needs.
    if elements == 0 {
        return refuse("at least one element", format!("the shape {shape:?}"));
    }
    if !bits.is_multiple_of(8) || end.checked_sub(start) != Some(bits / 8) {
        let expected = format!("{} bytes for {shape:?} of {}", bits.div_ceil(8), dtype.name);
        return refuse(&expected, format!("the offsets {start} to {end}"));
    }
    Ok(Stored { name: name.to_owned(), dtype, shape, elements, offsets: start..end })
}

/// Refuses gaps, overlaps and anything after the last tensor; `tensors` are sorted.
fn side_by_side(document: &Document, tensors: &[Stored], data: u64) -> Result<(), Error> {
    let place = |tensor: &Stored| {
        let mut members = document.root().members().into_iter().flatten();
        members
            .find(|(key, _)| *key == tensor.name)
            .map_or_else(|| document.root().place(), |(_, node)| node.place())
    };
    let mut end = 0;
    for tensor in tensors {
        if tensor.offsets.start != end {
            let found = format!("`{}` at {}", tensor.name, tensor.offsets.start);
            return Err(LAYOUT.at(place(tensor), format!("the next tensor at {end}"), found));
        }
        end = tensor.offsets.end;
    }
    match tensors.last() {
        None => Err(TENSOR.at(document.root().place(), "at least one tensor", "none")),
        Some(_) if end == data => Ok(()),
        Some(last) => Err(LENGTH.at(
            place(last),
            format!("{end} bytes of data, where the last tensor ends"),
            format!("{data} bytes"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str, data: u64) -> Result<Header, Error> {
        Header::parse("t.safetensors", 8 + header.len() as u64 + data, header.into())
    }

    const ONE: &str = r#"{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#;

    #[test]
    fn a_header_may_be_as_long_as_a_pickle_begins() {
        let length = |prefix: [u8; 8]| Header::length("t", 1 << 20, prefix);
        for low in 2..=5 {
            let prefix = [0x80, low, 0, 0, 0, 0, 0, 0];
            assert_eq!(length(prefix).unwrap(), u64::from_le_bytes(prefix));
        }
        for pickle in
            [*b"\x80\x04\x95\x10\0\0\0\0", *b"\x80\x02}q\0X\x01\0", *b"PK\x03\x04\x14\0\0\0"]
        {
            assert_eq!(length(pickle).unwrap_err().code.id, FOREIGN_FORMAT.id);
        }
        assert_eq!(length([0xff; 8]).unwrap_err().code.id, LENGTH.id);
    }

    #[test]
    fn a_header_says_what_is_stored() {
        let text = r#"{"__metadata__":{"step":"7"},
            "b":{"dtype":"F4","shape":[4],"data_offsets":[2,4]},
            "a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}  "#;
        let header = parse(text, 4).unwrap();
        let found: Vec<_> =
            header.tensors.iter().map(|t| (t.name.as_str(), t.dtype.name, t.elements)).collect();
        assert_eq!(found, [("a", "BF16", 1), ("b", "F4", 4)]);
        assert_eq!(header.metadata["step"], "7");
        assert_eq!(header.data_start, 8 + text.len() as u64);
    }

    #[test]
    fn hostile_headers_are_refused() {
        let entry = |dtype: &str, shape: &str, offsets: &str| {
            format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
        };
        let two = |first: &str, second: &str| {
            format!(
                r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":{first}}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{second}}}}}"#
            )
        };
        for (header, data, code) in [
            (ONE.to_owned(), 23, "checkpoint::wrong-length"),
            (ONE.to_owned(), 25, "checkpoint::wrong-length"),
            (format!(" {ONE}"), 24, "checkpoint::bad-tensor"),
            (String::new(), 0, "checkpoint::bad-tensor"),
            ("{}".to_owned(), 0, "checkpoint::bad-tensor"),
            (r#"{"__metadata__":{}}"#.to_owned(), 0, "checkpoint::bad-tensor"),
            (r#"{"__metadata__":{"a":1}}"#.to_owned(), 0, "source::wrong-type"),
            (entry("F31", "[1]", "[0,4]"), 4, "checkpoint::bad-tensor"),
            (entry("F32", "[0]", "[0,0]"), 0, "checkpoint::bad-tensor"),
            (entry("F32", "[2]", "[0,4]"), 4, "checkpoint::bad-tensor"),
            (entry("F32", "[1]", "[4,0]"), 4, "checkpoint::bad-tensor"),
            (entry("F32", "[1]", "[-4,0]"), 4, "source::wrong-type"),
            (entry("F32", "[1]", "[0,4,8]"), 4, "source::wrong-type"),
            (entry("F32", "[1.5]", "[0,4]"), 4, "source::wrong-type"),
            (entry("F32", "[9007199254740992,4096]", "[0,4]"), 4, "checkpoint::bad-tensor"),
            (entry("F4", "[3]", "[0,2]"), 2, "checkpoint::bad-tensor"),
            (entry("F32", "[1]", "[4,8]"), 8, "checkpoint::noncontiguous-tensors"),
            (two("[0,4]", "[5,9]"), 9, "checkpoint::noncontiguous-tensors"),
            (two("[0,4]", "[3,7]"), 7, "checkpoint::noncontiguous-tensors"),
            (two("[0,4]", "[0,4]"), 4, "checkpoint::noncontiguous-tensors"),
            (ONE.replace("\"a\"", "\"a\\n\""), 24, "checkpoint::bad-tensor"),
            (ONE.replace("\"a\"", "\"\""), 24, "checkpoint::bad-tensor"),
            (ONE.replace("\"dtype\"", "\"kind\""), 24, "source::unknown-field"),
            (format!("{},{}", &ONE[..ONE.len() - 1], &ONE[1..]), 48, "source::duplicate-key"),
            (format!("{ONE}{ONE}"), 24, "source::syntax"),
            (ONE[..ONE.len() - 1].to_owned(), 24, "source::syntax"),
        ] {
            let error = parse(&header, data).unwrap_err();
            assert_eq!(error.code.id, code, "{header}: {error}");
        }
        assert!(parse(ONE, 24).is_ok());
        assert_eq!(
            Header::parse("t", 10, ONE.into()).unwrap_err().code.id,
            "checkpoint::wrong-length"
        );
    }

    #[test]
    fn the_first_bytes_bound_the_header() {
        let refused =
            |length: u64, prefix| Header::length("t", length, prefix).unwrap_err().code.id;
        assert_eq!(Header::length("t", 100, 92_u64.to_le_bytes()), Ok(92));
        assert_eq!(refused(100, 93_u64.to_le_bytes()), "checkpoint::wrong-length");
        assert_eq!(refused(u64::MAX, (HEADER_CAP + 1).to_le_bytes()), "checkpoint::wrong-length");
        assert_eq!(refused(u64::MAX, u64::MAX.to_le_bytes()), "checkpoint::wrong-length");
        assert_eq!(refused(1000, *b"PK\x03\x04\0\0\0\0"), "checkpoint::foreign-format");
        assert_eq!(refused(1000, *b"\x80\x02}q\0X\x01\0"), "checkpoint::foreign-format");
    }

    proptest::proptest! {
        /// Whatever the header is, checking it ends, and what passes fills the file exactly.
        #[test]
        fn any_header_is_read_or_refused(text in r#"\{("a|b":|\{|\}|\[0,4\]|"U8"|"dtype":|"shape":\[4\]|,|"data_offsets":){0,12}"#) {
            if let Ok(header) = parse(&text, 4) {
                let bytes: u64 = header.tensors.iter().map(|t| t.offsets.end - t.offsets.start).sum();
                proptest::prop_assert_eq!(bytes, 4);
            }
        }
    }
}
