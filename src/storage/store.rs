//! A store, wherever it is.

use repro_receipt::source::{Error, Location};

use crate::address::Address;
use crate::created::Created;
use crate::local::LocalStore;
use crate::{NO_CLOUD, name};

/// A folder of objects, here or in object storage. Several threads, processes and hosts may use one at a time.
#[derive(Debug)]
pub struct Store {
    place: Place,
    shown: String,
}

#[derive(Debug)]
enum Place {
    Folder(LocalStore),
}

impl Store {
    /// The store at a path or a URL: `file://`, or with the feature `cloud` also `s3://`, `gs://`, `az://` and, to read from,
    /// `https://`. Refuses URLs with credentials, which are taken from the environment alone.
    pub fn open(address: &str) -> Result<Self, Error> {
        let address = Address::parse(address)?;
        let shown = address.shown();
        let place = match address {
            Address::Folder(root) => Place::Folder(LocalStore::open(root, &shown)?),
            Address::Cloud(_) => {
                return Err(NO_CLOUD.at(Location::file(shown), "a folder or `file://`", "a URL"));
            }
        };
        Ok(Self { place, shown })
    }

    /// The bytes of an object, or none where there is no object of this name. One of more than `cap` bytes is refused.
    pub fn get(&self, name: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.get(name, cap),
        }
    }

    /// Writes an object as a whole, unless there is one of its name: nothing is ever overwritten.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.create(name, bytes),
        }
    }

    /// Writes an object as a whole in the place of what was found damaged.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        name::check(name, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.replace(name, bytes),
        }
    }

    /// The names of all objects below a folder (all of the store: `""`), in order, with their lengths in bytes.
    pub fn list(&self, below: &str) -> Result<Vec<(String, u64)>, Error> {
        name::check_below(below, &self.shown)?;
        match &self.place {
            Place::Folder(folder) => folder.list(below),
        }
    }

    /// How the store is told in messages: never with credentials.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::{Created, Store};

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
    }

    #[test]
    fn no_name_leads_out() {
        let temporary = tempfile::tempdir().unwrap();
        let store = Store::open(temporary.path().join("store").to_str().unwrap()).unwrap();
        for name in ["../out", "/tmp/out", "a/../../out", ".hidden", ""] {
            assert!(store.get(name, 1).is_err(), "{name}");
            assert!(store.create(name, b"").is_err(), "{name}");
            assert!(store.replace(name, b"").is_err(), "{name}");
        }
        assert!(store.list("..").is_err());
    }
}
