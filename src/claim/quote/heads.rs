//! The unit of numbers from a column head, a row name or a JSON key: `Active %`, `Params (M) total`, `train PFLOPs`,
//! `tokens_m`.
//!
//! A head is read word by word, and each word may state a unit. If two words state different units, the head is ambiguous,
//! and none is used.

use num_rational::BigRational;
use repro_core::decimal::Unit;

use super::written::{factor_of, factor_of_suffix, is_of_operations, raised};
use crate::words::words as known;

/// The unit of the numbers below a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadUnit {
    /// The factor of the numbers.
    pub factor: BigRational,
    /// The unit of the numbers.
    pub unit: Unit,
    /// Whether it is unambiguous: `Dense (1e-3)` may be a run with that learning rate, and `Arm (B)` the second arm.
    pub is_sure: bool,
}

impl HeadUnit {
    fn of(unit: Unit, is_sure: bool) -> Self {
        Self { factor: BigRational::from_integer(1.into()), unit, is_sure }
    }

    fn size(factor: BigRational, is_sure: bool) -> Self {
        Self { factor, unit: Unit::Plain, is_sure }
    }
}

/// The unit stated by a column head or a field name.
pub fn unit_of_head(head: &str) -> Option<HeadUnit> {
    let head = Head::of(head);
    let mut stated =
        (0..head.words.len()).filter_map(|at| head.share(at).or_else(|| head.size(at)));
    let first = stated.next()?;
    stated.all(|other| other.factor == first.factor && other.unit == first.unit).then_some(first)
}

/// The unit stated by a row name, if it is unambiguous: `Params (M)`.
pub fn unit_of_row(name: &str) -> Option<HeadUnit> {
    unit_of_head(name).filter(|unit| unit.is_sure)
}

/// The words and signs of a head, in order.
struct Head {
    words: Vec<String>,
    /// Whether the words are parts of a key: lower-case letters are sizes there, and all of them are ambiguous.
    is_key: bool,
    /// Whether it names things that are counted.
    counts: bool,
}

impl Head {
    fn of(head: &str) -> Self {
        let head = head.trim().trim_matches(['*', '`']);
        let head = head
            .replace("\\times", "×")
            .replace("\\cdot", "×")
            .replace("× ", "×")
            .replace(['\\', '$', '~'], "");
        let is_key = head.contains('_') && !head.contains(char::is_whitespace);
        let (mut words, mut word) = (Vec::new(), String::new());
        for c in head.chars() {
            let is_sign = "()[],;:/%".contains(c);
            if (is_sign || c.is_whitespace() || c == '_') && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            match is_sign {
                true => words.push(c.to_string()),
                false if !c.is_whitespace() && c != '_' => word.push(c),
                false => {}
            }
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
        let counts = words.iter().any(|word| is_counted(&word.to_lowercase()));
        Self { words, is_key, counts }
    }

    fn word(&self, at: Option<usize>) -> &str {
        at.and_then(|at| self.words.get(at)).map_or("", String::as_str)
    }

    fn before(&self, at: usize) -> &str {
        self.word(at.checked_sub(1))
    }

    fn behind(&self, at: usize) -> &str {
        self.word(Some(at + 1))
    }

    /// Percentages or percentage points: `Active %`, `Δ acc, pp`, but not `95% CI` and `loss_at_20_pct`.
    fn share(&self, at: usize) -> Option<HeadUnit> {
        let word = self.words[at].to_lowercase();
        let is_level = |beside: &str| beside.ends_with(|c: char| c.is_ascii_digit());
        let is_points = |word: &str| known().is_in("head.points", word.trim_start_matches('-'));
        let is_percent = word == "%" || known().is_in("head.percent", &word);
        if is_percent && !is_points(&self.behind(at).to_lowercase()) {
            // The 2 of `top-2 %` is part of a name.
            let name = self.before(at).contains(char::is_alphabetic);
            let is_level = is_level(self.before(at)) && !name || is_level(self.behind(at));
            return (!is_level).then(|| HeadUnit::of(Unit::Percent, true));
        }
        let behind_percent = matches!(self.before(at), "%")
            || known().is_in("head.percent", &self.before(at).to_lowercase());
        let is_alone = matches!(self.before(at), "(" | "[") && matches!(self.behind(at), ")" | "]");
        let shares = || {
            self.words
                .iter()
                .any(|word| known().start_of("head.shares", &word.to_lowercase()).is_some())
        };
        match is_points(&word) {
            true if behind_percent => Some(HeadUnit::of(Unit::Points, true)),
            true if is_alone => Some(HeadUnit::of(Unit::Points, shares())),
            _ => (word == "pp").then(|| HeadUnit::of(Unit::Points, true)),
        }
    }

    /// The factor of the numbers: `tokens (M)`, `Gtokens`, `tokens_m`, `PFLOPs`, `×1e12`.
    fn size(&self, at: usize) -> Option<HeadUnit> {
        let word = self.words[at].as_str();
        let is_in_brackets = matches!(self.before(at), "(" | "[" | "of");
        if let Some((factor, is_marked)) = power_of_ten(word) {
            return (is_in_brackets || self.counts).then(|| HeadUnit::size(factor, is_marked));
        }
        if is_of_operations(word) {
            return self.operations(at);
        }
        if let Some(factor) = factor_of(word.trim_end_matches('s')) {
            return Some(HeadUnit::size(factor, true));
        }
        // `Gtokens`: alone, a G may be anything; of things that are counted it is a prefix.
        if let Some(things) = known().end_of("head.counted", word)
            && things.len() < word.len()
        {
            return self
                .prefix(&word[..word.len() - things.len()])
                .map(|size| HeadUnit::size(size, true));
        }
        // `(K, V)` are no thousands, and `hits, K` none of hits.
        let is_alone = is_in_brackets && matches!(self.behind(at), ")" | "]");
        let is_last = at + 1 == self.words.len();
        let is_placed = is_in_brackets
            || matches!(self.before(at), "," | "in")
            || self.is_key && is_last
            || known().is_in("head.counted", self.behind(at));
        let size = self.prefix(word).filter(|_| is_alone || self.counts && is_placed)?;
        // `tokens_a` and `tokens_b` may belong to two arms.
        let is_sure = if self.is_key { word != "b" } else { self.counts || word.len() > 1 };
        Some(HeadUnit::size(size, is_sure))
    }

    fn prefix(&self, word: &str) -> Option<BigRational> {
        match word {
            "G" => factor_of_suffix("B"),
            "k" | "m" | "b" | "t" if self.is_key => factor_of_suffix(&word.to_uppercase()),
            _ => factor_of_suffix(word),
        }
    }

    /// The factor of operations: `train PFLOPs`, `MFLOPs/token`, `mflops_per_token`; `TFLOPs/s` is a rate.
    fn operations(&self, at: usize) -> Option<HeadUnit> {
        let word = self.words[at].to_lowercase();
        let is_amount = match self.behind(at) {
            "/" | "per" => is_whole(self.word(Some(at + 2))),
            next => !known().is_in("head.rates", next),
        };
        let size =
            factor_of_suffix(word.strip_suffix('s').unwrap_or(&word)).filter(|_| is_amount)?;
        Some(HeadUnit::size(size, !self.is_key))
    }
}

/// A power of ten, and whether a sign before it marks it as a factor: `×10^-3`, `×1e12`, `1e-3`.
fn power_of_ten(word: &str) -> Option<(BigRational, bool)> {
    let bare = word.trim_start_matches(['×', 'x', '*']);
    let exponent = match bare.strip_prefix("1e").or_else(|| bare.strip_prefix("1E")) {
        Some(exponent) => exponent.replace('−', "-").parse().ok()?,
        None => {
            let power = bare.strip_prefix("10")?;
            raised(power).filter(|(length, _)| *length == power.len())?.1
        }
    };
    // Heads are written both ways: the cells times the power, or already multiplied.
    let ten = (-100..100).contains(&exponent).then(|| BigRational::from_integer(10.into()))?;
    Some((ten.pow(exponent), bare.len() < word.len()))
}

fn is_counted(word: &str) -> bool {
    ["head.counted", "head.also_counted"].iter().any(|list| known().end_of(list, word).is_some())
        || is_of_operations(word)
}

/// Whether operations of it are an amount, and no rate.
fn is_whole(word: &str) -> bool {
    let word = word.to_lowercase();
    is_counted(&word) || known().is_in("head.whole", &word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The unit of a head in words, followed by `?` if it is ambiguous.
    fn stated(head: &str) -> Option<String> {
        unit_of_head(head).map(|HeadUnit { factor, unit, is_sure }| {
            format!("{factor} {}{}", unit.word(), if is_sure { "" } else { "?" })
        })
    }

    fn check(cases: &[(&str, Option<&str>)]) {
        for (head, expected) in cases {
            assert_eq!(stated(head).as_deref(), *expected, "{head}");
        }
    }

    #[test]
    fn shares_stand_anywhere_in_a_head() {
        for head in [
            "gap (%)",
            "gap [%]",
            "gap_percent",
            "Active %",
            "Active params (% of total)",
            "Agreement acc. (%) ↑",
            "Error (%) ↓",
            "Agreement % ↑",
            "Sums, %",
            "Error rate in %",
            "Warmup % of steps",
            r"Cloze (\%) $\uparrow$",
            "top-2 (%)",
            "top-2 %",
            "Percent active",
            "pct_active",
            "agreement_acc_pct",
        ] {
            check(&[(head, Some("1 percent"))]);
        }
        check(&[
            ("95% CI", None),
            (r"95\% CI", None),
            ("loss (95 % CI)", None),
            ("bpb at 20%", None),
            ("loss_at_20_pct", None),
            ("loss_pct_25", None),
            ("99 percent bound", None),
            ("Params (M), active %", None),
        ]);
    }

    #[test]
    fn points_of_percentages() {
        for head in ["Δ acc (pp)", "Δ acc. (points)", "Δ acc, pp", "acc_delta_vs_dense_pp"] {
            check(&[(head, Some("1 percentage points"))]);
        }
        check(&[
            ("gain (percentage points)", Some("1 percentage points")),
            ("Elo (points)", Some("1 percentage points?")),
            ("data points", None),
            ("app", None),
        ]);
    }

    #[test]
    fn sizes_stand_anywhere_in_a_head() {
        check(&[
            ("tokens (M)", Some("1000000 a plain number")),
            ("Params (M) total", Some("1000000 a plain number")),
            ("Params (M, active)", Some("1000000 a plain number")),
            ("steps [k]", Some("1000 a plain number")),
            ("Arm (B)", Some("1000000000 a plain number?")),
            ("heads (K, V)", None),
            ("params (billions)", Some("1000000000 a plain number")),
            ("tokens (in millions)", Some("1000000 a plain number")),
            ("tokens, in millions", Some("1000000 a plain number")),
            ("Tokens in millions", Some("1000000 a plain number")),
            ("Tokens, M", Some("1000000 a plain number")),
            ("hits, K", None),
            ("Gtokens", Some("1000000000 a plain number")),
            ("Active Mparams ↓", Some("1000000 a plain number")),
            ("M tokens", Some("1000000 a plain number")),
            ("tokens (M tokens)", Some("1000000 a plain number")),
            ("tokens", None),
            ("active params", None),
            ("K", None),
            ("loss (nats)", None),
            ("loss", None),
            ("seeds (10)", None),
        ]);
    }

    #[test]
    fn operations_and_powers_of_ten() {
        check(&[
            ("compute (PFLOPs)", Some("1000000000000000 a plain number")),
            ("GFLOP", Some("1000000000 a plain number")),
            ("TFLOPs (6ND)", Some("1000000000000 a plain number")),
            ("train PFLOPs", Some("1000000000000000 a plain number")),
            ("MFLOPs/token", Some("1000000 a plain number")),
            ("MFLOP per token", Some("1000000 a plain number")),
            ("FLOPs", None),
            ("TFLOPs/s", None),
            ("TFLOPs per GPU", None),
            ("Total FLOPs (×1e12)", Some("1000000000000 a plain number")),
            (r"Total FLOPs ($\times 10^{12}$)", Some("1000000000000 a plain number")),
            ("lr (x10^-3)", Some("1/1000 a plain number")),
            ("lr (×10⁻³)", Some("1/1000 a plain number")),
            ("LR (1e-3)", Some("1/1000 a plain number?")),
            ("LR (3e-3)", None),
            ("compute (10^12 FLOPs)", Some("1000000000000 a plain number?")),
            ("tokens (in units of 10^6)", Some("1000000 a plain number?")),
            ("flops_1e12", Some("1000000000000 a plain number?")),
        ]);
    }

    #[test]
    fn keys_state_units_of_what_they_count() {
        check(&[
            ("params_total_m", Some("1000000 a plain number")),
            ("active_params_k", Some("1000 a plain number")),
            ("tokens_m", Some("1000000 a plain number")),
            ("tokens_millions", Some("1000000 a plain number")),
            ("tokens_b", Some("1000000000 a plain number?")),
            ("train_tflops", Some("1000000000000 a plain number?")),
            ("mflops_per_token", Some("1000000 a plain number?")),
            ("tflops_per_s", None),
            ("flops_per_token", None),
            ("top_k", None),
            ("arm_m", None),
            ("_m", None),
            ("tokens_per_param", None),
        ]);
    }

    #[test]
    fn names_of_rows_state_what_cannot_be_a_name() {
        for (name, states) in [
            ("Params (M)", true),
            ("Cloze (%)", true),
            ("Arm (B)", false),
            ("MoE (1e-3)", false),
            ("Llama (7B)", false),
        ] {
            assert_eq!(unit_of_row(name).is_some(), states, "{name}");
        }
    }
}
