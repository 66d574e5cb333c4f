//! The arguments of a verification, into a plan and out of it again.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use repro_bundle::storage::{Store, is_url};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, UNREADABLE};
use repro_verify::cluster::{Asked, AskedChallenge, AskedFile};
use repro_verify::verify::Demands;

use crate::cli::BAD_USAGE;
use crate::cli::args::{JudgedArgs, MinMethod, MinOrigin, MinReading};
use crate::cli::verify;

/// The options that name files, and what they name.
fn options(judged: &mut JudgedArgs) -> [(&'static str, &mut Vec<PathBuf>); 6] {
    [
        ("--text", &mut judged.text),
        ("--pubkey", &mut judged.pubkey),
        ("--timestamp", &mut judged.timestamp),
        ("--authority", &mut judged.authority),
        ("--attestation", &mut judged.attestation),
        ("--builder-key", &mut judged.builder_key),
    ]
}

/// The request in the arguments, in the form of a plan.
pub fn asked(
    root: &Path,
    judged: &JudgedArgs,
    replays: bool,
    challenges: &[PathBuf],
) -> Result<Asked, Vec<Error>> {
    let posts = verify::posts(root, judged)?;
    let one = |error| vec![error];
    let bundles = verify::once(&judged.bundles).map(|path| bundle(path));
    let bundles = bundles.collect::<Result<_, _>>().map_err(one)?;
    let mut files = Vec::new();
    for (option, paths) in options(&mut judged.clone()) {
        for path in paths {
            files.push(file(option, path).map_err(one)?);
        }
    }
    let challenge = |path: &PathBuf| {
        let (challenge, file) = verify::challenge(path)?;
        Ok(AskedChallenge { file, challenge })
    };
    Ok(Asked {
        posts,
        bundles,
        replays,
        challenges: challenges.iter().map(challenge).collect::<Result<_, _>>().map_err(one)?,
        files,
        artifacts: judged.artifacts.as_deref().map(text).transpose().map_err(one)?,
        min_origin: judged.min_origin.map(|least| word(&least)),
        min_method: judged.min_method.map(|least| word(&least)),
        min_reading: judged.min_reading.map(|least| word(&least)),
        all_bound: judged.all_bound,
    })
}

/// The arguments that a plan was asked for with. The files that they name have to be those that were planned.
pub fn judged(asked: &Asked) -> Result<JudgedArgs, Error> {
    for planned in &asked.files {
        let found = file(&planned.option, Path::new(&planned.path))?;
        if found.sha256 != planned.sha256 {
            let (expected, found) = (planned.sha256.prefixed(), found.sha256.prefixed());
            return Err(repro_verify::cluster::CHANGED.at(
                Location::file(&planned.path),
                expected,
                found,
            ));
        }
    }
    let mut judged = JudgedArgs {
        post: asked.posts.clone(),
        bundles: asked.bundles.iter().map(PathBuf::from).collect(),
        artifacts: asked.artifacts.as_ref().map(PathBuf::from),
        min_origin: asked.min_origin.as_deref().map(MinOrigin::of_word).transpose()?,
        min_method: asked.min_method.as_deref().map(MinMethod::of_word).transpose()?,
        min_reading: asked.min_reading.as_deref().map(MinReading::of_word).transpose()?,
        all_bound: asked.all_bound,
        ..JudgedArgs::default()
    };
    for (option, paths) in options(&mut judged) {
        paths.extend(asked.paths(option).map(PathBuf::from));
    }
    Ok(judged)
}

/// The plan's demands on evidence, for the judge.
pub fn demands(root: &Path, asked: &Asked, judged: &JudgedArgs) -> Result<Demands, Error> {
    let challenges = asked.challenges.iter();
    Ok(Demands {
        challenges: challenges.map(|one| (one.challenge.clone(), one.file.clone())).collect(),
        challenges_alone: !asked.challenges.is_empty(),
        ..verify::demands(root, judged)?
    })
}

/// A bundle as a plan names it: a URL that could not be read, or that holds a secret, is in none.
fn bundle(path: &Path) -> Result<String, Error> {
    let named = text(path)?;
    if is_url(path) {
        Store::of_object(&named)?;
    }
    Ok(named)
}

/// A path as text: plans are text.
fn text(path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        BAD_USAGE.at(Location::file(path.display().to_string()), "a path in UTF-8", "another")
    })
}

fn file(option: &str, path: &Path) -> Result<AskedFile, Error> {
    let shown = text(path)?;
    let read = repro_core::source::read_plain(path).map_err(|error| {
        UNREADABLE.at(Location::file(&shown), "a readable file", error.to_string())
    });
    Ok(AskedFile { option: option.to_owned(), path: shown, sha256: Digest::of(&read?) })
}

/// The word of a choice.
fn word(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// A choice that is kept as a word.
trait OfWord: ValueEnum {
    /// The choice of a word.
    fn of_word(word: &str) -> Result<Self, Error> {
        Self::from_str(word, false).map_err(|why| {
            repro_verify::cluster::BAD_PLAN.at(
                Location::file(word),
                "a value that this build supports",
                why,
            )
        })
    }
}

impl<T: ValueEnum> OfWord for T {}
