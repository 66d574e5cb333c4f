//! What README.md and the pages of `docs` say is what the program does, and their links lead somewhere.

use std::path::{Path, PathBuf};

use repro_report::{Format, ReportOptions, render};
use repro_verify::verify::{Demands, verify};

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The lines of the code block between two marks.
fn block<'a>(text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let start = text.find(from).unwrap() + from.len();
    let end = start + text[start..].find(to).unwrap();
    text[start..end].lines().filter(|line| !line.starts_with("```") && !line.is_empty()).collect()
}

#[test]
fn the_excerpt_is_of_the_report() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let report = verify(root, &["0004".to_owned()], &Demands::default(), 1);
    let drawn = render(&report, Format::Text, &ReportOptions::default());
    let readme = readme();
    let excerpt =
        block(&readme, "<!-- excerpt of verify --post 0004 -->", "<!-- end of excerpt -->");
    assert!(excerpt.len() > 10);
    fits(&excerpt, &drawn).unwrap();
}

/// Whether an excerpt is what a command prints: every line in its place, but for empty ones and where `...` stands for some.
fn fits(excerpt: &[&str], drawn: &str) -> Result<(), String> {
    let mut rest = drawn.lines().filter(|line| !line.is_empty());
    let mut is_open = false;
    for line in excerpt {
        let found = match *line {
            "..." => true,
            _ if is_open => rest.any(|drawn| drawn.trim_end() == *line),
            _ => rest.next().is_some_and(|drawn| drawn.trim_end() == *line),
        };
        if !found {
            return Err(format!("not printed, in this order: {line}\n\n{drawn}"));
        }
        is_open = *line == "...";
    }
    match rest.next() {
        Some(line) if !is_open => Err(format!("not in the excerpt: {line}\n\n{drawn}")),
        _ => Ok(()),
    }
}

/// A command of a page with the lines that the page shows of its output.
#[derive(Debug, Default)]
struct ShownCommand {
    /// What a shell is given, and how the page writes it.
    command: String,
    written: String,
    status: i32,
    output: String,
}

/// The commands of a `console` block: behind `$ `, continued behind `> `, with `# exit status N` where it is not 0.
fn commands(block: &str) -> Vec<ShownCommand> {
    let mut commands: Vec<ShownCommand> = Vec::new();
    for line in block.lines() {
        if let Some(first) = line.strip_prefix("$ ") {
            let (command, status) = first.split_once("  # exit status ").unwrap_or((first, "0"));
            commands.push(ShownCommand {
                command: format!("{command}\n"),
                written: format!("{line}\n"),
                status: status.parse().unwrap(),
                output: String::new(),
            });
            continue;
        }
        let last = commands.last_mut().expect("a block begins with a command");
        match line.strip_prefix("> ").or((line == ">").then_some("")) {
            Some(more) => {
                last.command.push_str(&format!("{more}\n"));
                last.written.push_str(&format!("{line}\n"));
            }
            None => last.output.push_str(&format!("{line}\n")),
        }
    }
    commands
}

/// What a command prints in a folder, where it ends as the page says.
fn run(folder: &Path, shown: &ShownCommand) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_repro")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(program).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!("exec 2>&1\n{}", shown.command)).current_dir(folder);
    let ran = shell.env("PATH", &path).env_remove("GITHUB_STEP_SUMMARY").output().unwrap();
    let drawn = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(shown.status), "{}{drawn}", shown.written);
    drawn
}

/// Runs the commands of a block one after the other; answers the block as it should be.
fn run_block(folder: &Path, block: &str) -> String {
    let mut written = String::new();
    for shown in commands(block) {
        let drawn = run(folder, &shown);
        let excerpt: Vec<_> = shown.output.lines().filter(|line| !line.is_empty()).collect();
        let is_fit = fits(&excerpt, &drawn).is_ok();
        written += &shown.written;
        written += if is_fit { &shown.output } else { &drawn };
    }
    written
}

/// A page that says `<!-- run in FOLDER` shows what its commands print, in a copy of the folder.
#[test]
fn commands_of_pages_print_what_is_shown() {
    const MARK: &str = "<!-- run in ";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut run = 0;
    for page in pages(root) {
        let text = std::fs::read_to_string(&page).unwrap();
        let Some((_, behind)) = text.split_once(MARK) else { continue };
        let fixture = root.join(behind.split([',', ' ']).next().unwrap());
        let copy = tempfile::tempdir().unwrap();
        crate::relations::copy(&fixture, copy.path());
        let mut parts = text.split("```console\n");
        let mut written = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (block, rest) = part.split_once("```").unwrap();
            written += &format!("```console\n{}```{rest}", run_block(copy.path(), block));
            run += 1;
        }
        let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
        if update {
            std::fs::write(&page, &written).unwrap();
        }
        let told = "INSTA_UPDATE=always cargo test --test it commands_of_pages";
        assert!(update || written == text, "{}: {told}\n{written}", page.display());
    }
    assert!(run > 3);
}

/// What the README shows of `check`: on bundles of this repository, and on two public files that are not part of it.
#[test]
fn excerpts_of_check_are_of_its_reports() {
    const PUBLIC: [(&str, &str); 2] = [
        ("cvebench.json", "evals/every_eval_ever/inspect/data_cvebench_empty_choices.json"),
        ("report.md", "nanochat/id12078031270_report.md"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let receipts = Path::new(env!("CARGO_MANIFEST_DIR")).join("receipts");
    std::os::unix::fs::symlink(receipts, folder.path().join("receipts")).unwrap();
    let data = crate::shared::folder("readme::excerpts_of_check_are_of_its_reports");
    for (name, file) in PUBLIC {
        let Some(data) = &data else { continue };
        std::fs::copy(data.join("strangers").join(file), folder.path().join(name)).unwrap();
    }
    let readme = readme();
    let (_, behind) = readme.split_once("<!-- excerpts of check -->\n```console\n").unwrap();
    let (shown, _) = behind.split_once("```").unwrap();
    for shown in commands(shown) {
        let is_public = PUBLIC.iter().any(|(name, _)| shown.command.contains(name));
        if is_public && data.is_none() {
            continue;
        }
        let drawn = run(folder.path(), &shown);
        let mut rest = drawn.lines();
        for line in shown.output.lines() {
            assert!(rest.any(|drawn| drawn == line), "not printed, in this order: {line}\n{drawn}");
        }
    }
}

#[test]
fn the_two_commands_stand_first() {
    let readme = readme();
    let (before, _) = readme.split_once("\n## ").unwrap();
    for command in ["cargo run --release -- verify --post 0004", "cargo test"] {
        assert!(before.lines().any(|line| line.starts_with(command)), "{command}");
    }
    assert!(readme.lines().count() <= 185);
}

/// Every page that people read: the README, the guides, and a README beside the code that it is about.
fn pages(root: &Path) -> Vec<PathBuf> {
    fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, into);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                into.push(path);
            }
        }
    }
    let mut pages =
        ["README.md", "CHANGELOG.md", "SECURITY.md"].map(|name| root.join(name)).to_vec();
    for folder in ["src", "docs"] {
        collect(&root.join(folder), &mut pages);
    }
    pages.push(root.join("repro/studies/README.md"));
    pages
}

#[test]
fn links_between_pages_lead_to_files() {
    let mut lost = Vec::new();
    for page in pages(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        let text = std::fs::read_to_string(&page).unwrap();
        for (_, link) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
            let link = link.split(')').next().unwrap_or_default();
            let file = link.split('#').next().unwrap_or_default();
            let outside =
                link.contains("://") || file.is_empty() || file.contains(char::is_whitespace);
            if !outside && !page.parent().unwrap().join(file).exists() {
                lost.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn every_crate_has_a_page() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let architecture = std::fs::read_to_string(src.join("README.md")).unwrap();
    for entry in std::fs::read_dir(&src).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if folder.join("Cargo.toml").is_file() {
            assert!(folder.join("README.md").is_file(), "src/{name} has no README.md");
            assert!(architecture.contains(&format!("({name}/README.md)")), "{name}");
        }
    }
}

#[test]
fn every_command_and_exit_status_is_listed() {
    let readme = readme();
    for command in [
        "init", "import", "draft", "verify", "check", "review", "gate", "diff", "params", "stats",
        "train", "replay", "devices", "bundle", "cluster", "explain",
    ] {
        assert!(readme.contains(&format!("`repro {command}")), "{command}");
    }
    for status in 0..=4 {
        assert!(readme.lines().any(|line| line.starts_with(&format!("| {status} |"))), "{status}");
    }
}
