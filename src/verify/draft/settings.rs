//! How texts speak of settings: which words stand for a key of a configuration, and which settings multiply to a count.

use crate::lexicon::lexicon;

use crate::draft::quantities::is_in;

/// How a text says a setting.
#[derive(Debug, Clone, Default)]
pub struct SpokenSetting {
    /// The setting as the lexicon calls it, whatever its key is: `length` of `block_size`.
    pub concept: Option<&'static str>,
    /// Words of each of which lists the text has one where it means the setting.
    pub said: Vec<Vec<String>>,
    /// All words that may stand for it.
    pub words: Vec<String>,
}

impl SpokenSetting {
    /// Of a path such as `config.train.grad_clip`.
    pub fn of(path: &str) -> Self {
        let parts = key_parts(path);
        let key = parts.join("_");
        let mut concepts = lexicon().named_lists("draft_setting");
        let concept = concepts.find(|(_, keys)| keys.contains(&key)).map(|(name, _)| name);
        let same = |word: &String| lexicon().words(&format!("draft_same.{word}")).iter().cloned();
        let mut words = parts.clone();
        words.extend(parts.iter().flat_map(same));
        let said: Vec<Vec<String>> = match concept {
            Some(name) => {
                words.extend(same(&name.to_owned()));
                vec![lexicon().words(&format!("draft_said.{name}")).to_vec()]
            }
            None => parts
                .iter()
                .map(|part| {
                    [part.clone(), format!("{part}s")].into_iter().chain(same(part)).collect()
                })
                .collect(),
        };
        words.extend(said.iter().flatten().cloned());
        words.sort_unstable();
        words.dedup();
        Self { concept, said, words }
    }
}

/// The words of a key that tell it from others: `grad`, `clip` of `config.train.grad_clip`, `layer` of `config.n_layer`.
fn key_parts(path: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric();
    let words = path.split('.').flat_map(|key| key.split(move |c| !is_word(c)));
    let words = words.filter(|word| !word.is_empty() && !word.chars().all(|c| c.is_ascii_digit()));
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let without = |words: &[String], list: &str| -> Vec<String> {
        let telling: Vec<String> =
            words.iter().filter(|word| !is_in(list, word)).cloned().collect();
        if telling.is_empty() { words.to_vec() } else { telling }
    };
    let words = without(&words, "containers");
    let words = without(&words, "unspecific");
    without(&words, "counting")
}

/// Whether a word is one by which texts speak of some setting.
pub fn is_of_a_setting(word: &String) -> bool {
    lexicon().lists("draft_said").any(|words| words.contains(word))
}

/// A count that is a product of settings, such as the tokens of a run.
pub struct SettingProduct {
    /// The factors, as the lexicon calls them; `?` behind one that not every configuration has.
    factors: &'static str,
    /// How a text says the count.
    pub words: &'static [String],
}

/// All of them.
pub fn products() -> impl Iterator<Item = SettingProduct> {
    let all = lexicon().named_lists("draft_product");
    all.map(|(factors, words)| SettingProduct { factors, words })
}

impl SettingProduct {
    /// So many settings of a kind are tried, such as a context of 512 and sequences of 256.
    const OF_KIND: usize = 2;

    /// The paths that are multiplied, each choice of them; none if a configuration lacks a factor.
    pub fn paths<'p>(&self, settings: &'p [String]) -> Vec<Vec<&'p str>> {
        let mut choices = vec![Vec::new()];
        for factor in self.factors.split(' ') {
            let name = factor.trim_end_matches('?');
            let is_factor = |path: &&String| {
                path.starts_with("config.") && SpokenSetting::of(path).concept == Some(name)
            };
            let of_kind: Vec<&str> =
                settings.iter().filter(is_factor).map(String::as_str).take(Self::OF_KIND).collect();
            if of_kind.is_empty() && factor.ends_with('?') {
                continue;
            }
            let with = |chosen: &Vec<&'p str>| {
                let more = of_kind.iter().map(|path| [chosen.as_slice(), &[*path]].concat());
                more.collect::<Vec<_>>()
            };
            choices = choices.iter().flat_map(with).collect();
        }
        choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_many_spellings_are_one_setting() {
        for (path, concept) in [
            ("config.learning_rate", "rate"),
            ("config.train.lr", "rate"),
            ("config.train.min_lr", "floor"),
            ("config.n_layer", "layers"),
            ("config.num_hidden_layers", "layers"),
            ("config.block_size", "length"),
            ("config.warmup_iters", "warmup"),
            ("config.schedule.warmup.steps", "warmup"),
            ("config.max_iters", "steps"),
            ("config.train.betas.1", "beta"),
            ("config.max_grad_norm", "clip"),
            ("config.model.params", "parameters"),
        ] {
            assert_eq!(SpokenSetting::of(path).concept, Some(concept), "{path}");
        }
        let own = SpokenSetting::of("config.eval_interval");
        assert_eq!((own.concept, own.said.len()), (None, 2));
    }

    #[test]
    fn tokens_are_a_product_of_settings() {
        let settings = |keys: &[&str]| -> Vec<String> {
            keys.iter().map(|key| format!("config.{key}")).collect()
        };
        let of = |keys: &[&str]| {
            let settings = settings(keys);
            products()
                .find(|product| product.factors.starts_with("steps"))
                .into_iter()
                .flat_map(|product| product.paths(&settings))
                .map(|paths| paths.join(" * "))
                .collect::<Vec<_>>()
        };
        let own = "config.max_iters * config.batch_size * config.block_size";
        assert_eq!(of(&["max_iters", "batch_size", "block_size", "lr"]), [own]);
        assert!(of(&["max_iters", "batch_size"]).is_empty());
        let of_two = [
            "config.steps * config.batch * config.length",
            "config.steps * config.batch * config.context",
        ];
        assert_eq!(of(&["steps", "batch", "length", "context"]), of_two);
    }
}
