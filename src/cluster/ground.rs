//! What results depend on besides the bundle that they are of.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use repro_judge::verify::Demands;
use repro_receipt::bundle::Bundle;
use repro_receipt::digest::{Digest, Hasher};
use repro_receipt::source::{Error, Location, UNREADABLE};
use repro_runs::study;
use serde_json::{Value as Json, json};

use crate::asked::Asked;
use crate::item::{line, written};

/// The digest of anything.
pub fn digest(of: &Json) -> Digest {
    Digest::of(line(of).as_bytes())
}

/// The digest of a project: of all files in `repro/`, and of the studies and starts that the receipts of its bundles name.
pub fn project(root: &Path) -> Result<Digest, Error> {
    let unreadable = |error: io::Error| {
        UNREADABLE.at(Location::file("repro"), "the files of the project", error.to_string())
    };
    let (mut files, mut seen) = (Vec::new(), HashSet::new());
    contents(&root.join("repro"), "repro", &mut files, &mut seen).map_err(unreadable)?;
    files.sort();
    let present = study::present(root)?;
    let present = present
        .iter()
        .map(|one| json!([one.bundle, one.study, one.attempt.map(|attempt| attempt.to_string())]));
    let files = files.iter().map(|(name, sha256)| json!([name, sha256.to_string()]));
    Ok(digest(&json!([files.collect::<Vec<_>>(), present.collect::<Vec<_>>()])))
}

/// The files in a folder with their digests. Links are followed, as posts may; a folder that leads to itself is looked at once.
fn contents(
    folder: &Path,
    shown: &str,
    files: &mut Vec<(String, Digest)>,
    seen: &mut HashSet<(u64, u64)>,
) -> io::Result<()> {
    let about = std::fs::metadata(folder).ok();
    if about.is_some_and(|about| !seen.insert((about.dev(), about.ino()))) {
        return Ok(());
    }
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = format!("{shown}/{}", path.file_name().unwrap_or_default().display());
        if path.is_dir() {
            contents(&path, &name, files, seen)?;
        } else if path.is_file() {
            files.push((name, file_digest(&path)?));
        }
    }
    Ok(())
}

fn file_digest(path: &Path) -> io::Result<Digest> {
    let (mut file, mut hash) = (File::open(path)?, Hasher::default());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finish()),
            length => hash.update(buffer.get(..length).unwrap_or_default()),
        }
    }
}

/// The digest of the names, lengths and times of change of all that lies in a folder. A file that is changed has another time,
/// and so has one that is fetched anew: then a result that could be used again is made again.
pub fn stamp(folder: &Path) -> Digest {
    let mut entries = Vec::new();
    stamps(folder, "", &mut entries);
    entries.sort();
    digest(&written(&entries))
}

fn stamps(folder: &Path, below: &str, entries: &mut Vec<(String, u64, String)>) {
    // What cannot be listed is refused where the bundle is read.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{below}{}", entry.file_name().display());
        let Ok(about) = entry.metadata() else { continue };
        let changed = format!("{}.{:09}", about.ctime(), about.ctime_nsec());
        entries.push((name.clone(), about.len(), changed));
        if about.is_dir() {
            stamps(&entry.path(), &format!("{name}/"), entries);
        }
    }
}

/// What a bundle depends on that is inspected: its files as they lie in a folder of this machine (what was fetched is known by its
/// digest), the files that options name, and, where it is of a
/// study, the project and what its history holds of the plan.
pub fn of_bundle(
    folder: Option<&Path>,
    bundle: Option<&Bundle>,
    asked: &Asked,
    demands: &Demands,
    project: &dyn Fn() -> Result<Digest, Error>,
) -> Result<Digest, Error> {
    let is_of_study = bundle.is_some_and(is_of_study);
    let external = |bundle: &Bundle| bundle.receipt().files.iter().any(|file| file.is_external());
    let artifacts = asked.artifacts.as_deref().filter(|_| bundle.is_some_and(external));
    Ok(digest(&json!({
        "stamp": folder.map(|folder| stamp(folder).to_string()),
        "files": written(&asked.files),
        "slices": asked.replays,
        "challenges": written(&asked.challenges.iter().filter(|one| {
            bundle.is_none_or(|bundle| one.challenge.bundle == bundle.digest())
        }).collect::<Vec<_>>()),
        "artifacts": artifacts.map(|folder| json!([folder, stamp(Path::new(folder)).to_string()])),
        "project": if is_of_study { Some(project()?.to_string()) } else { None },
        "plan": bundle.and_then(|bundle| planned(bundle, demands)),
    })))
}

/// Whether a receipt names a study, or a plan by its digest.
pub fn is_of_study(bundle: &Bundle) -> bool {
    let receipt = bundle.receipt();
    receipt.study().is_some() || receipt.plan_sha256().is_some() || receipt.start.is_some()
}

/// What the history of the project says of the plan of a run.
pub fn planned(bundle: &Bundle, demands: &Demands) -> Option<String> {
    let run = bundle.receipt().run.as_ref()?;
    let (study, commit) = (run.study.as_ref()?, run.plan_commit.as_ref()?);
    let held = demands.history.as_ref()?.at(commit, study, bundle.name());
    Some(digest(&Json::from(format!("{held:?}"))).to_string())
}
