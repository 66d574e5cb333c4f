//! The evidence loaded by one run of the program: bundles, studies, and their counts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::started::StartedRuns;
use repro_bundle::bundle::Bundle;
use repro_core::source::{Document, Error, Location};
use repro_model::independence::{self, RelatedRuns, RunTrace};
use repro_model::params::{CountScope, ParameterCounts};
use repro_model::replay::Replays;
use repro_model::study::{Present, Study};
use repro_report::outcome::{ClaimReport, EvidenceRef, SignatureReport};

/// Parameter counts by bundle and file.
type Counted = HashMap<(String, String, CountScope), Arc<ParameterCounts>>;

/// Which runs of a set are not independent, by the names of the set.
type KnownRelations = HashMap<Vec<String>, Arc<Vec<RelatedRuns>>>;

/// All bundles and studies that a run of the program has loaded and checked.
#[derive(Debug, Default)]
pub struct Library {
    bundles: BTreeMap<String, Bundle>,
    studies: BTreeMap<String, Study>,
    /// Which bundles of which studies lie beside the loaded ones, pinned or not.
    pub present: Vec<Present>,
    signatures: BTreeMap<(String, String), SignatureReport>,
    objects: Mutex<Counted>,
    traces: Mutex<HashMap<String, Arc<RunTrace>>>,
    relations: Mutex<KnownRelations>,
    /// The replays.
    pub replays: Replays,
    contradictions: BTreeMap<String, Vec<ClaimReport>>,
    /// The builders that attest the files of bundles, by the names of these.
    pub builders: BTreeMap<String, String>,
    /// The runs of studies that were started, where their plans name a log of them.
    pub started: BTreeMap<String, StartedRuns>,
}

impl Library {
    /// Adds a bundle under its name.
    pub fn add(&mut self, bundle: Bundle) {
        self.bundles.insert(bundle.name().to_owned(), bundle);
    }

    /// A bundle by name.
    pub fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.get(name)
    }

    /// Adds what was refuted of a bundle, once.
    pub fn add_contradiction(&mut self, bundle: &str, found: ClaimReport) {
        let known = self.contradictions.entry(bundle.to_owned()).or_default();
        if known.iter().all(|one| one.id != found.id) {
            known.push(found);
        }
    }

    /// Where a bundle contradicts itself.
    pub fn contradictions(&self, bundle: &str) -> &[ClaimReport] {
        self.contradictions.get(bundle).map_or(&[], Vec::as_slice)
    }

    /// Adds a study under its name.
    pub fn add_study(&mut self, study: Study) {
        self.studies.insert(study.id.clone(), study);
    }

    /// A study by name.
    pub fn study(&self, name: &str) -> Option<&Study> {
        self.studies.get(name)
    }

    /// The names of all bundles that say they belong to the study `id`.
    pub(crate) fn bundles_of(&self, id: &str) -> impl Iterator<Item = &str> {
        let of = move |present: &&Present| present.study == id;
        self.present.iter().filter(of).map(|present| present.bundle.as_str())
    }

    /// Says what became of a bundle's signature, given the keys that were pinned for it in a post.
    pub fn set_signature(&mut self, post: &str, bundle: &str, signature: SignatureReport) {
        self.signatures.insert((post.to_owned(), bundle.to_owned()), signature);
    }

    /// The outcome of a bundle's signature check.
    pub fn signature(&self, post: &str, bundle: &str) -> Option<&SignatureReport> {
        self.signatures.get(&(post.to_owned(), bundle.to_owned()))
    }

    /// The counts so far; entries are complete whenever the lock is free.
    pub(crate) fn counted(&self) -> MutexGuard<'_, Counted> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which of some runs are not independent. Each set of names is compared once.
    pub(crate) fn related(&self, names: &[&str]) -> Arc<Vec<RelatedRuns>> {
        let key: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let known =
            self.relations.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let traces: Vec<_> = names.iter().map(|name| self.trace(name)).collect();
            let traces: Vec<&RunTrace> = traces.iter().map(Arc::as_ref).collect();
            let found = Arc::new(independence::related(&traces));
            let mut relations = self.relations.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(relations.entry(key).or_insert(found))
        })
    }

    /// The trace that distinguishes a run from others; empty for a name without a bundle.
    fn trace(&self, name: &str) -> Arc<RunTrace> {
        let known = self.traces.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        known.unwrap_or_else(|| {
            let trace = Arc::new(self.bundle(name).map(RunTrace::of).unwrap_or_default());
            let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(traces.entry(name.to_owned()).or_insert(trace))
        })
    }

    /// A file of a bundle; a refusal stands at the place that asks for it.
    pub(crate) fn document(
        &self,
        bundle: &str,
        file: &str,
        place: impl Fn() -> Location,
    ) -> Result<&Document, Error> {
        let bundle = self.bundle(bundle).ok_or_else(|| {
            crate::post::UNKNOWN_BUNDLE.at(place(), "a loaded bundle", format!("`{bundle}`"))
        })?;
        bundle.document(file).map_err(|error| {
            let found = format!("{} in `{}`: `{file}`", error.found, bundle.name());
            error.code.at(place(), error.expected.clone(), found).help(error.help.clone())
        })
    }
}

/// Where a value stands: a transcribed one also names the publication it was typed from.
pub fn evidence_ref(bundle: &Bundle, file: &str, pointer: &str) -> EvidenceRef {
    let fact = bundle.fact_at(file, pointer);
    let (document, printed_at, pointer) = match fact {
        Some(fact) => (Some(fact.at.source.clone()), Some(fact.at.place.clone()), fact.pointer()),
        None => (
            bundle.typed_from(file).map(str::to_owned),
            bundle.typed_from(file).map(|_| pointer.to_owned()).filter(|place| !place.is_empty()),
            pointer.to_owned(),
        ),
    };
    EvidenceRef {
        bundle: bundle.name().to_owned(),
        file: file.to_owned(),
        pointer,
        document,
        printed_at,
    }
}
