//! The environment of a store: credentials, servers, limits.

use std::collections::BTreeMap;
use std::fmt;

use crate::storage::limits::Limits;

/// How the variables of each provider begin.
const PREFIXES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// Variables of the environment, and limits. Shown, it has the names of the variables alone.
#[derive(Clone, Default)]
pub struct StoreSettings {
    variables: BTreeMap<String, String>,
    /// How long is waited, and how often asked.
    pub limits: Limits,
}

impl StoreSettings {
    /// Those of this process.
    pub fn of_environment() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::of(std::env::vars_os().filter_map(text))
    }

    /// These variables, as far as they are a provider's and not empty.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let is_own = |(name, value): &(String, String)| {
            !value.is_empty() && PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        };
        let variables = variables.into_iter().filter(is_own).collect();
        Self { variables, limits: Limits::default() }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::StoreSettings;

    #[test]
    fn variables_of_providers_are_kept_and_not_shown() {
        let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = StoreSettings::of([
            named("AWS_SECRET_ACCESS_KEY", "CANARY"),
            named("AWS_REGION", ""),
            named("PATH", "CANARY"),
        ]);
        assert_eq!(settings.get("AWS_SECRET_ACCESS_KEY"), Some("CANARY"));
        assert_eq!((settings.get("AWS_REGION"), settings.get("PATH")), (None, None));
        assert_eq!(format!("{settings:?}"), "{\"AWS_SECRET_ACCESS_KEY\"}");
    }
}
