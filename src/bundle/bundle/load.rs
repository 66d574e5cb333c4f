//! Loading: every check between an untrusted folder and a [`Bundle`], cheapest first. Nothing is
//! hashed before names, kinds and sizes are right, and only hashed bytes are parsed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use itertools::EitherOrBoth::{Both, Left, Right};
use itertools::Itertools;

use super::cache::Recalled;
use super::folder::{Folder, Listing};
use super::logged::Holdings;
use super::manifest::{self, Manifest, Oxum};
use super::opened::{OpenFile, Stamp, hash_files};
use super::passage::{KeptParts, PayloadCheck};
use super::receipt::{RECEIPT, Statement};
use super::training::TrainingRecords;
use super::{
    BAD_BUNDLE_NAME, Bundle, EXTRA_FILE, FACTS, File, MISSING_FILE, NOT_A_BAG, Origin, PUBLISHED,
    PayloadFiles, ReadOptions, UNFINISHED, WRONG_BUNDLE, WRONG_SIZE, agree, canonical, facts,
    glance, logged, name, opaque,
};
use repro_core::digest::Digest;
use repro_core::parallel::{self, Allowance, Numbered, Spare, Stock};
use repro_core::source::{DOCUMENT_CAP, Document, Error, Location, Source};

/// How many bytes of documents all threads together parse at a time, so that memory does not grow with
/// their number; a document that is longer is parsed alone.
const PARSED_AT_ONCE: usize = 512 << 10;
/// The same for what is held of files that pass by; files that hold more pass by alone.
const HELD_AT_ONCE: usize = DOCUMENT_CAP;
/// Documents up to this length are kept until they are parsed,
const KEPT_DOCUMENT: usize = 64 << 10;
/// so many bytes of them together.
const KEPT_DOCUMENTS: usize = 1 << 20;
/// So many bytes of checkpoints are kept where somebody looks at them next.
const KEPT_WEIGHTS: u64 = 64 << 20;
/// Files are begun by their length in this unit, the longest first.
const WEIGHTY: u64 = 1 << 20;

/// Checks that `name` is one plain component.
pub fn check_bundle_name(name: &str, shown: &str) -> Result<(), Error> {
    if !name.contains('/') && name::check(name, || Location::file(shown)).is_ok() {
        return Ok(());
    }
    Err(BAD_BUNDLE_NAME.at(Location::file(shown), "a name without folders", name::shown(name)))
}

/// How much of a bundle is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The tag files and the receipt; other files as somebody asks for them.
    Outline,
    /// Every file.
    Whole,
}

/// Loads the folder at `path`; `shown` ends in the name of the bundle.
pub fn load(
    path: &Path,
    shown: &str,
    (pin, depth): (Option<&Digest>, Depth),
    reading: ReadOptions<'_>,
) -> Result<Bundle, Error> {
    let name = shown.rsplit('/').next().unwrap_or(shown);
    check_bundle_name(name, shown)?;
    let folder = Folder::open(path, shown)?;
    is_bag(&folder)?;
    let listing = folder.list(reading.threads)?;
    name::check_set(listing.keys().map(String::as_str), |name| folder.place(name))?;
    let (parsing, holding) = (Allowance::of(PARSED_AT_ONCE), Allowance::of(HELD_AT_ONCE));
    let (holdings, records) = (Mutex::default(), OnceLock::new());
    let keeping = Stock::of(KEPT_DOCUMENTS);
    let is_transcribed = false;
    let mut reader =
        Reader { folder, listing, is_transcribed, holdings, records, parsing, holding, keeping };
    let TagFiles { digest, mut tags, payload: manifest } = reader.tag_files(pin)?;
    let mut files = reader.files(manifest)?;
    let receipt_document = reader.receipt(&files)?;
    let statement = Statement::parse(&receipt_document)?;
    reader.is_transcribed = statement.receipt.origin == Origin::Transcribed;
    if let Some(states) = &statement.receipt.states
        && let Some(file) = files.get_mut(&states.file)
    {
        file.root = Some(states.root);
    }
    if reading.keeps_weights {
        let mut left = KEPT_WEIGHTS;
        for name in statement.receipt.checkpoints.iter().filter_map(|one| one.weights.as_ref()) {
            if let Some(file) = files.get_mut(name).filter(|file| !file.is_kept)
                && let Some(rest) = left.checked_sub(file.bytes)
            {
                (left, file.is_kept) = (rest, true);
            }
        }
    }
    agree::declared(&receipt_document, &statement, &files)?;
    agree::named_files(&receipt_document, &statement.receipt, &files, name)?;
    let origins = agree::origins(&receipt_document, &statement.receipt, &files)?;
    let recalled = reading.cache.map(|cache| cache.recall(digest, &reader.folder)).transpose()?;
    if depth == Depth::Whole {
        reader.payload(&files, reading.threads, recalled.as_ref())?;
    }
    let spared = recalled.map_or(0, Recalled::keep);
    let signature = reader.signature()?;
    let holdings = reader.holdings.into_inner().unwrap_or_else(PoisonError::into_inner);
    if depth == Depth::Whole {
        agree::declared_counts(&receipt_document, &statement.receipt, &holdings)?;
    }
    tags.insert(manifest::TAGS.to_owned(), digest);
    let mut bundle = Bundle {
        name: name.to_owned(),
        digest,
        receipt: statement.receipt,
        receipt_document,
        files,
        facts: Vec::new(),
        fact_index: HashMap::new(),
        origins,
        tags,
        signature,
        records: reader.records,
        folder: reader.folder,
        spared,
    };
    if bundle.origin() == Origin::Transcribed && bundle.files.contains_key(FACTS) {
        bundle.facts = facts::parse(bundle.document(FACTS)?)?;
        bundle.fact_index =
            bundle.facts.iter().enumerate().map(|(at, fact)| (fact.id.clone(), at)).collect();
    }
    Ok(bundle)
}

/// Tells a bundle from a run that still trains and from any other folder.
fn is_bag(folder: &Folder) -> Result<(), Error> {
    if folder.holds(manifest::DECLARATION) {
        return Ok(());
    }
    let place = folder.own_place();
    if folder.holds("data") {
        let state = if folder.holds(manifest::STATE) { " and `state.json`" } else { "" };
        let found = format!("`data/`{state} without `bagit.txt`");
        return Err(UNFINISHED.at(place, "a finished bundle", found));
    }
    Err(NOT_A_BAG.at(place, "`bagit.txt` and `data/`", "neither"))
}

/// The receipt in the folder at `path` as it stands there, whether or not the rest is intact.
pub fn read_receipt(path: &Path, shown: &str) -> Result<Document, Error> {
    let folder = Folder::open(path, shown)?;
    let bytes = folder.file(RECEIPT)?.read(DOCUMENT_CAP)?;
    Document::parse_json(Source::new(folder.place(RECEIPT).file, bytes)?)
}

/// The contents of the tag files.
struct TagFiles {
    /// The digest of the bundle, which is that of the tag manifest.
    digest: Digest,
    /// The digests of the other tag files.
    tags: Manifest,
    /// The digests of the payload.
    payload: Manifest,
}

struct Reader {
    folder: Folder,
    listing: Listing,
    /// Whether the receipt says that the evidence was typed; false until it is read.
    is_transcribed: bool,
    /// The tensors of the model in each checkpoint read so far.
    holdings: Mutex<BTreeMap<String, Holdings>>,
    /// The training records that have passed by.
    records: OnceLock<TrainingRecords>,
    /// The parsing budget of all threads together.
    parsing: Allowance,
    /// The memory budget of all threads together for files that pass by.
    holding: Allowance,
    /// How many bytes of small documents may still be kept.
    keeping: Stock,
}

impl Reader {
    /// Reads and checks the tag files.
    fn tag_files(&self, pin: Option<&Digest>) -> Result<TagFiles, Error> {
        let tags = self.source(manifest::TAGS, |file| file.read(DOCUMENT_CAP))?;
        let digest = Digest::of(tags.text().as_bytes());
        if let Some(pin) = pin.filter(|pin| **pin != digest) {
            let place = self.folder.own_place();
            return Err(WRONG_BUNDLE.at(place, pin.prefixed(), digest.prefixed()));
        }
        let tags = manifest::parse(&tags)?;
        let unknown = |name: &&String| !manifest::LISTED_TAGS.contains(&name.as_str());
        if let Some(listed) = tags.keys().find(unknown) {
            let expected = format!("only {}", manifest::LISTED_TAGS.join(", "));
            let place = self.folder.place(manifest::TAGS);
            return Err(EXTRA_FILE.at(place, expected, format!("`{listed}`")));
        }
        let [info, declaration, payload] = manifest::LISTED_TAGS.map(|name| {
            let Some(wanted) = tags.get(name) else {
                let place = self.folder.place(manifest::TAGS);
                return Err(MISSING_FILE.at(place, format!("a line for `{name}`"), "none"));
            };
            self.source(name, |file| file.read_as(*wanted, DOCUMENT_CAP))
        });
        manifest::check_declaration(&declaration?)?;
        let sizes = || self.listing.iter().filter(|(name, _)| name.starts_with("data/"));
        let bytes = sizes().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        manifest::check_info(&info?, Oxum { bytes, files: sizes().count() })?;
        Ok(TagFiles { digest, tags, payload: manifest::parse(&payload?)? })
    }

    /// A small text file of the bundle, read by `read`.
    fn source(
        &self,
        name: &str,
        read: impl FnOnce(OpenFile<'_>) -> Result<Vec<u8>, Error>,
    ) -> Result<Source, Error> {
        if !self.listing.contains_key(name) {
            return Err(MISSING_FILE.at(self.folder.place(name), "this file", "nothing"));
        }
        let file = self.folder.file(name)?;
        Source::new(file.place().file, read(file)?)
    }

    /// The payload files: those that the manifest lists, which are on the disk beside the tag files, no more
    /// and no fewer.
    fn files(&self, manifest: Manifest) -> Result<PayloadFiles, Error> {
        let mut files = Vec::with_capacity(manifest.len());
        let mut fault = None;
        let tag = |name: &str| {
            manifest::LISTED_TAGS.contains(&name)
                || name == manifest::TAGS
                || name == manifest::SIGNATURE
        };
        let held = self.listing.iter().filter(|(name, _)| !tag(name));
        for pair in held.merge_join_by(manifest, |held, listed| held.0.cmp(&listed.0)) {
            match pair {
                Left((name, _)) => {
                    let place = self.folder.place(name);
                    return Err(EXTRA_FILE.at(place, "a file listed in the manifest", "this file"));
                }
                Both((_, &bytes), (name, digest)) if name.starts_with("data/") => {
                    files.push((name, File::listed(bytes, digest)));
                }
                Both(_, (name, _)) | Right((name, _)) => fault = fault.or(Some(name)),
            }
        }
        // What nobody lists is told before what is missing.
        match fault {
            None => {
                let mut slices = 0;
                files
                    .iter_mut()
                    .for_each(|(name, file)| file.room = logged::room(name, &mut slices));
                Ok(files.into_iter().collect())
            }
            Some(name) if name.starts_with("data/") => {
                let expected = "a file listed in the manifest";
                Err(MISSING_FILE.at(self.folder.place(&name), expected, "nothing"))
            }
            Some(name) => {
                let place = self.folder.place(manifest::PAYLOAD);
                let expected = "names that begin with `data/`";
                Err(EXTRA_FILE.at(place, expected, format!("`{name}`")))
            }
        }
    }

    /// The bytes of the signature, where there is one.
    fn signature(&self) -> Result<Option<Vec<u8>>, Error> {
        let held = self.listing.contains_key(manifest::SIGNATURE);
        held.then(|| self.folder.file(manifest::SIGNATURE)?.read(DOCUMENT_CAP)).transpose()
    }

    fn receipt(&self, files: &PayloadFiles) -> Result<Document, Error> {
        let Some(wanted) = files.get(RECEIPT) else {
            return Err(MISSING_FILE.at(self.folder.place(RECEIPT), "a receipt", "none"));
        };
        let source = self.source(RECEIPT, |file| file.read_as(wanted.digest, DOCUMENT_CAP))?;
        let document = Document::parse_json(source)?;
        canonical::check(&document)?;
        Ok(document)
    }

    /// Hashes and reads all payload files but the receipt. Whatever the number of threads, the refusal is
    /// that of the first file by name.
    fn payload(
        &self,
        files: &PayloadFiles,
        threads: usize,
        recalled: Option<&Recalled<'_>>,
    ) -> Result<(), Error> {
        let mut others = Vec::with_capacity(files.len());
        others.extend(files.iter().filter(|(name, _)| *name != RECEIPT));
        // Small files stay in the order of their names, which is about the order on the disk.
        let weight = |(_, listed): &(_, &File)| listed.bytes / WEIGHTY;
        parallel::first_error(&others, threads, weight, |group, spare| {
            self.payload_files(group, recalled, spare)
        })
    }

    /// Reads the files of a group, side by side where two pass by; refuses the first of those that are wrong.
    fn payload_files<'a>(
        &'a self,
        group: &[Numbered<'_, (&'a String, &'a File)>],
        recalled: Option<&Recalled<'_>>,
        spare: &Spare,
    ) -> Result<(), (usize, Error)> {
        let (mut files, mut begun, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (name, listed)) in group {
            match self.begin(name, listed, recalled) {
                Ok(None) => {}
                Ok(Some((file, one))) => {
                    files.push(file);
                    begun.push((*at, one));
                }
                Err(error) => refused.push((*at, error)),
            }
        }
        // One part for the group: who holds a part takes no second one.
        let _turn = self.holding.take(begun.iter().map(|(_, one)| one.check.held()).sum());
        let watches = begun.iter_mut().map(|(_, one)| one.watch());
        let found = hash_files(files.into_iter().zip(watches), spare);
        for ((at, one), found) in begun.into_iter().zip(found) {
            let ended = found.and_then(|found| self.end(one, found, recalled));
            refused.extend(ended.err().map(|error| (at, error)));
        }
        refused.into_iter().min_by_key(|(at, _)| *at).map_or(Ok(()), Err)
    }

    /// Opens one file. A document is read at once; nothing is left to be read of it, nor of the very file that
    /// was read before.
    fn begin<'a>(
        &'a self,
        name: &'a str,
        listed: &'a File,
        recalled: Option<&Recalled<'_>>,
    ) -> Result<Option<(OpenFile<'a>, Begun<'a>)>, Error> {
        let is_document = matches!(name.rsplit('.').next(), Some("json" | "toml" | "csv"));
        if is_document && recalled.is_none() && self.document(name, listed)? {
            return Ok(None);
        }
        let file = self.folder.file(name)?;
        if file.length() != listed.bytes {
            let (expected, found) = (listed.bytes, file.length());
            let place = self.folder.place(name);
            return Err(WRONG_SIZE.at(
                place,
                format!("{expected} bytes"),
                format!("{found} bytes"),
            ));
        }
        let stamp = file.stamp();
        if let Some(holdings) = recalled.and_then(|recalled| recalled.seen(name, &stamp)) {
            self.hold(name, holdings);
            return Ok(None);
        }
        if is_document {
            let _turn = self.parsing.take(usize::try_from(listed.bytes).unwrap_or(usize::MAX));
            self.judge(name, file.read_as(listed.digest, DOCUMENT_CAP)?)?;
            if let Some(recalled) = recalled {
                recalled.add(name, &stamp, None);
            }
            return Ok(None);
        }
        let check = PayloadCheck::of(name, listed, &file, &self.parsing);
        Ok(Some((file, Begun { name, listed, stamp, check })))
    }

    /// Ends a file that has passed by and has the digest `found`.
    fn end(
        &self,
        begun: Begun<'_>,
        found: Digest,
        recalled: Option<&Recalled<'_>>,
    ) -> Result<(), Error> {
        let Begun { name, listed, stamp, check } = begun;
        let (parts, bytes) = check.finish(listed.digest, found)?;
        bytes.into_iter().for_each(|bytes| listed.keep(bytes));
        let holdings = match parts {
            KeptParts::Tensors(passed) => {
                let passed = listed.passed.get_or_init(|| passed);
                Some(passed.holdings.clone())
            }
            KeptParts::Records(records) => {
                // There is one such file.
                let _ = self.records.set(records);
                None
            }
            KeptParts::Nothing => None,
        };
        if let Some(recalled) = recalled {
            recalled.add(name, &stamp, holdings.clone());
        }
        self.hold(name, holdings);
        Ok(())
    }

    /// Notes what a file holds of a model.
    fn hold(&self, name: &str, holdings: Option<Holdings>) {
        if let Some(holdings) = holdings {
            let mut known = self.holdings.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(name.to_owned(), holdings);
        }
    }

    /// Reads, hashes and judges one document; answers whether it has the bytes that are listed.
    fn document(&self, name: &str, listed: &File) -> Result<bool, Error> {
        let length = usize::try_from(listed.bytes).unwrap_or(usize::MAX);
        if length > DOCUMENT_CAP {
            return Ok(false);
        }
        let _turn = self.parsing.take(length);
        let Some(bytes) = self.folder.bytes(name, length, listed.digest) else { return Ok(false) };
        // Small documents are asked for again as soon as the bundle is judged.
        let is_kept = length <= KEPT_DOCUMENT && self.keeping.take(length);
        let kept = is_kept.then(|| bytes.clone());
        self.judge(name, bytes)?;
        kept.into_iter().for_each(|bytes| listed.keep(bytes));
        Ok(true)
    }

    /// Judges a document with these bytes, and lets go of it: a bundle may hold many.
    fn judge(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let place = || self.folder.place(name);
        opaque::refuse_start(place, &bytes)?;
        let is_published = self.is_transcribed && name.starts_with(PUBLISHED);
        let is_json = name.ends_with(".json") && !is_published;
        if is_json && glance::is_canonical(&bytes) {
            return Ok(());
        }
        let document = Document::parse(Source::new(place().file, bytes)?)?;
        if is_json { canonical::check(&document) } else { Ok(()) }
    }
}

/// A file that was opened, and of which the bytes still pass by.
struct Begun<'a> {
    name: &'a str,
    listed: &'a File,
    stamp: Stamp,
    check: PayloadCheck<'a>,
}

impl Begun<'_> {
    fn watch(&mut self) -> impl FnMut(&[u8]) -> Result<(), Error> {
        |piece| self.check.feed(piece)
    }
}
