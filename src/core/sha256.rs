//! Incremental SHA-256 of one stream, or of two at once.
//!
//! The rounds of one stream depend on each other, so a CPU with SHA-256 instructions could start twice as many as one
//! stream provides. Two interleaved streams fill these gaps. Owns the one kernel for this; the crate `sha2` does all other
//! compression. Without it, hashing a checkpoint in several files takes 1.5 times as long (`docs/explanation/hashing.md`).
//! `digest` decides what is hashed.

#![allow(unsafe_code)]
#![deny(clippy::undocumented_unsafe_blocks)]

use sha2::block_api::compress256;

/// The bytes of a block.
const BLOCK: usize = 64;
/// The offset of the message length in the last block.
const LENGTH_AT: usize = BLOCK - 8;
/// The state before the first block (FIPS 180-4, 5.3.3).
const START: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

type Block = [u8; BLOCK];
type State = [u32; 8];

/// A message that arrives in pieces of any size.
#[derive(Debug, Clone)]
pub struct Sha256 {
    state: State,
    /// The bytes that do not fill a block yet, at its start.
    held: Block,
    /// The number of bytes so far.
    length: u64,
}

impl Default for Sha256 {
    fn default() -> Self {
        Self { state: START, held: [0; BLOCK], length: 0 }
    }
}

impl Sha256 {
    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        let (blocks, rest) = self.begin(bytes);
        compress256(&mut self.state, blocks);
        self.hold(rest);
    }

    /// The digest of everything added. A one bit, zeros, and the length in bits fill the last block (FIPS 180-4, 5.1.1).
    pub fn finish(mut self) -> [u8; 32] {
        let held = self.held_bytes();
        let mut ends = [[0; BLOCK]; 2];
        let flat = ends.as_flattened_mut();
        let end = if held < LENGTH_AT { BLOCK } else { 2 * BLOCK };
        let length = self.length.wrapping_mul(8).to_be_bytes();
        let marked = self.held.iter().take(held).chain([&0x80]);
        flat.iter_mut().zip(marked).for_each(|(to, from)| *to = *from);
        flat.iter_mut().take(end).rev().zip(length.iter().rev()).for_each(|(to, from)| *to = *from);
        compress256(&mut self.state, ends.get(..end / BLOCK).unwrap_or_default());
        let mut digest = [0; 32];
        digest
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(self.state)
            .for_each(|(to, word)| *to = word.to_be_bytes());
        digest
    }

    fn held_bytes(&self) -> usize {
        (self.length % BLOCK as u64) as usize
    }

    /// Counts `bytes` and completes the pending block; returns the whole blocks and the rest.
    fn begin<'b>(&mut self, bytes: &'b [u8]) -> (&'b [Block], &'b [u8]) {
        let held = self.held_bytes();
        self.length = self.length.wrapping_add(bytes.len() as u64);
        if held == 0 {
            return bytes.as_chunks();
        }
        let (head, rest) = bytes.split_at(bytes.len().min(BLOCK - held));
        self.held.iter_mut().skip(held).zip(head).for_each(|(to, from)| *to = *from);
        if held + head.len() == BLOCK {
            compress256(&mut self.state, &[self.held]);
        }
        rest.as_chunks()
    }

    /// Keeps the bytes after the last whole block.
    fn hold(&mut self, rest: &[u8]) {
        self.held.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    }
}

/// Adds a piece to each of two messages, faster than two calls of [`Sha256::update`].
pub fn update_both(messages: [&mut Sha256; 2], pieces: [&[u8]; 2]) {
    let ([first, second], [a, b]) = (messages, pieces);
    let ((a, a_rest), (b, b_rest)) = (first.begin(a), second.begin(b));
    let both = a.len().min(b.len());
    let ((a, a_more), (b, b_more)) = (a.split_at(both), b.split_at(both));
    compress_both([&mut first.state, &mut second.state], [a, b]);
    compress256(&mut first.state, a_more);
    compress256(&mut second.state, b_more);
    first.hold(a_rest);
    second.hold(b_rest);
}

fn compress_both(states: [&mut State; 2], blocks: [&[Block]; 2]) {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: the processor has the instructions that the function is compiled for.
        return unsafe { x86::compress_both(states, blocks) };
    }
    compress_each(states, blocks);
}

/// One after the other, on CPUs without the instructions.
fn compress_each(states: [&mut State; 2], blocks: [&[Block]; 2]) {
    states.into_iter().zip(blocks).for_each(|(state, blocks)| compress256(state, blocks));
}

/// Two streams with the x86-64 instructions (Intel, "New instructions supporting the Secure Hash Algorithm on Intel
/// architecture processors", 2013). They keep a state in two registers of four words, here called `abef` and `cdgh`, with
/// the first word in the highest lane.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_cvtsi128_si64, _mm_set_epi32, _mm_set_epi64x,
        _mm_setzero_si128, _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32,
        _mm_shuffle_epi8, _mm_unpackhi_epi64,
    };
    use std::array;

    use super::{Block, State};

    /// The constants of the rounds (FIPS 180-4, 4.2.2).
    const ROUNDS: [[[u32; 4]; 4]; 4] = [
        [
            [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5],
            [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
            [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3],
            [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
        ],
        [
            [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc],
            [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
            [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7],
            [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
        ],
        [
            [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13],
            [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
            [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3],
            [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
        ],
        [
            [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5],
            [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
            [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208],
            [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
        ],
    ];

    /// Whether this machine has the instructions.
    pub fn available() -> bool {
        is_x86_feature_detected!("sha") && is_x86_feature_detected!("ssse3")
    }

    /// Compresses as many blocks of each stream as both have.
    #[target_feature(enable = "sha,ssse3,avx")]
    pub fn compress_both(states: [&mut State; 2], blocks: [&[Block]; 2]) {
        let [a, b] = blocks;
        let mut lanes = [gather(states[0]), gather(states[1])];
        for blocks in a.iter().zip(b) {
            let before = lanes;
            let mut words = [words(blocks.0), words(blocks.1)];
            for (sixteen, constants) in ROUNDS.iter().enumerate() {
                for (four, constants) in constants.iter().enumerate() {
                    let constants = row(*constants);
                    for (lane, words) in lanes.iter_mut().zip(&mut words) {
                        rounds(lane, _mm_add_epi32(words[four], constants));
                        // Computed long before use, so no round waits for them.
                        if sixteen < 3 {
                            words[four] = next_words(words, four);
                        }
                    }
                }
            }
            for (lane, before) in lanes.iter_mut().zip(before) {
                lane.abef = _mm_add_epi32(lane.abef, before.abef);
                lane.cdgh = _mm_add_epi32(lane.cdgh, before.cdgh);
            }
        }
        let [first, second] = states;
        (*first, *second) = (scatter(lanes[0]), scatter(lanes[1]));
    }

    /// The state of one stream.
    #[derive(Clone, Copy)]
    struct Lane {
        abef: __m128i,
        cdgh: __m128i,
    }

    /// Four rounds with schedule words that already include the round constants.
    #[inline]
    #[target_feature(enable = "sha,ssse3,avx")]
    fn rounds(lane: &mut Lane, words: __m128i) {
        lane.cdgh = _mm_sha256rnds2_epu32(lane.cdgh, lane.abef, words);
        // Two rounds turn `abef` into the next `cdgh`, and vice versa.
        let last = _mm_unpackhi_epi64(words, words);
        lane.abef = _mm_sha256rnds2_epu32(lane.abef, lane.cdgh, last);
    }

    /// The schedule words after those in `words`, with the oldest four at `oldest`.
    #[inline]
    #[target_feature(enable = "sha,ssse3,avx")]
    fn next_words(words: &[__m128i; 4], oldest: usize) -> __m128i {
        let [w0, w1, w2, w3] = array::from_fn(|at| words[(oldest + at) % 4]);
        let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
        _mm_sha256msg2_epu32(sum, w3)
    }

    /// The sixteen words of a block, in big-endian byte order.
    #[inline]
    #[target_feature(enable = "sha,ssse3,avx")]
    fn words(block: &Block) -> [__m128i; 4] {
        let turn = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        let (halves, _) = block.as_chunks::<8>();
        let half = |at: usize| i64::from_le_bytes(halves[at]);
        array::from_fn(|at| _mm_shuffle_epi8(_mm_set_epi64x(half(2 * at + 1), half(2 * at)), turn))
    }

    #[inline]
    #[target_feature(enable = "sha,ssse3,avx")]
    fn row([a, b, c, d]: [u32; 4]) -> __m128i {
        _mm_set_epi32(d as i32, c as i32, b as i32, a as i32)
    }

    #[inline]
    #[target_feature(enable = "sha,ssse3,avx")]
    fn gather(&[a, b, c, d, e, f, g, h]: &State) -> Lane {
        Lane { abef: row([f, e, b, a]), cdgh: row([h, g, d, c]) }
    }

    #[inline]
    #[target_feature(enable = "sha,ssse3,avx")]
    fn scatter(lane: Lane) -> State {
        let halves = |four: __m128i| {
            let high = _mm_unpackhi_epi64(four, _mm_setzero_si128());
            [_mm_cvtsi128_si64(four), _mm_cvtsi128_si64(high)]
                .map(|half| [half as u32, (half >> 32) as u32])
        };
        let ([[f, e], [b, a]], [[h, g], [d, c]]) = (halves(lane.abef), halves(lane.cdgh));
        [a, b, c, d, e, f, g, h]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha2::Digest as _;

    fn reference(bytes: &[u8]) -> [u8; 32] {
        sha2::Sha256::digest(bytes).into()
    }

    fn bytes(length: usize, seed: u8) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8 ^ seed).collect()
    }

    #[test]
    fn every_length_around_two_blocks_has_the_reference_digest() {
        for length in 0..=3 * BLOCK {
            let message = bytes(length, 3);
            for cut in 0..=length {
                let mut hashed = Sha256::default();
                hashed.update(&message[..cut]);
                hashed.update(&message[cut..]);
                assert_eq!(hashed.finish(), reference(&message), "{length} {cut}");
            }
        }
    }

    #[test]
    fn a_long_message_counts_its_bits() {
        // More than 2^32 bits.
        let piece = vec![0x61; 1 << 20];
        let (mut ours, mut theirs) = (Sha256::default(), sha2::Sha256::new());
        for _ in 0..513 {
            ours.update(&piece);
            theirs.update(&piece);
        }
        assert_eq!(ours.finish(), <[u8; 32]>::from(theirs.finalize()));
    }

    #[test]
    fn both_ways_to_compress_two_streams_agree() {
        let (a, b) = (bytes(40 * BLOCK, 1), bytes(40 * BLOCK, 2));
        let blocks = [a.as_chunks().0, b.as_chunks().0];
        let (mut beside, mut each) = ([START; 2], [START; 2]);
        compress_both(beside.each_mut(), blocks);
        compress_each(each.each_mut(), blocks);
        assert_eq!(beside, each);
        assert_ne!(beside[0], beside[1]);
    }

    proptest! {
        #[test]
        fn two_messages_in_any_pieces_have_the_reference_digests(
            pieces in prop::collection::vec((0_usize..400, 0_usize..400), 0..12),
        ) {
            let lengths = pieces.iter().fold((0, 0), |sum, piece| (sum.0 + piece.0, sum.1 + piece.1));
            let (a, b) = (bytes(lengths.0, 0), bytes(lengths.1, 0x5a));
            let (mut first, mut second) = (Sha256::default(), Sha256::default());
            let (mut a_rest, mut b_rest) = (&a[..], &b[..]);
            for (a_next, b_next) in pieces {
                let (a_piece, a_after) = a_rest.split_at(a_next);
                let (b_piece, b_after) = b_rest.split_at(b_next);
                update_both([&mut first, &mut second], [a_piece, b_piece]);
                (a_rest, b_rest) = (a_after, b_after);
            }
            prop_assert_eq!(first.finish(), reference(&a));
            prop_assert_eq!(second.finish(), reference(&b));
        }
    }
}
