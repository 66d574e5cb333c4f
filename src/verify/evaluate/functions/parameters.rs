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
    PART_ONLY = "value::partial-count", "only the language model can be counted", "bind the number to `total(model, of = 'language model')` if it means that part";
    PART_AND_WHOLE = "value::mixed-count", "a parameter count of a part is compared with a count of a whole model", "count the same part of both: `total(model, of = 'language model')`";
}

pub fn count<'a>(call: Call<'_, 'a>, which: ParameterCount) -> Result<Evaluated<'a>, Error> {
    let given = call.argument(0)?;
    let value = given.evaluate()?;
    let conventions = Convention::ALL.map(Convention::name);
    let convention = call.word("convention", Convention::named, conventions)?;
    let convention = convention.unwrap_or(Convention::Default);
    let scopes = CountScope::ALL.map(CountScope::name);
    let asked = call.word("of", CountScope::named, scopes)?.unwrap_or(CountScope::Whole);
    let models =
        models(value).map_err(|found| given.wrong(&WRONG_KIND, "a config or runs", found))?;
    let models =
        models.into_iter().map(|(bundle, file)| CountedModel::of(call, bundle, file, asked));
    let models = models.collect::<Result<Vec<_>, _>>()?;
    let count = |model: &CountedModel<'_>| model.counts.count(which, convention);
    let Some(first) = models.first() else {
        return Err(call.wrong(&WRONG_KIND, "a model", "an empty group"));
    };
    let CountedModel { bundle, file, place, counts } = first;
    let number = count(first);
    // Runs of one group are runs of one model.
    if let Some(odd) = models.iter().find(|model| count(model) != number) {
        let (name, other, odd) = (bundle.name(), count(odd), odd.bundle.name());
        let found = format!("{number} in `{name}` and {other} in `{odd}`");
        return Err(call.wrong(&WRONG_KIND, "the same model in all runs of the group", &found));
    }
    if (asked, counts.scope) == (CountScope::Whole, CountScope::LanguageModel) {
        let what = format!("{file}: {}", counts.notes.last().map_or("", String::as_str));
        call.evaluator.object(Objection { code: &PART_ONLY, what, step: None });
    }
    let evidence = evidence_ref(bundle, file, place);
    let name = format!("{} of {} {file}", call.name, bundle.name());
    // A model without encoders is its language model: the words that ask for that do not narrow it.
    let role = NumberRole::Parameters(counts.scope);
    Ok(Evaluated::Number(Quantity { role, ..call.counted(&name, number, Some(evidence)) }))
}

/// A model whose parameters are counted.
struct CountedModel<'a> {
    bundle: &'a Bundle,
    /// Its configuration, and where it is there.
    file: String,
    place: &'static str,
    counts: Arc<ParameterCounts>,
}

impl<'a> CountedModel<'a> {
    /// Counts a model, once for a run of the program: the whole if that is asked for and can be counted, else its language model.
    fn of(
        call: Call<'_, 'a>,
        bundle: &'a Bundle,
        file: String,
        scope: CountScope,
    ) -> Result<Self, Error> {
        let library = call.evaluator.library();
        let page = call.evaluator.page().document();
        let document = library.document(bundle.name(), &file, || page.root().place())?;
        let place = place_of(document, scope);
        call.evaluator.show(bundle, &file, place);
        let key = (bundle.name().to_owned(), file.clone(), scope);
        if let Some(known) = library.counted().get(&key) {
            return Ok(Self { bundle, file, place, counts: Arc::clone(known) });
        }
        let counts = Arc::new(match scope {
            CountScope::Whole => params::recompute(document)?,
            CountScope::LanguageModel => params::recompute_in(document, scope)?,
        });
        library.counted().insert(key, Arc::clone(&counts));
        Ok(Self { bundle, file, place, counts })
    }
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

/// Where the model of a scope is in its config; the language model of a config with encoders in a table of its own, if there is one.
fn place_of(config: &Document, scope: CountScope) -> &'static str {
    let has = |key: &str| config.root().get(key).is_some();
    match scope {
        CountScope::LanguageModel if has("text_config") => "/text_config",
        CountScope::LanguageModel if has("model_type") => "/model_type",
        CountScope::LanguageModel | CountScope::Whole => "",
    }
}
