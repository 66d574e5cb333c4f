//! The texts of posts: files of the project, or given by the caller and known by their digest.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use repro_claim::quote;
use repro_claim::seen::{HiddenPart, Markup, SeenText};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, Source, codes};
use repro_report::outcome::TextMarkup;

use crate::json_text;
use crate::page::{PostPage, TextSource};
use crate::post::is_short_text;

codes! {
    NONE_NAMED = "text::none-named", "the post lists no text, so no quote was checked", "add `text = \"../README.md\"` (relative to the post file), or one `[texts.NAME]` per text";
    NO_TEXT = "text::missing", "the text of a post is missing", "restore it, or correct its path, which is relative to the post file";
    HIDDEN = "text::hidden", "the text contains numbers that readers do not see, or not at once", "show them or remove them; hidden numbers are neither quoted nor counted";
    OTHER_COPY = "text::changed-copy", "a copied text differs from its original", "copy the file again and update the post, or refer to the original";
    OTHER_TEXT = "text::other", "the text is not the version that the post was written for", "pass the text with this digest, or update the post";
}

/// The texts that a caller gave, by digest.
#[derive(Debug, Default)]
pub struct GivenTexts(BTreeMap<Digest, Source>);

/// The texts of one post that are available, by the ids of the post.
pub type TextsAtHand = BTreeMap<String, TextAtHand>;

/// A text as readers see it.
#[derive(Debug)]
pub struct TextAtHand {
    /// The visible text, each byte in its place.
    pub seen: Source,
    /// The text that a page shows, each byte in its place, and how it reads.
    pub content: String,
    pub markup: TextMarkup,
    /// The whole file.
    pub whole: Source,
    /// The parts that readers do not see, or not at once.
    pub hidden: Vec<HiddenPart>,
    /// The digest of the whole file.
    pub digest: Digest,
}

/// So many hidden numbers of a text are told one by one.
const MOST_TOLD: usize = 5;

impl TextAtHand {
    /// The visible text of a file.
    pub fn of(source: &Source) -> Result<Self, Error> {
        let digest = Digest::of(source.text().as_bytes());
        let SeenText { text, hidden } = read_as_seen(source)?;
        let seen = Source::new(source.name(), text.into_bytes())?;
        let is_markdown = Markup::of_name(source.name()) == Markup::Markdown;
        let (markup, content) = if is_markdown {
            (TextMarkup::Markdown, source.text().to_owned())
        } else {
            (TextMarkup::AsWritten, seen.text().to_owned())
        };
        let whole = Source::new(source.name(), source.text().as_bytes().to_vec())?;
        Ok(Self { seen, content, markup, whole, hidden, digest })
    }

    /// Where the text has numbers that readers do not see, in words; none if it has none.
    pub fn hidden_numbers(&self) -> Option<String> {
        let whole = self.whole.text();
        let numbers = |part: &&HiddenPart| {
            whole.get(part.span.clone()).is_some_and(|words| !quote::items(words).is_empty())
        };
        let told = |part: &HiddenPart| {
            format!("line {} ({})", self.whole.line_column(part.span.start).0, part.what)
        };
        let parts: Vec<_> = self.hidden.iter().filter(numbers).collect();
        let mut lines: Vec<_> = parts.iter().take(MOST_TOLD).map(|part| told(part)).collect();
        if parts.len() > MOST_TOLD {
            lines.push(format!("and {} more", parts.len() - MOST_TOLD));
        }
        let name = self.whole.name();
        let begin =
            || format!("`{name}` contains numbers that readers do not see, or not at once: ");
        (!parts.is_empty()).then(|| begin() + &lines.join(", "))
    }

    /// The visible text.
    pub fn text(&self) -> &str {
        self.seen.text()
    }
}

/// A file as readers see it: without comments, addresses and what is declared hidden, each byte in its place. One that
/// is longer than what is looked through is rejected.
pub fn as_seen(source: &Source) -> Result<Source, Error> {
    Source::new(source.name(), read_as_seen(source)?.text.into_bytes())
}

fn read_as_seen(source: &Source) -> Result<SeenText, Error> {
    is_short_text(source)?;
    let markup = if json_text::is_json(source.text()) {
        Markup::Plain
    } else {
        Markup::of_name(source.name())
    };
    Ok(SeenText::of(source.text(), markup))
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

    /// The texts of `page` that are available. One that must lie beside the post file and does not is an
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
    let missing = |found| NO_TEXT.at(place.clone(), "a file in the project", found);
    let inside = inside(file).ok_or_else(|| missing(format!("`{file}`, which is outside it")))?;
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
