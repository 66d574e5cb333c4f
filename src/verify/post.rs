//! Post files on disk, and what their parts share: names and schema.

use std::collections::BTreeMap;
use std::path::Path;

use repro_claim::quote;
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, Node, Source, codes};

use crate::work::{MOST_BYTES, MOST_NUMBERS};

codes! {
    WRONG_SCHEMA = "post::wrong-schema", "the file has a different schema", "start it with `schema = \"repro.post/2\"`; see `repro explain post`";
    WRONG_NAME = "post::wrong-name", "the post's id differs from its file name", "use the same name for both";
    REPEATED_ID = "post::repeated-id", "an id is used twice", "use a unique id";
    BAD_ID = "post::bad-id", "an id contains invalid characters", "use lowercase letters, digits, `-`, `_` and `.`";
    UNKNOWN_TEXT = "post::unknown-text", "a statement refers to a text that the post does not list", "add `[texts.NAME]`, or correct the name";
    UNKNOWN_BUNDLE = "post::unknown-bundle", "a name refers to a missing bundle", "correct the name; `repro explain --list bundles` lists the bundles";
    BAD_DIGEST = "post::bad-digest", "a digest is malformed", "write `sha256:` and 64 hexadecimal digits, as printed by `repro explain --list bundles`";
    BAD_MOOD = "post::bad-asserts", "unknown value of `asserts`", "write `fact`, `norm` or `definition`";
    TOO_LONG = "post::too-long", "a post file or text is too long", "split it: a post may use several texts, and several posts one text";
    NO_SUCH_POST = "post::no-such-post", "there is no post with this name", "list the posts with `repro explain --list posts`";
}

/// The stem of the configuration.
const CONFIG: &str = "config";
/// The stem of what would have the index of all posts for its lock.
pub(crate) const INDEX: &str = "index";

/// The parsed file `repro/<id>.toml` below `root`.
pub(crate) fn open(root: &Path, id: &str) -> Result<Document, Error> {
    let name = format!("repro/{id}.toml");
    let path = root.join("repro").join(format!("{id}.toml"));
    if id.is_empty() || id.contains(['/', '\\']) || is_reserved(id) || !path.is_file() {
        return Err(NO_SUCH_POST.at(Location::file(name), "a post file", "none"));
    }
    let source = Source::load_plain(&path, name)?;
    is_short(&source)?;
    Document::parse_toml(source)
}

/// Rejects a post file or a text that is longer than what is looked through.
pub(crate) fn is_short(source: &Source) -> Result<(), Error> {
    at_most(source, source.text().len(), MOST_BYTES, "bytes")
}

/// Rejects a text that is longer than what is looked through, or has more numbers.
pub(crate) fn is_short_text(source: &Source) -> Result<(), Error> {
    is_short(source)?;
    at_most(source, quote::count(source.text()), MOST_NUMBERS, "numbers")
}

/// Rejects more of something than is looked through.
pub(crate) fn at_most(source: &Source, count: usize, most: usize, what: &str) -> Result<(), Error> {
    if count <= most {
        return Ok(());
    }
    let place = Location::file(source.name());
    Err(TOO_LONG.at(place, format!("at most {most} {what}"), format!("{count} {what}")))
}

/// Rejects a post whose id is not the name of its file.
pub(crate) fn matches_file_name(document: &Document, id: Node) -> Result<(), Error> {
    let file = document.source.name().rsplit('/').next();
    match file.and_then(|name| name.strip_suffix(".toml")) {
        Some(stem) if stem != id.text()? => {
            Err(WRONG_NAME.at(id.place(), format!("`{stem}`"), format!("`{}`", id.text()?)))
        }
        _ => Ok(()),
    }
}

/// Whether a file of `repro/` with this stem is no post: the configuration, the records of reviews, or what would have the index
/// of all posts for its lock.
pub fn is_reserved(stem: &str) -> bool {
    [CONFIG, INDEX].contains(&stem) || stem.ends_with(".reviews")
}

/// The names of all posts below `root`: the stems of `repro/*.toml`, sorted, without those that are reserved.
pub fn list(root: &Path) -> Result<Vec<String>, Error> {
    let unreadable = |error: std::io::Error| {
        repro_core::source::UNREADABLE.at(
            Location::file("repro"),
            "a folder of post files",
            error.to_string(),
        )
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("repro")).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && path.extension().is_some_and(|ending| ending == "toml") {
            let stem = path.file_stem().unwrap_or_default();
            names.push(stem.to_str().map(str::to_owned).ok_or_else(|| {
                let place = Location::file(format!("repro/{}.toml", stem.to_string_lossy()));
                BAD_ID.at(place, "an id such as `tiny-moe`", "a name that is not valid UTF-8")
            })?);
        }
    }
    // Passed over in silence, it would be a post that nobody judges.
    if names.iter().any(|name| name == INDEX) {
        let place = Location::file(format!("repro/{}.toml", INDEX));
        let found = format!("`{}`, which is reserved for the index of all posts", INDEX);
        return Err(BAD_ID.at(place, "a different id", found).help("rename the post"));
    }
    names.retain(|name| !is_reserved(name));
    names.sort();
    Ok(names)
}

/// The posts and locks below `root` that can be read, with the digests of their files.
pub fn files(root: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(root.join("repro")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_known = |name: &String| match name.rsplit_once('.') {
        Some((stem, "toml")) => !is_reserved(stem),
        Some((_, "lock")) => true,
        _ => false,
    };
    let digest = |name: String| {
        let shown = format!("repro/{name}");
        let source = Source::load_plain(&root.join(&shown), shown.as_str()).ok()?;
        Some((shown, Digest::of(source.text().as_bytes()).prefixed()))
    };
    names.filter(is_known).filter_map(digest).collect()
}

/// A name made of characters that are safe in file names, selectors and messages.
pub(crate) fn identifier(node: Node<'_>) -> Result<&str, Error> {
    let text = node.text()?;
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    if text.is_empty() || !text.bytes().all(allowed) {
        return Err(BAD_ID.at(node.place(), "an id such as `p-total-moe64`", format!("`{text}`")));
    }
    Ok(text)
}
