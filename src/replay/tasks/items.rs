//! Items of a task, one JSON document a line. A file may be longer than a document: lines are read one
//! at a time, and only what is asked for is kept.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::{BAD_GOLD, BAD_ITEM, Item, ItemForm};
use repro_core::source::{Document, Error, Location, Node, Source, TOO_LARGE, UNREADABLE};

/// The longest line that is read (1 MiB).
const LINE_CAP: u64 = 1 << 20;
/// The longest file that is read (512 MiB).
const FILE_CAP: usize = 512 << 20;
/// The most passages of an item.
const PASSAGE_CAP: usize = 256;

/// Reads the items in the file at `path`, naming it `name` in every message.
pub fn load(path: &Path, name: &str, form: ItemForm) -> Result<Vec<Item>, Error> {
    let unreadable = |error: std::io::Error| {
        UNREADABLE.at(Location::file(name), "a readable file", error.to_string())
    };
    let mut file = BufReader::new(repro_core::source::open_plain(path).map_err(unreadable)?);
    let (mut items, mut number, mut total, mut line) = (Vec::new(), 0, 0, Vec::new());
    loop {
        line.clear();
        let length = file.by_ref().take(LINE_CAP + 1).read_until(b'\n', &mut line);
        let length = length.map_err(unreadable)?;
        if length == 0 {
            return Ok(items);
        }
        (number, total) = (number + 1, total + length);
        let here = Location { line: number, ..Location::file(name) };
        if length as u64 > LINE_CAP {
            let expected = format!("a line of at most {LINE_CAP} bytes");
            return Err(TOO_LARGE.at(here, expected, "more"));
        }
        if total > FILE_CAP {
            return Err(TOO_LARGE.at(here, format!("at most {FILE_CAP} bytes"), "more"));
        }
        let text = std::mem::take(&mut line);
        if !text.trim_ascii().is_empty() {
            items.push(read(name, text, form).map_err(|error| in_line(error, number))?);
        }
    }
}

fn read(name: &str, text: Vec<u8>, form: ItemForm) -> Result<Item, Error> {
    let document = Document::parse_json(Source::new(name, text)?)?;
    let root = document.root();
    let item = match form {
        ItemForm::MultipleChoice => {
            let choices = texts(root, "choices")?;
            Item::multiple_choice(root.required("query")?.text()?, choices, gold(root)?)
        }
        ItemForm::Schema => {
            let contexts = texts(root, "context_options")?;
            let continuation = root.required("continuation")?.text()?;
            Item::schema(contexts, continuation, gold(root)?)
        }
        ItemForm::LanguageModeling => {
            let context = root.required("context")?.text()?;
            Item::language_modeling(context, root.required("continuation")?.text()?)
        }
    };
    check(root, &item, form)?;
    Ok(item)
}

/// Refuses items that have nothing to score, or nothing to choose.
fn check(root: Node, item: &Item, form: ItemForm) -> Result<(), Error> {
    if item.passages.iter().any(|passage| passage.continuation.is_empty()) {
        return Err(BAD_ITEM.at(root.place(), "continuations of at least one character", "none"));
    }
    let count = item.passages.len();
    if form != ItemForm::LanguageModeling && !(2..=PASSAGE_CAP).contains(&count) {
        let expected = format!("2 to {PASSAGE_CAP} choices");
        return Err(BAD_ITEM.at(root.place(), expected, count.to_string()));
    }
    if item.gold >= count {
        let place = root.get("gold").unwrap_or(root).place();
        let expected = format!("a position from 0 to {}", count.saturating_sub(1));
        return Err(BAD_GOLD.at(place, expected, item.gold.to_string()));
    }
    Ok(())
}

fn gold(root: Node) -> Result<usize, Error> {
    // Positions beyond what a machine counts are beyond every list.
    Ok(usize::try_from(root.required("gold")?.integer()?).unwrap_or(usize::MAX))
}

fn texts<'a>(root: Node<'a>, key: &str) -> Result<Vec<&'a str>, Error> {
    root.required(key)?.items()?.map(Node::text).collect()
}

/// A refusal about the line alone, said about its place in the file.
fn in_line(error: Error, line: usize) -> Error {
    let inside = error.place.clone();
    let pointer = format!("/{}{}", line - 1, inside.pointer);
    error.moved(Location { line, column: inside.column.max(1), pointer, ..inside })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str, form: ItemForm) -> Result<Vec<Item>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, text).unwrap();
        load(&path, "t.jsonl", form)
    }

    #[test]
    fn each_kind_is_read() {
        let text = "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":1,\"category\":\"x\"}\n\n\
                    {\"query\":\"r\",\"choices\":[\"a\",\"b\"],\"gold\":0}";
        let read = items(text, ItemForm::MultipleChoice).unwrap();
        let expected =
            [Item::multiple_choice("q", ["a", "b"], 1), Item::multiple_choice("r", ["a", "b"], 0)];
        assert_eq!(read, expected);
        let text = "{\"context_options\":[\"A\",\"B\"],\"continuation\":\"c\",\"gold\":0}\n";
        assert_eq!(items(text, ItemForm::Schema).unwrap(), [Item::schema(["A", "B"], "c", 0)]);
        let text = "{\"context\":\" c \\n\",\"continuation\":\"d\"}\n";
        let read = items(text, ItemForm::LanguageModeling).unwrap();
        assert_eq!((&*read[0].passages[0].context, &*read[0].passages[0].continuation), ("c", "d"));
    }

    #[test]
    fn items_without_an_answer_are_refused_with_their_line() {
        let good = "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":1}\n";
        for (line, code, pointer) in [
            (
                "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":2}",
                "task-list::bad-gold",
                "/1/gold",
            ),
            (
                "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":-1}",
                "source::wrong-type",
                "/1/gold",
            ),
            ("{\"query\":\"q\",\"choices\":[],\"gold\":0}", "task-list::bad-item", "/1"),
            ("{\"query\":\"q\",\"choices\":[\"a\"],\"gold\":0}", "task-list::bad-item", "/1"),
            ("{\"query\":\"q\",\"choices\":[\"a\",\"\"],\"gold\":0}", "task-list::bad-item", "/1"),
            (
                "{\"query\":\"q\",\"choices\":[\"a\",2],\"gold\":0}",
                "source::wrong-type",
                "/1/choices/1",
            ),
            ("{\"query\":\"q\",\"gold\":0}", "source::missing-field", "/1"),
            ("{\"query\":", "source::syntax", "/1"),
        ] {
            let error = items(&format!("{good}{line}\n"), ItemForm::MultipleChoice).unwrap_err();
            let found = (error.code.id, error.place.line, error.place.pointer.as_str());
            assert_eq!(found, (code, 2, pointer), "{error}");
        }
        let long = format!("{good}{}\n", "x".repeat(2 << 20));
        assert_eq!(items(&long, ItemForm::Schema).unwrap_err().code.id, "source::missing-field");
        assert_eq!(
            items(&long, ItemForm::MultipleChoice).unwrap_err().code.id,
            "source::too-large"
        );
    }
}
