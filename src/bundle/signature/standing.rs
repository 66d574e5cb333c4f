//! The verdict on a bundle's signature, given the keys that were pinned for it.

use super::{Material, OTHER_MATERIAL, PublicKey, Signature, UNPINNED, unsigned};
use super::{PinnedBy, SignatureReport};
use crate::bundle::Bundle;
use repro_core::Verdict;
use repro_core::source::Error;

/// Judges the signature of `bundle`. Where the caller gave keys, one of them must have signed; where the
/// author of a post pinned a key, that one must have; anything else is then a refusal. Where nobody pinned
/// a key, what is wrong with a signature is named, and a bundle without one is just that.
pub fn judge(
    bundle: &Bundle,
    caller: &[PublicKey],
    author: Option<&PublicKey>,
) -> Result<Option<SignatureReport>, Error> {
    let pins: Vec<(PinnedBy, &[PublicKey])> =
        [(PinnedBy::Caller, caller), (PinnedBy::Author, author.map_or(&[], std::slice::from_ref))]
            .into_iter()
            .filter(|(_, keys)| !keys.is_empty())
            .collect();
    let found = Signature::of(bundle);
    let Some((pinned_by, first)) = pins.first() else { return Ok(unpinned(found)) };
    let signature = found?.ok_or_else(|| unsigned(bundle, first))?;
    let signers = pins.iter().map(|(_, keys)| signature.check(keys));
    let signers = signers.collect::<Result<Vec<_>, _>>()?;
    Ok(Some(SignatureReport {
        verdict: Verdict::Verified,
        key: signers.first().map(|key| key.id().prefixed()),
        pinned_by: Some(*pinned_by),
        code: None,
        reason: String::new(),
    }))
}

/// A signature whose key nobody pinned.
fn unpinned(found: Result<Option<Signature<'_>>, Error>) -> Option<SignatureReport> {
    let named = match found {
        Ok(None) => return None,
        Ok(Some(signature)) => signature.check_files().map(|()| signature.material().clone()),
        Err(error) => Err(error),
    };
    let (verdict, key, code, reason) = match named {
        Ok(Material::Key { hint }) => {
            let reason = "the key is not pinned, so the signature does not show who signed";
            (Verdict::Unchecked, hint, &UNPINNED, reason.to_owned())
        }
        Ok(Material::Certificate) => {
            let reason = "signed with a certificate, and certificates are not checked";
            (Verdict::Unchecked, None, &OTHER_MATERIAL, reason.to_owned())
        }
        Err(error) => {
            let reason = format!("expected {}, found {}", error.expected, error.found);
            (Verdict::Refuted, None, error.code, reason)
        }
    };
    let key = key.map(|key| key.prefixed());
    Some(SignatureReport { verdict, key, pinned_by: None, code: Some(code), reason })
}
