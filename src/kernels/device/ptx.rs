//! The kernels as PTX, which CUDA's driver compiles for its device. `scripts/ptx.sh` generates it from the source, so that
//! building this does not need CUDA; the tests here compare it with the source, and do not need CUDA either.

/// All kernels, and the zero where the driver stops to read.
pub const PTX: &str = concat!(include_str!("text/kernels.ptx"), "\0");

/// The first CUDA whose drivers take it, as they tell their versions.
pub const DRIVER: i32 = 12_000;

/// The least compute capability that it is for.
pub const CAPABILITY: [i32; 2] = [7, 5];

/// Kernels that a device can be opened with.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    /// Their PTX, with a zero behind it.
    pub ptx: &'static str,
    /// Their names, without the prefix.
    pub kernels: &'a [&'static str],
    /// The least compute capability that they are for.
    pub capability: [i32; 2],
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write;

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::device::text::{self, MANY_ITEMS, PREFIX, Parameter, TEXT};

    /// What rounds does so once, to the nearest, and keeps numbers below the smallest normal one; nothing is approximate, and
    /// nothing lacks its `.rn`, which would leave the assembler free to contract it. `rcp.rn` is `1.0f / x`, rounded once like
    /// the division.
    const ROUNDED: [&str; 14] = [
        "add.rn.f32",
        "sub.rn.f32",
        "mul.rn.f32",
        "fma.rn.f32",
        "div.rn.f32",
        "rcp.rn.f32",
        "sqrt.rn.f32",
        "add.rn.f64",
        "mul.rn.f64",
        "div.rn.f64",
        "sqrt.rn.f64",
        "cvt.rn.f32.f64",
        "cvt.rn.f32.s32",
        "cvt.rn.f64.s32",
    ];

    /// What answers exactly. `cvt.rzi.s32.f32` drops what is behind the point, as Rust's `as i32` does: there is one answer.
    const EXACT: [&str; 12] = [
        "neg.f32",
        "mov.f32",
        "mov.f64",
        "selp.f32",
        "cvt.f64.f32",
        "cvt.rzi.s32.f32",
        "setp.eq.f32",
        "setp.ge.f32",
        "setp.gt.f32",
        "setp.lt.f32",
        "setp.leu.f32",
        "setp.geu.f32",
    ];

    /// A kernel as the PTX has it.
    #[derive(Default)]
    struct Entry {
        parameters: Vec<&'static str>,
        /// What is done, and to what.
        instructions: Vec<(&'static str, &'static str)>,
    }

    impl Entry {
        fn count(&self, instruction: &str) -> usize {
            self.instructions.iter().filter(|(own, _)| *own == instruction).count()
        }
    }

    fn entries() -> BTreeMap<&'static str, Entry> {
        let entry = |text: &'static str| {
            let (name, rest) = text.split_once('(').unwrap();
            let (parameters, body) = rest.split_once(')').unwrap();
            let kind = |line: &'static str| line.split_whitespace().nth(1).unwrap();
            let instruction = |line: &'static str| {
                // A condition stands before what it is of.
                let line = if line.starts_with('@') { line.split_once(' ')?.1 } else { line };
                let is_none = line.starts_with(['.', '$', '{', '}', '\0']);
                (!is_none).then(|| line.split_once(char::is_whitespace).unwrap_or((line, "")))
            };
            let entry = Entry {
                parameters: parameters.trim().lines().map(kind).collect(),
                instructions: body.lines().map(str::trim).filter_map(instruction).collect(),
            };
            (name.strip_prefix(PREFIX).unwrap(), entry)
        };
        PTX.split(".visible .entry ").skip(1).map(entry).collect()
    }

    /// The functions of the text, kernels and others, with what they are made of.
    fn functions() -> BTreeMap<&'static str, &'static str> {
        let function = |text: &'static str| {
            let (_, of) = text.split_once("\nDEVICE ").or(text.split_once("\nKERNEL("))?;
            let (head, body) = of.split_once(['(', ')'])?;
            Some((head.split(' ').next_back()?, body))
        };
        TEXT.split("\n}\n").filter_map(function).collect()
    }

    /// The functions that fuse, or call one that does.
    fn fusing(functions: &BTreeMap<&'static str, &'static str>) -> BTreeSet<&'static str> {
        let mut fusing = BTreeSet::from(["FMA"]);
        loop {
            let calls = |body: &str| fusing.iter().any(|name| body.contains(&format!("{name}(")));
            let all: BTreeSet<_> =
                functions.iter().filter(|(_, body)| calls(body)).map(|(name, _)| *name).collect();
            if all.is_subset(&fusing) {
                return all;
            }
            fusing.extend(all);
        }
    }

    #[test]
    fn it_is_made_from_this_text() {
        let digest = Sha256::digest(TEXT).iter().fold(String::new(), |mut digest, byte| {
            write!(digest, "{byte:02x}").unwrap();
            digest
        });
        let lines: Vec<_> = PTX.lines().take(5).collect();
        assert_eq!(
            lines[1],
            format!("// SHA-256 of the text: {digest}"),
            "make it anew: scripts/ptx.sh"
        );
        let (major, minor) = (DRIVER / 1000, DRIVER % 1000 / 10);
        assert!(lines[2].starts_with(&format!("// Compiler: NVRTC {major}.{minor}.")));
        assert_eq!(lines[4], format!(".target sm_{}{}", CAPABILITY[0], CAPABILITY[1]));
    }

    #[test]
    fn kernels_take_what_those_of_the_text_take() {
        let widths = |parameter: &Parameter| match parameter {
            Parameter::Table(_) => &[".u64", ".u64"][..],
            Parameter::Int => &[".u32"],
            Parameter::Long => &[".u64"],
            Parameter::Float => &[".f32"],
            Parameter::Double => &[".f64"],
        };
        let taken = |parameters: &Vec<Parameter>| -> Vec<&str> {
            parameters.iter().flat_map(widths).copied().collect()
        };
        let expected = text::kernels().iter().map(|(name, of)| (*name, taken(of)));
        let found = entries().into_iter().map(|(name, entry)| (name, entry.parameters));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn numbers_are_rounded_once_or_not_at_all() {
        for (name, entry) in entries() {
            assert!(!entry.instructions.is_empty(), "{name}");
            for (instruction, _) in entry.instructions {
                let is_of_floats =
                    [".f", ".bf", "ftz", "approx"].iter().any(|part| instruction.contains(part));
                let is_moved = instruction.starts_with("ld.") || instruction.starts_with("st.");
                let is_known = ROUNDED.contains(&instruction) || EXACT.contains(&instruction);
                assert!(!is_of_floats || is_moved || is_known, "{name}: {instruction}");
                // What is called would not have been looked at.
                assert!(!instruction.starts_with("call"), "{name}: {instruction}");
            }
        }
        assert!(!PTX.contains(".func"));
    }

    #[test]
    fn nothing_is_fused_that_the_text_does_not_fuse() {
        let functions = functions();
        let (fusing, of_an_exponential) =
            (fusing(&functions), functions["exponential"].matches("FMA(").count());
        assert_eq!(functions.values().map(|body| body.matches("FMA(").count()).sum::<usize>(), 11);
        for (name, entry) in entries() {
            let fused = entry.count("fma.rn.f32");
            assert_eq!(fused > 0, fusing.contains(name), "{name}");
            if name == "product" {
                // Its one line with an FMA is there once for each number that an item makes, and it multiplies nowhere else.
                let numbers = MANY_ITEMS.tall * MANY_ITEMS.wide / MANY_ITEMS.items;
                assert_eq!((fused % numbers, entry.count("mul.rn.f32")), (0, 0), "{name}");
            } else if name == "fuse" {
                assert_eq!((fused % 8, entry.count("mul.rn.f32")), (0, 0), "eight chains");
            } else {
                // All are those of exponentials, of which each names one over ln 2 once; but for the two ways between two
                // numbers that Muon goes. The exponentials of `libm` multiply by it.
                let exponentials = entry.instructions.iter().filter(|(instruction, of)| {
                    *instruction != "mul.rn.f32" && of.contains("0f3FB8AA3B")
                });
                let others = if name == "muon_mean" { 2 } else { 0 };
                assert_eq!(fused, of_an_exponential * exponentials.count() + others, "{name}");
            }
        }
    }
}
