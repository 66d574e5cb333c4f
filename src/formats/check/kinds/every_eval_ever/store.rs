//! The index of a store: one line per object.

use std::path::{Component, Path, PathBuf};

use repro_core::digest::Digest;
use repro_core::source::{Document, Node, Source};

use crate::check::kind::PASSED_OVER;
use crate::check::kinds::scores;
use crate::check::stated::StatedRow;

/// The object folders beside an index.
const FOLDERS: &[&str] = &["", "datastore"];

/// Whether a line is an index entry.
pub fn is(line: Node<'_>) -> bool {
    ["object_path", "object_uuid", "sha256"].iter().all(|key| line.get(key).is_some())
}

/// All entries.
pub fn read(document: &Document) -> StatedRow {
    let folder = super::folder(document);
    let mut row = StatedRow::default();
    let all = scores::elements(Some(document.root()), "");
    row.add("object", all.map(|(line, pointer)| object(line, &pointer, &folder)));
    row
}

fn object(line: Node<'_>, pointer: &str, folder: &Path) -> StatedRow {
    let id = scores::text(line, "object_uuid").unwrap_or_default();
    let mut row = StatedRow::new(id);
    let names = ["object_path", "sha256", "size_bytes", "eval_schema_version", "legacy_path"];
    scores::state_some(&mut row, line, pointer, &names);
    let (first, second) = (id.get(..2).unwrap_or_default(), id.get(2..4).unwrap_or_default());
    let path = row.text("object_path").unwrap_or_default().to_owned();
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let kept = format!("flat/objects/{first}/{second}/{id}.{ending}");
    row.compute_text("object.path", &kept, "from the id's first four digits");
    let legacy = row.text("legacy_path").and_then(|path| path.rsplit('/').next());
    let legacy = legacy.and_then(|name| name.split('.').next()).map(str::to_owned);
    if let Some(legacy) = legacy {
        row.compute_text("legacy.uuid", &legacy, "the file name in `legacy_path`");
        scores::state_some(&mut row, line, pointer, &["object_uuid"]);
    }
    stored(&mut row, folder, &path);
    row
}

/// Whether a path component leads down into a folder that may contain results.
fn is_looked_into(part: Component<'_>) -> bool {
    let Component::Normal(name) = part else { return false };
    let name = name.to_string_lossy();
    !name.starts_with('.') && !PASSED_OVER.contains(&&*name)
}

/// The properties of the object itself, if it is beside the index.
fn stored(row: &mut StatedRow, folder: &Path, path: &str) {
    let is_below = Path::new(path).components().all(is_looked_into);
    let places = FOLDERS.iter().map(|place| folder.join(place).join(path));
    let found: Option<PathBuf> = places.into_iter().find(|place| is_below && place.is_file());
    let Some(source) = found.and_then(|found| Source::load_plain(&found, path).ok()) else {
        return;
    };
    let bytes = source.text().len();
    row.compute_number("stored.size", bytes as f64, "the object's size");
    let digest = Digest::of(source.text().as_bytes()).to_string();
    row.compute_text("stored.sha256", &digest, "the object's SHA-256");
    if let Ok(object) = Document::parse_loose_json(source)
        && let Some(version) = scores::text(object.root(), "schema_version")
    {
        row.compute_text("stored.version", version, "the object's `schema_version`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_lies_where_results_may_lie() {
        let is_below = |path: &str| Path::new(path).components().all(is_looked_into);
        assert!(is_below("flat/objects/ab/cd/abcd.json"));
        for path in
            ["../a.json", "/etc/passwd", "a/../../b", ".git/a.json", "a/.b/c", "venv/a.json"]
        {
            assert!(!is_below(path), "{path}");
        }
    }
}
