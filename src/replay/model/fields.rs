//! The fields of a config, as models read them.

use repro_core::source::{Code, Error, Node, codes};

codes! {
    UNSUPPORTED = "model::unsupported", "the trainer does not support a model's config", "change the field shown";
    IMPOSSIBLE = "model::impossible", "a model's config contradicts itself", "change one of the fields shown";
}

/// The table that a config is read from.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub Node<'a>);

impl Fields<'_> {
    /// A whole number from 1 up.
    pub fn size(self, key: &str) -> Result<usize, Error> {
        self.at_least_one(key, self.0.required(key)?)
    }

    pub fn size_or(self, key: &str, otherwise: usize) -> Result<usize, Error> {
        self.0.get(key).map_or(Ok(otherwise), |node| self.at_least_one(key, node))
    }

    fn at_least_one(self, key: &str, node: Node<'_>) -> Result<usize, Error> {
        match self.bounded(key, node)? {
            0 => Err(self.refuse(&UNSUPPORTED, key, "a positive integer")),
            size => Ok(size),
        }
    }

    pub fn count_or(self, key: &str, otherwise: usize) -> Result<usize, Error> {
        self.0.get(key).map_or(Ok(otherwise), |node| self.bounded(key, node))
    }

    /// No dimension of a model that a processor trains comes near the bound, and products of three of
    /// them stay far from the ends of the type.
    fn bounded(self, key: &str, node: Node<'_>) -> Result<usize, Error> {
        const MOST: u64 = 1 << 20;
        match node.integer()? {
            size if size <= MOST => Ok(size as usize),
            _ => Err(self.refuse(&UNSUPPORTED, key, format!("at most {MOST}"))),
        }
    }

    pub fn flag_or(self, key: &str, otherwise: bool) -> Result<bool, Error> {
        self.0.get(key).map_or(Ok(otherwise), Node::truth)
    }

    pub fn positive(self, key: &str) -> Result<f64, Error> {
        let value = self.0.required(key)?.float()?;
        if value > 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(self.refuse(&UNSUPPORTED, key, "a finite number above 0"))
    }

    pub fn coefficient_or(self, key: &str, otherwise: f64) -> Result<f64, Error> {
        let Some(node) = self.0.get(key) else { return Ok(otherwise) };
        let value = node.float()?;
        if value >= 0.0 && value.is_finite() {
            return Ok(value);
        }
        Err(self.refuse(&UNSUPPORTED, key, "a finite number of at least 0"))
    }

    /// The value that a word stands for.
    pub fn word<V: Copy>(self, key: &str, words: &[(&str, V)]) -> Result<V, Error> {
        let word = self.0.required(key)?.text()?;
        match words.iter().find(|(name, _)| *name == word) {
            Some((_, value)) => Ok(*value),
            None => {
                let names: Vec<_> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
                Err(self.refuse(&UNSUPPORTED, key, names.join(" or ")))
            }
        }
    }

    pub fn refuse(self, code: &'static Code, key: &str, expected: impl Into<String>) -> Error {
        let node = self.0.get(key).unwrap_or(self.0);
        let found = match node.printed() {
            Ok(text) => format!("`{key}` is `{text}`"),
            Err(_) => format!("`{key}`"),
        };
        code.at(node.place(), expected, found)
    }
}
