//! `repro verify`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::args::{MinMethod, MinOrigin, ReplaysArg, VerifyArgs};
use super::git;
use super::history::GitHistory;
use super::output::{Output, write_file};
use super::partwise::PartwiseReport;
use super::{Answer, BAD_USAGE, trainer};
use repro_judge::lock::{self, PostLock};
use repro_judge::post;
use repro_judge::verify::{self, Demands, Replayer};
use repro_receipt::bundle::{Cache, ReadOptions};
use repro_receipt::source::{Error, Location};
use repro_report::Format;
use repro_report::outcome::{EvidenceOrigin, ExitStatus, LockDifference, Method, PostReport};
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
    if own.challenge.is_some() && once(&own.bundles).count() != 1 {
        let (expected, found) = ("one bundle", format!("{} bundles", own.bundles.len()));
        return Err(vec![BAD_USAGE.at(Location::file("--challenge"), expected, found)]);
    }
    let ids = posts(root, own)?;
    let demands = demands(root, own, output.draws(Format::Html)).map_err(|error| vec![error])?;
    let open = |path| Cache::open(path, SystemTime::now()).map_err(|error| vec![error]);
    let cache = own.cache.as_deref().map(open).transpose()?;
    let reading = ReadOptions { cache: cache.as_ref(), ..ReadOptions::from(threads) };
    let asked = Asked { ids: &ids, bundles: &own.bundles, demands: &demands, reading };
    let (judged, has_failed) = match own.replay {
        ReplaysArg::None if own.challenge.is_none() => (asked.judged(root, output, None), false),
        ReplaysArg::None | ReplaysArg::Auto | ReplaysArg::All => {
            let device = own.device.as_deref();
            let budget = (own.replay == ReplaysArg::Auto).then_some(own.budget.as_str());
            let data = own.data.clone();
            let judge = |replayer: &mut dyn Replayer| asked.judged(root, output, Some(replayer));
            match trainer::replaying((device, threads), budget, data, output, judge)? {
                Ok(judged) => judged,
                Err(status) => return Ok(status),
            }
        }
    };
    let mut report = judged?;
    report.refuse(demands.attestations.unused());
    report.refuse(demands.timestamps.unused());
    for note in cache.iter().flat_map(Cache::notes) {
        output.say(&note);
    }
    let locked = own.locked.then(|| compare(root, own, &ids, report.posts())).transpose();
    let locked = locked.unwrap_or_else(|failures| {
        report.refuse(failures);
        None
    });
    // The verdicts that are recorded now are what was asked for.
    let records = own.write_lock && !report.has_failures();
    if records {
        write_lock(root, report.posts())?;
    }
    let status = report.finish(|report| {
        report.wants_all_bound = own.all_bound;
        report.not_run = has_failed;
        report.base = git::below_top(root);
        report.locked = locked;
    })?;
    Ok(if records { ExitStatus::Verified } else { status })
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
    fn judged<'o>(
        &self,
        root: &Path,
        output: &'o Output,
        mut replayer: Option<&mut dyn Replayer>,
    ) -> Result<PartwiseReport<'o>, Vec<Error>> {
        let bundles: Vec<&Path> = once(self.bundles).map(PathBuf::as_path).collect();
        // A replay shows its own progress.
        let counted = replayer.is_none().then_some(bundles.len());
        let mut report = PartwiseReport::begin(output, counted)?;
        let (demands, reading) = (self.demands, self.reading);
        let lent = replayer.as_mut().map(|replayer| &mut **replayer as &mut dyn Replayer);
        verify::verify_into(root, self.ids, demands, reading, lent, &mut report);
        verify::inspect_all(&bundles, demands, reading, replayer, &mut report);
        Ok(report)
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
        challenge: own.challenge.as_deref().map(challenge).transpose()?,
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

/// The differences between posts and their locks, or why one cannot be used. Where all posts are asked for, so are those that
/// are recorded and gone.
fn compare(
    root: &Path,
    own: &VerifyArgs,
    ids: &[String],
    posts: &[PostReport],
) -> Result<Vec<LockDifference>, Vec<Error>> {
    let mut differences = Vec::new();
    let mut failures = Vec::new();
    for post in posts {
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
    if failures.is_empty() { Ok(differences) } else { Err(failures) }
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
fn write_lock(root: &Path, posts: &[PostReport]) -> Result<(), Vec<Error>> {
    let write = |post: &PostReport| {
        let name = lock::file(&post.id);
        write_file(&root.join(&name), &name, PostLock::of(post).render().as_bytes())
    };
    posts.iter().try_for_each(write).map_err(|error| vec![error])
}
