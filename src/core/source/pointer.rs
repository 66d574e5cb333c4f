//! Pointers into a tree: JSON pointers (RFC 6901) with one addition, `key=value`, which selects the
//! element of a list whose member `key` prints as `value`. So `/facts/id=loss/value` keeps its
//! meaning when the list grows, and `step=8320/loss` reads a row of a `.jsonl`.

use super::{Kind, Value};

/// A parsed pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    segments: Vec<String>,
}

impl Pointer {
    /// Parses `text`; the leading slash is optional if the first segment is a selector.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self { text: String::new(), segments: Vec::new() });
        }
        let body = match text.strip_prefix('/') {
            Some(body) => body,
            None if text.split('/').next()?.contains('=') => text,
            None => return None,
        };
        let segments = body.split('/').map(unescape).collect::<Option<Vec<_>>>()?;
        Some(Self { text: text.to_owned(), segments })
    }

    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value it leads to from `root`, or how far it got and the segment that leads nowhere.
    pub fn resolve<'a>(&self, root: &'a Value) -> Result<&'a Value, (&'a Value, &str)> {
        let mut value = root;
        for segment in &self.segments {
            value = step(value, segment).ok_or((value, segment.as_str()))?;
        }
        Ok(value)
    }
}

fn step<'a>(value: &'a Value, segment: &str) -> Option<&'a Value> {
    match &value.kind {
        Kind::Object(members) => members.iter().find(|m| &*m.key == segment).map(|m| &m.value),
        Kind::Array(items) => match segment.split_once('=') {
            Some((key, wanted)) => {
                let mut matching = items.iter().filter(|item| member_prints(item, key, wanted));
                let first = matching.next()?;
                matching.next().is_none().then_some(first)
            }
            None if segment.len() > 1 && segment.starts_with('0') => None,
            None => items.get(segment.parse::<usize>().ok()?),
        },
        _ => None,
    }
}

fn member_prints(item: &Value, key: &str, wanted: &str) -> bool {
    let Kind::Object(members) = &item.kind else { return false };
    members.iter().any(|member| {
        &*member.key == key
            && match &member.value.kind {
                Kind::Number(text) | Kind::Text(text) => &**text == wanted,
                _ => false,
            }
    })
}

/// Parses one segment of a pointer; none if it is malformed.
pub fn unescape(segment: &str) -> Option<String> {
    let mut plain = String::with_capacity(segment.len());
    let mut rest = segment.chars();
    while let Some(c) = rest.next() {
        match c {
            '~' => plain.push(match rest.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            }),
            _ => plain.push(c),
        }
    }
    Some(plain)
}

/// Writes one segment of a pointer.
pub fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

/// The pointer of `target`, a value below `root`. In a list, only the last element that starts before the target is
/// searched, which is fast in long documents; if that fails, all elements are.
pub fn locate(root: &Value, target: &Value) -> Option<String> {
    let mut path = Vec::new();
    let found = search(root, target, false, &mut path) || search(root, target, true, &mut path);
    found.then(|| path.iter().rev().map(|segment| format!("/{segment}")).collect())
}

/// Whether `target` is at or below `value`; if so, its path is added, the last segment first.
fn search(value: &Value, target: &Value, everywhere: bool, path: &mut Vec<String>) -> bool {
    if std::ptr::eq(value, target) {
        return true;
    }
    match &value.kind {
        Kind::Object(members) => {
            let mut members = members.iter();
            let found = members.find(|member| search(&member.value, target, everywhere, path));
            path.extend(found.map(|member| escape(&member.key)));
            found.is_some()
        }
        Kind::Array(items) => {
            let mut range = match everywhere {
                true => 0..items.len(),
                false => {
                    let next = items.partition_point(|item| item.span.start <= target.span.start);
                    next.saturating_sub(1)..next
                }
            };
            let found = range.find(|index| search(&items[*index], target, everywhere, path));
            path.extend(found.map(|index| index.to_string()));
            found.is_some()
        }
        _ => false,
    }
}
