//! `repro devices --tensor-cores`: what the tensor cores of a device compute, as files.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::output::{Output, cannot_write};
use crate::cli::sign::write_new;
use crate::cli::{Answer, CANNOT_WRITE};
use repro_core::disk::{Disk, LocalDisk, beneath};
use repro_core::source::Error;
use repro_kernels::device::{COLUMNS, Capture, ROWS, TensorCores, WORDS};
use repro_replay::{TensorData, TensorFile};
use repro_report::outcome::ExitStatus;
use repro_report::visible;

/// The description of a file's tensors.
const LAYOUT: &str = "bits; d = c + a b for each tile by one mma.sync.aligned with float32 sums; a has 16 rows and b 8 \
columns of 8 words along k, two numbers of 16 bits in a word, the first in the low half, or one of tf32";

/// `repro.tensor-cores/1`.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    device: String,
    name: String,
    driver: String,
    seed: u64,
    captures: Vec<Captured>,
}

/// The results of one instruction.
#[derive(Serialize)]
struct Captured {
    operand: &'static str,
    file: String,
    results: usize,
    /// Results that were others when the device was asked once more.
    unsteady: usize,
    /// By the letters of the distributions.
    distributions: BTreeMap<char, Counted>,
}

#[derive(Serialize)]
struct Counted {
    results: usize,
    /// Those that the rule of Hopper gives bit for bit.
    by_hopper_rule: usize,
}

/// Has the device multiply the inputs of a seed, and writes them with the results, a file for each instruction.
pub fn run(id: &str, folder: &Path, seed: u64, output: &Output) -> Answer {
    // Before the device is busy for minutes.
    beneath(Path::new(""), folder).map_err(|error| vec![cannot_write(folder, &error)])?;
    let TensorCores { device, captures } = match repro_kernels::device::capture(id, seed) {
        Ok(found) => found,
        Err(error) => {
            output.say(&format!("nothing was multiplied on `{id}`: {error}"));
            return Ok(ExitStatus::NotRun);
        }
    };
    let document = Document {
        schema: "repro.tensor-cores/1",
        device: id.to_owned(),
        name: device.name,
        driver: device.driver,
        seed,
        captures: captures.iter().map(captured).collect(),
    };
    for (capture, about) in std::iter::zip(&captures, &document.captures) {
        let metadata = metadata(&document, about);
        save(&folder.join(&about.file), capture, metadata).map_err(|error| vec![error])?;
    }
    if output.wants_json() {
        output.print_json(&document);
    } else {
        output.print(&render(&document));
    }
    let is_steady = document.captures.iter().all(|of| of.unsteady == 0);
    Ok(if is_steady { ExitStatus::Verified } else { ExitStatus::NotRun })
}

fn captured(capture: &Capture) -> Captured {
    let explained = capture.explained().into_iter();
    let operand = capture.operand.name();
    Captured {
        operand,
        file: format!("tensor-cores-{operand}.safetensors"),
        results: capture.d.len(),
        unsteady: capture.unsteady,
        distributions: explained
            .map(|of| (of.letter, Counted { results: of.results, by_hopper_rule: of.explained }))
            .collect(),
    }
}

/// The metadata of a file.
fn metadata(document: &Document, about: &Captured) -> BTreeMap<String, String> {
    let tiles =
        |(letter, of): (&char, &Counted)| format!("{letter} {}", of.results / (ROWS * COLUMNS));
    let tiles: Vec<_> = about.distributions.iter().map(tiles).collect();
    let entries = [
        ("device", document.name.clone()),
        ("driver", document.driver.clone()),
        ("operand", about.operand.to_owned()),
        ("seed", document.seed.to_string()),
        ("tiles", tiles.join(", ")),
        ("layout", LAYOUT.to_owned()),
    ];
    entries.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

fn save(path: &Path, capture: &Capture, metadata: BTreeMap<String, String>) -> Result<(), Error> {
    let tiles = capture.d.len() / (ROWS * COLUMNS);
    let tensors = [
        ("a", [tiles, ROWS, WORDS], &capture.inputs.a),
        ("b", [tiles, COLUMNS, WORDS], &capture.inputs.b),
        ("c", [tiles, ROWS, COLUMNS], &capture.inputs.c),
        ("d", [tiles, ROWS, COLUMNS], &capture.d),
    ];
    let tensors = tensors
        .into_iter()
        .map(|(name, shape, words)| (name.to_owned(), TensorData::numbers(&shape, words)))
        .collect();
    let folder = path.parent().unwrap_or(Path::new("."));
    LocalDisk.make_folders(Path::new(""), folder).map_err(|error| cannot_write(folder, &error))?;
    let file = TensorFile { tensors, metadata }.write();
    write_new(path, &file, (&CANNOT_WRITE, "no file with this name"))
}

fn render(document: &Document) -> String {
    let mut text = format!("{}  {}\n", document.device, visible(&document.name));
    for one in &document.captures {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {}  {} results, {} different when repeated; {}",
            one.operand, one.results, one.unsteady, one.file
        );
        for (letter, of) in &one.distributions {
            let _ = writeln!(
                text,
                "    {letter}  {} of {} by the rule of Hopper",
                of.by_hopper_rule, of.results
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_kernels::device::{Inputs, Operand};

    #[test]
    fn a_file_holds_inputs_and_results_and_says_what_they_are() {
        let inputs = Inputs::generate(Operand::Tf32, 5);
        let d: Vec<u32> = (0..inputs.c.len() as u32).collect();
        let capture = Capture { operand: Operand::Tf32, inputs, d, unsteady: 0 };
        let document = Document {
            schema: "repro.tensor-cores/1",
            device: "cuda:0".to_owned(),
            name: "a GPU".to_owned(),
            driver: "CUDA 13.0".to_owned(),
            seed: 5,
            captures: vec![captured(&capture)],
        };
        let [about] = &document.captures[..] else { panic!("one") };
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("new").join(&about.file);
        save(&path, &capture, metadata(&document, about)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() < 16_000_000, "{}", bytes.len());
        let file = TensorFile::parse("file", &bytes).unwrap();
        assert_eq!(
            file.metadata["tiles"],
            "A 512, B 512, C 512, D 512, E 512, F 512, G 512, H 4096, I 512"
        );
        assert_eq!((&*file.metadata["operand"], &*file.metadata["seed"]), ("tf32", "5"));
        assert_eq!(file.tensors["a"].shape(), [8192, 16, 8]);
        assert_eq!(file.tensors["d"].as_numbers().unwrap(), capture.d);
        assert_eq!(file.tensors["b"].as_numbers().unwrap(), capture.inputs.b);
        // A capture is never written over another one.
        let error = save(&path, &capture, BTreeMap::new()).unwrap_err();
        assert_eq!(error.code, &CANNOT_WRITE);
        let text = render(&document);
        assert!(text.contains("tf32  1048576 results, 0 different"), "{text}");
        assert!(text.contains("    H  0 of 524288 by the rule"), "{text}");
    }
}
