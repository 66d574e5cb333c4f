//! `repro keygen` and `repro sign`.

use super::Answer;
use super::args;
use super::output::Output;
use repro_receipt::bundle::{self, Bundle, SIGNATURE};
use repro_receipt::source::Error;
use repro_report::outcome::ExitStatus;
use repro_signature::{self as signature, PrivateKey, SIGNED_BEFORE};

/// Makes a key, and prints the public one with its identity.
pub fn keygen(own: &args::KeygenArgs, output: &Output) -> Answer {
    let mut public = own.out.clone().into_os_string();
    public.push(".pub");
    let key = PrivateKey::generate().map_err(|error| vec![error])?;
    signature::write_pair(&key, &own.out, public.as_ref()).map_err(|error| vec![error])?;
    output.say(&format!("the private key is in {}: keep it secret", own.out.display()));
    output.print(&format!("{}\n{}", key.public().id().prefixed(), key.public().pem()));
    Ok(ExitStatus::Verified)
}

/// Signs each bundle, and prints its digest and its name.
pub fn run(own: &args::SignArgs, output: &Output) -> Answer {
    let key = PrivateKey::load(&own.key).map_err(|error| vec![error])?;
    output.say(&format!("signing as {}", key.public().id().prefixed()));
    let mut errors = Vec::new();
    for path in &own.bundles {
        let shown = path.display().to_string();
        match sign(path, shown.trim_end_matches('/'), &key) {
            Ok(bundle) => {
                output.print(&format!("{}  {}\n", bundle.digest().prefixed(), bundle.name()));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(ExitStatus::Verified) } else { Err(errors) }
}

/// Signs one bundle, which must be intact; the same key may sign it again, because nothing changes then.
fn sign(path: &std::path::Path, shown: &str, key: &PrivateKey) -> Result<Bundle, Error> {
    let loaded = Bundle::load_folder(path, shown, None, 1)?;
    let text = signature::sign(&loaded, key)?;
    match loaded.signature() {
        Some(there) if there == text.as_bytes() => return Ok(loaded),
        Some(_) => {
            let place = loaded.place(SIGNATURE);
            return Err(SIGNED_BEFORE.at(
                place,
                "a bundle without a signature",
                "another signature",
            ));
        }
        None => bundle::add_signature(path, shown, text.as_bytes())?,
    }
    // Read as a stranger reads it: what would be refused later is refused now.
    let signed = Bundle::load_folder(path, shown, Some(&loaded.digest()), 1)?;
    signature::judge(&signed, std::slice::from_ref(key.public()), None)?;
    Ok(signed)
}
