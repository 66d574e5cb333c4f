//! Signatures of bundles, in the format of OpenSSF Model Signing (OMS) v1.0.
//!
//! `receipt.sig` is a sigstore bundle v0.3 around one DSSE envelope. The envelope carries an in-toto
//! statement that lists every other file of the bundle with its digest, signed with ECDSA on P-256 and
//! SHA-256. A signature shows who vouches for the files; whether claims follow from them is judged separately.
//! The key always comes from outside the bundle: from the caller, or from a post file.

mod attestation;
mod envelope;
mod key;
mod record;
mod report;
mod standing;
mod statement;
mod timestamp;

use crate::bundle::{Bundle, SIGNATURE};
use repro_core::source::{DOCUMENT_CAP, Error, Location, Source, TOO_LARGE, codes};

pub use attestation::{Attestation, Attestations, attest, sign_statement};
pub use envelope::{Envelope, Material, pre_authentication_encoding};
pub use key::{PrivateKey, PublicKey, write_pair};
pub use record::{is_signed_by, sign_record};
pub use report::{PinnedBy, SignatureReport};
pub use standing::judge;
pub use statement::check as check_statement;
pub use timestamp::{Authorities, Timestamp, Timestamps, request as timestamp_request};

codes! {
    UNSIGNED = "signature::unsigned", "the bundle is not signed, but a key was given", "ask its author for `receipt.sig`, or verify it without a key";
    OTHER_FORMAT = "signature::unsupported-format", "the signature is not in OMS v1.0, the only supported format", "sign the bundle again, with `repro bundle sign` or `model_signing sign key`";
    NOT_ONE = "signature::wrong-signature-count", "the envelope does not contain exactly one signature", "sign the bundle again";
    BAD_ENCODING = "signature::bad-encoding", "part of the signature is not in strict encoding", "sign the bundle again";
    OTHER_MATERIAL = "signature::signed-with-certificate", "the bundle was signed with a certificate, not with a key", "ask its author for a signature with a key";
    OTHER_KEY = "signature::different-key", "the bundle was signed with a different key", "ask its author which key they use";
    FORGED = "signature::forged", "the signature does not match the data that it claims to sign", "do not trust the bundle; ask its author";
    OTHER_SERIALIZATION = "signature::other-serialization", "the signed files are not listed as the format requires", "sign with method `files`, SHA-256 and no symbolic links";
    BAD_TIMESTAMP = "signature::bad-timestamp", "a timestamp cannot be read", "pass the authority's RFC 3161 response (`.tsr`), and certificates in PEM";
    UNTRUSTED_TIMESTAMP = "signature::untrusted-timestamp", "a timestamp is not from a trusted timestamp authority", "pass the authority's certificate with `--authority`, or request another timestamp";
    FUTURE_TIMESTAMP = "signature::future-timestamp", "a timestamp is in the future", "correct this machine's clock, or request another timestamp";
    OTHER_TIMESTAMP = "signature::other-timestamp", "a timestamp covers something else", "request one for this bundle with `repro bundle stamp BUNDLE`";
    OTHER_NAME = "signature::other-name", "the signature covers a bundle with a different name", "rename the folder to the signed name";
    OTHER_FILES = "signature::other-files", "the signature does not cover exactly the bundle's files", "fetch the bundle and its signature again, together";
    UNPINNED = "signature::unpinned", "the signing key is not pinned, so the signature does not show who signed", "pass the author's key with `--pubkey`";
    SIGNED_BEFORE = "signature::already-signed", "the bundle is already signed", "remove `receipt.sig` before signing with another key";
    BAD_KEY = "signature::bad-key", "the key cannot be used", "use a P-256 key in PEM, as `repro bundle keygen` writes it";
    KEY_EXISTS = "signature::key-exists", "the key file already exists, and keys are never overwritten", "choose another file name";
    NO_RANDOMNESS = "signature::no-randomness", "the system provides no random numbers", "generate keys on another machine";
}

/// The signature of a bundle, structure checked, files and key not yet.
#[derive(Debug)]
pub struct Signature<'a> {
    bundle: &'a Bundle,
    place: Location,
    envelope: Envelope,
}

impl<'a> Signature<'a> {
    /// The signature of `bundle`, where it has one.
    pub fn of(bundle: &'a Bundle) -> Result<Option<Self>, Error> {
        let Some(bytes) = bundle.signature() else { return Ok(None) };
        let place = bundle.place(SIGNATURE);
        let envelope = Envelope::parse(Source::new(place.file.as_str(), bytes.to_vec())?)?;
        Ok(Some(Self { bundle, place, envelope }))
    }

    /// Who says to have signed; nothing is proven by it.
    pub fn material(&self) -> &Material {
        &self.envelope.material
    }

    /// Checks that one of `keys` signed exactly the files of the bundle, and answers which.
    pub fn check<'k>(&self, keys: &'k [PublicKey]) -> Result<&'k PublicKey, Error> {
        let key = self.signer(keys)?;
        self.check_files()?;
        Ok(key)
    }

    /// Checks that the signature is about exactly the files of the bundle, whoever signed.
    pub fn check_files(&self) -> Result<(), Error> {
        let name = format!("{}, payload", self.place.file);
        let source = Source::new(name, self.envelope.payload.clone())?;
        statement::check(source, self.bundle.name(), &self.bundle.signed_files())
    }

    /// Which of `keys` signed the payload. What is signed is read only after this.
    fn signer<'k>(&self, keys: &'k [PublicKey]) -> Result<&'k PublicKey, Error> {
        let place = || self.place.clone();
        let expected = || {
            let ids: Vec<_> = keys.iter().map(|key| key.id().prefixed()).collect();
            format!("a signature by {}", ids.join(" or "))
        };
        let Material::Key { hint } = &self.envelope.material else {
            return Err(OTHER_MATERIAL.at(place(), expected(), "a signature with a certificate"));
        };
        let named: Vec<_> =
            keys.iter().filter(|key| hint.is_none_or(|hint| hint == key.id())).collect();
        if named.is_empty() {
            let found =
                hint.map_or_else(String::new, |hint| format!("a signature by {}", hint.prefixed()));
            return Err(OTHER_KEY.at(place(), expected(), found));
        }
        let message = pre_authentication_encoding(&self.envelope.payload);
        let signed = |key: &&&PublicKey| key.verifies(&message, &self.envelope.signature);
        named.iter().find(signed).copied().ok_or_else(|| {
            FORGED.at(place(), expected(), "a signature that the key does not verify")
        })
    }
}

/// Refuses a bundle that was to be signed and is not.
fn unsigned(bundle: &Bundle, keys: &[PublicKey]) -> Error {
    let ids: Vec<_> = keys.iter().map(|key| key.id().prefixed()).collect();
    let expected = format!("a signature by {}", ids.join(" or "));
    UNSIGNED.at(bundle.place(SIGNATURE), expected, "no such file")
}

/// The text of `receipt.sig` by which `key` signs the files of `bundle`. The same key and files always give
/// the same bytes (RFC 6979).
pub fn sign(bundle: &Bundle, key: &PrivateKey) -> Result<String, Error> {
    let place = || bundle.place(SIGNATURE);
    let unwritable = |error: repro_core::digest::NotCanonical| {
        crate::bundle::UNWRITABLE.at(place(), "names that canonical JSON allows", error.to_string())
    };
    let payload = statement::write(bundle.name(), &bundle.signed_files()).map_err(unwritable)?;
    let signature = key.sign(&pre_authentication_encoding(payload.as_bytes()));
    let text = envelope::write(payload.as_bytes(), &signature, key.public().id());
    let text = text.map_err(unwritable)?;
    if text.len() > DOCUMENT_CAP {
        let expected = format!("at most {DOCUMENT_CAP} bytes");
        return Err(TOO_LARGE.at(place(), expected, format!("{} bytes", text.len())));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
