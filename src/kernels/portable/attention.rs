//! Causal attention of grouped heads, rotation included.
//!
//! Queries, keys and values of a token lie in one row: `heads` queries, then `key_value_heads` keys, then
//! as many values, each `head_dim` long. Queries are worked on in tiles of 32 rows; a tile sees the keys
//! up to its own last one, those after a row's own having the probability 0.

use rayon::prelude::*;

use super::activation::{cap, cap_back};
use super::isa::portable;
use super::reduce::{largest, sum};
use super::rope::Rope;
use super::rounding::{Rounding, narrow};
use super::{Isa, Matrix, Packed, Real, buffer};

/// Rows of a tile: part of the formula, since sums over keys or queries begin and end with it.
pub const TILE: usize = 32;

/// Numbers of a line of the cache, roughly.
const LINE: usize = 16;

/// The shape of attention, its angles, and what models of others do besides.
#[derive(Debug, Clone)]
pub struct AttentionShape<T> {
    heads: usize,
    key_value_heads: usize,
    head_dim: usize,
    rope: Option<Rope<T>>,
    /// The factor of scores.
    scale: T,
    /// The soft limit of scores.
    cap: Option<T>,
    /// So many tokens are seen, the own one and those before it.
    window: Option<usize>,
    /// Scores, and the sums by which their gradients are found, are off as those of another program may be, by this seed.
    other_sums: Option<u64>,
    /// How probabilities, the gradients of scores, and the outputs by which these are found are rounded inside, if they are.
    rounding: Option<Rounding>,
}

/// Where the tokens of sequences stand, if not one after the other in one document.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenPlaces<'a> {
    /// The document of each token, which sees no token of others; empty where all are of one.
    pub documents: &'a [u32],
    /// The position of each token, by which it is rotated; empty where they are 0, 1, ...
    pub positions: &'a [u32],
}

impl<'a> TokenPlaces<'a> {
    /// Those of some tokens.
    pub fn of(self, from: usize, count: usize) -> Self {
        let part = |all: &'a [u32]| if all.is_empty() { all } else { &all[from..from + count] };
        Self { documents: part(self.documents), positions: part(self.positions) }
    }
}

impl<T: Real> AttentionShape<T> {
    /// Attention over at most `positions` tokens, rotated by angles of this base.
    ///
    /// # Panics
    /// Where keys and values cannot be shared evenly, or a head cannot be halved.
    pub fn new(
        heads: usize,
        key_value_heads: usize,
        head_dim: usize,
        positions: usize,
        theta: f64,
    ) -> Self {
        assert!(head_dim.is_multiple_of(2), "halves of a head");
        Self::of(heads, key_value_heads, head_dim, Some(Rope::new(positions, head_dim, theta)))
    }

    /// Attention with these angles, or without any.
    ///
    /// # Panics
    /// Where keys and values cannot be shared evenly, or the angles are not those of a head.
    pub fn of(
        heads: usize,
        key_value_heads: usize,
        head_dim: usize,
        rope: Option<Rope<T>>,
    ) -> Self {
        assert!(key_value_heads > 0 && heads.is_multiple_of(key_value_heads), "groups of heads");
        let is_wide = |rope: &Rope<T>| rope.width() == head_dim;
        assert!(head_dim > 0 && rope.as_ref().is_none_or(is_wide), "the width of a head");
        let scale = T::ONE / T::from_f64(head_dim as f64).sqrt();
        Self {
            heads,
            key_value_heads,
            head_dim,
            rope,
            scale,
            cap: None,
            window: None,
            other_sums: None,
            rounding: None,
        }
    }

    /// With this factor of scores in place of `1 / sqrt(head_dim)`.
    pub fn scaled(self, scale: f64) -> Self {
        Self { scale: T::from_f64(scale), ..self }
    }

    /// With a soft limit of scores: `cap tanh(s / cap)` (Gemma Team, 2024).
    pub fn capped(self, cap: Option<f64>) -> Self {
        Self { cap: cap.map(T::from_f64), ..self }
    }

    /// Seeing so many tokens, the own one and those before it.
    pub fn windowed(self, window: Option<usize>) -> Self {
        Self { window, ..self }
    }

    /// The heads of queries, those of keys and of values, and the numbers of each.
    pub fn heads(&self) -> [usize; 3] {
        [self.heads, self.key_value_heads, self.head_dim]
    }

    /// Whether nothing inside of it is rounded, and nothing off on purpose.
    pub fn is_exact(&self) -> bool {
        self.rounding.is_none() && self.other_sums.is_none()
    }

    /// The soft limit of scores, if there is one.
    pub fn cap(&self) -> Option<T> {
        self.cap
    }

    /// How many tokens are seen, if not all.
    pub fn window(&self) -> Option<usize> {
        self.window
    }

    /// The angles, where there are any.
    pub fn rope(&self) -> Option<&Rope<T>> {
        self.rope.as_ref()
    }

    /// The factor of scores.
    pub fn scale(&self) -> T {
        self.scale
    }

    /// Numbers of a row of queries, keys and values.
    pub fn width(&self) -> usize {
        (self.heads + 2 * self.key_value_heads) * self.head_dim
    }

    /// Numbers of a row of the output.
    pub fn output_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Rotates queries and keys in place, and writes the output, for sequences of `length` tokens that
    /// follow each other. Each thread of the current pool takes sequences.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn forward(
        &self,
        isa: Isa,
        length: usize,
        places: TokenPlaces<'_>,
        rows: &mut [T],
        output: &mut [T],
    ) {
        if rows.is_empty() {
            return;
        }
        self.check(length, places, rows.len(), output.len());
        let (width, output_width) = (length * self.width(), length * self.output_width());
        let sequences = rows.par_chunks_exact_mut(width).enumerate();
        sequences.zip(output.par_chunks_exact_mut(output_width)).for_each(
            |((number, rows), output)| {
                let places = places.of(number * length, length);
                if let Some(rope) = &self.rope {
                    rope.rotate(isa, rows, self.rotated(), places.positions);
                }
                for group in 0..self.key_value_heads {
                    self.forward_group(isa, (number, length, places), rows, output, group);
                }
            },
        );
    }

    /// The gradient of queries, keys and values (before they were rotated), from that of the output and
    /// the rows that [`AttentionShape::forward`] left.
    ///
    /// # Panics
    /// Where the shapes do not fit.
    pub fn backward(
        &self,
        isa: Isa,
        length: usize,
        places: TokenPlaces<'_>,
        rows: &[T],
        gradient: &[T],
        into: &mut [T],
    ) {
        if rows.is_empty() {
            return;
        }
        self.check(length, places, rows.len(), gradient.len());
        assert_eq!(rows.len(), into.len());
        let (width, output_width) = (length * self.width(), length * self.output_width());
        let sequences = rows.par_chunks_exact(width).zip(gradient.par_chunks_exact(output_width));
        sequences.zip(into.par_chunks_exact_mut(width)).enumerate().for_each(
            |(number, ((rows, gradient), into))| {
                let places = places.of(number * length, length);
                for group in 0..self.key_value_heads {
                    let of = (number, length, places);
                    self.backward_group(isa, of, rows, gradient, into, group);
                }
                if let Some(rope) = &self.rope {
                    rope.rotate_back(isa, into, self.rotated(), places.positions);
                }
            },
        );
    }

    /// From now on rounds what programs with fewer bits keep inside of attention.
    pub fn round_inside(&mut self, rounding: Option<Rounding>) {
        self.rounding = rounding;
    }

    /// From now on has scores off by a unit in the last place, since other programs round them after they are scaled, and the
    /// sums by which the gradients of scores are found, since other programs take them from outputs that are rounded. Both
    /// are as large as the scores and the outputs are, however little is left where probabilities are 0 and 1.
    pub fn disturb(&mut self, seed: Option<u64>) {
        self.other_sums = seed;
    }

    /// Scores that are off.
    fn disturb_scores(&self, part: [usize; 3], scores: &mut [T]) {
        let Some(seed) = self.other_sums else { return };
        let unit = T::from_f64(1.0 / 8_388_608.0);
        let mut bits = part_seed(seed, part);
        for score in scores {
            bits = next(bits);
            let off = *score * unit;
            *score += if bits >> 63 == 0 { off } else { -off };
        }
    }

    /// Makes scores probabilities, as [`Self::soften`] does, in a backward pass. Other programs have kept the logarithms of
    /// the sums of exponentials; where scores are large these are rounded to as much as the scores are, and all
    /// probabilities of a row are off by that.
    fn soften_again(
        &self,
        isa: Isa,
        part: [usize; 3],
        (tile, stride): (&mut [T], usize),
        (from, places): (usize, TokenPlaces<'_>),
        capped: &mut [T],
    ) {
        let Some(seed) = self.other_sums else {
            return self.soften(isa, (tile, stride), from, places, capped);
        };
        self.disturb_scores(part, tile);
        let rows = tile.chunks_exact(stride).enumerate();
        let size = |(row, scores): (usize, &[T])| {
            largest(scores.get(..from + row + 1).unwrap_or(scores)).to_f64().abs()
        };
        let sizes: Vec<f64> = rows.map(size).collect();
        self.soften(isa, (tile, stride), from, places, capped);
        let mut bits = part_seed(!seed, part);
        for (row, size) in tile.chunks_exact_mut(stride).zip(sizes) {
            bits = next(bits);
            let size = self.cap.map_or(size * self.scale.to_f64(), |cap| cap.to_f64().min(size));
            let off = size / 16_777_216.0;
            let factor = T::from_f64(if bits >> 63 == 0 { 1.0 + off } else { 1.0 - off });
            row.iter_mut().for_each(|p| *p *= factor);
        }
    }

    /// Rounds numbers inside of attention, each part of it by random bits of its own.
    fn round(&self, isa: Isa, part: [usize; 3], numbers: &mut [T]) {
        if let Some(Rounding { kept, seed }) = self.rounding {
            let seed = seed.map(|seed| part_seed(seed, part));
            narrow(isa, numbers, Rounding { kept, seed });
        }
    }

    /// The rounding correction of the sums by which the gradients of scores are found, where the outputs that they are made of
    /// are rounded or their sums are others: one number for each row of probabilities. `gradients` begin with that of the
    /// first output.
    fn outputs_rounded(
        &self,
        isa: Isa,
        part: [usize; 3],
        (values, p, rows): (&Packed<T>, Matrix<'_, T>, usize),
        gradients: &[T],
    ) -> Vec<T> {
        let dim = self.head_dim;
        let mut exact = buffer(rows * dim);
        values.range(isa, (&mut exact, dim), p, (0, dim), None);
        let mut rounded = exact.to_vec();
        self.round(isa, part, &mut rounded);
        let pairs = rounded.chunks_exact(dim).zip(exact.chunks_exact(dim));
        let mut bits = part_seed(self.other_sums.unwrap_or(0), part);
        let row = |((rounded, exact), gradients): ((&[T], &[T]), &[T])| {
            let all = || std::iter::zip(rounded, exact).zip(gradients);
            let moved =
                all().fold(T::ZERO, |sum, ((rounded, exact), g)| sum + (*rounded - *exact) * *g);
            if self.other_sums.is_none() {
                return moved;
            }
            bits = next(bits);
            let size =
                all().fold(0.0, |sum, ((_, exact), g)| sum + (exact.to_f64() * g.to_f64()).abs());
            let off = T::from_f64(size / 8_388_608.0);
            if bits >> 63 == 0 { moved + off } else { moved - off }
        };
        pairs.zip(gradients.chunks(self.output_width())).map(row).collect()
    }

    /// The width of a row, and how many of its vectors are rotated.
    fn rotated(&self) -> (usize, usize) {
        (self.width(), self.heads + self.key_value_heads)
    }

    fn check(&self, length: usize, places: TokenPlaces<'_>, rows: usize, output: usize) {
        let reach = self.rope.as_ref().map_or(usize::MAX, Rope::positions);
        assert!(length > 0 && length <= reach, "{length} positions");
        let fits = |all: &[u32]| all.is_empty() || all.len() == rows / self.width();
        assert!(fits(places.documents) && fits(places.positions), "a place for each token");
        assert!(rows.is_multiple_of(length * self.width()), "whole sequences");
        assert_eq!(rows / self.width(), output / self.output_width(), "as many rows");
        assert!(output.is_multiple_of(self.output_width()), "whole rows");
    }

    /// Makes the raw scores of a tile, which begins with row `from`, probabilities: capped, hidden, softened. `capped` gets
    /// the capped scores, where there is a cap.
    fn soften(
        &self,
        isa: Isa,
        (tile, stride): (&mut [T], usize),
        from: usize,
        places: TokenPlaces<'_>,
        capped: &mut [T],
    ) {
        if let Some(limit) = self.cap {
            for score in tile.iter_mut() {
                *score *= self.scale;
            }
            cap(isa, tile, limit);
            capped.copy_from_slice(tile);
        }
        if self.window.is_some() || !places.documents.is_empty() {
            hide(isa, tile, stride, from, self.window.unwrap_or(usize::MAX), places.documents);
        }
        soften(isa, tile, stride, from, if self.cap.is_some() { T::ONE } else { self.scale });
    }

    /// Makes gradients of probabilities those of raw scores.
    fn soften_back(
        &self,
        isa: Isa,
        (p, s, stride): (&[T], &mut [T], usize),
        from: usize,
        (capped, moved): (&[T], &[T]),
    ) {
        let Some(limit) = self.cap else {
            return soften_back(isa, p, s, stride, from, self.scale, moved);
        };
        soften_back(isa, p, s, stride, from, T::ONE, moved);
        cap_back(isa, capped, limit, s);
        for score in s.iter_mut() {
            *score *= self.scale;
        }
    }

    /// Where the query, the key and the value of a group's head begin in a row.
    fn places(&self, head: usize, group: usize) -> [usize; 3] {
        let keys = self.heads + group;
        [head, keys, keys + self.key_value_heads].map(|vector| vector * self.head_dim)
    }

    /// The heads that share keys and values.
    fn group(&self, group: usize) -> std::ops::Range<usize> {
        let size = self.heads / self.key_value_heads;
        group * size..(group + 1) * size
    }

    fn forward_group(
        &self,
        isa: Isa,
        (number, length, places): (usize, usize, TokenPlaces<'_>),
        rows: &[T],
        output: &mut [T],
        group: usize,
    ) {
        let all = Matrix::new(rows, length, self.width());
        let vectors = |from: usize| all.columns(from, self.head_dim);
        let [_, key, value] = self.places(0, group);
        let keys = Packed::alone(isa, vectors(key).transposed());
        let values = Packed::alone(isa, vectors(value));
        let mut probabilities = buffer(TILE * length);
        let mut capped = buffer(if self.cap.is_some() { TILE * length } else { 0 });
        for head in self.group(group) {
            let [query, ..] = self.places(head, group);
            for from in (0..length).step_by(TILE) {
                let end = (from + TILE).min(length);
                let p = &mut probabilities[..(end - from) * end];
                let queries = vectors(query).rows(from, end - from);
                keys.range(isa, (p, end), queries, (0, end), None);
                let capped = capped.get_mut(..p.len()).unwrap_or_default();
                self.disturb_scores([number, head, 4 * (from / TILE) + 3], p);
                self.soften(isa, (p, end), from, places, capped);
                self.round(isa, [number, head, 4 * (from / TILE) + 1], p);
                let p = Matrix::new(p, end - from, end);
                let output = &mut output[from * self.output_width() + head * self.head_dim..];
                values.range(isa, (output, self.output_width()), p, (0, self.head_dim), None);
            }
        }
    }

    fn backward_group(
        &self,
        isa: Isa,
        (number, length, places): (usize, usize, TokenPlaces<'_>),
        rows: &[T],
        gradient: &[T],
        into: &mut [T],
        group: usize,
    ) {
        let (width, dim) = (self.width(), self.head_dim);
        let all = Matrix::new(rows, length, width);
        let gradients = Matrix::new(gradient, length, self.output_width());
        let [_, key, value] = self.places(0, group);
        let (keys, values) = (all.columns(key, dim), all.columns(value, dim));
        let turned_keys = Packed::alone(isa, keys.transposed());
        let turned_values = Packed::alone(isa, values.transposed());
        let keys = Packed::alone(isa, keys);
        let straight_values = (!self.is_exact()).then(|| Packed::alone(isa, values));
        // Probabilities and the gradients of scores, all rows of them: columns are summed over rows below.
        // An odd number of lines from row to row keeps a column from crowding one place of the cache.
        let stride = (length.div_ceil(LINE) | 1) * LINE;
        let (mut p, mut s) = (buffer(length * stride), buffer(length * stride));
        let mut capped = buffer(if self.cap.is_some() { TILE * stride } else { 0 });
        // The sums over the heads before, of keys and of values, and those up to this one.
        let mut before = buffer(2 * length * dim);
        let mut now = buffer(2 * length * dim);
        let heads = self.group(group);
        for head in heads.clone() {
            let [query, ..] = self.places(head, group);
            let queries = all.columns(query, dim);
            let gradients = gradients.columns(head * dim, dim);
            for from in (0..length).step_by(TILE) {
                let end = (from + TILE).min(length);
                let [p, s] = [&mut p, &mut s].map(|of| &mut of[from * stride..end * stride]);
                let [queries, gradients] = [queries, gradients].map(|of| of.rows(from, end - from));
                turned_keys.range(isa, (p, stride), queries, (0, end), None);
                turned_values.range(isa, (s, stride), gradients, (0, end), None);
                let capped = capped.get_mut(..p.len()).unwrap_or_default();
                let scores = [number, head, 4 * (from / TILE) + 3];
                self.soften_again(isa, scores, (p, stride), (from, places), capped);
                let part = |part: usize| [number, head, 4 * (from / TILE) + part];
                let moved = straight_values.as_ref().map_or_else(Vec::new, |values| {
                    let of = Matrix::with_stride(p, end - from, end, stride);
                    let gradients = &gradient[from * self.output_width() + head * dim..];
                    self.outputs_rounded(isa, part(0), (values, of, end - from), gradients)
                });
                self.soften_back(isa, (p, s, stride), from, (capped, &moved));
                self.round(isa, part(1), p);
                self.round(isa, part(2), s);
                let s = Matrix::with_stride(s, end - from, end, stride);
                let into = &mut into[from * width + query..];
                keys.range(isa, (into, width), s, (0, dim), None);
            }
            let (queries, gradients) = (Packed::alone(isa, queries), Packed::alone(isa, gradients));
            let (first, last) = (head == heads.start, head + 1 == heads.end);
            std::mem::swap(&mut before, &mut now);
            for (packed, of, at, half) in [(&queries, &s, key, 0), (&gradients, &p, value, length)]
            {
                let of = Matrix::with_stride(of, length, length, stride);
                let before = Matrix::new(&before[half * dim..], length, dim);
                let (sums, apart) =
                    if last { (&mut into[at..], width) } else { (&mut now[half * dim..], dim) };
                for from in (0..length).step_by(TILE) {
                    let count = TILE.min(length - from);
                    let of = of.rows(from, length - from).columns(from, count).transposed();
                    let add = (!first).then(|| before.rows(from, count));
                    let sums = &mut sums[from * apart..];
                    packed.range(isa, (sums, apart), of, (from, dim), add);
                }
            }
        }
    }
}

/// Random bits of a part.
fn part_seed(seed: u64, part: [usize; 3]) -> u64 {
    let at = part.into_iter().fold(0_u64, |all, part| all << 16 | part as u64);
    seed.wrapping_add(at.wrapping_mul(0xd134_2543_de82_ef95))
}

/// The next of them (S. Vigna's splitmix64).
fn next(bits: u64) -> u64 {
    let mixed = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

portable! {
    /// Hides tokens in the rows of a tile that begins with row `from`: those before the window, and those of other
    /// documents.
    fn hide<T: Real>(
        tile: &mut [T], stride: usize, from: usize, window: usize, documents: &[u32],
    ) {
        for (at, row) in tile.chunks_exact_mut(stride).enumerate() {
            let own = from + at;
            for (key, score) in row.iter_mut().enumerate().take(own) {
                let is_other = !documents.is_empty() && documents[key] != documents[own];
                if own - key >= window || is_other {
                    *score = T::LOWEST;
                }
            }
        }
    }

    /// Makes scores probabilities in the rows of a tile that begins with row `from` and whose last row is
    /// the last to be seen: `p_j = exp((s_j - m) scale) (1 / sum)` for j up to the row's own number, with
    /// m the largest of these scores, and 0 beyond.
    fn soften<T: Real>(tile: &mut [T], stride: usize, from: usize, scale: T) {
        let end = from + tile.len() / stride;
        for (at, row) in tile.chunks_exact_mut(stride).enumerate() {
            let row = &mut row[..end];
            // Minus infinity becomes +0 below.
            row[from + at + 1..].fill(T::LOWEST);
            let most = largest(row);
            for score in row.iter_mut() {
                *score = ((*score - most) * scale).exponential();
            }
            let factor = T::ONE / sum([&*row], |[share]| share);
            for share in row.iter_mut() {
                *share *= factor;
            }
        }
    }

    /// The gradients of scores from those of probabilities: `p_j (g_j - sum p g) scale`. Where the sums of rows are moved,
    /// there is a number for each row.
    fn soften_back<T: Real>(
        tile: &[T], into: &mut [T], stride: usize, from: usize, scale: T, moved: &[T],
    ) {
        let end = from + tile.len() / stride;
        let rows = tile.chunks_exact(stride).zip(into.chunks_exact_mut(stride));
        for (at, (p, g)) in rows.enumerate() {
            let (p, g) = (&p[..end], &mut g[..end]);
            g[from + at + 1..].fill(T::ZERO);
            let mut inner = sum([p, &*g], |[p, g]| p * g);
            if let Some(moved) = moved.get(at) {
                inner += *moved;
            }
            for (p, g) in p.iter().zip(g.iter_mut()) {
                *g = *p * (*g - inner) * scale;
            }
            g[from + at + 1..].fill(T::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1.
    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// A shape, the length and number of sequences, and where their tokens stand.
    struct Case {
        shape: AttentionShape<f64>,
        length: usize,
        batch: usize,
        documents: Vec<u32>,
        positions: Vec<u32>,
    }

    impl Case {
        fn places(&self) -> TokenPlaces<'_> {
            TokenPlaces { documents: &self.documents, positions: &self.positions }
        }

        /// The definition, in float64, with no tiles.
        fn plain(&self, rows: &[f64]) -> Vec<f64> {
            let Self { shape, length, .. } = self;
            let (width, dim, heads) = (shape.width(), shape.head_dim, shape.heads);
            let mut output = vec![0.0; rows.len() / width * heads * dim];
            let sequences =
                rows.chunks(length * width).zip(output.chunks_mut(length * heads * dim));
            for (number, (rows, output)) in sequences.enumerate() {
                let (mut rows, places) =
                    (rows.to_vec(), self.places().of(number * length, *length));
                if let Some(rope) = &shape.rope {
                    rope.rotate(Isa::SCALAR, &mut rows, shape.rotated(), places.positions);
                }
                for head in 0..heads {
                    let [q, k, v] = shape.places(head, head * shape.key_value_heads / heads);
                    for i in 0..*length {
                        let score = |j: usize| -> f64 {
                            let score: f64 = (0..dim)
                                .map(|c| rows[i * width + q + c] * rows[j * width + k + c])
                                .sum();
                            let score = score * shape.scale;
                            shape.cap.map_or(score, |cap| cap * (score / cap).tanh())
                        };
                        let is_seen = |j: usize| {
                            let document = |at: usize| places.documents.get(at);
                            shape.window.is_none_or(|window| i - j < window)
                                && document(i) == document(j)
                        };
                        let weight = |j: usize| if is_seen(j) { score(j).exp() } else { 0.0 };
                        let weights: Vec<f64> = (0..=i).map(weight).collect();
                        let total: f64 = weights.iter().sum();
                        for c in 0..dim {
                            let value: f64 =
                                (0..=i).map(|j| weights[j] / total * rows[j * width + v + c]).sum();
                            output[i * heads * dim + head * dim + c] = value;
                        }
                    }
                }
            }
            output
        }
    }

    fn cases() -> Vec<Case> {
        let of = |(heads, shared, dim, length, batch): (usize, usize, usize, usize, usize)| Case {
            shape: AttentionShape::new(heads, shared, dim, length + 3, 100.0),
            length,
            batch,
            documents: Vec::new(),
            positions: Vec::new(),
        };
        let plain = [
            (2, 2, 4, 5, 3),
            (4, 2, 6, 70, 1),
            (3, 1, 2, 33, 2),
            (1, 1, 300, 7, 1),
            (2, 1, 4, 290, 1),
        ];
        let mut all: Vec<_> = plain.into_iter().map(of).collect();
        let other = |change: fn(AttentionShape<f64>) -> AttentionShape<f64>| {
            let case = of((2, 1, 4, 40, 2));
            Case { shape: change(case.shape.clone()), ..case }
        };
        all.push(other(|shape| shape.windowed(Some(7))));
        all.push(other(|shape| shape.capped(Some(0.5)).scaled(1.5)));
        all.push(other(|shape| AttentionShape { rope: None, ..shape }));
        let packed = other(|shape| shape.windowed(Some(30)).capped(Some(2.0)));
        let documents = (0..80).map(|at| at / 13).collect();
        all.push(Case { documents, positions: (0..80).map(|at| at % 13).collect(), ..packed });
        all
    }

    #[test]
    fn forward_is_the_definition() {
        for case in cases() {
            let Case { shape, length, batch, .. } = &case;
            let rows = numbers(batch * length * shape.width(), 1);
            let expected = case.plain(&rows);
            for isa in Isa::available() {
                let (mut rows, mut output) = (rows.clone(), vec![f64::NAN; expected.len()]);
                shape.forward(isa, *length, case.places(), &mut rows, &mut output);
                for (value, expected) in output.iter().zip(&expected) {
                    assert!((value - expected).abs() < 1e-12, "{value} {expected}");
                }
            }
        }
    }

    #[test]
    fn backward_is_the_slope() {
        for case in cases() {
            let Case { shape, length, batch, .. } = &case;
            let places = case.places();
            let rows = numbers(batch * length * shape.width(), 1);
            let gradient = numbers(batch * length * shape.output_width(), 2);
            let loss = |rows: &[f64]| -> f64 {
                let (mut rows, mut output) = (rows.to_vec(), vec![0.0; gradient.len()]);
                shape.forward(Isa::best(), *length, places, &mut rows, &mut output);
                output.iter().zip(&gradient).map(|(y, g)| y * g).sum()
            };
            let (mut saved, mut into) = (rows.clone(), vec![f64::NAN; rows.len()]);
            let mut output = vec![0.0; gradient.len()];
            shape.forward(Isa::best(), *length, places, &mut saved, &mut output);
            shape.backward(Isa::best(), *length, places, &saved, &gradient, &mut into);
            for at in (0..rows.len()).step_by(1 + rows.len() / 97) {
                let moved = |by: f64| {
                    let mut rows = rows.clone();
                    rows[at] += by;
                    loss(&rows)
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!(
                    (into[at] - slope).abs() < 1e-7 * (1.0 + slope.abs()),
                    "{} {slope}",
                    into[at]
                );
            }
        }
    }

    #[test]
    fn all_instructions_and_threads_give_the_same_bits() {
        let attention = AttentionShape::<f32>::new(4, 2, 16, 70, 10_000.0);
        let of =
            |count, seed| numbers(count, seed).into_iter().map(|x| x as f32).collect::<Vec<_>>();
        let (rows, gradient) = (of(3 * 70 * attention.width(), 1), of(3 * 70 * 64, 2));
        let run = |isa: Isa, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut rows, mut output) = (rows.clone(), vec![0.0; gradient.len()]);
                attention.forward(isa, 70, TokenPlaces::default(), &mut rows, &mut output);
                let mut into = vec![0.0; rows.len()];
                attention.backward(isa, 70, TokenPlaces::default(), &rows, &gradient, &mut into);
                output.iter().chain(&into).map(|x| x.to_bits()).collect::<Vec<u32>>()
            })
        };
        let expected = run(Isa::SCALAR, 1);
        for isa in Isa::available() {
            for threads in 1..=4 {
                assert_eq!(run(isa, threads), expected, "{isa:?} {threads}");
            }
        }
    }
}
