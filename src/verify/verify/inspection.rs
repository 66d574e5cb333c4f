//! A bundle on its own: whether it is intact, agrees with itself, and what its receipt declares.

use std::collections::BTreeSet;
use std::path::Path;

use super::challenged::{ChallengedWalks, seeded};
use super::history::{PlanHistory, planned_before};
use super::own::{BundleSubject, logged, own_claim, stamped};
use super::replays::{Replayer, SliceRequest};
use super::same_run::TracedBundle;
use super::{Demands, below, describe, executed, findings_of, signature_finding};
use crate::evaluate::functions::again;
use crate::planned::follows;
use crate::started::{NOT_LOGGED, StartedRuns};
use repro_bundle::bundle::{Bundle, CONFIG, ListedFile, Open, RECEIPT, ReadOptions, artifact};
use repro_bundle::signature;
use repro_claim::relation::consistency::{BrokenRelation, SelfConsistency};
use repro_core::source::{Error, codes};
use repro_model::checkpoints::{CheckpointsFound, NOT_LOOKED_AT, OUTLIERS, WeightsFault};
use repro_model::params::{
    self as params, Convention, Count, CountScope, ParameterCount, ParameterCounts,
};
use repro_model::replay::{Extent, Replays};
use repro_model::study::{self, Present, Study};
use repro_report::outcome::{
    BundleReport, ChallengeReport, ClaimReport, EvidenceRef, Finding, Impact, Outcome, PostReport,
    Severity, Verdict,
};
use repro_report::part::{PartSubject, ReportPart};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

codes! {
    UNCOUNTED = "verify::uncountable-config", "the config's parameters cannot be counted", "see `repro params`";
    OTHER_COUNT = "verify::parameter-count-differs", "the parameter counts in the receipt and in its config differ", "correct the receipt's `model`";
    NOT_AT_HAND = "verify::missing-artifact", "a file listed in the receipt is not in the bundle", "pass `--artifacts DIR` with the folder that contains it";
    OTHER_ARTIFACT = "verify::changed-artifact", "a file does not match the digest in the receipt", "download the file again, or ask the author for it";
    SHAPE_UNSEEN = "verify::unconfirmed-shape", "no tensors confirm the model's shape", "keep a checkpoint or a slice";
    EMITTER_PROBLEMS = "verify::emitter-problems", "the run recorder could not write everything", "see `extra.emitter_problems` in the receipt";
}

/// The report on the bundle in the folder `path` on its own, with a replay of each slice if there is a replayer.
pub(super) fn inspected(
    path: &Path,
    demands: &Demands,
    reading: ReadOptions<'_>,
    replayer: Option<&mut dyn Replayer>,
) -> (ReportPart, Option<TracedBundle>) {
    match InspectedBundle::read(path, demands, reading, replayer.is_some()) {
        Err(error) => {
            let subject = PartSubject::Bundle(reading.shown(path));
            (ReportPart::refused(subject, vec![error]), None)
        }
        Ok((bundle, inspected)) => {
            let extents = inspected.extents();
            let request = |extent: &Extent| SliceRequest { bundle: &bundle, extent: *extent };
            let requests: Vec<_> = extents.iter().map(request).collect();
            let answers = match replayer {
                Some(replayer) if !requests.is_empty() => replayer.replay(&requests),
                _ => Replays::new(),
            };
            (inspected.answered(&answers, demands), Some(TracedBundle::of(&bundle)))
        }
    }
}

/// A bundle as far as it is judged before any step is made again, and the steps that are asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InspectedBundle {
    subject: BundleSubject,
    /// How messages name its folder.
    shown: String,
    described: BundleReport,
    claims: Vec<ClaimReport>,
    /// Findings that belong to no claim.
    findings: Vec<Finding>,
    /// Inputs that could not be read or were rejected.
    failures: Vec<Error>,
    steps: AskedSteps,
}

/// The steps of a bundle that are to be made again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum AskedSteps {
    /// Those of its slices, where these are wanted.
    Slices(Vec<Extent>),
    /// Those that lead through drawn intervals.
    Walks(ChallengedWalks),
}

impl AskedSteps {
    /// Those that a challenge of this bundle asks for, or those of its slices where these are wanted.
    fn of(bundle: &Bundle, demands: &Demands, with_slices: bool) -> Result<Self, Error> {
        if let Some((challenge, file)) = demands.challenge_of(bundle) {
            return Ok(Self::Walks(ChallengedWalks::of(bundle, challenge, file)?));
        }
        if !with_slices || demands.challenges_alone {
            return Ok(Self::Slices(Vec::new()));
        }
        let slices: BTreeSet<_> = bundle.receipt().slices.iter().map(Extent::of).collect();
        Ok(Self::Slices(slices.into_iter().collect()))
    }

    fn extents(&self) -> Vec<Extent> {
        match self {
            Self::Slices(extents) => extents.clone(),
            Self::Walks(walks) => walks.extents().collect(),
        }
    }
}

/// The steps of a bundle that are to be made again: those of its challenge, or of its slices where these are wanted. A challenge that
/// is not of this bundle asks for none, and is rejected where the bundle is inspected.
pub fn asked_steps(bundle: &Bundle, demands: &Demands, with_slices: bool) -> Vec<Extent> {
    AskedSteps::of(bundle, demands, with_slices).map_or(Vec::new(), |steps| steps.extents())
}

impl InspectedBundle {
    /// Reads the bundle in the folder `path`, and finds out what can be found out without making a step.
    pub fn read<'r>(
        path: &Path,
        demands: &Demands,
        reading: impl Into<ReadOptions<'r>>,
        with_slices: bool,
    ) -> Result<(Bundle, Self), Error> {
        let reading = reading.into();
        let shown = reading.shown(path);
        let bundle = Bundle::load_folder(path, &shown, None, reading)?;
        let signature = signature::judge(&bundle, &demands.keys, None)?;
        let builder = demands.attestations.of(&bundle).map(|one| one.builder.clone());
        let described = describe(&bundle, signature, builder);
        let mut own = Self {
            subject: BundleSubject::of(&bundle),
            shown,
            findings: signature_finding(&bundle, &described).into_iter().collect(),
            described,
            claims: Vec::new(),
            failures: Vec::new(),
            steps: AskedSteps::Slices(Vec::new()),
        };
        own.judge_alone(&bundle, demands);
        own.judge_by_plan(&bundle, demands);
        let artifacts = own.usable(artifacts(&bundle, demands));
        own.claims.extend(artifacts.into_iter().flatten());
        if let Some(steps) = own.usable(AskedSteps::of(&bundle, demands, with_slices)) {
            own.steps = steps;
            let challenge = demands.challenge_of(&bundle).map(|(challenge, _)| challenge);
            let seeded = challenge.and_then(|one| seeded(&bundle, one, &demands.timestamps));
            own.claims.extend(seeded);
        }
        Ok((bundle, own))
    }

    /// Adds what is found out without the plan, and without making a step.
    fn judge_alone(&mut self, bundle: &Bundle, demands: &Demands) {
        self.findings.extend(emitter_problems(bundle).into_iter().chain(shape_unseen(bundle)));
        self.claims.push(intact(bundle));
        std::thread::scope(|scope| {
            let checkpoints = scope.spawn(|| checkpoints(bundle, demands));
            let planned = scope.spawn(|| planned_before(bundle, demands.history.as_deref()?));
            let consistency = SelfConsistency::of(bundle);
            self.findings.extend(consistency.doubts.iter().map(|one| doubted(bundle, one)));
            self.claims.extend(agreeing(bundle, &consistency));
            self.claims.extend(declared_objects(bundle));
            let joined = checkpoints.join().and_then(|found| {
                self.claims.extend(found);
                self.claims.extend(planned.join()?);
                Ok(())
            });
            if let Err(panic) = joined {
                std::panic::resume_unwind(panic);
            }
        });
    }

    /// Adds what the plan of its run, the log of that plan and timestamps say of it.
    fn judge_by_plan(&mut self, bundle: &Bundle, demands: &Demands) {
        let study = study(bundle, demands);
        let mut log = None;
        if let Some(study) = &study {
            log = self.usable(started(study, bundle, demands)).flatten();
            self.claims.extend(match &log {
                Some(log) => Some(logged(bundle, log)),
                None => not_logged(study, bundle),
            });
        }
        self.findings.extend(log.iter().flat_map(StartedRuns::findings));
        self.claims.extend(stamped(bundle, log.as_ref(), &demands.timestamps));
        if let Some(study) = &study {
            let followed = self.usable(as_planned(study, bundle)).flatten();
            self.claims.extend(followed);
        }
    }

    /// The value, unless it could not be read.
    fn usable<T>(&mut self, found: Result<T, Error>) -> Option<T> {
        found.map_err(|error| self.failures.push(error)).ok()
    }

    /// The name of the bundle.
    pub fn name(&self) -> &str {
        &self.subject.name
    }

    /// Its digest, `sha256:…`.
    pub fn digest(&self) -> &str {
        &self.described.digest
    }

    /// The steps that are to be made again, in order.
    pub fn extents(&self) -> Vec<Extent> {
        self.steps.extents()
    }

    /// The report on the bundle, given the outcomes of its replays.
    pub fn answered(mut self, answers: &Replays, demands: &Demands) -> ReportPart {
        let mut challenge = None;
        match &self.steps {
            AskedSteps::Slices(extents) => {
                for extent in extents {
                    let answer = answers.get(&(self.subject.name.clone(), *extent));
                    // What was asked for is never left out: without an answer it is unchecked.
                    let none =
                        || Ok(Outcome::unchecked(&again::NOT_RUN, "the steps were not executed"));
                    match answer.map_or_else(none, again::outcome_of) {
                        Err(error) => self.failures.push(error),
                        Ok(outcome) => {
                            self.claims.push(replayed(&self.subject, *extent, outcome));
                        }
                    }
                }
            }
            AskedSteps::Walks(walks) => {
                let (claims, report) = walks.answered(&self.subject, answers);
                self.claims.extend(claims);
                challenge = Some(report);
            }
        }
        let failures = std::mem::take(&mut self.failures);
        let subject = PartSubject::Bundle(self.shown.clone());
        let post = self.reported(challenge);
        let (below_minimum, replayed) = (below(&post, demands, None), executed(answers));
        ReportPart { subject, post: Some(post), failures, below_minimum, replayed }
    }

    fn reported(mut self, challenge: Option<ChallengeReport>) -> PostReport {
        for claim in &mut self.claims {
            claim.origin = Some(self.described.origin);
        }
        let mut findings = self.findings;
        findings.extend(self.claims.iter().flat_map(findings_of));
        findings.sort_by_key(|finding| finding.severity);
        PostReport {
            id: self.subject.name,
            title: format!("{} receipt bundle", self.described.origin.word()),
            file: self.shown,
            findings,
            bundles: vec![self.described],
            claims: self.claims,
            challenge,
            ..PostReport::default()
        }
    }
}

/// The study of a bundle's run, where it is available: by its name, or if there is none of that name by its digest.
fn study(bundle: &Bundle, demands: &Demands) -> Option<Study> {
    let (root, receipt) = (demands.project.as_ref()?, bundle.receipt());
    let named = receipt.study().and_then(|study| Study::load(root, study).ok());
    named.or_else(|| Study::of_digest(root, receipt.plan_sha256()?))
}

/// The started runs of a study, where its plan names a log of them. A run that names its start is looked up whatever
/// became of its plan.
fn started(
    study: &Study,
    bundle: &Bundle,
    demands: &Demands,
) -> Result<Option<StartedRuns>, Error> {
    let Some(root) = &demands.project else { return Ok(None) };
    let start = bundle.receipt().start.as_ref();
    let is_plan = bundle.receipt().plan_sha256() == Some(study.digest().to_string().as_str());
    if study.starts.is_none() || !is_plan && start.is_none() {
        return Ok(None);
    }
    let mut present = study::present(root)?;
    let attempt = start.map(|start| start.attempt);
    present.push(Present { bundle: bundle.name().to_owned(), study: study.id.clone(), attempt });
    StartedRuns::of(root, study, &present)
}

/// Whether a run is the one that its plan has.
fn as_planned(study: &Study, bundle: &Bundle) -> Result<Option<ClaimReport>, Error> {
    let quote = "the run matches its plan";
    let claim = |outcome| own_claim(bundle, "as-planned", quote, outcome);
    Ok(follows(study, bundle)?.map(|outcome| claim(outcome).with_impact(Impact::Decision)))
}

/// The open claim for a run that records its start under a plan without a start log.
fn not_logged(study: &Study, bundle: &Bundle) -> Option<ClaimReport> {
    let start = bundle.receipt().start.as_ref()?;
    study.starts.is_none().then(|| {
        let reason =
            format!("the start is in `{}`, but the current plan has no start log", start.log);
        let outcome = Outcome::inconclusive(&NOT_LOGGED, reason);
        let quote = "the run's start is in its plan's log";
        let claimed = start.log.clone();
        ClaimReport { claimed, ..own_claim(bundle, "started", quote, outcome) }
    })
}

/// The claim that a bundle is intact, shown by loading it.
fn intact(bundle: &Bundle) -> ClaimReport {
    let bytes: u64 = bundle.files().values().map(|file| file.bytes).sum();
    let spared = match bundle.spared() {
        0 => String::new(),
        count => format!(", {count} of them cached"),
    };
    let recomputed = format!("{} files{spared}, {bytes} bytes", bundle.files().len());
    let outcome = Outcome::verified().giving(recomputed).within("sha-256", "equal digests");
    own_claim(bundle, "intact", "files, sizes, digests and receipt agree", outcome)
}

/// Whether the numbers of a bundle follow from each other: what does not, or that all of them do.
fn agreeing(bundle: &Bundle, found: &SelfConsistency) -> Vec<ClaimReport> {
    let SelfConsistency { asked, contradictions, .. } = found;
    let (relations, times) = (asked.len(), asked.iter().map(|(_, times)| times).sum::<usize>());
    if contradictions.is_empty() && relations > 0 {
        let outcome = Outcome::verified()
            .giving(format!("{relations} consistency checks, applied {times} times"))
            .within("relations", "`repro explain relations`");
        let quote = "the bundle is consistent with itself";
        return vec![own_claim(bundle, "agrees", quote, outcome)];
    }
    contradictions.iter().map(|one| disagreeing(bundle, one)).collect()
}

/// The contradictions within a bundle's own numbers.
pub(super) fn contradictions(
    bundle: &Bundle,
    history: Option<&dyn PlanHistory>,
) -> Vec<ClaimReport> {
    let relations = agreeing(bundle, &SelfConsistency::of(bundle));
    let plan = history.and_then(|history| planned_before(bundle, history));
    let all = relations.into_iter().chain(declared_objects(bundle)).chain(plan);
    all.filter(|claim| claim.outcome.verdict == Verdict::Refuted).collect()
}

/// One relation of a bundle that does not hold.
fn disagreeing(bundle: &Bundle, one: &BrokenRelation) -> ClaimReport {
    let outcome = Outcome::refuted(one.code, one.reason.as_str())
        .within("relations", "`repro explain relations`");
    let id = one.code.id.rsplit(':').next().unwrap_or_default();
    let claim = own_claim(bundle, id, one.code.meaning, outcome).with_impact(Impact::Decision);
    let evidence = one.places.iter().map(|at| EvidenceRef {
        bundle: bundle.name().to_owned(),
        file: at.file.clone(),
        pointer: at.pointer.clone(),
        document: None,
        printed_at: None,
    });
    ClaimReport { evidence: evidence.collect(), ..claim }
}

/// A failed check of a bundle that has honest explanations.
fn doubted(bundle: &Bundle, one: &BrokenRelation) -> Finding {
    let place = one.places.first().map_or_else(
        || bundle.place(RECEIPT),
        |at| bundle.place(&at.file).with_pointer(&at.pointer),
    );
    let message = format!("`{}`: {}: {}", bundle.name(), one.code.meaning, one.reason);
    Finding::new(one.code, Severity::Warning, message, place)
}

/// Whether the parameter counts that a receipt declares follow from its config.
fn declared_objects(bundle: &Bundle) -> Vec<ClaimReport> {
    let Some(model) = &bundle.receipt().model else { return Vec::new() };
    let objects = bundle.document(CONFIG).and_then(params::recompute);
    let parts = objects.as_ref().ok().and_then(|counts| declared_parts(bundle, counts));
    let declared = [
        ("params-total", model.params_total, ParameterCount::Total),
        ("params-active", model.params_active, ParameterCount::Active),
    ];
    let judge = |(id, declared, object): (&str, Option<u64>, ParameterCount)| {
        let declared = declared?;
        let outcome = match &objects {
            Err(error) => Outcome::unchecked(&UNCOUNTED, error.to_string()),
            Ok(objects) if objects.scope != CountScope::Whole => {
                Outcome::unchecked(&UNCOUNTED, objects.notes.last().map_or("", String::as_str))
            }
            Ok(objects) => declared_count(objects, object, declared),
        };
        let quote = "the declared count follows from the config";
        let claimed = declared.to_string();
        Some(ClaimReport { claimed, ..own_claim(bundle, id, quote, outcome) })
    };
    declared.into_iter().filter_map(judge).chain(parts).collect()
}

/// Whether a config has so many parameters.
fn declared_count(counts: &ParameterCounts, object: ParameterCount, declared: u64) -> Outcome {
    let found = counts.count(object, Convention::Default);
    let is_counted_so = |by: &&Convention| counts.count(object, **by) == declared;
    let reason = format!("the config has {found} parameters");
    let outcome = if found == declared {
        Outcome::verified()
    } else if let Some(by) = Convention::ALL.iter().find(is_counted_so) {
        let by = format!("{declared} is the count under the convention `{}`", by.name());
        Outcome::inconclusive(&OTHER_COUNT, format!("{reason}; {by}"))
    } else {
        Outcome::refuted(&OTHER_COUNT, reason)
    };
    outcome.giving(found.to_string()).within("exact_integer", "exact")
}

/// Whether the parts that a receipt of ours declares are those of its config; others divide a model otherwise.
fn declared_parts(bundle: &Bundle, counts: &ParameterCounts) -> Option<ClaimReport> {
    let receipt = bundle.receipt();
    let declared = &receipt.model.as_ref()?.breakdown;
    let is_whole = counts.scope == CountScope::Whole;
    if declared.is_empty() || !is_whole || receipt.trainer.as_ref()?.name != "repro" {
        return None;
    }
    let told = |count: Count| json!({"total": count.total, "active": count.active});
    let computed = counts.breakdown.parts().filter(|(_, count)| count.total > 0);
    let computed: Open =
        computed.map(|(part, count)| (part.name().to_owned(), told(count))).collect();
    let names: BTreeSet<&String> = declared.keys().chain(computed.keys()).collect();
    let other = names.iter().find(|name| declared.get(**name) != computed.get(**name));
    let outcome = match other {
        None => Outcome::verified().giving(format!("{} parts", names.len())),
        Some(name) => {
            let of = |parts: &Open| parts.get(*name).map_or("nothing".to_owned(), Json::to_string);
            let [computed, declared] = [&computed, declared].map(of);
            let reason =
                format!("the config gives {computed} for `{name}`, the receipt {declared}");
            Outcome::refuted(&OTHER_COUNT, reason)
        }
    };
    let outcome = outcome.within("exact_integer", "exact");
    let quote = "the declared parts follow from the config";
    Some(own_claim(bundle, "params-parts", quote, outcome))
}

/// That nothing in a bundle shows the shape of its model but the config. Tensors that slices list by name show it as well.
fn shape_unseen(bundle: &Bundle) -> Option<Finding> {
    let layers = bundle.files().contains_key(CONFIG).then(|| {
        let node = bundle.document(CONFIG).ok()?.root().get("num_hidden_layers")?;
        Some(node.place())
    });
    let place = layers.flatten()?;
    let is_listed =
        |name: &String| name.starts_with("data/slices/") && name.ends_with(".tensors.jsonl");
    let is_shown =
        bundle.kept_checkpoints().next().is_some() || bundle.files().keys().any(is_listed);
    let message = format!("`{}`: layers, widths and tied weights match the config", bundle.name());
    (!is_shown).then(|| Finding::new(&SHAPE_UNSEEN, Severity::Note, message, place))
}

/// The recorder's problems stated in a bundle.
pub(super) fn emitter_problems(bundle: &Bundle) -> Option<Finding> {
    let problems = bundle.receipt().extra.get("emitter_problems")?.as_array()?;
    let first = problems.first()?.as_str().unwrap_or("no text");
    let more = match problems.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let place = bundle.place(RECEIPT).with_pointer("/predicate/extra/emitter_problems");
    let message = format!("`{}`: {first}{more}", bundle.name());
    Some(Finding::new(&EMITTER_PROBLEMS, Severity::Warning, message, place))
}

/// The claims that checkpoints support without a replay.
fn checkpoints(bundle: &Bundle, demands: &Demands) -> Vec<ClaimReport> {
    let Some(found) = CheckpointsFound::of(bundle, demands.initial_weights) else {
        return Vec::new();
    };
    let CheckpointsFound { checkpoints, tensors, looked_at, not_looked_at, faults, outliers } =
        found;
    let quote = "this run can have produced the checkpoints";
    let claim = |id: &str, outcome: Outcome| {
        let outcome = outcome.within("checkpoints", "AdamW's bounds");
        own_claim(bundle, id, quote, outcome).with_impact(Impact::Decision)
    };
    if faults.is_empty() {
        let what = looked_at.join("; ");
        let what = match checkpoints {
            0 => what,
            1 => format!("1 checkpoint, {tensors} tensors: {what}"),
            _ => format!("{checkpoints} checkpoints, {tensors} tensors: {what}"),
        };
        let mut outcome = match (outliers.first(), looked_at.is_empty()) {
            (Some(first), _) => Outcome::inconclusive(&OUTLIERS, first.as_str()),
            (None, true) => Outcome::unchecked(&NOT_LOOKED_AT, not_looked_at.join("; ")),
            (None, false) => Outcome::verified().giving(what),
        };
        outcome.notes.extend(not_looked_at.into_iter().map(|what| (&NOT_LOOKED_AT, what)));
        return vec![claim("checkpoints", outcome)];
    }
    let refuted = |fault: WeightsFault| {
        let id = fault.code.id.rsplit(':').next().unwrap_or_default();
        let claim = claim(id, Outcome::refuted(fault.code, fault.reason));
        ClaimReport { place: bundle.place(&fault.file), ..claim }
    };
    faults.into_iter().map(refuted).collect()
}

/// The files that a receipt names and the bundle does not hold, each against its length and digest.
fn artifacts(bundle: &Bundle, demands: &Demands) -> Result<Vec<ClaimReport>, Error> {
    let files = bundle.receipt().files.iter().filter(|file| file.is_external());
    let judge = |file: &ListedFile| {
        let found = match &demands.artifacts {
            Some(folder) => artifact(folder, &file.name)?,
            None => None,
        };
        let outcome = match (found, file.sha256) {
            (None, _) => {
                let reason = format!("`{}` is not in the bundle", file.name);
                Outcome::unchecked(&NOT_AT_HAND, reason)
            }
            (Some((bytes, digest)), Some(wanted)) if bytes == file.bytes && digest == wanted => {
                Outcome::verified().giving(format!("{bytes} bytes"))
            }
            (Some((bytes, digest)), _) => {
                let reason = format!("`{}` has {bytes} bytes with sha256 {digest}", file.name);
                Outcome::refuted(&OTHER_ARTIFACT, reason)
            }
        };
        let outcome = outcome.within("sha-256", "equal digests");
        let quote = "a file outside the bundle matches the receipt";
        let id = format!("artifact-{}", file.name);
        let claimed = format!("{} bytes", file.bytes);
        Ok(ClaimReport { claimed, ..own_claim(bundle, &id, quote, outcome) })
    };
    files.map(judge).collect()
}

/// The claim about a replayed slice.
fn replayed(subject: &BundleSubject, extent: Extent, outcome: Outcome) -> ClaimReport {
    let quote = "the steps of a slice can be replayed";
    let claim = subject.claim(&format!("replay-{extent}"), quote, outcome);
    claim.with_impact(Impact::Decision)
}
