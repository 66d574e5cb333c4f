//! How the tokens of a `tokenizer.json` spell bytes.

/// A way to write bytes as the text of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Byte-level BPE: each character stands for one byte; printable ones of Latin-1 for themselves,
    /// the others, in rising order, for the characters from U+0100 on.
    ByteLevel,
    /// Pieces as SentencePiece writes them: U+2581 is a space, `<0x0A>` a byte.
    Pieces,
    /// The text itself.
    Plain,
}

impl Spelling {
    /// Every spelling, the more particular before the plain one.
    pub const ALL: [Self; 3] = [Self::ByteLevel, Self::Pieces, Self::Plain];

    /// The bytes that a token stands for.
    pub fn bytes(self, token: &str) -> Vec<u8> {
        match self {
            Self::ByteLevel => {
                // A token with a character outside the alphabet stands for its text.
                let bytes: Option<Vec<u8>> = token.chars().map(byte_level).collect();
                bytes.unwrap_or_else(|| token.as_bytes().to_vec())
            }
            Self::Pieces => match fallback(token) {
                Some(byte) => vec![byte],
                None => token.replace('\u{2581}', " ").into_bytes(),
            },
            Self::Plain => token.as_bytes().to_vec(),
        }
    }
}

/// Whether a byte stands for itself in byte-level BPE.
fn printable(byte: u8) -> bool {
    matches!(byte, 33..=126 | 161..=172 | 174..=255)
}

/// The byte of a character of byte-level BPE.
fn byte_level(character: char) -> Option<u8> {
    let code = u32::from(character);
    match u8::try_from(code) {
        Ok(byte) => printable(byte).then_some(byte),
        Err(_) => (0..=255_u8).filter(|&byte| !printable(byte)).nth(code as usize - 256),
    }
}

/// The byte of `<0x0A>`.
fn fallback(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let written = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    written.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_alphabet_has_each_byte_once() {
        let bytes: Vec<_> = (0..0x200).filter_map(char::from_u32).filter_map(byte_level).collect();
        let mut sorted = bytes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..=255).collect::<Vec<_>>());
        // Letters that every published vocabulary has for a space, a line feed and a soft hyphen.
        assert_eq!(Spelling::ByteLevel.bytes("Ġthe"), b" the");
        assert_eq!(Spelling::ByteLevel.bytes("Ċ"), b"\n");
        assert_eq!(Spelling::ByteLevel.bytes("Ń"), [173]);
        assert_eq!(Spelling::ByteLevel.bytes("Ã©"), "é".as_bytes());
    }

    #[test]
    fn pieces_spell_spaces_and_bytes() {
        assert_eq!(Spelling::Pieces.bytes("▁the"), b" the");
        assert_eq!(Spelling::Pieces.bytes("<0x0A>"), b"\n");
        assert_eq!(Spelling::Pieces.bytes("<0xE>"), b"<0xE>");
        assert_eq!(Spelling::Pieces.bytes("<0x+1>"), b"<0x+1>");
    }
}
