//! The unit that a column's head, the name of a row or a key of JSON states for its numbers: `Active %`,
//! `Params (M) total`, `train PFLOPs`, `tokens_m`.
//!
//! A unit stands in brackets or among the words, and not always at the end. Where two parts of a head state
//! different units, it is not known which is meant, and none is taken.

use num_rational::BigRational;
use repro_exact::decimal::Unit;

use super::written::{factor_of, factor_of_suffix, is_of_operations, raised};
use crate::words::words as known;

/// The unit of the numbers below a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadUnit {
    /// By what a number is multiplied.
    pub factor: BigRational,
    /// What it is a number of then.
    pub unit: Unit,
    /// Whether it can be nothing else: `Dense (1e-3)` may be the run of that rate, and `Arm (B)` the second one.
    pub is_sure: bool,
}

impl HeadUnit {
    fn of(unit: Unit) -> Self {
        Self { factor: BigRational::from_integer(1.into()), unit, is_sure: true }
    }

    fn size(factor: BigRational, is_sure: bool) -> Self {
        Self { factor, unit: Unit::Plain, is_sure }
    }
}

/// What a column head or the name of a field states for its numbers.
pub fn unit_of_head(head: &str) -> Option<HeadUnit> {
    let head = plain(head);
    if head.contains('_') && !head.contains(char::is_whitespace) {
        return of_key(&head).or_else(|| of_words(&head));
    }
    let (brackets, outside) = parts(&head);
    let mut stated = brackets.iter().filter_map(|inside| of_brackets(inside, &outside));
    let words = of_words(&outside);
    let first = stated.next().or_else(|| words.clone())?;
    let agrees = |other: HeadUnit| other.factor == first.factor && other.unit == first.unit;
    (stated.all(agrees) && words.is_none_or(agrees)).then(|| first.clone())
}

/// What the name of a row states for the numbers beside it, where nothing else can be meant: `Params (M)`.
pub fn unit_of_row(name: &str) -> Option<HeadUnit> {
    unit_of_head(name).filter(|unit| unit.is_sure)
}

/// The unit at the end of a line that leads a list; elsewhere in a line of text it is of something else.
fn at_the_end_of(line: &str) -> Option<(BigRational, Unit)> {
    let line = plain(line);
    let inside = [('(', ')'), ('[', ']')].iter().find_map(|(open, close)| {
        let inside = line.strip_suffix(*close)?;
        Some(inside[inside.rfind(*open)? + 1..].trim())
    });
    let found = match inside {
        Some(inside) => of_brackets(inside, &line)?,
        None => HeadUnit::size(size_at_the_end(&line)?, true),
    };
    Some((found.factor, found.unit))
}

/// The unit of all numbers of a list that stands before it: "Tokens, in millions: 0.72", "Accuracies (%): 32.7".
pub(super) fn that_leads(before: &str) -> Option<(BigRational, Unit)> {
    let (head, list) = before.rsplit_once(':')?;
    let joins = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphabetic());
        matches!(word, "" | "and" | "or" | "vs" | "versus")
    };
    if list.contains('\n') || !list.split_whitespace().all(joins) {
        return None;
    }
    let line = head.rsplit('\n').next().unwrap_or_default().trim_end_matches(['*', ' ']);
    at_the_end_of(line).or_else(|| {
        let (lead, word) = line.rsplit_once("in ")?;
        let one = BigRational::from_integer(1.into());
        match word.trim_end_matches(')') {
            _ if lead.ends_with(char::is_alphanumeric) => None,
            "percent" | "per cent" | "%" => Some((one, Unit::Percent)),
            size => Some((factor_of(size.trim_end_matches('s'))?, Unit::Plain)),
        }
    })
}

/// The head without emphasis and marks of TeX.
fn plain(head: &str) -> String {
    let head = head.trim().trim_matches(['*', '`']);
    let times = head.replace("\\times", "×").replace("\\cdot", "×");
    times.replace("\\%", "%").replace(['$', '~'], " ").trim().to_owned()
}

/// What stands in brackets, and the head without it.
fn parts(head: &str) -> (Vec<&str>, String) {
    let (mut inside, mut outside) = (Vec::new(), String::new());
    let mut rest = head;
    while let Some(open) = rest.find(['(', '[']) {
        let close = if rest[open..].starts_with('(') { ')' } else { ']' };
        let Some(length) = rest[open..].find(close) else { break };
        inside.push(rest[open + 1..open + length].trim());
        outside.push_str(&rest[..open]);
        rest = &rest[open + length + 1..];
    }
    outside.push_str(rest);
    (inside, outside.trim().to_owned())
}

/// The unit in brackets behind or among other words.
fn of_brackets(inside: &str, outside: &str) -> Option<HeadUnit> {
    let inside = inside.strip_prefix("in ").unwrap_or(inside);
    let inside = inside.strip_prefix("units of ").unwrap_or(inside);
    if let Some(unit) = share(inside) {
        return Some(unit);
    }
    if known().is_in("head.points", inside) {
        let is_sure = words(outside).any(|word| known().start_of("head.shares", &word).is_some());
        return Some(HeadUnit { is_sure, ..HeadUnit::of(Unit::Points) });
    }
    let counts = counts_things(outside) || counts_things(inside);
    let mut parts = inside.split([',', ';']).map(str::trim);
    let is_whole = parts.clone().count() == 1;
    // `(K, V)` are no thousands.
    let size = parts.find_map(size_of).filter(|_| is_whole || counts);
    let is_letter = inside.chars().count() == 1;
    power_of_ten(inside)
        .or_else(|| size.map(|size| HeadUnit::size(size, counts || !is_letter)))
        .or_else(|| operations(inside).map(|size| HeadUnit::size(size, true)))
}

/// The unit among the words of a head.
fn of_words(head: &str) -> Option<HeadUnit> {
    let size = || operations(head).or_else(|| size_at_the_end(head)).or_else(|| size_behind(head));
    share(head).or_else(|| size().map(|size| HeadUnit::size(size, true)))
}

/// The unit that the key of an object states: `params_total_m`, `pct_active`, `train_tflops`.
fn of_key(key: &str) -> Option<HeadUnit> {
    let lower = key.to_lowercase();
    let words: Vec<&str> = lower.split('_').collect();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    // `loss_at_20_pct` is a loss.
    let share = words.iter().position(|word| known().is_in("head.percent", word));
    if let Some(at) = share {
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let is_level = beside.filter_map(|at| words.get(at)).any(is_number);
        let is_points = words.get(at + 1).is_some_and(|word| word.starts_with("point"));
        let unit = HeadUnit::of(if is_points { Unit::Points } else { Unit::Percent });
        return (!is_level).then_some(unit);
    }
    let (last, others) = words.split_last()?;
    if *last == "pp" {
        return Some(HeadUnit::of(Unit::Points));
    }
    if let Some(size) = operations_of_key(&words) {
        // Small letters may mean operations per second.
        return Some(HeadUnit::size(size, false));
    }
    if let Some(size) = factor_of(last.strip_suffix('s').unwrap_or(last)) {
        return Some(HeadUnit::size(size, true));
    }
    let counts = others.iter().any(|word| is_counted(word));
    let size = match *last {
        "k" | "m" | "b" | "t" => factor_of_suffix(&last.to_uppercase()),
        "bn" => factor_of_suffix(last),
        _ => return power_of_ten(last).filter(|_| counts),
    };
    // `tokens_a` and `tokens_b` may be those of two arms.
    let is_sure = matches!(*last, "k" | "m" | "bn");
    size.filter(|_| counts).map(|size| HeadUnit::size(size, is_sure))
}

/// How many operations one of a key is: `mflops_per_token`; `tflops_per_s` is a rate.
fn operations_of_key(words: &[&str]) -> Option<BigRational> {
    let at = words.iter().position(|word| prefix_of_operations(word).is_some())?;
    let is_amount = match words.get(at + 1) {
        Some(&"per") => words.get(at + 2).is_some_and(|word| is_whole(word)),
        Some(next) => !known().is_in("head.rates", next),
        None => true,
    };
    prefix_of_operations(words[at]).filter(|_| is_amount)
}

/// The size of `tflops`, in small letters.
fn prefix_of_operations(word: &str) -> Option<BigRational> {
    let prefix = word.strip_suffix("flops").or_else(|| word.strip_suffix("flop"))?;
    let prefix = if prefix == "k" { prefix.to_owned() } else { prefix.to_uppercase() };
    factor_of_suffix(&format!("{prefix}FLOPs")).filter(|_| prefix.len() == 1)
}

/// Whether numbers are percentages or points of them: `Active %`, `Sums, %`, `Δ acc, pp`; `95% CI` says something else.
fn share(text: &str) -> Option<HeadUnit> {
    let found: Vec<String> = words(text).collect();
    let is_points = |pair: &[String]| {
        let is_share = matches!(pair[0].as_str(), "percent" | "percentage" | "cent");
        is_share && pair[1].starts_with("point")
    };
    let has_points = found.iter().any(|word| word == "pp")
        || found.windows(2).any(is_points)
        || ["%-point", "% point"].iter().any(|points| text.contains(points));
    if has_points {
        return Some(HeadUnit::of(Unit::Points));
    }
    let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_percent = |(at, word): (usize, &String)| {
        known().is_in("head.percent", word)
            && !at.checked_sub(1).and_then(|at| found.get(at)).is_some_and(is_number)
            && !found.get(at + 1).is_some_and(is_number)
    };
    let has_word = found.iter().enumerate().any(is_percent);
    let mut signs = text.match_indices('%').map(|(at, _)| &text[..at]);
    (has_word || signs.any(|before| !is_a_level(before))).then(|| HeadUnit::of(Unit::Percent))
}

/// Whether a percent sign behind these words belongs to a number: `95% CI`. The 2 of `top-2 %` is part of a name.
fn is_a_level(before: &str) -> bool {
    let near = before.trim_end();
    let word = near.rsplit(|c: char| c.is_whitespace() || "([,".contains(c)).next().unwrap_or(near);
    let is_name = near.len() < before.len() && word.contains(char::is_alphabetic);
    near.ends_with(|c: char| c.is_ascii_digit()) && !is_name
}

/// What numbers are multiplied by: `×10^-3`, `×1e12`, `1e-3`.
fn power_of_ten(inside: &str) -> Option<HeadUnit> {
    let bare = inside.trim_start_matches(['×', 'x', '*']).trim();
    let is_marked = bare.len() < inside.len();
    // "10^12 FLOPs"
    let things = bare.split_once(' ').filter(|(_, things)| counts_things(things));
    let bare = things.map_or(bare, |(power, _)| power);
    let exponent = match bare.strip_prefix("1e").or_else(|| bare.strip_prefix("1E")) {
        Some(exponent) => exponent.replace('−', "-").parse().ok()?,
        None => {
            let power = bare.strip_prefix("10")?;
            raised(power).filter(|(length, _)| *length == power.len())?.1
        }
    };
    // Heads are written both ways: the cells times the power, or already multiplied.
    let factor = (-100..100).contains(&exponent).then(|| BigRational::from_integer(10.into()))?;
    Some(HeadUnit::size(factor.pow(exponent), is_marked))
}

/// How many operations one of a head is: `train PFLOPs`, `MFLOPs/token`, `MFLOP per token`.
fn operations(text: &str) -> Option<BigRational> {
    let spaced = text.replace('/', " / ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let word = word.trim_end_matches([',', ';', ':']);
        let size = size_of(word).filter(|_| word.contains("FLOP"))?;
        let is_amount = match words.get(at + 1) {
            Some(&("/" | "per")) => words.get(at + 2).is_some_and(|word| is_whole(word)),
            _ => true,
        };
        is_amount.then_some(size)
    })
}

/// How many one of what a head without brackets counts is: `tokens, in billions`, `Gtokens`, `tokens_millions`.
fn size_at_the_end(head: &str) -> Option<BigRational> {
    if let Some((_, size)) = head.rsplit_once(", in ") {
        return size_of(size);
    }
    let counts = known().end_of("head.counted", head).is_some()
        || head.ends_with("FLOP")
        || head.ends_with("FLOPs");
    match counts {
        true => size_of(head),
        false => factor_of(head.rsplit_once('_')?.1.strip_suffix('s')?),
    }
}

/// The size behind what is counted, or of one word of the head: `Tokens, M`, `Tokens in millions`, `active Mparams`.
fn size_behind(head: &str) -> Option<BigRational> {
    let ends = [", ", " in "].iter().filter_map(|joint| head.rsplit_once(joint));
    let size = ends.filter(|(of, _)| counts_things(of)).find_map(|(_, size)| size_of(size));
    let prefixed =
        |word: &str| size_of(word).filter(|_| known().end_of("head.counted", word).is_some());
    size.or_else(|| head.split_whitespace().find_map(prefixed))
}

/// How many one of a size is: `B`, `billions`, `in millions`, `M tokens`, `Gtokens`.
fn size_of(size: &str) -> Option<BigRational> {
    let size = size.strip_prefix("in ").unwrap_or(size).trim();
    let things = known().end_of("head.counted", size);
    let size = things.map_or(size, |things| size[..size.len() - things.len()].trim_end());
    // Alone, a G may be anything; of things that are counted it is a prefix.
    let size = if things.is_some() && size == "G" { "B" } else { size };
    let other_number = || match size.strip_suffix('s') {
        Some(one) => factor_of_suffix(one),
        None => factor_of_suffix(&format!("{size}s")),
    };
    factor_of_suffix(size).or_else(other_number)
}

/// The words of a text, in small letters.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Whether a head names things that are counted.
fn counts_things(head: &str) -> bool {
    words(head).any(|word| is_counted(&word))
}

fn is_counted(word: &str) -> bool {
    ["head.counted", "head.also_counted"].iter().any(|list| known().is_in(list, word))
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

    /// What a head states, in words; `?` behind it where it may be a name.
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
