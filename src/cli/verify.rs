//! `repro verify`.

use std::path::Path;

use super::args::{MinMethod, MinOrigin, Verify};
use super::output::Output;
use super::{Answer, CANNOT_WRITE};
use crate::lock;
use crate::outcome::{ExitStatus, Method, Origin, Report};
use crate::post;
use crate::source::{Document, Place, Source};
use crate::verify::{self, Minimum};

/// Runs the command.
pub fn run(root: &Path, own: &Verify, output: &Output) -> Answer {
    let threads =
        own.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let ids = posts(root, own)?;
    let mut report = verify::verify(root, &ids, minimum(own), threads.max(1));
    for bundle in &own.bundles {
        verify::inspect(bundle, threads.max(1), &mut report);
    }
    if own.locked {
        compare(root, &ids, &mut report);
    }
    if own.write_lock && report.failures.is_empty() {
        write_lock(root, &ids, &report)?;
    }
    output.report(&report)?;
    // The verdicts that were just recorded are what was asked for.
    let recorded = own.write_lock && report.failures.is_empty();
    Ok(if recorded { ExitStatus::Verified } else { report.exit_status() })
}

/// The posts asked for: as named, `all`, or all where nothing at all is named.
fn posts(root: &Path, own: &Verify) -> Result<Vec<String>, Vec<crate::source::Refusal>> {
    let all =
        own.post.iter().any(|id| id == "all") || (own.post.is_empty() && own.bundles.is_empty());
    let mut ids =
        if all { post::list(root).map_err(|refusal| vec![refusal])? } else { own.post.clone() };
    ids.sort();
    ids.dedup();
    Ok(ids)
}

fn minimum(own: &Verify) -> Minimum {
    Minimum {
        origin: own.min_origin.map(|origin| match origin {
            MinOrigin::Transcribed => Origin::Transcribed,
            MinOrigin::Emitted => Origin::Emitted,
            MinOrigin::Signed => Origin::Signed,
        }),
        method: own.min_method.map(|method| match method {
            MinMethod::Compared => Method::Compared,
            MinMethod::Recomputed => Method::Recomputed,
            MinMethod::Replayed => Method::Replayed,
        }),
    }
}

/// Reads the lock file and notes the differences, or why it cannot be used.
fn compare(root: &Path, ids: &[String], report: &mut Report) {
    let recorded = Source::load(&root.join(lock::FILE), lock::FILE)
        .and_then(Document::parse_toml)
        .and_then(|document| lock::parse(&document));
    match recorded {
        Ok(recorded) => report.locked = Some(lock::differences(&recorded, &lock::of(report), ids)),
        Err(refusal) => report
            .failures
            .push(refusal.way_out("write it with `repro verify --post all --write-lock`")),
    }
}

/// Records the verdicts; posts that were not asked for keep what was recorded.
fn write_lock(
    root: &Path,
    ids: &[String],
    report: &Report,
) -> Result<(), Vec<crate::source::Refusal>> {
    let path = root.join(lock::FILE);
    let mut verdicts = if path.is_file() {
        Source::load(&path, lock::FILE)
            .and_then(Document::parse_toml)
            .and_then(|document| lock::parse(&document))
            .map_err(|refusal| vec![refusal])?
    } else {
        lock::Verdicts::new()
    };
    let known = post::list(root).map_err(|refusal| vec![refusal])?;
    verdicts.retain(|post, _| known.contains(post) && !ids.contains(post));
    verdicts.extend(lock::of(report).into_iter().filter(|(post, _)| ids.contains(post)));
    let cannot = |error: std::io::Error| {
        vec![CANNOT_WRITE.at(
            Place::file(lock::FILE),
            "a file that can be written",
            error.to_string(),
        )]
    };
    // Written beside and renamed, so that a lock file is never half there.
    let beside = path.with_extension("lock.new");
    std::fs::write(&beside, lock::render(&verdicts)).map_err(cannot)?;
    std::fs::rename(&beside, &path).map_err(cannot)
}
