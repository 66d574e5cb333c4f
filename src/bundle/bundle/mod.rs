//! Receipt bundles: folders of evidence that are read, checked and written here.
//!
//! [`Bundle::load`] succeeds only for a folder that is intact and consistent: layout, names,
//! kinds of files, sizes, digests, strict and canonical documents, chains, finite weights, and the
//! receipt compared with the files next to it. Other modules check what the statements mean and whether declared
//! parameter counts follow from configs and tensor shapes (the claims, through `params`), who signed
//! (`signature`), and files outside the bundle.

mod agree;
mod artifact;
mod cache;
pub mod canonical;
mod chain;
mod facts;
mod folder;
pub mod glance;
mod lines;
mod load;
mod logged;
mod manifest;
mod name;
mod opaque;
mod opened;
mod passage;
mod receipt;
pub mod record;
mod seal;
mod signed;
mod slice;
mod state;
mod training;
mod unfinished;
mod weights;
mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use manifest::Manifest;
use repro_core::digest::Digest;
use repro_core::source::{DOCUMENT_CAP, Document, Error, Location, Source, codes};

pub use artifact::artifact;
pub use cache::Cache;
pub use chain::{Chain, METRICS, STATES, chained_lines, evaluation_digest};
pub use facts::{Citation, FACTS, Fact, fact_id};
pub use load::read_receipt;
pub use logged::{BatchTokens, LoggedTensor, PassedTensors};
pub use manifest::TAGS as TAG_MANIFEST;
pub use manifest::{DECLARATION, INFO, PAYLOAD, SIGNATURE, StatedPayload, TAG_FILES};
pub use name::shown;
pub use receipt::{
    ARITHMETIC, CONFIG, Checkpoint, Contract, Data, DeclaredModel, DeclaredSlice, DeclaredStart,
    DeclaredStates, Environment, ListedFile, Origin, PREDICATE, RECEIPT, Receipt, Run, SCHEMA,
    STATEMENT, Seeds, Statement, Trainer,
};
pub use record::Open;
pub use seal::seal;
pub use signed::add_signature;
pub use slice::SliceRecord;
pub use state::saved_weights_name;
pub use training::{MOST_RECORDS, RouterRecord, TrainingRecord, TrainingRecords};
pub use unfinished::{Unfinished, WholeLines, whole_lines};
pub use weights::{FiniteScan, Float, TensorBytes, WeightsReader};
pub use write::BundleWriter;

/// Below this, a transcribed bundle holds documents of others as they were published: byte for byte, in strict JSON and not in
/// its one spelling, so that their digests are those of the publication.
pub const PUBLISHED: &str = "data/published/";
/// Below this, a transcribed bundle holds models, a folder each: the config as it was typed, beside the card of its publisher.
pub const MODELS: &str = "data/models/";
/// The largest file of tensors that is read as a whole.
const TENSORS_CAP: usize = 4 << 30;

codes! {
    ABSENT = "bundle::not-found", "the bundle does not exist", "check the path, or fetch the bundle; for a post, run inside its project or pass `--root`";
    NOT_A_FOLDER = "bundle::not-a-folder", "the bundle is not a plain folder", "replace it with the folder itself, without links";
    NOT_A_BAG = "bundle::not-a-bag", "the folder is not a receipt bundle", "pass a folder that contains `bagit.txt`, manifests and `data/`";
    BAD_COMMIT = "bundle::bad-commit", "the plan's commit is not a commit hash", "write the full hash of the commit, or leave it out";
    NO_RECEIPT = "bundle::no-receipt", "the folder has no receipt to seal", "write `data/receipt.json`: {\"schema\":\"repro.receipt/1\",\"origin\":\"transcribed\",\"extra\":{\"documents\":{}}} for transcribed evidence, or {\"schema\":\"repro.receipt/1\",\"origin\":\"emitted\",\"run\":{\"id\":\"NAME OF THE FOLDER\"}} for a run";
    UNFINISHED = "bundle::unfinished", "the run is not finished, so its folder is not a bundle yet", "let the run finish, or resume it";
    FINISHED = "bundle::finished", "the bundle is finished and cannot be changed", "write into another folder";
    BAD_BUNDLE_NAME = "bundle::bad-bundle-name", "the name is not a valid bundle name", "use letters, digits, `.`, `_` and `-`";
    BAD_NAME = "bundle::bad-name", "a file name is not allowed", "rename the file and seal the bundle again";
    HIDDEN_FILE = "bundle::hidden-file", "a name begins with a dot", "remove the hidden file";
    CASE_CLASH = "bundle::case-clash", "two names differ only in case", "rename one of the two";
    AMBIGUOUS_ORDER = "bundle::ambiguous-order", "two names sort differently as text and as paths", "rename one of the two";
    OPAQUE_FORMAT = "bundle::opaque-format", "pickles and archives are never opened", "convert weights to `.safetensors`, and unpack archives";
    EMPTY_FOLDER = "bundle::empty-folder", "a folder is empty", "remove the folder";
    TOO_MANY_FILES = "bundle::too-many-files", "the bundle contains too many files", "split the bundle";
    NOT_REGULAR = "bundle::not-regular", "an entry is not a plain file", "replace it with a copy of the file";
    HARD_LINK = "bundle::hard-link", "a file has more than one name (hard links)", "replace it with a copy of the file";
    OTHER_DEVICE = "bundle::different-file-system", "an entry is on a different file system", "copy it into the bundle";
    SPARSE = "bundle::sparse-file", "a large file is sparse", "store the file in full";
    CHANGED_WHILE_READ = "bundle::changed-while-read", "a file changed while it was being read", "stop the program that writes to it, then run the command again";
    BAD_TAG_FILE = "bundle::bad-tag-file", "a BagIt tag file is invalid", "seal the bundle again";
    BAD_MANIFEST = "bundle::bad-manifest", "a manifest line is malformed", "seal the bundle again";
    DUPLICATE_NAME = "bundle::duplicate-name", "a name is listed twice", "seal the bundle again";
    EXTRA_FILE = "bundle::extra-file", "a file is not listed in any manifest", "remove it, or seal the bundle again";
    MISSING_FILE = "bundle::missing-file", "a listed file is missing", "fetch the whole bundle";
    WRONG_SIZE = "bundle::wrong-size", "a file's size differs from the one in the receipt", "fetch the bundle again";
    UNDECLARED_SIZE = "bundle::undeclared-size", "the receipt's `files` do not match the files in the bundle", "seal the bundle again";
    WRONG_DIGEST = "bundle::wrong-digest", "a file's digest differs from the recorded one", "fetch the bundle again; if it was edited on purpose, seal it again";
    WRONG_BUNDLE = "bundle::wrong-bundle", "the bundle is not the pinned one", "fetch the pinned bundle, or review this one and update the lock with `repro verify --post ID --write-lock`";
    WRONG_NAME = "bundle::wrong-name", "the receipt belongs to a bundle with a different name", "rename the folder to the name of its run";
    BAD_DIGEST = "bundle::bad-digest", "a digest is malformed", "write 64 lowercase hexadecimal digits";
    NOT_CANONICAL = "bundle::not-canonical", "the JSON is not in canonical form (RFC 8785 and a line feed)", "seal the bundle again";
    WRONG_SCHEMA = "bundle::wrong-schema", "this version of repro does not support documents of this type", "use a version that supports them";
    BAD_ORIGIN = "bundle::bad-origin", "the origin is unknown", "write `transcribed` or `emitted`";
    WRONG_FIELD_FOR_ORIGIN = "bundle::wrong-field-for-origin", "a field in the receipt does not match its origin", "remove the field, or correct the origin";
    WRONG_SUBJECTS = "bundle::wrong-subjects", "the subjects of the statement do not match the files in the bundle", "seal the bundle again";
    WRONG_COUNT = "bundle::wrong-count", "a declared count does not match the checkpoint", "declare the count that the tensors have";
    UNKNOWN_FILE = "bundle::unknown-file", "the receipt refers to a file that is not in the bundle", "add the file, or correct the name";
    UNTRACED_DOCUMENT = "bundle::untraced-document", "a transcribed file does not state its source document", "add the document to `extra.documents`";
    BAD_FACT = "bundle::bad-fact", "a fact is malformed", "add an id, a value, a document and a place";
    TRANSCRIPTION_DIFFERS = "bundle::transcription-differs", "a transcribed value differs from its quote", "correct the value or the quote, and seal the bundle again";
    DUPLICATE_FACT = "bundle::duplicate-fact", "two facts have the same id", "rename one of the two";
    BROKEN_CHAIN = "bundle::broken-chain", "the hash chain of the records is broken", "fetch the bundle again; records cannot be edited";
    BAD_WEIGHTS = "bundle::bad-weights", "the weights are not valid safetensors", "write the file again with a safetensors library";
    NOT_FINITE_WEIGHT = "bundle::non-finite-weight", "a weight is not finite", "leave the checkpoint out: non-finite weights are not evidence";
    UNSAFE_CACHE = "bundle::unsafe-cache", "the cache cannot be trusted", "use a folder that only you can write to, or leave out `--cache`";
    CANNOT_WRITE = "bundle::cannot-write", "a file cannot be written", "check the folder, its permissions and the free space";
    UNWRITABLE = "bundle::unwritable", "a value cannot be written as canonical JSON", "write large integers as strings, and leave out non-finite numbers";
}

/// How bundles are read.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions<'a> {
    /// How many files at a time, and threads in all.
    pub threads: usize,
    /// The cache of earlier readings, if one is used.
    pub cache: Option<&'a Cache>,
    /// Whether small checkpoints are kept as they pass by, for somebody who looks at them next.
    pub keeps_weights: bool,
    /// How messages name the bundle where that is not the path of its folder: of one that was fetched.
    pub named: Option<&'a str>,
}

impl ReadOptions<'_> {
    /// How messages name the bundle in the folder `path`.
    pub fn shown(&self, path: &Path) -> String {
        self.named.map_or_else(|| path.display().to_string(), str::to_owned)
    }
}

impl From<usize> for ReadOptions<'_> {
    fn from(threads: usize) -> Self {
        Self { threads, cache: None, keeps_weights: false, named: None }
    }
}

/// A bundle that is intact and agrees with itself.
#[derive(Debug)]
pub struct Bundle {
    name: String,
    digest: Digest,
    folder: folder::Folder,
    receipt: Receipt,
    receipt_document: Document,
    files: PayloadFiles,
    facts: Vec<Fact>,
    fact_index: std::collections::HashMap<String, usize>,
    origins: BTreeMap<String, String>,
    tags: Manifest,
    signature: Option<Vec<u8>>,
    records: OnceLock<TrainingRecords>,
    spared: usize,
}

/// The payload files of a bundle by name.
type PayloadFiles = BTreeMap<String, File>;

/// One payload file of a bundle.
#[derive(Debug)]
pub struct File {
    /// Its length.
    pub bytes: u64,
    /// Its digest.
    pub digest: Digest,
    document: OnceLock<Document>,
    /// The bytes of a small file, until somebody asks for them.
    kept: Mutex<Option<Vec<u8>>>,
    passed: OnceLock<PassedTensors>,
    /// So many numbers may be kept of its logged tensors.
    room: u64,
    /// The chain in which it ends, as the receipt says.
    root: Option<Digest>,
    /// Whether its bytes are kept as they pass by.
    is_kept: bool,
}

impl File {
    fn listed(bytes: u64, digest: Digest) -> Self {
        let (document, passed) = (OnceLock::new(), OnceLock::new());
        Self {
            bytes,
            digest,
            document,
            kept: Mutex::new(None),
            passed,
            room: 0,
            root: None,
            is_kept: false,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps bytes that have its digest.
    fn keep(&self, bytes: Vec<u8>) {
        *self.kept() = Some(bytes);
    }
}

impl Bundle {
    /// Loads and checks the bundle `receipts/<name>` of the project at `root`; `reading` may be a number of
    /// threads. With `pin`, any other bundle is an error.
    pub fn load<'a>(
        root: &Path,
        name: &str,
        pin: Option<&Digest>,
        reading: impl Into<ReadOptions<'a>>,
    ) -> Result<Self, Error> {
        let shown = format!("receipts/{name}");
        load::check_bundle_name(name, &shown)?;
        Self::load_folder(&root.join("receipts").join(name), &shown, pin, reading)
    }

    /// Loads and checks the bundle in the folder at `path`; messages call it `shown`, whose last component
    /// is the bundle's name.
    pub fn load_folder<'a>(
        path: &Path,
        shown: &str,
        pin: Option<&Digest>,
        reading: impl Into<ReadOptions<'a>>,
    ) -> Result<Self, Error> {
        load::load(path, shown.trim_end_matches('/'), (pin, load::Depth::Whole), reading.into())
    }

    /// The bundle in the folder at `path` by its tag files and receipt alone, for planning: of its other files names and
    /// lengths are right, and each is held against its digest when it is asked for. Nothing may be concluded from those that
    /// nobody asks for.
    pub fn outline(path: &Path, shown: &str) -> Result<Self, Error> {
        load::load(path, shown.trim_end_matches('/'), (None, load::Depth::Outline), 1.into())
    }

    /// The name of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its digest, the SHA-256 of its tag manifest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How its evidence came to be, as the receipt says.
    pub fn origin(&self) -> Origin {
        self.receipt.origin
    }

    /// The contents of the receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The statement around the receipt, for places inside it (`/predicate/…`).
    pub fn receipt_document(&self) -> &Document {
        &self.receipt_document
    }

    /// Its payload files by name.
    pub fn files(&self) -> &BTreeMap<String, File> {
        &self.files
    }

    /// How many of its files were not read, because an earlier reading is remembered.
    pub fn spared(&self) -> usize {
        self.spared
    }

    /// The checkpoints whose weights are in it, and their files.
    pub fn kept_checkpoints(&self) -> impl Iterator<Item = (&Checkpoint, &str)> {
        self.receipt().checkpoints.iter().filter_map(|checkpoint| {
            let (file, _) = self.files().get_key_value(checkpoint.weights.as_ref()?)?;
            Some((checkpoint, file.as_str()))
        })
    }

    /// Its training records, where it has some; a log that was not read this time, and is no document, has none.
    pub fn records(&self) -> Option<&TrainingRecords> {
        if let Some(known) = self.records.get() {
            return Some(known);
        }
        let document = self.files.contains_key(METRICS).then(|| self.document(METRICS).ok())??;
        let mut records = TrainingRecords::default();
        document.root().items().ok()?.for_each(|line| records.add(line));
        Some(self.records.get_or_init(|| records))
    }

    /// The kept contents of one of its files of tensors.
    pub fn passed_tensors(&self, file: &str) -> Option<&PassedTensors> {
        let known = self.files.get(file)?;
        if let Some(passed) = known.passed.get() {
            return Some(passed);
        }
        let bytes = self.tensors(file).ok()?;
        let mut reader = WeightsReader::new(self.place(file), bytes.len() as u64, known.room);
        reader.feed(&bytes).ok()?;
        let passed = reader.finish().ok()?;
        Some(known.passed.get_or_init(|| passed))
    }

    /// The typed facts of a transcribed bundle.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// A typed fact by its id, and its position in the file.
    pub fn fact(&self, id: &str) -> Option<(usize, &Fact)> {
        let at = *self.fact_index.get(id)?;
        self.facts.get(at).map(|fact| (at, fact))
    }

    /// The fact that a pointer leads into, by position (`/facts/17/value`) or by id.
    pub fn fact_at(&self, file: &str, pointer: &str) -> Option<&Fact> {
        let segment = pointer.strip_prefix("/facts/")?.split('/').next()?;
        let fact = match segment.strip_prefix("id=") {
            Some(id) => self.fact(id).map(|(_, fact)| fact),
            None => self.facts.get(segment.parse::<usize>().ok()?),
        };
        fact.filter(|_| file == FACTS)
    }

    /// The names of its payload files that [`Bundle::document`] reads, without the receipt: a log may
    /// be longer than a document, and is then only checked.
    pub fn documents(&self) -> impl Iterator<Item = &str> {
        let read = |name: &str| {
            [".json", ".jsonl", ".toml", ".csv"].iter().any(|ending| name.ends_with(ending))
        };
        let fits = |file: &File| file.bytes <= DOCUMENT_CAP as u64;
        let chosen = self.files.iter().filter(move |(name, file)| read(name) && fits(file));
        chosen.map(|(name, _)| name.as_str()).filter(|name| *name != RECEIPT)
    }

    /// Refuses, at `place`, a bundle with another digest than `pinned`.
    pub fn check_pin(&self, pinned: &Digest, place: &Location) -> Result<(), Error> {
        if self.digest == *pinned {
            return Ok(());
        }
        let found = format!("`{}` with {}", self.name, self.digest.prefixed());
        Err(WRONG_BUNDLE.at(place.clone(), pinned.prefixed(), found))
    }

    /// The id of the published document that a file of a transcribed bundle was typed from.
    pub fn typed_from(&self, file: &str) -> Option<&str> {
        self.origins.get(file).map(String::as_str)
    }

    /// The bytes of its signature file, where it has one; who signed, and what, is not looked at here.
    pub fn signature(&self) -> Option<&[u8]> {
        self.signature.as_deref()
    }

    /// The digests of what a signature is about: of every file but the signature itself.
    pub fn signed_files(&self) -> BTreeMap<&str, Digest> {
        let payload = self.files.iter().map(|(name, file)| (name.as_str(), file.digest));
        payload.chain(self.tags.iter().map(|(name, digest)| (name.as_str(), *digest))).collect()
    }

    /// The place of one of its files in messages.
    pub fn place(&self, file: &str) -> Location {
        self.folder.place(file)
    }

    /// The tree of a `.json`, `.jsonl`, `.toml` or `.csv` file. It is read when first asked for, and only
    /// bytes with the digest that was checked are parsed.
    pub fn document(&self, file: &str) -> Result<&Document, Error> {
        if file == RECEIPT {
            return Ok(&self.receipt_document);
        }
        let known = self.known(file)?;
        if let Some(document) = known.document.get() {
            return Ok(document);
        }
        let kept = known.kept().take();
        let bytes = kept.map_or_else(|| self.verified_bytes(file, known, DOCUMENT_CAP), Ok)?;
        let document = Document::parse(Source::new(self.place(file).file, bytes)?)?;
        Ok(known.document.get_or_init(|| document))
    }

    /// The bytes of a file below the cap of documents, as they were when the bundle was checked.
    pub fn bytes(&self, file: &str) -> Result<Vec<u8>, Error> {
        self.verified_bytes(file, self.known(file)?, DOCUMENT_CAP)
    }

    /// The bytes of a file of tensors, which may be larger than a document.
    pub fn tensors(&self, file: &str) -> Result<Vec<u8>, Error> {
        let known = self.known(file)?;
        let kept = known.kept().take();
        kept.map_or_else(|| self.verified_bytes(file, known, TENSORS_CAP), Ok)
    }

    fn known(&self, file: &str) -> Result<&File, Error> {
        self.files.get(file).ok_or_else(|| {
            UNKNOWN_FILE.at(self.place(file), "a file in the bundle", "no such file")
        })
    }

    fn verified_bytes(&self, file: &str, known: &File, cap: usize) -> Result<Vec<u8>, Error> {
        self.folder.file(file)?.read_as(known.digest, cap)
    }
}
