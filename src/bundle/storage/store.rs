//! A store, wherever it is.

use std::ops::Range;

use repro_core::source::Error;

use crate::storage::address::Address;
use crate::storage::cloud::CloudStore;
use crate::storage::created::Created;
use crate::storage::local::LocalStore;
use crate::storage::name;
use crate::storage::part::ObjectPart;
use crate::storage::settings::StoreSettings;

/// A folder of objects, here or in object storage. Several threads, processes and hosts may use one at a time.
#[derive(Debug)]
pub struct Store {
    place: Place,
    shown: String,
}

#[derive(Debug)]
enum Place {
    Folder(LocalStore),
    Cloud(Box<CloudStore>),
}

impl Store {
    /// The store at a path or a URL: `file://`, or with the feature `cloud` also `s3://`, `gs://`, `az://` and, to read from,
    /// `https://`. Refuses URLs with credentials, which are taken from the environment alone.
    pub fn open(address: &str) -> Result<Self, Error> {
        Self::open_with(address, &StoreSettings::of_environment())
    }

    /// The same with other settings than those of this process.
    pub fn open_with(address: &str, settings: &StoreSettings) -> Result<Self, Error> {
        Self::at(Address::parse(address)?, settings)
    }

    /// The store that holds the object at a path or a URL, and the name of the object there.
    pub fn of_object(address: &str) -> Result<(Self, String), Error> {
        let (folder, name) = Address::parse(address)?.split()?;
        Ok((Self::at(folder, &StoreSettings::of_environment())?, name))
    }

    fn at(address: Address, settings: &StoreSettings) -> Result<Self, Error> {
        let shown = address.shown();
        let place = match address {
            Address::Folder(root) => Place::Folder(LocalStore::open(root, &shown)?),
            Address::Cloud(address) => {
                Place::Cloud(Box::new(CloudStore::open(&address, &shown, settings)?))
            }
        };
        Ok(Self { place, shown })
    }

    /// The bytes of an object, or none where there is no object of this name. One of more than `cap` bytes is refused.
    pub fn get(&self, name: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.get(name, cap),
            Place::Cloud(cloud) => cloud.get(name, cap),
        }
    }

    /// The bytes of an object in `range`, which may not be empty, fewer where it ends before, and its length; or none where there is no such object. No
    /// other bytes are read.
    pub fn part(&self, name: &str, range: Range<u64>) -> Result<Option<ObjectPart>, Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.part(name, range),
            Place::Cloud(cloud) => cloud.part(name, range),
        }
    }

    /// Hands all bytes of an object to `sink`, in order and in pieces, and answers how many there were; none where there is no such
    /// object. What `sink` refuses ends it.
    pub fn pass(
        &self,
        name: &str,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.pass(name, sink),
            Place::Cloud(cloud) => cloud.pass(name, sink),
        }
    }

    /// Writes an object as a whole, unless there is one of its name: nothing is ever overwritten.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.create(name, bytes),
            Place::Cloud(cloud) => cloud.create(name, bytes),
        }
    }

    /// Writes an object as a whole in the place of what was found damaged.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.replace(name, bytes),
            Place::Cloud(cloud) => cloud.replace(name, bytes),
        }
    }

    /// The names of all objects below a folder (all of the store: `""`), in order, with their lengths in bytes.
    pub fn list(&self, below: &str) -> Result<Vec<(String, u64)>, Error> {
        name::check_below(below, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.list(below),
            Place::Cloud(cloud) => cloud.list(below),
        }
    }

    /// Whether [`Store::list`] has an answer: a server that sends files by name has none.
    pub fn can_list(&self) -> bool {
        match &self.place {
            Place::Folder(_) => true,
            Place::Cloud(cloud) => cloud.can_list(),
        }
    }

    /// How the store is told in messages: never with credentials.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::{Created, ObjectPart, Store};

    #[test]
    fn threads_share_a_store() {
        fn shared<T: Send + Sync>() {}
        shared::<Store>();
    }

    #[test]
    fn a_url_of_a_folder_is_the_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().to_str().unwrap();
        let here = Store::open(path).unwrap();
        let there = Store::open(&format!("file://{path}")).unwrap();
        assert_eq!(there.shown(), path);
        assert_eq!(here.create("a/one", b"1"), Ok(Created::New));
        assert_eq!(there.create("a/one", b"2"), Ok(Created::Exists));
        assert_eq!(there.get("a/one", 1), Ok(Some(b"1".to_vec())));
        let (store, name) = Store::of_object(&format!("file://{path}/a/one")).unwrap();
        assert_eq!((store.shown(), name.as_str()), (format!("{path}/a").as_str(), "one"));
    }

    #[test]
    fn parts_and_pieces_of_an_object() {
        let temporary = tempfile::tempdir().unwrap();
        let store = Store::open(temporary.path().to_str().unwrap()).unwrap();
        let bytes: Vec<u8> = (0..200_000_u32).map(|at| at as u8).collect();
        store.create("one", &bytes).unwrap();
        let part = |range: std::ops::Range<u64>| store.part("one", range).unwrap().unwrap();
        assert_eq!(part(2..5), ObjectPart { bytes: vec![2, 3, 4], length: 200_000 });
        assert_eq!(part(199_999..300_000).bytes, bytes[199_999..]);
        assert_eq!(part(200_000..200_001), ObjectPart { bytes: vec![], length: 200_000 });
        assert_eq!(store.part("two", 0..1), Ok(None));
        let mut passed = Vec::new();
        let mut sink = |piece: &[u8]| {
            passed.extend_from_slice(piece);
            Ok(())
        };
        assert_eq!(store.pass("one", &mut sink), Ok(Some(200_000)));
        assert_eq!(passed, bytes);
        assert_eq!(store.pass("two", &mut |_| Ok(())), Ok(None));
        let refusal = store.get("..", 1).unwrap_err();
        assert_eq!(store.pass("one", &mut |_| Err(refusal.clone())), Err(refusal.clone()));
    }

    #[test]
    fn no_name_leads_out() {
        let temporary = tempfile::tempdir().unwrap();
        let store = Store::open(temporary.path().join("store").to_str().unwrap()).unwrap();
        for name in ["../out", "/tmp/out", "a/../../out", ".hidden", ""] {
            assert!(store.get(name, 1).is_err(), "{name}");
            assert!(store.part(name, 0..1).is_err(), "{name}");
            assert!(store.pass(name, &mut |_| Ok(())).is_err(), "{name}");
            assert!(store.create(name, b"").is_err(), "{name}");
            assert!(store.replace(name, b"").is_err(), "{name}");
        }
        assert!(store.list("..").is_err());
    }

    #[cfg(not(feature = "cloud"))]
    #[test]
    fn a_build_without_object_storage_says_so() {
        for url in ["s3://bucket/a", "gs://bucket", "az://container/a", "https://example.org/a"] {
            let error = Store::open(url).unwrap_err();
            assert_eq!(
                (error.code.id, error.place.file.as_str()),
                ("storage::not-in-this-build", url)
            );
        }
    }
}
