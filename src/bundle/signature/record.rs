//! Signatures of small records, such as a reviewer's judgement: DSSE over canonical text, with a type of their own, so that no
//! signature of a record can pass for one of a bundle.

use base64ct::{Base64, Encoding};

use super::{PrivateKey, PublicKey};

/// The bytes that are signed: version, type and payload, each behind its length, as DSSE has it.
fn encoded(kind: &str, payload: &str) -> Vec<u8> {
    format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len()).into_bytes()
}

/// The signature of a record of a kind, in base64. The same key and text always give the same signature.
pub fn sign_record(kind: &str, payload: &str, key: &PrivateKey) -> String {
    Base64::encode_string(&key.sign(&encoded(kind, payload)))
}

/// Whether the owner of `key` signed this record.
pub fn is_signed_by(kind: &str, payload: &str, signature: &str, key: &PublicKey) -> bool {
    Base64::decode_vec(signature).is_ok_and(|bytes| key.verifies(&encoded(kind, payload), &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_kind_and_one_text() {
        let [key, other] = [(), ()].map(|()| PrivateKey::generate().unwrap());
        let signature = sign_record("application/a", "text", &key);
        assert!(is_signed_by("application/a", "text", &signature, key.public()));
        assert!(!is_signed_by("application/b", "text", &signature, key.public()));
        assert!(!is_signed_by("application/a", "texts", &signature, key.public()));
        assert!(!is_signed_by("application/a", "text", &signature, other.public()));
        assert!(!is_signed_by("application/a", "text", "no base64", key.public()));
    }
}
