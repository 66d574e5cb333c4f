//! Bundles in a store, fetched into a folder: each file is hashed while it is fetched, and files that the manifests do not list, or
//! list with a different digest, are rejected.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::bundle::{
    DECLARATION, EXTRA_FILE, INFO, MISSING_FILE, NOT_A_BAG, PAYLOAD, SIGNATURE, StatedPayload,
    TAG_FILES, TAG_MANIFEST, WRONG_DIGEST, WRONG_SIZE,
};
use repro_core::digest::{Digest, Hasher};
use repro_core::parallel::{self, Stock};
use repro_core::source::{DOCUMENT_CAP, Error, Location, Source};

use crate::storage::NOT_WRITTEN;
use crate::storage::store::Store;

/// So many files are fetched at a time: a server is far away, and most files are small.
const AT_A_TIME: usize = 8;

/// Fetches the bundle `name` of a store into a new folder in `into`, which belongs to the caller alone, and answers its path. What is
/// there afterwards is for [`Bundle::load_folder`] to judge, as any folder is.
///
/// Refuses what is no bundle, files that no manifest lists or that are missing, bytes of another digest, more bytes than the bundle
/// says that it has, and one that the disk has no room for. Nothing is written outside of the folder.
///
/// [`Bundle::load_folder`]: crate::bundle::Bundle::load_folder
pub fn fetch_bundle(store: &Store, name: &str, into: &Path) -> Result<PathBuf, Error> {
    let remote = Remote { store, name };
    let folder = into.join(name.rsplit('/').next().unwrap_or(name));
    let Some(declaration) = remote.document(DECLARATION)? else {
        let place = Location::file(remote.shown(""));
        let error = NOT_A_BAG.at(place, "`bagit.txt` and `data/`", "no `bagit.txt`");
        return Err(error.help("check the URL; a run that is still training is not a bundle yet"));
    };
    let [info, tags, manifest] =
        [INFO, TAG_MANIFEST, PAYLOAD].map(|tag| remote.required_document(tag));
    let (info, tags, manifest) = (info?, tags?, manifest?);
    let payload = StatedPayload::parse(&info, &manifest)?;
    remote.lists_no_others(&payload)?;
    has_room(into, payload.bytes, || Location::file(remote.shown("")))?;
    remote.write(&folder, INFO, info.text().as_bytes())?;
    remote.write(&folder, TAG_MANIFEST, tags.text().as_bytes())?;
    remote.write(&folder, PAYLOAD, manifest.text().as_bytes())?;
    if let Some(signature) = store.get(&remote.object(SIGNATURE), DOCUMENT_CAP)? {
        remote.write(&folder, SIGNATURE, &signature)?;
    }
    remote.fetch(&payload, &folder)?;
    // Last, as who writes a bundle does it: before, the folder is none.
    remote.write(&folder, DECLARATION, declaration.text().as_bytes())?;
    Ok(folder)
}

/// A bundle in a store.
#[derive(Clone, Copy)]
struct Remote<'a> {
    store: &'a Store,
    name: &'a str,
}

impl Remote<'_> {
    fn object(&self, file: &str) -> String {
        format!("{}/{file}", self.name)
    }

    /// How messages name one of its files, or all of it.
    fn shown(&self, file: &str) -> String {
        let (store, name) = (self.store.shown(), self.name);
        if file.is_empty() { format!("{store}/{name}") } else { format!("{store}/{name}/{file}") }
    }

    fn document(&self, file: &str) -> Result<Option<Source>, Error> {
        let bytes = self.store.get(&self.object(file), DOCUMENT_CAP)?;
        bytes.map(|bytes| Source::new(self.shown(file), bytes)).transpose()
    }

    fn required_document(&self, file: &str) -> Result<Source, Error> {
        self.document(file)?.ok_or_else(|| self.missing(file))
    }

    fn missing(&self, file: &str) -> Error {
        MISSING_FILE.at(Location::file(self.shown(file)), "this file", "nothing")
    }

    /// Refuses files that no manifest lists, where the store can tell. Object storage marks folders by objects without bytes.
    fn lists_no_others(&self, payload: &StatedPayload) -> Result<(), Error> {
        if !self.store.can_list() {
            return Ok(());
        }
        let below = format!("{}/", self.name);
        let is_tag = |file: &str| TAG_FILES.contains(&file) || file == SIGNATURE;
        let is_folder = |file: &str| {
            let folder = format!("{file}/");
            let next = payload.files.range(folder.clone()..).next();
            next.is_some_and(|(name, _)| name.starts_with(&folder))
        };
        for (object, bytes) in self.store.list(self.name)? {
            let file = object.strip_prefix(&below).unwrap_or(&object);
            let is_marker = bytes == 0 && (object == self.name || is_folder(file));
            if !payload.files.contains_key(file) && !is_tag(file) && !is_marker {
                let place = Location::file(self.shown(file));
                return Err(EXTRA_FILE.at(place, "a file listed in the manifest", "this file"));
            }
        }
        Ok(())
    }

    /// Fetches the payload, which may have no more bytes than is said of it.
    fn fetch(&self, payload: &StatedPayload, folder: &Path) -> Result<(), Error> {
        let files: Vec<_> = payload.files.iter().collect();
        let left = Stock::of(usize::try_from(payload.bytes).unwrap_or(usize::MAX));
        parallel::first_error(
            &files,
            AT_A_TIME,
            |_| 0,
            |group, _| {
                group.iter().try_for_each(|(at, (name, digest))| {
                    self.fetch_file(name, digest, folder, &left).map_err(|error| (*at, error))
                })
            },
        )
    }

    fn fetch_file(
        &self,
        name: &str,
        digest: &Digest,
        folder: &Path,
        left: &Stock,
    ) -> Result<(), Error> {
        let place = || Location::file(self.shown(name));
        let mut file = self.new_file(folder, name)?;
        let mut hasher = Hasher::default();
        let mut sink = |piece: &[u8]| {
            if !left.take(piece.len()) {
                let expected = format!("the byte count stated in `{INFO}`");
                return Err(WRONG_SIZE.at(place(), expected, "more"));
            }
            hasher.update(piece);
            file.write_all(piece).map_err(|error| self.not_written(name, &error))
        };
        if self.store.pass(&self.object(name), &mut sink)?.is_none() {
            return Err(self.missing(name));
        }
        let found = hasher.finish();
        if found != *digest {
            return Err(WRONG_DIGEST.at(place(), digest.prefixed(), found.prefixed()));
        }
        Ok(())
    }

    fn write(&self, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let written = self.new_file(folder, name)?.write_all(bytes);
        written.map_err(|error| self.not_written(name, &error))
    }

    /// A file that was not there, in a folder that nobody else writes into; `name` is one that manifests may have.
    fn new_file(&self, folder: &Path, name: &str) -> Result<fs::File, Error> {
        let path = folder.join(name);
        let above = path.parent().unwrap_or(folder);
        let made = fs::create_dir_all(above)
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path));
        made.map_err(|error| self.not_written(name, &error))
    }

    fn not_written(&self, name: &str, error: &std::io::Error) -> Error {
        let expected = "space for it in the temporary folder";
        let error = NOT_WRITTEN.at(Location::file(self.shown(name)), expected, error.to_string());
        error.help("set `TMPDIR` to a folder with more space, or download the bundle yourself")
    }
}

/// Refuses what the disk of a folder has no room for.
fn has_room(folder: &Path, bytes: u64, place: impl Fn() -> Location) -> Result<(), Error> {
    // Where the system does not say, writing will.
    let Ok(disk) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if bytes <= free {
        return Ok(());
    }
    let (expected, found) = (format!("{bytes} bytes of free space"), format!("{free} bytes"));
    let error = NOT_WRITTEN.at(place(), expected, found);
    Err(error.help("set `TMPDIR` to a folder with more space, or download the bundle yourself"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::bundle::{Bundle, BundleWriter, Origin, Receipt, Run};
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    /// A store with a bundle, and the folder of the bundle there.
    fn stored() -> (TempDir, Store, PathBuf) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("store/runs/one");
        let mut writer = BundleWriter::create(&folder).unwrap();
        writer.json("data/config.json", &json!({"hidden_size": 64})).unwrap();
        writer.append("data/notes.txt", &[b'x'; 300_000]).unwrap();
        let run = Run {
            id: "one".into(),
            study: None,
            arm: None,
            plan_commit: None,
            finished: Some(true),
        };
        writer.finish(&Receipt { run: Some(run), ..Receipt::new(Origin::Emitted) }).unwrap();
        let store = Store::open(temporary.path().join("store").to_str().unwrap()).unwrap();
        (temporary, store, folder)
    }

    fn fetch(temporary: &TempDir, store: &Store) -> Result<PathBuf, Error> {
        let into = tempfile::tempdir_in(temporary.path()).unwrap().keep();
        fetch_bundle(store, "runs/one", &into)
    }

    #[test]
    fn a_fetched_bundle_is_the_bundle() {
        let (temporary, store, folder) = stored();
        let fetched = fetch(&temporary, &store).unwrap();
        let load = |path: &Path| Bundle::load_folder(path, "runs/one", None, 1).unwrap();
        let (here, there) = (load(&fetched), load(&folder));
        assert_eq!((here.digest(), here.name()), (there.digest(), "one"));
        assert_eq!(here.files().len(), there.files().len());
    }

    /// Changes a file of the bundle in its store.
    fn change(folder: &Path, file: &str, with: impl Fn(String) -> String) {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, with(text)).unwrap();
    }

    #[test]
    fn what_is_not_the_bundle_is_refused() {
        type Damage = fn(&Path);
        let cases: [(&str, &str, Damage); 12] = [
            ("bundle::not-a-bag", "", |folder| fs::remove_file(folder.join(DECLARATION)).unwrap()),
            ("bundle::missing-file", "/bag-info.txt", |folder| {
                fs::remove_file(folder.join(INFO)).unwrap()
            }),
            ("bundle::missing-file", "/data/notes.txt", |folder| {
                fs::remove_file(folder.join("data/notes.txt")).unwrap();
            }),
            ("bundle::extra-file", "/data/other.txt", |folder| {
                change(folder, "data/other.txt", |_| "x".to_owned());
            }),
            ("bundle::extra-file", "/other", |folder| change(folder, "other", |_| "x".to_owned())),
            ("bundle::wrong-digest", "/data/notes.txt", |folder| {
                change(folder, "data/notes.txt", |text| text.replacen('x', "y", 1));
            }),
            ("bundle::wrong-digest", "/data/notes.txt", |folder| {
                change(folder, "data/notes.txt", |text| text[1..].to_owned());
            }),
            ("bundle::wrong-size", "", |folder| {
                change(folder, "data/notes.txt", |text| text.repeat(3));
            }),
            ("bundle::bad-tag-file", "/bag-info.txt", |folder| {
                change(folder, INFO, |_| "A: b\n".to_owned())
            }),
            ("storage::not-written", "", |folder| {
                change(folder, INFO, |text| {
                    text.replace("Payload-Oxum: ", "Payload-Oxum: 9999999999999")
                });
            }),
            ("bundle::bad-name", "/manifest-sha256.txt", |folder| {
                change(folder, PAYLOAD, |text| {
                    text.replace("data/notes.txt", "data/../../notes.txt")
                });
            }),
            ("bundle::bad-name", "/manifest-sha256.txt", |folder| {
                change(folder, PAYLOAD, |text| text.replace("data/notes.txt", "/etc/notes.txt"));
            }),
        ];
        for (code, file, damage) in cases {
            let (temporary, store, folder) = stored();
            damage(&folder);
            let error = fetch(&temporary, &store).unwrap_err();
            assert_eq!(error.code.id, code, "{error}");
            assert!(
                error.place.file.starts_with(&format!("{}/runs/one", store.shown())),
                "{error}"
            );
            assert!(error.place.file.ends_with(file), "{error}");
            assert!(!temporary.path().join("notes.txt").exists());
        }
    }

    #[test]
    fn a_bundle_of_a_wrong_name_is_not_looked_for() {
        let (temporary, store, _) = stored();
        for name in ["../one", "/one", "", "runs/.one"] {
            assert_eq!(
                fetch_bundle(&store, name, temporary.path()).unwrap_err().code.id,
                "storage::bad-name"
            );
        }
        let error = fetch_bundle(&store, "runs/none", temporary.path()).unwrap_err();
        assert_eq!(error.code.id, "bundle::not-a-bag");
    }
}
