//! The decoder of most families: an embedding, layers of a mixer and a gated feed-forward block or experts, norms, a head,
//! and multi-token prediction layers if the config has them.
//!
//! A family fills in a [`Decoder`]; the closed form and the tensor list are built here, each from the shape alone.

use super::attention::Mixer;
use super::blocks::ExpertCounts;
use super::family::{Blueprint, MixtureShape, Mtp};
use super::fields::Dims;
use super::{LayerSet, Layers, Part, Size, Sums, TensorList};

/// A block in some layers besides the mixer and the feed-forward block, counted in both ways.
pub trait Block {
    /// Its tensors.
    fn list(&self, tensors: &mut TensorList, hidden: Size);
    /// Elements of one layer in closed form.
    fn closed(&self, hidden: Size) -> Sums;
}

impl<M: Mixer> Block for M {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        Mixer::list(self, tensors, hidden);
    }

    fn closed(&self, hidden: Size) -> Sums {
        Sums::of([(Part::Attention, self.projections(hidden)), (Part::Norms, self.norms())])
    }
}

/// Vectors of one width, such as the bias for expert selection.
#[derive(Debug, Clone, Copy)]
pub struct Vectors {
    /// The part that they belong to.
    pub part: Part,
    /// Their names in a layer.
    pub names: &'static [&'static str],
    /// Elements of each.
    pub width: Size,
}

impl Block for Vectors {
    fn list(&self, tensors: &mut TensorList, _hidden: Size) {
        for name in self.names {
            let name = format!("model.layers.{{layer}}.{name}");
            tensors.tensor(self.part, &name, &[self.width]);
        }
    }

    fn closed(&self, _hidden: Size) -> Sums {
        Sums::of([(self.part, self.width * self.names.len() as u64)])
    }
}

/// A feed-forward block of a width of its own.
#[derive(Debug, Clone, Copy)]
pub struct SizedFeed {
    /// The part that it belongs to.
    pub part: Part,
    /// The name prefix of its matrices.
    pub below: &'static str,
    /// Its inner width.
    pub width: Size,
    /// Whether it has a gate.
    pub is_gated: bool,
    /// Whether its matrices have biases.
    pub bias: bool,
}

impl Block for SizedFeed {
    fn list(&self, tensors: &mut TensorList, hidden: Size) {
        let Self { part, below, width, bias, .. } = *self;
        if self.is_gated {
            return tensors.gated(part, below, hidden, width, bias);
        }
        let name = |name: &str| format!("model.layers.{{layer}}.{below}.{name}");
        tensors.linear(part, &name("up_proj"), width, hidden, bias);
        tensors.linear(part, &name("down_proj"), hidden, width, bias);
    }

    fn closed(&self, h: Size) -> Sums {
        let ways_in = Size::from(1) + self.is_gated;
        let matrices = h * self.width * (ways_in + 1);
        let biases = (self.width * ways_in + h) * self.bias;
        Sums::of([(self.part, matrices + biases)])
    }
}

/// The feed-forward block of a dense layer.
#[derive(Debug, Clone, Copy)]
pub enum Feed {
    /// Three matrices: gate, up and down.
    Gated([&'static str; 3]),
    /// Two: gate and up in one of this name, and `down_proj`.
    Joined(&'static str),
    /// Two, up and down, without a gate.
    Plain([&'static str; 2]),
    /// None: the layers have blocks of their own.
    None,
}

/// How the routed experts of a layer are stored.
#[derive(Debug, Clone, Copy)]
pub enum StoredAs {
    /// Three matrices an expert, below a name: gate, up, down.
    Each(&'static str, [&'static str; 3]),
    /// Two tensors for all experts, gate and up in one.
    Stacked(&'static str),
}

/// Experts in the sparse layers.
pub struct ExpertParts {
    /// E and K.
    pub experts: ExpertCounts,
    /// Inner width of one.
    pub width: Size,
    /// The number of shared experts.
    pub shared: Size,
    /// Their total inner width; nothing is stored if it is 0.
    pub shared_width: Size,
    /// Whether a vector gates the shared expert; the reference keeps it even if that expert is turned off.
    pub shared_gate: bool,
    /// Names: the router, the routed experts, the shared ones.
    pub router: &'static str,
    /// See [`StoredAs`].
    pub stored: StoredAs,
    /// The name prefix of the shared experts.
    pub shared_name: &'static str,
    /// Whether experts have a gate: three matrices, not two.
    pub is_gated: bool,
    /// The input and output width of routed experts if it differs from the residual stream: two matrices project into it
    /// and out of it.
    pub latent: Option<Size>,
}

impl ExpertParts {
    /// Experts under the names that most checkpoints use, without shared ones.
    pub fn new(experts: ExpertCounts, width: Size) -> Self {
        Self {
            experts,
            width,
            shared: Size::ZERO,
            shared_width: Size::ZERO,
            shared_gate: false,
            router: "mlp.gate",
            stored: StoredAs::Each("mlp.experts", ["gate_proj", "up_proj", "down_proj"]),
            shared_name: "mlp.shared_experts",
            is_gated: true,
            latent: None,
        }
    }

    /// With `shared` experts of `width` together.
    pub fn sharing(self, shared: Size, width: Size) -> Self {
        Self { shared, shared_width: width, ..self }
    }

    fn shape(&self) -> MixtureShape {
        let Self { experts, width, shared, shared_width, .. } = *self;
        MixtureShape { experts, width, shared, shared_width }
    }

    fn list(&self, tensors: &mut TensorList, h: Size, biased: bool) {
        let (layer, e, d) = ("model.layers.{layer}", self.experts.count, self.width);
        match self.stored {
            StoredAs::Each(below, names) => {
                tensors.expert_layer(h, d, self.experts, self.router, (below, names));
            }
            StoredAs::Stacked(below) => {
                tensors.linear(Part::Router, &format!("{layer}.{}", self.router), e, h, false);
                let x = self.latent.unwrap_or(h);
                let up = if self.is_gated { ("gate_up_proj", d * 2) } else { ("up_proj", d) };
                for (name, shape) in [(up.0, [e, x, up.1]), ("down_proj", [e, d, x])] {
                    let name = format!("{layer}.{below}.{name}");
                    tensors.tensor(Part::RoutedExperts, &name, &shape);
                }
            }
        }
        if let Some(latent) = self.latent {
            let mut linear = |name: &str, output: Size, input: Size| {
                let name = format!("{layer}.mlp.{name}");
                tensors.linear(Part::SharedExperts, &name, output, input, false);
            };
            linear("fc1_latent_proj", latent, h);
            linear("fc2_latent_proj", h, latent);
        }
        if self.shared_width != Size::ZERO {
            let (width, below) = (self.shared_width, self.shared_name);
            if self.is_gated {
                tensors.gated(Part::SharedExperts, below, h, width, biased);
            } else {
                let name = |name: &str| format!("{layer}.{below}.{name}");
                tensors.linear(Part::SharedExperts, &name("up_proj"), width, h, biased);
                tensors.linear(Part::SharedExperts, &name("down_proj"), h, width, biased);
            }
        }
        if self.shared_gate {
            let name = format!("{layer}.{}_gate", self.shared_name);
            tensors.linear(Part::SharedExperts, &name, 1.into(), h, false);
        }
    }

    fn closed(&self, sums: Sums, layers: Size, h: Size, biased: bool) -> Sums {
        let (e, k, s) = (self.experts.count, self.experts.per_token, self.shared_width);
        let any = s != Size::ZERO;
        let ways_in = Size::from(1) + self.is_gated;
        let latent = self.latent.map_or(Size::ZERO, |x| h * x * 2);
        let shared = h * s * (ways_in + 1)
            + (s * ways_in + h) * (any && biased)
            + h * self.shared_gate
            + latent;
        sums.plus(Part::Router, layers * h * e, layers * h * e)
            .plus(Part::SharedExperts, layers * shared, layers * shared)
            .routed(layers * self.latent.unwrap_or(h) * self.width * (ways_in + 1), e, k)
    }
}

/// The token mixers and their layers.
pub type Mixers = Vec<(LayerSet, Box<dyn Mixer>)>;

/// A model of this kind.
pub struct Decoder {
    /// The common dimensions.
    pub dims: Dims,
    /// The token mixers and their layers; every layer is in one of the sets.
    pub mixers: Mixers,
    /// Whether the embedding is normed.
    pub embedding_norm: bool,
    /// Norms of a layer that are as wide as the residual stream.
    pub norms: &'static [&'static str],
    /// Whether norms have biases.
    pub norm_bias: bool,
    /// The name of the last norm.
    pub last_norm: &'static str,
    /// The name prefix of dense feed-forward blocks.
    pub mlp: &'static str,
    /// See [`Feed`].
    pub feed: Feed,
    /// Additional blocks in some layers.
    pub blocks: Vec<(LayerSet, Box<dyn Block>)>,
    /// Additional blocks that the model has once.
    pub once: Vec<Box<dyn Block>>,
    /// Whether the matrices of feed-forward blocks have biases.
    pub mlp_bias: bool,
    /// Whether the head has a bias.
    pub head_bias: bool,
    /// Experts, if there are any.
    pub mixture: Option<ExpertParts>,
    /// Layers for multi-token prediction.
    pub mtp: Size,
}

impl Decoder {
    /// A dense decoder with one kind of mixer and a norm before each block.
    pub fn new(dims: Dims, mixer: impl Mixer + 'static) -> Self {
        let all = dims.layers.set(|_| true);
        Self::mixed(dims, vec![(all, Box::new(mixer))])
    }

    /// A decoder with several kinds of mixers.
    pub fn mixed(dims: Dims, mixers: Mixers) -> Self {
        Self {
            dims,
            mixers,
            embedding_norm: false,
            norms: super::blocks::PRE_NORMS,
            norm_bias: false,
            last_norm: "model.norm",
            mlp: "mlp",
            feed: Feed::Gated(["gate_proj", "up_proj", "down_proj"]),
            blocks: Vec::new(),
            once: Vec::new(),
            mlp_bias: false,
            head_bias: false,
            mixture: None,
            mtp: Size::ZERO,
        }
    }

    /// Both counts.
    pub fn finish(self) -> Blueprint {
        let tensors = self.list();
        let closed = self.closed();
        let mtp = (self.mtp != Size::ZERO).then(|| self.prediction());
        let mixture = self.mixture.as_ref().map(ExpertParts::shape);
        Blueprint { dims: self.dims, mixture, tensors, closed, mtp }
    }

    fn empty(&self, layers: &Layers) -> TensorList {
        let tensors = TensorList::new(layers);
        match &self.mixture {
            Some(ExpertParts { experts, .. }) => {
                tensors.with_experts(experts.count, experts.per_token)
            }
            None => tensors,
        }
    }

    fn list(&self) -> TensorList {
        let Dims { v, h, ref layers, tied, .. } = self.dims;
        let mut tensors = self.empty(layers);
        tensors.tensor(Part::Embedding, "model.embed_tokens.weight", &[v, h]);
        if self.embedding_norm {
            tensors.norm("model.embed_norm", h, self.norm_bias);
        }
        for (set, mixer) in &self.mixers {
            tensors.within(set, |tensors| mixer.list(tensors, h));
        }
        self.list_blocks(&mut tensors);
        for (set, block) in &self.blocks {
            tensors.within(set, |tensors| block.list(tensors, h));
        }
        self.once.iter().for_each(|block| block.list(&mut tensors, h));
        if self.has_last_norm() {
            tensors.norm(self.last_norm, h, self.norm_bias);
        }
        if !tied {
            tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
        }
        if self.head_bias {
            tensors.tensor(Part::Other, "lm_head.bias", &[v]);
        }
        tensors
    }

    /// Lists the blocks of a layer other than its mixer.
    fn list_blocks(&self, tensors: &mut TensorList) {
        let Dims { h, i, .. } = self.dims;
        let (layer, part) = (format!("model.layers.{{layer}}.{}", self.mlp), Part::DenseFfn);
        let mut linear = |name: &str, output: Size, input: Size| {
            tensors.linear(part, &format!("{layer}.{name}"), output, input, self.mlp_bias);
        };
        match self.feed {
            Feed::Gated([gate, up, down]) => {
                linear(gate, i, h);
                linear(up, i, h);
                linear(down, h, i);
            }
            Feed::Joined(name) => {
                linear(name, i * 2, h);
                linear("down_proj", h, i);
            }
            Feed::Plain([up, down]) => {
                linear(up, i, h);
                linear(down, h, i);
            }
            Feed::None => {}
        }
        if let Some(mixture) = &self.mixture {
            mixture.list(tensors, h, self.mlp_bias);
        }
        tensors.layer_norms(h, self.norms, self.norm_bias);
    }

    fn closed(&self) -> Sums {
        let Dims { v, h, ref layers, tied, .. } = self.dims;
        let biases = Size::from(1) + self.norm_bias;
        let kinds = || self.mixers.iter().map(|(set, mixer)| (set.count(), mixer));
        let inner: Size = kinds().map(|(count, mixer)| count * mixer.norms()).sum();
        let projections = kinds().map(|(count, mixer)| count * mixer.projections(h)).sum();
        let sums = Sums::of([
            (Part::Embedding, v * h),
            (Part::Attention, projections),
            (Part::Norms, self.norms_of_all(layers) * h * biases + inner),
            (Part::Head, v * h * !tied),
            (Part::Other, v * self.head_bias),
        ]);
        let mut sums = self.closed_blocks(sums, layers);
        for (set, block) in &self.blocks {
            sums = sums.and(&block.closed(h).times(set.count()));
        }
        self.once.iter().fold(sums, |sums, block| sums.and(&block.closed(h)))
    }

    /// The reference of a family without norm weights lists no last norm.
    fn has_last_norm(&self) -> bool {
        !self.last_norm.is_empty()
    }

    fn norms_of_all(&self, layers: &Layers) -> Size {
        layers.all() * self.norms_of_a_layer() + self.has_last_norm() + self.embedding_norm
    }

    fn norms_of_a_layer(&self) -> Size {
        Size::from(self.norms.len() as u64)
    }

    fn closed_blocks(&self, sums: Sums, layers: &Layers) -> Sums {
        let Dims { h, i, .. } = self.dims;
        let block = match self.feed {
            Feed::Gated(_) | Feed::Joined(_) => h * i * 3 + (i * 2 + h) * self.mlp_bias,
            Feed::Plain(_) => h * i * 2 + (i + h) * self.mlp_bias,
            Feed::None => Size::ZERO,
        };
        let dense = layers.dense() * block;
        let sums = sums.plus(Part::DenseFfn, dense, dense);
        match &self.mixture {
            Some(mixture) => mixture.closed(sums, layers.sparse(), h, self.mlp_bias),
            None => sums,
        }
    }

    /// Multi-token prediction layers: a norm for the embedding and one for the state, a matrix that joins the two, a layer
    /// like the last one, and a norm before the head. Embedding and head are shared with the model; checkpoints store
    /// copies of them.
    fn prediction(&self) -> Mtp {
        let Dims { v, h, ref layers, .. } = self.dims;
        let sparse = layers.sparse() != Size::ZERO;
        let count = self.mtp.value().unwrap_or(0);
        let own = Layers::new(count, |_| sparse).after(layers);
        let (mut tensors, mut sums) = (self.empty(&own), Sums::NONE);
        let layer = "model.layers.{layer}";
        tensors.linear(Part::Other, &format!("{layer}.eh_proj"), h, h * 2, false);
        tensors.layer_norms(h, &["enorm", "hnorm", "shared_head.norm"], self.norm_bias);
        let biases = Size::from(1) + self.norm_bias;
        let norms = self.mtp * h * (self.norms_of_a_layer() + 3) * biases;
        if let Some((_, mixer)) = self.mixers.last() {
            mixer.list(&mut tensors, h);
            let (projections, inner) = (mixer.projections(h), mixer.norms());
            sums = sums.plus(Part::Attention, self.mtp * projections, self.mtp * projections).plus(
                Part::Norms,
                self.mtp * inner,
                self.mtp * inner,
            );
        }
        self.list_blocks(&mut tensors);
        let joined = self.mtp * h * h * 2;
        sums = sums.plus(Part::Norms, norms, norms).plus(Part::Other, joined, joined);
        Mtp { tensors, closed: self.closed_blocks(sums, &own), copies: self.mtp * v * h * 2 }
    }
}
