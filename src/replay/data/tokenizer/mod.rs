//! Tokenizers: bytes, or a `tokenizer.json`, with the bytes that every token stands for.
//!
//! Bits per byte need the bytes of each token. Files do not say them, so the table is computed under
//! each known spelling of bytes in tokens, and the first under which a probe comes back is taken; every
//! text is then checked again as it is encoded, so a wrong table cannot pass.

#[cfg_attr(not(feature = "tokenizers"), path = "without.rs")]
mod pieces;
mod spelling;

use super::DataFolder;

use self::pieces::Pieces;
use self::spelling::Spelling;
use super::{
    BAD_TOKENIZER, NO_FILES, NOT_ROUND_TRIP, TOO_LARGE, Tokens, UNKNOWN_BYTES, VOCABULARY,
};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, Node};

/// The largest `tokenizer.json` that is read.
const FILE_CAP: u64 = 256 << 20;
/// The most token numbers a tokenizer may have.
const VOCABULARY_CAP: u32 = 1 << 24;
/// A text that a tokenizer must reproduce: words, capitals, digits, marks, a line feed, two spaces.
const PROBE: &str = "Two words, and  3 more:\nThe end.";

/// A tokenizer of texts.
pub struct Tokenizer(Kind);

enum Kind {
    Bytes,
    File(Box<File>),
}

struct File {
    pieces: Pieces,
    place: Location,
    digest: Digest,
    table: Vec<Box<[u8]>>,
    /// The bytes (a space or none) that the tokenizer puts before every text.
    lead: usize,
}

impl Tokenizer {
    /// Whether this program was built to read `tokenizer.json` files.
    pub const READS_FILES: bool = cfg!(feature = "tokenizers");

    /// Bytes: 256 tokens, each one byte.
    pub fn bytes() -> Self {
        Self(Kind::Bytes)
    }

    /// The tokenizer of the field `node`: `bytes`, or the path of a `tokenizer.json` in a folder.
    pub fn load(node: Node, folder: &DataFolder) -> Result<Self, Error> {
        let name = node.text()?;
        if name == "bytes" {
            return Ok(Self::bytes());
        }
        if !Self::READS_FILES {
            return Err(NO_FILES.at(node.place(), "`bytes`", format!("{name:?}")));
        }
        let file =
            super::documents::read(&folder.file(node)?, name, FILE_CAP).map_err(|error| {
                if error.code == &TOO_LARGE {
                    error
                } else {
                    error.help("pass a `tokenizer.json`, or write `bytes`")
                }
            })?;
        Self::parse(name, &file)
    }

    /// Parses the text of a `tokenizer.json`, called `name` in messages.
    fn parse(name: &str, json: &[u8]) -> Result<Self, Error> {
        let place = Location::file(name);
        let pieces = Pieces::parse(json)
            .map_err(|error| BAD_TOKENIZER.at(place.clone(), "a `tokenizer.json`", error))?;
        let digest = Digest::of(json);
        let mut file = File { pieces, place, digest, table: Vec::new(), lead: 0 };
        let mut found = None;
        for spelling in Spelling::ALL {
            file.table = file.table_under(spelling)?;
            let spelled = file.spell(&file.numbers(PROBE)?);
            file.lead = spelled.len().saturating_sub(PROBE.len());
            if spelled == PROBE.as_bytes() || spelled.strip_prefix(b" ") == Some(PROBE.as_bytes()) {
                return Ok(Self(Kind::File(Box::new(file))));
            }
            found.get_or_insert(spelled);
        }
        Err(UNKNOWN_BYTES.at(
            file.place,
            format!(
                "tokens that spell {PROBE:?}, in byte-level BPE or as pieces with byte fallback"
            ),
            format!("{:?}", String::from_utf8_lossy(&found.unwrap_or_default())),
        ))
    }

    /// The name in receipts: `bytes`, or the file's digest.
    pub fn label(&self) -> String {
        match &self.0 {
            Kind::Bytes => "bytes".to_owned(),
            Kind::File(file) => file.digest.prefixed(),
        }
    }

    /// The number of token numbers: one more than the largest.
    pub fn vocabulary(&self) -> usize {
        match &self.0 {
            Kind::Bytes => 256,
            Kind::File(file) => file.table.len(),
        }
    }

    /// Refuses a model with fewer token numbers than this tokenizer: the field `vocab_size` of `config`.
    pub fn fits(&self, config: Node) -> Result<(), Error> {
        let node = config.required("vocab_size")?;
        let found = node.integer()?;
        if found < self.vocabulary() as u64 {
            let expected =
                format!("at least {}, the tokenizer's vocabulary size", self.vocabulary());
            return Err(VOCABULARY.at(node.place(), expected, format!("{found}")));
        }
        Ok(())
    }

    /// The tokens of `text`; refused where they do not spell it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, Error> {
        let file = match &self.0 {
            Kind::Bytes => return Ok(text.bytes().map(u32::from).collect()),
            Kind::File(file) => file,
        };
        let tokens = file.numbers(text)?;
        let spelled = file.spell(&tokens);
        let back = if text.is_empty() {
            &spelled[..]
        } else {
            spelled.get(file.lead..).unwrap_or_default()
        };
        if back == text.as_bytes() {
            return Ok(tokens);
        }
        let same = back.iter().zip(text.as_bytes()).take_while(|(a, b)| a == b).count();
        let around = |bytes: &[u8]| {
            let piece = bytes.get(same.saturating_sub(8)..).unwrap_or_default();
            format!(
                "{:?}",
                String::from_utf8_lossy(piece.get(..24.min(piece.len())).unwrap_or_default())
            )
        };
        Err(NOT_ROUND_TRIP.at(
            file.place.clone(),
            format!("{} around byte {same} of the text", around(text.as_bytes())),
            around(back),
        ))
    }

    /// The tokens of `text` in the narrowest form.
    pub(super) fn encode_narrow(&self, text: &str) -> Result<Tokens, Error> {
        match &self.0 {
            Kind::Bytes => Ok(Tokens::Bytes(text.as_bytes().to_vec())),
            Kind::File(_) => self.encode(text).map(Tokens::Wide),
        }
    }

    /// How many bytes a token stands for; none where there is no such token.
    pub fn bytes_of(&self, token: u32) -> usize {
        match &self.0 {
            Kind::Bytes => usize::from(token < 256),
            Kind::File(file) => file.bytes(token).len(),
        }
    }

    /// How many bytes of its text each token of one encoded text stands for: what the tokenizer
    /// puts before a text is not counted.
    pub fn lengths(&self, tokens: &[u32]) -> Vec<usize> {
        let mut lengths: Vec<_> = tokens.iter().map(|&token| self.bytes_of(token)).collect();
        if let Some(first) = lengths.first_mut() {
            *first = first.saturating_sub(self.lead());
        }
        lengths
    }

    /// The bytes that the tokenizer puts before every text.
    pub(super) fn lead(&self) -> usize {
        match &self.0 {
            Kind::Bytes => 0,
            Kind::File(file) => file.lead,
        }
    }

    /// The bytes that `tokens` spell, with what the tokenizer puts before a text.
    pub fn decode(&self, tokens: &[u32]) -> Vec<u8> {
        match &self.0 {
            Kind::Bytes => tokens.iter().filter_map(|&token| u8::try_from(token).ok()).collect(),
            Kind::File(file) => file.spell(tokens),
        }
    }

    /// The token that precedes a stream of documents, so that their first token is predicted too: a
    /// line feed.
    pub fn start(&self) -> Result<u32, Error> {
        match &self.0 {
            Kind::Bytes => Ok(u32::from(b'\n')),
            Kind::File(file) => {
                let found = file.table.iter().position(|bytes| **bytes == *b"\n");
                found.map(|token| token as u32).ok_or_else(|| {
                    let place = file.place.clone();
                    BAD_TOKENIZER.at(place, "a line feed token", "none")
                })
            }
        }
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokenizer({}, {} tokens)", self.label(), self.vocabulary())
    }
}

impl File {
    fn numbers(&self, text: &str) -> Result<Vec<u32>, Error> {
        self.pieces.numbers(text).map_err(|error| {
            BAD_TOKENIZER.at(self.place.clone(), "a tokenizer that can encode any text", error)
        })
    }

    fn bytes(&self, token: u32) -> &[u8] {
        self.table.get(token as usize).map_or(&[], |bytes| bytes)
    }

    fn spell(&self, tokens: &[u32]) -> Vec<u8> {
        tokens.iter().flat_map(|&token| self.bytes(token)).copied().collect()
    }

    /// The bytes of every token under `spelling`; added tokens stand for themselves.
    fn table_under(&self, spelling: Spelling) -> Result<Vec<Box<[u8]>>, Error> {
        let vocabulary = self.pieces.vocabulary();
        let last = vocabulary.iter().map(|(_, number, _)| *number).max().unwrap_or(0);
        if last >= VOCABULARY_CAP {
            return Err(BAD_TOKENIZER.at(
                self.place.clone(),
                format!("token ids below {VOCABULARY_CAP}"),
                format!("{last}"),
            ));
        }
        let mut table = vec![Box::default(); last as usize + 1];
        for (piece, number, added) in &vocabulary {
            let bytes = match added {
                true => piece.as_bytes().into(),
                false => spelling.bytes(piece).into(),
            };
            if let Some(entry) = table.get_mut(*number as usize) {
                *entry = bytes;
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests;
