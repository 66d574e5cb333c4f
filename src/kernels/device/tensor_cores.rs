//! The results of a device's tensor cores: one instruction for each tile of [`Inputs`], its results as bits.

use crate::portable::fused_dot::FusedDot;

use super::cuda::{self, Cuda};
use super::list::{self, Runtime};
use super::ptx::Image;
use super::runtime::{DeviceError, Driver, KernelArgument, Listed, Memory};
use super::table::{Element, bytes, bytes_mut};
use super::tensor_inputs::{COLUMNS, Distribution, Inputs, Operand, ROWS, WORDS};

/// The kernels compiled by `scripts/ptx.sh`.
#[cfg(test)]
const TEXT: &str = concat!(include_str!("text/dialect.h"), include_str!("text/tensor_cores.cu"));

/// The instructions as PTX, and the zero where the driver stops to read.
const PTX: &str = concat!(include_str!("text/tensor_cores.ptx"), "\0");

/// Items of a warp, which make one instruction together.
const WARP: usize = 32;

fn kernel(operand: Operand) -> &'static str {
    match operand {
        Operand::Bf16 => "mma_bf16",
        Operand::Fp16 => "mma_fp16",
        Operand::Tf32 => "mma_tf32",
    }
}

/// Inputs of an instruction, and what a device made of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The type of the factors.
    pub operand: Operand,
    /// The inputs.
    pub inputs: Inputs,
    /// [`ROWS`] rows of [`COLUMNS`] float32 a tile: c + a b.
    pub d: Vec<u32>,
    /// Results that had other bits when the device was asked once more.
    pub unsteady: usize,
}

/// The results of a device's tensor cores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorCores {
    /// The device.
    pub device: Listed,
    /// For each kind of operand.
    pub captures: Vec<Capture>,
}

/// The results of one distribution, and how many of them the rule of Hopper gives bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explained {
    /// Its letter.
    pub letter: char,
    /// All of its results.
    pub results: usize,
    /// Those that [`FusedDot::hopper`] gives.
    pub explained: usize,
}

impl Capture {
    /// How many results of each distribution the rule of Hopper gives.
    pub fn explained(&self) -> Vec<Explained> {
        let rule = FusedDot::hopper(self.operand.smallest());
        let mut tiles = std::iter::zip(
            std::iter::zip(
                self.inputs.a.chunks(ROWS * WORDS),
                self.inputs.b.chunks(COLUMNS * WORDS),
            ),
            std::iter::zip(self.inputs.c.chunks(ROWS * COLUMNS), self.d.chunks(ROWS * COLUMNS)),
        );
        let mut explained = Vec::new();
        for (letter, _, count) in Distribution::ALL {
            let mut one = Explained { letter, results: 0, explained: 0 };
            for ((a, b), (c, d)) in tiles.by_ref().take(count) {
                let (a, b) = (self.operand.numbers(a), self.operand.numbers(b));
                let depth = self.operand.depth();
                let pairs = a
                    .chunks(depth)
                    .flat_map(|row| b.chunks(depth).map(move |column| (row, column)));
                for ((row, column), (c, d)) in std::iter::zip(pairs, std::iter::zip(c, d)) {
                    one.results += 1;
                    let found = rule.dot(row, column, f32::from_bits(*c)).to_bits();
                    one.explained += usize::from(found == *d);
                }
            }
            explained.push(one);
        }
        explained
    }
}

/// Has the tensor cores of a device multiply the inputs of a seed, twice.
///
/// # Errors
/// Where the device is none of CUDA with a compute capability of 8.0 or more, or fails.
pub fn capture(id: &str, seed: u64) -> Result<TensorCores, DeviceError> {
    let own = find(id)?;
    let kernels = Operand::ALL.map(kernel);
    let mut device = Cuda::open(own, &Image { ptx: PTX, kernels: &kernels, capability: [8, 0] })?;
    let one = |operand| {
        let inputs = Inputs::generate(operand, seed);
        let d = multiply(&mut device, operand, &inputs)?;
        let again = multiply(&mut device, operand, &inputs)?;
        let unsteady = std::iter::zip(&d, &again).filter(|(d, again)| d != again).count();
        Ok(Capture { operand, inputs, d, unsteady })
    };
    let captures = Operand::ALL.into_iter().map(one).collect::<Result<_, _>>()?;
    Ok(TensorCores { device: cuda::described(own)?, captures })
}

/// The device of CUDA with this id.
fn find(id: &str) -> Result<i32, DeviceError> {
    let number = match list::parse(id) {
        Some((Runtime::Cuda, number)) => number,
        Some((Runtime::OpenCl, _)) => {
            let what = "tensor cores behind OpenCL".to_owned();
            return Err(DeviceError::Lacks { device: id.to_owned(), what });
        }
        None => {
            let known = "ids look like `cuda:0`".to_owned();
            return Err(DeviceError::Unknown { id: id.to_owned(), known });
        }
    };
    let all = cuda::devices()?;
    let known = format!("CUDA has {}", all.len());
    all.get(number).copied().ok_or(DeviceError::Unknown { id: id.to_owned(), known })
}

/// c + a b of all tiles.
fn multiply(device: &mut Cuda, operand: Operand, inputs: &Inputs) -> Result<Vec<u32>, DeviceError> {
    let upload = |device: &mut Cuda, words: &[u32]| -> Result<Memory, DeviceError> {
        let memory = device.allocate(size_of_val(words))?;
        device.write(memory, 0, bytes(words))?;
        Ok(memory)
    };
    let mut d = vec![0_u32; inputs.c.len()];
    let tables = [
        upload(device, &inputs.a)?,
        upload(device, &inputs.b)?,
        upload(device, &inputs.c)?,
        device.allocate(size_of_val(&*d))?,
    ];
    let [.., into] = tables;
    let arguments = tables.map(|table| KernelArgument::Table(table, u32::NAME, 0));
    let tiles = inputs.c.len() / (ROWS * COLUMNS);
    device.launch(kernel(operand), [tiles, 1, 1], WARP, &arguments)?;
    device.read(into, 0, bytes_mut(&mut d))?;
    tables.into_iter().for_each(|table| device.free(table));
    Ok(d)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_instructions_are_made_from_this_text_with_their_layout() {
        let digest = Sha256::digest(TEXT).iter().fold(String::new(), |mut digest, byte| {
            write!(digest, "{byte:02x}").unwrap();
            digest
        });
        let line = PTX.lines().nth(1).unwrap();
        assert_eq!(
            line,
            format!("// SHA-256 of the text: {digest}"),
            "make it anew: scripts/ptx.sh"
        );
        let entries: Vec<_> = PTX.split(".visible .entry repro_").skip(1).collect();
        assert_eq!(entries.len(), 3);
        for (entry, operand) in std::iter::zip(entries, Operand::ALL) {
            assert!(entry.starts_with(&format!("{}(", kernel(operand))));
            assert_eq!(entry.matches(".param .u64").count(), 8, "four tables and where they begin");
            let name = if operand == Operand::Fp16 { "f16" } else { operand.name() };
            let instruction = format!(
                "mma.sync.aligned.m16n8k{}.row.col.f32.{name}.{name}.f32 ",
                operand.depth()
            );
            assert_eq!(entry.matches(&instruction).count(), 1);
            assert_eq!(entry.matches("mma.").count(), 1);
            // Beside the instruction nothing computes with floats.
            for other in ["add.f", "add.rn", "mul.f", "mul.rn", "fma.", "cvt.rn", "ftz"] {
                assert!(!entry.contains(other), "{other}");
            }
        }
    }

    #[test]
    fn what_the_rule_gives_is_counted() {
        let inputs = Inputs::generate(Operand::Fp16, 3);
        let mut d = vec![0x7fff_fffe; inputs.c.len()];
        // The first result of the first tile, by hand: one row and one column.
        let (row, column) =
            (Operand::Fp16.numbers(&inputs.a[..WORDS]), Operand::Fp16.numbers(&inputs.b[..WORDS]));
        d[0] = FusedDot::hopper(-14).dot(&row, &column, f32::from_bits(inputs.c[0])).to_bits();
        let capture = Capture { operand: Operand::Fp16, inputs, d, unsteady: 0 };
        let explained = capture.explained();
        assert_eq!(explained.len(), 9);
        assert_eq!(explained[0], Explained { letter: 'A', results: 512 * 128, explained: 1 });
        assert_eq!(explained[7], Explained { letter: 'H', results: 4096 * 128, explained: 0 });
    }

    #[test]
    fn other_devices_have_no_tensor_cores_to_ask() {
        for (id, said) in [("opencl:0", "OpenCL"), ("cpu", "no device"), ("cuda:x", "no device")] {
            let error = capture(id, 1).unwrap_err().to_string();
            assert!(error.contains(said), "{id}: {error}");
        }
    }

    #[test]
    fn a_gpu_is_asked_where_there_is_one() {
        let Some(device) =
            std::env::var("REPRO_TEST_DEVICE").ok().filter(|id| id.starts_with("cuda"))
        else {
            return;
        };
        for capture in capture(&device, 1).unwrap().captures {
            assert_eq!(capture.unsteady, 0, "{:?}", capture.operand);
            let [normal, ..] = capture.explained()[..] else { panic!("nine") };
            assert_eq!(normal.explained, normal.results, "{:?}", capture.operand);
        }
    }
}
