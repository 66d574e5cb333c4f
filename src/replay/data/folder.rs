//! The files that a config may refer to: the caller's own study may use any path, an untrusted config only
//! files in a folder that the caller passed.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::{NO_FOLDER, NOT_IN_FOLDER};
use repro_core::digest::Hasher;
use repro_core::source::{Error, Location, Node, UNREADABLE};

/// So much of a file is held while it is hashed.
const PIECE: usize = 1 << 20;

/// The folder in which the paths of a config begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder {
    path: Option<PathBuf>,
    /// Whether paths may lead out of it.
    is_own: bool,
}

impl DataFolder {
    /// Of a study of the caller's own, whose paths may lead anywhere.
    pub fn of_study(path: &Path) -> Self {
        Self { path: Some(path.to_owned()), is_own: true }
    }

    /// Of a stranger's config: the folder that the caller named, if any.
    pub fn named(path: Option<PathBuf>) -> Self {
        Self { path, is_own: false }
    }

    /// The file that the text `node` names. In a folder that was named it is looked for by its path, and by its name
    /// alone where the path leads elsewhere.
    pub fn file(&self, node: Node<'_>) -> Result<PathBuf, Error> {
        let name = node.text()?;
        let Some(folder) = &self.path else {
            let found = format!("`{}` without a folder", shown(name));
            return Err(NO_FOLDER.at(node.place(), "a folder that contains the file", found));
        };
        let path = Path::new(name);
        if self.is_own {
            return Ok(folder.join(path));
        }
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let inside = Some(path).filter(|_| is_inside);
        let candidates = inside.into_iter().chain(path.file_name().map(Path::new));
        let mut found = candidates.map(|path| folder.join(path));
        let is_file = |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file());
        found.find(is_file).ok_or_else(|| {
            let expected = format!("`{}` in `{}`", shown(name), folder.display());
            NOT_IN_FOLDER.at(node.place(), expected, "no such plain file")
        })
    }

    /// Whether a file is the one that was meant, before anything of it is kept: a stranger's config may name a file
    /// that is larger than this machine's memory. What the caller's own study names is read at once.
    pub fn holds(&self, path: &Path, name: &str, wanted: &str) -> Result<bool, Error> {
        if self.is_own {
            return Ok(true);
        }
        let unreadable = |error: std::io::Error| {
            UNREADABLE.at(Location::file(shown(name)), "a readable file", error.to_string())
        };
        let mut file = repro_core::source::open_plain(path).map_err(unreadable)?;
        let (mut hasher, mut piece) = (Hasher::default(), vec![0; PIECE]);
        loop {
            let read = file.read(&mut piece).map_err(unreadable)?;
            match piece.get(..read).filter(|piece| !piece.is_empty()) {
                Some(piece) => hasher.update(piece),
                None => return Ok(hasher.finish().to_string() == wanted),
            }
        }
    }
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::digest::Digest;
    use repro_core::source::{Document, Source};

    #[test]
    fn a_stranger_names_files_of_the_folder_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("data");
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        for file in ["secret.txt", "data/text.txt", "data/deep/text.txt"] {
            std::fs::write(temporary.path().join(file), file).unwrap();
        }
        let absolute = temporary.path().join("secret.txt").display().to_string();
        let asked = |folder: &DataFolder, name: &str| {
            let text = serde_json::json!([name]).to_string().into_bytes();
            let document = Document::parse_json(Source::new("c.json", text).unwrap()).unwrap();
            let node = document.root().items().unwrap().next().unwrap();
            folder.file(node).map_err(|error| error.code.id)
        };
        let named = DataFolder::named(Some(folder.clone()));
        assert_eq!(asked(&named, "deep/text.txt"), Ok(folder.join("deep/text.txt")));
        assert_eq!(asked(&named, "../../other/text.txt"), Ok(folder.join("text.txt")));
        for name in [absolute.as_str(), "../secret.txt", "secret.txt", "deep", "..", "", "/"] {
            assert_eq!(asked(&named, name), Err("data::not-in-folder"), "{name}");
        }
        assert_eq!(asked(&DataFolder::named(None), "text.txt"), Err("data::no-folder"));
        let own = DataFolder::of_study(&folder);
        assert_eq!(asked(&own, "../secret.txt"), Ok(folder.join("../secret.txt")));
        let path = folder.join("text.txt");
        assert!(named.holds(&path, "text.txt", &Digest::of(b"data/text.txt").to_string()).unwrap());
        assert!(!named.holds(&path, "text.txt", "another").unwrap());
    }
}
