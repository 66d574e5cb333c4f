//! Which instructions a kernel may use, and the macro that compiles one body for each set of them.
//!
//! The source is the same for all sets and Rust never contracts or reorders floating point, so the bits
//! are the same as well: the choice is about speed alone.

use std::hint::black_box;

/// A set of instructions that this machine has: a value of it exists only where it may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Isa {
    level: Level,
    chained: bool,
}

/// The sets that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// The instructions that every machine of the target has.
    Scalar,
    /// AVX2 and fused multiply-add.
    Avx2,
    /// AVX-512: foundation, vector lengths, doublewords, bytes.
    Avx512,
}

impl Isa {
    /// The set that every machine has.
    pub const SCALAR: Self = Self::of(Level::Scalar);

    const fn of(level: Level) -> Self {
        Self { level, chained: false }
    }

    /// With matrix products whose sums are single chains, as those of many other programs are, and not in blocks as the
    /// formula has them: their roundings add up to more.
    pub fn chained(self) -> Self {
        Self { chained: true, ..self }
    }

    /// Whether the sums of matrix products are single chains.
    #[inline(always)]
    pub(crate) fn is_chained(self) -> bool {
        self.chained
    }

    /// The fastest set of this machine.
    pub fn best() -> Self {
        [Level::Avx512, Level::Avx2]
            .into_iter()
            .find(|level| has(*level))
            .map_or(Self::SCALAR, Self::of)
    }

    /// All sets of this machine, slowest first.
    pub fn available() -> Vec<Self> {
        let all = [Level::Scalar, Level::Avx2, Level::Avx512];
        all.into_iter().filter(|level| has(*level)).map(Self::of).collect()
    }

    /// The set of this name, if there is one and this machine has it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::available().into_iter().find(|isa| isa.name() == name)
    }

    /// The name that [`Isa::parse`] reads.
    pub fn name(self) -> &'static str {
        match self.level {
            Level::Scalar => "scalar",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The level that a dispatch matches on.
    #[inline(always)]
    pub(crate) fn level(self) -> Level {
        self.level
    }
}

/// Whether this machine has all instructions of a level.
#[cfg(target_arch = "x86_64")]
fn has(level: Level) -> bool {
    let fused = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    match level {
        Level::Scalar => true,
        Level::Avx2 => fused,
        Level::Avx512 => {
            fused
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
        }
    }
}

/// Whether this machine has all instructions of a level.
#[cfg(not(target_arch = "x86_64"))]
fn has(level: Level) -> bool {
    level == Level::Scalar
}

/// Whether the calling thread keeps numbers below the smallest normal one, as the formulas ask: some
/// libraries switch a thread to flushing them.
pub fn keeps_denormals() -> bool {
    let tiny = black_box(f32::MIN_POSITIVE);
    let half = black_box(tiny * black_box(0.5));
    // The first fails where results are flushed, the second where operands are.
    half.to_bits() == 0x0040_0000 && black_box(half * black_box(2.0)).to_bits() == tiny.to_bits()
}

/// Compiles functions once for each set of instructions. Each gets `isa: Isa` as its first argument and
/// runs the version for that set. What the body calls must be inlined into it (`#[inline(always)]`) to
/// be compiled with the set; what is not inlined still has the same bits.
macro_rules! portable {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident $(<$($g:ident: $bound:path),+ $(,)?>)?
        ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)+) => {$(
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name $(<$($g: $bound),+>)? (isa: $crate::portable::Isa, $($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? { body($($arg),*) }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
            fn avx512 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? { body($($arg),*) }
            match isa.level() {
                // SAFETY: an `Isa` exists only where the machine has its instructions.
                #[cfg(target_arch = "x86_64")]
                $crate::portable::isa::Level::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::portable::isa::Level::Avx2 => unsafe { avx2($($arg),*) },
                _ => body($($arg),*),
            }
        }
    )+};
}
pub(crate) use portable;

#[cfg(test)]
mod tests {
    use super::*;

    portable! {
        /// A body with a generic, a closure and a result.
        fn total<T: Copy>(values: &[T], to: fn(T) -> f32) -> f32 {
            values.iter().fold(0.0, |sum, value| to(*value).mul_add(1.5, sum))
        }
    }

    #[test]
    fn every_set_that_the_machine_has_is_named_and_runs() {
        let all = Isa::available();
        assert_eq!(all[0], Isa::SCALAR);
        assert_eq!(all.last(), Some(&Isa::best()));
        for isa in all {
            assert_eq!(Isa::parse(isa.name()), Some(isa));
            assert_eq!(total(isa, &[1_u8, 2, 3], f32::from), 9.0);
        }
        assert_eq!(Isa::parse("sse9"), None);
    }

    #[test]
    fn threads_keep_denormals() {
        assert!(keeps_denormals());
        assert!(std::thread::spawn(keeps_denormals).join().unwrap());
    }
}
