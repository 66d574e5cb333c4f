//! The cells of a row.

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlCell {
    /// Null.
    Null,
    /// An integer.
    Integer(i64),
    /// A float.
    Real(f64),
    /// A text.
    Text(String),
    /// A blob, whose bytes are never used.
    Bytes,
}

/// The maximum number of columns in a table.
const COLUMNS_CAP: usize = 2_000;

/// Parses `payload` as the cells of a record.
pub fn cells(payload: &[u8]) -> Option<Vec<SqlCell>> {
    let mut header = payload;
    let length = usize::try_from(varint(&mut header)?).ok()?;
    let own = payload.len() - header.len();
    let mut header = header.get(..length.checked_sub(own)?)?;
    let mut body = payload.get(length..)?;
    let mut cells = Vec::new();
    while !header.is_empty() {
        if cells.len() == COLUMNS_CAP {
            return None;
        }
        cells.push(cell(varint(&mut header)?, &mut body)?);
    }
    Some(cells)
}

/// Takes a cell of a serial type off the front of the body.
fn cell(kind: u64, body: &mut &[u8]) -> Option<SqlCell> {
    let size = match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        _ => usize::try_from((kind - 12) / 2).ok()?,
    };
    let (bytes, rest) = body.split_at_checked(size)?;
    *body = rest;
    Some(match kind {
        0 => SqlCell::Null,
        7 => SqlCell::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        8 => SqlCell::Integer(0),
        9 => SqlCell::Integer(1),
        1..=6 => {
            let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
            let start = if negative { -1 } else { 0 };
            SqlCell::Integer(bytes.iter().fold(start, |sum: i64, byte| sum << 8 | i64::from(*byte)))
        }
        kind if kind % 2 == 1 => SqlCell::Text(String::from_utf8_lossy(bytes).into_owned()),
        _ => SqlCell::Bytes,
    })
}

/// Takes a variable-length integer, high bits first, off the front.
pub fn varint(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..9 {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        if at == 8 {
            return Some(value << 8 | u64::from(*byte));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_their_types() {
        let mut payload = vec![8, 0, 1, 2, 7, 9, 17, 14, 0xfe, 0x01, 0x00];
        payload.extend(1.5_f64.to_be_bytes());
        payload.extend(b"abz");
        payload.push(0);
        let wanted = [
            SqlCell::Null,
            SqlCell::Integer(-2),
            SqlCell::Integer(256),
            SqlCell::Real(1.5),
            SqlCell::Integer(1),
            SqlCell::Text("ab".into()),
            SqlCell::Bytes,
        ];
        assert_eq!(cells(&payload).unwrap(), wanted);
        assert_eq!(varint(&mut &[0x81, 0x00][..]), Some(128));
        assert_eq!(varint(&mut &[0xff; 9][..]), Some(u64::MAX));
    }

    proptest::proptest! {
        /// Any bytes give cells or none.
        #[test]
        fn any_bytes_are_cells_or_none(bytes in proptest::collection::vec(0..=255_u8, 0..64)) {
            let _ = cells(&bytes);
        }
    }
}
