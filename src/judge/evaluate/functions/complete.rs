//! Whether the bundles beside a post are the runs that its plan lists.

use std::rc::Rc;

use repro_exact::decimal::Interval;
use repro_receipt::bundle::{Bundle, RECEIPT};
use repro_receipt::source::{Code, Document, Error, codes};
use repro_report::outcome::Outcome;
use repro_runs::study::Study;

use crate::evaluate::{Call, Evaluator, NOT_COMPUTABLE, WRONG_ARGUMENTS};
use crate::planned::{BundlesOfPlan, Compared, Departure, compare};
use crate::started::StartedRuns;
use crate::value::{Evaluated, Leaf, LeafKind, Quantity};

codes! {
    NOT_RUN = "complete::not-run", "a planned run has no bundle", "run it, or say why it was not run: a plan that shrinks afterwards chooses its results";
    NOT_REPORTED = "complete::not-reported", "a run was started and has no bundle", "report it: what is left out chooses the results";
    NOT_PLANNED = "complete::not-planned", "a bundle of a study is not in its plan", "remove it from the study, or plan it before it is run";
    OTHER_PLAN = "complete::other-plan", "a run was made under another plan", "run it under this plan";
    NO_RATES = "complete::no-rates", "the tuning runs choose no learning rate", "see the plan's rule of choice";
    OTHER_CONFIG = "complete::other-config", "a run was configured otherwise than planned", "run it again as planned";
}

/// What an evaluator knows of the bundles of a plan.
struct OfPost<'e, 'a>(&'e Evaluator<'a>);

impl BundlesOfPlan for OfPost<'_, '_> {
    fn run(&self, id: &str) -> Option<&Bundle> {
        let named = self.0.page().names.values();
        let mut named = named.flat_map(|(locator, _)| &locator.bundles);
        let bundle = self.0.library().bundle(id).filter(|_| named.any(|name| name == id))?;
        self.0.show(bundle, crate::library::evidence_ref(bundle, RECEIPT, ""));
        Some(bundle)
    }

    fn present(&self, study: &Study) -> Vec<&str> {
        self.0.library().bundles_of(&study.id).collect()
    }

    fn started(&self, study: &Study) -> Option<&StartedRuns> {
        self.0.library().started(&study.id)
    }

    fn file(&self, bundle: &Bundle, file: &str) -> Result<&Document, Error> {
        self.0.show(bundle, crate::library::evidence_ref(bundle, file, ""));
        self.0.library().document(bundle.name(), file, self.0.page().document().root())
    }
}

fn compared(call: &Call<'_, '_, '_>) -> Result<Compared, Error> {
    let plan = call.evaluator.page().plan.as_ref();
    let study = plan.and_then(|(name, _)| call.evaluator.library().study(name));
    let study = study.ok_or_else(|| {
        call.wrong(&WRONG_ARGUMENTS, "a post with a plan: `plan = \"STUDY\"`", "none")
    })?;
    compare(study, &OfPost(call.evaluator))
}

pub fn complete<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let compared = compared(call)?;
    let outcome = compared.departed(code_of).unwrap_or_else(Outcome::verified);
    let planned = compared.planned.map_or("unknown".to_owned(), |runs| runs.to_string());
    let given = format!("planned runs: {planned}");
    Ok(Evaluated::decided(outcome.giving(given).within("exact_integer", "exact")))
}

pub fn planned_runs<'a>(call: &Call<'_, '_, 'a>) -> Result<Evaluated<'a>, Error> {
    let Some(runs) = compared(call)?.planned else {
        let expected =
            "the tuning runs of the plan among `[names]`: they choose the learning rates";
        let found = "a plan without some of them";
        return Err(call.wrong(&NOT_COMPUTABLE, expected, found));
    };
    let leaf = Leaf::without_place(LeafKind::Counted, runs.to_string());
    let runs = if call.evaluator.nudge("planned runs") { runs * 2 + 1 } else { runs };
    let number = Quantity::result(Interval::integer(runs), runs as f64, runs.to_string(), &[]);
    Ok(Evaluated::Number(Quantity {
        leaf: Some(LeafKind::Counted),
        leaves: vec![Rc::new(leaf)],
        ..number
    }))
}

fn code_of(departure: Departure) -> &'static Code {
    match departure {
        Departure::NotRun => &NOT_RUN,
        Departure::NotReported => &NOT_REPORTED,
        Departure::NotPlanned => &NOT_PLANNED,
        Departure::OtherDigest | Departure::OtherPlan => &OTHER_PLAN,
        Departure::NoRates => &NO_RATES,
        Departure::OtherConfig => &OTHER_CONFIG,
    }
}
