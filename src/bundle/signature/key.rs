//! Keys: ECDSA on the curve P-256, as PEM files.

use std::io::Read;
use std::path::Path;

use p256::SecretKey;
use p256::ecdsa::signature::{Signer, Verifier};
use p256::ecdsa::{DerSignature, SigningKey, VerifyingKey};
use p256::elliptic_curve::Generate;
use p256::pkcs8::{DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding};

use super::{BAD_KEY, KEY_EXISTS, NO_RANDOMNESS};
use crate::bundle::CANNOT_WRITE;
use repro_core::digest::Digest;
use repro_core::disk;
use repro_core::source::{Error, Location, UNREADABLE};

/// The most bytes of a key file; a P-256 key has a few hundred.
const KEY_CAP: u64 = 16 << 10;

/// A key that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    pem: String,
}

impl PublicKey {
    /// Reads one PEM block; `place` says where it stands.
    pub fn parse(text: &str, place: Location) -> Result<Self, Error> {
        let bad = |found: String| BAD_KEY.at(place.clone(), "a public key on P-256 in PEM", found);
        if text.contains("PRIVATE KEY") {
            return Err(bad("a private key, which only its owner should have".to_owned()));
        }
        let text = text.replace("\r\n", "\n");
        let key = VerifyingKey::from_public_key_pem(text.trim())
            .map_err(|error| bad(error.to_string()))?;
        let pem = key.to_public_key_pem(LineEnding::LF).map_err(|error| bad(error.to_string()))?;
        Ok(Self { key, pem })
    }

    /// Reads a PEM file.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let place = Location::file(path.display().to_string());
        Self::parse(&read(path, &place)?, place)
    }

    /// Its identity: the SHA-256 of its PEM text with LF line ends.
    pub fn id(&self) -> Digest {
        Digest::of(self.pem.as_bytes())
    }

    /// Its PEM text.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Whether `signature`, in DER, is its owner's for `message`.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        DerSignature::try_from(signature)
            .is_ok_and(|signature| self.key.verify(message, &signature).is_ok())
    }
}

/// A key that signs. It is overwritten in memory when it goes, and never printed.
pub struct PrivateKey {
    key: SigningKey,
    public: PublicKey,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrivateKey").field("public", &self.public.id()).finish_non_exhaustive()
    }
}

impl PrivateKey {
    /// Makes a new key of the system's random numbers.
    pub fn generate() -> Result<Self, Error> {
        let place = || Location::file("--out");
        let key = SecretKey::try_generate()
            .map_err(|error| NO_RANDOMNESS.at(place(), "32 random bytes", error.to_string()))?;
        Self::new(&key, &place())
    }

    /// Reads a PEM file, PKCS #8 or SEC 1, which may not be encrypted.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let place = Location::file(path.display().to_string());
        let text = read(path, &place)?;
        // The parser's message may quote nothing of the key, and neither do we.
        let key = SecretKey::from_pem(text.trim()).map_err(|_| {
            let found =
                if text.contains("ENCRYPTED") { "an encrypted key" } else { "something else" };
            BAD_KEY.at(place.clone(), "a private key on P-256 in PEM, not encrypted", found)
        })?;
        Self::new(&key, &place)
    }

    fn new(secret: &SecretKey, place: &Location) -> Result<Self, Error> {
        let key = SigningKey::from(secret);
        let pem = key.verifying_key().to_public_key_pem(LineEnding::LF);
        let pem = pem.map_err(|error| {
            BAD_KEY.at(place.clone(), "a key with a public part", error.to_string())
        })?;
        let public = PublicKey { key: *key.verifying_key(), pem };
        Ok(Self { key, public })
    }

    /// The key that verifies what this one signs.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of `message` in DER, the same each time.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature: DerSignature = self.key.sign(message);
        signature.as_bytes().to_vec()
    }
}

/// Writes the private key to `path`, for its owner alone to read, and the public one to `public`.
pub fn write_pair(key: &PrivateKey, path: &Path, public: &Path) -> Result<(), Error> {
    let secret = SecretKey::from(key.key.as_nonzero_scalar());
    let pem = secret.to_pkcs8_pem(LineEnding::LF).map_err(|_| {
        let place = Location::file(path.display().to_string());
        BAD_KEY.at(place, "a key that can be encoded", "none")
    })?;
    write_new(public, key.public.pem.as_bytes(), 0o644)?;
    let written = write_new(path, pem.as_bytes(), 0o600);
    if written.is_err() {
        // A public key without its private one is of no use to anybody.
        let _ = std::fs::remove_file(public);
    }
    written
}

/// Writes a file that was not there before.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let place = || Location::file(path.display().to_string());
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => KEY_EXISTS.at(place(), "no such file", "a file"),
        _ => CANNOT_WRITE.at(place(), "a writable file", error.to_string()),
    };
    disk::write_new(path, bytes, mode).map_err(cannot)
}

fn read(path: &Path, place: &Location) -> Result<String, Error> {
    let unreadable = |error: std::io::Error| {
        UNREADABLE.at(place.clone(), "a readable key file", error.to_string())
    };
    let mut text = String::new();
    let file = repro_core::source::open_named(path).map_err(unreadable)?;
    file.take(KEY_CAP + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > KEY_CAP {
        let expected = format!("at most {KEY_CAP} bytes");
        return Err(BAD_KEY.at(place.clone(), expected, "more"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_standard() {
        // RFC 6979, appendix A.2.5: P-256, SHA-256, the message "sample".
        let secret = "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721";
        let r = "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716";
        let s = "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8";
        let bytes = |hex: &str| *Digest::parse_hex(&hex.to_lowercase()).unwrap().bytes();
        let secret = SecretKey::from_slice(&bytes(secret)).unwrap();
        let key = PrivateKey::new(&secret, &Location::file("k")).unwrap();
        let signature = key.sign(b"sample");
        // Both numbers begin with a set bit, so each has a zero before it.
        assert_eq!(signature[..5], [0x30, 70, 2, 33, 0]);
        assert_eq!((&signature[5..37], &signature[40..]), (&bytes(r)[..], &bytes(s)[..]));
        assert!(key.public().verifies(b"sample", &signature));
        assert!(!key.public().verifies(b"samples", &signature));
        assert!(!key.public().verifies(b"sample", &signature[..71]));
    }
}
