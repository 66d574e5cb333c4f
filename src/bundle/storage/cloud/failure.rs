//! Error messages that contain no secret and state what helps.

use object_store::client::HttpErrorKind;
use repro_core::source::{Code, Error, Location};

use super::client::SeenRequests;
use crate::storage::limits::Limits;
use crate::storage::{NOT_WRITTEN, REFUSED, UNREACHABLE, UNREADABLE};

/// Why an operation came to nothing.
#[derive(Debug)]
pub enum RequestFailure {
    /// The library says so.
    Library(object_store::Error),
    /// It ended before all bytes were there, or did not end after them.
    Length {
        /// The bytes that were announced.
        expected: u64,
        /// Those that came; of what did not end, those so far.
        found: u64,
    },
    /// It took too long.
    Slow,
    /// Who asked refuses what came.
    Refused(Error),
}

impl From<object_store::Error> for RequestFailure {
    fn from(error: object_store::Error) -> Self {
        Self::Library(error)
    }
}

/// The operation on a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Read,
    Write,
    List,
}

impl Verb {
    fn code(self) -> &'static Code {
        if self == Self::Write { &NOT_WRITTEN } else { &UNREADABLE }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::List => "list",
        }
    }
}

/// Tells of a failure at a place.
pub fn told(
    failure: RequestFailure,
    verb: Verb,
    place: Location,
    seen: &SeenRequests,
    limits: &Limits,
) -> Error {
    match failure {
        RequestFailure::Refused(error) => error,
        RequestFailure::Slow => {
            let found = format!("none after {} within the time limit", requests(seen));
            UNREACHABLE.at(place, "an answer", found)
        }
        RequestFailure::Length { expected, found } => {
            let (expected, found) = (format!("{expected} bytes"), format!("{found} bytes"));
            UNREACHABLE.at(place, expected, found)
        }
        RequestFailure::Library(error) => match (seen.status, seen.broken) {
            (Some(status), _) => answered(status, verb, place, seen),
            (None, Some(HttpErrorKind::Connect)) => {
                let found = format!("none in {}", requests(seen));
                UNREACHABLE.at(place, "a connection to the server", found)
            }
            (None, Some(HttpErrorKind::Timeout)) => {
                let found =
                    format!("no data for {:?} in the last of {}", limits.silence, requests(seen));
                UNREACHABLE.at(place, "an answer", found)
            }
            (None, Some(_)) => {
                let found = format!("a broken connection in the last of {}", requests(seen));
                UNREACHABLE.at(place, "an answer", found)
            }
            (None, None) => unlike(&error, verb, place),
        },
    }
}

/// The answer was an error.
fn answered(status: u16, verb: Verb, place: Location, seen: &SeenRequests) -> Error {
    let word = seen.word.as_deref().map(|word| format!(" ({word})")).unwrap_or_default();
    let found = format!("the answer {status}{word}");
    let to = verb.word();
    match (status, seen.word.as_deref().unwrap_or_default()) {
        (_, "RequestTimeTooSkewed" | "RequestExpired") => {
            let error = REFUSED.at(place, "a request with a current signature", found);
            error.help("correct this machine's clock: it differs from the server's by minutes")
        }
        (_, "ExpiredToken" | "TokenRefreshRequired") => {
            let error = REFUSED.at(place, "credentials that are still valid", found);
            error
                .help("get new credentials, set them in the environment, and run the command again")
        }
        (403, _) if verb == Verb::Read => {
            let error = REFUSED.at(place, "permission to read this", found);
            error.help("check that the credentials in the environment have the permission; without permission to list, S3 also answers 403 for missing objects")
        }
        (401 | 403, _) => REFUSED.at(place, format!("permission to {to} this"), found),
        (404, _) => {
            let error = verb.code().at(place, "an existing bucket", found);
            error.help("check the bucket name and the server address")
        }
        (300..=399, _) => {
            let error = verb.code().at(
                place,
                "the server that has the object",
                format!("{found}, a redirect"),
            );
            error.help("set `AWS_REGION` if the bucket is in another region; if the server redirects to plain `http://`, download the file yourself")
        }
        (501, _) if verb == Verb::Write => {
            let error = NOT_WRITTEN.at(place, "a server that supports conditional writes", found);
            error.help("use a server that supports `If-None-Match` with PUT, or a folder")
        }
        (408 | 429 | 500..=599, _) => {
            let found = format!("{found} to the last of {}", requests(seen));
            UNREACHABLE.at(place, format!("a server that can {to} this now"), found)
        }
        _ => verb.code().at(place, format!("permission to {to} this"), found),
    }
}

/// There was an answer, and it is none of the protocol; or the body broke and could not be asked for again.
fn unlike(error: &object_store::Error, verb: Verb, place: Location) -> Error {
    use object_store::Error::{NotSupported, Precondition};
    match error {
        NotSupported { .. } => {
            let error = verb.code().at(
                place,
                "a server that supports range requests",
                "one that sends the whole file",
            );
            error.help("download the file, and pass the local path")
        }
        Precondition { .. } => {
            verb.code().at(place, "an unchanged object", "an object that changed while it was read")
        }
        _ => UNREACHABLE.at(place, "a valid answer", "a broken or invalid answer"),
    }
}

fn requests(seen: &SeenRequests) -> String {
    let count = seen.requests.max(1);
    format!("{count} {}", if count == 1 { "request" } else { "requests" })
}
