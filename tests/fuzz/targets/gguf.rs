//! The header of `.gguf` files, and what is counted from it.

use std::fs;

use repro_bundle::checkpoint::GgufHeader;

use super::{new_folder, refused};

/// How much data is stated behind the bytes: what lies there is never read.
const DATA: u64 = 1 << 20;

/// A header is read twice alike, with data behind it or without; what is counted is what its tensors hold.
pub fn check(bytes: &[u8]) {
    for length in [bytes.len() as u64, bytes.len() as u64 + DATA] {
        let read = || GgufHeader::read(bytes, "fuzz.gguf", length);
        match read() {
            Ok(header) => {
                assert_eq!(format!("{:?}", read().ok()), format!("{:?}", Some(header)));
            }
            Err(error) => refused(&error, None),
        }
    }
    let folder = new_folder();
    let path = folder.path().join("fuzz.gguf");
    fs::write(&path, bytes).expect("the file can be written");
    match (repro_model::params::load(&path, "fuzz.gguf"), GgufHeader::load(&path, "fuzz.gguf")) {
        (Ok(_), header) => assert!(header.is_ok(), "counted and not read: {header:?}"),
        (Err(error), _) => refused(&error, None),
    }
}
