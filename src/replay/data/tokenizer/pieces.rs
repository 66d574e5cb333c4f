//! `tokenizer.json` files, by the crate `tokenizers`.

use tokenizers::Tokenizer;

/// The tokenizer of a file.
pub struct Pieces(Tokenizer);

impl Pieces {
    /// Reads the text of a file.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let words = |error: tokenizers::Error| error.to_string();
        let mut pieces = Tokenizer::from_bytes(json).map_err(words)?;
        pieces.with_truncation(None).map_err(words)?.with_padding(None);
        // A text that spells a control token is text.
        pieces.set_encode_special_tokens(true);
        Ok(Self(pieces))
    }

    /// The token numbers of a text.
    pub fn numbers(&self, text: &str) -> Result<Vec<u32>, String> {
        let encoding = self.0.encode_fast(text, false).map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Every token: its text, its number, and whether it was added to those of the model.
    pub fn vocabulary(&self) -> Vec<(String, u32, bool)> {
        let added = self.0.get_added_tokens_decoder();
        let token = |(piece, number)| (piece, number, added.contains_key(&number));
        self.0.get_vocab(true).into_iter().map(token).collect()
    }
}
