//! Whether the bundles beside a post are the runs that its plan lists: which there must be once the tuning runs have chosen the
//! learning rates, whether each was made under this plan, and whether it was configured as planned.

use std::collections::HashSet;

use repro_bundle::bundle::{Bundle, CONFIG, RECEIPT};
use repro_core::source::{Code, Document, Error, codes};
use repro_model::study::{PlannedRun, Rates, RunKind, Study, Tuned};
use repro_report::outcome::Outcome;

use crate::evaluate::{Call, NOT_COMPUTABLE};
use crate::planned::{differs, few};
use crate::started::StartedRuns;
use crate::value::Evaluated;

codes! {
    NOT_RUN = "complete::not-run", "a planned run has no bundle", "run it, or state why it was not run: shrinking a plan afterwards selects results";
    NOT_REPORTED = "complete::not-reported", "a run was started but has no bundle", "report the run: leaving it out selects results";
    NOT_PLANNED = "complete::not-planned", "a bundle of the study is not in the plan", "remove it from the study, or add it to the plan before running it";
    OTHER_PLAN = "complete::different-plan", "a run was made under a different plan", "rerun it under this plan";
    NO_RATES = "complete::no-rates", "the tuning runs do not select a learning rate", "check the plan's selection rule";
    OTHER_CONFIG = "complete::different-config", "a run's config differs from the plan", "rerun it with the planned config";
}

/// In which way the bundles depart from the plan, the gravest first.
static GRAVEST: [&Code; 6] =
    [&NOT_RUN, &NOT_REPORTED, &NOT_PLANNED, &OTHER_PLAN, &NO_RATES, &OTHER_CONFIG];

pub fn complete<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let mut plan = PlanCheck::of(call)?;
    let planned = plan.compare()?.map_or("unknown".to_owned(), |runs| runs.to_string());
    let is_other = !plan.other_digest.is_empty();
    plan.departures.sort_by_key(|(code, _)| GRAVEST.iter().position(|one| one == code));
    let mut departures = plan.other_digest.into_iter().chain(plan.departures);
    let outcome = match departures.next() {
        None => Outcome::verified(),
        // A plan with another digest is not the one that the runs were made under, and says nothing of them.
        Some((code, reason)) if is_other => Outcome::inconclusive(code, reason),
        Some((code, reason)) => Outcome::refuted(code, reason),
    };
    let outcome = departures.fold(outcome, |outcome, (code, reason)| outcome.noting(code, reason));
    let given = format!("planned runs: {planned}");
    Ok(Evaluated::decided(outcome.giving(given).within("exact_integer", "exact")))
}

pub fn planned_runs<'a>(call: Call<'_, 'a>) -> Result<Evaluated<'a>, Error> {
    let Some(runs) = PlanCheck::of(call)?.compare()? else {
        let expected =
            "the plan's tuning runs in `[names]`, because they select the learning rates";
        let found = "a plan with missing tuning runs";
        return Err(call.wrong(&NOT_COMPUTABLE, expected, found));
    };
    Ok(Evaluated::Number(call.counted("planned runs", runs as u64, None)))
}

/// The plan of a post while it is compared with the bundles.
struct PlanCheck<'f, 'a> {
    call: Call<'f, 'a>,
    study: &'a Study,
    /// Runs that were made under a plan with another digest.
    other_digest: Vec<(&'static Code, String)>,
    /// Every other departure, with a sentence.
    departures: Vec<(&'static Code, String)>,
}

impl<'f, 'a> PlanCheck<'f, 'a> {
    fn of(call: Call<'f, 'a>) -> Result<Self, Error> {
        let plan = call.evaluator.page().plan.as_ref();
        let study = plan.and_then(|(name, _)| call.evaluator.library().study(name));
        let study = study.ok_or_else(|| {
            call.wrong_arguments("a post with a plan: `plan = \"STUDY\"`", "none")
        })?;
        Ok(Self { call, study, other_digest: Vec::new(), departures: Vec::new() })
    }

    /// Notes every departure, and answers how many runs the plan has; none if its tuning runs choose no learning rates.
    fn compare(&mut self) -> Result<Option<usize>, Error> {
        let study = self.study;
        let rates = self.chosen()?;
        let finals = match &rates {
            Some(rates) => study.final_runs(rates),
            // Without rates the runs at the shared rate are neither wanted nor unwelcome.
            None => study.runs().iter().filter(|run| run.kind == RunKind::Best).cloned().collect(),
        };
        let runs: Vec<PlannedRun> = study.tuning_runs().cloned().chain(finals).collect();
        let mut missing = Vec::new();
        for run in &runs {
            match self.run(&run.id) {
                None => missing.push(run.id.as_str()),
                Some(bundle) => self.judge(run, bundle)?,
            }
        }
        if !missing.is_empty() {
            let of = format!("{} of {}, {}", missing.len(), runs.len(), few(&missing));
            self.departs(&NOT_RUN, format!("planned runs without a bundle: {of}"));
        }
        let library = self.call.evaluator.library();
        let started = library.started.get(&study.id).into_iter();
        for start in started.flat_map(StartedRuns::not_reported) {
            self.departs(&NOT_REPORTED, format!("started but not reported: {start}"));
        }
        let mut wanted: HashSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        if rates.is_none() {
            wanted.extend(study.listed().map(|run| run.id));
        }
        let surplus: Vec<_> =
            library.bundles_of(&study.id).filter(|id| !wanted.contains(id)).collect();
        if !surplus.is_empty() {
            let of = format!("{}, {}", surplus.len(), few(&surplus));
            let what = format!("bundles of the study that are not in the plan: {of}");
            self.departs(&NOT_PLANNED, what);
        }
        Ok(rates.map(|_| runs.len()))
    }

    fn departs(&mut self, code: &'static Code, what: String) {
        self.departures.push((code, what));
    }

    /// The bundle of a run, where the post names it.
    fn run(&self, id: &str) -> Option<&'a Bundle> {
        let evaluator = self.call.evaluator;
        let named = evaluator.page().names.values();
        let mut named = named.flat_map(|(locator, _)| &locator.bundles);
        let bundle = evaluator.library().bundle(id).filter(|_| named.any(|name| name == id))?;
        evaluator.show(bundle, RECEIPT, "");
        Some(bundle)
    }

    /// A parsed file of a bundle.
    fn file(&self, bundle: &Bundle, file: &str) -> Result<&'a Document, Error> {
        let evaluator = self.call.evaluator;
        evaluator.show(bundle, file, "");
        evaluator
            .library()
            .document(bundle.name(), file, || evaluator.page().document().root().place())
    }

    /// The learning rates that the tuning runs choose; none if they choose none.
    fn chosen(&mut self) -> Result<Option<Rates>, Error> {
        let mut results = Vec::new();
        for run in self.study.tuning_runs() {
            // A run without a bundle is named with the others that are missing.
            let Some(bundle) = self.run(&run.id) else { return Ok(None) };
            let loss = self.development_loss(bundle)?;
            results.push(Tuned { arm: &run.arm, rate: run.rate.unwrap_or(f64::NAN), loss });
        }
        let rates = self.study.rates(&results).map_err(|error| {
            let why = format!("expected {}, found {}", error.expected, error.found);
            self.departs(&NO_RATES, format!("the tuning runs select no rate: {why}"));
        });
        Ok(rates.ok())
    }

    /// Nats per token on the split that a tuning run was evaluated on; none if it diverged or was not evaluated.
    fn development_loss(&self, bundle: &Bundle) -> Result<Option<f64>, Error> {
        if bundle.diverged_at()?.is_some() {
            return Ok(None);
        }
        let last = bundle.receipt().checkpoints.iter().max_by_key(|saved| saved.step);
        let Some(file) = last.and_then(|saved| saved.evaluation.as_ref()) else { return Ok(None) };
        let evaluation = self.file(bundle, file)?.root();
        let sum = |field: &str| evaluation.required(field)?.float();
        Ok(Some(sum("nats")? / sum("predicted_tokens")?))
    }

    /// Notes in what a bundle is not that of the planned run.
    fn judge(&mut self, run: &PlannedRun, bundle: &Bundle) -> Result<(), Error> {
        let receipt = bundle.receipt();
        let stated = receipt.run.as_ref();
        // A run that diverged was made as planned, and counts.
        if receipt.finished() != Some(true) && bundle.diverged_at()?.is_none() {
            self.departs(&NOT_RUN, format!("`{}` did not finish", run.id));
        }
        let digest = receipt.plan_sha256();
        let study = stated.and_then(|stated| stated.study.as_deref());
        let arm = stated.and_then(|stated| stated.arm.as_deref());
        let commit = stated.and_then(|stated| stated.plan_commit.as_deref());
        let wrong = |what: &str| format!("`{}` {what}", run.id);
        if study != Some(run.study.as_str()) || arm != Some(run.arm.as_str()) {
            let [study, arm] = [study, arm].map(|word| word.unwrap_or("none"));
            self.departs(&OTHER_PLAN, wrong(&format!("has study `{study}`, arm `{arm}`")));
        } else if commit.is_none_or(str::is_empty) {
            self.departs(&OTHER_PLAN, wrong("records no commit of its plan"));
        } else if digest.is_none() {
            self.departs(&OTHER_PLAN, wrong("records no plan: `plan_sha256` is missing"));
        } else if digest != Some(run.plan.to_string().as_str()) {
            let what = "was made under a different plan: `plan_sha256` is not the digest of the study file";
            self.other_digest.push((&OTHER_PLAN, wrong(what)));
            // What the plan available has is not what that run was to be.
            return Ok(());
        }
        let config = self.file(bundle, CONFIG)?;
        if let Some(other) = run.differs_from(config.root())?.or_else(|| differs(run, bundle)) {
            self.departs(&OTHER_CONFIG, format!("`{}`: {other}", run.id));
        }
        Ok(())
    }
}
