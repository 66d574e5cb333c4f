//! The split of a text in whole documents, computed from a seed alone.
//!
//! The documents are permuted (stream `split` of the seed, the permutation of `order`); from the front,
//! documents go to validation until its share and its bytes are both reached, then to development in the
//! same way; the rest is trained on, in that order.

use super::TOO_LITTLE_TEXT;
use repro_core::source::{Error, Node};
use repro_stats::rng::Rng;

/// How much text a part gets: at least this share of all bytes, and at least this many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Least {
    share: f64,
    bytes: usize,
}

/// The least that is held out where a study says nothing.
const VALIDATION: Least = Least { share: 0.1, bytes: 400_000 };
const DEVELOPMENT: Least = Least { share: 0.05, bytes: 200_000 };

impl Least {
    fn read(data: Node, key: &str, default: Self) -> Result<Self, Error> {
        let Some(node) = data.get(key) else { return Ok(default) };
        node.only(&["share", "bytes"])?;
        let bytes = node.get("bytes").map_or(Ok(default.bytes as u64), Node::integer)?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let Some(share) = node.get("share") else { return Ok(Self { bytes, ..default }) };
        match share.float()? {
            value if (0.0..1.0).contains(&value) => Ok(Self { share: value, bytes }),
            value => Err(super::UNKNOWN_VALUE.at(
                share.place(),
                "a fraction from 0 to below 1",
                format!("{value}"),
            )),
        }
    }

    fn of(self, total: usize) -> usize {
        self.bytes.max((self.share * total as f64).ceil() as usize)
    }
}

/// The documents of each part.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The training part.
    pub train: Vec<String>,
    /// The part for choosing learning rates.
    pub development: Vec<String>,
    /// The part for results.
    pub validation: Vec<String>,
}

impl Split {
    /// Splits the documents as the table `data` says.
    pub fn draw(data: Node, documents: Vec<String>) -> Result<Self, Error> {
        let total = documents.iter().map(String::len).sum();
        let validation = Least::read(data, "validation", VALIDATION)?.of(total);
        let development = Least::read(data, "development", DEVELOPMENT)?.of(total);
        let mut rng = Rng::new(data.required("split_seed")?.integer()?, "split");
        let count = documents.len();
        let mut documents: Vec<_> = documents.into_iter().map(Some).collect();
        let mut order = rng
            .permutation(count)
            .into_iter()
            .filter_map(|number| documents.get_mut(number as usize).and_then(Option::take));
        let mut part = |least: usize| {
            let (mut taken, mut bytes) = (Vec::new(), 0);
            while bytes < least {
                let Some(document) = order.next() else { break };
                bytes += document.len();
                taken.push(document);
            }
            taken
        };
        let (validation_part, development_part) = (part(validation), part(development));
        let split = Self {
            validation: validation_part,
            development: development_part,
            train: order.collect(),
        };
        if split.train.is_empty() || split.validation.is_empty() {
            return Err(TOO_LITTLE_TEXT.at(
                data.place(),
                format!("{validation} bytes for validation, {development} for development, and the rest for training"),
                format!("{count} documents of {total} bytes"),
            ));
        }
        Ok(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::source::{Document, Source};

    fn split(table: &str, documents: &[String]) -> Result<Split, Error> {
        let source = Source::new("study.toml", table.into()).unwrap();
        Split::draw(Document::parse_toml(source).unwrap().root(), documents.to_vec())
    }

    fn documents(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{number:09}\n")).collect()
    }

    const SMALL: &str =
        "validation = { share = 0.1, bytes = 5 }\ndevelopment = { share = 0.0, bytes = 15 }\n";

    #[test]
    fn parts_are_whole_documents_and_as_large_as_asked() {
        let all = documents(50);
        let parts = split(&format!("split_seed = 1\n{SMALL}"), &all).unwrap();
        assert_eq!(
            (parts.validation.len(), parts.development.len(), parts.train.len()),
            (5, 2, 43)
        );
        let mut again: Vec<_> = [&parts.train, &parts.development, &parts.validation]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        again.sort();
        assert_eq!(again, all, "no document is lost or in two parts");
    }

    #[test]
    fn the_seed_alone_decides() {
        let all = documents(50);
        let of = |seed: u32| split(&format!("split_seed = {seed}\n{SMALL}"), &all).unwrap();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1).validation, of(2).validation);
    }

    #[test]
    fn too_little_text_is_refused() {
        let found = split(&format!("split_seed = 1\n{SMALL}"), &documents(3)).unwrap_err();
        assert_eq!(found.code.id, "data::too-little-text");
        assert_eq!(found.found, "3 documents of 30 bytes");
        // The defaults of real text.
        let found = split("split_seed = 1", &documents(500)).unwrap_err();
        assert!(found.expected.starts_with("400000 bytes"), "{}", found.expected);
        let found =
            split("split_seed = 1\nvalidation = { share = 1.5, bytes = 1 }", &documents(50));
        assert_eq!(found.unwrap_err().place.pointer, "/validation/share");
    }
}
