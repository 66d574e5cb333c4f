//! What a device does at most, and what our matrix product reaches: `roofline DEVICE` prints, as JSON, the bytes a second that
//! a copy in its memory reads and writes, the floating-point operations a second of fused multiplications and additions in
//! registers alone, and those of one product. `scripts/gpu.py` sets training steps beside them.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use repro_kernels::device::{Device, Product, TableMatrix};
use serde_json::json;

/// Each measurement is taken so often, and its shortest time counts.
const TIMES: usize = 5;

/// How much work a measurement is.
struct Sizes {
    /// Numbers that are copied: far more than caches hold.
    copied: usize,
    /// Numbers of which each has eight chains of fused operations, and the rounds of a chain.
    chained: usize,
    rounds: usize,
    /// Rows, columns and depth of the product.
    side: usize,
}

const PROCESSOR: Sizes = Sizes { copied: 1 << 25, chained: 1 << 14, rounds: 1 << 10, side: 512 };
const GPU: Sizes = Sizes { copied: 1 << 28, chained: 1 << 20, rounds: 1 << 13, side: 4096 };

/// The shortest time of work that ends with the reading of a number.
fn seconds(mut work: impl FnMut()) -> f64 {
    work();
    let mut shortest = f64::INFINITY;
    for _ in 0..TIMES {
        let start = Instant::now();
        work();
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    shortest
}

fn copy(device: &Device, sizes: &Sizes) -> f64 {
    let from = device.zeros(sizes.copied);
    let mut into = device.zeros(sizes.copied);
    let time = seconds(|| {
        device.copy(&from, &mut into);
        into.read(0..1);
    });
    (2 * size_of::<f32>() * sizes.copied) as f64 / time
}

fn fused(device: &Device, sizes: &Sizes) -> f64 {
    let mut chains = device.zeros(sizes.chained);
    let time = seconds(|| {
        device.fuse(&mut chains, 0.5, 1.0, sizes.rounds);
        chains.read(0..1);
    });
    (2 * 8 * sizes.chained * sizes.rounds) as f64 / time
}

fn product(device: &Device, sizes: &Sizes) -> f64 {
    let side = sizes.side;
    let [a, b] = [device.zeros(side * side), device.zeros(side * side)];
    let mut c = device.zeros(side * side);
    let time = seconds(|| {
        let [a, b] = [&a, &b].map(|table| TableMatrix::new(table, 0, side, side));
        device.product(&mut c, Product::new(a, b));
        c.read(0..1);
    });
    2.0 * (side as f64).powi(3) / time
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this without arguments: then there is nothing to time.
    let [_, id] = arguments.as_slice() else { return Ok(()) };
    let device = repro_kernels::device::open(id)?;
    let sizes = if id.starts_with("cuda") { GPU } else { PROCESSOR };
    let measured = json!({
        "copy_bytes_per_second": copy(&device, &sizes),
        "fma_flops": fused(&device, &sizes),
        "product_flops": product(&device, &sizes),
    });
    device.fault().map_or(Ok(()), Err)?;
    writeln!(std::io::stdout(), "{measured}")?;
    Ok(())
}
