//! In the place of `cloud` in a build that reads and writes folders alone: there is no such store.

use std::ops::Range;

use repro_core::source::{Error, Location};

use crate::storage::NO_CLOUD;
use crate::storage::address::CloudAddress;
use crate::storage::created::Created;
use crate::storage::part::ObjectPart;
use crate::storage::settings::StoreSettings;

#[derive(Debug)]
pub enum CloudStore {}

impl CloudStore {
    pub fn open(_: &CloudAddress, shown: &str, _: &StoreSettings) -> Result<Self, Error> {
        Err(NO_CLOUD.at(Location::file(shown), "a folder or `file://`", "a URL of object storage"))
    }

    pub fn can_list(&self) -> bool {
        match *self {}
    }

    pub fn get(&self, _: &str, _: usize) -> Result<Option<Vec<u8>>, Error> {
        match *self {}
    }

    pub fn part(&self, _: &str, _: Range<u64>) -> Result<Option<ObjectPart>, Error> {
        match *self {}
    }

    pub fn pass(
        &self,
        _: &str,
        _: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        match *self {}
    }

    pub fn create(&self, _: &str, _: &[u8]) -> Result<Created, Error> {
        match *self {}
    }

    pub fn replace(&self, _: &str, _: &[u8]) -> Result<(), Error> {
        match *self {}
    }

    pub fn list(&self, _: &str) -> Result<Vec<(String, u64)>, Error> {
        match *self {}
    }
}
