//! The bundles and studies that posts depend on: each is read and checked once, however many posts pin it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::BUNDLES_PER_THREAD;
use super::history::PlanHistory;
use super::own::logged;
use crate::library::Library;
use crate::lock::PostLock;
use crate::page::PostPage;
use crate::planned::few;
use crate::post::UNKNOWN_BUNDLE;
use crate::started::StartedRuns;
use repro_bundle::bundle::{ABSENT, Bundle, ReadOptions};
use repro_bundle::signature::{self as signature, Attestations, PublicKey};
use repro_core::parallel;
use repro_core::similar;
use repro_core::source::{Error, Location};
use repro_model::study::{self, Study};
use repro_report::outcome::Verdict;

/// So many names are told that are spelled alike.
const NEAR: usize = 3;
/// So many names are told with what is spelled alike.
const HINTED: usize = 20;
/// Bundles loaded so far: each is read and checked once, however many posts pin it.
#[derive(Debug)]
pub struct BundleStore<'r> {
    /// Those that passed.
    pub library: Library,
    refused: BTreeMap<String, Error>,
    /// Whether the folder of bundles was searched for those of studies.
    searched: bool,
    reading: ReadOptions<'r>,
    keys: Vec<PublicKey>,
    /// The attestations by builders.
    pub attestations: Arc<Attestations>,
    /// Who can look up the commits of plans.
    pub history: Option<Arc<dyn PlanHistory>>,
}

impl<'r> BundleStore<'r> {
    /// An empty shelf; `reading` may be a number of threads. Where the caller gave `keys`, one of them must
    /// have signed each bundle.
    pub fn new(reading: impl Into<ReadOptions<'r>>, keys: &[PublicKey]) -> Self {
        Self {
            library: Library::default(),
            refused: BTreeMap::new(),
            searched: false,
            reading: reading.into(),
            keys: keys.to_vec(),
            attestations: Arc::default(),
            history: None,
        }
    }

    /// Loads the bundles that the names of `page` stand for, and holds them against the pins of its lock.
    pub fn fetch(
        &mut self,
        root: &Path,
        page: &PostPage,
        lock: Option<&PostLock>,
    ) -> Result<(), Vec<Error>> {
        let mut errors = Vec::new();
        let mut absent = Vec::new();
        let bundles = page.bundles();
        self.load(root, bundles.iter().map(|(name, _)| *name));
        for (name, place) in bundles {
            let Some(bundle) = self.library.bundle(name) else {
                match self.refused.get(name) {
                    Some(error) if error.code == &ABSENT => absent.push((name, place)),
                    refused => errors.extend(refused.cloned()),
                }
                continue;
            };
            errors.extend(lock.and_then(|lock| lock.check_pin(bundle, place).err()));
            match signature::judge(bundle, &self.keys, page.keys.get(name)) {
                Ok(None) => {}
                Ok(Some(own)) => self.library.set_signature(&page.id, name, own),
                Err(error) => errors.push(error),
            }
        }
        errors.extend(missing(root, &absent));
        // The plans that receipts name fix the tests; one that is not there is told where it matters.
        let named = page.bundles().into_iter().filter_map(|(name, _)| {
            self.library.bundle(name)?.receipt().run.as_ref()?.study.clone()
        });
        for study in named.collect::<BTreeSet<_>>() {
            let _ = self.load_study(root, &study);
        }
        errors.extend(self.load_started(root, page).err());
        if let Some((plan, place)) = &page.plan {
            let planned = self.load_study(root, plan);
            errors.extend(planned.err().map(|error| error.moved(place.clone())));
            errors.extend(self.search(root).err());
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Reads which runs were started of the studies of a post's bundles, and holds the bundles against that.
    fn load_started(&mut self, root: &Path, page: &PostPage) -> Result<(), Error> {
        for (name, _) in page.bundles() {
            let Some(bundle) = self.library.bundle(name) else { continue };
            let run = bundle.receipt().run.as_ref();
            let study = run.and_then(|run| self.library.study(run.study.as_ref()?));
            let Some(id) = study.filter(|study| study.starts.is_some()).map(|one| one.id.clone())
            else {
                continue;
            };
            if !self.library.started.contains_key(&id) {
                self.search(root)?;
                let study = self.library.study(&id);
                let started =
                    study.map(|study| StartedRuns::of(root, study, &self.library.present));
                if let Some(started) = started.transpose()?.flatten() {
                    self.library.started.insert(id.clone(), started);
                }
            }
            let started = self.library.started.get(&id);
            let own = self.library.bundle(name).zip(started);
            let own = own.map(|(bundle, started)| logged(bundle, started));
            if let Some(own) = own.filter(|own| own.outcome.verdict == Verdict::Refuted) {
                self.library.add_contradiction(name, own);
            }
        }
        Ok(())
    }

    /// Loads a study, if that was not done yet.
    fn load_study(&mut self, root: &Path, name: &str) -> Result<(), Error> {
        if self.library.study(name).is_none() {
            self.library.add_study(Study::load(root, name)?);
        }
        Ok(())
    }

    /// Reads and checks the bundles for which that was not done yet.
    pub(super) fn load<'n>(&mut self, root: &Path, names: impl Iterator<Item = &'n str>) {
        let is_new =
            |name: &&str| self.library.bundle(name).is_none() && !self.refused.contains_key(*name);
        let names: BTreeSet<_> = names.filter(is_new).collect();
        let names: Vec<_> = names.into_iter().collect();
        let threads = self.reading.threads;
        let (at_a_time, each) =
            if names.len() > BUNDLES_PER_THREAD * threads { (threads, 1) } else { (1, threads) };
        let reading = ReadOptions { threads: each, ..self.reading };
        let history = self.history.clone();
        let read = parallel::map(&names, at_a_time, |name| {
            let bundle = Bundle::load(root, name, None, reading)?;
            let contradictions = super::inspection::contradictions(&bundle, history.as_deref());
            Ok((bundle, contradictions))
        });
        for (name, bundle) in names.into_iter().zip(read) {
            match bundle {
                Ok((bundle, contradictions)) => {
                    for own in contradictions {
                        self.library.add_contradiction(name, own);
                    }
                    if let Some(attested) = self.attestations.of(&bundle) {
                        self.library.builders.insert(name.to_owned(), attested.builder.clone());
                    }
                    self.library.add(bundle);
                }
                Err(error) => drop(self.refused.insert(name.to_owned(), error)),
            }
        }
    }

    /// Finds the bundles that say they belong to studies, once.
    fn search(&mut self, root: &Path) -> Result<(), Error> {
        if !self.searched {
            self.searched = true;
            self.library.present = study::present(root)?;
        }
        Ok(())
    }
}

/// One error for each name of the post that stands for bundles that are not there, with what is spelled alike.
fn missing(root: &Path, absent: &[(&str, &Location)]) -> Vec<Error> {
    if absent.is_empty() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(root.join("receipts")).into_iter().flatten().flatten();
    let mut present: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    present.sort();
    let mut groups: BTreeMap<&Location, Vec<&str>> = BTreeMap::new();
    for (name, place) in absent {
        groups.entry(place).or_default().push(name);
    }
    let error = |(index, (place, names)): (usize, (&Location, Vec<&str>))| {
        let found = format!("no {}", few(&names));
        let expected = match names.len() {
            1 => "a bundle in `receipts/`".to_owned(),
            count => format!("bundles in `receipts/`; {count} are missing"),
        };
        let error = UNKNOWN_BUNDLE.at(place.clone(), expected, found);
        let known = present.iter().map(String::as_str);
        let hinted = names.first().filter(|_| index < HINTED);
        let near = hinted.map_or(Vec::new(), |name| similar::several(name, known, NEAR));
        let near: Vec<_> = near.into_iter().map(|name| format!("`{name}`")).collect();
        let near = if near.is_empty() {
            String::new()
        } else {
            format!("nearest existing names: {}. ", near.join(", "))
        };
        error.help(format!(
            "{near}Correct the name, or fetch the bundles: `repro explain --list bundles`"
        ))
    };
    groups.into_iter().enumerate().map(error).collect()
}
