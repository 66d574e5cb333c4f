//! The header of `.safetensors` files: read as a whole, and piece by piece while a bundle is hashed.

use repro_bundle::bundle::WeightsReader;
use repro_bundle::checkpoint::Header;
use repro_core::source::{Error, Location};

use super::refused;

/// The most data that a header is given: what lies behind it is not what is tested.
const DATA_CAP: u64 = 1 << 14;

/// The bytes are read as a file; and as a header without its length, with data as long as it asks for.
pub fn check(bytes: &[u8]) {
    file(bytes);
    let wanted = last_end(bytes).unwrap_or_default().min(DATA_CAP);
    let length = (bytes.len() as u64).to_le_bytes();
    file(&[&length[..], bytes, &vec![0x3c; wanted as usize]].concat());
}

/// The largest number that stands in the header.
fn last_end(header: &[u8]) -> Option<u64> {
    let digits = header.split(|byte| !byte.is_ascii_digit());
    let numbers = digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let ends = header.windows(12).any(|window| window == b"data_offsets");
    numbers.filter(|&number| ends && number <= DATA_CAP).max()
}

/// Both readers agree; what passes fills the file exactly, and the reference reader reads it too.
fn file(bytes: &[u8]) {
    let header = at_once(bytes);
    let streamed = [1, 7, 4096].map(|step| in_pieces(bytes, step));
    for (one, other) in streamed.iter().zip(&streamed[1..]) {
        assert_eq!(one.as_ref().ok(), other.as_ref().ok(), "pieces of another size");
    }
    match &header {
        Err(error) => {
            refused(error, None);
            assert!(
                streamed.iter().all(Result::is_err),
                "only the streaming reader accepts: {error}"
            );
        }
        Ok(header) => {
            filled(header, bytes);
            let [streamed, ..] = &streamed;
            if let Err(error) = streamed {
                refused(error, None);
                assert_eq!(error.code.id, "bundle::non-finite-weight", "{error}");
            }
        }
    }
}

fn at_once(bytes: &[u8]) -> Result<Header, Error> {
    let prefix = bytes.first_chunk().copied().unwrap_or_default();
    let length = Header::length("fuzz.safetensors", bytes.len() as u64, prefix)?;
    let header = bytes.get(8..8 + length as usize).unwrap_or_default();
    Header::parse("fuzz.safetensors", bytes.len() as u64, header.to_vec())
}

fn in_pieces(bytes: &[u8], step: usize) -> Result<String, Error> {
    let mut reader =
        WeightsReader::new(Location::file("fuzz.safetensors"), bytes.len() as u64, 1 << 10);
    bytes.chunks(step).try_for_each(|piece| reader.feed(piece))?;
    Ok(format!("{:?}", reader.finish()?))
}

fn filled(header: &Header, bytes: &[u8]) {
    let mut end = 0;
    for tensor in &header.tensors {
        assert_eq!(tensor.offsets.start, end, "no hole and no overlap");
        assert_eq!(tensor.shape.iter().product::<u64>(), tensor.elements);
        let bits = (tensor.offsets.end - tensor.offsets.start) * 8;
        assert_eq!(tensor.elements * tensor.dtype.bits, bits);
        end = tensor.offsets.end;
    }
    assert!(end > 0 && header.data_start + end == bytes.len() as u64, "nothing is left over");
    let reference = safetensors::SafeTensors::deserialize(bytes).expect("the reference reads it");
    assert_eq!(reference.len(), header.tensors.len());
    for tensor in &header.tensors {
        let theirs = reference.tensor(&tensor.name).expect("the same names");
        let shape: Vec<u64> = theirs.shape().iter().map(|&size| size as u64).collect();
        assert_eq!(shape, tensor.shape);
    }
}
