//! Which claims are about which number of a text.

use std::collections::HashMap;

use repro_report::outcome::{ClaimReport, TextNumber};

use crate::covered::Number;

/// The claims of a post, to be found by the numbers of its texts.
pub struct NumberedClaims<'c> {
    /// By how their names begin, in the order of the post: each with what it claims, and whether a number has it.
    by_name: HashMap<&'c str, Vec<(&'c ClaimReport, bool)>>,
}

impl<'c> NumberedClaims<'c> {
    /// Of all claims of a post.
    pub fn of(claims: &'c [ClaimReport]) -> Self {
        let mut by_name: HashMap<&str, Vec<(&ClaimReport, bool)>> = HashMap::new();
        for claim in claims {
            // A name with dots at its end may be a part of a statement's, which one is known by the numbers.
            let ends = claim.id.match_indices('.').map(|(at, _)| at).chain([claim.id.len()]);
            for end in ends {
                by_name.entry(&claim.id[..end]).or_default().push((claim, false));
            }
        }
        Self { by_name }
    }

    /// The numbers with the claims about each: of those of one statement the next with these digits, else all of them.
    pub fn numbers(mut self, numbers: Vec<Number>) -> Vec<TextNumber> {
        let told = numbers.into_iter().map(|number| {
            let mut claims = Vec::new();
            for name in &number.claims {
                let Some(all) = self.by_name.get_mut(name.as_str()) else { continue };
                let has_digits = |claim: &ClaimReport| claim.claimed.contains(&number.text);
                match all.iter_mut().find(|(claim, is_had)| !*is_had && has_digits(claim)) {
                    Some((claim, is_had)) => {
                        *is_had = true;
                        claims.push(claim.id.clone());
                    }
                    None => claims.extend(all.iter().map(|(claim, _)| claim.id.clone())),
                }
            }
            claims.dedup();
            TextNumber { span: number.span, line: number.line, claims, reason: number.reason }
        });
        told.collect()
    }
}
