//! The model of an arm as a config, so that whatever reads configs can read it.

use crate::params::ParameterCounts;
use repro_core::source::{Document, Error, Location, Source};
use serde_json::{Map, Value as Json};

/// The fields as a config, so that whatever reads configs can read them.
pub fn document(model: &Map<String, Json>, place: &Location) -> Result<Document, Error> {
    let text = Json::Object(model.clone()).to_string();
    Document::parse_json(Source::new(place.file.as_str(), text.into_bytes())?)
}

/// The parameter counts of a model; an error refers to the arm of the model.
pub fn objects(model: &Map<String, Json>, place: &Location) -> Result<ParameterCounts, Error> {
    crate::params::recompute(&document(model, place)?).map_err(|error| error.moved(place.clone()))
}
