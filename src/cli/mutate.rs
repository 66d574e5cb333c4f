//! `repro mutate`.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use repro_judge::mutation::{Mutant, Typing, mutate, table};
use repro_judge::post::{self, Post};
use repro_judge::verify::BundleStore;
use repro_receipt::bundle::fact_id;
use repro_receipt::source::Error;
use repro_report::outcome::ExitStatus;

/// `repro.mutation/1`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    posts: Vec<&'a str>,
    numbers: &'a [Mutant],
}

/// Runs the command: 0 where no first digit can change unnoticed, else 3.
pub fn run(root: &Path, own: &args::MutateArgs, output: &Output) -> Answer {
    let json = output.wants_json()?;
    let one = |error: Error| vec![error];
    let all = own.post.is_empty() || own.post.iter().any(|id| id == "all");
    let ids = if all { post::list(root).map_err(one)? } else { own.post.clone() };
    let posts =
        ids.iter().map(|id| Post::load(root, id)).collect::<Result<Vec<_>, _>>().map_err(one)?;
    let mut shelf = BundleStore::new(1, &[]);
    for post in &posts {
        shelf.fetch(root, post)?;
    }
    let mutants = mutate(&posts, &mut shelf.library).map_err(one)?;
    if json {
        let posts = posts.iter().map(|post| post.id.as_str()).collect();
        output.print_json(&Document { schema: "repro.mutation/1", posts, numbers: &mutants });
    } else {
        output.print(&render(&mutants));
    }
    let covered = !mutants.is_empty() && mutants.iter().all(|mutant| mutant.first_digit.counts());
    Ok(if covered { ExitStatus::Verified } else { ExitStatus::Undecided })
}

/// The table, then every number that could change unnoticed.
fn render(mutants: &[Mutant]) -> String {
    let mut text = table(mutants);
    let any = |mutant: &&Mutant| !mutant.first_digit.counts();
    let last = |mutant: &&Mutant| mutant.first_digit.counts() && !mutant.last_digit.counts();
    list(&mut text, "any digit could change unnoticed", mutants.iter().filter(any).collect());
    list(
        &mut text,
        "only the last digit could change unnoticed",
        mutants.iter().filter(last).collect(),
    );
    text
}

fn list(text: &mut String, heading: &str, mutants: Vec<&Mutant>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{heading}: {}", mutants.len());
    for mutant in mutants {
        let unit = &mutant.unit;
        let document = unit.document.as_deref().unwrap_or("no document");
        let _ = writeln!(
            text,
            "  {:<20} {document} {}  {}",
            unit.text,
            unit.place,
            typings(&unit.typings)
        );
    }
}

/// "claim 0004/d10-depth, fact nmoe-0004/post.d10.depth".
fn typings(typings: &[Typing]) -> String {
    let name = |typing: &Typing| match typing {
        Typing::Claim { post, id } => format!("claim {post}/{id}"),
        Typing::Value { bundle, file, shown, .. } => {
            let fact = fact_id(shown);
            fact.map_or_else(|| format!("{bundle}/{file}"), |fact| format!("fact {bundle}/{fact}"))
        }
    };
    let names: Vec<_> = typings.iter().map(name).collect();
    format!("({})", names.join(", "))
}
