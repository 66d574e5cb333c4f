//! The router of a mixture of experts: which experts a token goes to, with what weight, and how evenly
//! the tokens are spread.

use rayon::prelude::*;

use super::isa::portable;
use super::reduce::{largest, sum};
use super::swiglu::sigmoid;
use super::{Isa, Real};

/// Tokens whose shares and squares are one sum.
pub const TOKENS: usize = 64;

/// How logits become scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `p_j = e^(x_j - m) / S`, where m is the largest logit and `S = sum e^(x_j - m)`.
    Softmax,
    /// `s_j = 1 / (1 + e^-x_j)`.
    Sigmoid,
}

/// How a token's experts are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Router {
    /// Scores of the logits.
    pub gate: Gate,
    /// Experts.
    pub experts: usize,
    /// Experts of each token.
    pub per_token: usize,
    /// Whether the gates of a token are divided by their sum.
    pub normalized: bool,
}

/// How much the losses of the router weigh.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Coefficients {
    /// Of [`Routing::balance`].
    pub balance: f64,
    /// Of [`Routing::z`].
    pub z: f64,
}

/// The router's decisions for some tokens.
#[derive(Debug)]
pub struct Routing<T> {
    router: Router,
    logits: Vec<T>,
    scores: Vec<T>,
    /// The natural logarithm of the sum of `e^x` of each token.
    lse: Vec<T>,
    /// The experts of each token, rising.
    pub chosen: Vec<u32>,
    /// The weight of each of them.
    pub gates: Vec<T>,
    /// The tokens of each expert.
    pub counts: Vec<u64>,
    /// The sum over tokens of each expert's share of the token's scores.
    pub shares: Vec<f64>,
    /// The sum over tokens of `lse^2`.
    squares: f64,
    /// The fraction of all choices per expert in the gradient of the balance loss, if it is not the expert's own.
    parts: Option<Vec<f64>>,
}

/// The numbers of some consecutive tokens.
struct Tokens<'a, T> {
    logits: &'a [T],
    scores: &'a mut [T],
    lse: &'a mut [T],
    chosen: &'a mut [u32],
    gates: &'a mut [T],
}

impl Router {
    /// Chooses by rising search for the largest score plus `bias`, the lowest expert of equals; the gate
    /// is the score without bias. Shares and squares are summed in float64: [`TOKENS`] tokens in order
    /// from +0, then these sums in order from +0.
    ///
    /// # Panics
    /// Where the shapes do not fit, or a token has more experts than there are.
    pub fn choose<T: Real>(self, isa: Isa, logits: &[T], bias: Option<&[T]>) -> Routing<T> {
        let Self { experts, per_token, .. } = self;
        assert!(
            per_token > 0
                && per_token <= experts
                && logits.len().is_multiple_of(experts)
                && bias.is_none_or(|bias| bias.len() == experts),
            "the shape of a router"
        );
        let n = logits.len() / experts;
        let mut routing = Routing {
            router: self,
            logits: logits.to_vec(),
            scores: vec![T::ZERO; n * experts],
            lse: vec![T::ZERO; n],
            chosen: vec![0; n * per_token],
            gates: vec![T::ZERO; n * per_token],
            counts: vec![0; experts],
            shares: vec![0.0; experts],
            squares: 0.0,
            parts: None,
        };
        let numbers = routing.scores.par_chunks_mut(TOKENS * experts);
        let slots = routing.chosen.par_chunks_mut(TOKENS * per_token);
        let sums: Vec<_> = numbers
            .zip(logits.par_chunks(TOKENS * experts))
            .zip(routing.lse.par_chunks_mut(TOKENS))
            .zip(slots.zip(routing.gates.par_chunks_mut(TOKENS * per_token)))
            .map(|(((scores, logits), lse), (chosen, gates))| {
                choose(isa, self, bias, Tokens { logits, scores, lse, chosen, gates })
            })
            .collect();
        for (shares, squares) in sums {
            for (sum, shares) in routing.shares.iter_mut().zip(shares) {
                *sum += shares;
            }
            routing.squares += squares;
        }
        for expert in &routing.chosen {
            routing.counts[*expert as usize] += 1;
        }
        routing
    }
}

portable! {
    fn choose<T: Real>(router: Router, bias: Option<&[T]>, tokens: Tokens<'_, T>) -> (Vec<f64>, f64) {
        let Router { experts, per_token, gate, normalized } = router;
        let Tokens { logits, scores, lse, chosen, gates } = tokens;
        let (mut shares, mut squares) = (vec![0.0; experts], 0.0);
        let (mut taken, mut left) = (vec![false; experts], vec![T::ZERO; experts]);
        for (token, lse) in lse.iter_mut().enumerate() {
            let x = &logits[token * experts..][..experts];
            let s = &mut scores[token * experts..][..experts];
            let slots = token * per_token..(token + 1) * per_token;
            *lse = score(gate, x, s);
            take(s, bias, per_token, (&mut taken, &mut left));
            let all = (0..experts).filter(|expert| taken[*expert]);
            for (slot, expert) in slots.clone().zip(all) {
                chosen[slot] = expert as u32;
                gates[slot] = s[expert];
            }
            if normalized {
                let total = total(&gates[slots.clone()]);
                for gate in &mut gates[slots] {
                    *gate /= total;
                }
            }
            let total = of_one(gate, s);
            for (share, s) in shares.iter_mut().zip(&*s) {
                *share += (*s / total).to_f64();
            }
            squares += lse.to_f64() * lse.to_f64();
        }
        (shares, squares)
    }
}

/// Writes the scores of a token; returns the logarithm of the sum of its exponentials, `ln S + m`.
#[inline(always)]
fn score<T: Real>(gate: Gate, x: &[T], s: &mut [T]) -> T {
    let most = largest(x);
    for (s, x) in s.iter_mut().zip(x) {
        *s = (*x - most).exponential();
    }
    let total = sum([&*s], |[s]| s);
    match gate {
        Gate::Softmax => s.iter_mut().for_each(|s| *s /= total),
        Gate::Sigmoid => s.iter_mut().zip(x).for_each(|(s, x)| *s = sigmoid(*x)),
    }
    total.logarithm() + most
}

/// Marks the experts of a token; `left` is room for the scores of those that are left. What is no number is
/// taken only where nothing else is left.
#[inline(always)]
fn take<T: Real>(
    s: &[T],
    bias: Option<&[T]>,
    per_token: usize,
    (taken, left): (&mut [bool], &mut [T]),
) {
    taken.fill(false);
    left.copy_from_slice(s);
    if let Some(bias) = bias {
        left.iter_mut().zip(bias).for_each(|(left, bias)| *left += *bias);
    }
    for _ in 0..per_token {
        let most = largest(left);
        let best = left.iter().position(|left| *left == most);
        if let Some(best) = best.or_else(|| taken.iter().position(|taken| !taken)) {
            taken[best] = true;
            left[best] = T::from_f64(f64::NAN);
        }
    }
}

/// The sum of a few numbers in order, from the first.
#[inline(always)]
fn total<T: Real>(values: &[T]) -> T {
    let (first, rest) =
        values.split_first().map_or((T::ZERO, values), |(first, rest)| (*first, rest));
    rest.iter().fold(first, |sum, value| sum + *value)
}

/// The sum of a token's scores.
#[inline(always)]
fn of_one<T: Real>(gate: Gate, s: &[T]) -> T {
    match gate {
        Gate::Softmax => T::ONE,
        Gate::Sigmoid => sum([s], |[s]| s),
    }
}

/// The loss of uneven loads (W. Fedus et al., 2021): `E sum f_e P_e`, where f is an expert's part of all choices and P its
/// mean share of the scores of so many tokens, in rising e, in float64. One where all is even.
pub fn balance(counts: &[u64], shares: &[f64], tokens: usize) -> f64 {
    let slots = counts.iter().sum::<u64>() as f64;
    let sum = std::iter::zip(counts, shares)
        .fold(0.0, |sum, (count, shares)| sum + *count as f64 / slots * (shares / tokens as f64));
    sum * counts.len() as f64
}

impl<T: Real> Routing<T> {
    /// Tokens that were routed.
    pub fn tokens(&self) -> usize {
        self.lse.len()
    }

    /// The loss of uneven loads ([`balance`]).
    pub fn balance(&self) -> f64 {
        balance(&self.counts, &self.shares, self.tokens())
    }

    /// Tokens one of whose experts has no larger score than one that was not chosen: other programs may choose that one.
    pub fn undecided(&self) -> u64 {
        let Router { experts, per_token, .. } = self.router;
        let tokens = self.scores.chunks_exact(experts).zip(self.chosen.chunks_exact(per_token));
        let is_tie = |(scores, chosen): &(&[T], &[u32])| {
            let least = chosen
                .iter()
                .map(|expert| scores[*expert as usize])
                .reduce(|a, b| if b < a { b } else { a });
            let mut others =
                scores.iter().enumerate().filter(|(at, _)| !chosen.contains(&(*at as u32)));
            least.is_some_and(|least| others.any(|(_, score)| *score >= least))
        };
        tokens.filter(is_tie).count() as u64
    }

    /// Takes the balance loss over several layers at once, as transformers does: `E sum F_e P_e`, where F is the number of
    /// choices of an expert in all layers by their tokens, and P its mean share of the scores there. `counts` are the
    /// choices of each expert in all of so many layers.
    pub fn balance_jointly(&mut self, counts: &[u64], layers: usize) {
        let tokens = (layers * self.tokens()) as f64;
        let part = |count: &u64| *count as f64 / tokens / layers as f64;
        self.parts = Some(counts.iter().map(part).collect());
    }

    /// The loss of large logits (B. Zoph et al., 2022): the mean of `lse^2`.
    pub fn z(&self) -> f64 {
        self.squares / self.tokens() as f64
    }

    /// The gradient of the logits from those of the gates and from the losses. For an expert j of a token
    /// let u be the score's gradient from the gates: that of the gate, or with normalised gates
    /// `(g_j - sum g gate) / T` over the token's experts, where T is the sum of their scores; nought for
    /// the others. Let `b_j = balance E f_j / n` and `z = (2 z / n) lse`. Softmax:
    /// `p_j ((u_j + b_j) - sum p (u + b)) + z p_j`. Sigmoid, with t the sum of all scores:
    /// `(u_j + (b_j - (sum s b) / t) / t) (s_j (1 - s_j)) + z e^(x_j - lse)`.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn backward(&self, isa: Isa, losses: Coefficients, g_gates: &[T], into: &mut [T]) {
        let (experts, per_token) = (self.router.experts, self.router.per_token);
        assert!(
            g_gates.len() == self.gates.len() && into.len() == self.logits.len(),
            "the shape of a router"
        );
        let (n, slots) = (self.tokens() as f64, self.chosen.len() as f64);
        let own = |count: &u64| *count as f64 / slots;
        let own = || self.counts.iter().map(own).collect();
        let parts: Vec<f64> = self.parts.clone().unwrap_or_else(own);
        let uneven = |part: &f64| T::from_f64(losses.balance * experts as f64 * part / n);
        let balance: Vec<T> = parts.iter().map(uneven).collect();
        let z = T::from_f64(2.0 * losses.z / n);
        into.par_chunks_mut(TOKENS * experts)
            .zip(g_gates.par_chunks(TOKENS * per_token))
            .enumerate()
            .for_each(|(number, (into, g_gates))| {
                backward(isa, self, number * TOKENS, &balance, z, g_gates, into);
            });
    }
}

portable! {
    fn backward<T: Real>(
        routing: &Routing<T>, from: usize, balance: &[T], z: T, g_gates: &[T], into: &mut [T],
    ) {
        let Router { experts, per_token, gate, normalized } = routing.router;
        let tokens = into.chunks_exact_mut(experts).zip(g_gates.chunks_exact(per_token));
        for (number, (into, g_gates)) in tokens.enumerate() {
            let token = from + number;
            let (row, slots) = (token * experts, token * per_token);
            let (x, s) = (&routing.logits[row..][..experts], &routing.scores[row..][..experts]);
            let chosen = &routing.chosen[slots..][..per_token];
            let gates = &routing.gates[slots..][..per_token];
            let lse = routing.lse[token];
            into.fill(T::ZERO);
            let (mean, divisor) = match normalized {
                true => (dot(g_gates, gates), of_chosen(s, chosen)),
                false => (T::ZERO, T::ONE),
            };
            for (expert, g_gate) in chosen.iter().zip(g_gates) {
                into[*expert as usize] = (*g_gate - mean) / divisor;
            }
            let z = z * lse;
            match gate {
                Gate::Softmax => {
                    for (into, balance) in into.iter_mut().zip(balance) {
                        *into += *balance;
                    }
                    let mean = sum([s, &*into], |[s, g]| s * g);
                    for (into, s) in into.iter_mut().zip(s) {
                        *into = *s * (*into - mean) + z * *s;
                    }
                }
                Gate::Sigmoid => {
                    let total = of_one(gate, s);
                    let mean = sum([s, balance], |[s, b]| s * b) / total;
                    for j in 0..experts {
                        let slope = s[j] * (T::ONE - s[j]);
                        let share = (balance[j] - mean) / total;
                        into[j] = (into[j] + share) * slope + z * (x[j] - lse).exponential();
                    }
                }
            }
        }
    }
}

/// The sum of products of a few numbers in order, from the first.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut products = a.iter().zip(b).map(|(a, b)| *a * *b);
    let first = products.next().unwrap_or(T::ZERO);
    products.fold(first, |sum, product| sum + product)
}

/// The sum of the scores of a token's experts, from the first.
#[inline(always)]
fn of_chosen<T: Real>(s: &[T], chosen: &[u32]) -> T {
    let mut scores = chosen.iter().map(|expert| s[*expert as usize]);
    let first = scores.next().unwrap_or(T::ZERO);
    scores.fold(first, |sum, score| sum + score)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFTMAX: Router =
        Router { gate: Gate::Softmax, experts: 4, per_token: 2, normalized: true };

    #[test]
    fn the_largest_scores_are_chosen_and_the_lowest_of_equals() {
        let logits = [1.0_f64, 3.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, -1.0, f64::NAN, 5.0, 4.0];
        for isa in Isa::available() {
            let routing = SOFTMAX.choose(isa, &logits[..8], None);
            assert_eq!(routing.chosen, [1, 3, 0, 1]);
            assert_eq!(routing.counts, [1, 2, 0, 1]);
            let ratio = 1.0_f64.exp();
            assert!((routing.gates[0] - ratio / (1.0 + ratio)).abs() < 1e-15);
            assert_eq!(routing.gates[2..], [0.5, 0.5]);
            // Whatever is no number is chosen last, and does not stop the search.
            let sigmoid = Router { gate: Gate::Sigmoid, ..SOFTMAX };
            assert_eq!(sigmoid.choose(isa, &logits[8..], None).chosen, [2, 3]);
            assert_eq!(sigmoid.choose(isa, &[f64::NAN; 4], None).chosen, [0, 1]);
        }
    }

    #[test]
    fn a_bias_chooses_and_does_not_weigh() {
        let sigmoid = Router { gate: Gate::Sigmoid, normalized: false, ..SOFTMAX };
        let routing =
            sigmoid.choose(Isa::best(), &[0.0_f64, 1.0, 2.0, 3.0], Some(&[9.0, 8.0, 0.0, 0.0]));
        assert_eq!(routing.chosen, [0, 1]);
        assert_eq!(routing.gates, [0.5, 1.0 / (1.0 + libm::exp(-1.0))]);
    }

    #[test]
    fn losses_are_those_of_their_definitions() {
        // 70 tokens are two chunks; all of them prefer expert 0, and then expert 1.
        let logits = [2.0_f64, 1.0, 0.0, 0.0].repeat(70);
        let routing = SOFTMAX.choose(Isa::best(), &logits, None);
        let total = 2.0_f64.exp() + 1.0_f64.exp() + 2.0;
        let share = (2.0_f64.exp() + 1.0_f64.exp()) / total;
        assert!((routing.balance() - 4.0 * 0.5 * share).abs() < 1e-14);
        assert!((routing.z() - total.ln() * total.ln()).abs() < 1e-13);
        assert_eq!((routing.tokens(), &routing.counts[..]), (70, &[70, 70, 0, 0][..]));
        assert!((routing.shares.iter().sum::<f64>() - 70.0).abs() < 1e-12);
        // Without experts that differ, the loss is one.
        let even = Router { per_token: 4, ..SOFTMAX }.choose(Isa::best(), &[0.5_f64; 4], None);
        assert_eq!(even.balance(), 1.0);
    }

    #[test]
    fn the_gradient_of_softmax_logits_adds_up_to_nothing_without_the_z_loss() {
        let logits: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 11) / 3.0).collect();
        let routing = SOFTMAX.choose(Isa::best(), &logits, None);
        let mut into = vec![f64::NAN; 40];
        let losses = Coefficients { balance: 0.5, z: 0.0 };
        routing.backward(Isa::best(), losses, &[0.3; 20], &mut into);
        assert!(into.chunks(4).all(|token| token.iter().sum::<f64>().abs() < 1e-15));
        assert!(into.iter().any(|gradient| gradient.abs() > 1e-4));
    }
}
