//! The builder of models: each call adds an operation to the graph, and its named tensors to the weights.

use super::config::{Balancing, Config, MixtureConfig};
use super::graph::{Graph, RowsAt};
use super::precision::Roundings;
use super::tensors::{FlatTensors, Initializer};
use crate::backend::Backend;
use crate::ops::{
    Activate, Attention, Embedding, FeedForward, Gated, Head, Linear, Mixture, MixtureWidths, Norm,
    NormKind, Positions, StepKind, VectorNorms,
};
use crate::recipe::LossTerms;
use repro_kernels::portable::router::{Coefficients, Router};
use repro_kernels::portable::{AttentionShape, Real};

/// Logits that are held at a time for models of others: 256 MB of them.
const HELD: usize = 1 << 26;

/// A graph that is being built, in the order of the forward pass.
pub(super) struct Builder<'a, B: Backend> {
    pub config: &'a Config,
    graph: Graph<B>,
    tensors: FlatTensors,
    variables: usize,
}

/// A matrix by name, with its numbers of rows.
pub(super) struct MatrixRows<'a>(pub &'a str, pub usize);

/// How matrices lie and what is added to them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MatrixKind {
    /// Whether there are biases.
    pub biased: bool,
    /// Whether matrices are kept as their transposes.
    pub turned: bool,
    /// Whether the matrix writes to the rows that run through the model.
    pub is_output: bool,
}

impl<'a, B: Backend> Builder<'a, B> {
    /// A builder of a config's model.
    pub fn new(config: &'a Config, backend: B) -> Self {
        let head = Head {
            width: config.hidden_size,
            cap: config.variations.logits_cap,
            terms: LossTerms::default(),
            held: (!config.is_ours()).then_some(HELD),
            rounding: None,
            other_sums: config.rounding_seed,
            saved: Default::default(),
        };
        let balancing = config.mixture.as_ref().map(|mixture| mixture.balancing);
        let is_joint = matches!(balancing, Some(Balancing::Joint(_)));
        let (mut graph, tensors) = (Graph::new(backend, head, is_joint), FlatTensors::default());
        graph.roundings = Roundings { precision: config.precision, seed: config.rounding_seed };
        Self { config, graph, tensors, variables: 0 }
    }

    /// The graph, and its tensors.
    pub fn finish(self) -> (Graph<B>, FlatTensors) {
        (self.graph, self.tensors)
    }

    /// Names the part of the model behind which the rows are these: `embedding`, `attention of layer 3`.
    pub fn part(&mut self, name: String, x: RowsAt) {
        self.graph.parts.push((name, x));
    }

    /// Begins a variable.
    fn variable(&mut self) -> usize {
        self.tensors.variable();
        self.variables += 1;
        self.variables - 1
    }

    /// The rows of the tokens in a table: (B T, D).
    pub fn embedding(&mut self, name: &str) -> RowsAt {
        let Config { hidden_size: width, vocab_size, tie_word_embeddings: tied, .. } = *self.config;
        let variable = self.variable();
        self.tensors.matrix(name.to_owned(), [vocab_size, width], Initializer::Normal); // (V, D)
        let scale = self.config.variations.embedding_scale;
        let kind = StepKind::Embedding(Embedding { width, tied, scale });
        self.graph.add(kind, (None, None), Some(variable), width)
    }

    /// Rows plus those of their tokens' positions: (B T, D).
    pub fn positions(&mut self, name: &str, count: usize, x: RowsAt) -> RowsAt {
        let (variable, width) = (self.variable(), self.config.hidden_size);
        self.tensors.matrix(name.to_owned(), [count, width], Initializer::Normal); // (P, D)
        let kind = StepKind::Positions(Positions { width });
        self.graph.add(kind, (None, Some(x)), Some(variable), width)
    }

    /// The norm of rows, by the name of its tensors without their ends.
    pub fn norm(&mut self, name: &str, x: RowsAt) -> RowsAt {
        self.norm_onto(name, x, None)
    }

    /// The norm of rows, added to others.
    pub fn norm_onto(&mut self, name: &str, x: RowsAt, residual: Option<RowsAt>) -> RowsAt {
        let (kind, width, epsilon) =
            (self.config.variations.norm, self.config.hidden_size, self.config.norm_eps);
        let variable = kind.is_weighted().then(|| self.variable());
        if kind.is_weighted() {
            self.tensors.norm(format!("{name}.weight"), width, kind == NormKind::RmsFromOne);
        }
        if kind == NormKind::LayerBiased {
            self.tensors.bias(format!("{name}.bias"), width);
        }
        let kind = StepKind::Norm(Norm { kind, width, epsilon, centred: Vec::new() });
        self.graph.add(kind, (Some(x), residual), variable, width)
    }

    /// Rows by one matrix, or by several whose outputs lie side by side, plus others.
    pub fn linear(
        &mut self,
        x: RowsAt,
        matrices: &[MatrixRows<'_>],
        kind: MatrixKind,
        residual: Option<RowsAt>,
    ) -> RowsAt {
        let (variable, input) = (self.variable(), self.graph.width(x));
        let MatrixKind { biased, turned, is_output } = kind;
        let initializer = match is_output {
            true => Initializer::Output { layers: self.config.num_hidden_layers },
            false => Initializer::Normal,
        };
        for MatrixRows(name, rows) in matrices {
            let shape = if turned { [input, *rows] } else { [*rows, input] };
            self.tensors.matrix(format!("{name}.weight"), shape, initializer);
        }
        for MatrixRows(name, rows) in matrices.iter().filter(|_| biased) {
            self.tensors.bias(format!("{name}.bias"), *rows);
        }
        let output = matrices.iter().map(|MatrixRows(_, rows)| rows).sum();
        let linear = StepKind::Linear(Linear { input, output, biased, turned });
        self.graph.add(linear, (Some(x), residual), Some(variable), output)
    }

    /// Attention of block number `layer` over rows of queries, keys and values, which are normalised first where the
    /// config says so, by these names: (B T, H Dh).
    pub fn attention(&mut self, layer: usize, vectors: RowsAt, norms: [&str; 2]) -> RowsAt {
        let config = self.config;
        let (queries, keys) = (config.num_attention_heads, config.num_key_value_heads);
        let (size, varied) = (config.head_dim, &config.variations);
        let normed = VectorNorms::new(varied.normed, [queries, keys], size, config.norm_eps);
        let vectors = normed.map_or(vectors, |normed| self.vector_norms(vectors, normed, norms));
        let window = varied.windows.get(layer).copied().flatten();
        let others = varied.window_angles.as_ref().filter(|_| window.is_some());
        let angles = others.or(config.angles.as_ref());
        let rope = angles.map(|angles| angles.rope(config.seq_len, size));
        let heads = AttentionShape::of(queries, keys, size, rope)
            .capped(varied.scores_cap)
            .windowed(window);
        let heads = match varied.scale {
            Some(scale) => heads.scaled(scale),
            None => heads,
        };
        let kind = StepKind::Attention(Attention { heads, rotated: Vec::new() }.into());
        self.graph.add(kind, (Some(vectors), None), None, queries * size)
    }

    fn vector_norms(&mut self, vectors: RowsAt, normed: VectorNorms, names: [&str; 2]) -> RowsAt {
        let is_weighted = normed.weights() != [0; 2];
        let variable = is_weighted.then(|| self.variable());
        for (name, length) in std::iter::zip(names, normed.weights()).filter(|(_, l)| *l > 0) {
            self.tensors.norm(format!("{name}.weight"), length, false);
        }
        let width = normed.width;
        self.graph.add(StepKind::VectorNorms(normed), (Some(vectors), None), variable, width)
    }

    /// A function of each number; with a gate, of the first half of each row, times the second.
    pub fn activate(&mut self, x: RowsAt, gated: bool) -> RowsAt {
        let function = self.config.variations.activation;
        let width = if gated { self.graph.width(x) / 2 } else { self.graph.width(x) };
        let kind = StepKind::Activate(Activate { function, width, gated });
        self.graph.add(kind, (Some(x), None), None, width)
    }

    /// The matrices of a gated network, by the name before theirs.
    fn gated(&mut self, name: &str, inner: usize) {
        let d = self.config.hidden_size;
        for part in ["gate", "up"] {
            let shape = [inner, d]; // (F, D)
            self.tensors.matrix(format!("{name}.{part}_proj.weight"), shape, Initializer::Normal);
        }
        let output = Initializer::Output { layers: self.config.num_hidden_layers };
        self.tensors.matrix(format!("{name}.down_proj.weight"), [d, inner], output); // (D, F)
    }

    /// A gated network: down(silu(gate x) * up x), plus others.
    pub fn feed_forward(&mut self, name: &str, x: RowsAt, residual: Option<RowsAt>) -> RowsAt {
        let (variable, width) = (self.variable(), self.config.hidden_size);
        let inner = self.config.intermediate_size;
        self.gated(name, inner);
        let shape = Gated { width, inner };
        let kind = StepKind::FeedForward(FeedForward { shape, gate_up: Vec::new() });
        self.graph.add(kind, (Some(x), residual), Some(variable), width)
    }

    /// The mixture of block number `layer`: shared x + sum of gate_e expert_e x, plus others.
    pub fn mixture(
        &mut self,
        (layer, mixture): (usize, &MixtureConfig),
        name: &str,
        x: RowsAt,
        residual: Option<RowsAt>,
    ) -> RowsAt {
        let (variable, width) = (self.variable(), self.config.hidden_size);
        let (experts, inner) = (mixture.num_experts, mixture.moe_intermediate_size);
        let router = format!("{name}.gate.weight");
        self.tensors.matrix(router, [experts, width], Initializer::Normal); // (E, D)
        for expert in 0..experts {
            self.gated(&format!("{name}.experts.{expert}"), inner);
        }
        let shared = mixture.num_shared_experts * inner;
        if shared > 0 {
            self.gated(&format!("{name}.shared_experts"), shared);
        }
        let router = Router {
            gate: mixture.gate,
            experts,
            per_token: mixture.num_experts_per_tok,
            normalized: mixture.norm_topk_prob,
        };
        let (balance, bias) = match mixture.balancing {
            Balancing::Loss(coefficient) | Balancing::Joint(coefficient) => (coefficient, None),
            Balancing::Bias(_) => (0.0, Some(vec![B::Number::ZERO; experts])),
            Balancing::None => (0.0, None),
        };
        let losses = Coefficients { balance, z: mixture.z_coefficient };
        let widths = MixtureWidths { width, inner, shared };
        let mixture = Mixture { widths, router, losses, bias, saved: Default::default() };
        let kind = StepKind::Mixture(layer, mixture.into());
        self.graph.add(kind, (Some(x), residual), Some(variable), width)
    }

    /// The end: the matrix of the logits, which is the table of tokens where they are tied.
    pub fn head(&mut self, name: &str, h: RowsAt) {
        let variable = match self.config.tie_word_embeddings {
            true => 0,
            false => {
                let shape = [self.config.vocab_size, self.config.hidden_size]; // (V, D)
                let variable = self.variable();
                self.tensors.matrix(name.to_owned(), shape, Initializer::Normal);
                variable
            }
        };
        self.graph.end = (h, variable);
    }
}
