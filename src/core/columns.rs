//! Names that other programs use for logged numbers and settings, from the table `columns.toml`.

use std::sync::LazyLock;

use crate::source::{Document, Error, Source};

/// Our name of a value, and the names that others use for it.
#[derive(Debug)]
struct KnownNames {
    ours: String,
    also: Vec<String>,
}

static COLUMNS: LazyLock<Vec<KnownNames>> = LazyLock::new(|| table("column").unwrap_or_default());
static SETTINGS: LazyLock<Vec<KnownNames>> = LazyLock::new(|| table("setting").unwrap_or_default());

fn table(of: &str) -> Result<Vec<KnownNames>, Error> {
    let source = Source::new("columns.toml", include_bytes!("columns.toml").to_vec())?;
    let document = Document::parse_toml(source)?;
    let rows = document.root().required(of)?.items()?;
    let rows = rows.map(|row| {
        let also = row.required("also")?.items()?.map(|name| Ok(name.text()?.to_owned()));
        let ours = row.required("name")?.text()?.to_owned();
        Ok(KnownNames { ours, also: also.collect::<Result<_, Error>>()? })
    });
    rows.collect()
}

/// `train/Loss` as `train_loss`: lower case, and `_` between words.
pub fn plain(name: &str) -> String {
    let lower = name.trim_start_matches('_').to_ascii_lowercase();
    lower.replace(['/', '.', '-', ' '], "_")
}

/// The names of a logged number, ours first.
pub fn column_names(ours: &str) -> impl Iterator<Item = &'static str> + Clone {
    names(&COLUMNS, ours)
}

/// The names of a setting, ours first.
pub fn setting_names(ours: &str) -> impl Iterator<Item = &'static str> + Clone {
    names(&SETTINGS, ours)
}

/// The name that a log has for a number: ours in any spelling, or else the first of its usual names.
pub fn name_among<N: AsRef<str>>(ours: &str, names: impl Iterator<Item = N> + Clone) -> Option<N> {
    column_names(ours).find_map(|wanted| names.clone().find(|name| plain(name.as_ref()) == wanted))
}

/// Our column with this name or synonym.
pub fn column_of(name: &str) -> Option<&'static str> {
    let plain = plain(name);
    let is_it = |known: &&KnownNames| known.ours == plain || known.also.contains(&plain);
    COLUMNS.iter().find(is_it).map(|known| known.ours.as_str())
}

fn names(table: &'static [KnownNames], ours: &str) -> impl Iterator<Item = &'static str> + Clone {
    let known = table.iter().find(|known| known.ours == ours);
    known.into_iter().flat_map(|known| {
        std::iter::once(known.ours.as_str()).chain(known.also.iter().map(String::as_str))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_known_by_what_they_mean() {
        assert!(table("column").is_ok_and(|rows| rows.len() == 7));
        for (name, ours) in [
            ("loss", "loss"),
            ("train/loss", "loss"),
            ("Train Loss", "loss"),
            ("eval/loss", "val_loss"),
        ] {
            assert_eq!(column_of(name), Some(ours), "{name}");
        }
        assert_eq!((column_of("aux_loss"), column_of("")), (None, None));
        assert!(setting_names("lr").any(|name| name == "learning_rate"));
    }
}
