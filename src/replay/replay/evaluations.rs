//! Evaluations of a run that are made again: from the weights of a kept checkpoint, over the tokens that the evaluation names, with
//! the bytes of the text counted anew.
//!
//! An evaluation names its text under `held_out` (`data/evaluation/step-NNNNNN.json`). The tokens stand in one file of unsigned
//! integers; the first `predicted_tokens` of them behind the first one are predicted, in rows of the model's length that do not
//! overlap. That is how `Recorder.evaluation` of the Python package evaluates.

use std::collections::HashSet;
use std::io::Read;
use std::ops::Range;

use super::corpora::{Corpora, short};
use super::machine::{ReplayedRun, on_threads};
use super::operations::operations_of_a_token;
use super::start::from_checkpoint;
use super::stated;
use crate::backend::Host;
use crate::checkpoint::MOMENTS;
use crate::evaluate::{HeldOut, evaluate};
use crate::learner::Learner;
use crate::model::Config;
use crate::{BAD_TENSORS, Precision, Regime};
use repro_bundle::bundle::Checkpoint;
use repro_core::Verdict;
use repro_core::source::{Error, Location, Node, UNREADABLE};
use repro_model::replay::{
    EVALUATION_DIFFERS, EVALUATION_UNCLEAR, RepeatedEvaluation, Replay, TRAINED_ON_TEXT,
};
use std::sync::Arc;

/// The most operations of one evaluation that is made again: some minutes.
const OPERATIONS: f64 = 2e12;
/// So far may a loss be off, relative to it, before it is refuted: evaluations are often made with fewer bits than the training, and
/// autocast to bfloat16 was seen to move a mean loss by less than a thousandth.
const REFUTED_FROM: f64 = 1e-2;
/// So many tokens in a row are no coincidence.
const PASSAGE: usize = 32;
/// A byte-level tokenizer has tokens of up to so many times the mean.
const LONGEST_TOKEN: f64 = 16.0;

/// How far a mean loss may be off, relative to it, by rounding alone: ten times what was seen on models of PyTorch.
fn allowed(precision: Precision) -> f64 {
    match precision {
        Precision::Full => 1e-4,
        Precision::Tf32 => 1e-3,
        Precision::Autocast | Precision::Bfloat16 => 5e-3,
    }
}

/// Makes the evaluations of these steps again, and judges a replay that found nothing else by them. `batches` are rows of tokens that
/// were trained on.
pub fn repeat(
    subject: &ReplayedRun<'_>,
    corpora: &Corpora,
    steps: Range<u64>,
    batches: &[Vec<u32>],
    replay: &mut Replay,
) -> Result<(), Error> {
    for entry in &subject.bundle.receipt().checkpoints {
        if let Some(file) = entry.evaluation.as_deref()
            && steps.contains(&entry.step)
        {
            let record = subject.bundle.document(file)?.root();
            let Some(stated) = record.get("held_out") else { continue };
            let text = StatedText { subject, corpora, record, stated, entry };
            replay.evaluations.push(text.repeated(batches)?);
        }
    }
    judge(replay);
    Ok(())
}

/// Lowers a verdict by what evaluations came to.
fn judge(replay: &mut Replay) {
    let first = |what: fn(&RepeatedEvaluation) -> Option<&String>| {
        let mut told = replay.evaluations.iter();
        told.find_map(|one| Some(format!("the evaluation at step {}: {}", one.step, what(one)?)))
    };
    let differs = first(|one| one.differs.as_ref());
    let trained_on = first(|one| one.trained_on.as_ref());
    let unclear = first(|one| one.unclear.as_ref());
    let (verdict, code, reason) = match (replay.verdict, differs, trained_on, unclear) {
        (Verdict::Refuted, ..) => return,
        (_, Some(reason), ..) => (Verdict::Refuted, &EVALUATION_DIFFERS, reason),
        (Verdict::Verified, None, Some(reason), _) => {
            (Verdict::Inconclusive, &TRAINED_ON_TEXT, reason)
        }
        (Verdict::Verified, None, None, Some(reason)) => {
            (Verdict::Inconclusive, &EVALUATION_UNCLEAR, reason)
        }
        _ => return,
    };
    (replay.verdict, replay.code, replay.reason) = (verdict, Some(code), reason);
}

/// The text that an evaluation names.
struct StatedText<'a> {
    subject: &'a ReplayedRun<'a>,
    corpora: &'a Corpora,
    record: Node<'a>,
    stated: Node<'a>,
    entry: &'a Checkpoint,
}

/// Tokens of a file, and how many it has.
struct TokensRead {
    tokens: Vec<u32>,
    in_file: u64,
}

impl StatedText<'_> {
    fn repeated(&self, batches: &[Vec<u32>]) -> Result<RepeatedEvaluation, Error> {
        self.stated.only(&["tokens", "text"])?;
        let mut found = RepeatedEvaluation { step: self.entry.step, ..Default::default() };
        let predicted = self.record.required("predicted_tokens")?.integer()?;
        let tokens = self.stated.required("tokens")?;
        tokens.only(&["file", "sha256", "dtype"])?;
        found.text = tokens.required("file")?.text()?.to_owned();
        let read = match self.read(tokens, predicted) {
            Ok(read) => read,
            Err(why) => return Ok(RepeatedEvaluation { not_made: Some(short(&why)), ..found }),
        };
        found.trained_on = self.trained_on(&read.tokens, batches);
        if let Some(text) = self.stated.get("text") {
            self.recount(text, &read, predicted, &mut found)?;
        }
        match self.loss(&read.tokens, predicted) {
            Ok(loss) => self.compare(loss, &mut found)?,
            Err(why) => found.not_made = Some(why),
        }
        Ok(found)
    }

    /// As many tokens as are predicted, and the one before them.
    fn read(&self, stated: Node<'_>, predicted: u64) -> Result<TokensRead, Error> {
        let path = self.pinned(stated)?;
        let dtype = stated.required("dtype")?;
        let width: usize = match dtype.text()? {
            "uint8" => 1,
            "uint16" => 2,
            "uint32" | "int32" => 4,
            "int64" | "uint64" => 8,
            other => {
                let expected = "uint8, uint16, uint32, int32, uint64 or int64";
                return Err(BAD_TENSORS.at(dtype.place(), expected, format!("`{other}`")));
            }
        };
        let unreadable = |error: std::io::Error| {
            UNREADABLE.at(
                Location::file(path.display().to_string()),
                "a readable file",
                error.to_string(),
            )
        };
        let file = repro_core::source::open_plain(&path).map_err(unreadable)?;
        let in_file = file.metadata().map_err(unreadable)?.len() / width as u64;
        let of_model = operations_of_a_token(self.subject.bundle)? * predicted as f64 / 3.0;
        if predicted == 0 || predicted >= in_file || of_model > OPERATIONS {
            let expected = format!(
                "from 1 to {} tokens to predict, in {OPERATIONS:.0e} operations",
                in_file.saturating_sub(1)
            );
            let found = format!("{predicted} tokens, {of_model:.1e} operations");
            return Err(BAD_TENSORS.at(self.record.place(), expected, found));
        }
        let mut bytes = Vec::new();
        file.take((predicted + 1) * width as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        let number = |piece: &[u8]| {
            let value = piece.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
            u32::try_from(value).unwrap_or(u32::MAX)
        };
        Ok(TokensRead { tokens: bytes.chunks_exact(width).map(number).collect(), in_file })
    }

    /// The file at hand that a table names by its path and pins by its digest.
    fn pinned(&self, table: Node<'_>) -> Result<std::path::PathBuf, Error> {
        let (name, wanted) = (table.required("file")?, table.required("sha256")?.text()?);
        let path = self.corpora.folder().file(name)?;
        if self.corpora.folder().holds(&path, name.text()?, wanted)? {
            return Ok(path);
        }
        Err(crate::data::OTHER_TEXT.at(name.place(), wanted, "a different digest"))
    }

    /// The mean loss over these tokens, or why none comes out.
    fn loss(&self, tokens: &[u32], predicted: u64) -> Result<f64, String> {
        let Some((first, rest)) = tokens.split_first() else { return Err("no tokens".to_owned()) };
        if rest.len() as u64 != predicted {
            return Err(format!("the file ends after {} tokens", tokens.len()));
        }
        let text = HeldOut::of_tokens(*first, rest.to_vec());
        let told = |error: Error| short(&error);
        let mut learner = self.learner().map_err(told)?;
        let vocabulary = Config::read(self.subject.config).map_err(told)?.vocab_size;
        if let Some(beyond) = tokens.iter().find(|token| **token as usize >= vocabulary) {
            return Err(format!("token {beyond} is outside the vocabulary of {vocabulary}"));
        }
        let threads = self.subject.machine.threads;
        let made = on_threads(threads, || evaluate(&mut learner, &text)).flatten().map_err(told)?;
        let loss = made.loss();
        loss.is_finite().then_some(loss).ok_or_else(|| "a loss that is not finite".to_owned())
    }

    /// The model with the weights of the checkpoint; it takes no step.
    fn learner(&self) -> Result<Learner, Error> {
        let subject = self.subject;
        let mut regime = self.regime()?;
        regime.optimizer.groups.clear();
        let mut learner =
            Learner::zeros(subject.config, &regime, Host::new(subject.machine.place.isa))?;
        let mut start = from_checkpoint(subject.bundle, self.entry.step, &subject.arithmetic)?;
        let is_weight = |name: &String| !MOMENTS.iter().any(|prefix| name.starts_with(prefix));
        Arc::make_mut(&mut start.tensors).tensors.retain(|name, _| is_weight(name));
        start.complete(&learner)?;
        learner.restore(0, &start.tensors, &start.name)?;
        Ok(learner)
    }

    /// As the run's slices are computed, or else as its config says.
    fn regime(&self) -> Result<Regime, Error> {
        let slices = self.subject.bundle.receipt().slices.iter();
        for slice in slices {
            let steps = (slice.from_step, slice.steps);
            let stated =
                stated::regime(self.subject.bundle, &slice.file, steps, self.subject.shape)?;
            if let Some(regime) = stated {
                return Ok(regime);
            }
        }
        self.subject.declared()
    }

    fn compare(&self, loss: f64, found: &mut RepeatedEvaluation) -> Result<(), Error> {
        let logged = self.record.required("loss")?.float()?;
        let apart = (logged - loss).abs() / loss.abs().max(f64::MIN_POSITIVE);
        let said = || format!("the loss on `{}` is {loss:.6}, the log has {logged:.6}", found.text);
        let allowed = allowed(self.regime()?.precision);
        if apart > REFUTED_FROM {
            found.differs = found.differs.take().or(Some(said()));
        } else if apart > allowed {
            found.unclear = Some(format!(
                "{}; rounding explains a relative difference of {allowed:.0e}",
                said()
            ));
        }
        (found.logged, found.repeated) = (Some(logged), Some(loss));
        Ok(())
    }

    /// Holds the bytes of the evaluation against the text that its tokens are of.
    fn recount(
        &self,
        text: Node<'_>,
        read: &TokensRead,
        predicted: u64,
        found: &mut RepeatedEvaluation,
    ) -> Result<(), Error> {
        text.only(&["file", "sha256"])?;
        let Some(logged) = self.record.get("bytes").map(|node| node.integer()).transpose()? else {
            return Ok(());
        };
        let size = match self.pinned(text) {
            Ok(path) => path.metadata().map(|found| found.len()).map_err(|why| why.to_string()),
            Err(why) => Err(short(&why)),
        };
        let size = match size {
            Ok(size) => size,
            Err(why) => {
                found.not_counted = Some(why);
                return Ok(());
            }
        };
        // Tokens that are not predicted, such as the first, are of some bytes.
        let left_out = read.in_file.saturating_sub(predicted) as f64;
        let mean = size as f64 / read.in_file.max(1) as f64;
        let least = (size as f64 - LONGEST_TOKEN * mean * left_out).max(0.0);
        if left_out > self.subject.shape.seq_len as f64 {
            found.not_counted = Some("only part of the text was evaluated".to_owned());
        } else if logged > size || (logged as f64) < least {
            let name = text.required("file")?.text()?;
            found.differs = Some(format!("`{name}` has {size} bytes, the log has {logged}"));
        } else {
            found.bytes = Some(size);
        }
        Ok(())
    }

    /// Rows of the training batches that stand in this text.
    fn trained_on(&self, tokens: &[u32], batches: &[Vec<u32>]) -> Option<String> {
        let width = self.subject.shape.seq_len + 1;
        if width < PASSAGE {
            return None;
        }
        let passages: HashSet<&[u32]> = tokens.windows(PASSAGE).collect();
        let rows: Vec<&[u32]> =
            batches.iter().flat_map(|batch| batch.chunks_exact(width)).collect();
        // Padding and runs of one token are no passage.
        let is_varied =
            |row: &&&[u32]| row[..PASSAGE].iter().collect::<HashSet<_>>().len() > PASSAGE / 4;
        let within = rows.iter().filter(|row| passages.contains(&row[..PASSAGE]));
        let count = within.filter(is_varied).count();
        (2 * count > rows.len()).then(|| {
            format!(
                "{count} of {} rows of the training batches occur in the evaluated text",
                rows.len()
            )
        })
    }
}
