//! `repro verify`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::args::{MinMethod, MinOrigin, ReplaysArg, VerifyArgs};
use super::git;
use super::history::GitHistory;
use super::output::{Output, write_file};
use super::{Answer, BAD_USAGE, trainer};
use repro_judge::lock::{self, PostLock};
use repro_judge::post;
use repro_judge::verify::{self, Demands, Replayer};
use repro_receipt::bundle::{Cache, ReadOptions};
use repro_receipt::source::{Error, Location};
use repro_report::Format;
use repro_report::outcome::{EvidenceOrigin, ExitStatus, Method, PostReport, Report};
use repro_runs::challenge::Challenge;
use repro_signature::{Attestations, Authorities, PublicKey, Timestamps};

/// Whether only bundles are to be checked, which can lie outside of any project.
pub fn is_of_bundles_alone(own: &VerifyArgs) -> bool {
    !own.bundles.is_empty() && own.post.is_empty()
}

/// Runs the command.
pub fn run(root: &Path, own: &VerifyArgs, output: &Output) -> Answer {
    let threads = own.threads.unwrap_or_else(super::threads::cores);
    if own.replay != ReplaysArg::None && (own.locked || own.write_lock) {
        let expected =
            "no `--replay` with `--locked` or `--write-lock`: recorded verdicts do not use replay";
        return Err(vec![BAD_USAGE.at(Location::file("--replay"), expected, "both")]);
    }
    if !own.bundles.is_empty() && (own.locked || own.write_lock) {
        let expected = "posts alone: no lock records bundles that are named on their own";
        return Err(vec![BAD_USAGE.at(Location::file("--locked"), expected, "a bundle")]);
    }
    let ids = posts(root, own)?;
    let demands = demands(root, own, output.draws(Format::Html)).map_err(|error| vec![error])?;
    let open = |path| Cache::open(path, SystemTime::now()).map_err(|error| vec![error]);
    let cache = own.cache.as_deref().map(open).transpose()?;
    let reading = ReadOptions { cache: cache.as_ref(), ..ReadOptions::from(threads) };
    let asked = Asked { ids: &ids, bundles: &own.bundles, demands: &demands, reading };
    let (mut report, has_failed) = match own.replay {
        ReplaysArg::None if own.challenge.is_empty() => (asked.judged(root, None), false),
        ReplaysArg::None | ReplaysArg::Auto | ReplaysArg::All => {
            let device = own.device.as_deref();
            let budget = (own.replay == ReplaysArg::Auto).then_some(own.budget.as_str());
            let data = own.data.clone();
            let judge = |replayer: &mut dyn Replayer| asked.judged(root, Some(replayer));
            match trainer::replaying((device, threads), budget, data, output, judge)? {
                Ok(judged) => judged,
                Err(status) => return Ok(status),
            }
        }
    };
    report.failures.extend(demands.foreign_challenges(&report));
    report.failures.extend(demands.attestations.unused());
    report.failures.extend(demands.timestamps.unused());
    report.wants_all_bound = own.all_bound;
    report.not_run = has_failed;
    report.base = git::below_top(root);
    for note in cache.iter().flat_map(Cache::notes) {
        output.say(&note);
    }
    if own.locked {
        compare(root, own, &ids, &mut report);
    }
    if own.write_lock && report.failures.is_empty() {
        write_lock(root, &report)?;
    }
    output.report(&report)?;
    // The verdicts that were just recorded are what was asked for.
    let recorded = own.write_lock && report.failures.is_empty();
    Ok(if recorded { ExitStatus::Verified } else { report.exit_status() })
}

/// What is to be judged, and how.
struct Asked<'a> {
    ids: &'a [String],
    bundles: &'a [PathBuf],
    demands: &'a Demands,
    reading: ReadOptions<'a>,
}

impl Asked<'_> {
    /// The posts and bundles, judged.
    fn judged(&self, root: &Path, mut replayer: Option<&mut dyn Replayer>) -> Report {
        let lent = replayer.as_mut().map(|replayer| &mut **replayer as &mut dyn Replayer);
        let mut report = verify::verify_with(root, self.ids, self.demands, self.reading, lent);
        for bundle in once(self.bundles) {
            let lent = replayer.as_mut().map(|replayer| &mut **replayer as &mut dyn Replayer);
            verify::inspect(bundle, self.demands, self.reading, &mut report, lent);
        }
        report
    }
}

/// Each bundle once, whatever names lead to it.
fn once(bundles: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let mut seen = BTreeSet::new();
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    bundles.iter().filter(move |path| seen.insert(real(path)))
}

fn asks_for_all(own: &VerifyArgs) -> bool {
    own.post.iter().any(|id| id == "all") || (own.post.is_empty() && own.bundles.is_empty())
}

/// The posts asked for: as named, `all`, or all where nothing at all is named.
fn posts(root: &Path, own: &VerifyArgs) -> Result<Vec<String>, Vec<Error>> {
    let mut ids = if asks_for_all(own) {
        post::list(root).map_err(|error| vec![error])?
    } else {
        own.post.clone()
    };
    ids.sort();
    ids.dedup();
    Ok(ids)
}

fn keys(paths: &[PathBuf]) -> Result<Vec<PublicKey>, Error> {
    paths.iter().map(|path| PublicKey::load(path)).collect()
}

fn challenge(path: &Path) -> Result<(Challenge, String), Error> {
    Ok((Challenge::load(path)?, path.display().to_string()))
}

fn demands(root: &Path, own: &VerifyArgs, pictures: bool) -> Result<Demands, Error> {
    Ok(Demands {
        pictures,
        texts: own.text.clone(),
        project: Some(root.to_owned()),
        history: Some(Arc::new(GitHistory::of(root))),
        artifacts: own.artifacts.clone(),
        timestamps: Arc::new(Timestamps::load(
            &own.timestamp,
            &Authorities::load(&own.authority)?,
        )?),

        attestations: Arc::new(Attestations::load(&own.attestation, &keys(&own.builder_key)?)?),

        beginnings: trainer::BEGINNINGS,
        challenges: own.challenge.iter().map(|path| challenge(path)).collect::<Result<_, _>>()?,
        challenges_alone: !own.challenge.is_empty(),
        repin: own.write_lock,
        keys: keys(&own.pubkey)?,
        origin: own.min_origin.map(|origin| match origin {
            MinOrigin::Transcribed => EvidenceOrigin::Transcribed,
            MinOrigin::Declared => EvidenceOrigin::Declared,
            MinOrigin::Signed => EvidenceOrigin::Signed,
            MinOrigin::Attested => EvidenceOrigin::Attested,
        }),
        method: own.min_method.map(|method| match method {
            MinMethod::Compared => Method::Compared,
            MinMethod::Recomputed => Method::Recomputed,
            MinMethod::Replayed => Method::Replayed,
        }),
    })
}

/// Reads the locks and notes the differences, or why one cannot be used. Where all posts are asked for, so are
/// those that are recorded and gone.
fn compare(root: &Path, own: &VerifyArgs, ids: &[String], report: &mut Report) {
    let mut differences = Vec::new();
    let mut failures = Vec::new();
    for post in &report.posts {
        let missing = || {
            let place = Location::file(lock::file(&post.id));
            lock::NO_LOCK.at(place, "what was recorded of the post", "no such file")
        };
        match lock::read(root, &post.id).and_then(|recorded| recorded.ok_or_else(missing)) {
            Ok(recorded) => {
                differences.extend(recorded.differences(&post.id, &PostLock::of(post)));
            }
            Err(error) => failures.push(error),
        }
    }
    if asks_for_all(own) {
        failures.extend(gone_posts(root, ids));
    }
    if failures.is_empty() {
        report.locked = Some(differences);
    }
    report.failures.extend(failures);
}

/// Locks without a post.
fn gone_posts(root: &Path, ids: &[String]) -> Vec<Error> {
    let entries = std::fs::read_dir(root.join("repro")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut gone: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".lock").map(str::to_owned))
        .filter(|id| !ids.contains(id))
        .collect();
    gone.sort();
    let missing = |id: String| {
        let place = Location::file(format!("repro/{id}.toml"));
        let error =
            post::NO_SUCH_POST.at(place, format!("the post of `{}`", lock::file(&id)), "none");
        error.help("put the post back, or remove its lock")
    };
    gone.into_iter().map(missing).collect()
}

/// Records what was found of each post.
fn write_lock(root: &Path, report: &Report) -> Result<(), Vec<Error>> {
    let write = |post: &PostReport| {
        let name = lock::file(&post.id);
        write_file(&root.join(&name), &name, PostLock::of(post).render().as_bytes())
    };
    report.posts.iter().try_for_each(write).map_err(|error| vec![error])
}
