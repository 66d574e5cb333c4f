//! Files of bundles as the arguments of functions: a table, a list of outcomes.

use std::rc::Rc;

use repro_bundle::bundle::{Bundle, Origin};
use repro_core::source::{Document, Error, Node};

use crate::evaluate::reference::pointer;
use crate::evaluate::{Call, Frame, WRONG_KIND};
use crate::value::{Evaluated, EvidencePath, Leaf, LeafKind};

/// A file of one bundle, or a part of it.
pub struct RunFile<'f, 'a> {
    /// The call that it is given to.
    pub call: Call<'f, 'a>,
    /// The bundle.
    pub bundle: &'a Bundle,
    /// The name of the file.
    pub name: String,
    /// The way to the part that is meant.
    path: Vec<String>,
    /// The step whose evaluation names it.
    step: Option<u64>,
}

/// The file of each bundle that an argument names, and whether it names a group. Where it names a quantity of
/// runs, as in `run.tasks`, the file is the one that is there under `key`.
pub fn of_runs<'f, 'a>(
    call: Call<'f, 'a>,
    given: Frame<'_, 'a>,
    key: &str,
) -> Result<(Vec<RunFile<'f, 'a>>, bool), Error> {
    let reference = match given.evaluate()? {
        Evaluated::Reference(reference) => reference,
        other => return Err(call.wrong(&WRONG_KIND, "a file of a bundle", other.word())),
    };
    let mut files = Vec::new();
    for &bundle in &reference.bundles {
        let path = reference.path.clone();
        files.push(match &reference.file {
            Some(file) => RunFile { call, bundle, name: file.clone(), path, step: None },
            None => {
                let path = path.into_iter().chain([key.to_owned()]).collect();
                let bundles = vec![bundle];
                let one = EvidencePath { bundles, is_group: false, path, ..reference.clone() };
                named_file(call, given, bundle, one)?
            }
        });
    }
    Ok((files, reference.is_group))
}

/// The file whose name stands at a place of a run.
fn named_file<'f, 'a>(
    call: Call<'f, 'a>,
    given: Frame<'_, 'a>,
    bundle: &'a Bundle,
    place: EvidencePath<'a>,
) -> Result<RunFile<'f, 'a>, Error> {
    if bundle.origin() != Origin::Emitted || place.path.len() < 2 {
        let found = format!("`{}`", given.part);
        return Err(call.wrong(&WRONG_KIND, "a file of a bundle: `BUNDLE:FILE`", &found));
    }
    match given.settle(Evaluated::Reference(place))? {
        Evaluated::Text(words) => {
            let step = words.leaves.first().and_then(|leaf| leaf.step);
            Ok(RunFile { call, bundle, name: words.text, path: Vec::new(), step })
        }
        other => Err(call.wrong(&WRONG_KIND, "the name of a file", other.word())),
    }
}

impl<'a> RunFile<'_, 'a> {
    /// The file.
    pub fn document(&self) -> Result<&'a Document, Error> {
        self.call.frame.document(self.bundle, &self.name)
    }

    /// The part of the file that is meant.
    pub fn node(&self) -> Result<Node<'a>, Error> {
        self.document()?.root().at(&pointer(&self.path))
    }

    /// The file as one piece of evidence that was measured, which is noted, and whether it is the one to be
    /// moved.
    pub fn leaf(&self) -> (Rc<Leaf>, bool) {
        let evaluator = self.call.evaluator;
        let evidence = evaluator.show(self.bundle, &self.name, "");
        let leaf = Leaf::without_place(LeafKind::Recorded, self.name.clone());
        let leaf = Rc::new(Leaf { evidence: Some(evidence), step: self.step, ..leaf });
        evaluator.note(&leaf);
        (leaf, evaluator.nudge(&format!("all of {} {}", self.bundle.name(), self.name)))
    }
}
