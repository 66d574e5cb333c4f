//! Trusted timestamps (RFC 3161): an authority confirms when a digest was known.
//!
//! A token is a CMS `SignedData` (RFC 5652) around a `TSTInfo`. It is accepted if its signer's certificate chains to
//! one that the caller trusts and is only for timestamps, if every certificate of the chain was valid at the stated
//! time and has no unsupported critical extension, and if that time is not in the future. Signatures are RSA (PKCS #1 v1.5) or ECDSA on P-256 or P-384, over SHA-256, SHA-384 or SHA-512. Nothing is
//! fetched, so revocations are not checked.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cms::cert::CertificateChoices;
use cms::content_info::ContentInfo;
use cms::signed_data::{SignedData, SignerIdentifier, SignerInfo};
use der::asn1::{Any, ObjectIdentifier, OctetString};
use der::oid::AssociatedOid;
use der::{Decode, Encode, Tag, Tagged};
use p256::ecdsa::signature::Verifier;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use x509_cert::Certificate;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectKeyIdentifier};
use x509_cert::spki::SubjectPublicKeyInfoOwned;

use super::{BAD_TIMESTAMP, FUTURE_TIMESTAMP, OTHER_TIMESTAMP, UNTRUSTED_TIMESTAMP};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, UNREADABLE};

/// The longest token that is read.
const TOKEN_CAP: u64 = 1 << 20;
/// The most certificates between a signer and one that the caller named.
const LONGEST: usize = 8;
/// How far the clock of an authority may be ahead of that of whoever asks.
const AHEAD: Duration = Duration::from_secs(300);
/// The extensions of certificates that are looked at: what they may issue, and what their keys are for.
const KNOWN_EXTENSIONS: [ObjectIdentifier; 3] =
    [BasicConstraints::OID, KeyUsage::OID, ExtendedKeyUsage::OID];

const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const TST_INFO: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SIGNING_CERTIFICATE_V2: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.47");
const TIME_STAMPING: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.8");
pub(super) const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
pub(super) const SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2");
pub(super) const SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
/// Signature algorithms that name their hash.
const WITH_HASH: [(ObjectIdentifier, ObjectIdentifier); 6] = [
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11"), SHA256),
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.12"), SHA384),
    (ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.13"), SHA512),
    (ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2"), SHA256),
    (ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3"), SHA384),
    (ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.4"), SHA512),
];

/// Certificates of authorities that the caller named.
#[derive(Debug, Clone, Default)]
pub struct Authorities(Vec<Certificate>);

/// A timestamp that is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timestamp {
    /// Its file.
    pub place: Location,
    /// The digest that was known.
    pub imprint: Digest,
    /// When, as the authority wrote it, in UTC: `2026-11-23T17:24:35Z`.
    pub time: String,
    /// The name of the signer.
    pub authority: String,
}

/// Timestamps that a caller has named.
#[derive(Debug, Default)]
pub struct Timestamps(Vec<(Timestamp, AtomicBool)>);

impl Timestamps {
    /// Reads files, each of which has to be believed at the time `now`.
    pub fn load(
        files: &[impl AsRef<Path>],
        authorities: &Authorities,
        now: SystemTime,
    ) -> Result<Self, Error> {
        let load = |file| Ok((Timestamp::load(file, authorities, now)?, AtomicBool::new(false)));
        files.iter().map(AsRef::as_ref).map(load).collect::<Result<_, _>>().map(Self)
    }

    /// Those of a digest.
    pub fn of(&self, digest: Digest) -> impl Iterator<Item = &Timestamp> {
        let own = self.0.iter().filter(move |(stamp, _)| stamp.imprint == digest);
        own.map(|(stamp, is_used)| {
            is_used.store(true, Ordering::Relaxed);
            stamp
        })
    }

    /// The refusals of those that are of nothing that was asked for.
    pub fn unused(&self) -> Vec<Error> {
        let unused = self.0.iter().filter(|(_, is_used)| !is_used.load(Ordering::Relaxed));
        let refuse = |(stamp, _): &(Timestamp, AtomicBool)| {
            let expected = "a timestamp for this bundle, its states, start, plan or configuration";
            OTHER_TIMESTAMP.at(stamp.place.clone(), expected, stamp.imprint.prefixed())
        };
        unused.map(refuse).collect()
    }
}

/// The request for a timestamp of a digest, in DER: what `openssl ts -query -digest ... -sha256 -cert` writes without a
/// nonce.
pub fn request(digest: Digest) -> Vec<u8> {
    const HEAD: [u8; 24] = [
        0x30, 0x39, 0x02, 0x01, 0x01, 0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
        0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20,
    ];
    [&HEAD[..], digest.bytes(), &[0x01, 0x01, 0xff]].concat()
}

impl Authorities {
    /// Reads PEM files, each of one certificate or more.
    pub fn load(files: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let mut all = Vec::new();
        for file in files {
            let place = Location::file(file.as_ref().display().to_string());
            let bytes = read(file.as_ref(), &place)?;
            let read = Certificate::load_pem_chain(&bytes).map_err(|error| {
                BAD_TIMESTAMP.at(place, "certificates in PEM", error.to_string())
            })?;
            all.extend(read);
        }
        Ok(Self(all))
    }
}

fn read(path: &Path, place: &Location) -> Result<Vec<u8>, Error> {
    use std::io::Read;
    let unreadable =
        |error: std::io::Error| UNREADABLE.at(place.clone(), "a readable file", error.to_string());
    let mut bytes = Vec::new();
    let file = repro_core::source::open_named(path).map_err(unreadable)?;
    file.take(TOKEN_CAP + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > TOKEN_CAP {
        return Err(BAD_TIMESTAMP.at(place.clone(), format!("at most {TOKEN_CAP} bytes"), "more"));
    }
    Ok(bytes)
}

impl Timestamp {
    /// Reads a response of an authority, or the token alone, and believes it or not. What it says of a time after `now` proves nothing.
    pub fn load(path: &Path, authorities: &Authorities, now: SystemTime) -> Result<Self, Error> {
        let place = Location::file(path.display().to_string());
        let bytes = read(path, &place)?;
        let bad =
            |expected: &str| BAD_TIMESTAMP.at(place.clone(), expected.to_owned(), "something else");
        let token = token(&bytes).ok_or_else(|| bad("a granted RFC 3161 response in DER"))?;
        let signed = signed_data(&token).ok_or_else(|| bad("a CMS `SignedData`"))?;
        let content = signed.encap_content_info.econtent.as_ref();
        let content = content.filter(|_| signed.encap_content_info.econtent_type == TST_INFO);
        let content = content.ok_or_else(|| bad("a signed `TSTInfo`"))?.value();
        let stated = Stated::read(content).ok_or_else(|| bad("a `TSTInfo` over SHA-256"))?;
        let signer = believed(&signed, content, stated.seconds, authorities).map_err(|why| {
            UNTRUSTED_TIMESTAMP.at(
                place.clone(),
                "a timestamp from an authority that the caller trusts",
                why,
            )
        })?;
        let Stated { imprint, time, seconds } = stated;
        let latest = now.duration_since(UNIX_EPOCH).unwrap_or_default() + AHEAD;
        if seconds > latest {
            let expected = format!(
                "a time in the past, or at most {} seconds ahead of this machine's clock",
                AHEAD.as_secs()
            );
            return Err(FUTURE_TIMESTAMP.at(place, expected, time));
        }
        Ok(Self { place, imprint, time, authority: signer })
    }
}

/// The token of a response that was granted, or of a file that is one.
fn token(bytes: &[u8]) -> Option<ContentInfo> {
    if let Ok(token) = ContentInfo::from_der(bytes) {
        return Some(token);
    }
    let parts = parts(&Any::from_der(bytes).ok()?)?;
    let [status, token] = parts.as_slice() else { return None };
    let status = self::parts(status)?;
    let granted = status.first()?.to_der().ok()?;
    // Granted, or granted with modifications.
    matches!(granted.as_slice(), [0x02, 0x01, 0 | 1]).then_some(())?;
    ContentInfo::from_der(&token.to_der().ok()?).ok()
}

fn signed_data(token: &ContentInfo) -> Option<SignedData> {
    (token.content_type == SIGNED_DATA).then(|| token.content.decode_as().ok())?
}

/// The elements of a sequence.
fn parts(sequence: &Any) -> Option<Vec<Any>> {
    (sequence.tag() == Tag::Sequence).then(|| elements(sequence.value()))?
}

fn elements(mut bytes: &[u8]) -> Option<Vec<Any>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (element, rest) = Any::from_der_partial(bytes).ok()?;
        all.push(element);
        bytes = rest;
    }
    Some(all)
}

/// The contents of a token.
struct Stated {
    imprint: Digest,
    time: String,
    seconds: Duration,
}

impl Stated {
    fn read(content: &[u8]) -> Option<Self> {
        let info = OctetString::from_der(content)
            .map_or_else(|_| content.to_vec(), |octets| octets.as_bytes().to_vec());
        let parts = parts(&Any::from_der(&info).ok()?)?;
        let [version, _policy, imprint, _serial, time, ..] = parts.as_slice() else { return None };
        (version.value() == [1]).then_some(())?;
        let imprint = self::parts(imprint)?;
        let [algorithm, hash] = imprint.as_slice() else { return None };
        let algorithm = self::parts(algorithm)?;
        let algorithm: ObjectIdentifier = algorithm.first()?.decode_as().ok()?;
        (algorithm == SHA256).then_some(())?;
        let imprint = Digest::from_bytes(hash.value().try_into().ok()?);
        let (time, seconds) = generalized(time)?;
        Some(Self { imprint, time, seconds })
    }
}

/// A `GeneralizedTime` in UTC, which may have a fraction of a second: for people, and in seconds of Unix.
fn generalized(time: &Any) -> Option<(String, Duration)> {
    (time.tag() == Tag::GeneralizedTime).then_some(())?;
    let text = std::str::from_utf8(time.value()).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (whole.len() == 14 && is_number(whole) && is_number(fraction)).then_some(())?;
    let part = |from: usize, to: usize| whole.get(from..to)?.parse::<u16>().ok();
    let small = |from: usize, to: usize| u8::try_from(part(from, to)?).ok();
    let date = der::DateTime::new(
        part(0, 4)?,
        small(4, 6)?,
        small(6, 8)?,
        small(8, 10)?,
        small(10, 12)?,
        small(12, 14)?,
    );
    let date = date.ok()?;
    Some((date.to_string(), date.unix_duration()))
}

/// Who signed, where that is believed.
fn believed(
    signed: &SignedData,
    content: &[u8],
    at: Duration,
    authorities: &Authorities,
) -> Result<String, String> {
    let [info] = signed.signer_infos.0.as_slice() else {
        return Err(format!("{} signatures", signed.signer_infos.0.len()));
    };
    let held = signed.certificates.iter().flat_map(|set| set.0.iter());
    let held = held.filter_map(|choice| match choice {
        CertificateChoices::Certificate(certificate) => Some(certificate),
        CertificateChoices::Other(_) => None,
    });
    let known: Vec<&Certificate> = held.chain(&authorities.0).collect();
    let signer = known.iter().find(|certificate| names(&info.sid, certificate));
    let signer = *signer.ok_or("a signer whose certificate is neither included nor passed")?;
    signed_by(info, content, signer)?;
    let usage = signer.tbs_certificate().get_extension::<ExtendedKeyUsage>();
    match usage {
        Ok(Some((true, usage))) if usage.0 == [TIME_STAMPING] => {}
        _ => return Err("a signer whose certificate is not only for timestamps".to_owned()),
    }
    let of_key = signer.tbs_certificate().get_extension::<KeyUsage>();
    if !of_key.is_ok_and(|found| found.is_none_or(|(_, usage)| signs_content(&usage))) {
        return Err("a signer whose key does not allow signatures".to_owned());
    }
    leads_to_named(signer, &known, &authorities.0, at)?;
    Ok(signer.tbs_certificate().subject().to_string())
}

/// Whether a key may sign something else than certificates.
fn signs_content(usage: &KeyUsage) -> bool {
    usage.digital_signature() || usage.non_repudiation()
}

fn names(sid: &SignerIdentifier, certificate: &Certificate) -> bool {
    let own = certificate.tbs_certificate();
    match sid {
        SignerIdentifier::IssuerAndSerialNumber(sid) => {
            sid.issuer == *own.issuer() && sid.serial_number == *own.serial_number()
        }
        SignerIdentifier::SubjectKeyIdentifier(sid) => own
            .get_extension::<SubjectKeyIdentifier>()
            .is_ok_and(|found| found.is_some_and(|(_, found)| found.0 == sid.0)),
    }
}

/// Whether a signer signed the content with this certificate, which the signature names by its digest.
fn signed_by(info: &SignerInfo, content: &[u8], signer: &Certificate) -> Result<(), String> {
    let attributes = info.signed_attrs.as_ref().ok_or("no signed attributes")?;
    let one = |oid: ObjectIdentifier| {
        let mut own = attributes.iter().filter(|attribute| attribute.oid == oid);
        let (attribute, more) = (own.next()?, own.next());
        let [value] = attribute.values.as_slice() else { return None };
        more.is_none().then_some(value)
    };
    let kind = one(CONTENT_TYPE).and_then(|value| value.decode_as::<ObjectIdentifier>().ok());
    if kind != Some(TST_INFO) {
        return Err("a content type other than the signed one".to_owned());
    }
    let content = OctetString::from_der(content)
        .map_or_else(|_| content.to_vec(), |octets| octets.as_bytes().to_vec());
    let digest = hashed(info.digest_alg.oid, &content).ok_or("a hash other than SHA-2")?;
    if one(MESSAGE_DIGEST).map(Any::value) != Some(digest.as_slice()) {
        return Err("a digest that does not match its content".to_owned());
    }
    let named = one(SIGNING_CERTIFICATE_V2).and_then(certificate_digest);
    let (algorithm, named) = named.ok_or("no SHA-2 digest of its certificate (ESSCertIDv2)")?;
    let own = signer.to_der().map_err(|error| error.to_string())?;
    if hashed(algorithm, &own) != Some(named) {
        return Err("the digest of a different certificate".to_owned());
    }
    let message = attributes.to_der().map_err(|error| error.to_string())?;
    let algorithm = (info.signature_algorithm.oid, info.digest_alg.oid);
    let key = signer.tbs_certificate().subject_public_key_info();
    match verifies(key, algorithm, &message, info.signature.as_bytes()) {
        true => Ok(()),
        false => Err("a signature that its key does not verify".to_owned()),
    }
}

/// The first certificate that `SigningCertificateV2` names, by its digest.
fn certificate_digest(value: &Any) -> Option<(ObjectIdentifier, Vec<u8>)> {
    let certificates = parts(parts(value)?.first()?)?;
    let first = parts(certificates.first()?)?;
    match first.first()? {
        // The algorithm is SHA-256 where none is said.
        hash if hash.tag() == Tag::OctetString => Some((SHA256, hash.value().to_vec())),
        algorithm => {
            let oid = parts(algorithm)?.first()?.decode_as().ok()?;
            Some((oid, first.get(1)?.value().to_vec()))
        }
    }
}

fn hashed(algorithm: ObjectIdentifier, bytes: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm {
        SHA256 => Sha256::digest(bytes).to_vec(),
        SHA384 => Sha384::digest(bytes).to_vec(),
        SHA512 => Sha512::digest(bytes).to_vec(),
        _ => return None,
    })
}

/// Whether a signature by a key is one of a message; the hash is that of the algorithm, where it names one, else the
/// other.
pub(super) fn verifies(
    key: &SubjectPublicKeyInfoOwned,
    (algorithm, otherwise): (ObjectIdentifier, ObjectIdentifier),
    message: &[u8],
    signature: &[u8],
) -> bool {
    let named = WITH_HASH.iter().find(|(known, _)| *known == algorithm).map(|(_, hash)| *hash);
    let hash = named.unwrap_or(otherwise);
    let curve = || key.algorithm.parameters.as_ref()?.decode_as::<ObjectIdentifier>().ok();
    let Some(bits) = key.subject_public_key.as_bytes() else { return false };
    match key.algorithm.oid {
        RSA => by_rsa(bits, hash, message, signature),
        EC if curve() == Some(P256) => {
            let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(bits).ok();
            let signature = p256::ecdsa::DerSignature::from_bytes(signature).ok();
            let signed = key.zip(signature);
            // ECDSA takes the first bits of the hash that fit the curve.
            signed.zip(hashed(hash, message)).is_some_and(|((key, signature), digest)| {
                use p256::ecdsa::signature::hazmat::PrehashVerifier;
                key.verify_prehash(&digest, &signature).is_ok()
            })
        }
        EC if curve() == Some(P384) => {
            let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(bits).ok();
            let signature = p384::ecdsa::DerSignature::from_bytes(signature).ok();
            key.zip(signature).zip(hashed(hash, message)).is_some_and(
                |((key, signature), digest)| {
                    use p256::ecdsa::signature::hazmat::PrehashVerifier;
                    key.verify_prehash(&digest, &signature).is_ok()
                },
            )
        }
        _ => false,
    }
}

fn by_rsa(key: &[u8], hash: ObjectIdentifier, message: &[u8], signature: &[u8]) -> bool {
    use rsa::pkcs1::DecodeRsaPublicKey;
    use rsa::pkcs1v15::{Signature, VerifyingKey};
    let Ok(key) = rsa::PublicKey::from_pkcs1_der(key) else { return false };
    let Ok(signature) = Signature::try_from(signature) else { return false };
    match hash {
        SHA256 => VerifyingKey::<Sha256>::new(key).verify(message, &signature).is_ok(),
        SHA384 => VerifyingKey::<Sha384>::new(key).verify(message, &signature).is_ok(),
        SHA512 => VerifyingKey::<Sha512>::new(key).verify(message, &signature).is_ok(),
        _ => false,
    }
}

/// Whether a certificate is one that was named, or was issued by one through others, all of them valid at that time.
fn leads_to_named(
    signer: &Certificate,
    known: &[&Certificate],
    named: &[Certificate],
    at: Duration,
) -> Result<(), String> {
    let mut here = signer;
    for below in 0..LONGEST {
        let own = here.tbs_certificate();
        let validity = own.validity();
        let (from, to) =
            (validity.not_before.to_unix_duration(), validity.not_after.to_unix_duration());
        if at < from || at > to {
            return Err(format!("a time at which `{}` was not valid", own.subject()));
        }
        if let Some(unknown) = unknown_extension(here) {
            return Err(format!(
                "an unsupported critical extension of `{}`, {unknown}",
                own.subject()
            ));
        }
        if named.contains(here) {
            return Ok(());
        }
        let issued = |issuer: &&&Certificate| {
            let theirs = issuer.tbs_certificate();
            let message = here.tbs_certificate().to_der().unwrap_or_default();
            let algorithm = here.signature_algorithm().oid;
            let signature = here.signature().as_bytes().unwrap_or_default();
            may_issue(issuer, below)
                && theirs.subject() == own.issuer()
                && verifies(
                    theirs.subject_public_key_info(),
                    (algorithm, SHA256),
                    &message,
                    signature,
                )
        };
        match known.iter().find(issued) {
            Some(issuer) if *issuer != here => here = issuer,
            _ => return Err(format!("no trusted issuer of `{}`", own.subject())),
        }
    }
    Err(format!("a chain of more than {LONGEST} certificates"))
}

/// A critical extension that is not looked at here: whoever does not know what it restricts must not believe its certificate (RFC 5280,
/// 4.2).
fn unknown_extension(certificate: &Certificate) -> Option<ObjectIdentifier> {
    let all = certificate.tbs_certificate().extensions().into_iter().flatten();
    let mut critical = all.filter(|one| one.critical).map(|one| one.extn_id);
    critical.find(|oid| !KNOWN_EXTENSIONS.contains(oid))
}

/// Whether a certificate may issue others, with so many authorities below it (RFC 5280, 6.1.4, k to n).
fn may_issue(issuer: &Certificate, below: usize) -> bool {
    let own = issuer.tbs_certificate();
    let is_authority = own.get_extension::<BasicConstraints>().is_ok_and(|found| {
        found.is_some_and(|(_, is)| {
            is.ca && is.path_len_constraint.is_none_or(|most| usize::from(most) >= below)
        })
    });
    let usage = own.get_extension::<KeyUsage>();
    is_authority && usage.is_ok_and(|found| found.is_none_or(|(_, usage)| usage.key_cert_sign()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn file(name: &str) -> PathBuf {
        let corpus = "../../tests/corpus/timestamps";
        Path::new(env!("CARGO_MANIFEST_DIR")).join(corpus).join(name)
    }

    fn named(name: &str) -> Authorities {
        Authorities::load(&[file(name)]).unwrap()
    }

    fn load(path: &Path, named: &Authorities) -> Result<Timestamp, Error> {
        // The tokens of the corpus state times up to the year 2060.
        Timestamp::load(path, named, UNIX_EPOCH + Duration::from_secs(4_000_000_000))
    }

    fn code(found: Result<Timestamp, Error>) -> &'static str {
        found.map_or_else(|error| error.code.id, |_| "believed")
    }

    #[test]
    fn tokens_of_an_authority_are_believed_where_it_was_named() {
        let digest = "43a98b16f323b373b6560b712e55a2e512b06c20ce94d67813c8e197e007f450";
        for kind in ["rsa", "ec"] {
            for named in [named(&format!("{kind}-ca.pem")), named(&format!("{kind}-signer.pem"))] {
                let stamp = load(&file(&format!("{kind}.tsr")), &named).unwrap();
                assert_eq!(stamp.imprint.to_string(), digest);
                assert_eq!(stamp.authority, "CN=Signer of tests");
                assert!(stamp.time.starts_with("2026-11-23T") && stamp.time.ends_with('Z'));
            }
        }
        let untrusted = "signature::untrusted-timestamp";
        assert_eq!(code(load(&file("rsa.tsr"), &named("ec-ca.pem"))), untrusted);
        assert_eq!(code(load(&file("rsa.tsr"), &Authorities::default())), untrusted);
        assert_eq!(code(load(&file("sha1.tsr"), &named("ec-ca.pem"))), untrusted);
        let bad = "signature::bad-timestamp";
        assert_eq!(code(load(&file("refused.tsr"), &named("ec-ca.pem"))), bad);
        assert_eq!(code(load(&file("rsa-ca.pem"), &named("rsa-ca.pem"))), bad);
        let asked = std::fs::read(file("request.tsq")).unwrap();
        assert_eq!(request(Digest::parse_hex(digest).unwrap()), asked);
    }

    #[test]
    fn signers_and_those_who_vouch_for_them_have_to_be_for_that() {
        let refused = [
            ("early", "not valid"),
            ("late", "not valid"),
            ("authority-expired", "`CN=short` was not valid"),
            ("signer-expired", "`CN=signer-short` was not valid"),
            ("between-is-missing", "no trusted issuer"),
            ("between-expired", "`CN=middle-short` was not valid"),
            ("between-is-no-authority", "no trusted issuer of `CN=by-middle-plain`"),
            ("between-may-not-sign", "no trusted issuer of `CN=by-middle-lists`"),
            ("between-is-too-long", "no trusted issuer of `CN=middle-beyond`"),
            ("usage-none", "not only for timestamps"),
            ("usage-other", "not only for timestamps"),
            ("usage-any", "not only for timestamps"),
            ("usage-not-critical", "not only for timestamps"),
            ("usage-two", "not only for timestamps"),
            ("usage-of-key", "a signer whose key does not allow signatures"),
            ("extension-of-signer", "critical extension of `CN=restricted`"),
            ("extension-between", "critical extension of `CN=middle-restricted`"),
        ];
        let both = Authorities::load(&[file("chains/root.pem"), file("chains/short.pem")]).unwrap();
        let load = |name: &str| load(&file(&format!("chains/{name}.tst")), &both);
        for good in ["good", "good-through-another"] {
            assert!(load(good).unwrap().time.starts_with("2060-"), "{good}");
        }
        for (name, why) in refused {
            let error = load(name).unwrap_err();
            assert_eq!(error.code.id, "signature::untrusted-timestamp", "{name}");
            assert!(error.found.contains(why), "{name}: {error}");
        }
    }

    #[test]
    fn a_time_that_has_not_come_proves_nothing() {
        let named = named("ec-ca.pem");
        let stamp = load(&file("ec.tsr"), &named).unwrap();
        let time: der::DateTime = stamp.time.parse().unwrap();
        let stated = UNIX_EPOCH + time.unix_duration();
        let at = |now| Timestamp::load(&file("ec.tsr"), &named, now);
        for now in [stated, stated - AHEAD, stated + 3 * AHEAD] {
            assert_eq!(at(now).unwrap(), stamp);
        }
        let late = Duration::from_secs(1);
        assert_eq!(code(at(stated - AHEAD - late)), "signature::future-timestamp");
        assert_eq!(code(at(UNIX_EPOCH)), "signature::future-timestamp");
    }

    #[test]
    fn certificates_count_while_they_are_valid() {
        let bytes = std::fs::read(file("ec.tsr")).unwrap();
        let signed = signed_data(&token(&bytes).unwrap()).unwrap();
        let content = signed.encap_content_info.econtent.as_ref().unwrap().value();
        let stated = Stated::read(content).unwrap();
        let ask = |at| believed(&signed, content, at, &named("ec-ca.pem"));
        assert!(ask(stated.seconds).is_ok());
        for at in [Duration::ZERO, stated.seconds * 3] {
            assert!(ask(at).unwrap_err().contains("was not valid"));
        }
    }

    #[test]
    fn no_changed_byte_is_believed_to_say_another_thing() {
        let named = named("ec-ca.pem");
        let bytes = std::fs::read(file("ec.tsr")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tsr");
        let load = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            self::load(&path, &named)
        };
        let good = load(&bytes).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            // What is not signed may change: the status of the response, and certificates that are not needed.
            assert!(load(&changed).map_or(true, |stamp| stamp == good), "byte {at}");
            if at % 16 == 0 {
                assert!(load(&bytes[..at]).is_err());
            }
        }
    }
}
