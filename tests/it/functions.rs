//! Every function of the language on a good and a bad sentence: `tests/functions/NAME.toml`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use repro_core::source::{Document, Node, Source};
use repro_verify::evaluate::functions;
use repro_verify::verify::{Demands, verify};

use crate::language;
use crate::program::repro;

/// What a case is expected to come to where it does not say.
const EXPECTED: [(&str, &str); 2] = [("good", "verified"), ("bad", "refuted")];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/functions")
}

/// A case as a post: its sentence, and what it needs. Its own names stand behind `own.`.
fn statement(case: Node) -> (String, String) {
    let quote = case.required("quote").unwrap().text().unwrap();
    let mut statement = String::new();
    if let Some(names) = case.get("names") {
        statement += "[names.own]\n";
        for (name, evidence) in names.members().unwrap() {
            writeln!(statement, "{name} = \"{}\"", evidence.text().unwrap()).unwrap();
        }
    }
    writeln!(statement, "[[sentence]]\nquote = '{quote}'").unwrap();
    for key in ["is", "says"] {
        let Some(node) = case.get(key) else { continue };
        let list = match node.items() {
            Ok(items) => items.map(|item| item.text().unwrap().to_owned()).collect(),
            Err(_) => vec![node.text().unwrap().to_owned()],
        };
        let list: Vec<_> = list.iter().map(|one| format!("\"{one}\"")).collect();
        writeln!(statement, "{key} = [{}]", list.join(", ")).unwrap();
    }
    (statement, quote.to_owned())
}

#[test]
fn every_function_tells_a_good_sentence_from_a_bad_one() {
    let mut wrong = Vec::new();
    for function in functions::all() {
        let name = function.name;
        let path = folder().join(format!("{name}.toml"));
        let source = Source::load(&path, format!("tests/functions/{name}.toml"))
            .unwrap_or_else(|error| panic!("{error}: a function has a good and a bad case"));
        let document = Document::parse_toml(source).unwrap();
        for (case, expected) in EXPECTED {
            let node = document.root().required(case).unwrap();
            node.only(&["quote", "is", "says", "comes_to", "all_runs", "names"]).unwrap();
            let (statement, text) = statement(node);
            assert!(statement.contains(&format!("{name}(")), "{name}: {case} does not use it");
            let expected = node.get("comes_to").map_or(expected, |word| word.text().unwrap());
            let found = match node.get("all_runs") {
                Some(_) => language::judged_with_all_runs(&statement, &text),
                None => language::judged(&statement, &text),
            };
            let worst = found.iter().find(|one| *one != "verified");
            let worst = worst.map_or("verified", String::as_str);
            if !worst.starts_with(expected) {
                wrong.push(format!("{name}, {case}: expected {expected}, found {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A sentence with one number.
fn judged(quote: &str, is: &str) -> Vec<String> {
    language::judged(&format!("[[sentence]]\nquote = '{quote}'\nis = \"{is}\"\n"), quote)
}

#[test]
fn scores_are_of_runs_groups_and_steps() {
    let score = |quote: &str, of: &str| judged(quote, &format!("core({of}, tasks = 'given')"));
    assert_eq!(score("a score of 0.1013", "one.tasks @ 967"), ["verified"]);
    assert_eq!(score("a score of 0.1027", "one.tasks @ 967"), ["refuted value::differs"]);
    let over_runs = "mean(core(arm.moe.tasks, tasks = 'given'))";
    assert_eq!(judged("0.0987 over the seeds", over_runs), ["verified"]);
    assert_eq!(judged("0.1191 over the seeds", over_runs), ["refuted value::differs"]);
    // CORE itself is over 22 tasks, which these runs do not have.
    assert_eq!(judged("a CORE of 0.1027", "core(one.tasks)"), ["core::missing-task"]);
    assert_eq!(
        judged("p = 0.163", "mcnemar(one.tasks, arm.dense.tasks)"),
        ["expression::wrong-arguments"]
    );
}

#[test]
fn shares_are_tested_as_the_post_says() {
    let p = |quote: &str, test: &str| {
        judged(quote, &format!("proportions_p(cloze.correct - 320, 10, 2, 10{test})"))
    };
    // 7 of 10 against 2 of 10: few of them, so that Fisher's test is the one.
    assert_eq!(p("p = 0.0698", ""), ["verified"]);
    assert_eq!(p("p = 0.0698", ", test = 'fisher'"), ["verified"]);
    assert_eq!(p("p = 0.0246", ", test = 'z'"), ["verified"]);
    assert_eq!(p("p = 0.0246", ""), ["refuted value::differs"]);
}

/// Verdict, code and what the evidence gives of each claim of a post about logs that were imported, whose head begins
/// with `head`, and the codes of failures: four runs of each of two arms, evaluated four times each.
fn of_imported_runs(head: &str, sentences: &[(&str, &str)]) -> Vec<String> {
    const LOSSES: [[&str; 4]; 4] = [
        ["4.45", "3.95", "3.55", "3.56"],
        ["4.38", "3.87", "3.48", "3.50"],
        ["4.50", "4.01", "3.60", "3.63"],
        ["4.34", "3.83", "3.43", "3.47"],
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("runs")).unwrap();
    std::fs::create_dir_all(folder.path().join("repro")).unwrap();
    for (seed, losses) in (1..).zip(LOSSES) {
        for (arm, higher) in [("dense", 0.0), ("moe", 0.03)] {
            let mut table = "step,val_loss\n".to_owned();
            for (at, loss) in (1..).zip(losses) {
                // The arms part while they train, and each seed by something else.
                let loss = loss.parse::<f64>().unwrap()
                    + higher * f64::from(at) / 4.0
                    + higher * f64::from(seed * at) / 100.0;
                writeln!(table, "{},{loss:.4}", 10 * at).unwrap();
            }
            let file = folder.path().join(format!("runs/{arm}-s{seed}.csv"));
            std::fs::write(file, table).unwrap();
        }
    }
    let imported = repro(folder.path(), &["import", "runs", "--out", "receipts"]);
    assert!(imported.status.success(), "{imported:?}");
    let mut post = format!(
        "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"A post\"\ntext = \"p.md\"\n{head}\n[names]\n\
         dense = \"dense-s{{1..4}}\"\nmoe = \"moe-s{{1..4}}\"\nback = \"moe-s{{4,3,2,1}}\"\n\
         fewer = \"moe-s{{1..3}}\"\none = \"dense-s2\"\nother = \"dense-s1\"\n\
         table = \"dense-s2:data/printed/validation.csv\"\n\
         [formulas]\n\"trend(x)\" = \"slopes([x.loss @ 10, x.loss @ 40], over = [10, 40])\"\n"
    );
    let mut text = String::new();
    for (quote, what) in sentences {
        writeln!(text, "{quote}.\n").unwrap();
        writeln!(post, "[[sentence]]\nquote = '{quote}'\n{what}").unwrap();
    }
    std::fs::write(folder.path().join("repro/p.toml"), post).unwrap();
    std::fs::write(folder.path().join("repro/p.md"), text).unwrap();
    let report = verify(folder.path(), &["p".to_owned()], &Demands::default(), 1);
    let claims = report.posts.iter().flat_map(|post| &post.claims).map(|claim| {
        let outcome = &claim.outcome;
        let code = outcome.code.map_or("", |code| code.id);
        let notes: String =
            outcome.notes.iter().map(|(code, _)| format!(" [{}]", code.id)).collect();
        format!("{} {code}: {}{notes}", outcome.verdict.word(), outcome.recomputed)
    });
    let failures = report.failures.iter().map(|error| {
        format!("{}: expected {}, found {}", error.code.id, error.expected, error.found)
    });
    claims.chain(failures).collect()
}

/// A claim about imported runs.
fn of_imported(head: &str, quote: &str, what: &str) -> String {
    of_imported_runs(head, &[(quote, what)]).join("; ")
}

#[test]
fn the_best_evaluation_of_each_run_has_its_step() {
    let is = |quote: &str, is: &str| of_imported("", quote, &format!("is = \"{is}\""));
    for (expression, found) in [
        ("best(one.loss)", "3.48 at step 30, the lowest of 4 evaluations"),
        ("best(one.loss, by = 'max')", "4.38 at step 10, the highest of 4 evaluations"),
        ("best(table.val_loss)", "3.4800 at step 30, the lowest of 4 evaluations"),
        ("mean(best(dense.loss))", "mean(3.55, 3.48, 3.6, 3.43)"),
        ("min(best(dense.loss))", "min(3.55, 3.48, 3.6, 3.43)"),
    ] {
        let told = is("a best of 9.99", expression);
        assert!(told.starts_with("refuted") && told.contains(found), "{expression}: {told}");
    }
    let refused = [
        ("best(one.loss @ 20)", "a metric without a step"),
        ("best(one.step)", "a metric that is known to be better when higher or lower"),
        ("best(one.loss, by = 'most')", "`by = 'min'` or `'max'`"),
        ("best(one.bleu)", "one of `loss`"),
        ("best(one)", "a metric with several evaluations per run"),
        ("best(one.config.loss)", "a metric with several evaluations per run"),
        ("best(dense.loss)", "one number"),
    ];
    for (expression, expected) in refused {
        let told = is("a best of 3.48", expression);
        assert!(
            told.contains(&format!("expected {expected}")) || told.contains(expected),
            "{told}"
        );
    }
}

#[test]
fn a_post_may_pair_runs_by_seed_and_says_so() {
    const PAIRED: &str = "paired_by = \"seed\"";
    let order = "says = \"dense.loss < moe.loss\"";
    let open = of_imported("", "dense is better", order);
    assert!(open.starts_with("inconclusive order::within-noise: "), "{open}");
    assert!(open.contains("Welch's t test") && !open.contains("after the fact"), "{open}");
    let paired = of_imported(PAIRED, "dense is better", order);
    assert!(paired.starts_with("verified : "), "{paired}");
    assert!(paired.contains("the paired t test, paired by seed after the fact"), "{paired}");
    assert!(paired.ends_with("[test::paired-after-the-fact]"), "{paired}");
    // The order of the names does not matter, and differences run by run are paired alike.
    let p = |head: &str, is: &str| of_imported(head, "p = 0.99", &format!("is = \"{is}\""));
    let value = |told: &str| told.split(" = ").next().unwrap().to_owned();
    let own = p(PAIRED, "p(dense.loss, moe.loss)");
    assert!(own.contains("paired by seed after the fact"), "{own}");
    assert_eq!(own, p(PAIRED, "p(dense.loss, back.loss)"));
    assert_eq!(value(&own), value(&p(PAIRED, "p(dense.loss - back.loss)")));
    assert!(p(PAIRED, "p(dense.loss - moe.loss)").contains("after the fact"));
    assert!(p("", "p(dense.loss - moe.loss)").contains("expression::not-paired"));
    // Seeds that are not the same on both sides pair nothing.
    assert!(p(PAIRED, "p(dense.loss, fewer.loss)").contains("Welch's t test"));
    let many = of_imported(PAIRED, "four of them", "is = \"how_many(dense.loss < back.loss)\"");
    assert!(many.starts_with("verified"), "{many}");
    let unknown = of_imported("paired_by = \"run\"", "dense is better", order);
    assert!(unknown.starts_with("post::bad-pairing: expected `seed`, found `run`"), "{unknown}");
}

#[test]
fn a_plan_is_never_overridden_by_a_post_that_pairs() {
    // The plan of these runs has the paired test, and decides as without the key.
    let sentence = "[[sentence]]\nquote = 'p = 0.057'\nis = \"p(arm.dense.loss, arm.moe.loss)\"\n";
    let report = language::report(sentence, Some("p = 0.057"));
    let plain = report.posts[0].claims[0].outcome.recomputed.clone();
    assert!(plain.contains("the paired t test") && !plain.contains("after the fact"), "{plain}");
    let project = language::project(sentence, Some("p = 0.057"));
    let file = project.path().join("repro/p.toml");
    let post = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, post.replace("plan =", "paired_by = \"seed\"\nplan =")).unwrap();
    let report = verify(project.path(), &["p".to_owned()], &Demands::default(), 1);
    assert_eq!(report.posts[0].claims[0].outcome.recomputed, plain);
}

#[test]
fn trends_of_groups_that_nothing_pairs_are_tested_with_their_noise() {
    let told = of_imported_runs(
        "",
        &[
            ("dense falls faster", "says = \"trend(dense) < trend(moe)\""),
            ("p = 0.99", "is = \"p(trend(dense), trend(moe))\""),
            ("a standard error of 0.99", "is = \"gap_se(trend(dense), trend(moe))\""),
            ("between -9.1 and -9.2", "is = \"gap_ci95(trend(dense), trend(moe))\""),
        ],
    );
    assert!(told.iter().all(|one| one.contains("Welch's t test")), "{told:?}");
    assert!(told[0].starts_with("verified : difference -0.000825"), "{told:?}");
    assert!(told[2].contains("standard error by Welch's t test"), "{told:?}");
}

#[test]
fn lists_of_runs_are_counted() {
    let count = |quote: &str, of: &str| of_imported("", quote, &format!("is = \"count({of})\""));
    assert!(count("2 runs", "[one, other]").starts_with("verified"));
    assert!(count("8 runs", "[dense, moe]").starts_with("verified"));
    assert!(count("5 runs", "[moe, one]").starts_with("verified"));
    assert!(count("3 runs", "[one, other]").starts_with("refuted"));
    let twice = count("5 runs", "[dense, one]");
    assert!(twice.contains("expected each run only once, found a run listed twice"));
}

#[test]
fn targets_are_held_against_extremes_of_groups() {
    let says = |says: &str| of_imported("", "so it is", &format!("says = \"{says}\""));
    assert!(says("not reached(min(dense.loss), 3.4)").starts_with("verified"));
    assert!(says("not reached(min(dense.loss), 3.48)").starts_with("refuted"));
    assert!(says("reached(max(dense.loss), 3.65)").starts_with("verified"));
    assert!(says("reached(min(best(dense.loss)), 3.43)").starts_with("verified"));
    assert!(says("not reached(min(best(dense.loss)), 3.42)").starts_with("verified"));
}

#[test]
fn multiples_of_a_p_are_tested_as_such() {
    let says = |says: &str| {
        of_imported("paired_by = \"seed\"", "it is significant", &format!("says = \"{says}\""))
    };
    let p = "p(dense.loss, moe.loss)";
    assert!(says(&format!("significant({p} * 2)")).contains("p = "), "{}", says(p));
    assert!(
        says(&format!("significant({p} * 1000000)"))
            .starts_with("refuted significant::not-significant")
    );
    // Half of a p, or a p and something, is no p.
    for computed in [format!("{p} / 2"), format!("{p} + 0.01"), format!("{p} * 0.5")] {
        let told = says(&format!("significant({computed})"));
        assert!(told.contains("expected p-values of tests"), "{told}");
    }
}

#[test]
fn a_mean_over_fewer_seeds_than_planned_departs() {
    let departs = "inconclusive test::departs-from-plan";
    for (quote, is, expected) in [
        ("1.7016 on average", "mean(arm.moe.loss)", "verified"),
        ("1.7054 on average", "mean(three.loss)", departs),
        ("± 0.0176", "sd(three.loss)", departs),
        ("1.7098 of two runs", "median([one.loss, own.other.loss])", departs),
        ("1.7098 after all", "mean([one.loss @ 1209, one.loss @ 1209])", "verified"),
        ("1.7098 of one run", "one.loss", "verified"),
    ] {
        let statement = format!(
            "[names.own]\nother = \"tiny-moe-moe-active12-s2\"\n\
             [[sentence]]\nquote = '{quote}'\nis = \"{is}\"\n"
        );
        assert_eq!(language::judged(&statement, quote), [expected], "{is}");
    }
}

#[test]
fn every_case_is_of_a_function() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(functions::find(name).is_some(), "{}", path.display());
    }
}

#[test]
fn every_example_can_be_read() {
    for function in functions::all() {
        let example = function.texts().example;
        let parsed = repro_claim::Expression::parse(example);
        assert!(parsed.is_ok(), "{}: {example}: {parsed:?}", function.name);
        assert!(example.contains(&format!("{}(", function.name)), "{example}");
        assert!(
            !function.texts().misleads.is_empty() && !function.texts().summary.ends_with('.'),
            "{}",
            function.name
        );
    }
}
