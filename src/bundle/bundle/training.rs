//! The numbers of training records from which others follow, kept while the log is checked: reading it again would
//! cost as much as the check.

use std::collections::BTreeSet;

use repro_core::digest::EXACT_INTEGERS;
use repro_core::source::{Kind, Node};

/// So many records of a log are kept: some 50 MB.
pub const MOST_RECORDS: usize = 1 << 20;

/// So many layers of routers are kept of all records.
const MOST_LAYERS: usize = 1 << 20;

/// So many names of columns are kept.
const MOST_NAMES: usize = 1 << 10;

/// A router's counts in a step, from a record.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RouterRecord {
    /// The entropy of the shares of the experts, in nats.
    pub entropy: Option<f64>,
    /// Their standard deviation by their mean.
    pub cv: Option<f64>,
    /// The greatest share.
    pub max_load: Option<f64>,
    /// The experts without a token.
    pub dead: Option<f64>,
}

impl RouterRecord {
    /// Of one layer in a record.
    fn of(layer: Node<'_>) -> Self {
        let number = |field: &str| number(layer, field);
        Self {
            entropy: number("entropy"),
            cv: number("cv"),
            max_load: number("max_load"),
            dead: number("dead"),
        }
    }

    /// The number with this name.
    pub fn number(&self, field: &str) -> Option<f64> {
        match field {
            "entropy" => self.entropy,
            "cv" => self.cv,
            "max_load" => self.max_load,
            "dead" => self.dead,
            _ => None,
        }
    }
}

/// The number in a field; nothing where there is none. One that JSON would round is a text.
fn number(of: Node<'_>, field: &str) -> Option<f64> {
    let node = of.get(field)?;
    match &node.value().kind {
        Kind::Number(_) => node.float().ok(),
        Kind::Text(text) => text
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite() && number.abs() >= EXACT_INTEGERS),
        _ => None,
    }
}

/// The numbers in one line of `data/metrics.jsonl`; nothing for those that it lacks.
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
    /// The loss that balances the experts.
    pub balance_loss: Option<f64>,
    /// The loss that keeps the logits of the routers small.
    pub z_loss: Option<f64>,
    /// Whether a number is said not to be finite.
    pub is_nonfinite: bool,
    /// Which of the kept layers are its own: the first one, and how many.
    layers: (usize, usize),
}

impl TrainingRecord {
    /// Of one line.
    pub fn of(line: Node<'_>) -> Self {
        let router = line.get("router");
        let of_router = |field: &str| number(router?, field);
        let number = |field: &str| number(line, field);
        Self {
            step: number("step"),
            tokens: number("tokens"),
            loss: number("loss"),
            grad_norm: number("grad_norm"),
            lr: number("lr"),
            balance_loss: of_router("balance_loss"),
            z_loss: of_router("z_loss"),
            is_nonfinite: line.get("nonfinite").is_some(),
            layers: (0, 0),
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
            "router.balance_loss" => self.balance_loss,
            "router.z_loss" => self.z_loss,
            _ => None,
        }
    }
}

/// The first records of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingRecords {
    /// In the order of the file.
    pub kept: Vec<TrainingRecord>,
    layers: Vec<RouterRecord>,
    /// The columns of the log: those of its first line, and of each that has another number of them than the one before.
    pub names: BTreeSet<String>,
    /// How many columns the last line had.
    width: usize,
    /// How many lines the log has.
    pub lines: usize,
}

impl TrainingRecords {
    /// Keeps one more line, while there is room.
    pub fn add(&mut self, line: Node<'_>) {
        self.lines += 1;
        if let Kind::Object(members) = &line.value().kind
            && members.len() != self.width
        {
            self.width = members.len();
            let free = MOST_NAMES.saturating_sub(self.names.len());
            self.names.extend(members.iter().take(free).map(|member| member.key.to_string()));
        }
        if self.kept.len() < MOST_RECORDS {
            let mut record = TrainingRecord::of(line);
            let layers = line.get("router").and_then(|router| router.get("layers")?.items().ok());
            let layers = layers.into_iter().flatten().take(MOST_LAYERS - self.layers.len());
            let first = self.layers.len();
            self.layers.extend(layers.map(RouterRecord::of));
            record.layers = (first, self.layers.len() - first);
            self.kept.push(record);
        }
    }

    /// The routers' counts in the step of a record, layer by layer.
    pub fn routers(&self, record: &TrainingRecord) -> &[RouterRecord] {
        let (first, count) = record.layers;
        self.layers.get(first..first + count).unwrap_or_default()
    }

    /// All routers that are kept, record by record and layer by layer.
    pub fn layers(&self) -> &[RouterRecord] {
        &self.layers
    }

    /// One of these, and the positions of its record and of its layer in that.
    pub fn layer(&self, at: usize) -> Option<(usize, usize, &RouterRecord)> {
        let line = self.kept.partition_point(|record| record.layers.0 + record.layers.1 <= at);
        let (first, _) = self.kept.get(line)?.layers;
        Some((line, at.checked_sub(first)?, self.layers.get(at)?))
    }

    /// Whether every line is kept.
    pub fn is_whole(&self) -> bool {
        self.kept.len() == self.lines
    }
}
