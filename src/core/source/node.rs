//! Typed access to the values of a document, with errors that state the place.

use super::{
    BAD_POINTER, Document, Error, Kind, Location, MISSING_FIELD, NO_SUCH_PLACE, Pointer,
    UNKNOWN_FIELD, Value, WRONG_TYPE, pointer,
};
use crate::similar::did_you_mean;

/// A value together with its document; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    document: &'a Document,
    value: &'a Value,
}

impl<'a> Node<'a> {
    pub(super) fn new(document: &'a Document, value: &'a Value) -> Self {
        Self { document, value }
    }

    /// The value itself.
    pub fn value(self) -> &'a Value {
        self.value
    }

    /// The document that contains it.
    pub fn document(self) -> &'a Document {
        self.document
    }

    /// Its JSON pointer.
    pub fn pointer(self) -> String {
        pointer::locate(&self.document.root, self.value).unwrap_or_default()
    }

    /// Its place. The pointer is searched for, so this is for messages, not for every value.
    pub fn place(self) -> Location {
        self.place_at(self.pointer())
    }

    /// Its place, for a caller that knows its pointer.
    pub fn place_at(self, pointer: String) -> Location {
        self.document.source.place(self.value.span.clone()).with_pointer(pointer)
    }

    /// Follows a pointer; the error for a pointer that leads nowhere describes what is there instead.
    pub fn at(self, text: &str) -> Result<Node<'a>, Error> {
        let pointer = Pointer::parse(text).ok_or_else(|| {
            BAD_POINTER.at(self.place(), "a pointer such as `/a/0/b`", format!("`{text}`"))
        })?;
        match pointer.resolve(self.value) {
            Ok(value) => Ok(Self { value, ..self }),
            Err((reached, segment)) => {
                let reached = Self { value: reached, ..self };
                Err(NO_SUCH_PLACE.at(
                    reached.place(),
                    format!("`{segment}` of `{text}`"),
                    reached.contents(),
                ))
            }
        }
    }

    /// A short description of the contents.
    fn contents(self) -> String {
        match &self.value.kind {
            Kind::Object(members) => {
                let names: Vec<_> =
                    members.iter().take(12).map(|m| format!("`{}`", m.key)).collect();
                let more = if members.len() > 12 { ", …" } else { "" };
                match names.is_empty() {
                    true => "an empty table".to_owned(),
                    false => format!("a table of {}{more}", names.join(", ")),
                }
            }
            Kind::Array(items) => format!("a list of {}", items.len()),
            other => other.word().to_owned(),
        }
    }

    /// The member `key` of a table, if it is there and not null.
    pub fn get(self, key: &str) -> Option<Node<'a>> {
        match &self.value.kind {
            Kind::Object(members) => members
                .iter()
                .find(|m| &*m.key == key && m.value.kind != Kind::Null)
                .map(|m| Self { value: &m.value, ..self }),
            _ => None,
        }
    }

    /// The member `key`, or an error with its name.
    pub fn required(self, key: &str) -> Result<Node<'a>, Error> {
        let _table = self.members()?;
        self.get(key).ok_or_else(|| {
            MISSING_FIELD.at(self.place(), format!("the field `{key}`"), self.contents())
        })
    }

    /// The members of a table, in order.
    pub fn members(self) -> Result<impl Iterator<Item = (&'a str, Node<'a>)>, Error> {
        match &self.value.kind {
            Kind::Object(members) => {
                Ok(members.iter().map(move |m| (&*m.key, Self { value: &m.value, ..self })))
            }
            _ => Err(self.wrong_type("a table")),
        }
    }

    /// The elements of a list.
    pub fn items(self) -> Result<impl ExactSizeIterator<Item = Node<'a>>, Error> {
        match &self.value.kind {
            Kind::Array(items) => Ok(items.iter().map(move |value| Self { value, ..self })),
            _ => Err(self.wrong_type("a list")),
        }
    }

    /// Rejects every member that is not in `known`.
    pub fn only(self, known: &[&str]) -> Result<(), Error> {
        for (key, node) in self.members()? {
            if !known.contains(&key) {
                let wrong =
                    |expected: String| UNKNOWN_FIELD.at(node.place(), expected, format!("`{key}`"));
                let hint = did_you_mean(key, known.iter().copied());
                return Err(match hint {
                    Some(hint) => wrong("a known field".to_owned()).help(hint),
                    None => wrong(one_of(known)),
                });
            }
        }
        Ok(())
    }

    /// A string.
    pub fn text(self) -> Result<&'a str, Error> {
        match &self.value.kind {
            Kind::Text(text) => Ok(text),
            _ => Err(self.wrong_type("a string")),
        }
    }

    /// A string or a number, as it is written.
    pub fn printed(self) -> Result<&'a str, Error> {
        match &self.value.kind {
            Kind::Text(text) | Kind::Number(text) => Ok(text),
            _ => Err(self.wrong_type("a number or a string")),
        }
    }

    /// A truth value.
    pub fn truth(self) -> Result<bool, Error> {
        match self.value.kind {
            Kind::Bool(truth) => Ok(truth),
            _ => Err(self.wrong_type("`true` or `false`")),
        }
    }

    /// A whole number from 0 up; `1_000` and `2.0` are whole, `2.5` is not.
    pub fn integer(self) -> Result<u64, Error> {
        let Kind::Number(text) = &self.value.kind else {
            return Err(self.wrong_type("a whole number"));
        };
        let plain = text.replace('_', "");
        let whole = plain.strip_suffix(".0").unwrap_or(&plain);
        whole.parse().map_err(|_| self.wrong_type("a non-negative integer"))
    }

    /// A number as the nearest binary float.
    pub fn float(self) -> Result<f64, Error> {
        let Kind::Number(text) = &self.value.kind else { return Err(self.wrong_type("a number")) };
        text.replace('_', "").parse().map_err(|_| self.wrong_type("a decimal number"))
    }

    fn wrong_type(self, expected: &str) -> Error {
        let found = match &self.value.kind {
            Kind::Number(text) => format!("the number {text}"),
            Kind::Text(text) => {
                format!("the string \"{}\"", text.chars().take(60).collect::<String>())
            }
            other => other.word().to_owned(),
        };
        WRONG_TYPE.at(self.place(), expected, found)
    }
}

/// "one of `a`, `b`".
fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::source::{Document, Source};

    fn document(text: &str) -> Document {
        Document::parse_json(Source::new("t.json", text.into()).unwrap()).unwrap()
    }

    #[test]
    fn selectors_pick_one_row() {
        let rows =
            document(r#"{"facts":[{"id":"a","value":"1"},{"id":"b","value":"2"},{"id":"b"}]}"#);
        assert_eq!(rows.root().at("/facts/id=a/value").unwrap().text().unwrap(), "1");
        assert_eq!(
            rows.root().at("/facts/id=b").unwrap_err().code.id,
            "source::unresolved-pointer"
        );
        let lines = Source::new(
            "m.jsonl",
            b"{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":2.25}\n".to_vec(),
        );
        let lines = Document::parse(lines.unwrap()).unwrap();
        assert_eq!(lines.root().at("step=2/loss").unwrap().printed().unwrap(), "2.25");
    }

    #[test]
    fn refusals_say_what_was_there() {
        let table = document(r#"{"model":{"dim":"wide"}}"#);
        let wrong = table.root().at("/model/dim").unwrap().integer().unwrap_err();
        assert_eq!(wrong.place.pointer, "/model/dim");
        assert_eq!(wrong.found, "the string \"wide\"");
        let missing = table.root().required("config").unwrap_err();
        assert_eq!(
            (missing.code.id, missing.found.as_str()),
            ("source::missing-field", "a table of `model`")
        );
        let unknown = table.root().only(&["config"]).unwrap_err();
        assert_eq!(unknown.expected, "one of `config`");
    }
}
