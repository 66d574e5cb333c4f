//! `repro bundle keygen` and `repro bundle sign`.

use std::path::Path;

use super::args;
use super::output::{Output, outside_bundles};
use super::{Answer, CANNOT_WRITE, NOT_A_STATEMENT, NOTHING_TO_STAMP};
use repro_bundle::bundle::{self, Bundle, SIGNATURE, STATEMENT, chained_lines};
use repro_bundle::signature::{self as signature, PrivateKey, SIGNED_BEFORE};
use repro_core::digest::Digest;
use repro_core::disk;
use repro_core::source::{Code, Document, Error, Location, Source};
use repro_report::intoto::VERDICT;
use repro_report::outcome::ExitStatus;
use repro_verify::verify::stampable;

/// Makes a key, and prints the public one with its identity.
pub fn keygen(own: &args::KeygenArgs, output: &Output) -> Answer {
    let mut public = own.out.clone().into_os_string();
    public.push(".pub");
    outside_bundles(&own.out).map_err(|error| vec![error])?;
    let key = PrivateKey::generate().map_err(|error| vec![error])?;
    signature::write_pair(&key, &own.out, public.as_ref()).map_err(|error| vec![error])?;
    output.say(&format!("wrote the private key to {}: keep it secret", own.out.display()));
    output.print(&format!("{}\n{}", key.public().id().prefixed(), key.public().pem()));
    Ok(ExitStatus::Verified)
}

/// Writes the request for a timestamp, and prints the digest that it is of.
pub fn stamp(own: &args::StampArgs, output: &Output) -> Answer {
    let stamped = || -> Result<String, Error> {
        let digest = match own.path.is_dir() {
            true => of_bundle(&own.path, own.of.unwrap_or(args::Stamped::States))?,
            false => of_file(own)?,
        };
        let request = signature::timestamp_request(digest);
        outside_bundles(&own.out)?;
        write_new(&own.out, &request, (&CANNOT_WRITE, "a new file"))?;
        Ok(format!("{digest}\n"))
    };
    output.print(&stamped().map_err(|error| vec![error])?);
    Ok(ExitStatus::Verified)
}

/// The digest of a part of a bundle.
fn of_bundle(path: &Path, part: args::Stamped) -> Result<Digest, Error> {
    let shown = path.display().to_string();
    let bundle = Bundle::load_folder(path, &shown, None, 1)?;
    let what = match part {
        args::Stamped::Bundle => "bundle",
        args::Stamped::States => "states",
        args::Stamped::Start => "start",
        args::Stamped::Plan => "plan",
        args::Stamped::Config => "config",
    };
    let all = stampable(&bundle);
    let Some((_, digest)) = all.iter().find(|(known, _)| *known == what) else {
        let known: Vec<_> = all.iter().map(|(known, _)| *known).collect();
        let expected = format!("one of {}", known.join(", "));
        return Err(NOTHING_TO_STAMP.at(Location::file(shown), expected, format!("no {what}")));
    };
    Ok(*digest)
}

/// The digest that receipts record for a file: for a log of started runs, the chain of its last line; otherwise the digest of its bytes.
fn of_file(own: &args::StampArgs) -> Result<Digest, Error> {
    let shown = own.path.display().to_string();
    let source = Source::load_plain(&own.path, shown.as_str())?;
    if own.of.is_some() {
        let place = Location::file("--of");
        return Err(NOTHING_TO_STAMP.at(place, "no `--of` for a single file", "one"));
    }
    if own.path.extension().is_none_or(|ending| ending != "jsonl") {
        return Ok(Digest::of(source.text().as_bytes()));
    }
    let chains = chained_lines(&Document::parse_json_lines(source)?)?;
    chains.last().copied().ok_or_else(|| {
        NOTHING_TO_STAMP.at(Location::file(shown), "at least one line", "an empty log")
    })
}

/// Writes a file that was not there before; `there` is what is said where it was.
pub fn write_new(path: &Path, bytes: &[u8], there: (&'static Code, &str)) -> Result<(), Error> {
    let place = || Location::file(path.display().to_string());
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => there.0.at(place(), there.1, "a file"),
        _ => CANNOT_WRITE.at(place(), "a writable file", error.to_string()),
    };
    disk::write_new(path, bytes, 0o666).map_err(cannot)
}

/// Prints an attestation.
pub fn attest(own: &args::AttestArgs, output: &Output) -> Answer {
    let attested = || -> Result<String, Error> {
        let key = PrivateKey::load(&own.key)?;
        let shown = own.bundle.display().to_string();
        let bundle = Bundle::load_folder(&own.bundle, &shown, None, 1)?;
        signature::attest(&bundle, &own.builder, &key)
    };
    output.print(&attested().map_err(|error| vec![error])?);
    Ok(ExitStatus::Verified)
}

/// Signs each bundle, and prints its digest and its name; of a file that is an in-toto statement, the file with the
/// signature.
pub fn run(own: &args::SignArgs, output: &Output) -> Answer {
    let key = PrivateKey::load(&own.key).map_err(|error| vec![error])?;
    output.say(&format!("signing as {}", key.public().id().prefixed()));
    let mut errors = Vec::new();
    for path in &own.bundles {
        let shown = path.display().to_string();
        if path.is_file() {
            match sign_statement(path, &shown, &key) {
                Ok(written) => output.print(&format!("{written}\n")),
                Err(error) => errors.push(error),
            }
            continue;
        }
        match sign(path, shown.trim_end_matches('/'), &key) {
            Ok(bundle) => {
                output.print(&format!("{}  {}\n", bundle.digest().prefixed(), bundle.name()));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(ExitStatus::Verified) } else { Err(errors) }
}

/// Signs a statement, and answers the name of the new file next to it.
fn sign_statement(path: &Path, shown: &str, key: &PrivateKey) -> Result<String, Error> {
    let source = Source::load(path, shown)?;
    let text = source.text().trim_end().to_owned();
    let document = Document::parse_json(source)?;
    let kind = document.root().required("_type")?;
    if kind.text()? != STATEMENT {
        let found = format!("`{}`", kind.text()?.chars().take(80).collect::<String>());
        return Err(NOT_A_STATEMENT.at(kind.place(), format!("`{STATEMENT}`"), found));
    }
    // What a builder says of files is not signed by the way.
    let predicate = document.root().required("predicateType")?;
    if predicate.text()? != VERDICT {
        let found = format!("`{}`", predicate.text()?.chars().take(80).collect::<String>());
        return Err(NOT_A_STATEMENT.at(predicate.place(), format!("`{VERDICT}`"), found));
    }
    let signed = signature::sign_statement(&text, key)?;
    let name = format!("{shown}.sig");
    write_new(Path::new(&name), signed.as_bytes(), (&SIGNED_BEFORE, "no such file"))?;
    Ok(name)
}

/// Signs one bundle, which must be intact; the same key may sign it again, because nothing changes then.
fn sign(path: &Path, shown: &str, key: &PrivateKey) -> Result<Bundle, Error> {
    let loaded = Bundle::load_folder(path, shown, None, 1)?;
    let text = signature::sign(&loaded, key)?;
    match loaded.signature() {
        Some(there) if there == text.as_bytes() => return Ok(loaded),
        Some(_) => {
            let place = loaded.place(SIGNATURE);
            return Err(SIGNED_BEFORE.at(
                place,
                "a bundle without a signature",
                "a different signature",
            ));
        }
        None => bundle::add_signature(path, shown, text.as_bytes())?,
    }
    // Read as a stranger reads it: what would be refused later is rejected now.
    let signed = Bundle::load_folder(path, shown, Some(&loaded.digest()), 1)?;
    signature::judge(&signed, std::slice::from_ref(key.public()), None)?;
    Ok(signed)
}
