//! Predictors of text, seen from outside: rows of tokens go in, the nats of each next token come out.
//!
//! Owns the trait that models and exact sources share, and the packing of requests of any length into
//! rows of one length. What is asked, and what the answers mean, is left to `evaluate` and `tasks`.

use std::ops::Range;

/// The tokens of one forward where a scorer does not say.
const BATCH: usize = 4096;
/// Rows are padded to a multiple of this, so that few shapes occur.
const GRAIN: usize = 16;

/// A predictor of next tokens.
pub trait Scorer {
    /// Why it may fail.
    type Failure;

    /// The most tokens that a row may have.
    fn length(&self) -> usize;

    /// The tokens that it takes best in one call.
    fn batch(&self) -> usize {
        BATCH
    }

    /// The nats of each target after its row's inputs up to the same position, for `rows` rows of
    /// equal length. What a row gives depends on that row alone, and a position on nothing after it.
    fn rows(
        &mut self,
        inputs: &[u32],
        targets: &[u32],
        rows: usize,
    ) -> Result<RowScores, Self::Failure>;

    /// The nats of each continuation after its context.
    fn score(
        &mut self,
        requests: &[ScoreRequest],
    ) -> Result<Vec<ContinuationScore>, Self::Failure> {
        let mut windows = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            windows.extend(Window::of(at, request, self.length()));
        }
        let mut order: Vec<usize> = (0..windows.len()).collect();
        order.sort_by_key(|at| windows.get(*at).map_or(0, |window| window.inputs.len()));
        let mut scores = vec![ContinuationScore { nats: 0.0, greedy: true }; windows.len()];
        let mut rest = order.as_slice();
        while let Some((together, after)) = split(rest, &windows, self.batch(), self.length()) {
            let chosen: Vec<&Window> = together.iter().filter_map(|at| windows.get(*at)).collect();
            let found = batch(self, requests, &chosen)?;
            for (at, score) in together.iter().zip(found) {
                if let Some(slot) = scores.get_mut(*at) {
                    *slot = score;
                }
            }
            rest = after;
        }
        Ok(sums(requests.len(), &windows, &scores))
    }
}

/// The scores of rows of tokens.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowScores {
    /// The nats of each target.
    pub nats: Vec<f32>,
    /// Whether each target was the most likely token.
    pub greedy: Vec<bool>,
    /// For each layer that routes: how many of the tokens went to each of its experts.
    pub loads: Vec<Vec<u64>>,
}

/// A continuation to be scored after a context, which has at least one token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreRequest {
    /// The context; of a longer one than fits, the end counts.
    pub context: Vec<u32>,
    /// The scored continuation.
    pub continuation: Vec<u32>,
}

/// The cost of a continuation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContinuationScore {
    /// The sum of its nats.
    pub nats: f64,
    /// Whether each of its tokens was the most likely one.
    pub greedy: bool,
}

impl ScoreRequest {
    /// Whether tokens of the context are left out by a scorer that takes rows of `length` tokens.
    pub fn is_cut(&self, length: usize) -> bool {
        self.tokens() > length + 1
    }

    /// Leaves out the part of the context that no row of `length` tokens holds.
    pub fn cut(&mut self, length: usize) {
        let beside = (length + 1).checked_sub(self.continuation.len()).filter(|kept| *kept > 0);
        let kept = beside.unwrap_or(length).max(1);
        self.context.drain(..self.context.len().saturating_sub(kept));
    }

    fn tokens(&self) -> usize {
        self.context.len() + self.continuation.len()
    }

    fn token(&self, at: usize) -> Option<u32> {
        let after = at.checked_sub(self.context.len());
        match after {
            None => self.context.get(at).copied(),
            Some(after) => self.continuation.get(after).copied(),
        }
    }
}

/// A part of a request that fits into a row: the tokens that go in, and which of their successors count.
struct Window {
    request: usize,
    inputs: Range<usize>,
    /// The position in the row from which targets count.
    counted: usize,
}

impl Window {
    /// The windows of a request, in order: one that ends with it where the continuation fits, else
    /// several, so that at least half of each precedes what it counts, as far as there is so much.
    fn of(at: usize, request: &ScoreRequest, length: usize) -> Vec<Self> {
        let (length, end) = (length.max(1), request.tokens().saturating_sub(1));
        let mut counted = request.context.len().saturating_sub(1);
        let stride = if end - counted.min(end) <= length { length } else { length.div_ceil(2) };
        let mut windows = Vec::new();
        while counted < end {
            let stop = (counted + stride).max(length).min(end);
            let start = stop.saturating_sub(length);
            windows.push(Self { request: at, inputs: start..stop, counted: counted - start });
            counted = stop;
        }
        windows
    }
}

/// The next windows that go in together, and those after them.
fn split<'o>(
    order: &'o [usize],
    windows: &[Window],
    batch: usize,
    length: usize,
) -> Option<(&'o [usize], &'o [usize])> {
    let longest = windows.get(*order.last()?)?.inputs.len();
    let rows = (batch / padded(longest, length)).clamp(1, order.len());
    let (after, together) = order.split_at_checked(order.len() - rows)?;
    Some((together, after))
}

fn padded(longest: usize, length: usize) -> usize {
    longest.next_multiple_of(GRAIN).min(length.max(longest)).max(1)
}

/// Scores windows that go in together, padded at the end, where nothing that counts looks.
fn batch<S: Scorer + ?Sized>(
    scorer: &mut S,
    requests: &[ScoreRequest],
    windows: &[&Window],
) -> Result<Vec<ContinuationScore>, S::Failure> {
    let longest = windows.iter().map(|window| window.inputs.len()).max().unwrap_or(0);
    let width = padded(longest, scorer.length());
    let mut inputs = Vec::with_capacity(width * windows.len());
    let mut targets = Vec::with_capacity(width * windows.len());
    for window in windows {
        let token = |at: usize| requests.get(window.request).and_then(|r| r.token(at)).unwrap_or(0);
        let padding = width - window.inputs.len();
        inputs.extend(window.inputs.clone().map(token).chain(std::iter::repeat_n(0, padding)));
        let after = window.inputs.clone().map(|at| token(at + 1));
        targets.extend(after.chain(std::iter::repeat_n(0, padding)));
    }
    let rows = scorer.rows(&inputs, &targets, windows.len())?;
    let answers = rows.nats.chunks(width).zip(rows.greedy.chunks(width));
    let scored = windows.iter().zip(answers).map(|(window, (nats, greedy))| {
        let of_row = nats.iter().zip(greedy).take(window.inputs.len()).skip(window.counted);
        of_row.fold(ContinuationScore { nats: 0.0, greedy: true }, |sum, (nats, greedy)| {
            ContinuationScore { nats: sum.nats + f64::from(*nats), greedy: sum.greedy && *greedy }
        })
    });
    Ok(scored.collect())
}

/// Adds the windows of each request, in their order.
fn sums(
    requests: usize,
    windows: &[Window],
    scores: &[ContinuationScore],
) -> Vec<ContinuationScore> {
    let mut sums = vec![ContinuationScore { nats: 0.0, greedy: true }; requests];
    for (window, score) in windows.iter().zip(scores) {
        if let Some(sum) = sums.get_mut(window.request) {
            sum.nats += score.nats;
            sum.greedy &= score.greedy;
        }
    }
    sums
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::backend::Host;
    use crate::model::{Balancing, Config, MixtureConfig, Model};
    use proptest::prelude::*;
    use repro_core::source::Error;
    use repro_kernels::portable::Isa;
    use repro_kernels::portable::router::Gate;

    /// A source whose next token depends on how many tokens the row has had and on the last of them:
    /// exact, and the same whatever stands beside or after.
    #[derive(Debug)]
    pub struct Counting {
        pub length: usize,
        pub batch: usize,
        pub widths: Vec<(usize, usize)>,
    }

    impl Counting {
        pub fn new(length: usize, batch: usize) -> Self {
            Self { length, batch, widths: Vec::new() }
        }

        /// The nats of `target` after `seen` tokens, of which `last` was the last.
        pub fn nats(seen: usize, last: u32, target: u32) -> f32 {
            (seen as f32 + 0.25) * 0.5 + last as f32 + if target == last + 1 { 0.0 } else { 3.0 }
        }
    }

    impl Scorer for Counting {
        type Failure = String;

        fn length(&self) -> usize {
            self.length
        }

        fn batch(&self) -> usize {
            self.batch
        }

        fn rows(
            &mut self,
            inputs: &[u32],
            targets: &[u32],
            rows: usize,
        ) -> Result<RowScores, String> {
            let width = inputs.len() / rows.max(1);
            self.widths.push((rows, width));
            if width > self.length || width * rows != inputs.len() || targets.len() != inputs.len()
            {
                return Err(format!("{rows} rows of {} tokens", inputs.len()));
            }
            let each = |at: usize| (at % width, inputs[at], targets[at]);
            let nats = |(seen, last, target)| Self::nats(seen, last, target);
            Ok(RowScores {
                nats: (0..inputs.len()).map(each).map(nats).collect(),
                greedy: (0..inputs.len())
                    .map(each)
                    .map(|(_, last, next)| next == last + 1)
                    .collect(),
                loads: Vec::new(),
            })
        }
    }

    /// A source that knows how often each byte followed each other in a text: exact, whatever the row.
    #[derive(Debug)]
    pub struct Bigrams {
        pub length: usize,
        counts: Vec<[u32; 256]>,
    }

    impl Bigrams {
        /// Counts the neighbouring pairs in `text`, each once more than it occurs.
        pub fn of(text: &str, length: usize) -> Self {
            let mut counts = vec![[1; 256]; 256];
            for pair in text.as_bytes().windows(2) {
                counts[usize::from(pair[0])][usize::from(pair[1])] += 1;
            }
            Self { length, counts }
        }

        /// The probability of a byte after another.
        pub fn probability(&self, before: u8, next: u8) -> f64 {
            let counts = &self.counts[usize::from(before)];
            f64::from(counts[usize::from(next)]) / f64::from(counts.iter().sum::<u32>())
        }
    }

    impl Scorer for Bigrams {
        type Failure = Error;

        fn length(&self) -> usize {
            self.length
        }

        fn rows(&mut self, inputs: &[u32], targets: &[u32], _: usize) -> Result<RowScores, Error> {
            let pairs = || inputs.iter().zip(targets).map(|(a, b)| (*a as u8, *b as u8));
            let most = |before: u8| *self.counts[usize::from(before)].iter().max().unwrap();
            let greedy = |(a, b): (u8, u8)| self.counts[usize::from(a)][usize::from(b)] == most(a);
            Ok(RowScores {
                nats: pairs().map(|(a, b)| -self.probability(a, b).ln() as f32).collect(),
                greedy: pairs().map(greedy).collect(),
                loads: vec![vec![inputs.len() as u64, 0]],
            })
        }
    }

    fn request(context: &[u32], continuation: &[u32]) -> ScoreRequest {
        ScoreRequest { context: context.to_vec(), continuation: continuation.to_vec() }
    }

    #[test]
    fn a_continuation_costs_its_own_tokens_alone() {
        let mut source = Counting::new(8, 64);
        let requests =
            [request(&[5, 6], &[7, 9]), request(&[1], &[2, 3, 4]), request(&[4, 4, 4], &[])];
        let scores = source.score(&requests).unwrap();
        let nats = f64::from(Counting::nats(1, 6, 7) + Counting::nats(2, 7, 9));
        assert_eq!(scores[0], ContinuationScore { nats, greedy: false });
        assert_eq!(
            (scores[1].nats, scores[1].greedy),
            (0.375 + 1.0 + 0.625 + 2.0 + 1.125 + 3.0 - 0.25, true)
        );
        assert_eq!(scores[2], ContinuationScore { nats: 0.0, greedy: true });
        assert_eq!(source.widths, [(2, 8)]);
    }

    #[test]
    fn what_does_not_fit_loses_the_beginning_of_its_context() {
        let mut source = Counting::new(4, 64);
        let long: Vec<u32> = (10..20).collect();
        let whole = source.score(&[request(&long, &[20, 21])]).unwrap();
        let kept = source.score(&[request(&long[7..], &[20, 21])]).unwrap();
        assert_eq!(whole, kept);
        assert!(request(&long, &[20, 21]).is_cut(4) && !request(&long[7..], &[20, 21]).is_cut(4));
        // A continuation longer than a row: two tokens count in each window, after two others.
        let scores = source.score(&[request(&long, &[20, 21, 22, 23, 24])]).unwrap();
        let expected = [(2, 19), (3, 20), (2, 21), (3, 22), (3, 23)];
        let nats = |(seen, last): &(usize, u32)| f64::from(Counting::nats(*seen, *last, last + 1));
        assert_eq!(scores[0].nats, expected.iter().map(nats).sum::<f64>());
        assert!(scores[0].greedy);
    }

    /// A model with fresh weights, which takes so many tokens at a time.
    struct Fresh {
        model: Model<Host>,
        batch: usize,
    }

    impl Fresh {
        fn new(mixture: Option<MixtureConfig>, batch: usize) -> Self {
            let config = Config {
                vocab_size: 37,
                hidden_size: 24,
                num_hidden_layers: 2,
                num_attention_heads: 4,
                num_key_value_heads: 2,
                head_dim: 6,
                intermediate_size: 20,
                tie_word_embeddings: false,
                norm_eps: 1e-5,
                angles: Some(crate::model::Angles::Exact { theta: 1e4 }),
                variations: Default::default(),
                precision: Default::default(),
                rounding_seed: None,
                seq_len: 50,
                mixture,
            };
            Self { model: Model::new(&config, Host::new(Isa::best()), 1), batch }
        }
    }

    impl Scorer for Fresh {
        type Failure = crate::model::Failure;

        fn length(&self) -> usize {
            self.model.config().seq_len
        }

        fn batch(&self) -> usize {
            self.batch
        }

        fn rows(
            &mut self,
            inputs: &[u32],
            targets: &[u32],
            rows: usize,
        ) -> Result<RowScores, Self::Failure> {
            let scored = self.model.nats(crate::model::Sequences::new(inputs, targets, rows))?;
            let loads = scored.layers.into_iter().map(|load| load.counts).collect();
            Ok(RowScores { nats: scored.nats, greedy: scored.greedy, loads })
        }
    }

    /// Rows next to or after a row of a model do not influence it: to the last bit.
    #[test]
    fn a_model_gives_the_same_bits_however_rows_are_packed() {
        let sparse = MixtureConfig {
            num_experts: 6,
            num_experts_per_tok: 2,
            moe_intermediate_size: 10,
            num_shared_experts: 1,
            num_dense_layers: 1,
            gate: Gate::Softmax,
            norm_topk_prob: true,
            balancing: Balancing::None,
            z_coefficient: 0.0,
        };
        let token = |at: usize| ((at * at + at / 3) % 37) as u32;
        let requests: Vec<_> = (0..23_usize)
            .map(|at| ScoreRequest {
                context: (at..at + 1 + at * 5 % 60).map(token).collect(),
                continuation: (at * 3..at * 3 + 1 + at * 11 % 70).map(token).collect(),
            })
            .collect();
        for mixture in [None, Some(sparse)] {
            let score = |batch, threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut source = Fresh::new(mixture.clone(), batch);
                pool.install(|| source.score(&requests).unwrap())
            };
            let alone = score(1, 1);
            assert!(alone.iter().all(|score| score.nats > 1.0), "{alone:?}");
            for (batch, threads) in [(100, 1), (256, 3), (100_000, 2)] {
                assert_eq!(score(batch, threads), alone, "{batch} tokens, {threads} threads");
            }
        }
    }

    proptest! {
        /// Every token of every continuation counts once, whatever goes in together; what is cut away
        /// is what no row would have held.
        #[test]
        fn packing_changes_nothing(
            sizes in proptest::collection::vec((1_usize..40, 0_usize..40), 1..12),
            length in 1_usize..40,
            batch in 1_usize..200,
        ) {
            let requests: Vec<ScoreRequest> = sizes.iter().enumerate().map(|(at, (before, after))| {
                let token = |i: usize| ((i * 7 + at) % 50) as u32;
                request(&(0..*before).map(token).collect::<Vec<_>>(), &(0..*after).map(token).collect::<Vec<_>>())
            }).collect();
            let mut source = Counting::new(length, batch);
            let together = source.score(&requests).unwrap();
            for (request, score) in requests.iter().zip(&together) {
                let mut alone = Counting::new(length, 1);
                prop_assert_eq!(&alone.score(std::slice::from_ref(request)).unwrap()[0], score);
                let mut cut = request.clone();
                cut.cut(length);
                prop_assert_eq!(&alone.score(&[cut]).unwrap()[0], score);
                let windows = Window::of(0, request, length);
                let counted: usize = windows.iter().map(|w| w.inputs.len() - w.counted).sum();
                prop_assert_eq!(counted, request.continuation.len());
            }
        }
    }
}
