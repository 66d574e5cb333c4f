//! The names that files in a bundle may have, so that every tool on every system means the same file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{AMBIGUOUS_ORDER, BAD_NAME, CASE_CLASH, HIDDEN_FILE, OPAQUE_FORMAT};
use repro_core::source::{Error, Location};

/// The longest name, in bytes, folders included.
pub const NAME_CAP: usize = 200;
/// The most components of a name.
pub const DEPTH_CAP: usize = 8;

/// Endings of formats that can run code or hide files when opened: pickles and archives.
const OPAQUE_ENDINGS: &[&str] = &[
    "pt", "pth", "pt2", "ptl", "bin", "pk", "pkl", "pickle", "dill", "ckpt", "joblib", "npy",
    "npz", "h5", "hdf5", "keras", "nemo", "zip", "tar", "gz", "tgz", "bz2", "tbz", "tbz2", "xz",
    "txz", "lzma", "zst", "tzst", "lz4", "lz", "lzo", "z", "7z", "rar", "cab", "cpio", "iso",
    "jar", "war", "whl", "egg", "deb", "rpm", "apk",
];

/// Endings that say how a file is read; in other letters they would say it to some tools alone.
const READ_ENDINGS: &[&str] = &["json", "jsonl", "toml", "csv", "safetensors"];

/// Names that mean a device on Windows, whatever ending follows.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];
/// The same with a digit behind.
const NUMBERED_DEVICES: &[&str] = &["com", "lpt"];

/// Checks one name; `place` says where it was read.
pub fn check(name: &str, place: impl Fn() -> Location) -> Result<(), Error> {
    let bad = |expected: &str| BAD_NAME.at(place(), expected, shown(name));
    if name.len() > NAME_CAP {
        return Err(bad(&format!("a name of at most {NAME_CAP} bytes")));
    }
    if name.bytes().filter(|byte| *byte == b'/').count() >= DEPTH_CAP {
        return Err(bad(&format!("at most {DEPTH_CAP} components")));
    }
    for component in name.split('/') {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if component.is_empty() || !component.bytes().all(plain) {
            return Err(bad("components of letters, digits, `.`, `_` and `-`, joined by `/`"));
        }
        if component == "." || component == ".." {
            return Err(bad("a name without `.` and `..`"));
        }
        if component.starts_with('.') {
            return Err(HIDDEN_FILE.at(
                place(),
                "a name that does not begin with a dot",
                shown(name),
            ));
        }
        // Windows drops the dot.
        if component.ends_with('.') {
            return Err(bad("components that do not end in a dot"));
        }
        if is_device(component) {
            return Err(bad("components that are not Windows device names"));
        }
    }
    let file = name.rsplit('/').next().unwrap_or(name);
    let Some((_, ending)) = file.rsplit_once('.') else { return Ok(()) };
    let is_ending = |known: &&str| known.eq_ignore_ascii_case(ending);
    if OPAQUE_ENDINGS.iter().any(is_ending) {
        return Err(OPAQUE_FORMAT.at(place(), "not a pickle or an archive", shown(name)));
    }
    match READ_ENDINGS.iter().copied().find(is_ending) {
        Some(small) if small != ending => {
            Err(bad(&format!("the extension `.{small}` in lowercase")))
        }
        _ => Ok(()),
    }
}

fn is_device(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or(component);
    match stem.split_at_checked(3) {
        Some((name, "")) => DEVICES.iter().any(|device| device.eq_ignore_ascii_case(name)),
        Some((name, rest)) => {
            matches!(rest.as_bytes(), [b'1'..=b'9'])
                && NUMBERED_DEVICES.iter().any(|device| device.eq_ignore_ascii_case(name))
        }
        None => false,
    }
}

/// A name cut to a length that fits a message.
pub fn shown(name: &str) -> String {
    let cut: String = name.chars().take(80).collect();
    let more = if cut.len() < name.len() { "…" } else { "" };
    format!("`{}{more}`", cut.escape_debug())
}

/// The text in small letters.
fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        text.to_ascii_lowercase().into()
    } else {
        text.into()
    }
}

/// Entries in the order of a text as a map of them, or the position of the first that repeats a name.
pub fn distinct<N: Ord, V>(entries: Vec<(N, V)>) -> Result<BTreeMap<N, V>, usize> {
    let mut names = entries.iter().map(|(name, _)| name);
    if !names.clone().is_sorted_by(|first, second| first < second) {
        let mut seen = BTreeSet::new();
        if let Some(again) = names.position(|name| !seen.insert(name)) {
            return Err(again);
        }
    }
    Ok(entries.into_iter().collect())
}

/// Checks names as a set: none may differ from another only in case, and sorting them by text must
/// be sorting them by components, because signers do one or the other.
pub fn check_set<'a>(
    names: impl Iterator<Item = &'a str>,
    place: impl Fn(&str) -> Location,
) -> Result<(), Error> {
    let mut names: Vec<&str> = names.collect();
    let mut folded: HashMap<Cow<'_, str>, &str> = HashMap::with_capacity(names.len());
    let mut last = "";
    for name in &names {
        // The folders that the name before lies in are known.
        let shared = std::iter::zip(name.bytes(), last.bytes()).take_while(|(a, b)| a == b).count();
        last = name;
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        for prefix in ends.filter(|end| *end >= shared).filter_map(|end| name.get(..end)) {
            let first = *folded.entry(lower(prefix)).or_insert(prefix);
            if first != prefix {
                let expected = "names that differ by more than case";
                let found = format!("`{first}` and `{prefix}`");
                return Err(CASE_CLASH.at(place(name), expected, found));
            }
        }
    }
    names.sort_unstable();
    for pair in names.windows(2) {
        if let [first, second] = pair
            && first.split('/').gt(second.split('/'))
        {
            let expected = "names that sort the same as text and as paths";
            let found = format!("`{first}` and `{second}`");
            return Err(AMBIGUOUS_ORDER.at(place(first), expected, found));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_tools_read_differently_are_refused() {
        let deep = ["a"; 9].join("/");
        let long = format!("data/{}", "x".repeat(200));
        for (name, code) in [
            ("data/a-b_c.1.json", ""),
            ("data/../x", "bundle::bad-name"),
            ("./data/x", "bundle::bad-name"),
            ("/etc/passwd", "bundle::bad-name"),
            ("data//x", "bundle::bad-name"),
            ("data/x/", "bundle::bad-name"),
            ("", "bundle::bad-name"),
            ("data\\x", "bundle::bad-name"),
            ("data/a b", "bundle::bad-name"),
            ("data/é", "bundle::bad-name"),
            ("data/a%0A", "bundle::bad-name"),
            ("data/a\nb", "bundle::bad-name"),
            ("data/a.", "bundle::bad-name"),
            ("data/a./b", "bundle::bad-name"),
            ("data/NUL", "bundle::bad-name"),
            ("data/aux.json", "bundle::bad-name"),
            ("data/com7/x", "bundle::bad-name"),
            ("data/com.json", ""),
            ("data/auxiliary.json", ""),
            ("data/a.JSON", "bundle::bad-name"),
            ("data/a.SafeTensors", "bundle::bad-name"),
            ("data/a.TXT", ""),
            (&deep, "bundle::bad-name"),
            (&long, "bundle::bad-name"),
            ("data/.git/config", "bundle::hidden-file"),
            ("data/model.pt", "bundle::opaque-format"),
            ("data/model.PTH", "bundle::opaque-format"),
            ("data/model.safetensors.gz", "bundle::opaque-format"),
        ] {
            let found = check(name, Location::default).err().map_or("", |error| error.code.id);
            assert_eq!(found, code, "{name:?}");
        }
    }

    #[test]
    fn sets_clash_in_case_and_in_order() {
        for (names, code) in [
            (vec!["data/a.json", "data/b/c.json"], ""),
            (vec!["data/a.json", "data/A.json"], "bundle::case-clash"),
            (vec!["data/a/x", "data/A/y"], "bundle::case-clash"),
            (vec!["data/a/x", "data/a.json"], "bundle::ambiguous-order"),
            (vec!["data/a-b", "data/a/x"], "bundle::ambiguous-order"),
        ] {
            let found = check_set(names.iter().copied(), |name| Location::file(name));
            assert_eq!(found.err().map_or("", |error| error.code.id), code, "{names:?}");
        }
    }
}
