//! One run: from its plan to a receipt bundle.
//!
//! Owns the loop over steps, what is saved when, and going on after a kill at any instant. While a run
//! trains its folder holds `data/` and `state.json`; at the end it becomes a bundle. What was written
//! stays a valid unfinished run whatever happens, and steps that are executed again must come out
//! equal, so the bytes at the end are those of an uninterrupted run in all but wall-clock times.

mod examination;
mod receipt;
mod records;
mod slices;
mod state;
mod training;

use std::path::Path;
use std::time::Duration;

use serde_json::Value as Json;

use super::backend::{Place, on_place};
use super::data::Corpus;
use super::progress::{News, Watcher};
use super::{DIVERGED, OTHER_RUN, Suite};
use repro_bundle::bundle::{Bundle, BundleWriter, CONFIG, Environment, METRICS, Trainer};
use repro_core::digest::{Digest, canonical};
use repro_core::disk::Disk;
use repro_core::source::{Error, Location};
use repro_model::starts::StartsFile;
use repro_model::study::PlannedRun;
use training::Training;

pub use examination::{ExaminedPoint, examine, suite};
pub use receipt::held_out;

/// The environment of a run: its data, machine and watchers.
pub struct Context<'a> {
    /// Where its bundle is written.
    pub disk: &'a dyn Disk,
    /// Where its model lives.
    pub place: Place,
    /// The data.
    pub corpus: &'a Corpus,
    /// The tasks that checkpoints are examined by.
    pub suite: Option<&'a Suite>,
    /// The commit of the study file.
    pub plan_commit: Option<String>,
    /// Where started runs are logged, and the folder of the study file.
    pub starts: Option<(&'a StartsFile, &'a Path)>,
    /// This program.
    pub trainer: Trainer,
    /// This machine.
    pub environment: Environment,
    /// Who is told what happens.
    pub watcher: &'a dyn Watcher,
    /// How long a run trains, at most, between two saved states.
    pub save_every: Duration,
}

/// A run that is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finished {
    /// The digest of its bundle.
    pub digest: Digest,
    /// Whether it was trained to its end now; else its bundle was there.
    pub anew: bool,
    /// The loss on held-out text at its last checkpoint, in nats per token.
    pub loss: Option<f64>,
    /// The same in bits per byte.
    pub bits_per_byte: Option<f64>,
}

/// Trains a run in the folder of its name below `out`, from where an earlier attempt stopped; a bundle of
/// the same run that is there is left as it is. A run that diverges is sealed as it stands, because it
/// counts in its study, and refused.
pub fn run(plan: &PlannedRun, out: &Path, context: &Context<'_>) -> Result<Finished, Error> {
    let folder = out.join(&plan.id);
    let (bundle, anew) = match finished_bundle(&folder)? {
        Some(bundle) => {
            same_config(plan, &bundle.bytes(CONFIG)?, &folder.join(CONFIG))?;
            (bundle, false)
        }
        None => {
            let digest = match completed(plan, &folder, context)? {
                Some(digest) => digest,
                None => on_place!(&context.place, backend => {
                    let mut training = Training::begin(plan, &folder, context, backend)?;
                    training.steps()?;
                    training.finish()?
                }),
            };
            // Read as a stranger reads it: what would be refused later is refused now.
            let shown = folder.display().to_string();
            (Bundle::load_folder(&folder, &shown, Some(&digest), 1)?, true)
        }
    };
    if let Some(step) = bundle.diverged_at()? {
        let place = Location::file(folder.display().to_string());
        let expected = "a finite loss and a finite gradient norm";
        return Err(DIVERGED.at(place, expected, format!("non-finite values at step {step}")));
    }
    let (loss, bits_per_byte) = held_out(&bundle)?;
    let digest = bundle.digest();
    context.watcher.tell(&plan.id, News::Finished { digest, anew });
    Ok(Finished { digest, anew, loss, bits_per_byte })
}

/// The finished bundle in a folder, where there is one.
pub fn finished_bundle(folder: &Path) -> Result<Option<Bundle>, Error> {
    if !folder.join("bagit.txt").is_file() {
        return Ok(None);
    }
    let shown = folder.display().to_string();
    Bundle::load_folder(folder, &shown, None, 1).map(Some)
}

/// The digest of a run that an earlier attempt trained to its end, where only its sealing stopped; the
/// last step of that is made.
fn completed(
    plan: &PlannedRun,
    folder: &Path,
    context: &Context<'_>,
) -> Result<Option<Digest>, Error> {
    let path = folder.join(CONFIG);
    let Ok(config) = repro_core::source::read_plain(&path) else { return Ok(None) };
    same_config(plan, &config, &path)?;
    if !folder.join(METRICS).is_file() {
        return Ok(None);
    }
    let _lock = records::lock(folder)?;
    BundleWriter::complete_on(context.disk, folder)
}

/// Opens the folder of a run: writes its configuration, or checks that what is there is the same.
fn open<'a>(
    plan: &PlannedRun,
    folder: &Path,
    disk: &'a dyn Disk,
) -> Result<BundleWriter<'a>, Error> {
    let mut writer = BundleWriter::resume_on(disk, folder)?;
    let path = folder.join(CONFIG);
    match repro_core::source::read_plain(&path) {
        Ok(config) => same_config(plan, &config, &path)?,
        Err(_) => writer.json(CONFIG, &Json::Object(plan.config.clone()))?,
    }
    Ok(writer)
}

fn same_config(plan: &PlannedRun, found: &[u8], path: &Path) -> Result<(), Error> {
    let wanted = canonical(&Json::Object(plan.config.clone())).map_err(|error| {
        let place = Location::file(path.display().to_string());
        repro_bundle::bundle::UNWRITABLE.at(
            place,
            "a configuration that canonical JSON allows",
            error.to_string(),
        )
    })?;
    if found.strip_suffix(b"\n") == Some(wanted.as_bytes()) {
        return Ok(());
    }
    let config = |bytes: &[u8]| {
        serde_json::from_slice::<serde_json::Map<String, Json>>(bytes).unwrap_or_default()
    };
    let there = config(found);
    let other = plan.config.keys().chain(there.keys());
    let other = other.into_iter().find(|key| plan.config.get(*key) != there.get(*key));
    let found =
        other.map_or("a different configuration".to_owned(), |key| format!("a different `{key}`"));
    let place = Location::file(path.display().to_string());
    Err(OTHER_RUN.at(place, "the configuration from the study", found))
}

#[cfg(test)]
mod tests;
