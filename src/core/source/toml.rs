//! TOML into the shared tree. `toml_edit` checks the grammar, duplicate keys and depth.

use std::ops::Range;

use toml_edit::{Item, Table, TableLike};

use super::{
    DEPTH_CAP, DUPLICATE_KEY, Error, Kind, Location, Member, NOT_FINITE, SYNTAX, Source, TOO_DEEP,
    TOO_MANY_VALUES, VALUE_CAP, Value,
};

/// The maximum number of lines and of signs between values. The grammar's tree takes several times the memory of ours.
const SIGN_CAP: usize = VALUE_CAP / 2;

/// Parses a whole TOML document.
pub fn parse(source: &Source) -> Result<Value, Error> {
    bounded(source)?;
    let document = toml_edit::Document::parse(source.text()).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().replace('\n', ", ");
        let (code, expected) = match message.contains("duplicate key") {
            true => (&DUPLICATE_KEY, "each key once"),
            false => (&SYNTAX, "TOML"),
        };
        let place = source.place(span);
        let help = help(&message, &place);
        let error = code.at(place, expected, message);
        match help {
            Some(help) => error.help(help),
            None => error,
        }
    })?;
    let root: &Table = document.as_table();
    Reader { source }.table(root, 0..source.text().len(), 0)
}

/// The help for common mistakes, given the grammar's message and the line that it refers to.
fn help(message: &str, place: &Location) -> Option<&'static str> {
    let line = place.excerpt.trim_start();
    if message.contains("duplicate key") {
        return (line.starts_with('[') && !line.starts_with("[[")).then_some(
            "write two brackets on each side for a table that occurs several times: `[[name]]`",
        );
    }
    let marked = place.excerpt.chars().skip(place.column.saturating_sub(1 + place.skipped));
    if marked.clone().next().is_some_and(|c| "“”„‟‘’‚‛«»".contains(c)) {
        return Some("write straight quotes: `\"...\"` or `'...'`");
    }
    if message.contains("escape") {
        return Some(
            "write text with backslashes in single quotes, `'...'` or `'''...'''`; in double quotes write `\\\\`",
        );
    }
    let is_cut = message.contains("key with no value") && line.contains(['"', '\'']);
    (is_cut
        || message.contains("invalid basic string")
        || message.contains("invalid literal string"))
    .then_some("close the quotes on the same line, or write text of several lines in `'''...'''`")
}

/// Rejects a text with too many lines and signs between values. The grammar builds a large tree of its own, so the contents
/// of strings and comments count, too.
fn bounded(source: &Source) -> Result<(), Error> {
    let between = |byte: &u8| matches!(byte, b'\n' | b',' | b'.' | b'=' | b'[' | b'{');
    let mut signs = source.text().bytes().enumerate().filter(|(_, byte)| between(byte));
    match signs.nth(SIGN_CAP) {
        None => Ok(()),
        Some((at, _)) => {
            let expected = format!("at most {SIGN_CAP} lines, commas, dots, brackets and `=`");
            Err(TOO_MANY_VALUES.at(source.place(at..at + 1), expected, "more"))
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
}

impl Reader<'_> {
    fn bounded(&self, span: &Range<usize>, depth: usize) -> Result<(), Error> {
        if depth <= DEPTH_CAP {
            return Ok(());
        }
        let expected = format!("at most {DEPTH_CAP} levels");
        Err(TOO_DEEP.at(self.source.place(span.clone()), expected, "more"))
    }

    fn table(
        &self,
        table: &dyn TableLike,
        span: Range<usize>,
        depth: usize,
    ) -> Result<Value, Error> {
        self.bounded(&span, depth)?;
        let mut members = Vec::with_capacity(table.len());
        for (name, item) in table.iter() {
            let key_span =
                table.key(name).and_then(toml_edit::Key::span).unwrap_or(span.start..span.start);
            let value = self.item(item, &key_span, depth + 1)?;
            members.push(Member { key: name.into(), key_span, value });
        }
        Ok(Value { kind: Kind::Object(members), span })
    }

    /// An item; if the grammar has no span for it (tables created by dotted keys), the span of its key is used.
    fn item(&self, item: &Item, key_span: &Range<usize>, depth: usize) -> Result<Value, Error> {
        let span = item.span().unwrap_or_else(|| key_span.clone());
        match item {
            Item::None => Ok(Value { kind: Kind::Null, span }),
            Item::Table(table) => self.table(table, span, depth),
            Item::ArrayOfTables(tables) => {
                let items = tables.iter().map(|table| {
                    self.table(table, table.span().unwrap_or_else(|| span.clone()), depth + 1)
                });
                Ok(Value { kind: Kind::Array(items.collect::<Result<_, _>>()?), span })
            }
            Item::Value(value) => self.value(value, span, depth),
        }
    }

    fn value(
        &self,
        value: &toml_edit::Value,
        span: Range<usize>,
        depth: usize,
    ) -> Result<Value, Error> {
        let kind = match value {
            toml_edit::Value::String(text) => Kind::Text(text.value().as_str().into()),
            toml_edit::Value::Boolean(truth) => Kind::Bool(*truth.value()),
            toml_edit::Value::Datetime(date) => Kind::Text(date.value().to_string().into()),
            toml_edit::Value::Integer(_) => Kind::Number(self.source.text()[span.clone()].into()),
            toml_edit::Value::Float(number) => {
                let text = &self.source.text()[span.clone()];
                if !number.value().is_finite() {
                    return Err(NOT_FINITE.at(
                        self.source.place(span),
                        "a finite number",
                        format!("`{text}`"),
                    ));
                }
                Kind::Number(text.into())
            }
            toml_edit::Value::Array(array) => {
                self.bounded(&span, depth)?;
                let items = array.iter().map(|item| {
                    self.value(item, item.span().unwrap_or_else(|| span.clone()), depth + 1)
                });
                Kind::Array(items.collect::<Result<_, _>>()?)
            }
            toml_edit::Value::InlineTable(table) => return self.table(table, span, depth),
        };
        Ok(Value { kind, span })
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_CAP, SIGN_CAP};
    use crate::source::{Document, Kind, Source};

    fn parse(text: &str) -> Result<Document, crate::source::Error> {
        Document::parse_toml(Source::new("t.toml", text.into()).unwrap())
    }

    #[test]
    fn numbers_keep_their_text_and_place() {
        let document = parse("a = 1\n[t]\nhold = 3_925_721_344\nx.y = [1e-6, \"2\"]\n").unwrap();
        let hold = document.root().at("/t/hold").unwrap();
        assert_eq!(hold.value().kind, Kind::Number("3_925_721_344".into()));
        assert_eq!((hold.place().line, hold.place().column), (3, 8));
        assert_eq!(
            document.root().at("/t/x/y/0").unwrap().value().kind,
            Kind::Number("1e-6".into())
        );
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let deep = |levels: usize| format!("a = {}{}", "[".repeat(levels), "]".repeat(levels));
        parse(&deep(DEPTH_CAP)).unwrap();
        assert_eq!(parse(&deep(DEPTH_CAP + 1)).unwrap_err().code.id, "source::too-deep");
        let dotted = |levels: usize| format!("a{} = 1", ".a".repeat(levels - 1));
        parse(&dotted(DEPTH_CAP)).unwrap();
        assert_ne!(parse(&dotted(DEPTH_CAP + 2)).map_err(|r| r.code.id).err(), None);
        let long = format!("a = [{}]", "1,".repeat(SIGN_CAP));
        assert_eq!(parse(&long).unwrap_err().code.id, "source::too-many-values");
    }

    #[test]
    fn usual_slips_are_told() {
        let help = |text: &str| parse(text).unwrap_err().help.clone();
        assert!(help("[[a]]\nb = 1\n[a]\nb = 2").contains("[[name]]"));
        assert!(help("a = “b”").contains("straight quotes"));
        assert!(help(r#"a = "\pm""#).contains("single quotes"));
        assert!(help("a = \"b\nc\"").contains("several lines"));
        assert_eq!(help("a = 1\na = 2"), "remove one of the two");
    }

    #[test]
    fn duplicates_and_non_finite_numbers_are_refused() {
        assert_eq!(parse("a = 1\na = 2").unwrap_err().code.id, "source::duplicate-key");
        assert_eq!(parse("a = nan").unwrap_err().code.id, "source::not-finite");
        assert_eq!(parse("a = [1, -inf]").unwrap_err().code.id, "source::not-finite");
        assert!(parse("a = 1e999").is_err());
        assert!(parse(&format!("a = {}", "[".repeat(5000))).is_err());
    }
}
