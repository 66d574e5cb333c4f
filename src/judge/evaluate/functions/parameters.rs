//! Parameter counts: total and active.

use std::rc::Rc;
use std::sync::Arc;

use repro_exact::decimal::Interval;
use repro_params::{self as params, Convention, ParameterCount, ParameterCounts};
use repro_receipt::bundle::Bundle;
use repro_receipt::source::Error;

use super::{Function, Gives};
use crate::evaluate::{Call, WRONG_ARGUMENTS, WRONG_KIND};
use crate::value::{Evaluated, Leaf, LeafKind, Quantity};

pub static FUNCTIONS: &[Function] = &[
    Function {
        name: "total",
        signature: "total(model, convention = 'default')",
        summary: "every parameter that a model stores, recomputed from its configuration",
        misleads: "with or without embeddings differs much for small models: name the convention",
        example: "total(moe64)",
        gives: Gives::Derived,
        evaluate: |call| count(call, ParameterCount::Total),
    },
    Function {
        name: "active",
        signature: "active(model, convention = 'default')",
        summary: "the parameters that one token uses, recomputed from its configuration",
        misleads: "routers, shared experts and embeddings count unless the convention says otherwise",
        example: "active(moe64)",
        gives: Gives::Derived,
        evaluate: |call| count(call, ParameterCount::Active),
    },
];

fn count<'a>(call: &Call<'_, '_, 'a>, which: ParameterCount) -> Result<Evaluated<'a>, Error> {
    call.takes(1, 1, &["convention"])?;
    let Some(part) = call.positional(0) else {
        return Err(call.wrong(&WRONG_ARGUMENTS, "a model", "nothing"));
    };
    let value = call.evaluator.evaluate(part, call.frame)?;
    let convention = convention(call)?;
    let models = call.evaluator.model_of(value, part, call.frame)?;
    let mut counts = Vec::new();
    for (bundle, file) in &models {
        counts.push((counted(call, bundle, file)?.count(which, convention), *bundle, file));
    }
    let Some((first, bundle, file)) = counts.first() else {
        return Err(call.wrong(&WRONG_KIND, "a model", "an empty group"));
    };
    // Runs of one group are runs of one model.
    if let Some((other, odd, _)) = counts.iter().find(|(count, ..)| count != first) {
        let found = format!("{first} in `{}` and {other} in `{}`", bundle.name(), odd.name());
        return Err(call.wrong(&WRONG_KIND, "one model in all runs of the group", &found));
    }
    let evidence = crate::library::evidence_ref(bundle, file, "");
    let nudged = call.evaluator.nudge(&format!("{} of {} {file}", call.name, bundle.name()));
    let leaf = Leaf {
        kind: LeafKind::Counted,
        evidence: Some(evidence),
        quote: None,
        text: first.to_string(),
        step: None,
        best: None,
    };
    // Moved by what no rounding hides, where a result is asked whether it depends on this.
    let number = if nudged { first * 1_009 + 1 } else { *first };
    Ok(Evaluated::Number(Quantity {
        leaf: Some(LeafKind::Counted),
        leaves: vec![Rc::new(leaf)],
        ..Quantity::result(Interval::integer(number), number as f64, first.to_string(), &[])
    }))
}

fn convention(call: &Call<'_, '_, '_>) -> Result<Convention, Error> {
    let Some(part) = call.named("convention") else { return Ok(Convention::Default) };
    let value = call.evaluator.evaluate(part, call.frame)?;
    let Evaluated::Text(words) = value else {
        return Err(call.wrong(&WRONG_KIND, "the name of a convention", value.word()));
    };
    Convention::named(&words.text).ok_or_else(|| {
        let known: Vec<_> =
            Convention::ALL.iter().map(|known| format!("`'{}'`", known.name())).collect();
        call.wrong(&WRONG_ARGUMENTS, &known.join(", "), &format!("`'{}'`", words.text))
    })
}

/// The counts of a model, once for a run of the program.
fn counted(
    call: &Call<'_, '_, '_>,
    bundle: &Bundle,
    file: &str,
) -> Result<Arc<ParameterCounts>, Error> {
    let evaluator = call.evaluator;
    evaluator.show(bundle, crate::library::evidence_ref(bundle, file, ""));
    let key = (bundle.name().to_owned(), file.to_owned());
    let library = evaluator.library();
    if let Some(known) = library.counted().get(&key) {
        return Ok(Arc::clone(known));
    }
    let asked = evaluator.page().document().root();
    let document = library.document(bundle.name(), file, asked)?;
    let counts = Arc::new(params::recompute(document)?);
    library.counted().insert(key, Arc::clone(&counts));
    Ok(counts)
}
