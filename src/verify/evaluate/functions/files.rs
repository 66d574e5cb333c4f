//! Files of bundles as the arguments of functions: a table, a list of outcomes.

use std::rc::Rc;

use repro_bundle::bundle::{Bundle, Origin};
use repro_claim::Expression;
use repro_core::source::{Document, Error, Node};

use crate::evaluate::reference::pointer;
use crate::evaluate::{Call, WRONG_KIND};
use crate::value::{Evaluated, EvidencePath, Leaf, LeafKind};

/// A file of one bundle, or a part of it.
pub struct RunFile<'a> {
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
/// runs, as in `run.tasks`, the file is the one that stands there under `key`.
pub fn of_runs<'a>(
    call: &Call<'_, '_, 'a>,
    part: &Expression,
    key: &str,
) -> Result<(Vec<RunFile<'a>>, bool), Error> {
    let reference = match call.evaluate(part)? {
        Evaluated::Reference(reference) => reference,
        other => return Err(call.wrong(&WRONG_KIND, "a file of a bundle", other.word())),
    };
    let one = |bundle: &&'a Bundle| match &reference.file {
        Some(file) => {
            Ok(RunFile { bundle, name: file.clone(), path: reference.path.clone(), step: None })
        }
        None => named_file(call, part, &reference, bundle, key),
    };
    let files = reference.bundles.iter().map(one).collect::<Result<_, _>>()?;
    Ok((files, reference.is_group))
}

/// The file that an evaluation of a run names under `key`.
fn named_file<'a>(
    call: &Call<'_, '_, 'a>,
    part: &Expression,
    reference: &EvidencePath<'a>,
    bundle: &'a Bundle,
    key: &str,
) -> Result<RunFile<'a>, Error> {
    if bundle.origin() != Origin::Emitted || reference.path.is_empty() {
        let found = format!("`{part}`");
        return Err(call.wrong(&WRONG_KIND, "a file of a bundle: `BUNDLE:FILE`", &found));
    }
    let path = reference.path.iter().cloned().chain([key.to_owned()]).collect();
    let of_one = EvidencePath { bundles: vec![bundle], is_group: false, path, ..reference.clone() };
    match call.frame.at(part).settle(Evaluated::Reference(of_one))? {
        Evaluated::Text(words) => {
            let step = words.leaves.first().and_then(|leaf| leaf.step);
            Ok(RunFile { bundle, name: words.text, path: Vec::new(), step })
        }
        other => Err(call.wrong(&WRONG_KIND, "the name of a file", other.word())),
    }
}

impl<'a> RunFile<'a> {
    /// The file.
    pub fn document(&self, call: &Call<'_, '_, 'a>) -> Result<&'a Document, Error> {
        call.frame.document(self.bundle, &self.name)
    }

    /// The part of the file that is meant.
    pub fn node<'d>(&self, document: &'d Document) -> Result<Node<'d>, Error> {
        document.root().at(&pointer(&self.path))
    }

    /// The file as one piece of evidence that was measured, which is noted, and whether it is the one to be
    /// moved.
    pub fn leaf(&self, call: &Call<'_, '_, 'a>) -> (Rc<Leaf>, bool) {
        let evidence = call.evaluator.show(self.bundle, &self.name, "");
        let leaf = Leaf::without_place(LeafKind::Recorded, self.name.clone());
        let leaf = Rc::new(Leaf { evidence: Some(evidence), step: self.step, ..leaf });
        call.evaluator.note(&leaf);
        let name = format!("all of {} {}", self.bundle.name(), self.name);
        (leaf, call.evaluator.nudge(&name))
    }
}
