//! Where results are: one object for each, named by its key, so that whoever has the same item finds it.

use repro_bundle::signature::PrivateKey;
use repro_bundle::storage::{Created, Store};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};

use crate::cluster::item::WorkItem;
use crate::cluster::program::Program;
use crate::cluster::result::{self, CAP, WorkResult};
use crate::cluster::{DOUBLED, NOT_KEPT};

/// The name of a result in a store.
pub fn name_of(key: &Digest) -> String {
    let digits = key.to_string();
    format!("{}/{digits}", digits.get(..2).unwrap_or_default())
}

/// The key that a name in a store stands for.
pub fn key_of(name: &str) -> Option<Digest> {
    let key = Digest::parse_hex(name.rsplit('/').next()?)?;
    (name_of(&key) == name).then_some(key)
}

/// The place of an object in messages.
pub fn place(store: &Store, name: &str) -> Location {
    Location::file(format!("{}/{name}", store.shown()))
}

/// The state of an item in a store.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// Nothing.
    Absent,
    /// Something that is not a whole result of this item, and what is wrong with it.
    Damaged(String),
    /// A result.
    Sound(Box<WorkResult>),
}

/// The state of an item in a store. A worker with a key accepts only results signed by that key.
pub fn known(store: &Store, item: &WorkItem, key: Option<&PrivateKey>) -> Result<Known, Error> {
    let own = key.map_or(&[][..], |key| std::slice::from_ref(key.public()));
    let Some(bytes) = store.get(&name_of(&item.key), CAP)? else { return Ok(Known::Absent) };
    Ok(match result::read(&bytes) {
        Err(why) => Known::Damaged(why),
        Ok((of, _)) if of.item.key != item.key => Known::Damaged(of.item.told()),
        Ok((of, _)) if !of.is_signed_by(own) => Known::Damaged("not signed here".to_owned()),
        Ok((_, result)) => Known::Sound(Box::new(result)),
    })
}

/// Keeps what was found of an item. What is there and final stays: of the same inputs the same has to come out.
pub fn keep(
    store: &Store,
    item: &WorkItem,
    program: &Program,
    result: &WorkResult,
    key: Option<&PrivateKey>,
) -> Result<(), Error> {
    let name = name_of(&item.key);
    let bytes = result::kept(item, program, result, key)
        .map_err(|why| NOT_KEPT.at(place(store, &name), "a writable result file", why))?;
    if store.create(&name, &bytes)? == Created::New {
        return Ok(());
    }
    match known(store, item, key)? {
        Known::Sound(there) if there.is_final() => {
            let is_other = |there: Vec<u8>| result::body(&there) != result::body(&bytes);
            if result.is_final() && store.get(&name, CAP)?.is_some_and(is_other) {
                let expected = "the result just computed here";
                let found = "a different result for the same item";
                return Err(DOUBLED.at(place(store, &name), expected, found));
            }
            Ok(())
        }
        // What can still become another, or was cut, makes way.
        Known::Sound(_) | Known::Damaged(_) | Known::Absent => store.replace(&name, &bytes),
    }
}
