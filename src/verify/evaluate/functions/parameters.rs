//! Parameter counts: total and active.

use std::sync::Arc;

use repro_bundle::bundle::{Bundle, CONFIG, Origin};
use repro_core::source::{Document, Error, codes};
use repro_model::params::{
    self as params, Convention, CountScope, ParameterCount, ParameterCounts,
};

use crate::evaluate::design::Objection;
use crate::evaluate::{Call, WRONG_KIND};
use crate::library::evidence_ref;
use crate::value::{Evaluated, NumberRole, Quantity};

codes! {
    PART_ONLY = "value::part-only", "only the language model can be counted", "bind the number to `total(model, of = 'language model')` if that part is meant";
    PART_AND_WHOLE = "value::part-and-whole", "a count of a part of a model is held against one of a whole", "count the same of both: `total(model, of = 'language model')`";
}

pub fn count<'a>(call: &Call<'_, '_, 'a>, which: ParameterCount) -> Result<Evaluated<'a>, Error> {
    let part = call.argument(0)?;
    let value = call.evaluate(part)?;
    let (convention, asked) = (convention(call)?, scope(call)?);
    let models = models(value).map_err(|found| {
        call.frame.at(part).wrong(&WRONG_KIND, "a configuration or runs", found)
    })?;
    let mut counts = Vec::new();
    for (bundle, file) in &models {
        let counted = counted(call, bundle, file, asked)?;
        counts.push((counted.count(which, convention), *bundle, (file, counted)));
    }
    let Some((first, bundle, (file, model))) = counts.first() else {
        return Err(call.wrong(&WRONG_KIND, "a model", "an empty group"));
    };
    // Runs of one group are runs of one model.
    if let Some((other, odd, _)) = counts.iter().find(|(count, ..)| count != first) {
        let found = format!("{first} in `{}` and {other} in `{}`", bundle.name(), odd.name());
        return Err(call.wrong(&WRONG_KIND, "one model in all runs of the group", &found));
    }
    let document = config(call, bundle, file)?;
    if (asked, model.scope) == (CountScope::Whole, CountScope::LanguageModel) {
        let why = model.notes.last().map_or("", String::as_str);
        let what = format!("{file}: {why}");
        call.evaluator.object(Objection { code: &PART_ONLY, what, step: None });
    }
    let evidence = evidence_ref(bundle, file, place_of(document, asked));
    let name = format!("{} of {} {file}", call.name, bundle.name());
    // A model without encoders is its language model: the words that ask for that do not narrow it.
    let role = NumberRole::Parameters(model.scope);
    Ok(Evaluated::Number(Quantity { role, ..call.counted(&name, *first, Some(evidence)) }))
}

/// The bundles and files of a model: a configuration that is named, or those of runs; else what it is instead.
fn models<'a>(value: Evaluated<'a>) -> Result<Vec<(&'a Bundle, String)>, &'static str> {
    let reference = match value {
        Evaluated::Reference(reference) if reference.path.is_empty() => reference,
        other => return Err(other.word()),
    };
    let model = |bundle: &&'a Bundle| match (&reference.file, bundle.origin()) {
        (Some(file), _) => Ok((*bundle, file.clone())),
        (None, Origin::Emitted) => Ok((*bundle, CONFIG.to_owned())),
        (None, Origin::Transcribed) => Err("facts"),
    };
    reference.bundles.iter().map(model).collect()
}

/// Where the model of a scope stands in its config; the language model of a config with encoders in a table of its own, if there is one.
fn place_of(config: &Document, scope: CountScope) -> &'static str {
    let has = |key: &str| config.root().get(key).is_some();
    match scope {
        CountScope::LanguageModel if has("text_config") => "/text_config",
        CountScope::LanguageModel if has("model_type") => "/model_type",
        CountScope::LanguageModel | CountScope::Whole => "",
    }
}

fn scope(call: &Call<'_, '_, '_>) -> Result<CountScope, Error> {
    let named = call.word("of", CountScope::named, || CountScope::ALL.map(CountScope::name));
    Ok(named?.unwrap_or(CountScope::Whole))
}

fn convention(call: &Call<'_, '_, '_>) -> Result<Convention, Error> {
    let named =
        call.word("convention", Convention::named, || Convention::ALL.map(Convention::name));
    Ok(named?.unwrap_or(Convention::Default))
}

fn config<'a>(call: &Call<'_, '_, 'a>, bundle: &Bundle, file: &str) -> Result<&'a Document, Error> {
    let page = call.evaluator.page().document();
    call.evaluator.library().document(bundle.name(), file, || page.root().place())
}

/// The counts of a model, once for a run of the program: of the whole if that is asked for and can be counted, else of its language model.
fn counted(
    call: &Call<'_, '_, '_>,
    bundle: &Bundle,
    file: &str,
    scope: CountScope,
) -> Result<Arc<ParameterCounts>, Error> {
    let evaluator = call.evaluator;
    let library = evaluator.library();
    let document = config(call, bundle, file)?;
    evaluator.show(bundle, file, place_of(document, scope));
    let key = (bundle.name().to_owned(), file.to_owned(), scope);
    if let Some(known) = library.counted().get(&key) {
        return Ok(Arc::clone(known));
    }
    let counts = match scope {
        CountScope::Whole => params::recompute(document)?,
        CountScope::LanguageModel => params::recompute_in(document, scope)?,
    };
    let counts = Arc::new(counts);
    library.counted().insert(key, Arc::clone(&counts));
    Ok(counts)
}
