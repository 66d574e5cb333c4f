//! Numbers that name arms: the learning rate in "the worst run at 3e-3".

use std::collections::{BTreeMap, HashMap};

use repro_claim::quote::QuoteItem;

use crate::draft::candidates::DraftCandidate;
use crate::draft::evidence::{ArmLabel, DraftEvidence, NamedArm};
use crate::draft::mentions::{ArmMention, PlacedWord, ReadSentence, mention};
use crate::draft::nouns::{beside, is_step};
use crate::draft::numbers::{printed, range};
use crate::draft::settings::{SpokenSetting, is_of_a_setting};
use crate::draft::text::{DraftSentence, is_number};

impl DraftEvidence {
    /// Notes the settings whose values tell the arms apart. A setting that only one arm has tells nothing.
    pub fn label(&mut self, candidates: &[DraftCandidate]) {
        let values: HashMap<&str, f64> =
            candidates.iter().map(|one| (one.expression.as_str(), one.number.low)).collect();
        let mut of_paths: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        for (at, arm) in self.arms.iter().enumerate() {
            for path in arm.settings.iter().filter(|path| !path.starts_with("receipt.")) {
                if let Some(value) = values.get(arm.setting(path).as_str()) {
                    of_paths.entry(path.clone()).or_default().push((at, *value));
                }
            }
        }
        for (path, of_arms) in of_paths.iter().filter(|(_, of_arms)| of_arms.len() > 1) {
            for (at, value) in of_arms {
                let is_shared = of_arms.iter().filter(|(_, known)| known == value).count() > 1;
                if let Some(arm) = self.arms.get_mut(*at).filter(|_| !is_shared) {
                    let expression = arm.setting(path);
                    let spoken = SpokenSetting::of(path);
                    arm.labels.push(ArmLabel { expression, value: *value, spoken });
                }
            }
        }
    }
}

impl ReadSentence<'_> {
    /// Notes the numbers that name arms by a setting: "3e-3" of "the worst run at 3e-3".
    pub fn name_by_labels(
        &mut self,
        sentence: &DraftSentence,
        arms: &[NamedArm],
        found: &mut Vec<ArmMention>,
    ) {
        let numbers: Vec<_> = sentence.items.iter().filter(|item| is_number(item)).collect();
        for (at, item) in numbers.into_iter().enumerate() {
            let label = self.label(at, item, arms);
            let label = label.map(|(arm, label)| (arm, label.expression.clone()));
            if let Some((arm, _)) = &label {
                let span = self.span(at);
                let is_in_number =
                    |word: &&PlacedWord| span.start < word.span.end && word.span.start < span.end;
                let first = self.words.iter().position(|word| is_in_number(&word));
                let count = self.words.iter().filter(is_in_number).count();
                let is_named =
                    |one: &ArmMention| one.span.start < span.end && span.start < one.span.end;
                if let Some(first) = first.filter(|_| !found.iter().any(is_named)) {
                    let whole = mention(&self.words, *arm, first, count);
                    found.push(ArmMention { span, ..whole });
                }
            }
            self.labels.push(label);
        }
        found.sort_by_key(|one| one.span.start);
    }

    /// The arm that a number names, and the setting: one whose words are next to the number, or the only one that has such a
    /// value, where a rate is written as no result is.
    fn label<'a>(
        &self,
        at: usize,
        item: &QuoteItem,
        arms: &'a [NamedArm],
    ) -> Option<(usize, &'a ArmLabel)> {
        /// A word for another setting that is as near says that the number is of that.
        const NEAR: usize = 3;
        let (number, is_spread) = printed(item)?;
        let [low, high] = range(number, false);
        let value = 0.5 * (low + high);
        let is_value = |label: &ArmLabel| (label.value - value).abs() <= 1e-9 * value.abs();
        let of_value: Vec<_> = arms
            .iter()
            .enumerate()
            .flat_map(|(arm, named)| named.labels.iter().map(move |label| (arm, label)))
            .filter(|(_, label)| is_value(label))
            .collect();
        if of_value.is_empty() || is_spread || is_step(self, at) {
            return None;
        }
        let beside = beside(self, at);
        let nearest = |is_meant: &dyn Fn(&String) -> bool| {
            beside.iter().find(|one| is_meant(&one.text)).map(|one| one.distance)
        };
        let other = nearest(&is_of_a_setting);
        let is_said = |label: &ArmLabel| {
            let own = nearest(&|word| label.spoken.words.contains(word));
            let has_all = label
                .spoken
                .said
                .iter()
                .all(|words| nearest(&|word| words.contains(word)).is_some());
            has_all && other.is_none_or(|other| own.is_some_and(|own| own <= other))
        };
        let said: Vec<_> = of_value.iter().filter(|(_, label)| is_said(label)).copied().collect();
        let is_power = self.gap(self.span(at).start, self.span(at).end).contains(['e', 'E']);
        match (said.as_slice(), of_value.as_slice()) {
            ([one], _) => Some(*one),
            ([], [one]) if is_power && other.is_none_or(|other| other >= NEAR) => Some(*one),
            _ => None,
        }
    }
}
