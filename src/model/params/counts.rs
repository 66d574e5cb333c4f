//! Parameter counts: total, active, and both by part.

use serde::Serialize;

use super::Size;

/// One kind of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The matrix of input embeddings; a tied head is this matrix.
    Embedding,
    /// Learned positions.
    Positions,
    /// Projections of attention with their biases, and attention sinks.
    Attention,
    /// Feed-forward blocks that every token passes.
    DenseFfn,
    /// The selection of experts.
    Router,
    /// Experts of which a token uses some.
    RoutedExperts,
    /// Experts that every token passes, with their gate.
    SharedExperts,
    /// Normalization weights, including those of queries and keys.
    Norms,
    /// The matrix of an output head of its own.
    Head,
    /// Other parameters, such as the bias of a head.
    Other,
    /// Image encoders, of a model that sees them.
    Vision,
    /// The connection from encoded images to the language model.
    Projector,
}

impl Part {
    /// Every part, in the order of reports.
    pub const ALL: [Part; 12] = [
        Part::Embedding,
        Part::Positions,
        Part::Attention,
        Part::DenseFfn,
        Part::Router,
        Part::RoutedExperts,
        Part::SharedExperts,
        Part::Norms,
        Part::Head,
        Part::Other,
        Part::Vision,
        Part::Projector,
    ];

    /// Whether it is outside the language model; reports omit such a part if it is empty.
    pub fn is_beside_language(self) -> bool {
        matches!(self, Part::Vision | Part::Projector)
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Part::Embedding => "embedding",
            Part::Positions => "positions",
            Part::Attention => "attention",
            Part::DenseFfn => "dense_ffn",
            Part::Router => "router",
            Part::RoutedExperts => "routed_experts",
            Part::SharedExperts => "shared_experts",
            Part::Norms => "norms",
            Part::Head => "head",
            Part::Other => "other",
            Part::Vision => "vision",
            Part::Projector => "projector",
        }
    }
}

/// Which of the two objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterCount {
    /// Everything stored.
    Total,
    /// The active parameters: all except the routed experts that a token does not use.
    Active,
}

/// The part of a checkpoint that a count covers. The count of a part and of a whole are different quantities, whatever
/// their digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountScope {
    /// Every parameter of the model that the config describes.
    Whole,
    /// The language model inside a multimodal one, without image or audio encoders and their projectors.
    LanguageModel,
}

impl CountScope {
    /// Both, the wider first.
    pub const ALL: [CountScope; 2] = [CountScope::Whole, CountScope::LanguageModel];

    /// Its name in claims and for people.
    pub fn name(self) -> &'static str {
        match self {
            CountScope::Whole => "whole",
            CountScope::LanguageModel => "language model",
        }
    }

    /// The scope called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The parameters that count. Tied ones are counted once in every convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// Everything: embeddings, head and router too.
    Default,
    /// Without input embeddings and learned positions; a tied matrix is an input embedding.
    NoEmbeddings,
    /// Without the router.
    NoRouter,
    /// The parameters in matrix products: including the head, tied or not, but neither embeddings nor positions.
    HeadOnly,
    /// Without embeddings, positions and head.
    NonEmbedding,
    /// Without a head of its own.
    NoHead,
    /// Everything, layers for multi-token prediction too.
    WithMtp,
    /// Including the copies of embedding and head that checkpoints store in each multi-token prediction layer.
    WithMtpCopies,
    /// Without embeddings, positions and head, but with layers for multi-token prediction.
    NonEmbeddingWithMtp,
}

/// The parameters of multi-token prediction layers that a convention counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MtpShare {
    Nothing,
    Own,
    WithCopies,
}

impl Convention {
    /// Every convention, the default first.
    pub const ALL: [Convention; 9] = [
        Convention::Default,
        Convention::NoEmbeddings,
        Convention::NoRouter,
        Convention::HeadOnly,
        Convention::NonEmbedding,
        Convention::NoHead,
        Convention::WithMtp,
        Convention::WithMtpCopies,
        Convention::NonEmbeddingWithMtp,
    ];

    /// Its name in JSON and in claims.
    pub fn name(self) -> &'static str {
        match self {
            Convention::Default => "default",
            Convention::NoEmbeddings => "no_embeddings",
            Convention::NoRouter => "no_router",
            Convention::HeadOnly => "head_only",
            Convention::NonEmbedding => "non_embedding",
            Convention::NoHead => "no_head",
            Convention::WithMtp => "with_mtp",
            Convention::WithMtpCopies => "with_mtp_copies",
            Convention::NonEmbeddingWithMtp => "non_embedding_with_mtp",
        }
    }

    /// The convention called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|convention| convention.name() == name)
    }

    /// Whether `part` counts; `tied` is true if the embedding is also the head.
    pub fn counts(self, part: Part, tied: bool) -> bool {
        match self {
            Convention::Default | Convention::WithMtp | Convention::WithMtpCopies => true,
            Convention::NoRouter => part != Part::Router,
            Convention::NoHead => part != Part::Head,
            Convention::HeadOnly if tied => part != Part::Positions,
            Convention::NoEmbeddings | Convention::HeadOnly => {
                !matches!(part, Part::Embedding | Part::Positions)
            }
            Convention::NonEmbedding | Convention::NonEmbeddingWithMtp => {
                !matches!(part, Part::Embedding | Part::Positions | Part::Head)
            }
        }
    }

    fn mtp(self) -> MtpShare {
        match self {
            Convention::WithMtp | Convention::NonEmbeddingWithMtp => MtpShare::Own,
            Convention::WithMtpCopies => MtpShare::WithCopies,
            _ => MtpShare::Nothing,
        }
    }
}

/// Total and active count of a part or of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Count {
    /// Stored.
    pub total: u64,
    /// Touched by one token.
    pub active: u64,
}

impl Count {
    /// One of the two.
    pub fn of(self, object: ParameterCount) -> u64 {
        match object {
            ParameterCount::Total => self.total,
            ParameterCount::Active => self.active,
        }
    }
}

/// Both objects by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown([Count; Part::ALL.len()]);

impl Breakdown {
    /// One part.
    pub fn part(&self, part: Part) -> Count {
        self.0[part as usize]
    }

    /// Both together, unless that is beyond `u64`.
    pub fn with(&self, other: &Self) -> Option<Self> {
        let sums = Part::ALL.into_iter().fold(Sums::NONE, |sums, part| {
            [self.part(part), other.part(part)]
                .into_iter()
                .fold(sums, |sums, count| sums.plus(part, count.total.into(), count.active.into()))
        });
        sums.finish()
    }

    /// All parts with their counts, including empty ones.
    pub fn parts(&self) -> impl Iterator<Item = (Part, Count)> {
        Part::ALL.into_iter().zip(self.0)
    }
}

/// A breakdown under construction, from a formula or from tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums([(Size, Size); Part::ALL.len()]);

impl Sums {
    /// Nothing counted yet.
    pub const NONE: Sums = Sums([(Size::ZERO, Size::ZERO); Part::ALL.len()]);

    /// Sums in which every token uses all parameters.
    pub fn of<const N: usize>(parts: [(Part, Size); N]) -> Self {
        parts.into_iter().fold(Self::NONE, |sums, (part, size)| sums.plus(part, size, size))
    }

    /// Adds `total` parameters to `part`, of which a token uses `active`.
    pub fn plus(mut self, part: Part, total: Size, active: Size) -> Self {
        let (all, touched) = &mut self.0[part as usize];
        *all = *all + total;
        *touched = *touched + active;
        self
    }

    /// All of them `times` over.
    pub fn times(mut self, times: Size) -> Self {
        for (total, active) in &mut self.0 {
            *total = *total * times;
            *active = *active * times;
        }
        self
    }

    /// Adds the sums of `other`.
    pub fn and(self, other: &Sums) -> Self {
        let parts = Part::ALL.into_iter().zip(other.0);
        parts.fold(self, |sums, (part, (total, active))| sums.plus(part, total, active))
    }

    /// Adds `experts` times `each`, of which a token uses `used`.
    pub fn routed(self, each: Size, experts: Size, used: Size) -> Self {
        self.plus(Part::RoutedExperts, each * experts, each * used)
    }

    /// The counts, unless a part or the whole exceeds `u64`.
    pub fn finish(&self) -> Option<Breakdown> {
        self.0.iter().map(|(total, _)| *total).sum::<Size>().value()?;
        let mut counts = [Count::default(); Part::ALL.len()];
        for (count, (total, active)) in counts.iter_mut().zip(&self.0) {
            *count = Count { total: total.value()?, active: active.value()? };
        }
        Some(Breakdown(counts))
    }
}

/// Layers for multi-token prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MtpCounts {
    /// Their own parameters, by part.
    pub breakdown: Breakdown,
    /// Elements of the copies of embedding and head that checkpoints store with them.
    pub copies: u64,
}

/// The numbers of a model's shape that other modules ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ModelShape {
    /// Width of the residual stream.
    pub hidden: u64,
    /// Decoder layers.
    pub layers: u64,
    /// Rows of the embedding.
    pub vocabulary: u64,
    /// Layers with routed experts.
    pub moe_layers: u64,
    /// Inner width of a dense feed-forward block; 0 if no layer has one.
    pub dense_width: u64,
    /// Routed experts of a layer (E).
    pub experts: u64,
    /// Routed experts that a token uses (K).
    pub experts_per_token: u64,
    /// Shared experts of a layer (S).
    pub shared_experts: u64,
    /// Inner width of one routed expert.
    pub expert_width: u64,
    /// Inner width of all shared experts of a layer together.
    pub shared_width: u64,
}

/// The parameter counts of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterCounts {
    /// The family whose rules were applied.
    pub family: &'static str,
    /// The scope of the count.
    pub scope: CountScope,
    /// Both objects by part.
    pub breakdown: Breakdown,
    /// Multi-token prediction layers, if the config has them; the default convention excludes them.
    pub mtp: Option<MtpCounts>,
    /// Whether the head is the embedding matrix.
    pub tied: bool,
    /// The shape.
    pub shape: ModelShape,
    /// Width of the feed-forward block that one token passes: `K·d_expert` plus the shared experts
    /// in a mixture, else the dense inner width.
    pub active_ffn_width: u64,
    /// Unknown fields of the config with names that do not look like a shape.
    pub ignored: Vec<String>,
    /// Omissions and assumptions of the count.
    pub notes: Vec<String>,
}

impl ParameterCounts {
    /// One object under one convention.
    pub fn count(&self, object: ParameterCount, convention: Convention) -> u64 {
        let counted = |breakdown: &Breakdown| -> u64 {
            let parts = breakdown.parts();
            parts
                .filter(|(part, _)| convention.counts(*part, self.tied))
                .map(|(_, count)| count.of(object))
                .sum()
        };
        let mtp = match (&self.mtp, convention.mtp(), object) {
            (None, ..) | (_, MtpShare::Nothing, _) => 0,
            (Some(mtp), MtpShare::WithCopies, ParameterCount::Total) => {
                counted(&mtp.breakdown) + mtp.copies
            }
            (Some(mtp), ..) => counted(&mtp.breakdown),
        };
        counted(&self.breakdown) + mtp
    }

    /// The conventions that can differ for this model: those about multi-token prediction only if it has any.
    pub fn conventions(&self) -> impl Iterator<Item = (Convention, Count)> + '_ {
        let apart =
            |convention: &Convention| self.mtp.is_some() || convention.mtp() == MtpShare::Nothing;
        Convention::ALL
            .into_iter()
            .filter(apart)
            .map(|convention| (convention, self.both(convention)))
    }

    /// The convention under which weights hold `total` parameters: most models with layers for multi-token prediction
    /// are published with them and without, some with copies of embeddings and head.
    pub fn stored_as(&self, total: u64) -> Option<Convention> {
        [Convention::Default, Convention::WithMtp, Convention::WithMtpCopies]
            .into_iter()
            .find(|convention| self.both(*convention).total == total)
    }

    /// Both objects under one convention.
    pub fn both(&self, convention: Convention) -> Count {
        Count {
            total: self.count(ParameterCount::Total, convention),
            active: self.count(ParameterCount::Active, convention),
        }
    }

    /// `P_total` under the default convention.
    pub fn total(&self) -> u64 {
        self.count(ParameterCount::Total, Convention::Default)
    }

    /// `P_active` under the default convention.
    pub fn active(&self) -> u64 {
        self.count(ParameterCount::Active, Convention::Default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(tied: bool) -> ParameterCounts {
        let sums = Sums::of([
            (Part::Embedding, 100.into()),
            (Part::Positions, 10.into()),
            (Part::Attention, 7.into()),
            (Part::Router, 3.into()),
            (Part::Head, if tied { Size::ZERO } else { 100.into() }),
        ])
        .routed(5.into(), 8.into(), 2.into());
        ParameterCounts {
            family: "test",
            scope: CountScope::Whole,
            breakdown: sums.finish().unwrap(),
            mtp: Some(MtpCounts {
                breakdown: Sums::of([(Part::Norms, 4.into())]).finish().unwrap(),
                copies: 1000,
            }),
            tied,
            shape: ModelShape::default(),
            active_ffn_width: 0,
            ignored: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn each_convention_leaves_out_what_it_says() {
        let counts = |tied| {
            Convention::ALL.map(|convention| {
                let count = counts(tied).both(convention);
                (count.total, count.active)
            })
        };
        let (mtp, copied, rest) = ((264, 234), (1264, 234), (54, 24));
        assert_eq!(
            counts(false),
            [
                (260, 230),
                (150, 120),
                (257, 227),
                (150, 120),
                (50, 20),
                (160, 130),
                mtp,
                copied,
                rest
            ]
        );
        let (mtp, copied) = ((164, 134), (1164, 134));
        assert_eq!(
            counts(true),
            [(160, 130), (50, 20), (157, 127), (150, 120), (50, 20), (160, 130), mtp, copied, rest]
        );
    }

    #[test]
    fn a_sum_beyond_u64_has_no_breakdown() {
        let half = Size::from(1 << 63);
        assert_eq!(Sums::of([(Part::Head, half), (Part::Other, half)]).finish(), None);
    }

    #[test]
    fn names_lead_back() {
        for convention in Convention::ALL {
            assert_eq!(Convention::named(convention.name()), Some(convention));
        }
        assert_eq!(Convention::named("everything"), None);
        for scope in CountScope::ALL {
            assert_eq!(CountScope::named(scope.name()), Some(scope));
        }
        for part in Part::ALL {
            assert_eq!(serde_json::to_value(part).unwrap(), part.name());
            assert_eq!(Part::ALL[part as usize], part);
        }
    }
}
