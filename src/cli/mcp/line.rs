//! Lines of at most some length: a longer one is passed over and told, and fills no memory.

use std::io::{BufRead, ErrorKind, Read};

/// The longest message, in bytes: a document of the largest size that is read, and what stands around it.
pub const MOST: usize = 16 << 20;

/// The next line of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine {
    Read(Vec<u8>),
    TooLong,
    End,
}

/// Reads a line without its line feed; the last one need not have any.
pub fn next(input: &mut impl BufRead, most: usize) -> std::io::Result<InputLine> {
    let mut line = Vec::new();
    let cap = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(cap).read_until(b'\n', &mut line)? == 0 {
        return Ok(InputLine::End);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > most {
        pass_over(input)?;
        return Ok(InputLine::TooLong);
    }
    Ok(InputLine::Read(line))
}

/// Reads on behind the next line feed.
fn pass_over(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (length, is_over) = (end.map_or(buffer.len(), |at| at + 1), end.is_some());
        input.consume(length);
        if is_over || length == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read() {
        let mut input = &b"12345\n123456\n\n1"[..];
        let mut next = || next(&mut input, 5).unwrap();
        assert_eq!(next(), InputLine::Read(b"12345".to_vec()));
        assert_eq!(next(), InputLine::TooLong);
        assert_eq!(next(), InputLine::Read(Vec::new()));
        assert_eq!(next(), InputLine::Read(b"1".to_vec()));
        assert_eq!(next(), InputLine::End);
    }
}
