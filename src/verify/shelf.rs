//! The bundles and studies that posts rest on: each is read and checked once, however many posts pin it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::bundle::{Bundle, Reading};
use crate::evidence::Library;
use crate::post::Post;
use crate::signature::{self, PublicKey};
use crate::source::Refusal;
use crate::study::{self, Study};

/// Bundles loaded so far: each is read and checked once, however many posts pin it.
#[derive(Debug)]
pub struct Shelf<'r> {
    /// Those that passed.
    pub library: Library,
    refused: BTreeMap<String, Refusal>,
    /// Whether the folder of bundles was searched for those of studies.
    searched: bool,
    reading: Reading<'r>,
    keys: Vec<PublicKey>,
}

impl<'r> Shelf<'r> {
    /// An empty shelf; `reading` may be a number of threads. Where the caller gave `keys`, one of them must
    /// have signed each bundle.
    pub fn new(reading: impl Into<Reading<'r>>, keys: &[PublicKey]) -> Self {
        let (library, refused) = (Library::default(), BTreeMap::new());
        Self { library, refused, searched: false, reading: reading.into(), keys: keys.to_vec() }
    }

    /// Loads the bundles and studies that `post` pins and holds them against their pins.
    pub fn fetch(&mut self, root: &Path, post: &Post) -> Result<(), Vec<Refusal>> {
        let mut refusals = self.fetch_studies(root, post);
        for pin in &post.pins {
            if self.library.bundle(&pin.name).is_none() && !self.refused.contains_key(&pin.name) {
                match Bundle::load(root, &pin.name, None, self.reading) {
                    Ok(bundle) => self.library.add(bundle),
                    Err(refusal) => drop(self.refused.insert(pin.name.clone(), refusal)),
                }
            }
            match (self.library.bundle(&pin.name), self.refused.get(&pin.name)) {
                (Some(bundle), _) => {
                    refusals.extend(bundle.check_pin(&pin.digest, &pin.place).err());
                    match signature::judge(bundle, &self.keys, pin.key.as_ref()) {
                        Ok(None) => {}
                        Ok(Some(signature)) => {
                            self.library.set_signature(&post.id, &pin.name, signature)
                        }
                        Err(refusal) => refusals.push(refusal),
                    }
                }
                (None, Some(refusal)) => refusals.push(refusal.clone()),
                (None, None) => {}
            }
        }
        if refusals.is_empty() { Ok(()) } else { Err(refusals) }
    }

    /// Loads the studies that `post` pins; answers what was refused.
    fn fetch_studies(&mut self, root: &Path, post: &Post) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        for pin in &post.studies {
            if self.library.study(&pin.name).is_none() {
                match Study::load(root, &pin.name) {
                    Ok(study) => self.library.add_study(study),
                    Err(refusal) => refusals.push(refusal),
                }
            }
            let study = self.library.study(&pin.name);
            refusals.extend(study.and_then(|study| study.check_pin(&pin.digest, &pin.place).err()));
        }
        if !post.studies.is_empty() && !self.searched {
            self.searched = true;
            match study::present(root) {
                Ok(present) => self.library.set_present(present),
                Err(refusal) => refusals.push(refusal),
            }
        }
        refusals
    }
}
