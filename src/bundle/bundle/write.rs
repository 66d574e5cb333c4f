//! Writing a bundle so that a crash at any moment leaves an unfinished run or a finished bundle.
//!
//! During a run there is only payload. At the end everything is made durable in this order:
//! payload, receipt, manifests, the removal of `state.json`, and `bagit.txt`, which makes the folder a
//! bundle, last of all. Each file appears under its name only when its bytes are on disk, and each
//! step starts when the names of the previous one are durable.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::folder::{Folder, Listing};
use super::manifest::{self, Manifest, Oxum};
use super::receipt::{ListedFile, RECEIPT, Receipt, Statement};
use super::{BAD_NAME, CANNOT_WRITE, FINISHED, UNWRITABLE, name};
use repro_core::digest::{Digest, NotCanonical, canonical};
use repro_core::disk::{Disk, HeldPath, LocalDisk, PARTIAL, folder_of, partial_of, root_of};
use repro_core::parallel::Spare;
use repro_core::source::{Error, Location, read_plain};

/// Writes one bundle.
#[derive(Debug)]
pub struct BundleWriter<'a> {
    folder: PathBuf,
    /// Beneath which no link is followed.
    root: PathBuf,
    disk: &'a dyn Disk,
    date: Option<String>,
}

impl BundleWriter<'static> {
    /// Starts a bundle in the folder at `path`, which must be empty or not there.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::create_on(&LocalDisk, path)
    }
}

impl<'a> BundleWriter<'a> {
    fn of(disk: &'a dyn Disk, path: &Path) -> Self {
        Self { folder: path.to_owned(), root: root_of(path), disk, date: None }
    }

    /// [`BundleWriter::create`] on any disk.
    pub fn create_on(disk: &'a dyn Disk, path: &Path) -> Result<Self, Error> {
        let held = fs::read_dir(path).ok().and_then(|mut entries| entries.next());
        if held.is_some() {
            let place = Location::file(path.display().to_string());
            return Err(FINISHED.at(place, "an empty folder", "a folder with files"));
        }
        Self::resume_on(disk, path)
    }

    /// Goes on with an unfinished bundle, keeping the payload that is there.
    pub fn resume_on(disk: &'a dyn Disk, path: &Path) -> Result<Self, Error> {
        let writer = Self::of(disk, path);
        if fs::symlink_metadata(writer.path(manifest::DECLARATION)).is_ok() {
            let place = writer.place(manifest::DECLARATION);
            return Err(FINISHED.at(place, "an unfinished bundle", "a finished bundle"));
        }
        let data = writer.path("data");
        // An attempt before may have been stopped between the making of a folder and its syncing.
        let made = disk
            .make_folders(&writer.root, &data)
            .and_then(|()| disk.sync(&folder_of(&writer.folder)))
            .and_then(|()| disk.sync(&writer.folder));
        made.map_err(|error| writer.failed("data", &error))?;
        Ok(writer)
    }

    /// Makes the folder at `path` a bundle, and answers its digest, where only the last step of that is
    /// missing: a writer was stopped between the removal of the state and the declaration.
    pub fn complete_on(disk: &'a dyn Disk, path: &Path) -> Result<Option<Digest>, Error> {
        let holds = |name| fs::symlink_metadata(path.join(name)).is_ok();
        if !holds(manifest::TAGS) || holds(manifest::STATE) || holds(manifest::DECLARATION) {
            return Ok(None);
        }
        let mut writer = Self::resume_on(disk, path)?;
        let listing = writer.payload()?;
        let (mut files, mut oxum) = writer.settled(&listing)?;
        let folder = Folder::open(&writer.folder, &writer.folder.display().to_string())?;
        let receipt = folder.file(RECEIPT)?;
        oxum.bytes += receipt.length();
        oxum.files += 1;
        files.insert(RECEIPT.to_owned(), receipt.hash(&Spare::default(), |_| Ok(()))?);
        let written = read_plain(&writer.path(manifest::PAYLOAD));
        if written.ok().as_deref() != Some(manifest::write(&files).as_bytes()) {
            return Ok(None);
        }
        writer.seal(oxum, &files).map(Some)
    }

    /// Writes the day of sealing into the bundle, as `2026-03-14`; without it the bytes depend on the
    /// payload alone.
    pub fn dated(mut self, date: impl Into<String>) -> Self {
        self.date = Some(date.into());
        self
    }

    /// Writes a payload file in one step: it has all of `bytes`, or it is not there.
    pub fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.payload_path(name)?;
        self.put(name, bytes)
    }

    /// Writes a payload file in canonical JSON.
    pub fn json(&mut self, name: &str, value: &Json) -> Result<(), Error> {
        let text = canonical(value).map_err(|error| self.unwritable(name, &error))?;
        self.file(name, (text + "\n").as_bytes())
    }

    /// Adds bytes at the end of a payload file; what this took is flushed, and survives this process.
    pub fn append(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.payload_path(name)?;
        let appended = self.held(name).and_then(|path| self.disk.append(&path, bytes));
        appended.map_err(|error| self.failed(name, &error))
    }

    /// Cuts what follows the first `length` bytes of a payload file.
    pub fn cut(&mut self, name: &str, length: u64) -> Result<(), Error> {
        self.payload_path(name)?;
        let cut = self.held(name).and_then(|path| self.disk.cut(&path, length));
        cut.map_err(|error| self.failed(name, &error))
    }

    /// Makes the bytes of a file durable; those of a folder's name are its entries.
    pub fn sync(&mut self, name: &str) -> Result<(), Error> {
        let path = self.path(name);
        self.disk.sync(&path).map_err(|error| self.failed(name, &error))
    }

    /// Makes the folder a bundle that `receipt` is about, and answers its digest. The sizes of the payload
    /// are filled in; of `receipt.files` only the external ones are kept.
    pub fn finish(mut self, receipt: &Receipt) -> Result<Digest, Error> {
        let listing = self.payload()?;
        let (mut files, mut oxum) = self.settled(&listing)?;
        let text = self.statement(receipt, &listing, &files)?;
        self.put(RECEIPT, text.as_bytes())?;
        oxum.bytes += text.len() as u64;
        oxum.files += 1;
        files.insert(RECEIPT.to_owned(), Digest::of(text.as_bytes()));
        self.seal(oxum, &files)
    }

    /// The payload that is there, without the receipt; what an earlier attempt left half-written goes.
    fn payload(&mut self) -> Result<Listing, Error> {
        let shown = self.folder.display().to_string();
        let mut listing = Folder::open(&self.folder, &shown)?.list(1)?;
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

    /// Makes payload files durable; answers their digests, and how much they are.
    fn settled(&mut self, listing: &Listing) -> Result<(Manifest, Oxum), Error> {
        let mut files = Manifest::new();
        let folder = Folder::open(&self.folder, &self.folder.display().to_string())?;
        for name in listing.keys() {
            self.sync(name)?;
            files.insert(name.clone(), folder.file(name)?.hash(&Spare::default(), |_| Ok(()))?);
        }
        Ok((files, Oxum { bytes: listing.values().sum(), files: listing.len() }))
    }

    fn statement(
        &self,
        receipt: &Receipt,
        listing: &Listing,
        files: &Manifest,
    ) -> Result<String, Error> {
        let held = listing.iter().map(|(name, bytes)| ListedFile {
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

    /// Writes the tag files, the declaration last, when the payload and all other names are durable.
    fn seal(mut self, oxum: Oxum, files: &Manifest) -> Result<Digest, Error> {
        let info = manifest::write_info(oxum, self.date.as_deref());
        let payload = manifest::write(files);
        let contents = [&info, manifest::DECLARATION_TEXT, &payload];
        let tags: Manifest = std::iter::zip(manifest::LISTED_TAGS, contents)
            .map(|(name, text)| (name.to_owned(), Digest::of(text.as_bytes())))
            .collect();
        let tags = manifest::write(&tags);
        self.sync_names()?;
        for (name, text) in
            [(manifest::INFO, &info), (manifest::PAYLOAD, &payload), (manifest::TAGS, &tags)]
        {
            self.put(name, text.as_bytes())?;
        }
        self.sync("")?;
        self.remove_state()?;
        self.sync("")?;
        self.put(manifest::DECLARATION, manifest::DECLARATION_TEXT.as_bytes())?;
        self.sync("")?;
        Ok(Digest::of(tags.as_bytes()))
    }

    /// Writes a file in one step; its name is durable when its folder is synced.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.held(name);
        let put = path.and_then(|path| self.disk.replace(&path, &partial_of(&path), bytes));
        put.map_err(|error| self.failed(name, &error))
    }

    /// Makes the names of all files durable, those of earlier attempts too.
    pub(super) fn sync_names(&mut self) -> Result<(), Error> {
        let sync = |folder: &Path, left: &mut Vec<PathBuf>| -> io::Result<()> {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    left.push(entry.path());
                }
            }
            self.disk.sync(folder)
        };
        let mut left = vec![self.folder.clone()];
        while let Some(folder) = left.pop() {
            sync(&folder, &mut left).map_err(|error| self.failed("", &error))?;
        }
        Ok(())
    }

    /// Makes the folders of a payload file; the receipt is not the caller's to write.
    fn payload_path(&mut self, name: &str) -> Result<(), Error> {
        name::check(name, || self.place(name))?;
        if !name.starts_with("data/") || name == RECEIPT || name.ends_with(PARTIAL) {
            let expected = format!("a name in `data/` other than `{RECEIPT}`");
            return Err(BAD_NAME.at(self.place(name), expected, format!("`{name}`")));
        }
        let made = self.disk.make_folders(&self.root, &folder_of(&self.path(name)));
        made.map_err(|error| self.failed(name, &error))
    }

    /// The path of a file as it is written: no link is on the way to it.
    fn held(&self, name: &str) -> io::Result<HeldPath> {
        self.disk.hold(&self.root, &self.path(name))
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<(), Error> {
        let removed = self.held(name).and_then(|path| self.disk.remove(&path));
        removed.map_err(|error| self.failed(name, &error))
    }

    /// Takes the declaration away, so that the folder is unfinished again.
    pub(super) fn reopen(disk: &'a dyn Disk, path: &Path) -> Result<Self, Error> {
        let mut writer = Self::of(disk, path);
        if writer.path(manifest::DECLARATION).is_file() {
            writer.remove(manifest::DECLARATION)?;
            writer.sync("")?;
        }
        Self::resume_on(disk, path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn place(&self, name: &str) -> Location {
        Location::file(self.path(name).display().to_string())
    }

    pub(super) fn failed(&self, name: &str, error: &io::Error) -> Error {
        CANNOT_WRITE.at(self.place(name), "a writable file", error.to_string())
    }

    pub(super) fn unwritable(&self, name: &str, error: &NotCanonical) -> Error {
        UNWRITABLE.at(self.place(name), "values that canonical JSON allows", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bundle, Origin, Run, saved_weights_name};
    use super::*;
    use repro_core::disk::trial::{DiskFault, Trial, tree};
    use serde_json::json;

    fn receipt() -> Receipt {
        let run = Run { id: "b".into(), study: None, arm: None, plan_commit: None, finished: None };
        Receipt { run: Some(run), ..Receipt::new(Origin::Emitted) }
    }

    fn write(mut writer: BundleWriter<'_>) -> Result<Digest, Error> {
        writer.json("data/config.json", &json!({"dim": 64, "arm": "a"}))?;
        for (step, text) in [(1, "one\n"), (2, "two\n")] {
            writer.file(&format!("data/notes/{step}.txt"), text.as_bytes())?;
            let name = saved_weights_name(step);
            writer.save_state(&json!({"step": step, "weights": name}), Some((&name, b"w")))?;
        }
        writer.finish(&receipt())
    }

    /// Writes the bundle `b` in a folder from wherever that was stopped.
    fn work(disk: &dyn Disk, root: &Path) -> Result<(), String> {
        let path = root.join("out/b");
        let write = || {
            if path.join(manifest::DECLARATION).exists() {
                return Ok(());
            }
            match BundleWriter::complete_on(disk, &path)? {
                Some(_) => Ok(()),
                None => write(BundleWriter::resume_on(disk, &path)?).map(drop),
            }
        };
        write().map_err(|error| error.to_string())
    }

    /// The folder is unfinished, or a bundle; the weights that a state names are there.
    fn check(root: &Path) {
        let path = root.join("out/b");
        match Bundle::load_folder(&path, "b", None, 1) {
            Ok(bundle) => assert_eq!(bundle.files().len(), 4),
            Err(error) => {
                let codes = ["bundle::not-found", "bundle::not-a-bag", "bundle::unfinished"];
                assert!(codes.contains(&error.code.id), "{error}");
            }
        }
        let Ok(state) = fs::read(path.join(manifest::STATE)) else { return };
        let state: Json = serde_json::from_slice(&state).unwrap();
        assert_eq!(fs::read(path.join(state["weights"].as_str().unwrap())).unwrap(), b"w");
        for step in 1..=state["step"].as_u64().unwrap() {
            assert!(path.join(format!("data/notes/{step}.txt")).exists(), "{state}");
        }
    }

    const TRIAL: Trial<'_> = Trial {
        faults: &DiskFault::ALL,
        prepare: &|_| {},
        work: &work,
        check: &check,
        outcome: &tree,
    };

    #[test]
    fn a_bundle_that_was_written_loads_and_keeps_its_bytes() {
        let temporary = tempfile::tempdir().unwrap();
        let digests: Vec<_> = ["one/b", "two/b"]
            .map(|name| {
                let path = temporary.path().join(name);
                let digest = write(BundleWriter::create(&path).unwrap()).unwrap();
                let bundle = Bundle::load_folder(&path, "receipts/b", Some(&digest), 2).unwrap();
                assert_eq!((bundle.digest(), bundle.files().len()), (digest, 4));
                let config = bundle.document("data/config.json").unwrap();
                assert_eq!(config.root().at("/dim").unwrap().integer().unwrap(), 64);
                assert_eq!(BundleWriter::create(&path).unwrap_err().code.id, "bundle::finished");
                assert_eq!(
                    BundleWriter::resume_on(&LocalDisk, &path).unwrap_err().code.id,
                    "bundle::finished"
                );
                digest
            })
            .into();
        assert_eq!(digests[0], digests[1]);
    }

    #[test]
    fn whichever_step_fails_the_folder_is_unfinished_or_whole() {
        let trials = TRIAL.faults();
        assert!(trials > 200, "{trials}");
    }

    #[test]
    fn without_power_the_folder_is_unfinished_or_whole() {
        let falls = TRIAL.power(60);
        assert!(falls > 120, "{falls}");
    }

    #[test]
    fn only_a_sealing_that_stopped_at_its_end_is_completed() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("b");
        let complete = || BundleWriter::complete_on(&LocalDisk, &path).unwrap();
        assert_eq!(complete(), None);
        let digest = write(BundleWriter::create(&path).unwrap()).unwrap();
        assert_eq!(complete(), None, "it is a bundle");
        let undeclared = || fs::remove_file(path.join(manifest::DECLARATION)).unwrap();
        undeclared();
        fs::write(path.join("resume-000002.safetensors"), "w").unwrap();
        assert_eq!(complete(), Some(digest));
        Bundle::load_folder(&path, "b", Some(&digest), 1).unwrap();
        undeclared();
        fs::write(path.join(manifest::STATE), "{}").unwrap();
        assert_eq!(complete(), None, "a run goes on");
        fs::remove_file(path.join(manifest::STATE)).unwrap();
        fs::write(path.join("data/notes/1.txt"), "three").unwrap();
        assert_eq!(complete(), None, "the payload is another");
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
