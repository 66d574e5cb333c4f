//! The texts of posts: files of the project, or given by the caller and known by their digest.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use repro_claim::seen::{self, Markup};
use repro_receipt::digest::Digest;
use repro_receipt::source::{Error, Location, Source, codes};
use repro_report::outcome::TextMarkup;

use crate::json_text;
use crate::page::{PostPage, TextSource};
use crate::post::is_short_text;

codes! {
    NONE_NAMED = "text::none-named", "the post names no text, so no quote was looked up", "name the file in `text = \"../README.md\"`, seen from the post file, or each text in `[texts.NAME]`";
    NO_TEXT = "text::missing", "the text that a post is about is not there", "put it back, or correct its path, which is seen from the post file";
    OTHER_COPY = "text::other-copy", "a copy of a text differs from the file that it is a copy of", "copy the file again and judge the post anew, or name the file itself";
    OTHER_TEXT = "text::other", "the text is not the one that the post was written about", "give the text with this digest, or write the post anew";
}

/// The texts that a caller gave, by digest.
#[derive(Debug, Default)]
pub struct GivenTexts(BTreeMap<Digest, Source>);

/// The texts of one post that are at hand, by the ids of the post.
pub type TextsAtHand = BTreeMap<String, TextAtHand>;

/// A text as readers see it.
#[derive(Debug)]
pub struct TextAtHand {
    /// What is seen of it, each byte in its place.
    pub seen: Source,
    /// What a page shows of it, each byte in its place, and how that reads.
    pub content: String,
    pub markup: TextMarkup,
    /// The digest of the whole file.
    pub digest: Digest,
}

impl TextAtHand {
    /// What is seen of a file.
    pub fn of(source: &Source) -> Result<Self, Error> {
        let digest = Digest::of(source.text().as_bytes());
        let seen = as_seen(source)?;
        let is_markdown = Markup::of_name(source.name()) == Markup::Markdown;
        let (markup, content) = match is_markdown {
            true => (TextMarkup::Markdown, source.text().to_owned()),
            false => (TextMarkup::AsWritten, seen.text().to_owned()),
        };
        Ok(Self { seen, content, markup, digest })
    }

    /// What is seen.
    pub fn text(&self) -> &str {
        self.seen.text()
    }
}

/// A file as readers see it: without comments, addresses and what is declared hidden, each byte in its place. One that
/// is longer than what is looked through is refused.
pub fn as_seen(source: &Source) -> Result<Source, Error> {
    is_short_text(source)?;
    let markup = match json_text::is_json(source.text()) {
        true => Markup::Plain,
        false => Markup::of_name(source.name()),
    };
    Source::new(source.name(), seen::seen(source.text(), markup).into_bytes())
}

impl GivenTexts {
    /// Reads the files that a caller gave.
    pub fn load(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut given = BTreeMap::new();
        for path in paths {
            let source = Source::load(path, path.display().to_string())?;
            is_short_text(&source)?;
            given.insert(Digest::of(source.text().as_bytes()), source);
        }
        Ok(Self(given))
    }

    /// The texts of `page` that are at hand. One that must lie beside the post file and does not is an
    /// error; one that is not redistributed may be absent.
    pub fn of(&self, page: &PostPage, root: &Path) -> Result<TextsAtHand, Vec<Error>> {
        let mut texts = TextsAtHand::new();
        let mut errors = Vec::new();
        for text in &page.texts {
            match self.one(text, root) {
                Ok(Some(source)) => drop(texts.insert(text.id.clone(), source)),
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(texts) } else { Err(errors) }
    }

    fn one(&self, text: &TextSource, root: &Path) -> Result<Option<TextAtHand>, Error> {
        if let Some(digest) = &text.sha256
            && let Some(given) = self.0.get(digest)
        {
            return TextAtHand::of(given).map(Some);
        }
        let Some(file) = &text.file else { return Ok(None) };
        let source = match read(root, file, &text.place) {
            // A file that a digest stands for need not be redistributed.
            Err(error) if error.code == &NO_TEXT && text.sha256.is_some() => return Ok(None),
            read => read?,
        };
        let digest = Digest::of(source.text().as_bytes());
        if let Some(original) = &text.copy_of {
            let original = read(root, original, &text.place)?;
            let wanted = Digest::of(original.text().as_bytes());
            if wanted != digest {
                let place = Location::file(source.name());
                let expected = format!("{} of `{}`", wanted.prefixed(), original.name());
                return Err(OTHER_COPY.at(place, expected, digest.prefixed()));
            }
        }
        match &text.sha256 {
            Some(wanted) if *wanted != digest => {
                let place = Location::file(source.name());
                Err(OTHER_TEXT.at(place, wanted.prefixed(), digest.prefixed()))
            }
            _ => TextAtHand::of(&source).map(Some),
        }
    }
}

/// Reads a text by its path seen from the folder of post files, which may not lead out of the project.
fn read(root: &Path, file: &str, place: &Location) -> Result<Source, Error> {
    let missing = |found| NO_TEXT.at(place.clone(), "a file of the project", found);
    let inside = inside(file).ok_or_else(|| missing(format!("`{file}`, which leads out of it")))?;
    let path = root.join(&inside);
    // A link may lead anywhere.
    let is_inside = match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root) && path.is_file(),
        _ => false,
    };
    if !is_inside {
        return Err(missing(format!("no file `{inside}`")));
    }
    let source = Source::load_plain(&path, inside)?;
    is_short_text(&source)?;
    Ok(source)
}

/// A path seen from `repro/` as one seen from the project: `../README.md` is `README.md`; none if it leads out of that.
pub fn inside(file: &str) -> Option<String> {
    let mut parts = vec!["repro"];
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn a_path_stays_in_the_project() {
        assert_eq!(inside("0004.md").as_deref(), Some("repro/0004.md"));
        assert_eq!(inside("../README.md").as_deref(), Some("README.md"));
        assert_eq!(inside("./../docs/a.md").as_deref(), Some("docs/a.md"));
        for file in ["../../README.md", "/etc/passwd", "../a/../../b"] {
            assert_eq!(inside(file), None, "{file}");
        }
    }
}
