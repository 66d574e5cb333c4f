//! Reads the found documents, recognizes them, and applies their checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use repro_core::parallel;
use repro_core::source::{Document, Error, Location, Source, TOO_LARGE, TOO_MANY_VALUES};
use repro_verify::verify::TracedBundle;

use crate::check::CheckOptions;
use crate::check::NOTHING_KNOWN;
use crate::check::asked::{AskableRelation, AskedRelation};
use crate::check::damaged::{is_passed_over, is_pointer};
use crate::check::find::{FoundDocuments, FoundFile};
use crate::check::kind::{DocumentKind, FolderAnswer, FolderListing, Reads, Twins};
use crate::check::kinds::{CONFIG, KINDS, instead_of, same_runs};
use crate::check::outcome::{CheckReport, CheckedDocument};
use crate::check::stated::StatedRow;

/// The checks of each kind and between its documents, parsed once.
static RELATIONS: LazyLock<Vec<[Vec<AskableRelation>; 2]>> = LazyLock::new(|| {
    let read = |kind: &&DocumentKind| {
        let of = |all: &'static [_]| all.iter().filter_map(AskableRelation::of).collect();
        [
            of(kind.relations.all()),
            of(kind.twins.as_ref().map_or(&[], |twins| twins.relations.all())),
        ]
    };
    KINDS.iter().map(read).collect()
});

/// The result for one found item.
enum ReadDocument {
    Known {
        document: CheckedDocument,
        row: StatedRow,
        kind: &'static DocumentKind,
        trace: Option<Box<TracedBundle>>,
        failures: Vec<Error>,
    },
    /// A file of an unknown kind.
    Unknown {
        shown: String,
        is_named: bool,
    },
    Failed(Error),
    /// An unreadable changed file of no known kind.
    PassedOver(Error),
}

/// Reads all items in parallel.
pub fn read(found: FoundDocuments, options: &CheckOptions) -> CheckReport {
    let CheckOptions { is_change, threads, .. } = *options;
    let FoundDocuments { folders, files, failures } = found;
    let mut read = parallel::map(&folders, threads, |(kind, listing)| folder(kind, listing));
    let one = if is_change { changed } else { found_below };
    read.extend(parallel::map(&files, threads, one));
    let mut report = CheckReport { failures, is_of_change: is_change, ..CheckReport::default() };
    let mut rows: Vec<(&'static DocumentKind, StatedRow)> = Vec::new();
    let mut traces: Vec<TracedBundle> = Vec::new();
    for one in read {
        match one {
            ReadDocument::Known { document, row, kind, trace, failures } => {
                traces.extend(trace.map(|trace| *trace));
                let is_passed = |error: &Error| is_change && is_elsewhere(error);
                let (passed, failed): (Vec<_>, _) = failures.into_iter().partition(is_passed);
                report.passed_over.extend(passed);
                report.failures.extend(failed);
                report.documents.push(document);
                if kind.twins.is_some() {
                    rows.push((kind, row));
                }
            }
            ReadDocument::Unknown { shown, is_named: true } => {
                let expected = "a file of a known kind";
                report.failures.push(NOTHING_KNOWN.at(Location::file(shown), expected, "another"));
            }
            ReadDocument::Unknown { shown, .. } => report.unknown.push(shown),
            ReadDocument::Failed(error) => report.failures.push(error),
            ReadDocument::PassedOver(error) => report.passed_over.push(error),
        }
    }
    report.passed_over.sort_by(|a, b| a.place.file.cmp(&b.place.file));
    report.documents.sort_by(|a, b| a.path.cmp(&b.path));
    report.unknown.sort_unstable();
    rows.sort_by(|a, b| a.1.label.cmp(&b.1.label));
    report.together = together(&rows);
    report.together.extend(same_runs(&traces));
    report
}

fn folder(kind: &'static DocumentKind, listing: &FolderListing) -> ReadDocument {
    let Reads::Folder { read, .. } = kind.reads else {
        return ReadDocument::Unknown { shown: listing.shown.clone(), is_named: false };
    };
    match read(listing) {
        Err(error) => ReadDocument::Failed(error),
        Ok(answer) => known(kind, &listing.shown, answer),
    }
}

fn file(found: &FoundFile) -> Result<ReadDocument, Error> {
    let FoundFile { path, shown, is_named } = found;
    let unknown = || ReadDocument::Unknown { shown: shown.clone(), is_named: *is_named };
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let read = match ending.as_deref() {
        Some("json") => json(path, shown),
        Some("jsonl") => lines(path, shown),
        // Files that are not text need not be documents, unless the caller named them.
        Some("md" | "txt" | "log" | "out") => match text(path, shown) {
            Err(_) if !is_named => Ok(None),
            read => read,
        },
        _ => Ok(None),
    };
    read.map(|known| known.unwrap_or_else(unknown)).map_err(|error| way_out(error, path))
}

/// A file that was named, or is below a named folder.
fn found_below(found: &FoundFile) -> ReadDocument {
    let FoundFile { path, shown, is_named } = found;
    file(found).unwrap_or_else(|error| match !is_named && is_configuration(path, &error) {
        true => ReadDocument::Unknown { shown: shown.clone(), is_named: false },
        false => ReadDocument::Failed(error),
    })
}

/// A changed file; most changed files are not results.
fn changed(found: &FoundFile) -> ReadDocument {
    file(found).unwrap_or_else(|error| match is_passed_over(&found.path) {
        true => ReadDocument::PassedOver(error),
        false => ReadDocument::Failed(error),
    })
}

/// Whether a folder's missing file is a Git LFS pointer, or settings with comments under the name of a config.
fn is_elsewhere(error: &Error) -> bool {
    let path = Path::new(&error.place.file);
    is_pointer(path) || path.ends_with(CONFIG) && is_passed_over(path)
}

/// Whether JSON is unreadable because of a comment or a trailing comma: people write these for editors and compilers,
/// but programs do not write results with them.
fn is_configuration(path: &Path, error: &Error) -> bool {
    let Ok(source) = Source::load_loose(path, &*error.place.file) else { return false };
    let Some(at) = source.text().lines().nth(error.place.line.saturating_sub(1)) else {
        return false;
    };
    let start =
        at.char_indices().nth(error.place.column.saturating_sub(1)).map_or(at.len(), |c| c.0);
    let rest = &at[start..];
    let lines = source.text().lines().take(error.place.line.saturating_sub(1));
    let before = lines.chain([&at[..start]]).collect::<String>();
    let is_comment = rest.starts_with("//") || rest.starts_with("/*");
    is_comment || rest.starts_with([']', '}']) && before.trim_end().ends_with(',')
}

/// Suggests an alternative to a document that is too large, because one JSON document cannot be split.
fn way_out(error: Error, path: &Path) -> Error {
    let is_too_large = [TOO_LARGE.id, TOO_MANY_VALUES.id].contains(&error.code.id);
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    if !is_too_large {
        return error;
    }
    match (instead_of(&name), path.extension().is_some_and(|ending| ending == "json")) {
        (Some(known), _) => error.help(known),
        (_, true) => {
            error.help("check a copy without its large parts, such as samples or histories")
        }
        _ => error,
    }
}

fn json(path: &Path, shown: &str) -> Result<Option<ReadDocument>, Error> {
    let source = Source::load_loose(path, shown)?;
    let document = Document::parse_loose_json(source)?;
    let of_kind = |kind: &&'static DocumentKind| match kind.reads {
        Reads::Json { is, read } if is(document.root()) => {
            Some(known(kind, shown, read(&document).into()))
        }
        _ => None,
    };
    Ok(KINDS.iter().find_map(of_kind))
}

fn lines(path: &Path, shown: &str) -> Result<Option<ReadDocument>, Error> {
    let source = Source::load_loose(path, shown)?;
    let document = Document::parse_loose_json_lines(source)?;
    let first = document.root().items()?.next();
    let of_kind = |kind: &&'static DocumentKind| match kind.reads {
        Reads::Lines { is, read } if first.is_some_and(is) => {
            Some(known(kind, shown, read(&document).into()))
        }
        _ => None,
    };
    Ok(KINDS.iter().find_map(of_kind))
}

fn text(path: &Path, shown: &str) -> Result<Option<ReadDocument>, Error> {
    let source = Arc::new(Source::load_loose(path, shown)?);
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let of_kind = |kind: &&'static DocumentKind| match kind.reads {
        Reads::Text { is, read } if is(&name, source.text()) => {
            Some(known(kind, shown, read(&source).into()))
        }
        _ => None,
    };
    Ok(KINDS.iter().find_map(of_kind))
}

fn known(kind: &'static DocumentKind, shown: &str, answer: FolderAnswer) -> ReadDocument {
    let FolderAnswer { mut row, mut asked, trace, failures } = answer;
    let [relations, _] = relations(kind);
    asked.extend(relations.iter().map(|relation| relation.ask(&row)).filter(was_asked));
    let counts = row.rows("count").to_vec();
    row.label = shown.to_owned();
    let document =
        CheckedDocument { path: shown.to_owned(), kind: kind.id, what: kind.what, counts, asked };
    ReadDocument::Known { document, row, kind, trace: trace.map(Box::new), failures }
}

fn was_asked(asked: &AskedRelation) -> bool {
    asked.times > 0
}

fn relations(kind: &DocumentKind) -> &'static [Vec<AskableRelation>; 2] {
    static NONE: [Vec<AskableRelation>; 2] = [Vec::new(), Vec::new()];
    let at = KINDS.iter().position(|known| known.id == kind.id);
    at.and_then(|at| RELATIONS.get(at)).unwrap_or(&NONE)
}

/// Applies the checks between rows of several documents about one subject.
fn together(rows: &[(&'static DocumentKind, StatedRow)]) -> Vec<AskedRelation> {
    let mut same: BTreeMap<(&str, &str), (&DocumentKind, Vec<&StatedRow>)> = BTreeMap::new();
    for (kind, document) in rows {
        let Some(Twins { table, identity, relations }) = &kind.twins else { continue };
        // Kinds with the same checks between documents share their subjects.
        let Some(family) = relations.all().first() else { continue };
        for row in document.rows(table) {
            if let Some(of) = row.cell(identity) {
                let known = same.entry((family.code.id, &of.printed));
                known.or_insert_with(|| (kind, Vec::new())).1.push(row);
            }
        }
    }
    let mut asked: Vec<AskedRelation> = Vec::new();
    for (kind, rows) in same.values() {
        let [_, relations] = relations(kind);
        for one in relations.iter().map(|relation| relation.ask_together(rows)).filter(was_asked) {
            match asked.iter_mut().find(|known| known.code == one.code) {
                Some(known) => {
                    known.times += one.times;
                    known.broken.extend(one.broken);
                }
                None => asked.push(one),
            }
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relation_is_read() {
        for (kind, read) in KINDS.iter().zip(&*RELATIONS) {
            let twins = kind.twins.as_ref().map_or(0, |twins| twins.relations.written());
            assert_eq!(read[0].len(), kind.relations.written(), "{}", kind.id);
            assert_eq!(read[1].len(), twins, "{}", kind.id);
        }
    }
}
