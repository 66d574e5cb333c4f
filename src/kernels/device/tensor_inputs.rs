//! The inputs of tensor cores: tiles of nine distributions, by a seed.

use crate::portable::rounding::{BF16, TF32};

/// Rows, columns and words along k of a tile; see `text/tensor_cores.cu`.
pub const ROWS: usize = 16;
/// See [`ROWS`].
pub const COLUMNS: usize = 8;
/// See [`ROWS`].
pub const WORDS: usize = 8;

/// Operands of a tensor core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// bfloat16, two in a word.
    Bf16,
    /// IEEE 754 binary16, two in a word.
    Fp16,
    /// TensorFloat-32: a float32 whose lowest 13 bits are zero.
    Tf32,
}

impl Operand {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bf16, Self::Fp16, Self::Tf32];

    /// The name in files and kernels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Tf32 => "tf32",
        }
    }

    /// Products of a result.
    pub fn depth(self) -> usize {
        WORDS * self.in_a_word()
    }

    /// The exponent of the smallest normal number.
    pub fn smallest(self) -> i32 {
        if self == Self::Fp16 { -14 } else { -126 }
    }

    fn in_a_word(self) -> usize {
        if self == Self::Tf32 { 1 } else { 2 }
    }

    /// Bits behind the point.
    fn fraction(self) -> u32 {
        match self {
            Self::Bf16 => BF16,
            Self::Fp16 | Self::Tf32 => TF32,
        }
    }

    /// The bits of infinity, without unused ones.
    fn infinity(self) -> u32 {
        (2 * (1 - self.smallest()).cast_unsigned() - 1 + 2) << self.fraction()
    }

    /// The nearest finite number's bits, ties to even.
    fn encode(self, value: f64) -> u32 {
        let exponent = exponent(value).max(self.smallest());
        let steps =
            (value.abs() / power(exponent - self.fraction().cast_signed())).round_ties_even();
        let normal = (exponent - self.smallest()).cast_unsigned() << self.fraction();
        let magnitude = (steps as u32).saturating_add(normal).min(self.infinity() - 1);
        magnitude | self.sign(value.is_sign_negative())
    }

    fn sign(self, is_negative: bool) -> u32 {
        u32::from(is_negative) * (self.infinity() + (1 << self.fraction()))
    }

    /// The number of these bits.
    fn decode(self, bits: u32) -> f32 {
        let magnitude = bits & (self.sign(true) - 1);
        let (field, fraction) = (
            (magnitude >> self.fraction()).cast_signed(),
            magnitude & ((1 << self.fraction()) - 1),
        );
        let number = match magnitude.checked_sub(self.infinity()) {
            Some(0) => f64::INFINITY,
            Some(_) => f64::NAN,
            None => {
                let leading = if field == 0 { 0 } else { 1 << self.fraction() };
                let place = field.max(1) - 1 + self.smallest() - self.fraction().cast_signed();
                f64::from(leading | fraction) * power(place)
            }
        };
        (if magnitude == bits { number } else { -number }) as f32
    }

    /// The words of some rows along k.
    fn words(self, bits: &[u32]) -> impl Iterator<Item = u32> {
        bits.chunks(self.in_a_word()).map(|one| match one {
            [low, high] => low | high << 16,
            [only] => only << 13,
            _ => 0,
        })
    }

    /// The operands in some words.
    pub fn numbers(self, words: &[u32]) -> Vec<f32> {
        let of_word = |word: &u32| match self {
            Self::Tf32 => vec![*word >> 13],
            _ => vec![*word & 0xffff, *word >> 16],
        };
        words.iter().flat_map(of_word).map(|bits| self.decode(bits)).collect()
    }
}

/// How inputs are distributed. Products and c have comparable sizes unless something else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// A: near a standard normal distribution.
    Normal,
    /// B: c lies 0 to 30 binary places above the largest product.
    LargeC,
    /// C: c cancels the sum to a few units in the last place, or the largest product; in every other tile products cancel too.
    Cancelling,
    /// D: products near 2^-126, or near the smallest that float16 has.
    SmallProducts,
    /// E: subnormal operands.
    Subnormal,
    /// F: all of one sign.
    OneSign,
    /// G: products and c near the largest float32, or the largest products that float16 has.
    Overflowing,
    /// H: no term at or above 2^-134. Products of float16 are zeros.
    Vanishing,
    /// I: zeros, smallest subnormal numbers, largest numbers, infinities and NaN, all pairs of them with each c.
    Special,
}

impl Distribution {
    /// Each with its letter and its tiles.
    pub const ALL: [(char, Self, usize); 9] = [
        ('A', Self::Normal, 512),
        ('B', Self::LargeC, 512),
        ('C', Self::Cancelling, 512),
        ('D', Self::SmallProducts, 512),
        ('E', Self::Subnormal, 512),
        ('F', Self::OneSign, 512),
        ('G', Self::Overflowing, 512),
        ('H', Self::Vanishing, 4096),
        ('I', Self::Special, 512),
    ];

    /// A number to multiply.
    fn operand(self, operand: Operand, random: &mut Random) -> f64 {
        let is_half = operand == Operand::Fp16;
        match self {
            Self::Normal | Self::LargeC | Self::Cancelling => random.normal(),
            Self::SmallProducts => random.normal() * power(if is_half { -12 } else { -63 }),
            Self::Subnormal if random.below(2) == 0 => {
                random.sign() * random.unit() * power(operand.smallest())
            }
            Self::Subnormal => random.normal() * power(random.between(0, -operand.smallest())),
            Self::OneSign => random.normal().abs(),
            Self::Overflowing => random.leading(if is_half { [14, 15] } else { [62, 63] }),
            Self::Vanishing if is_half => random.sign() * 0.0,
            Self::Vanishing => random.leading([-74, -68]),
            Self::Special => 0.0,
        }
    }

    /// The addends of products with this sum and this largest one.
    fn addend(self, sum: f64, largest: f64, random: &mut Random) -> f32 {
        let top = exponent(largest);
        let c = match self {
            Self::Normal => random.normal(),
            Self::LargeC => random.leading([top, top + 30].map(|exponent| exponent.min(127))),
            Self::Cancelling if random.below(2) == 0 => -largest,
            Self::Cancelling => {
                let near = (-sum as f32).to_bits().cast_signed() + random.between(-2, 2);
                return f32::from_bits(near.cast_unsigned());
            }
            Self::SmallProducts | Self::Subnormal => {
                random.normal() * power((top + random.between(-30, 8)).clamp(-149, 127))
            }
            Self::OneSign => random.normal().abs(),
            Self::Overflowing if random.below(2) == 0 => -sum,
            Self::Overflowing => random.leading([127, 127]),
            Self::Vanishing => random.sign() * random.unit() * power(-134),
            Self::Special => 0.0,
        };
        c as f32
    }
}

/// The inputs of an instruction, tile after tile, in the words that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// [`ROWS`] rows of [`WORDS`] a tile.
    pub a: Vec<u32>,
    /// [`COLUMNS`] columns of [`WORDS`] a tile.
    pub b: Vec<u32>,
    /// [`ROWS`] rows of [`COLUMNS`] float32 a tile.
    pub c: Vec<u32>,
}

impl Inputs {
    /// Tiles of all distributions, one after the other.
    pub fn generate(operand: Operand, seed: u64) -> Self {
        let mut inputs = Self { a: Vec::new(), b: Vec::new(), c: Vec::new() };
        let mut random = Random(seed);
        for (_, distribution, tiles) in Distribution::ALL {
            for number in 0..tiles {
                match distribution {
                    Distribution::Special => inputs.add_special(operand, number, &mut random),
                    _ => inputs.add(operand, distribution, number, &mut random),
                }
            }
        }
        inputs
    }

    fn add(
        &mut self,
        operand: Operand,
        distribution: Distribution,
        number: usize,
        random: &mut Random,
    ) {
        let depth = operand.depth();
        let mut draw = |rows: usize, negated: bool| -> Vec<u32> {
            let mut bits: Vec<u32> = (0..rows * depth)
                .map(|_| operand.encode(distribution.operand(operand, random)))
                .collect();
            if distribution == Distribution::Cancelling && number % 2 == 1 {
                // Each second factor is the first one again, negated on one side and moved by a bit on the other.
                for pair in bits.as_chunks_mut().0 {
                    let [first, second] = pair;
                    *second = if negated { *first ^ operand.sign(true) } else { *first ^ 1 };
                }
            }
            bits
        };
        let (a, b) = (draw(ROWS, true), draw(COLUMNS, false));
        let decoded = |bits: &[u32]| -> Vec<f64> {
            bits.iter().map(|bits| f64::from(operand.decode(*bits))).collect()
        };
        for row in decoded(&a).chunks(depth) {
            for column in decoded(&b).chunks(depth) {
                let products = std::iter::zip(row, column).map(|(a, b)| a * b);
                let sum = products.clone().sum();
                let largest = products.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
                self.c.push(distribution.addend(sum, largest, random).to_bits());
            }
        }
        self.a.extend(operand.words(&a));
        self.b.extend(operand.words(&b));
    }

    /// One special factor in each row and column, at one place of k; in later tiles a second one, at the next place.
    fn add_special(&mut self, operand: Operand, number: usize, random: &mut Random) {
        let (infinity, depth) = (operand.infinity(), operand.depth());
        let specials = |infinity: u32, sign: u32| {
            let finite = [0, 1, infinity - 1, infinity];
            let signed = finite.into_iter().flat_map(move |bits| [bits, bits | sign]);
            signed.chain([infinity | infinity >> 1]).collect::<Vec<u32>>()
        };
        let factors = specials(infinity, operand.sign(true));
        let addends = specials(f32::INFINITY.to_bits(), 1 << 31);
        let count = factors.len();
        let pick = |list: &[u32], at: usize| list.get(at % count).copied().unwrap_or(0);
        let place = random.below(depth as u64) as usize;
        let mut draw = |rows: usize, step: usize| -> Vec<u32> {
            let mut bits = vec![0; rows * depth];
            for (row, numbers) in bits.chunks_mut(depth).enumerate() {
                let second = random.below(count as u64) as usize;
                if number >= count * count
                    && let Some(other) = numbers.get_mut((place + 1) % depth)
                {
                    *other = pick(&factors, second);
                }
                if let Some(own) = numbers.get_mut(place) {
                    *own = pick(&factors, row + step);
                }
            }
            bits
        };
        let (a, b) = (draw(ROWS, 0), draw(COLUMNS, number % count));
        self.a.extend(operand.words(&a));
        self.b.extend(operand.words(&b));
        self.c.extend([pick(&addends, number / count)].repeat(ROWS * COLUMNS));
    }
}

/// The exponent of a number's leading bit; of zero, far below all others.
fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52 & 0x7ff) as i32) - 1023
}

/// A power of two, of an exponent that normal float64 have.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((i64::from(exponent) + 1023).cast_unsigned()) << 52)
}

/// S. Vigna's SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a small one.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number of a short range, its ends included.
    fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1).unsigned_abs().into()) as i32
    }

    /// A number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * power(-53)
    }

    fn sign(&mut self) -> f64 {
        if self.below(2) == 0 { 1.0 } else { -1.0 }
    }

    /// The sum of four uniform numbers of 16 bits, which has a variance of a third.
    fn normal(&mut self) -> f64 {
        let bits = self.next();
        let sum: u64 = [0, 16, 32, 48].map(|from| bits >> from & 0xffff).iter().sum();
        (sum as f64 / 65_536.0 - 2.0) * 3.0_f64.sqrt()
    }

    /// A number of either sign whose leading bit has an exponent of this range, its ends included.
    fn leading(&mut self, [low, high]: [i32; 2]) -> f64 {
        let exponent = self.between(low, high);
        self.sign() * (1.0 + self.unit()) * power(exponent)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_finite_operand_is_encoded_as_it_is_decoded() {
        for operand in Operand::ALL {
            for bits in 0..operand.infinity() {
                for bits in [bits, bits | operand.sign(true)] {
                    assert_eq!(operand.encode(operand.decode(bits).into()), bits, "{operand:?}");
                }
            }
        }
        assert_eq!(Operand::Bf16.infinity(), 0x7f80);
        assert_eq!((Operand::Fp16.infinity(), Operand::Fp16.sign(true)), (0x7c00, 0x8000));
        assert_eq!(Operand::Tf32.infinity() << 13, f32::INFINITY.to_bits());
        assert_eq!(Operand::Fp16.decode(0x7bff), 65_504.0);
        assert_eq!(Operand::Fp16.decode(1), 2.0_f32.powi(-24));
        assert!(Operand::Bf16.decode(0x7fc0).is_nan());
        assert_eq!(Operand::Bf16.encode(1.003_906_25), 0x3f80, "ties to even");
        assert_eq!(Operand::Bf16.encode(1e300), 0x7f7f);
        assert_eq!(Operand::Fp16.numbers(&[0x3c00_4000]), [2.0, 1.0]);
    }

    /// Some of the products and addends of a distribution: each result of a tile whose number is a multiple of `step`.
    fn results(
        operand: Operand,
        inputs: &Inputs,
        wanted: Distribution,
        step: usize,
    ) -> Vec<(Vec<f32>, Vec<f32>, f32)> {
        let mut results = Vec::new();
        let mut from = 0;
        for (_, distribution, tiles) in Distribution::ALL {
            for tile in from..from + tiles {
                for at in (0..ROWS * COLUMNS).step_by(step).filter(|_| distribution == wanted) {
                    let line = |words: &[u32], row: usize| {
                        operand.numbers(&words[row * WORDS..(row + 1) * WORDS])
                    };
                    results.push((
                        line(&inputs.a, tile * ROWS + at / COLUMNS),
                        line(&inputs.b, tile * COLUMNS + at % COLUMNS),
                        f32::from_bits(inputs.c[tile * ROWS * COLUMNS + at]),
                    ));
                }
            }
            from += tiles;
        }
        results
    }

    fn terms((a, b, c): &(Vec<f32>, Vec<f32>, f32)) -> Vec<f64> {
        let products = std::iter::zip(a, b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.chain([f64::from(*c)]).collect()
    }

    #[test]
    fn distributions_are_what_they_say() {
        let of_vanishing = |(_, distribution, _): &&_| *distribution == Distribution::Vanishing;
        let (.., tiles) = Distribution::ALL.iter().find(of_vanishing).unwrap();
        assert!(tiles * ROWS * COLUMNS >= 500_000);
        for operand in Operand::ALL {
            let inputs = Inputs::generate(operand, 7);
            let results = |distribution| results(operand, &inputs, distribution, 19);
            let vanishing = results(Distribution::Vanishing);
            assert!(vanishing.iter().flat_map(terms).all(|term| exponent(term) < -133));
            assert!(vanishing.iter().any(|(_, _, c)| *c != 0.0));

            for one in results(Distribution::LargeC) {
                let terms = terms(&one);
                let (c, products) = terms.split_last().unwrap();
                let top = products.iter().map(|product| exponent(*product)).max().unwrap();
                assert!((0..=30).contains(&(exponent(*c) - top)), "{one:?}");
            }
            let near = |one: &(Vec<f32>, Vec<f32>, f32)| {
                let terms = terms(one);
                let largest = terms.iter().map(|term| term.abs()).fold(0.0, f64::max);
                terms.iter().sum::<f64>().abs() < 1e-6 * largest
            };
            let cancelling = results(Distribution::Cancelling);
            assert!(cancelling.iter().filter(|one| near(one)).count() > cancelling.len() / 3);
            let subnormal = results(Distribution::Subnormal);
            let smallest = power(operand.smallest()) as f32;
            let count = subnormal.iter().filter(|(a, ..)| a.iter().any(|a| a.abs() < smallest));
            assert!(count.count() > subnormal.len() / 2);
            let one_sign = results(Distribution::OneSign);
            assert!(one_sign.iter().flat_map(terms).all(|term| term >= 0.0));
            let overflowing = results(Distribution::Overflowing);
            let exceed = |one: &&_| terms(one).iter().sum::<f64>().abs() > f64::from(f32::MAX);
            let share = overflowing.iter().filter(exceed).count();
            assert_eq!(share > 0 && share < overflowing.len(), operand != Operand::Fp16);
        }
    }

    #[test]
    fn all_pairs_of_specials_meet_each_addend() {
        for operand in Operand::ALL {
            let bits = |number: f32| if number.is_nan() { 0x7fc0_0000 } else { number.to_bits() };
            let of_one_pair =
                results(operand, &Inputs::generate(operand, 7), Distribution::Special, 1)
                    .into_iter()
                    .take(81 * ROWS * COLUMNS);
            let met: BTreeSet<_> = of_one_pair
                .flat_map(|(a, b, c)| {
                    std::iter::zip(a, b).map(move |(a, b)| (bits(a), bits(b), bits(c)))
                })
                .collect();
            let factors: BTreeSet<_> = met.iter().map(|(a, ..)| *a).collect();
            assert_eq!(factors.len(), 9, "{operand:?}");
            assert_eq!(met.len(), 9 * 9 * 9, "{operand:?}");
        }
    }

    #[test]
    fn a_seed_decides_the_inputs_and_another_gives_others() {
        let of = |seed| Inputs::generate(Operand::Tf32, seed);
        let (first, tiles) = (of(1), 8 * 512 + 4096);
        assert_eq!(
            (first.a.len(), first.b.len(), first.c.len()),
            (128 * tiles, 64 * tiles, 128 * tiles)
        );
        assert!(first == of(1) && first != of(2));
        assert!(first.a.iter().all(|word| word & 0x1fff == 0));
    }
}
