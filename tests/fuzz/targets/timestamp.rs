//! Timestamps of authorities. The first byte says what the rest is: `t`, a token or a response with one; `a`, certificates in PEM.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use repro_bundle::signature::{Authorities, Timestamp};

use super::{new_folder, refused};

/// Who the seeds were stamped by; the keys were never kept.
const NAMED: [&str; 3] = [
    include_str!("../../corpus/timestamps/chains/root.pem"),
    include_str!("../../corpus/timestamps/ec-ca.pem"),
    include_str!("../../corpus/timestamps/rsa-ca.pem"),
];
/// When they are read, in seconds of Unix: after the last of their times.
const NOW: Duration = Duration::from_secs(4_000_000_000);
/// What they were asked to stamp.
const STAMPED: &str = "43a98b16f323b373b6560b712e55a2e512b06c20ce94d67813c8e197e007f450";

/// No token is believed but those that were made: of one digest, at the times that they state.
pub fn check(bytes: &[u8]) {
    let Some((sort, rest)) = bytes.split_first() else { return };
    let folder = new_folder();
    let (file, named) = (folder.path().join("file"), folder.path().join("named.pem"));
    fs::write(&file, rest).expect("the file can be written");
    fs::write(&named, NAMED.concat()).expect("the certificates can be written");
    match sort {
        b't' => {
            let named = Authorities::load(&[named]).expect("certificates");
            match Timestamp::load(&file, &named, UNIX_EPOCH + NOW) {
                Ok(stamp) => {
                    assert_eq!(stamp.imprint.to_string(), STAMPED);
                    let is_known =
                        ["2060-11-23T", "2026-11-23T"].map(|day| stamp.time.starts_with(day));
                    assert!(is_known.contains(&true), "{stamp:?}");
                }
                Err(error) => refused(&error, None),
            }
        }
        b'a' => {
            if let Err(error) = Authorities::load(&[file]) {
                refused(&error, None);
            }
        }
        _ => {}
    }
}
