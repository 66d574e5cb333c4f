//! `repro verify`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::args::{JudgedArgs, MinMethod, MinOrigin, MinReading, ReplaysArg, VerifyArgs};
use super::arrangement::ReplayArrangement;
use super::git;
use super::history::GitHistory;
use super::output::{Output, write_file};
use super::partwise::PartwiseReport;
use super::trainer::RunData;
use super::{Answer, BAD_USAGE, cluster, trace, trainer};
use repro_bundle::bundle::{Bundle, Cache, ReadOptions};
use repro_bundle::signature::{Attestations, Authorities, PublicKey, Timestamps};
use repro_bundle::storage::{Located, is_url};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};
use repro_model::challenge::Challenge;
use repro_report::Format;
use repro_report::outcome::{
    ClaimReport, EvidenceOrigin, ExitStatus, LockDifference, Method, PostReport, ReadBy, Verdict,
};
use repro_report::part::{PartSubject, ReportPart, ReportSink};
use repro_verify::index::{self, PostIndex};
use repro_verify::lock::{self, PostLock};
use repro_verify::post;
use repro_verify::review::ReviewPolicy;
use repro_verify::verify::{self, Demands, Replayer, SameRun};

/// Whether only bundles are to be checked, which can lie outside of any project.
pub fn is_of_bundles_alone(judged: &JudgedArgs) -> bool {
    !judged.bundles.is_empty() && judged.post.is_empty()
}

/// Runs the command.
pub fn run(root: &Path, own: &VerifyArgs, output: &Output) -> Answer {
    let threads = own.threads.unwrap_or_else(super::threads::cores);
    if own.replay != ReplaysArg::None && (own.locked || own.write_lock) {
        let expected =
            "no `--replay` with `--locked` or `--write-lock`: locks record verdicts without replay";
        return Err(vec![BAD_USAGE.at(Location::file("--replay"), expected, "both")]);
    }
    if !own.judged.bundles.is_empty() && (own.locked || own.write_lock) {
        let expected = "only posts: locks do not record bundles";
        return Err(vec![BAD_USAGE.at(Location::file("--locked"), expected, "a bundle")]);
    }
    if own.resume.is_some() && (own.write_lock || own.replay == ReplaysArg::Auto) {
        let expected = "no `--write-lock` and no `--replay auto` with `--resume`: stored results must not depend on a lock or a clock";
        return Err(vec![BAD_USAGE.at(
            Location::file("--resume"),
            expected,
            "one of these options",
        )]);
    }
    let ids = posts(root, &own.judged)?;
    let challenges: Result<_, _> = own.challenge.iter().map(|path| challenge(path)).collect();
    let demands = Demands {
        pictures: output.draws(Format::Html),
        repin: own.write_lock,
        challenges_alone: !own.challenge.is_empty(),
        challenges: challenges.map_err(|error| vec![error])?,
        ..demands(root, &own.judged).map_err(|error| vec![error])?
    };
    let open = |path| Cache::open(path, SystemTime::now()).map_err(|error| vec![error]);
    let cache = own.cache.as_deref().map(open).transpose()?;
    let reading = ReadOptions { cache: cache.as_ref(), ..ReadOptions::from(threads) };
    let asked = Asked { ids: &ids, bundles: &own.judged.bundles, demands: &demands, reading };
    let has_failed = Cell::new(false);
    let judged = match &own.resume {
        Some(store) => cluster::resumed(root, own, store, (reading, &has_failed), output)?,
        None => asked.judged(root, own, (output, &has_failed))?,
    };
    let mut report = match judged {
        Ok(report) => report,
        Err(status) => return Ok(status),
    };
    for note in cache.iter().flat_map(Cache::notes) {
        output.say(&note);
    }
    if let Some(name) = &own.trace {
        let claims = trace::find(report.posts(), name)?;
        let traces: Vec<_> = claims.iter().map(|claim| trace::render(claim)).collect();
        output.print(&traces.join("\n"));
        let is_settled = |claim: &&ClaimReport| {
            claim.outcome.is_verified() && claim.meaning.unanswered().next().is_none()
        };
        let is_refuted = |claim: &&ClaimReport| claim.outcome.verdict == Verdict::Refuted;
        return Ok(match claims.iter().all(is_settled) {
            true => ExitStatus::Verified,
            false if claims.iter().any(is_refuted) => ExitStatus::Refuted,
            false => ExitStatus::Undecided,
        });
    }
    let locked = own.locked.then(|| compare(root, own, &ids, report.posts())).transpose();
    let locked = locked.unwrap_or_else(|failures| {
        report.refuse(failures);
        None
    });
    // The verdicts that are recorded now are what was asked for.
    let records = own.write_lock && !report.has_failures();
    if records {
        let gone = write_lock(root, own, report.posts()).map_err(|error| vec![error])?;
        for id in gone {
            output
                .say(&format!("{}: removed the missing post `{id}` from the list", index::file()));
        }
    }
    let status = report.finish(|report| {
        report.min_origin = demands.origin;
        report.wants_all_bound = own.judged.all_bound;
        report.not_run = has_failed.get();
        report.base = git::below_top(root);
        report.locked = locked;
    })?;
    Ok(if records { ExitStatus::Verified } else { status })
}

/// The inputs to judge, and how to judge them.
struct Asked<'a> {
    ids: &'a [String],
    bundles: &'a [PathBuf],
    demands: &'a Demands,
    reading: ReadOptions<'a>,
}

impl Asked<'_> {
    /// The posts and bundles, judged; another status where the device that is asked for is not there.
    fn judged<'o>(
        &self,
        root: &Path,
        own: &VerifyArgs,
        (output, has_failed): (&'o Output, &Cell<bool>),
    ) -> Result<Result<PartwiseReport<'o>, ExitStatus>, Vec<Error>> {
        let judged = if own.replay == ReplaysArg::None && own.challenge.is_empty() {
            Ok(self.report(root, output, None))
        } else {
            let arrangement = ReplayArrangement {
                device: own.device.as_deref(),
                engine: own.engine.engine(),
                threads: self.reading.threads,
                budget: (own.replay == ReplaysArg::Auto).then_some(own.budget.as_str()),
                is_told: true,
            };
            let data = RunData::new(own.data.clone());
            let judge = |replayer: &mut dyn Replayer| self.report(root, output, Some(replayer));
            trainer::replaying(arrangement, &data, (output, has_failed), judge)?
        };
        judged.map_or_else(|status| Ok(Err(status)), |report| report.map(Ok))
    }

    fn report<'o>(
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
        let named = self.inspect(&bundles, replayer, &mut report);
        if !demands.challenges.is_empty() {
            report.refuse(demands.foreign_challenges(named.into_iter()));
        }
        report.refuse(demands.attestations.unused());
        report.refuse(demands.timestamps.unused());
        Ok(report)
    }
}

impl Asked<'_> {
    /// Checks bundles on their own, in their order: those of this machine many at a time; one by URL is fetched, and goes again
    /// before the next. Answers the digests of those that challenges may be of.
    fn inspect(
        &self,
        bundles: &[&Path],
        mut replayer: Option<&mut dyn Replayer>,
        report: &mut PartwiseReport<'_>,
    ) -> Vec<Digest> {
        let (mut digests, mut traces) = (Vec::new(), Vec::new());
        let mut outline = |path: &Path, shown: &str| {
            if !self.demands.challenges.is_empty() {
                digests.extend(Bundle::outline(path, shown).map(|bundle| bundle.digest()));
            }
        };
        for group in bundles.chunk_by(|one, next| !is_url(one) && !is_url(next)) {
            let lent = replayer.as_mut().map(|replayer| &mut **replayer as &mut dyn Replayer);
            if !is_url(group[0]) {
                traces.extend(verify::inspect_all(group, self.demands, self.reading, lent, report));
                group.iter().for_each(|path| outline(path, &path.display().to_string()));
                continue;
            }
            match Located::bundle(group[0]) {
                Err(error) => {
                    let subject = PartSubject::Bundle(error.place.file.clone());
                    report.take(ReportPart::refused(subject, vec![error]));
                }
                Ok(located) => {
                    let (path, reading) = (located.path.as_path(), located.reading(self.reading));
                    traces.extend(verify::inspect_all(
                        &[path],
                        self.demands,
                        reading,
                        lent,
                        report,
                    ));
                    outline(path, &located.shown);
                }
            }
        }
        let same = verify::same_runs(&traces);
        if let Some(part) = verify::same_run_doubts(&traces, &same) {
            report.take(part);
        }
        report.refuse(same.iter().filter_map(SameRun::refused).collect());
        digests
    }
}

/// Each bundle once, whatever names lead to it.
pub fn once(bundles: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let mut seen = BTreeSet::new();
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    bundles.iter().filter(move |path| seen.insert(real(path)))
}

fn asks_for_all(judged: &JudgedArgs) -> bool {
    judged.post.iter().any(|id| id == "all")
        || (judged.post.is_empty() && judged.bundles.is_empty())
}

/// The posts asked for: as named, `all`, or all where nothing at all is named.
pub fn posts(root: &Path, judged: &JudgedArgs) -> Result<Vec<String>, Vec<Error>> {
    let mut ids = if asks_for_all(judged) {
        post::list(root).map_err(|error| vec![error])?
    } else {
        judged.post.clone()
    };
    ids.sort();
    ids.dedup();
    Ok(ids)
}

fn keys(paths: &[PathBuf]) -> Result<Vec<PublicKey>, Error> {
    paths.iter().map(|path| PublicKey::load(path)).collect()
}

/// A challenge, and the file that it is in.
pub fn challenge(path: &Path) -> Result<(Challenge, String), Error> {
    Ok((Challenge::load(path)?, path.display().to_string()))
}

/// The arguments' demands on evidence, for the judge.
pub fn demands(root: &Path, judged: &JudgedArgs) -> Result<Demands, Error> {
    let (timestamps, attestations) = vouchers(judged)?;
    Ok(Demands {
        texts: judged.text.clone(),
        project: Some(root.to_owned()),
        history: Some(Arc::new(GitHistory::of(root))),
        artifacts: judged.artifacts.clone(),
        timestamps: Arc::new(timestamps),
        attestations: Arc::new(attestations),
        initial_weights: trainer::INITIAL_WEIGHTS,
        keys: keys(&judged.pubkey)?,
        origin: judged.min_origin.map(|origin| match origin {
            MinOrigin::Transcribed => EvidenceOrigin::Transcribed,
            MinOrigin::Declared => EvidenceOrigin::Declared,
            MinOrigin::Signed => EvidenceOrigin::Signed,
            MinOrigin::Attested => EvidenceOrigin::Attested,
        }),
        method: judged.min_method.map(|method| match method {
            MinMethod::Compared => Method::Compared,
            MinMethod::Recomputed => Method::Recomputed,
            MinMethod::Replayed => Method::Replayed,
            MinMethod::TwoEngines => Method::ReplayedByTwo,
        }),
        reading: match judged.min_reading {
            Some(MinReading::Drafted) => Some(ReadBy::Drafted),
            Some(MinReading::Author) => Some(ReadBy::Author),
            Some(MinReading::Reviewed) => Some(ReadBy::Reviewed),
            None => ReviewPolicy::load(root)?.min_reading,
        },
        ..Demands::default()
    })
}

/// The timestamps and attestations in the files given as arguments.
pub fn vouchers(judged: &JudgedArgs) -> Result<(Timestamps, Attestations), Error> {
    let authorities = Authorities::load(&judged.authority)?;
    let timestamps = Timestamps::load(&judged.timestamp, &authorities, SystemTime::now())?;
    Ok((timestamps, Attestations::load(&judged.attestation, &keys(&judged.builder_key)?)?))
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
            lock::NO_LOCK.at(place, "the record of the post", "no such file")
        };
        match lock::read(root, &post.id).and_then(|recorded| recorded.ok_or_else(missing)) {
            Ok(recorded) => {
                differences.extend(recorded.differences(&post.id, &PostLock::of(post)));
            }
            Err(error) => failures.push(error),
        }
    }
    match PostIndex::read(root) {
        Err(error) => failures.push(error),
        Ok(index) => {
            let checked = posts.iter().filter(|post| root.join(lock::file(&post.id)).is_file());
            let checked =
                index.iter().flat_map(|index| checked.clone().map(|post| index.check(post)));
            failures.extend(checked.filter_map(Result::err));
            if asks_for_all(&own.judged) {
                failures.extend(index::gone(root, ids, index.as_ref()));
            }
        }
    }
    if failures.is_empty() { Ok(differences) } else { Err(failures) }
}

/// Records what was found of each post, and that these are the posts, where all were asked for. Answers the posts that were
/// recorded before and are gone.
fn write_lock(root: &Path, own: &VerifyArgs, posts: &[PostReport]) -> Result<Vec<String>, Error> {
    // An index that cannot be read is what this command is told to mend, but of some posts alone it would lose the others.
    let mut index = match PostIndex::read(root) {
        Err(_) if asks_for_all(&own.judged) => PostIndex::default(),
        index => index?.unwrap_or_default(),
    };
    for post in posts {
        let name = lock::file(&post.id);
        write_file(root, &name, &name, PostLock::of(post).render().as_bytes())?;
        index.record(post);
    }
    let gone = match asks_for_all(&own.judged) {
        true => index.keep_only(posts),
        false => Vec::new(),
    };
    let name = index::file();
    write_file(root, &name, &name, index.render().as_bytes())?;
    Ok(gone)
}
