//! The numbers of training records from which others follow, kept while the log passes by: reading it again would
//! cost as much as checking it.

use crate::source::Node;

/// So many records of a log are kept: some 50 MB.
pub const MOST_RECORDS: usize = 1 << 20;

/// What one line of `data/metrics.jsonl` says in numbers; nothing where it does not say it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TrainingRecord {
    /// After so many steps.
    pub step: Option<f64>,
    /// After so many tokens.
    pub tokens: Option<f64>,
    /// The loss of the step's batch, in nats a token.
    pub loss: Option<f64>,
    /// The norm of the gradient.
    pub grad_norm: Option<f64>,
    /// The learning rate of the step's update.
    pub lr: Option<f64>,
    /// Whether a number is said not to be finite.
    pub is_nonfinite: bool,
}

impl TrainingRecord {
    /// Of one line.
    pub fn of(line: Node<'_>) -> Self {
        let number = |field: &str| line.get(field).and_then(|node| node.float().ok());
        Self {
            step: number("step"),
            tokens: number("tokens"),
            loss: number("loss"),
            grad_norm: number("grad_norm"),
            lr: number("lr"),
            is_nonfinite: line.get("nonfinite").is_some(),
        }
    }

    /// The number with this name in the line.
    pub fn number(&self, field: &str) -> Option<f64> {
        match field {
            "step" => self.step,
            "tokens" => self.tokens,
            "loss" => self.loss,
            "grad_norm" => self.grad_norm,
            "lr" => self.lr,
            _ => None,
        }
    }
}

/// The first records of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingRecords {
    /// In the order of the file.
    pub kept: Vec<TrainingRecord>,
    /// How many lines the log has.
    pub lines: usize,
}

impl TrainingRecords {
    /// Keeps one more line, while there is room.
    pub fn add(&mut self, line: Node<'_>) {
        self.lines += 1;
        if self.kept.len() < MOST_RECORDS {
            self.kept.push(TrainingRecord::of(line));
        }
    }

    /// Whether every line is kept.
    pub fn is_whole(&self) -> bool {
        self.kept.len() == self.lines
    }
}
