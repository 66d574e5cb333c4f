//! A store in object storage, or on a read-only server.

mod client;
mod connect;
mod failure;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use object_store::client::HttpErrorKind;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, PutMode, PutOptions};
use object_store::{ObjectStoreExt, PutPayload};
use repro_core::source::{Error, Location};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::storage::address::CloudAddress;
use crate::storage::created::Created;
use crate::storage::limits::Limits;
use crate::storage::part::ObjectPart;
use crate::storage::settings::StoreSettings;
use crate::storage::{NOT_AN_OBJECT, NOT_WRITTEN, READ_ONLY, TOO_LARGE, UNREADABLE};
use client::{SeenRequests, watched};
use failure::{RequestFailure, Verb, told};

/// The most objects that a list may have.
const LIST_CAP: usize = 20_000_000;
/// How often a write is begun that ends in neither an object nor a refusal.
const ROUNDS: usize = 4;
/// The status of a part that begins where the object has ended.
const NO_SUCH_PART: u16 = 416;
/// The servers' error words for a missing bucket, which differs from a missing object.
const NO_BUCKET: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];

/// Objects below a prefix.
pub struct CloudStore {
    /// Requests are driven by whoever waits for them.
    runtime: Runtime,
    objects: Arc<dyn ObjectStore>,
    address: CloudAddress,
    shown: String,
    settings: StoreSettings,
}

/// Without what the library holds, credentials among it.
impl fmt::Debug for CloudStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CloudStore").field(&self.shown).finish()
    }
}

/// The result of an operation, with a record of its requests.
type Outcome<T> = (Result<T, RequestFailure>, SeenRequests);

impl CloudStore {
    /// Opens a store; nothing is asked of it yet. Credentials are those of the settings.
    pub fn open(
        address: &CloudAddress,
        shown: &str,
        settings: &StoreSettings,
    ) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            let expected = "a system that supports network requests";
            UNREADABLE.at(Location::file(shown), expected, error.to_string())
        })?;
        let objects = connect::objects(address, shown, settings)?;
        let (address, shown) = (address.clone(), shown.to_owned());
        Ok(Self { runtime, objects, address, shown, settings: settings.clone() })
    }

    /// Whether it can tell the names of its objects.
    pub fn can_list(&self) -> bool {
        !self.address.is_server()
    }

    /// All bytes of an object of at most `cap`.
    pub fn get(&self, name: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        let too_large = |found: String| {
            let error = TOO_LARGE.at(self.place(name), format!("at most {cap} bytes"), found);
            Err(RequestFailure::Refused(error))
        };
        let outcome = self.whole(|| {
            self.wait(async {
                let found =
                    in_time(self.limits().whole, self.objects.get(&self.path(name))).await?;
                match found.meta.size {
                    length if length > cap as u64 => too_large(format!("{length} bytes")),
                    length => within(self.limits().patience(length), collected(found)).await,
                }
            })
        });
        self.found(outcome, name)
    }

    /// Has all bytes of an object pass by; answers how many there were.
    pub fn pass(
        &self,
        name: &str,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        let outcome = self.wait(async {
            let found = in_time(self.limits().whole, self.objects.get(&self.path(name))).await?;
            within(self.limits().patience(found.meta.size), passed(found, sink)).await
        });
        self.found(outcome, name)
    }

    /// The bytes of an object in a range.
    pub fn part(&self, name: &str, range: Range<u64>) -> Result<Option<ObjectPart>, Error> {
        let range = Some(GetRange::Bounded(range));
        let (outcome, seen) = self.whole(|| {
            let asked = GetOptions { range: range.clone(), ..GetOptions::default() };
            self.wait(async {
                let path = self.path(name);
                let found =
                    in_time(self.limits().whole, self.objects.get_opts(&path, asked)).await?;
                let length = found.meta.size;
                let bytes = within(self.limits().whole, collected(found)).await?;
                Ok(ObjectPart { bytes, length })
            })
        });
        if outcome.is_err() && seen.status == Some(NO_SUCH_PART) {
            let end = |found: ObjectMeta| ObjectPart { bytes: Vec::new(), length: found.size };
            return Ok(self.head(name)?.map(end));
        }
        self.found((outcome, seen), name)
    }

    fn head(&self, name: &str) -> Result<Option<ObjectMeta>, Error> {
        let outcome = self.wait(in_time(self.limits().whole, self.objects.head(&self.path(name))));
        self.found(outcome, name)
    }

    /// Writes an object, if there is none of its name.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, Error> {
        self.is_writable(name)?;
        let mut last = None;
        for _ in 0..ROUNDS {
            let (outcome, seen) = self.put(name, bytes, PutMode::Create);
            match outcome {
                Ok(()) => return Ok(Created::New),
                // Also said where another write goes on that may come to nothing.
                Err(RequestFailure::Library(object_store::Error::AlreadyExists { .. })) => {
                    if self.head(name)?.is_some() {
                        return Ok(Created::Exists);
                    }
                }
                // Nobody knows whether it was written; the next round tells.
                Err(failure @ RequestFailure::Library(_)) if is_unsure(&seen) => {
                    last = Some((failure, seen));
                }
                Err(failure) => return Err(self.told(failure, Verb::Write, name, &seen)),
            }
        }
        Err(match last {
            Some((failure, seen)) => self.told(failure, Verb::Write, name, &seen),
            None => {
                let expected = "a new or an existing object";
                NOT_WRITTEN.at(self.place(name), expected, format!("neither, {ROUNDS} times"))
            }
        })
    }

    /// Writes an object in the place of another, or of none.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.is_writable(name)?;
        let (outcome, seen) = self.put(name, bytes, PutMode::Overwrite);
        outcome.map_err(|failure| self.told(failure, Verb::Write, name, &seen))
    }

    fn put(&self, name: &str, bytes: &[u8], mode: PutMode) -> Outcome<()> {
        let payload = PutPayload::from(bytes.to_vec());
        let patience = self.limits().patience(bytes.len() as u64);
        let path = self.path(name);
        let put = self.objects.put_opts(&path, payload, PutOptions::from(mode));
        self.wait(async { in_time(patience, put).await.map(drop) })
    }

    fn is_writable(&self, name: &str) -> Result<(), Error> {
        if self.address.is_server() {
            let expected = "a writable store: a folder, `s3://`, `gs://` or `az://`";
            return Err(READ_ONLY.at(self.place(name), expected, "a read-only server"));
        }
        Ok(())
    }

    /// The names of all objects below a folder, in order, with their lengths.
    pub fn list(&self, below: &str) -> Result<Vec<(String, u64)>, Error> {
        if !self.can_list() {
            let expected =
                "a store that can list its objects: a folder, `s3://`, `gs://` or `az://`";
            return Err(READ_ONLY.at(
                self.place(below),
                expected,
                "a server that only sends files by name",
            ));
        }
        let whole = if below.is_empty() { self.address.prefix.clone() } else { self.key(below) };
        let path = Path::from(whole);
        let (outcome, seen) = self.whole(|| self.wait(self.listed(below, &path)));
        outcome.map_err(|failure| self.told(failure, Verb::List, below, &seen))
    }

    async fn listed(&self, below: &str, path: &Path) -> Result<Vec<(String, u64)>, RequestFailure> {
        let mut listed = self.objects.list(Some(path));
        let mut objects = Vec::new();
        // A page at a time: each has its own limit.
        while let Some(found) = in_time(self.limits().whole, listed.try_next()).await? {
            let name = self.own_name(found.location.as_ref());
            objects.extend(name.map(|name| (name, found.size)));
            if objects.len() > LIST_CAP {
                let expected = format!("at most {LIST_CAP} objects");
                let error = NOT_AN_OBJECT.at(self.place(below), expected, "more");
                return Err(RequestFailure::Refused(error));
            }
        }
        objects.sort_unstable();
        Ok(objects)
    }

    /// The name in this store of the object with a key; none for the marker of a folder, and for what begins with a dot, as in
    /// folders.
    fn own_name(&self, key: &str) -> Option<String> {
        let name = key.strip_prefix(&self.address.prefix)?.trim_start_matches('/');
        let is_own =
            !name.is_empty() && !name.split('/').any(|component| component.starts_with('.'));
        is_own.then(|| name.to_owned())
    }

    fn key(&self, name: &str) -> String {
        let prefix = &self.address.prefix;
        if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
    }

    fn path(&self, name: &str) -> Path {
        Path::from(self.key(name))
    }

    fn place(&self, name: &str) -> Location {
        let shown = &self.shown;
        Location::file(if name.is_empty() { shown.clone() } else { format!("{shown}/{name}") })
    }

    fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Waits for an operation. A server's word that is a part of what is secret is forgotten.
    fn wait<T>(&self, operation: impl Future<Output = Result<T, RequestFailure>>) -> Outcome<T> {
        let (outcome, mut seen) = self.runtime.block_on(watched(operation));
        let is_told =
            |word: &String| !self.settings.iter().any(|(_, value)| value.contains(word.as_str()));
        seen.word = seen.word.filter(is_told);
        (outcome, seen)
    }

    /// Does an operation again whose answer was torn: the library does so only where it knows that the object is the same.
    fn whole<T>(&self, operation: impl Fn() -> Outcome<T>) -> Outcome<T> {
        let is_torn = |(outcome, seen): &Outcome<T>| {
            let broke = matches!(
                outcome,
                Err(RequestFailure::Length { .. }
                    | RequestFailure::Library(object_store::Error::Generic { .. }))
            );
            broke && seen.status.is_none() && seen.broken.is_none()
        };
        let mut last = operation();
        for _ in 1..ROUNDS {
            if !is_torn(&last) {
                break;
            }
            last = operation();
        }
        last
    }

    /// The bytes that were read; nothing if there is no such object.
    fn found<T>(&self, (outcome, seen): Outcome<T>, name: &str) -> Result<Option<T>, Error> {
        let has_bucket = seen.word.as_deref().is_none_or(|word| !NO_BUCKET.contains(&word));
        match outcome {
            Ok(found) => Ok(Some(found)),
            Err(RequestFailure::Library(object_store::Error::NotFound { .. })) if has_bucket => {
                Ok(None)
            }
            Err(failure) => Err(self.told(failure, Verb::Read, name, &seen)),
        }
    }

    fn told(&self, failure: RequestFailure, verb: Verb, name: &str, seen: &SeenRequests) -> Error {
        told(failure, verb, self.place(name), seen, self.limits())
    }
}

/// An operation that fails when its time is over.
async fn within<T>(
    time: Duration,
    operation: impl Future<Output = Result<T, RequestFailure>>,
) -> Result<T, RequestFailure> {
    timeout(time, operation).await.unwrap_or(Err(RequestFailure::Slow))
}

/// The same for one of the library's.
async fn in_time<T>(
    time: Duration,
    operation: impl Future<Output = object_store::Result<T>>,
) -> Result<T, RequestFailure> {
    within(time, async { Ok(operation.await?) }).await
}

/// Whether a request may have done what it asked for, though it had no answer.
fn is_unsure(seen: &SeenRequests) -> bool {
    seen.status.is_none() && seen.broken != Some(HttpErrorKind::Connect)
}

/// All bytes of what was found.
async fn collected(found: GetResult) -> Result<Vec<u8>, RequestFailure> {
    let mut bytes = Vec::new();
    let mut keep = |piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok(())
    };
    passed(found, &mut keep).await?;
    Ok(bytes)
}

/// Has the bytes of what was found pass by, all of them and no more; answers how many there were.
async fn passed(
    found: GetResult,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<u64, RequestFailure> {
    let expected = found.range.end - found.range.start;
    let mut pieces = found.into_stream();
    let mut length = 0_u64;
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        length += piece.len() as u64;
        if length > expected {
            return Err(RequestFailure::Length { expected, found: length });
        }
        sink(&piece).map_err(RequestFailure::Refused)?;
    }
    if length == expected {
        Ok(length)
    } else {
        Err(RequestFailure::Length { expected, found: length })
    }
}
