//! A cloze task made of held-out text: after some context, which of four passages goes on?
//!
//! A passage begins at a word, with the white space before it, and ends at the first end of a word after
//! at least 24 bytes. The right one is drawn from all passages that have enough context before them; the
//! other three from the passages elsewhere with the same white space and the same length in bytes. All
//! four come from the same pool in the same way, so whoever ignores the context is right one time in
//! four. This is not CORE: it exists to compare models on one text.

use std::collections::HashMap;

use super::data::{HeldOutDocument, TOO_LITTLE_TEXT};
use super::tasks::{Item, ItemForm, Task};
use repro_core::source::{Error, Location};
use repro_stats::rng::Rng;

/// The name of the task in tables.
pub const NAME: &str = "cloze";
/// How many bytes a passage has at least, and at most.
const SPAN: (usize, usize) = (24, 48);
/// How many bytes of its document precede a passage at least, and how many of them are shown at most.
const CONTEXT: (usize, usize) = (64, 256);
/// Draws of a wrong passage before a place is given up.
const DRAWS: usize = 64;
const CHOICES: usize = 4;

/// A passage: `text[start..end]` of a document, of which the words begin at `word`.
#[derive(Debug, Clone, Copy)]
struct DocumentPassage<'t> {
    document: usize,
    text: &'t str,
    start: usize,
    word: usize,
    end: usize,
}

impl<'t> DocumentPassage<'t> {
    fn written(&self) -> &'t str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    /// The properties that passages must share to be grouped: their white space and their length.
    fn pool(&self) -> (&'t str, usize) {
        (self.text.get(self.start..self.word).unwrap_or_default(), self.end - self.word)
    }

    /// Where the text shown before it begins: at a word, unless one is longer than what is shown.
    fn context_start(&self) -> usize {
        let mut at = self.start.saturating_sub(CONTEXT.1);
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        let shown = self.text.get(at..self.start).unwrap_or_default();
        match shown.find(char::is_whitespace) {
            Some(word_end) if at > 0 => at + word_end,
            _ => at,
        }
    }

    fn context(&self) -> &'t str {
        self.text.get(self.context_start()..self.start).unwrap_or_default().trim_start()
    }

    /// Whether it shares text with another one or with that one's context.
    fn touches(&self, other: &Self) -> bool {
        self.document == other.document
            && self.start < other.end
            && other.context_start() < self.end
    }
}

/// The task of `count` items from held-out documents; refused where they do not give as many.
pub fn task(documents: &[HeldOutDocument], count: usize, seed: u64) -> Result<Task, Error> {
    let passages: Vec<_> =
        documents.iter().enumerate().flat_map(|(n, d)| passages(n, &d.text)).collect();
    let mut pools: HashMap<_, Vec<DocumentPassage>> = HashMap::new();
    for passage in &passages {
        pools.entry(passage.pool()).or_default().push(*passage);
    }
    let mut rng = Rng::new(seed, "cloze");
    let mut items = Vec::with_capacity(count.min(passages.len()));
    // Where the passages asked for so far end: no two of them share text.
    let mut asked: HashMap<usize, Vec<DocumentPassage>> = HashMap::new();
    let mut left = passages;
    while items.len() < count && !left.is_empty() {
        let right = left.swap_remove(rng.below(left.len() as u64) as usize);
        let before = asked.entry(right.document).or_default();
        if before.iter().any(|other| right.start < other.end && other.start < right.end) {
            continue;
        }
        let pool = pools.get(&right.pool()).map_or(&[][..], Vec::as_slice);
        if let Some(item) = item(&right, pool, &mut rng) {
            before.push(right);
            items.push(item);
        }
    }
    if items.len() < count {
        return Err(TOO_LITTLE_TEXT.at(
            Location::file("held-out text"),
            format!("text for {count} cloze items"),
            format!("text for {}", items.len()),
        ));
    }
    Ok(Task::plain(NAME, ItemForm::MultipleChoice, items))
}

/// The item whose right passage is `right`, unless the pool has too few others.
fn item(right: &DocumentPassage, pool: &[DocumentPassage], rng: &mut Rng) -> Option<Item> {
    let mut choices = vec![right.written()];
    for _ in 0..DRAWS {
        let other = pool.get(rng.below(pool.len() as u64) as usize)?;
        if !choices.contains(&other.written()) && !other.touches(right) {
            choices.push(other.written());
        }
        if choices.len() == CHOICES {
            let gold = rng.below(CHOICES as u64) as usize;
            choices.swap(0, gold);
            return Some(Item::multiple_choice(right.context(), choices, gold));
        }
    }
    None
}

/// Every passage of a document that has enough context before it.
fn passages(document: usize, text: &str) -> Vec<DocumentPassage<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end().len();
        if word > 0 {
            words.push((at, at + word));
        }
        at += piece.len();
    }
    let passage = |first: usize| {
        let (_, start) = *words.get(first.checked_sub(1)?)?;
        let mut following = words.get(first..)?.iter();
        let (word, _) = *words.get(first)?;
        let &(_, end) = following.find(|(_, end)| end - word >= SPAN.0)?;
        let fits = end - word <= SPAN.1 && start >= CONTEXT.0;
        fits.then_some(DocumentPassage { document, text, start, word, end })
    };
    (1..words.len()).filter_map(passage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences that differ, from the embedded language.
    fn held_out() -> Vec<HeldOutDocument> {
        let language = crate::language::Language::new(5);
        let texts = language.documents("validation").take(60);
        texts.map(|text| HeldOutDocument { tokens: Vec::new(), text }).collect()
    }

    #[test]
    fn one_choice_is_what_the_document_says() {
        let documents = held_out();
        let task = task(&documents, 200, 1).unwrap();
        assert_eq!((task.items.len(), task.chance().to_string().as_str()), (200, "1/4"));
        for item in &task.items {
            let right = &item.passages[item.gold];
            let whole = format!("{}{}", right.context, right.continuation);
            assert!(documents.iter().any(|document| document.text.contains(&whole)), "{whole}");
            assert!(right.context.len() <= CONTEXT.1 && right.context.len() + 48 >= CONTEXT.0);
            let lengths: Vec<_> =
                item.passages.iter().map(|passage| passage.continuation.len()).collect();
            assert!(lengths.iter().all(|length| *length == lengths[0] && *length > SPAN.0));
            let texts: std::collections::BTreeSet<_> =
                item.passages.iter().map(|passage| &passage.continuation).collect();
            assert_eq!(texts.len(), CHOICES);
        }
    }

    #[test]
    fn the_seed_decides() {
        let documents = held_out();
        assert_eq!(task(&documents, 100, 1).unwrap(), task(&documents, 100, 1).unwrap());
        assert_ne!(task(&documents, 100, 1).unwrap(), task(&documents, 100, 2).unwrap());
    }

    #[test]
    fn who_ignores_the_context_is_right_one_time_in_four() {
        let task = task(&held_out(), 400, 3).unwrap();
        // Rules that look at the choices alone: the first, the least, the greatest, by number of spaces.
        type Rule = fn(&[&str]) -> Option<usize>;
        let rules: [Rule; 4] = [
            |_| Some(0),
            |texts| (0..4).min_by_key(|&at| texts[at]),
            |texts| (0..4).max_by_key(|&at| texts[at]),
            |texts| (0..4).max_by_key(|&at| texts[at].matches(' ').count()),
        ];
        for rule in rules {
            let right = task.items.iter().filter(|item| {
                let texts: Vec<_> =
                    item.passages.iter().map(|passage| &*passage.continuation).collect();
                rule(&texts) == Some(item.gold)
            });
            let right = right.count();
            // 100 expected, with a deviation of 8.7.
            assert!((65..135).contains(&right), "{right} of 400");
        }
    }

    #[test]
    fn too_little_text_is_refused() {
        let error = task(&held_out(), 1_000_000, 1).unwrap_err();
        assert_eq!(error.code.id, "data::too-little-text");
        assert!(task(&[], 1, 1).is_err());
        assert!(
            task(&[HeldOutDocument { text: "short\n".to_owned(), tokens: Vec::new() }], 1, 1)
                .is_err()
        );
    }

    #[test]
    fn passages_begin_and_end_at_words() {
        let text = format!("{}\n\nété naïve, and then so on and on\n", "x".repeat(80));
        let found = passages(0, &text);
        let written: Vec<_> = found.iter().map(DocumentPassage::written).collect();
        assert_eq!(written, ["\n\nété naïve, and then so", " naïve, and then so on and"]);
        assert_eq!(found[0].pool(), ("\n\n", 25));
        assert_eq!(found[1].context_start(), 0);
    }
}
