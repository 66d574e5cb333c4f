//! A strict reader for the protocol buffers wire format: the numbered fields of a message.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue<'a> {
    /// A variable-length integer.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Length-prefixed bytes: texts, messages, packed lists.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

impl<'a> FieldValue<'a> {
    /// The bytes.
    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// The text.
    pub fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// The signed integer.
    pub fn signed(self) -> Option<i64> {
        if let Self::Varint(value) = self { Some(value.cast_signed()) } else { None }
    }
}

/// A message that violates the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The fields of a message, in order.
#[derive(Debug, Clone, Copy)]
pub struct WireFields<'a>(&'a [u8]);

impl<'a> WireFields<'a> {
    /// Parses `bytes` as the fields of a message.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The last value of a field, which is the one that counts.
    pub fn last(self, number: u64) -> Result<Option<FieldValue<'a>>, Malformed> {
        let mut last = None;
        for field in self {
            let (found, value) = field?;
            last = if found == number { Some(value) } else { last };
        }
        Ok(last)
    }

    fn field(&mut self) -> Result<(u64, FieldValue<'a>), Malformed> {
        let key = varint(&mut self.0)?;
        let value = match key & 7 {
            0 => FieldValue::Varint(varint(&mut self.0)?),
            1 => FieldValue::Fixed64(u64::from_le_bytes(array(&mut self.0)?)),
            2 => {
                let length = usize::try_from(varint(&mut self.0)?).map_err(|_| Malformed)?;
                FieldValue::Bytes(take(&mut self.0, length)?)
            }
            5 => FieldValue::Fixed32(u32::from_le_bytes(array(&mut self.0)?)),
            _ => return Err(Malformed),
        };
        let number = key >> 3;
        if number == 0 { Err(Malformed) } else { Ok((number, value)) }
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = Result<(u64, FieldValue<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Takes `count` bytes off the front.
pub fn take<'a>(from: &mut &'a [u8], count: usize) -> Result<&'a [u8], Malformed> {
    let (taken, rest) = from.split_at_checked(count).ok_or(Malformed)?;
    *from = rest;
    Ok(taken)
}

/// Takes a fixed number of bytes off the front.
pub fn array<const N: usize>(from: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (taken, rest) = from.split_first_chunk::<N>().ok_or(Malformed)?;
    *from = rest;
    Ok(*taken)
}

/// Takes a variable-length integer off the front.
pub fn varint(from: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let [byte] = array(from)?;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && bits > 1 {
            return Err(Malformed);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A field with bytes, as a writer encodes it.
    pub fn bytes(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = varint_of(u64::from(number) << 3 | 2);
        field.extend(varint_of(bytes.len() as u64));
        field.extend_from_slice(bytes);
        field
    }

    /// A field with an integer.
    pub fn integer(number: u8, value: u64) -> Vec<u8> {
        [varint_of(u64::from(number) << 3), varint_of(value)].concat()
    }

    fn varint_of(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    #[test]
    fn fields_come_back_as_they_were_written() {
        let message =
            [integer(2, u64::MAX), bytes(16, b"ab"), vec![0x0d, 0, 0, 0x80, 0x3f]].concat();
        let fields: Result<Vec<_>, _> = WireFields::of(&message).collect();
        let wanted = [
            (2, FieldValue::Varint(u64::MAX)),
            (16, FieldValue::Bytes(b"ab")),
            (1, FieldValue::Fixed32(1.0_f32.to_bits())),
        ];
        assert_eq!(fields.unwrap(), wanted);
        assert_eq!(WireFields::of(&message).last(2).unwrap().unwrap().signed(), Some(-1));
    }

    #[test]
    fn what_no_writer_makes_is_refused() {
        for message in [
            &[0x08][..],
            &[0x12, 5, 1],
            &[0x0b],
            &[0x00, 1],
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ] {
            assert!(WireFields::of(message).any(|field| field.is_err()), "{message:?}");
        }
    }

    proptest::proptest! {
        /// Any bytes give a finite number of fields.
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(0..=255_u8, 0..64)) {
            proptest::prop_assert!(WireFields::of(&bytes).count() <= 64);
        }
    }
}
