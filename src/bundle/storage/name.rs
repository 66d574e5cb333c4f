//! The valid object names: the same in a folder, in a URL and in a bucket, and never a way out of any of them.

use std::ops::RangeInclusive;

use repro_core::source::{Error, Location};

use crate::storage::BAD_NAME;

/// How many bytes a name has: the most are what S3 takes, of which a prefix has its part.
const NAME_BYTES: RangeInclusive<usize> = 1..=800;
/// The most bytes of a component, which file systems set.
const COMPONENT_CAP: usize = 255;
/// So much of a wrong name is shown.
const SHOWN: usize = 80;

/// Checks the name of an object of the store that is told as `shown`.
pub fn check(name: &str, shown: &str) -> Result<(), Error> {
    if !NAME_BYTES.contains(&name.len()) {
        return Err(bad(name, shown, &format!("a name of 1 to {} bytes", NAME_BYTES.end())));
    }
    name.split('/').try_for_each(|component| check_component(component, name, shown))
}

/// Checks what names begin with: nothing, or whole components.
pub fn check_below(below: &str, shown: &str) -> Result<(), Error> {
    if below.is_empty() { Ok(()) } else { check(below, shown) }
}

fn check_component(component: &str, name: &str, shown: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-=+,".contains(&byte);
    if component.is_empty() || !component.bytes().all(plain) {
        let expected = "components of letters, digits and `._-=+,`, joined by `/`";
        return Err(bad(name, shown, expected));
    }
    if component.len() > COMPONENT_CAP {
        return Err(bad(name, shown, &format!("components of at most {COMPONENT_CAP} bytes")));
    }
    if component.starts_with('.') {
        return Err(bad(name, shown, "components that do not begin with a dot"));
    }
    Ok(())
}

fn bad(name: &str, shown: &str, expected: &str) -> Error {
    BAD_NAME.at(Location::file(shown), expected, format!("`{}`", cut(name)))
}

/// A text of others at a length and in signs that a message can hold.
pub fn cut(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{more}", cut.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::{check, check_below};

    #[test]
    fn a_name_leads_nowhere_else() {
        let long = "a".repeat(256);
        let longer = "abc/".repeat(200) + "a";
        for name in [
            "",
            "/",
            "/etc/passwd",
            "a/",
            "a//b",
            "..",
            "a/../b",
            ".",
            "a/./b",
            ".a",
            "a/.b",
            "a\\b",
            "a\0",
            "a\nb",
            "a b",
            "é",
            "a%2e%2e",
            "a?b",
            "a#b",
            "a:b",
            "C:\\a",
            "~a",
            "a@b",
            &long,
            &longer,
        ] {
            let error = check(name, "s3://bucket/results").unwrap_err();
            assert_eq!(error.code.id, "storage::bad-name", "{name:?}");
            assert_eq!(error.place.file, "s3://bucket/results");
        }
        for name in
            ["a", "ab/0f3e", "step=100/model-00001-of-00002.safetensors", "a..b", "a.", &long[1..]]
        {
            assert_eq!(check(name, ""), Ok(()), "{name:?}");
        }
        assert_eq!(check_below("", ""), Ok(()));
        assert!(check_below("../a", "").is_err());
    }
}
