//! Names of evidence: `BUNDLE`, `BUNDLE:FILE`, `BUNDLE#PATH`, `BUNDLE:FILE#PATH`.
//!
//! A bundle name may contain one range, `run-s{1..6}`, or one list, `{dense,moe}-s1`, and then refers to several bundles.
//! PATH is the path inside the file, or a prefix of fact names; parts of it are quoted for metrics such as
//! `metrics/mAP50(B)` or `lm loss`.

/// The maximum number of bundles per name and per post; more are a typo.
pub const MOST_BUNDLES: usize = 10_000;

/// The place of some evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locator {
    /// The bundles, in the order in which they are named.
    pub bundles: Vec<String>,
    /// Whether a range or a list was written, though it may hold one name only.
    pub is_group: bool,
    /// The file inside each.
    pub file: Option<String>,
    /// The parts of the path inside it.
    pub path: Vec<String>,
}

impl Locator {
    /// Parses the name of some evidence; none if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (before, path) = match text.split_once('#') {
            Some((before, path)) => (before, way(path)?),
            None => (text, Vec::new()),
        };
        let (bundle, file) = match before.split_once(':') {
            Some((bundle, file)) => (bundle, Some(file)),
            None => (before, None),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let good = |part: &str| !part.is_empty() && part.chars().all(plain);
        let bundles = expand(bundle)?;
        let names = bundles.iter().all(|name| good(name) && !name.contains('/'));
        let whole = names && file.is_none_or(good);
        let is_group = bundle.contains('{');
        whole.then(|| Self { bundles, is_group, file: file.map(str::to_owned), path })
    }
}

/// A path part in the form that [`Locator::parse`] reads, plain or quoted; none if it contains both kinds of quotes.
pub fn part_text(part: &str) -> Option<String> {
    match (is_plain(part), part.contains('\''), part.contains('"')) {
        (true, ..) => Some(part.to_owned()),
        (_, false, _) if !part.is_empty() => Some(format!("'{part}'")),
        (_, _, false) if !part.is_empty() => Some(format!("\"{part}\"")),
        _ => None,
    }
}

/// Whether a path part needs no quotes; `step=60` selects the table row with `step` 60.
fn is_plain(part: &str) -> bool {
    let part = part.replacen('=', "", 1);
    !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_/".contains(c))
}

/// The parts of a path, separated by dots.
fn way(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (part, after) = match rest.chars().next()? {
            quote @ ('\'' | '"') => {
                rest[1..].split_once(quote).filter(|(part, _)| !part.is_empty())?
            }
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                Some(rest.split_at(end)).filter(|(part, _)| is_plain(part))?
            }
        };
        parts.push(part.to_owned());
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None => return after.is_empty().then_some(parts),
        }
    }
}

/// The names that a range or list expands to.
fn expand(text: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = text.split_once('{') else {
        return Some(vec![text.to_owned()]);
    };
    let (inside, after) = rest.split_once('}')?;
    if after.contains(['{', '}']) {
        return None;
    }
    let name = |part: &str| format!("{before}{part}{after}");
    let Some((first, last)) = inside.split_once("..") else {
        let parts = inside.split(',').map(str::trim);
        return parts.map(|part| (!part.is_empty()).then(|| name(part))).collect();
    };
    // A sign would be parsed as part of the number.
    let number = |end: &str| end.parse::<u64>().ok().filter(|_| !end.starts_with('+'));
    let (first, last) = (number(first)?, number(last)?);
    let few = first <= last && last - first < MOST_BUNDLES as u64;
    few.then(|| (first..=last).map(|number| name(&number.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(Vec<String>, Option<String>, String)> {
        Locator::parse(text).map(|found| (found.bundles, found.file, found.path.join(".")))
    }

    #[test]
    fn names_of_evidence_have_parts() {
        let one = |bundle: &str| vec![bundle.to_owned()];
        assert_eq!(parts("run"), Some((one("run"), None, String::new())));
        assert_eq!(
            parts("nmoe-0003:data/configs/dense.toml"),
            Some((one("nmoe-0003"), Some("data/configs/dense.toml".into()), String::new()))
        );
        assert_eq!(
            parts("tune-0.001#closure.bf16"),
            Some((one("tune-0.001"), None, "closure.bf16".into()))
        );
        let three = vec!["a-s1x".to_owned(), "a-s2x".into(), "a-s3x".into()];
        assert_eq!(parts("a-s{1..3}x"), Some((three, None, String::new())));
        let two = vec!["dense-s1".to_owned(), "moe-s1".into()];
        assert_eq!(parts("{dense, moe}-s1"), Some((two, None, String::new())));
    }

    #[test]
    fn metrics_of_any_name_can_be_named() {
        for name in ["eval_wer", "eval/wer", "metrics/mAP50(B)", "lm loss", "a.b", "it's", "µ=0=1"]
        {
            let text =
                format!("run:data/printed/training.csv#step=60.{}", part_text(name).unwrap());
            assert_eq!(Locator::parse(&text).unwrap().path, ["step=60", name], "{text}");
        }
        assert_eq!((part_text(""), part_text("'\"")), (None, None));
    }

    #[test]
    fn malformed_names_are_none() {
        for text in [
            "",
            ":f",
            "a:",
            "a#",
            "a#b..c",
            "a{1..",
            "a{2..1}",
            "a{1..99999}",
            "a{}",
            "a{1,,2}",
            "a{1..2}{1..2}",
            "a b",
            "a/b",
            "a + b",
            "f(x)",
            "a{-1..2}",
            "a#'b",
            "a#''",
            "a#'b'c",
            "a#'b'.",
        ] {
            assert_eq!(Locator::parse(text), None, "{text}");
        }
    }
}
