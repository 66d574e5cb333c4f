//! The fields of a `config.json`, each read with the type that the engine needs.

use serde_json::{Map, Value as Json};

use crate::candle::EngineError;

/// The largest dimension that is read: products of three of them stay far from the ends of `usize`.
const LARGEST: u64 = 1 << 20;

/// A table of a config.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigTable<'a>(pub &'a Map<String, Json>);

impl<'a> ConfigTable<'a> {
    /// A field that is there and not null.
    pub fn get(self, name: &str) -> Option<&'a Json> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A table inside this one.
    pub fn table(self, name: &str) -> Option<Self> {
        self.get(name)?.as_object().map(ConfigTable)
    }

    /// A whole number from 0 up.
    pub fn count(self, name: &str) -> Result<usize, EngineError> {
        let number = self.get(name).and_then(Json::as_u64).filter(|number| *number <= LARGEST);
        number
            .map(|number| number as usize)
            .ok_or_else(|| self.refuse(name, format!("a whole number up to {LARGEST}")))
    }

    /// A whole number from 1 up.
    pub fn size(self, name: &str) -> Result<usize, EngineError> {
        match self.count(name)? {
            0 => Err(self.refuse(name, "at least 1")),
            size => Ok(size),
        }
    }

    /// The same, or a default where the field is absent.
    pub fn size_or(self, name: &str, otherwise: usize) -> Result<usize, EngineError> {
        if self.get(name).is_some() { self.size(name) } else { Ok(otherwise) }
    }

    /// A whole number from 0 up, or a default where the field is absent.
    pub fn count_or(self, name: &str, otherwise: usize) -> Result<usize, EngineError> {
        if self.get(name).is_some() { self.count(name) } else { Ok(otherwise) }
    }

    /// A finite number above 0.
    pub fn positive(self, name: &str) -> Result<f64, EngineError> {
        let number = self.get(name).and_then(Json::as_f64);
        number
            .filter(|number| *number > 0.0 && number.is_finite())
            .ok_or_else(|| self.refuse(name, "a number above 0"))
    }

    /// The same, where the field is there.
    pub fn some_positive(self, name: &str) -> Result<Option<f64>, EngineError> {
        self.get(name).map(|_| self.positive(name)).transpose()
    }

    /// A number of at least 0, or 0 where the field is absent.
    pub fn coefficient(self, name: &str) -> Result<f64, EngineError> {
        let Some(value) = self.get(name) else { return Ok(0.0) };
        let number = value.as_f64().filter(|number| *number >= 0.0 && number.is_finite());
        number.ok_or_else(|| self.refuse(name, "a number of at least 0"))
    }

    /// A truth value, or a default where the field is absent.
    pub fn flag_or(self, name: &str, otherwise: bool) -> Result<bool, EngineError> {
        let Some(value) = self.get(name) else { return Ok(otherwise) };
        value.as_bool().ok_or_else(|| self.refuse(name, "true or false"))
    }

    /// A word, or a default where the field is absent.
    pub fn word_or(self, name: &str, otherwise: &'a str) -> Result<&'a str, EngineError> {
        let Some(value) = self.get(name) else { return Ok(otherwise) };
        value.as_str().ok_or_else(|| self.refuse(name, "a word"))
    }

    /// Refuses a field.
    pub fn refuse(self, name: &str, expected: impl Into<String>) -> EngineError {
        let found = self.0.get(name).map_or("nothing".to_owned(), Json::to_string);
        EngineError::unsupported(name, expected, found.chars().take(80).collect::<String>())
    }
}
