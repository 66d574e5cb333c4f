//! The receipt's statements about a whole run and its data, compared with its config and with the data.

use super::machine::ReplayedRun;
use crate::data::Corpus;
use repro_core::digest::{Digest, canonical};
use repro_core::source::{Error, Node};
use repro_model::replay::Divergence;

/// The first fact that a receipt states otherwise than config and data have it.
pub fn described(subject: &ReplayedRun<'_>, corpus: &Corpus) -> Result<Option<Divergence>, Error> {
    let facts = of_run(subject)?.into_iter().chain(of_data(subject, corpus));
    let wrong = facts.into_iter().find_map(|fact| {
        let (stated, found) = (fact.stated?, fact.found?);
        let parted = || Divergence::of(0, fact.what, (stated.clone(), found.clone()), fact.hint);
        (stated != found).then(parted)
    });
    Ok(wrong)
}

/// Something that a receipt states, and that something else of the run has too.
struct Fact {
    what: &'static str,
    stated: Option<String>,
    found: Option<String>,
    hint: &'static str,
}

fn of_run(subject: &ReplayedRun<'_>) -> Result<Vec<Fact>, Error> {
    let (receipt, shape) = (subject.bundle.receipt(), subject.shape);
    let printed = |field: &str| -> Result<Option<String>, Error> {
        Ok(subject.config.get(field).map(Node::printed).transpose()?.map(str::to_owned))
    };
    let seeds = receipt.seeds.as_ref();
    let contract = receipt.contract.as_ref();
    let told = |count: Option<u64>| count.map(|count| count.to_string());
    let tokens = shape.steps.checked_mul(shape.tokens_per_step());
    let fact = |what, stated, found| {
        let hint = "the receipt describes a different run";
        Fact { what, stated, found, hint }
    };
    Ok(vec![
        fact("seed of the weights", seeds.and_then(|of| of.init.clone()), printed("seed_init")?),
        fact("seed of the data", seeds.and_then(|of| of.data.clone()), printed("seed_data")?),
        fact("number of tokens", told(contract.and_then(|of| of.tokens)), told(tokens)),
        fact(
            "number of tokens in a step",
            told(contract.and_then(|of| of.tokens_per_step)),
            told(Some(shape.tokens_per_step())),
        ),
    ])
}

fn of_data(subject: &ReplayedRun<'_>, corpus: &Corpus) -> Vec<Fact> {
    let receipt = subject.bundle.receipt();
    let data = receipt.data.as_ref();
    let digest = |digest: Option<Digest>| digest.map(|digest| digest.to_string());
    let fact = |what, stated, found| {
        let hint = "the receipt describes different data";
        Fact { what, stated, found: Some(found), hint }
    };
    let own = [
        fact(
            "digest of the data",
            digest(data.and_then(|of| of.sha256)),
            corpus.sha256.to_string(),
        ),
        fact(
            "digest of the validation text",
            digest(data.and_then(|of| of.validation_sha256)),
            corpus.validation_part.sha256.to_string(),
        ),
        fact("tokenizer", data.and_then(|of| of.tokenizer.clone()), corpus.tokenizer.label()),
    ];
    let record = corpus.record();
    let stated = receipt.extra.get("data").and_then(|data| data.as_object());
    let others = stated.into_iter().flatten().filter_map(|(name, stated)| {
        let found = canonical(record.get(name)?).ok()?;
        Some(fact("account of the data", canonical(stated).ok(), found))
    });
    own.into_iter().chain(others).collect()
}
