//! The inputs of results besides their own bundle.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::page::PostPage;
use crate::review::store;
use crate::texts::TextsAtHand;
use crate::verify::{Demands, PlanAt};
use repro_bundle::bundle::{Bundle, artifact};
use repro_core::digest::{Digest, Hasher};
use repro_core::source::{Error, Location, UNREADABLE};
use repro_model::study;
use repro_report::outcome::PostReport;
use serde_json::{Value as Json, json};

use crate::cluster::asked::Asked;
use crate::cluster::item::{line, written};

/// The file of a project's policy, in its folder of posts.
const CONFIG_NAME: &str = "config.toml";

/// The digest of anything.
pub fn digest(of: &Json) -> Digest {
    Digest::of(line(of).as_bytes())
}

/// The digest of what posts and runs of studies depend on of a project besides themselves: the locks of posts, what was reviewed of
/// them and whose reviews count, the plans of studies and
/// the logs of started runs, and of which study and start the receipts of its bundles say that they are.
pub fn project(root: &Path) -> Result<Digest, Error> {
    let unreadable = |error: io::Error| {
        UNREADABLE.at(Location::file("repro"), "the files of the project", error.to_string())
    };
    let folder = root.join("repro");
    let is_of_posts = |name: &str| {
        name.ends_with(".lock") || name.ends_with(store::ENDING) || name == CONFIG_NAME
    };
    let locks = contents(&folder, is_of_posts).map_err(unreadable)?;
    let studies = contents(&folder.join("studies"), |_| true).map_err(unreadable)?;
    let present = study::present(root)?;
    let present = present
        .iter()
        .map(|one| json!([one.bundle, one.study, one.attempt.map(|attempt| attempt.to_string())]));
    Ok(digest(&json!([locks, studies, present.collect::<Vec<_>>()])))
}

/// The files of a folder that have such names, with their digests, in order.
fn contents(folder: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<(String, String)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().display().to_string();
        if wanted(&name) && path.is_file() {
            files.push((name, file_digest(&path)?.to_string()));
        }
    }
    files.sort();
    Ok(files)
}

/// The digest of what a post was judged by, as its report says: the page, the texts and the bundles.
pub fn judged_by(post: &PostReport) -> Digest {
    let texts = post.texts.iter().map(|text| json!([text.id, text.digest]));
    let bundles = post.bundles.iter().map(|bundle| json!([bundle.name, bundle.digest]));
    digest(&json!([post.digest, texts.collect::<Vec<_>>(), bundles.collect::<Vec<_>>()]))
}

/// The same of a post that is still to be judged, by the bundles that can be read.
pub fn to_be_judged(page: &PostPage, at_hand: &TextsAtHand, bundles: &[(&str, Digest)]) -> Digest {
    let known = |id: &String| at_hand.get(id).map(|text| text.digest.prefixed());
    let texts = page.texts.iter().map(|text| json!([text.id, known(&text.id)]));
    let mut texts: Vec<_> = texts.collect();
    if texts.is_empty() {
        // A report says of a post without texts that it has none available.
        texts.push(json!(["", null]));
    }
    let bundles = bundles.iter().map(|(name, digest)| json!([name, digest.prefixed()]));
    digest(&json!([page.digest().prefixed(), texts, bundles.collect::<Vec<_>>()]))
}

fn file_digest(path: &Path) -> io::Result<Digest> {
    let (mut file, mut hash) = (repro_core::source::open_plain(path)?, Hasher::default());
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
    // What cannot be listed is rejected where the bundle is read.
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

/// The inputs of a bundle inspection besides its item: its files as they are in a folder on this machine (what was
/// fetched is known by its digest), the files that options name, its challenges, and, where it is of a study, the project.
pub fn of_bundle(
    folder: Option<&Path>,
    bundle: Option<&Bundle>,
    asked: &Asked,
    project: &dyn Fn() -> Result<Digest, Error>,
) -> Result<Digest, Error> {
    let is_of_study = bundle.is_some_and(is_of_study);
    Ok(digest(&json!({
        "stamp": folder.map(|folder| stamp(folder).to_string()),
        "files": written(&asked.files),
        "slices": asked.replays,
        "challenges": written(&asked.challenges.iter().filter(|one| {
            bundle.is_none_or(|bundle| one.challenge.bundle == bundle.digest())
        }).collect::<Vec<_>>()),
        "project": if is_of_study { Some(project()?.to_string()) } else { None },
    })))
}

/// The digest of what counts beside a bundle: what the history of the project holds of its plan, and the files that its receipt names and
/// it does not hold, as they are. It is the same on every machine that has the same.
pub fn beside_bundle(bundle: &Bundle, demands: &Demands) -> Option<Digest> {
    let planned = planned(bundle, demands);
    let found = |name: &str| {
        let found = artifact(demands.artifacts.as_deref()?, name);
        Some(found.map_or_else(
            |error| json!(error.to_string()),
            |found| json!(found.map(|(bytes, sha256)| (bytes, sha256.to_string()))),
        ))
    };
    let external = bundle.receipt().files.iter().filter(|file| file.is_external());
    let external: Vec<_> = external.filter_map(|file| found(&file.name)).collect();
    let is_any = planned.is_some() || !external.is_empty();
    is_any.then(|| digest(&json!([planned, external])))
}

/// The same of a post: what history holds of the plans of its bundles, by their names.
pub fn beside_post<'n>(planned: impl Iterator<Item = (&'n str, Option<String>)>) -> Option<Digest> {
    let known = planned.filter_map(|(name, planned)| Some(json!([name, planned?])));
    let known: Vec<_> = known.collect();
    (!known.is_empty()).then(|| digest(&json!(known)))
}

/// Whether a receipt names a study, or a plan by its digest.
pub fn is_of_study(bundle: &Bundle) -> bool {
    let receipt = bundle.receipt();
    receipt.study().is_some() || receipt.plan_sha256().is_some() || receipt.start.is_some()
}

/// The project history of a run's plan.
pub fn planned(bundle: &Bundle, demands: &Demands) -> Option<String> {
    let run = bundle.receipt().run.as_ref()?;
    let (study, commit) = (run.study.as_ref()?, run.plan_commit.as_ref()?);
    // A repository that does not know the commit says as much as none.
    match demands.history.as_ref()?.at(commit, study, bundle.name()) {
        PlanAt::NoRepository | PlanAt::NoCommit => None,
        held => Some(digest(&Json::from(format!("{held:?}"))).to_string()),
    }
}
