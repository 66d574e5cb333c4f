//! Writing a bundle so that a crash at any moment leaves an unfinished run or a finished bundle.
//!
//! While a run goes on there is only payload. At the end everything is made durable in this order:
//! payload, receipt, manifests, the removal of `state.json`, and `bagit.txt`, which makes the folder a
//! bundle, last of all. Each file appears under its name only when its bytes are on disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::folder::{Folder, Listing};
use super::manifest::{self, Manifest, Oxum};
use super::receipt::{Listed, RECEIPT, Receipt, Statement};
use super::{BAD_NAME, CANNOT_WRITE, FINISHED, NOT_REGULAR, UNWRITABLE, name};
use crate::digest::{Digest, NotCanonical, canonical};
use crate::parallel::Spare;
use crate::source::{Place, Refusal};

/// The ending of files that are being written.
const PARTIAL: &str = ".partial";

/// The steps that change a disk; tests put one in between that fails.
pub trait Disk {
    /// Makes a folder and those above it.
    fn make_folders(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }
    /// Makes an empty file, or empties it.
    fn create(&mut self, path: &Path) -> io::Result<File> {
        File::create(path)
    }
    /// Writes all bytes.
    fn write(&mut self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }
    /// Makes a file or the entries of a folder durable.
    fn sync(&mut self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
    /// Gives a file another name.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
    /// Removes a file.
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// The disk as it is.
#[derive(Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {}

/// Writes one bundle.
#[derive(Debug)]
pub struct BundleWriter<D: Disk = LocalDisk> {
    folder: PathBuf,
    disk: D,
    date: Option<String>,
}

impl BundleWriter {
    /// Starts a bundle in the folder at `path`, which must be empty or not there.
    pub fn create(path: &Path) -> Result<Self, Refusal> {
        Self::create_on(LocalDisk, path)
    }

    /// Goes on with an unfinished bundle, keeping the payload that is there.
    pub fn resume(path: &Path) -> Result<Self, Refusal> {
        Self::resume_on(LocalDisk, path)
    }
}

impl<D: Disk> BundleWriter<D> {
    /// [`BundleWriter::create`] on another disk.
    pub(super) fn create_on(disk: D, path: &Path) -> Result<Self, Refusal> {
        let held = fs::read_dir(path).ok().and_then(|mut entries| entries.next());
        if held.is_some() {
            let place = Place::file(path.display().to_string());
            return Err(FINISHED.at(place, "an empty folder", "a folder with files"));
        }
        Self::resume_on(disk, path)
    }

    /// [`BundleWriter::resume`] on another disk.
    pub(super) fn resume_on(disk: D, path: &Path) -> Result<Self, Refusal> {
        let mut writer = Self { folder: path.to_owned(), disk, date: None };
        if fs::symlink_metadata(writer.path(manifest::DECLARATION)).is_ok() {
            let place = writer.place(manifest::DECLARATION);
            return Err(FINISHED.at(place, "an unfinished bundle", "a finished one"));
        }
        let data = writer.path("data");
        writer.disk.make_folders(&data).map_err(|error| writer.failed("data", &error))?;
        Ok(writer)
    }

    /// Writes the day of sealing into the bundle, as `2026-03-14`; without it the bytes depend on the
    /// payload alone.
    pub fn dated(mut self, date: impl Into<String>) -> Self {
        self.date = Some(date.into());
        self
    }

    /// Writes a payload file in one step: it has all of `bytes`, or it is not there.
    pub fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), Refusal> {
        self.payload_path(name)?;
        self.put(name, bytes)
    }

    /// Writes a payload file in canonical JSON.
    pub fn json(&mut self, name: &str, value: &Json) -> Result<(), Refusal> {
        let text = canonical(value).map_err(|error| self.unwritable(name, &error))?;
        self.file(name, (text + "\n").as_bytes())
    }

    /// Opens a payload file to which bytes are added at the end; what `write` took is flushed.
    pub fn writer(&mut self, name: &str) -> Result<File, Refusal> {
        let path = self.payload_path(name)?;
        let open = fs::OpenOptions::new().create(true).append(true).open(path);
        open.map_err(|error| self.failed(name, &error))
    }

    /// Makes the folder a bundle that `receipt` is about, and answers its digest. The sizes of the payload
    /// are filled in; of `receipt.files` only the external ones are kept.
    pub fn finish(mut self, receipt: &Receipt) -> Result<Digest, Refusal> {
        let listing = self.payload()?;
        let mut files = Manifest::new();
        for name in listing.keys() {
            files.insert(name.clone(), self.settle(name)?);
        }
        let text = self.statement(receipt, &listing, &files)?;
        self.put(RECEIPT, text.as_bytes())?;
        files.insert(RECEIPT.to_owned(), Digest::of(text.as_bytes()));
        for folder in folders(files.keys()) {
            self.sync(&folder)?;
        }
        let oxum =
            Oxum { bytes: listing.values().sum::<u64>() + text.len() as u64, files: files.len() };
        self.seal(oxum, &files)
    }

    /// The payload that is there, without the receipt; what an earlier attempt left half-written goes.
    fn payload(&mut self) -> Result<Listing, Refusal> {
        let shown = self.folder.display().to_string();
        let mut listing = Folder::open(&self.folder, &shown)?.list()?;
        let partial: Vec<_> = listing.keys().filter(|n| n.ends_with(PARTIAL)).cloned().collect();
        for name in partial {
            self.remove(&name)?;
        }
        listing.retain(|name, _| {
            name.starts_with("data/") && !name.ends_with(PARTIAL) && name != RECEIPT
        });
        name::check_set(listing.keys().map(String::as_str), |name| self.place(name))?;
        Ok(listing)
    }

    /// Makes a payload file durable and answers its digest.
    fn settle(&mut self, name: &str) -> Result<Digest, Refusal> {
        self.sync(name)?;
        let shown = self.folder.display().to_string();
        Folder::open(&self.folder, &shown)?.file(name)?.hash(&Spare::default(), |_| Ok(()))
    }

    fn statement(
        &self,
        receipt: &Receipt,
        listing: &Listing,
        files: &Manifest,
    ) -> Result<String, Refusal> {
        let held = listing.iter().map(|(name, bytes)| Listed {
            name: name.clone(),
            bytes: *bytes,
            sha256: None,
            external: None,
        });
        let external = receipt.files.iter().filter(|file| file.is_external()).cloned();
        let receipt = Receipt { files: held.chain(external).collect(), ..receipt.clone() };
        let subjects: BTreeMap<_, _> = files.clone();
        Statement { subjects, receipt }.write().map_err(|error| self.unwritable(RECEIPT, &error))
    }

    /// Writes the tag files, the declaration last.
    fn seal(mut self, oxum: Oxum, files: &Manifest) -> Result<Digest, Refusal> {
        let info = manifest::write_info(oxum, self.date.as_deref());
        let payload = manifest::write(files);
        let contents = [&info, manifest::DECLARATION_TEXT, &payload];
        let tags: Manifest = std::iter::zip(manifest::LISTED_TAGS, contents)
            .map(|(name, text)| (name.to_owned(), Digest::of(text.as_bytes())))
            .collect();
        let tags = manifest::write(&tags);
        for (name, text) in
            [(manifest::INFO, &info), (manifest::PAYLOAD, &payload), (manifest::TAGS, &tags)]
        {
            self.put(name, text.as_bytes())?;
        }
        if self.path(manifest::STATE).exists() {
            self.remove(manifest::STATE)?;
        }
        self.sync("")?;
        self.put(manifest::DECLARATION, manifest::DECLARATION_TEXT.as_bytes())?;
        self.sync("")?;
        Ok(Digest::of(tags.as_bytes()))
    }

    /// Writes a file under a temporary name, makes it durable, and gives it its name.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Refusal> {
        let (path, partial) = (self.path(name), self.path(&format!("{name}{PARTIAL}")));
        let result = self.disk.create(&partial).and_then(|mut file| {
            self.disk.write(&mut file, bytes)?;
            self.disk.sync(&partial)?;
            self.disk.rename(&partial, &path)
        });
        result.map_err(|error| self.failed(name, &error))
    }

    /// The path of a payload file whose folders exist; the receipt is not the caller's to write.
    fn payload_path(&mut self, name: &str) -> Result<PathBuf, Refusal> {
        name::check(name, || self.place(name))?;
        if !name.starts_with("data/") || name == RECEIPT || name.ends_with(PARTIAL) {
            let expected = format!("a name in `data/` other than `{RECEIPT}`");
            return Err(BAD_NAME.at(self.place(name), expected, format!("`{name}`")));
        }
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            self.disk.make_folders(parent).map_err(|error| self.failed(name, &error))?;
        }
        if path.is_symlink() {
            return Err(NOT_REGULAR.at(self.place(name), "a plain file", "a symbolic link"));
        }
        Ok(path)
    }

    pub(super) fn sync(&mut self, name: &str) -> Result<(), Refusal> {
        let path = self.path(name);
        self.disk.sync(&path).map_err(|error| self.failed(name, &error))
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<(), Refusal> {
        let path = self.path(name);
        self.disk.remove(&path).map_err(|error| self.failed(name, &error))
    }

    /// Takes the declaration away, so that the folder is unfinished again.
    pub(super) fn reopen(disk: D, path: &Path) -> Result<Self, Refusal> {
        let mut writer = Self { folder: path.to_owned(), disk, date: None };
        if writer.path(manifest::DECLARATION).is_file() {
            writer.remove(manifest::DECLARATION)?;
            writer.sync("")?;
        }
        Self::resume_on(writer.disk, path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn place(&self, name: &str) -> Place {
        Place::file(self.path(name).display().to_string())
    }

    pub(super) fn failed(&self, name: &str, error: &io::Error) -> Refusal {
        CANNOT_WRITE.at(self.place(name), "a file that can be written", error.to_string())
    }

    pub(super) fn unwritable(&self, name: &str, error: &NotCanonical) -> Refusal {
        UNWRITABLE.at(self.place(name), "values with canonical text", error.to_string())
    }
}

/// The folders that hold `files`, the top one not included.
fn folders<'a>(files: impl Iterator<Item = &'a String>) -> std::collections::BTreeSet<String> {
    files
        .flat_map(|name| name.match_indices('/').filter_map(|(at, _)| name.get(..at)))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Bundle, Origin, Run};
    use super::*;
    use serde_json::json;

    /// A disk that fails after some steps, in the middle of a write where it is one.
    struct FailingDisk {
        steps_left: usize,
    }

    impl FailingDisk {
        fn step(&mut self) -> io::Result<()> {
            self.steps_left = self
                .steps_left
                .checked_sub(1)
                .ok_or_else(|| io::Error::other("the lights went out"))?;
            Ok(())
        }
    }

    impl Disk for FailingDisk {
        fn make_folders(&mut self, path: &Path) -> io::Result<()> {
            self.step()?;
            LocalDisk.make_folders(path)
        }
        fn create(&mut self, path: &Path) -> io::Result<File> {
            self.step()?;
            LocalDisk.create(path)
        }
        fn write(&mut self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
            if let Err(error) = self.step() {
                LocalDisk.write(file, &bytes[..bytes.len() / 2])?;
                return Err(error);
            }
            LocalDisk.write(file, bytes)
        }
        fn sync(&mut self, path: &Path) -> io::Result<()> {
            self.step()?;
            LocalDisk.sync(path)
        }
        fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
            self.step()?;
            LocalDisk.rename(from, to)
        }
        fn remove(&mut self, path: &Path) -> io::Result<()> {
            self.step()?;
            LocalDisk.remove(path)
        }
    }

    fn receipt() -> Receipt {
        let run = Run { id: "b".into(), study: None, arm: None, plan_commit: None, finished: None };
        Receipt { run: Some(run), ..Receipt::new(Origin::Emitted) }
    }

    fn write<D: Disk>(mut writer: BundleWriter<D>) -> Result<Digest, Refusal> {
        writer.json("data/config.json", &json!({"dim": 64, "arm": "a"}))?;
        writer.file("data/notes/log.txt", b"one\n")?;
        fs::write(writer.path("state.json"), "{}").unwrap();
        writer.finish(&receipt())
    }

    #[test]
    fn a_bundle_that_was_written_loads_and_keeps_its_bytes() {
        let temporary = tempfile::tempdir().unwrap();
        let digests: Vec<_> = ["one/b", "two/b"]
            .map(|name| {
                let path = temporary.path().join(name);
                let digest = write(BundleWriter::create(&path).unwrap()).unwrap();
                let bundle = Bundle::load_folder(&path, "receipts/b", Some(&digest), 2).unwrap();
                assert_eq!((bundle.digest(), bundle.files().len()), (digest, 3));
                let config = bundle.document("data/config.json").unwrap();
                assert_eq!(config.root().at("/dim").unwrap().integer().unwrap(), 64);
                assert_eq!(BundleWriter::create(&path).unwrap_err().code.id, "bundle::finished");
                assert_eq!(BundleWriter::resume(&path).unwrap_err().code.id, "bundle::finished");
                digest
            })
            .into();
        assert_eq!(digests[0], digests[1]);
    }

    #[test]
    fn wherever_it_stops_the_folder_is_unfinished_or_whole() {
        let mut refused = 0;
        for steps in 0.. {
            let temporary = tempfile::tempdir().unwrap();
            let path = temporary.path().join("b");
            let disk = FailingDisk { steps_left: steps };
            let stopped = BundleWriter::create_on(disk, &path).and_then(write);
            let seen = Bundle::load_folder(&path, "b", None, 1);
            let Err(error) = stopped else {
                assert_eq!(seen.unwrap().digest(), stopped.unwrap());
                break;
            };
            assert_eq!(error.code.id, "bundle::cannot-write", "{steps} {error}");
            match seen {
                Err(refusal) => {
                    assert!(["bundle::absent", "bundle::unfinished"].contains(&refusal.code.id));
                    refused += 1;
                    let again = write(BundleWriter::resume(&path).unwrap()).unwrap();
                    assert_eq!(Bundle::load_folder(&path, "b", None, 1).unwrap().digest(), again);
                }
                // Only the last step, which makes the last name durable, may be missing.
                Ok(bundle) => assert_eq!(bundle.files().len(), 3),
            }
        }
        assert!(refused > 30, "{refused}");
    }

    #[test]
    fn names_and_values_that_could_not_be_read_are_not_written() {
        let temporary = tempfile::tempdir().unwrap();
        let mut writer = BundleWriter::create(temporary.path()).unwrap();
        for (name, code) in [
            ("data/../x", "bundle::bad-name"),
            ("x", "bundle::bad-name"),
            (RECEIPT, "bundle::bad-name"),
            ("data/x.pt", "bundle::opaque-format"),
        ] {
            assert_eq!(writer.file(name, b"").unwrap_err().code.id, code, "{name}");
        }
        let large = writer.json("data/x.json", &json!(u64::MAX)).unwrap_err();
        assert_eq!(large.code.id, "bundle::unwritable");
    }
}
