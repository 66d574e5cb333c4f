//! The files of a project beside its posts. The first byte says which: `r`, reviews; `c`, the configuration; `l`, a lock;
//! `i`, the index of posts; `s`, a study; `g`, the rule of a gate.

use std::fs;

use repro_core::source::{Document, Error, Source};
use repro_formats::gate::GateRule;
use repro_model::study::Study;
use repro_verify::index::{self, PostIndex};
use repro_verify::lock::PostLock;
use repro_verify::review::{ReviewPolicy, Reviews};

use super::{new_folder, refused, tree};

/// What is read and written again reads the same.
pub fn check(bytes: &[u8]) {
    let Some((sort, rest)) = bytes.split_first() else { return };
    let parse = |bytes: &[u8]| {
        let document = Source::new("fuzz.toml", bytes.to_vec()).and_then(Document::parse_toml)?;
        tree::check(&document);
        Ok(document)
    };
    let read = match sort {
        b'r' => parse(rest).and_then(|document| {
            let reviews = Reviews::parse(&document, "mine")?;
            reviews.problems.iter().for_each(|error| refused(error, None));
            let text = reviews.render("mine");
            let again = Reviews::parse(&parse(text.as_bytes())?, "mine")?;
            assert_eq!(format!("{:?}", again.records), format!("{:?}", reviews.records));
            assert!(again.problems.is_empty(), "{:?}", again.problems);
            Ok(())
        }),
        b'c' => parse(rest).and_then(|document| ReviewPolicy::parse(&document).map(drop)),
        b'l' => parse(rest).and_then(|document| {
            let lock = PostLock::parse(&document)?;
            let again = PostLock::parse(&parse(lock.render().as_bytes())?)?;
            assert_eq!(format!("{again:?}"), format!("{lock:?}"));
            Ok(())
        }),
        b'i' => indexed(rest),
        b's' => parse(rest).and_then(Study::parse).map(drop),
        b'g' => Source::new("fuzz.toml", rest.to_vec()).and_then(GateRule::parse).map(drop),
        _ => Ok(()),
    };
    if let Err(error) = read {
        refused(&error, None);
    }
}

fn indexed(bytes: &[u8]) -> Result<(), Error> {
    let folder = new_folder();
    let path = folder.path().join(index::file());
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
    fs::write(&path, bytes).expect("the index can be written");
    let Some(index) = PostIndex::read(folder.path())? else { return Ok(()) };
    fs::write(&path, index.render()).expect("the index can be written");
    assert_eq!(PostIndex::read(folder.path())?, Some(index));
    Ok(())
}
