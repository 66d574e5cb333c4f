//! The location of a result: a file by its address from the repository root, and a part of one line.

use repro_core::source::Location;
use serde::Serialize;

/// The base of file addresses.
pub(super) const TOP: &str = "%SRCROOT%";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifLocation {
    physical_location: SarifPlace,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_locations: Option<[SarifPointer; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifPlace {
    artifact_location: SarifFile,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<SarifRegion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_region: Option<SarifRegion>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifFile {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<SarifSnippet>,
}

#[derive(Serialize)]
struct SarifSnippet {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifPointer {
    fully_qualified_name: String,
}

impl SarifLocation {
    /// A place in a file; `base` leads from the top of the repository to what the file's name begins at.
    pub(super) fn of(place: &Location, base: &str) -> Option<Self> {
        let artifact_location = SarifFile::of(&place.file, base)?;
        let (region, context_region) = regions(place);
        let pointer = Some(&place.pointer).filter(|pointer| !pointer.is_empty());
        Some(Self {
            physical_location: SarifPlace { artifact_location, region, context_region },
            logical_locations: pointer
                .map(|pointer| [SarifPointer { fully_qualified_name: pointer.clone() }]),
        })
    }
}

impl SarifFile {
    /// An address with no step back where the repository has the file, as paths are told apart by their letters.
    fn of(file: &str, base: &str) -> Option<Self> {
        if file.is_empty() {
            return None;
        }
        let is_absolute = file.starts_with('/');
        let whole = if is_absolute { file.to_owned() } else { format!("{base}{file}") };
        let mut steps: Vec<&str> = Vec::new();
        for step in whole.split('/') {
            match step {
                "" | "." => {}
                ".." if steps.last().is_some_and(|last| *last != "..") => {
                    steps.pop();
                }
                ".." if is_absolute => {}
                other => steps.push(other),
            }
        }
        let path = steps.into_iter().map(encoded).collect::<Vec<_>>().join("/");
        Some(match is_absolute {
            true => Self { uri: format!("file:///{path}"), uri_base_id: None },
            false => Self { uri: path, uri_base_id: Some(TOP) },
        })
    }
}

/// The marked part of a line, and as much of the line as is known.
fn regions(place: &Location) -> (Option<SarifRegion>, Option<SarifRegion>) {
    let Location { line, column, length, ref excerpt, skipped, .. } = *place;
    let line = Some(line).filter(|line| *line > 0);
    let column = Some(column).filter(|column| *column > 0);
    let ended = column.filter(|_| length > 0).map(|column| column.saturating_add(length));
    let snippet = |text: String| (!text.is_empty()).then_some(SarifSnippet { text });
    let before = column.map_or(0, |column| column.saturating_sub(1).saturating_sub(skipped));
    let meant: String = excerpt.chars().skip(before).take(length).collect();
    // Of a stretch that goes on beyond the excerpt only a part is known.
    let meant = Some(meant).filter(|meant| meant.chars().count() == length);
    let region = line.map(|start_line| SarifRegion {
        start_line,
        start_column: column,
        end_column: ended,
        snippet: ended.and(meant).and_then(snippet),
    });
    let first = skipped.saturating_add(1);
    let context = line.filter(|_| ended.is_some() && !excerpt.is_empty());
    let context = context.map(|start_line| SarifRegion {
        start_line,
        start_column: Some(first),
        end_column: Some(first.saturating_add(excerpt.chars().count())),
        snippet: snippet(excerpt.clone()),
    });
    (region, context)
}

/// A step of a path as RFC 3986 has it in an address. A colon would end a scheme in the first one.
fn encoded(step: &str) -> String {
    let mut text = String::with_capacity(step.len());
    for byte in step.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b'@' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(file: &str, base: &str) -> String {
        SarifFile::of(file, base).unwrap().uri
    }

    #[test]
    fn addresses_begin_at_the_top_of_the_repository() {
        assert_eq!(uri("repro/0004.toml", ""), "repro/0004.toml");
        assert_eq!(uri("./a//b", "papers/one/"), "papers/one/a/b");
        assert_eq!(uri("../two/x.json", "papers/one/"), "papers/two/x.json");
        assert_eq!(uri("../../x", "one/"), "../x");
        assert_eq!(uri("/tmp/../a b", "one/"), "file:///a%20b");
    }

    #[test]
    fn what_has_a_meaning_in_addresses_is_written_out() {
        assert_eq!(uri("http://x?#é%", ""), "http%3A/x%3F%23%C3%A9%25");
        assert!(SarifFile::of("", "one/").is_none());
    }

    #[test]
    fn a_stretch_beyond_the_excerpt_has_no_snippet() {
        let place = |column, length, skipped| Location {
            line: 3,
            column,
            length,
            skipped,
            excerpt: "é = 12".to_owned(),
            ..Location::file("a")
        };
        let snippet = |place: &Location| regions(place).0.unwrap().snippet.map(|one| one.text);
        assert_eq!(snippet(&place(5, 2, 0)).unwrap(), "12");
        assert_eq!(snippet(&place(15, 2, 10)).unwrap(), "12");
        assert_eq!(snippet(&place(5, 3, 0)), None);
        assert_eq!(snippet(&place(0, 2, 0)), None);
        assert_eq!(regions(&place(15, 2, 10)).1.unwrap().end_column, Some(17));
        assert!(regions(&Location::file("a")).0.is_none());
    }
}
