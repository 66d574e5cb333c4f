//! `git`, asked of a folder that may be a stranger's: what its configuration would run or fetch is switched off.

use std::path::Path;
use std::process::Command;

/// Settings of a repository by which it would start programs: transports, monitors, hooks, checks of signatures.
const SAFE: &[&str] = &[
    "protocol.allow=never",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "core.pager=cat",
];

/// A command of git in `folder`; none if that is in no repository that could be asked.
pub fn git(folder: &Path) -> Option<Command> {
    let here = folder.canonicalize().ok()?;
    let repository = here.ancestors().map(|at| at.join(".git")).find(|at| at.exists())?;
    // A pipe in the place of these files would be waited for.
    let is_plain = |name: &&str| repository.join(name).is_file();
    if repository.is_dir() && !["HEAD", "config"].iter().all(is_plain) {
        return None;
    }
    let mut command = Command::new("git");
    command.arg("-C").arg(here);
    command.args(SAFE.iter().flat_map(|setting| ["-c", *setting]));
    command.envs([
        ("GIT_NO_LAZY_FETCH", "1"),
        // What a name stands for is what it was made of, whatever a repository would put in its place.
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ]);
    Some(command)
}

/// The full name of the commit that `name` stands for in the repository of `folder`, if there is one; or why git does not say.
pub fn commit_of(folder: &Path, name: &str) -> Result<Option<String>, String> {
    let Some(mut git) = git(folder) else { return Ok(None) };
    let wanted = format!("{name}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
    let output = git.args(asked).output().map_err(|error| format!("`git`: {error}"))?;
    let said = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    match (output.status.success(), said(&output.stderr)) {
        (true, _) => Ok(Some(said(&output.stdout))),
        (false, reason) if reason.is_empty() => Ok(None),
        (false, reason) => Err(reason),
    }
}

/// The files below some names that git leaves out of the repository of `folder`, as its settings say.
pub fn ignored(folder: &Path, names: &[&str]) -> Vec<String> {
    let listing = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"];
    let listed = git(folder).and_then(|mut git| git.args(listing).args(names).output().ok());
    let listed = listed.filter(|output| output.status.success()).map(|output| output.stdout);
    let names = listed.iter().flat_map(|listed| listed.split(|byte| *byte == 0));
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// The way from the top of the repository to a folder of it, with a slash at its end; empty outside of repositories.
pub fn below_top(folder: &Path) -> String {
    let Ok(folder) = folder.canonicalize() else { return String::new() };
    let top = folder.ancestors().find(|folder| folder.join(".git").exists());
    let below = top.and_then(|top| folder.strip_prefix(top).ok()).unwrap_or(Path::new(""));
    match below.to_str() {
        Some(below) if !below.is_empty() => format!("{}/", below.replace('\\', "/")),
        _ => String::new(),
    }
}
