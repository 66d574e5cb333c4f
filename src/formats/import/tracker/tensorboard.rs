//! TensorBoard event files: TFRecords of `Event` messages, of which scalars in old and new encodings are read.
//!
//! The files in a folder form one run. A restarted run replaces everything that was logged from its first step on, as
//! in TensorBoard.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::PathBuf;

use super::files::one_identity;
use super::protobuf::{FieldValue, Malformed, WireFields, array, varint};
use super::tfrecord::{Ending, EventRecords, NextRecord, masked};
use crate::import::log::{Identity, Tally, open, unreadable};
use crate::import::points::{Points, Reading};
use crate::import::run::LoggedRun;
use crate::import::{BAD_RECORD, CUT, DAMAGED};
use repro_core::source::{Error, Location};

/// The fields of an event.
const STEP: u64 = 2;
const SUMMARY: u64 = 5;
const SESSION_LOG: u64 = 7;
/// A session that starts.
const START: i64 = 1;
/// The plugin for scalars.
const SCALARS: &str = "scalars";

/// Whether a file starts with a record of this format.
pub fn has_header(head: &[u8]) -> bool {
    head.split_first_chunk::<8>()
        .is_some_and(|(length, rest)| rest.starts_with(&masked(length).to_le_bytes()))
}

/// Reads the event files of one run, in name order.
pub fn parse(files: &[PathBuf], name: &str, hashed: bool, every: u64) -> Result<LoggedRun, Error> {
    let mut events = Events { points: Points::new(every), others: HashSet::new() };
    let (mut identities, mut findings) = (Vec::new(), Vec::new());
    for path in files {
        let shown = path.display().to_string();
        let file = open(path, &shown)?;
        let (identity, finding) =
            events.read(Tally::new(file, hashed || files.len() > 1), &shown)?;
        identities.push((shown, identity));
        findings.extend(finding);
    }
    let (identity, parts) = one_identity(identities);
    let mut run = events.points.into_run(name, identity)?;
    run.parts = parts;
    findings.into_iter().for_each(|finding| run.note(finding));
    Ok(run)
}

/// The scalars of the events so far.
struct Events {
    points: Points,
    /// Tags that are not scalars.
    others: HashSet<String>,
}

impl Events {
    /// Reads one file; returns its identity, and a finding if its end is missing.
    fn read<R: Read>(
        &mut self,
        reader: Tally<R>,
        name: &str,
    ) -> Result<(Identity, Option<Error>), Error> {
        let failed = |error: io::Error| unreadable(name, &error);
        let mut records = EventRecords::new(reader);
        let mut count = 0_u64;
        let ending = loop {
            match records.next_record().map_err(failed)? {
                NextRecord::Record(record) => {
                    count += 1;
                    self.event(record).map_err(|Malformed| {
                        let found = format!("record {count}, which is invalid");
                        BAD_RECORD.at(Location::file(name), "records that contain events", found)
                    })?;
                }
                NextRecord::End(ending) => break ending,
            }
        };
        let identity = records.finish().map_err(failed)?;
        let place = || Location::file(name);
        let after = |at: u64| format!("{count} records up to byte {at} of {}", identity.bytes);
        match ending {
            Ending::Damaged(0) => {
                let expected = "records with checksums, as in an event file";
                Err(BAD_RECORD.at(place(), expected, "a different file"))
            }
            Ending::Whole => Ok((identity, None)),
            Ending::Cut(at) => {
                Ok((identity, Some(CUT.at(place(), "a complete last record", after(at)))))
            }
            Ending::Damaged(at) => {
                Ok((identity, Some(DAMAGED.at(place(), "the checksum of each record", after(at)))))
            }
        }
    }

    fn event(&mut self, record: &[u8]) -> Result<(), Malformed> {
        let (mut step, mut summary, mut session) = (0, None, None);
        for field in WireFields::of(record) {
            match field? {
                (STEP, FieldValue::Varint(value)) => step = value.cast_signed(),
                (SUMMARY, FieldValue::Bytes(bytes)) => summary = Some(bytes),
                (SESSION_LOG, FieldValue::Bytes(bytes)) => session = Some(bytes),
                _ => {}
            }
        }
        if let Some(session) = session
            && WireFields::of(session).last(1)?.and_then(FieldValue::signed) == Some(START)
            && let Ok(step) = u64::try_from(step)
        {
            self.points.forget_from(step);
        }
        for field in WireFields::of(summary.unwrap_or_default()) {
            if let (1, FieldValue::Bytes(value)) = field? {
                self.value(value, step)?;
            }
        }
        Ok(())
    }

    /// One value of a summary.
    fn value(&mut self, value: &[u8], step: i64) -> Result<(), Malformed> {
        let (mut tag, mut reading, mut is_scalar) = ("", None, None);
        for field in WireFields::of(value) {
            match field? {
                (1, FieldValue::Bytes(bytes)) => {
                    tag = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
                }
                (2, FieldValue::Fixed32(bits)) => {
                    reading = Some(Reading::Single(f32::from_bits(bits)));
                }
                (8, FieldValue::Bytes(tensor)) => reading = scalar(tensor)?,
                (9, FieldValue::Bytes(metadata)) => {
                    is_scalar = plugin(metadata)?.map(|name| name == SCALARS)
                }
                _ => {}
            }
        }
        // Only the first value of a tag has metadata.
        match is_scalar {
            Some(true) => drop(self.others.remove(tag)),
            Some(false) => drop(self.others.insert(tag.to_owned())),
            None => {}
        }
        if let Some(reading) = reading.filter(|_| !self.others.contains(tag)) {
            self.points.add_signed(tag, step, reading);
        }
        Ok(())
    }
}

/// The plugin that a value was logged for.
fn plugin(metadata: &[u8]) -> Result<Option<&str>, Malformed> {
    let Some(data) = WireFields::of(metadata).last(1)?.and_then(FieldValue::bytes) else {
        return Ok(None);
    };
    Ok(WireFields::of(data).last(1)?.and_then(FieldValue::text))
}

/// The number in a tensor without dimensions.
fn scalar(tensor: &[u8]) -> Result<Option<Reading>, Malformed> {
    let (mut kind, mut content, mut listed) = (0, None, None);
    for field in WireFields::of(tensor) {
        match field? {
            (1, FieldValue::Varint(value)) => kind = value,
            (2, FieldValue::Bytes(shape)) if has_dimensions(shape)? => return Ok(None),
            (4, FieldValue::Bytes(bytes)) => content = Some(bytes),
            (5..=7 | 10 | 13, value) => listed = Some(value),
            _ => {}
        }
    }
    let reading = match (content.filter(|bytes| !bytes.is_empty()), listed) {
        (Some(bytes), _) => from_content(kind, bytes),
        (None, Some(value)) => from_list(kind, value),
        // Zero is not encoded.
        (None, None) => from_list(kind, FieldValue::Bytes(&[])),
    };
    Ok(reading)
}

/// Whether a shape has a dimension, or is unknown.
fn has_dimensions(shape: &[u8]) -> Result<bool, Malformed> {
    for field in WireFields::of(shape) {
        if matches!(field?, (2, _) | (3, FieldValue::Varint(1..))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decodes the raw bytes of a type as a number.
fn from_content(kind: u64, bytes: &[u8]) -> Option<Reading> {
    Some(match kind {
        1 => Reading::Single(f32::from_le_bytes(bytes.try_into().ok()?)),
        2 => Reading::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
        3 => whole(i64::from(i32::from_le_bytes(bytes.try_into().ok()?)))?,
        9 => whole(i64::from_le_bytes(bytes.try_into().ok()?))?,
        14 => Reading::Single(bfloat16(u16::from_le_bytes(bytes.try_into().ok()?))),
        19 => Reading::Single(half(u16::from_le_bytes(bytes.try_into().ok()?))),
        _ => return None,
    })
}

/// The only number of a list, packed or not; an empty list is zero.
fn from_list(kind: u64, value: FieldValue<'_>) -> Option<Reading> {
    let mut bytes = value.bytes().unwrap_or_default();
    let reading = match (kind, value) {
        (1, FieldValue::Fixed32(bits)) => Reading::Single(f32::from_bits(bits)),
        (2, FieldValue::Fixed64(bits)) => Reading::Double(f64::from_bits(bits)),
        (1, _) if bytes.is_empty() => Reading::Single(0.0),
        (2, _) if bytes.is_empty() => Reading::Double(0.0),
        (1, _) => Reading::Single(f32::from_le_bytes(array(&mut bytes).ok()?)),
        (2, _) => Reading::Double(f64::from_le_bytes(array(&mut bytes).ok()?)),
        (3 | 9 | 14 | 19, _) => {
            let integer = match value {
                FieldValue::Varint(integer) => integer,
                _ if bytes.is_empty() => 0,
                _ => varint(&mut bytes).ok()?,
            };
            match kind {
                14 => Reading::Single(bfloat16(u16::try_from(integer).ok()?)),
                19 => Reading::Single(half(u16::try_from(integer).ok()?)),
                _ => whole(integer.cast_signed())?,
            }
        }
        _ => return None,
    };
    bytes.is_empty().then_some(reading)
}

fn whole(value: i64) -> Option<Reading> {
    crate::import::run::LogNumber::parse(value.to_string().as_bytes()).map(Reading::Printed)
}

/// The upper half of a float (bfloat16).
fn bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// A 16-bit float.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let sign = u32::from(bits >> 15) << 31;
    let magnitude = match exponent {
        // Below the smallest exponent, the fraction counts steps of 2^-24.
        0 => (fraction as f32 * f32::from_bits(0x3380_0000)).to_bits(),
        31 => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::super::protobuf::tests::{bytes, integer};
    use super::super::tfrecord::tests::record;
    use super::*;

    /// An event with one value of a summary.
    fn event(step: u64, value: &[u8]) -> Vec<u8> {
        record(&[integer(2, step), bytes(5, &bytes(1, value))].concat())
    }

    fn simple(tag: &str, value: f32) -> Vec<u8> {
        [bytes(1, tag.as_bytes()), vec![0x15], value.to_le_bytes().to_vec()].concat()
    }

    fn tensor(tag: &str, kind: u64, rest: &[u8]) -> Vec<u8> {
        let tensor = [integer(1, kind), bytes(2, &[]), rest.to_vec()].concat();
        [bytes(1, tag.as_bytes()), bytes(8, &tensor)].concat()
    }

    /// The numbers of a file as `step tag=number`, and the code of the finding about its end.
    fn read(file: &[u8]) -> Result<(Vec<String>, Option<&'static str>), Error> {
        let mut events = Events { points: Points::new(1), others: HashSet::new() };
        let (identity, finding) = events.read(Tally::new(file, true), "f")?;
        let code = finding.map(|finding| finding.code.id);
        if events.points.is_empty() {
            return Ok((Vec::new(), code));
        }
        let run = events.points.into_run("f", identity)?;
        let rows = run.training.iter().chain(&run.evaluations);
        let cells = rows.flat_map(|row| row.cells.iter().map(|cell| (row.step, cell)));
        let told = cells
            .map(|(step, (metric, number))| format!("{step} {}={}", metric.name(), number.text()));
        Ok((told.collect(), code))
    }

    #[test]
    fn scalars_of_both_sorts_are_read() {
        let half = [0x3c, 0x00, 0x00, 0x01];
        let file = [
            record(&bytes(3, b"brain.Event:2")),
            event(1, &simple("a", 0.1)),
            event(1, &tensor("b", 2, &bytes(4, &0.1_f64.to_le_bytes()))),
            event(1, &tensor("c", 1, &bytes(5, &2.5_f32.to_le_bytes()))),
            event(1, &tensor("d", 9, &integer(10, (-3_i64).cast_unsigned()))),
            event(
                1,
                &tensor("e", 19, &integer(13, u64::from(u16::from_be_bytes([half[0], half[1]])))),
            ),
            event(
                1,
                &tensor("f", 19, &integer(13, u64::from(u16::from_be_bytes([half[2], half[3]])))),
            ),
            event(1, &tensor("g", 14, &bytes(4, &0x4049_u16.to_le_bytes()))),
            event(1, &tensor("zero", 1, &[])),
            event(1, &tensor("words", 7, &bytes(8, b"x"))),
            event(1, &tensor("list", 1, &bytes(2, &bytes(2, &integer(1, 2))))),
        ];
        let wanted = [
            "1 a=0.1",
            "1 b=0.1",
            "1 c=2.5",
            "1 d=-3",
            "1 e=1.0",
            "1 f=5.9604645e-8",
            "1 g=3.140625",
            "1 zero=0.0",
        ];
        assert_eq!(read(&file.concat()).unwrap(), (wanted.map(str::to_owned).to_vec(), None));
    }

    #[test]
    fn what_another_plugin_draws_is_no_scalar() {
        let drawn = |name: &[u8], mut value: Vec<u8>| {
            value.extend(bytes(9, &bytes(1, &bytes(1, name))));
            value
        };
        let file = [
            event(1, &drawn(b"pr_curves", simple("a", 1.0))),
            event(2, &simple("a", 1.0)),
            event(1, &drawn(b"scalars", simple("b", 1.0))),
        ];
        assert_eq!(read(&file.concat()).unwrap().0, ["1 b=1.0"]);
    }

    #[test]
    fn a_restarted_run_takes_the_place_of_what_it_logs_again() {
        let start = record(&[integer(2, 2), bytes(7, &integer(1, 1))].concat());
        let old = [1, 2, 3].map(|step| event(step, &simple("a", 1.0))).concat();
        let file = [old, start, event(2, &simple("a", 2.0))].concat();
        assert_eq!(read(&file).unwrap().0, ["1 a=1.0", "2 a=2.0"]);
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_read_up_to_there() {
        let events: Vec<_> = (1..4).map(|step| event(step, &simple("a", 0.5))).collect();
        let file = events.concat();
        let each = events[0].len();
        for length in 0..=file.len() {
            let (told, code) = read(&file[..length]).unwrap();
            assert_eq!(told.len(), length / each, "{length}");
            assert_eq!(code, (length % each > 0).then_some("import::truncated-file"), "{length}");
        }
        let mut damaged = file.clone();
        damaged[each + 14] ^= 1;
        assert_eq!(read(&damaged).unwrap().1, Some("import::corrupt-record"));
        damaged[1] ^= 1;
        assert_eq!(read(&damaged).unwrap_err().code.id, "import::bad-record");
        assert_eq!(read(&record(&[0x0b])).unwrap_err().code.id, "import::bad-record");
    }

    proptest::proptest! {
        /// Any events give numbers or an error.
        #[test]
        fn any_event_is_read_or_refused(value in proptest::collection::vec(0..=255_u8, 0..40), kind in 0..25_u64) {
            let _ = read(&record(&value));
            let _ = read(&event(1, &value));
            let _ = read(&event(1, &tensor("a", kind, &value)));
        }
    }
}
