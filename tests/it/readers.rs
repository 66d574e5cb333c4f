//! What readers see of a text is what is judged: tables, words that stand again, marks of Markdown and HTML.

use repro_core::source::Source;
use repro_report::{Format, ReportOptions, render};
use repro_verify::covered::covered;
use repro_verify::page::PostPage;
use repro_verify::texts::{GivenTexts, as_seen};

use crate::language::{judged, project, report, verdicts};

/// The numbers of a text that nothing is said about.
fn unbound(statements: &str, text: &str) -> Vec<String> {
    let project = project(statements, Some(text));
    let page = PostPage::load(project.path(), "p").unwrap();
    let text = as_seen(&Source::new("p.md", text.into()).unwrap()).unwrap();
    let numbers = covered(&page, &page.texts[0], &text).unwrap().numbers;
    let unbound = numbers.into_iter().filter(|number| number.is_unbound());
    unbound.map(|number| format!("{} in line {}", number.text, number.line)).collect()
}

/// A table with rows that each stand for the same runs.
fn table(head: &str, rows: &[&str]) -> String {
    let rows: String = rows.iter().map(|row| format!("\"{row}\" = \"arm.moe\"\n")).collect();
    format!(
        "[[table]]\nhead = \"{head}\"\n[table.rows]\n{rows}[table.columns]\nloss = \"mean(it.loss)\"\n"
    )
}

#[test]
fn numbers_in_names_of_rows_need_a_claim_too() {
    let of = |head: &str, cells: &str, name: &str| {
        let text = format!("| {head} | loss |\n|---|---|\n| {cells} | 1.7016 |\n");
        unbound(&table(&format!("| {head} | loss |"), &[name]), &text)
    };
    let named = |head: &str, name: &str| of(head, name, name);
    for (head, name) in
        [("#", "1"), ("seed", "3"), ("arm", "d12"), ("arm", "seed2"), ("arm", "MoE-64"), ("", "7")]
    {
        assert!(named(head, name).is_empty(), "{name}");
    }
    assert_eq!(named("arm", "mixture, 40 seeds"), ["40 in line 3"]);
    assert_eq!(named("seeds", "40"), ["40 in line 3"]);
    assert_eq!(named("# | size", "1 | 2"), ["2 in line 3"]);
    // The row's name runs over a result.
    assert_eq!(of("arm | best", "moe | 1.5016", "moe | 1.5016"), ["1.5016 in line 3"]);
    let by_step = |name: &str, step: &str| {
        let text = format!("| step | loss |\n|---|---|\n| {name} | 1.7 |\n");
        let post =
            table("| step | loss |", &[name]).replace("arm.moe", &format!("arm.moe.loss @ {step}"));
        unbound(&post.replace("it.loss", "it"), &text)
    };
    assert!(by_step("1209", "1209").is_empty());
    assert!(by_step("1,209", "1209").is_empty());
    assert_eq!(by_step("1209", "967"), ["1209 in line 3"]);
}

#[test]
fn a_column_of_names_is_bound_or_excused_like_any_other() {
    let text = "| seeds | loss |\n|---|---|\n| 6 | 1.7016 |\n";
    let post = table("| seeds | loss |", &["6"]);
    assert_eq!(unbound(&post, text), ["6 in line 3"]);
    let bound = format!("{post}seeds = \"count(it)\"\n");
    assert!(unbound(&bound, text).is_empty());
    assert_eq!(judged(&bound, text), ["verified"; 2]);
    assert!(unbound(&format!("{post}seeds = \"_ as the study plans\"\n"), text).is_empty());
}

#[test]
fn words_that_stand_again_need_a_claim_of_their_own() {
    let text = "The dense model has a loss of 1.7016. The mixture has a loss of 1.7016.";
    let one = "[[sentence]]\nquote = \"a loss of 1.7016\"\nis = \"mean(arm.moe.loss)\"\n";
    assert_eq!(unbound(one, text), ["1.7016 in line 1"]);
    let both = one.replace("quote", "place = [\"dense\", \"mixture\"]\nquote");
    assert!(unbound(&both, text).is_empty());
    // What a longer quote is about is not what a shorter one means.
    let longer = "[[sentence]]\nquote = \"The dense model has a loss of 1.7016\"\nis = \"mean(arm.dense.loss)\"\n";
    assert!(unbound(&format!("{one}{longer}"), text).is_empty());
}

#[test]
fn the_head_of_a_printed_table_is_that_of_the_text() {
    let post = |head: &str| {
        format!(
            "[[table]]\nprinted = '''\n| {head} |\n| MoE-64 | 755,534,592 | 191,073,024 |\n'''\n\
             [table.rows]\n\"MoE-64\" = \"moe64\"\n[table.columns]\ntotal = \"total(it)\"\nactive = \"active(it)\"\n"
        )
    };
    let text =
        "| model | total | active |\n|---|---|---|\n| MoE-64 | 755,534,592 | 191,073,024 |\n";
    assert_eq!(judged(&post("model | total | active"), text), ["verified"; 2]);
    assert!(unbound(&post("model | total | active"), text).is_empty());
    let other = text.replace("total | active", "active | total");
    assert_eq!(
        judged(&post("model | total | active"), &other),
        ["unchecked sentence::missing-quote"; 2]
    );
    assert_eq!(unbound(&post("model | total | active"), &other).len(), 2);
    // A row below another head is none of this table.
    let apart = "| model | total | active |\n|---|---|---|\n| MoE | 1 | 2 |\n\n\
                 | MoE-64 | 755,534,592 | 191,073,024 |\n";
    assert_eq!(
        judged(&post("model | total | active"), apart),
        ["unchecked sentence::missing-quote"; 2]
    );
}

#[test]
fn reports_tell_what_the_names_of_a_row_stand_for() {
    let text = "| arm | loss |\n|---|---|\n| moe | 1.8016 |\n";
    let report = report(&table("| arm | loss |", &["moe"]), Some(text));
    let options = ReportOptions { verbose: true, ..ReportOptions::default() };
    let shown = |format| render(&report, format, &options);
    assert!(shown(Format::Text).contains("row: it = arm.moe (6 runs)"));
    assert!(shown(Format::Markdown).contains("it = arm.moe (6 runs)"));
    assert!(shown(Format::Json).contains("\"meaning\": \"arm.moe (6 runs)\""));
    let sentence = crate::language::report(
        "[[sentence]]\nquote = 'six'\nis = 'count(arm.moe)'\n",
        Some("six"),
    );
    assert!(!render(&sentence, Format::Json, &options).contains("\"row\""));
}

/// What stands in the text, how a post quotes it, and what its numbers are.
type Honest<'a> = (&'a str, &'a str, &'a [&'a str]);

#[test]
fn honest_sentences_are_found_and_verified_as_they_are_written() {
    const LOSS: &str = "mean(arm.moe.loss)";
    const SPREAD: &str = "sd(arm.moe.loss)";
    const RUNS: &str = "count(arm.moe)";
    const STORED: &str = "total(one)";
    const ACTIVE: &str = "active(one)";
    const STEPS: &str = "one.step";
    let all: [Honest; 16] = [
        (
            "We train **[Tiny-MoE](https://hf.co/x/tiny-7b)** with **329,280** parameters (206,400 active)[^1].",
            "We train Tiny-MoE with 329,280 parameters (206,400 active).",
            &[STORED, ACTIVE],
        ),
        (
            "a loss of **1.7016 ± 0.0134** (n = 6) 🚀",
            "a loss of 1.7016 ± 0.0134 (n = 6) 🚀",
            &[LOSS, SPREAD, RUNS],
        ),
        (
            r"the loss is $1.7016 \pm 0.0134$ nats",
            r"the loss is $1.7016 \pm 0.0134$",
            &[LOSS, SPREAD],
        ),
        (
            "~329K stored, ≈206K active (62.7%)",
            "~329K stored, ≈206K active (62.7%)",
            &[STORED, ACTIVE, "active(one) / total(one)"],
        ),
        (r"loss $\mathbf{1.7016}$, $n=6$", r"loss $\mathbf{1.7016}$, $n=6$", &[LOSS, RUNS]),
        (
            "a loss of 1.70 (dense: 1.72), i.e. −0.02.",
            "1.70 (dense: 1.72), i.e. -0.02",
            &[LOSS, "mean(arm.dense.loss)", "mean(arm.moe.loss) - mean(arm.dense.loss)"],
        ),
        (
            "1,209 steps, ~2.48M tokens in all",
            "1,209 steps, ~2.48M tokens",
            &[STEPS, "one.tokens_seen"],
        ),
        (
            r"the rate is $4 \times 10^{-3}$ (i.e. `lr=0.004`)",
            r"$4 \times 10^{-3}$ (i.e. `lr=0.004`)",
            &["one.receipt.extra.lr"; 2],
        ),
        (
            "0.33&nbsp;million, or 0.21\u{a0}M active",
            "0.33 million, or 0.21 M active",
            &[STORED, ACTIVE],
        ),
        (
            "the loss is 1.7016 (1.6875–1.7157)",
            "1.7016 (1.6875–1.7157)",
            &[LOSS, "ci95(arm.moe.loss)"],
        ),
        (
            "Loss ↓ 1.7016; parameters → 329,280",
            "Loss ↓ 1.7016; parameters → 329,280",
            &[LOSS, STORED],
        ),
        (
            "Tiny\u{2011}MoE has 1’209 steps, “329 280” weights",
            "Tiny-MoE has 1'209 steps, \"329 280\" weights",
            &[STEPS, STORED],
        ),
        (
            "🏆 1.702(13) at 1209 steps<sup>†</sup>",
            "1.702(13) at 1209 steps†",
            &[LOSS, SPREAD, STEPS],
        ),
        (
            "<p align=\"center\">Loss <b>1.7016</b>,<br>6&nbsp;runs</p>",
            "Loss 1.7016, 6 runs",
            &[LOSS, RUNS],
        ),
        ("| ~~1.72~~ **1.7016** | 12\\% |", "**1.7016**", &[LOSS]),
        ("It stores 0.33\n*million* parameters", "It stores 0.33 million parameters", &[STORED]),
    ];
    for (text, quote, is) in all {
        let post = format!("[[sentence]]\nquote = '''{quote}'''\nis = {is:?}\n");
        let said = judged(&post, text);
        assert!(!said.is_empty() && said.iter().all(|one| one == "verified"), "{text}: {said:?}");
    }
}

#[test]
fn honest_tables_are_found_and_verified_as_they_are_written() {
    let text = "\
| Model | #Params | Loss ↓ | Runs |
|:------|--------:|:------:|:----:|
| [**Tiny-MoE**](https://hf.co/x/y-7b) 🥇 | 0.33M | **1.7016** ± 0.0134 | 6 |
| Dense (active)<sup>†</sup> | 206,144 | 1.7168&nbsp;±&nbsp;0.0083 | 6 |
";
    let post = r##"
[[table]]
head = "| Model | #Params | Loss ↓ | Runs |"
[table.rows]
"Tiny-MoE 🥇" = "arm.moe"
"Dense (active)†" = "arm.dense"
[table.columns]
"#Params" = "total(it)"
"Loss ↓" = ["mean(it.loss)", "sd(it.loss)"]
"Runs" = "count(it)"
"##;
    assert_eq!(judged(post, text), ["verified"; 8]);
    assert!(unbound(post, text).is_empty());
}

#[test]
fn tables_of_html_and_tex_are_bound_like_others() {
    let post = table("| Model | loss |", &["Tiny-MoE"]);
    let html = "<table>\n<tr><th>Model</th><th>loss</th></tr>\n\
                <tr><td align=\"left\"><a href=\"/x1\">Tiny-MoE</a></td><td><b>1.7016</b></td></tr>\n</table>\n";
    assert_eq!(judged(&post, html), ["verified"]);
    assert!(unbound(&post, html).is_empty());
    assert_eq!(judged(&post, &html.replace("1.7016", "1.8016")), ["refuted value::differs"]);
    // Another cell would stand in the column.
    let shifted = html.replace("<td><b>", "<td colspan=\"2\">of</td><td>5</td><td><b>");
    assert_eq!(judged(&post, &shifted), ["sentence::no-table"]);
    let tex = "\\begin{tabular}{lr}\nModel & loss \\\\ \\hline\nTiny-MoE & $\\mathbf{1.7016}$ \\\\\n\\end{tabular}\n";
    assert_eq!(judged(&post, tex), ["verified"]);
}

#[test]
fn what_readers_do_not_see_is_no_text() {
    let table = table("| arm | loss |", &["moe"]);
    let hidden = "<!--\n| arm | loss |\n|---|---|\n| moe | 1.7016 |\n-->\n\n| Arm | Loss |\n|---|---|\n| moe | _1.5_ |\n";
    assert_eq!(judged(&table, hidden), ["sentence::no-table"]);
    assert_eq!(unbound(&table, hidden), ["1.5 in line 9"]);
    let shown = "<!-- how it was made -->\n| arm | loss |\n|---|---|\n| moe | _1.7016_ |\n";
    assert_eq!(judged(&table, shown), ["verified"]);
    let said = |text: &str, quote: &str| {
        judged(&format!("[[sentence]]\nquote = '''{quote}'''\nis = \"mean(arm.moe.loss)\"\n"), text)
    };
    assert_eq!(
        said("The loss is <!-- 1.7016 --> 1.5", "1.7016"),
        ["unchecked sentence::missing-quote"]
    );
    assert_eq!(said("The loss <!-- of six --> is 1.7016", "The loss is 1.7016"), ["verified"]);
}

#[test]
fn no_number_is_cut_off_from_what_readers_read_with_it() {
    let said = |text: &str, quote: &str, is: &str| {
        judged(&format!("[[sentence]]\nquote = '''{quote}'''\nis = \"{is}\"\n"), text)
    };
    let wrong = "refuted value::differs";
    for text in [
        "329,280\nmillion",
        "329,280 **million**",
        "329,280&nbsp;million",
        "**329,280** [million](http://x/y)",
    ] {
        assert_eq!(said(text, text, "total(one)"), [wrong], "{text}");
        assert_eq!(
            said(text, "329,280", "total(one)"),
            ["unchecked sentence::missing-quote"],
            "{text}"
        );
    }
    for text in
        ["6 000 runs", "6'000 runs", "6\u{2009}000 runs", "6\u{a0}000 runs", "6\u{202f}000 runs"]
    {
        assert_eq!(said(text, text, "count(arm.moe)"), [wrong], "{text}");
    }
    assert_eq!(
        said("1.7\u{200b}095", "1.7\u{200b}095", "mean(arm.moe.loss)"),
        ["refuted value::differs"]
    );
    assert_eq!(said("𝟏1.7016", "𝟏1.7016", "mean(arm.moe.loss)"), ["refuted value::differs"]);
    assert_eq!(said("１.７０１６", "１.７０１６", "mean(arm.moe.loss)"), ["verified"]);
    assert_eq!(
        said("it has 329.280.000 weights", "329.280.000", "total(one)"),
        ["inconclusive value::ambiguous-notation"]
    );
    assert_eq!(
        unbound(
            "[[sentence]]\nquote = \"six\"\nis = \"count(arm.moe)\"\n",
            "six of ９９％, 𝟗𝟗 and ٩٩"
        )
        .len(),
        3
    );
}

#[test]
fn texts_given_by_their_digest_are_read_as_readers_see_them() {
    let text = "<!-- 1.7016 --> The loss is 1.5.";
    let statements = "[[sentence]]\nquote = \"1.7016\"\nis = \"mean(arm.moe.loss)\"\n";
    assert_eq!(verdicts(&report(statements, Some(text))), ["unchecked sentence::missing-quote"]);
    let project = project(statements, Some(text));
    let page = PostPage::load(project.path(), "p").unwrap();
    let texts = GivenTexts::default().of(&page, project.path()).unwrap();
    assert!(!texts["text"].text().contains("1.7016"));
    assert_eq!(texts["text"].text().len(), text.len());
}

#[test]
fn a_quote_is_seen_as_its_text_is() {
    let said = |text: &str, quote: &str| {
        judged(&format!("[[sentence]]\nquote = '''{quote}'''\nis = \"mean(arm.moe.loss)\"\n"), text)
    };
    for text in [
        "The [MoE](https://example.org/run/123) ends at 1.702 nats.",
        "The [MoE][1] ends at 1.702 nats.\n\n[1]: https://example.org/9",
        "The MoE of <https://example.org/run/123> ends at 1.702 nats.",
        "The MoE ends at 1.702 nats, by commit `55897eef4d`.",
        "> The MoE ends\n> at 1.702 nats.",
    ] {
        let quote = text.split("\n\n").next().unwrap().trim_start_matches("> ");
        assert_eq!(said(text, quote), ["verified"], "{text}");
        assert_eq!(
            said(&text.replace("1.702", "1.802"), &quote.replace("1.702", "1.802")),
            ["refuted value::differs"]
        );
    }
    assert_eq!(said("> The MoE ends\n> at 1.702 nats.", "MoE ends at 1.702 nats"), ["verified"]);
    assert_eq!(said("A loss\n> 1.702 here", "loss > 1.702"), ["unchecked sentence::missing-quote"]);
}

#[test]
fn bars_of_a_quote_cut_no_number_of_the_text() {
    let post = "[[sentence]]\nquote = \"has 6 | 1.7016\"\nis = [\"count(arm.moe)\", \"mean(arm.moe.loss)\"]\n";
    assert_eq!(judged(post, "has 61.7016"), ["unchecked sentence::missing-quote"; 2]);
    assert_eq!(unbound(post, "has 61.7016"), ["61.7016 in line 1"]);
    assert_eq!(judged(post, "| has 6 | 1.7016 |"), ["verified"; 2]);
}

#[test]
fn hidden_styles_hide_numbers() {
    let post = "[[sentence]]\nquote = \"a loss of 1.7016\"\nis = \"mean(arm.moe.loss)\"\n";
    for (hidden, shown) in [
        (
            "<span style=\"color:transparent\">1.7016</span>",
            "<span style=\"color:red\">1.7016</span>",
        ),
        (
            "<i style=\"position:absolute; left:-9999px\">1.7016</i>",
            "<i style=\"position:absolute\">1.7016</i>",
        ),
        ("<style>.x{display: none}</style><i class=\"x\">1.7016</i>", "<i class=\"x\">1.7016</i>"),
    ] {
        let said = |part: &str| judged(post, &format!("It has a loss of {part}."));
        assert_eq!(said(hidden), ["unchecked sentence::missing-quote"], "{hidden}");
        assert_eq!(said(shown), ["verified"], "{shown}");
    }
}

#[test]
fn words_that_are_crossed_out_say_nothing() {
    let post = "[[sentence]]\nquote = \"a loss of 1.7016\"\nis = \"mean(arm.moe.loss)\"\n";
    for (text, expected) in [
        ("~~It has a loss of 1.7016.~~", "unchecked sentence::missing-quote"),
        (
            "It has <del>a <s>big</s> loss</del> <del>here, a loss of 1.7016</del>",
            "unchecked sentence::missing-quote",
        ),
        (r"It has \sout{a loss of 1.7016}.", "unchecked sentence::missing-quote"),
        ("~~It has 1.72~~, a loss of 1.7016 <s>now</s>.", "verified"),
        ("~~ a loss of 1.7016\n\nis ~~ it", "verified"),
        ("~~It has a loss of 1.7016~~\n\nIt has a loss of 1.7016", "verified"),
    ] {
        assert_eq!(judged(post, text), [expected], "{text}");
    }
}

#[test]
fn tables_without_bars_around_them_are_found() {
    let text = "arm | loss\n--- | ---\nmoe | 1.7016\n\nAfter it.\n";
    for head in ["| arm | loss |", "arm | loss"] {
        assert_eq!(judged(&table(head, &["moe"]), text), ["verified"]);
        assert_eq!(
            judged(&table(head, &["moe"]), &text.replace("---", "xx")),
            ["sentence::no-table"]
        );
    }
}

#[test]
fn rows_below_an_empty_cell_belong_to_the_one_above() {
    let text =
        "| budget | arm | loss |\n|---|---|---|\n| short | dense | 1.7168 |\n| | moe | 1.7016 |\n";
    let of = |row: &str| judged(&table("| budget | arm | loss |", &[row]), text);
    assert_eq!(of("short | moe"), ["verified"]);
    assert_eq!(of("short | dense"), ["refuted value::differs"]);
    assert_eq!(of("long | moe"), ["post::no-such-row"]);
}

#[test]
fn columns_of_one_name_are_listed_with_their_numbers() {
    let report = report(
        &table("| arm | loss | loss |", &["moe"]),
        Some("| arm | loss | loss |\n|---|---|---|\n| moe | 1.7 | 1.7 |\n"),
    );
    let error = report.failures.first().unwrap();
    assert!(format!("{error:?}").contains("`loss #1`, `loss #2`"), "{error:?}");
}
