//! A corpus: training tokens, held-out documents, and what identifies them.

use std::ops::Range;

use serde_json::{Value, json};

use super::split::Split;
use super::{DataFolder, OTHER_TEXT, Overlap, Tokenizer, Tokens, UNKNOWN_VALUE, documents};
use crate::language::Language;
use repro_core::digest::{Digest, Hasher};
use repro_core::source::{Error, Node};

/// The fields of the table `data` under every source.
const FIELDS: [&str; 3] = ["name", "source", "tokenizer"];
/// Those of a text that is read and split.
const SPLIT_FIELDS: [&str; 5] = ["file", "sha256", "split_seed", "validation", "development"];
/// Those of a text that is generated.
const LANGUAGE_FIELDS: [&str; 4] = ["seed", "train_bytes", "development", "validation"];
/// The most bytes that a part is generated to.
const GENERATED_CAP: u64 = 1 << 30;

/// A held-out document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldOutDocument {
    /// Its text, which ends with a line feed.
    pub text: String,
    /// Its tokens.
    pub tokens: Vec<u32>,
}

/// The size and the digest of one part of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorpusPart {
    /// How many documents it has.
    pub documents: usize,
    /// How many bytes of text.
    pub bytes: usize,
    /// How many tokens.
    pub tokens: usize,
    /// The digest of its documents in a row.
    pub sha256: Digest,
}

/// A corpus, tokenized and split.
#[derive(Debug)]
pub struct Corpus {
    /// Its name in receipts.
    pub name: String,
    /// The digest of the file, or, of a generated text, that of the training text.
    pub sha256: Digest,
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// The training documents in a row.
    pub train: Tokens,
    /// The documents that learning rates are chosen by.
    pub development: Vec<HeldOutDocument>,
    /// The documents that results are read from.
    pub validation: Vec<HeldOutDocument>,
    /// The size of the training text.
    pub train_part: CorpusPart,
    /// The size of the development text.
    pub development_part: CorpusPart,
    /// The size of the validation text.
    pub validation_part: CorpusPart,
    /// How much of the validation text stands in the training text.
    pub overlap: Overlap,
    /// Of a generated text: the nats of the validation text under the source itself, in which nothing
    /// can be left to learn.
    pub floor: Option<f64>,
    /// The token at which each training document begins.
    starts: Vec<usize>,
}

impl Corpus {
    /// Loads the corpus that the table `data` describes, from a folder.
    pub fn load(data: Node, folder: &DataFolder) -> Result<Self, Error> {
        let source = data.required("source")?;
        let Texts { split, sha256, floor } = match source.text()? {
            "text" => {
                known(data, &[&SPLIT_FIELDS, &["documents"]])?;
                of_file(data, folder, documents::of_text)?
            }
            "jsonl" => {
                known(data, &[&SPLIT_FIELDS, &["field"]])?;
                of_file(data, folder, documents::of_lines)?
            }
            "language" => {
                known(data, &[&LANGUAGE_FIELDS])?;
                of_language(data)?
            }
            other => {
                let expected = "`text`, `jsonl` or `language`";
                return Err(UNKNOWN_VALUE.at(source.place(), expected, format!("`{other}`")));
            }
        };
        let name = data.required("name")?.text()?.to_owned();
        let tokenizer = Tokenizer::load(data.required("tokenizer")?, folder)?;
        let (train, starts) = tokens(&tokenizer, &split.train)?;
        let train_part = CorpusPart {
            documents: split.train.len(),
            bytes: split.train.iter().map(String::len).sum(),
            tokens: train.len(),
            sha256: digest(&split.train),
        };
        let overlap = Overlap::of(&views(&split.validation), &views(&split.train));
        drop(split.train);
        let (development, development_part) = held_out(&tokenizer, split.development)?;
        let (validation, validation_part) = held_out(&tokenizer, split.validation)?;
        let sha256 = sha256.unwrap_or(train_part.sha256);
        Ok(Self {
            name,
            sha256,
            tokenizer,
            train,
            development,
            validation,
            train_part,
            development_part,
            validation_part,
            overlap,
            floor,
            starts,
        })
    }

    /// How many bytes of text the training tokens of `range` stand for.
    pub fn train_bytes(&self, range: Range<usize>) -> u64 {
        let tokens = match &self.train {
            Tokens::Bytes(bytes) => return bytes.get(range).map_or(0, <[u8]>::len) as u64,
            Tokens::Wide(tokens) => tokens.get(range.clone()).unwrap_or_default(),
        };
        let spelled: usize = tokens.iter().map(|&token| self.tokenizer.bytes_of(token)).sum();
        let before = |end: usize| self.starts.partition_point(|&start| start < end);
        let leads = (before(range.end) - before(range.start)) * self.tokenizer.lead();
        spelled.saturating_sub(leads) as u64
    }

    /// The parts and the overlap as receipts keep them.
    pub fn record(&self) -> Value {
        let part = |part: &CorpusPart| {
            json!({
                "documents": part.documents,
                "bytes": part.bytes,
                "tokens": part.tokens,
                "sha256": part.sha256.to_string(),
            })
        };
        json!({
            "train": part(&self.train_part),
            "development": part(&self.development_part),
            "validation": part(&self.validation_part),
            "overlap": self.overlap.record(),
            "source_nats": self.floor,
        })
    }
}

/// The texts of a corpus, before they are tokens.
struct Texts {
    split: Split,
    /// The digest of the file, where there is one.
    sha256: Option<Digest>,
    floor: Option<f64>,
}

/// Refuses fields of `data` that are neither in [`FIELDS`] nor in `more`.
fn known(data: Node, more: &[&[&str]]) -> Result<(), Error> {
    data.only(&[&[FIELDS.as_slice()], more].concat().concat())
}

/// The documents of the file of `data`, split, and the digest of the file.
fn of_file(
    data: Node,
    folder: &DataFolder,
    documents_of: impl Fn(Node, &str, &[u8]) -> Result<Vec<String>, Error>,
) -> Result<Texts, Error> {
    let file = data.required("file")?;
    let (name, path) = (file.text()?, folder.file(file)?);
    let pinned = data.get("sha256");
    let other = |pinned: Node, found: String| -> Result<Texts, Error> {
        Err(OTHER_TEXT.at(pinned.place(), format!("`{}`", pinned.text()?), found))
    };
    if let Some(pinned) = pinned
        && !folder.holds(&path, name, pinned.text()?)?
    {
        return other(pinned, format!("a different digest of `{name}`"));
    }
    let bytes = documents::read(&path, name, documents::TEXT_CAP)?;
    let digest = Digest::of(&bytes);
    if let Some(pinned) = pinned
        && pinned.text()? != digest.to_string()
    {
        return other(pinned, format!("`{digest}` in `{name}`"));
    }
    let documents = documents_of(data, name, &bytes)?;
    Ok(Texts { split: Split::draw(data, documents)?, sha256: Some(digest), floor: None })
}

/// Documents of the embedded language: each part is a stream of its own, generated until it has the
/// bytes that are asked for.
fn of_language(data: Node) -> Result<Texts, Error> {
    let language = Language::new(data.required("seed")?.integer()?);
    let size = |name: &str| {
        let table = data.required(name)?;
        table.only(&["bytes"])?;
        table.required("bytes")
    };
    let part = |stream: &str, node: Node| {
        let least = node.integer()?;
        if least == 0 || least > GENERATED_CAP {
            let expected = format!("from 1 to {GENERATED_CAP} bytes");
            return Err(UNKNOWN_VALUE.at(node.place(), expected, format!("{least}")));
        }
        let mut bytes = 0;
        let missing = |document: &String| {
            let wanted = bytes < least;
            bytes += document.len() as u64;
            wanted
        };
        Ok(language.documents(stream).take_while(missing).collect::<Vec<_>>())
    };
    let split = Split {
        train: part("train", data.required("train_bytes")?)?,
        development: part("development", size("development")?)?,
        validation: part("validation", size("validation")?)?,
    };
    // A document that the language gives has a probability, so none is missing here.
    let nats = split.validation.iter().map(|document| language.nats(document));
    let nats = nats.sum::<Result<f64, _>>();
    Ok(Texts { split, sha256: None, floor: nats.ok() })
}

/// The tokens of documents in a row, and at which each begins.
fn tokens(tokenizer: &Tokenizer, documents: &[String]) -> Result<(Tokens, Vec<usize>), Error> {
    let mut row = tokenizer.encode_narrow("")?;
    let mut starts = Vec::with_capacity(documents.len());
    for document in documents {
        starts.push(row.len());
        row.append(tokenizer.encode_narrow(document)?);
    }
    Ok((row, starts))
}

fn held_out(
    tokenizer: &Tokenizer,
    texts: Vec<String>,
) -> Result<(Vec<HeldOutDocument>, CorpusPart), Error> {
    let sha256 = digest(&texts);
    let document = |text: String| Ok(HeldOutDocument { tokens: tokenizer.encode(&text)?, text });
    let documents: Vec<_> = texts.into_iter().map(document).collect::<Result<_, Error>>()?;
    let part = CorpusPart {
        documents: documents.len(),
        bytes: documents.iter().map(|document| document.text.len()).sum(),
        tokens: documents.iter().map(|document| document.tokens.len()).sum(),
        sha256,
    };
    Ok((documents, part))
}

fn digest(documents: &[String]) -> Digest {
    let mut hasher = Hasher::default();
    documents.iter().for_each(|document| hasher.update(document.as_bytes()));
    hasher.finish()
}

fn views(documents: &[String]) -> Vec<&str> {
    documents.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests;
