//! Which engines execute a slice, and how their accounts compare.

use serde::{Deserialize, Serialize};

use super::{Divergence, ENGINES_PART, ToleranceShare};
use repro_core::Verdict;
use repro_core::source::Code;

/// The engines that execute a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayEngine {
    /// That of the trainer.
    #[default]
    Own,
    /// The one written with candle, which shares no code with the trainer's.
    Candle,
    /// Both, which have to agree.
    Both,
}

/// The verdict of one engine's execution against the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Its code, where it is not verified.
    pub code: Option<&'static Code>,
    /// Why, where it is not verified.
    pub reason: String,
}

/// Where two engines part: a difference beyond what rounding explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnginesParting {
    /// The step and the quantity, with both engines' values.
    pub divergence: Divergence,
    /// The operation: the first part of the first forward pass that differs, or else the part of the step.
    pub operation: String,
}

/// Two executions of one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnginesReport {
    /// The verdict of the trainer's engine alone.
    pub own: EngineVerdict,
    /// The verdict of the second engine alone; or why it did not execute the slice, which is no evidence about the run.
    pub candle: Result<EngineVerdict, String>,
    /// Of each kind of number the largest difference between the engines, as a share of the tolerance.
    pub shares: Vec<ToleranceShare>,
    /// Where they part, if they do.
    pub parting: Option<EnginesParting>,
}

impl ReplayEngine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Own, Self::Candle, Self::Both];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Candle => "candle",
            Self::Both => "both",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.word() == text)
    }
}

impl EngineVerdict {
    /// The word, and why.
    fn shown(&self) -> String {
        if self.reason.is_empty() {
            self.verdict.word().to_owned()
        } else {
            format!("{} ({})", self.verdict.word(), self.reason)
        }
    }
}

impl EnginesReport {
    /// Whether both engines confirm the log, and each other.
    pub fn confirm(&self) -> bool {
        let confirms = |of: &EngineVerdict| of.verdict == Verdict::Verified;
        confirms(&self.own) && self.candle.as_ref().is_ok_and(confirms) && self.parting.is_none()
    }

    /// The joint verdict of both: a verdict that one engine has and the other contradicts is none, and where they diverge
    /// nothing is verified. What the second engine does not know changes nothing.
    pub fn together(&self) -> EngineVerdict {
        let Ok(candle) = &self.candle else { return self.own.clone() };
        let verdicts = [self.own.verdict, candle.verdict];
        let has = |verdict| verdicts.contains(&verdict);
        let contradict = has(Verdict::Verified) && has(Verdict::Refuted);
        let is_open = self.parting.is_some() && self.own.verdict == Verdict::Verified;
        if !contradict && !is_open {
            return self.own.clone();
        }
        EngineVerdict {
            verdict: Verdict::Inconclusive,
            code: Some(&ENGINES_PART),
            reason: self.contradiction(candle),
        }
    }

    /// The verdict of each engine, and where they diverge.
    fn contradiction(&self, candle: &EngineVerdict) -> String {
        let place = self.parting.as_ref().map_or(String::new(), |parting| {
            let EnginesParting { divergence, operation } = parting;
            let (step, what) = (divergence.step, divergence.shown());
            format!("; they diverge in step {step}, {what}: {operation}")
        });
        let (own, candle) = (self.own.shown(), candle.shown());
        format!("the trainer's engine reports {own}, candle reports {candle}{place}")
    }

    /// The difference between the engines that takes the largest share of its tolerance.
    pub fn closest(&self) -> Option<&ToleranceShare> {
        self.shares.iter().reduce(|known, one| if one.share > known.share { one } else { known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{DIVERGED, TOO_COARSE};

    fn of(verdict: Verdict) -> EngineVerdict {
        let code = match verdict {
            Verdict::Refuted => Some(&DIVERGED),
            Verdict::Inconclusive => Some(&TOO_COARSE),
            Verdict::Verified | Verdict::Unchecked => None,
        };
        let reason = code.map_or(String::new(), |code| code.id.to_owned());
        EngineVerdict { verdict, code, reason }
    }

    fn report(own: Verdict, candle: Option<Verdict>, parts: bool) -> EnginesReport {
        let told = ("1".to_owned(), "2".to_owned());
        let parting = EnginesParting {
            divergence: Divergence::of(7, "loss", told, ""),
            operation: "head".to_owned(),
        };
        EnginesReport {
            own: of(own),
            candle: candle.map(of).ok_or("unknown".to_owned()),
            shares: Vec::new(),
            parting: parts.then_some(parting),
        }
    }

    #[test]
    fn a_verdict_of_one_engine_alone_is_none_where_the_other_contradicts() {
        use Verdict::{Inconclusive, Refuted, Verified};
        for (own, candle, parts, together) in [
            (Verified, Some(Verified), false, Verified),
            (Verified, Some(Verified), true, Inconclusive),
            (Verified, Some(Refuted), true, Inconclusive),
            (Refuted, Some(Verified), true, Inconclusive),
            (Refuted, Some(Verified), false, Inconclusive),
            (Refuted, Some(Refuted), false, Refuted),
            (Refuted, Some(Refuted), true, Refuted),
            (Refuted, Some(Inconclusive), false, Refuted),
            (Inconclusive, Some(Refuted), false, Inconclusive),
            (Verified, Some(Inconclusive), false, Verified),
            (Verified, None, false, Verified),
            (Refuted, None, false, Refuted),
        ] {
            let report = report(own, candle, parts);
            let found = report.together();
            assert_eq!(found.verdict, together, "{report:?}");
            let is_new = found.verdict == Inconclusive && own != Inconclusive;
            assert_eq!(found.code == Some(&ENGINES_PART), is_new, "{report:?}");
            let confirm = (own, candle, parts) == (Verified, Some(Verified), false);
            assert_eq!(report.confirm(), confirm, "{report:?}");
        }
        let reason = report(Refuted, Some(Verified), true).together().reason;
        let said = "the trainer's engine reports refuted (replay::diverged), candle reports verified; they diverge in step 7, loss: head";
        assert_eq!(reason, said);
    }

    #[test]
    fn engines_are_read_by_their_words() {
        for engine in ReplayEngine::ALL {
            assert_eq!(ReplayEngine::parse(engine.word()), Some(engine));
        }
        assert_eq!(ReplayEngine::parse("torch"), None);
    }
}
