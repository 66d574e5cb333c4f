//! Replays and calibrations as a person reads them.

use repro_core::decimal::{format_float, grouped};
use repro_model::replay::{
    Allowed, Batches, Divergence, EnginesParting, EnginesReport, Extent, PlantedFault,
    RepeatedEvaluation, Replay, ReplayComparison, ReplayEngine, SampledMicroBatches, Tolerance,
    ToleranceShare,
};
use repro_replay::replay::FirstBatch;
use repro_report::Columns;
use repro_report::outcome::Verdict;
use repro_report::{visible, wrap};

/// The significant digits of computed numbers.
const DIGITS: usize = 10;
/// The significant digits of sizes of faults and tolerances.
const FEW: usize = 2;
/// As many steps and tensors are listed without `--verbose`.
const LISTED: usize = 10;

/// The report of a replay on a page of `width` columns.
pub fn replay(replay: &Replay, width: usize, verbose: bool) -> String {
    let mut text = paragraph(&format!("{}  {}", replay.bundle, what(replay)), 0, width);
    text.push_str(&paragraph(&verdict(replay), 2, width));
    if let Some(divergence) = &replay.divergence {
        text.push('\n');
        text.push_str(&parting(divergence, width));
    }
    text.push('\n');
    text.push_str(&facts(replay, width));
    if !replay.steps.is_empty() {
        text.push('\n');
        text.push_str(&steps(replay, width, verbose));
    }
    if verbose && !replay.tensors.is_empty() {
        text.push('\n');
        text.push_str(&tensors(replay, width));
    }
    text.push_str(&seen(replay, width));
    text
}

/// The result of a run's first batch.
pub fn first_batch(bundle: &str, found: &FirstBatch, width: usize) -> String {
    let mut text = paragraph(&format!("{bundle}  first batch: {}", found.outcome.word()), 0, width);
    if !found.reason.is_empty() {
        text.push_str(&paragraph(&found.reason, 2, width));
    }
    if let Some(part) = &found.part {
        let (apart, allowed) = (few(part.apart), few(part.allowed));
        let line = format!(
            "first differing part: {}, relative error {apart}; rounding allows {allowed}",
            part.part
        );
        text.push_str(&paragraph(&line, 2, width));
    }
    for change in &found.settings {
        let fields: Vec<_> =
            change.iter().map(|(field, value)| format!("`{field}` = {value}")).collect();
        text.push_str(&paragraph(&format!("matches with {}", fields.join(", ")), 2, width));
    }
    text
}

/// The report of a calibration.
pub fn calibration(bundle: &str, extent: Extent, found: &Tolerance, width: usize) -> String {
    let mut text =
        paragraph(&format!("{bundle}  steps {extent}, tolerance for rounding"), 0, width);
    text.push('\n');
    let headings = ["loss", "grad norm", "largest update", "of"].map(str::to_owned).to_vec();
    let mut table = Columns::new(headings);
    for Allowed { step, loss, norm, update } in &found.steps {
        let (allowed, tensor) = match update {
            Some((allowed, tensor)) => (few(*allowed), tensor.clone()),
            None => Default::default(),
        };
        let cells = vec![few(*loss), few(*norm), allowed, tensor];
        table.row(&step.to_string(), cells);
    }
    text.push_str(&table.render("allowed in step", width, true));
    text.push('\n');
    text.push_str(&paragraph(&tolerance(found), 0, width));
    text
}

/// The replayed steps and the method of comparison.
fn what(replay: &Replay) -> String {
    let steps = match replay.extent {
        Extent::Whole => format!("all {} steps", grouped(&replay.of_steps.to_string())),
        extent => format!("steps {extent} of {}", grouped(&replay.of_steps.to_string())),
    };
    match replay.comparison {
        ReplayComparison::Bitwise => format!("{steps}, bit for bit in {}", replay.arithmetic),
        ReplayComparison::Calibrated if replay.engine == ReplayEngine::Candle => {
            format!("{steps}, by candle against `{}`", replay.arithmetic.replace('`', "'"))
        }
        ReplayComparison::Calibrated if replay.arithmetic == "not stated" => {
            format!("{steps}, in our arithmetic")
        }
        ReplayComparison::Calibrated => {
            format!("{steps}, in our arithmetic against `{}`", replay.arithmetic.replace('`', "'"))
        }
    }
}

fn verdict(replay: &Replay) -> String {
    match replay.verdict {
        Verdict::Verified if replay.has_two_engines() => {
            format!("verified by two engines: {}", matching(replay))
        }
        Verdict::Verified => format!("verified: {}", matching(replay)),
        other => {
            let code = replay.code.map(|code| format!(" ({})", code.id)).unwrap_or_default();
            format!("{}: {}{code}", other.word(), replay.reason)
        }
    }
}

/// The matching steps and values.
fn matching(replay: &Replay) -> String {
    let tensors = match (replay.comparison, replay.compared_tensors()) {
        (_, 0) => String::new(),
        (ReplayComparison::Bitwise, count) => {
            format!(", and all bits of {count} tensors after them")
        }
        (ReplayComparison::Calibrated, count) => {
            format!(", and the update norms of {count} tensors, within rounding")
        }
    };
    match replay.extent {
        Extent::Whole => format!("the whole run, {}", replay.also.join(", ")),
        Extent::States { .. } => {
            format!("{}, {}", many(replay.executed as usize, "step"), replay.also.join(", "))
        }
        Extent::Steps { .. } => format!("{}{tensors}", many(replay.executed as usize, "step")),
    }
}

/// The first divergence, so that a person can act on it.
fn parting(divergence: &Divergence, width: usize) -> String {
    let mut text = paragraph(
        &format!("first divergence: step {}, {}", divergence.step, divergence.shown()),
        0,
        width,
    );
    let mut line = |label: &str, value: &str| {
        text.push_str(&labelled(2, label, value, width));
    };
    line("logged", &divergence.logged);
    line("replayed", &divergence.replayed);
    if let Some((apart, allowed)) = divergence.difference {
        let allowed = match allowed {
            0.0 => "no difference allowed".to_owned(),
            allowed => format!("{} allowed", few(allowed)),
        };
        line("off by", &format!("{} (relative); {allowed}", few(apart)));
    }
    let inputs = match divergence.inputs_matched {
        Some(true) => "matched",
        Some(false) => "also differ",
        None => "were not logged",
    };
    line("inputs", inputs);
    line("look at", &divergence.hint);
    text
}

/// The outcome of a repeated evaluation.
fn evaluated(evaluation: &RepeatedEvaluation) -> String {
    let RepeatedEvaluation { step, text, .. } = evaluation;
    let mut said = match (evaluation.logged, evaluation.repeated, &evaluation.not_made) {
        (Some(logged), Some(repeated), _) => {
            format!("step {step}, again on `{text}`: {repeated:.6} nats/token, logged {logged:.6}")
        }
        (.., why) => {
            let why = why.as_deref().unwrap_or("nothing was logged");
            format!("step {step}, not repeated: {}", why.replace('`', "'"))
        }
    };
    match (evaluation.bytes, &evaluation.not_counted) {
        (Some(bytes), _) => {
            said.push_str(&format!("; {} bytes recounted", grouped(&bytes.to_string())));
        }
        (None, Some(why)) => said.push_str(&format!("; bytes not counted: {why}")),
        _ => {}
    }
    said
}

fn facts(replay: &Replay, width: usize) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: String| {
        text.push_str(&labelled(0, label, &value, width));
    };
    line("start", replay.start.clone());
    let mut data = match &replay.batches {
        Batches::Drawn => "batches redrawn from data, seed and step: equal".to_owned(),
        Batches::OnTrust(why) => format!("batches not verified ({})", why.replace('`', "'")),
    };
    replay.reading.iter().for_each(|said| data.push_str(&format!("; {said}")));
    line("data", data);
    line("share", replay.share());
    for evaluation in &replay.evaluations {
        line("held out", evaluated(evaluation));
    }
    if let Some(SampledMicroBatches { numbers, of, seed }) = &replay.sampled {
        let shown: Vec<_> = numbers.iter().map(|number| (number + 1).to_string()).collect();
        line(
            "sample",
            format!(
                "micro-batches {} of {of} in each step, drawn with seed {seed}; updates use the logged gradients, which \
                 were not checked for the other {}",
                shown.join(", "),
                of - numbers.len()
            ),
        );
    }
    let trained = &replay.trained;
    if trained.tensors > 0 {
        let excused = trained.idle.len() + trained.constant.len();
        let mut said = many(trained.tensors - excused, "tensor");
        said.push_str(match trained.untrained().count() {
            0 if trained.at_rest.len() as u64 == replay.executed => " had a gradient",
            0 => " had a gradient, and moved by more than weight decay",
            _ => ", not all of them",
        });
        for (names, what) in [
            (&trained.without_gradient, "without a gradient"),
            (&trained.unmoved, "no more than by weight decay"),
            (&trained.idle, "of experts without routed tokens"),
            (&trained.constant, "of routers whose only choice has weight 1"),
        ] {
            if let Some(first) = names.first() {
                said.push_str(&format!("; {what}: {}, the first `{first}`", names.len()));
            }
        }
        if let Some(first) = trained.at_rest.first() {
            let count = trained.at_rest.len();
            let steps = many(count, "step");
            said.push_str(&format!("; {steps} at learning rate 0, the first {first}"));
        }
        line("trained", said);
    }
    if let Some(found) = &replay.tolerance {
        line("allowed", tolerance(found));
    }
    if let Some((step, router, tokens)) = replay.flips.first() {
        let tokens = many(*tokens as usize, "token");
        let mut said =
            format!("at least {tokens} routed differently in step {step}, by `{router}`");
        if replay.flips.len() > 1 {
            said.push_str(&format!("; and in {} more cases", replay.flips.len() - 1));
        }
        line("routed", said);
    }
    if let Some(ToleranceShare { step, what, share, .. }) =
        replay.closest().filter(|_| replay.divergence.is_none())
    {
        let percent = format_float(100.0 * share, FEW);
        line("closest", format!("{percent}% of the tolerance: step {step}, {what}"));
    }
    if let Some(report) = &replay.engines {
        line("engines", engines(report));
    }
    let records = &replay.records;
    let agreeing = (!records.agreeing.is_empty())
        .then(|| format!("{} agree with the slice", records.agreeing.join(", ")));
    let others = records.differing.iter().chain(&records.open).cloned();
    let said: Vec<_> = agreeing.into_iter().chain(others).collect();
    if !said.is_empty() {
        line("records", said.join("; "));
    }
    if !replay.uncompared.is_empty() {
        line("open", replay.uncompared.join("; "));
    }
    if replay.extent != Extent::Whole && !replay.also.is_empty() {
        line("also", replay.also.join(", "));
    }
    if let Some(loss) = replay.final_loss {
        line("final", format!("held-out loss {}, replayed", format_float(loss, DIGITS)));
    }
    text
}

/// The verdict of each engine, and where they diverge or how close they come to diverging.
fn engines(report: &EnginesReport) -> String {
    let candle = match &report.candle {
        Err(why) => return format!("only the trainer's engine: {why}"),
        Ok(candle) => candle,
    };
    let words =
        format!("trainer's engine {}, candle {}", report.own.verdict.word(), candle.verdict.word());
    if let Some(EnginesParting { divergence, operation }) = &report.parting {
        let off = divergence.difference.map_or(String::new(), |(apart, allowed)| {
            format!(", difference {}, allowed {}", few(apart), few(allowed))
        });
        return format!(
            "{words}; they diverge in step {}, {}{off}: {operation}",
            divergence.step,
            divergence.shown()
        );
    }
    match report.closest() {
        None => words,
        Some(ToleranceShare { step, what, share, .. }) => format!(
            "{words}; they differ by at most {}% of the tolerance: step {step}, {what}",
            format_float(100.0 * share, FEW)
        ),
    }
}

fn tolerance(found: &Tolerance) -> String {
    let mut said =
        format!("{} times the largest deviation of {} replays", found.times, found.replays);
    if found.flips > 0 {
        said.push_str(&format!(
            ", in which up to {} tokens per step were routed differently",
            found.flips
        ));
    }
    if let Some(rounded) = found.rounded {
        said.push_str(&format!(", rounded to {rounded} stochastically, as the slice states"));
    }
    let effect = format!("half the effect of {}% of the learning rate", found.held_against);
    let each = match found.blurred.is_empty() && found.in_part.is_empty() {
        true => "for each tensor",
        false => "for each other tensor",
    };
    match (found.coarse.first(), found.roughly.first()) {
        (None, None) => said.push_str(&format!("; {each}, below {effect}")),
        (None, Some(first)) => said.push_str(&format!(
            "; below {effect}, for {} below that of {}%, the first `{first}`",
            many(found.roughly.len(), "tensor"),
            found.in_each,
        )),
        (Some(first), _) => said.push_str(&format!(
            "; for {}, above {effect}, the first `{first}`",
            many(found.coarse.len(), "tensor")
        )),
    }
    if let Some(first) = found.blurred.first() {
        said.push_str(&format!(
            "; not compared, because their gradients are pure rounding: {}, the first `{first}`",
            many(found.blurred.len(), "tensor")
        ));
    }
    if let Some(first) = found.in_part.first() {
        said.push_str(&format!(
            "; compared roughly, to {}% at worst, because some of their numbers are pure rounding: {}, the first `{first}`",
            format_float(100.0 * found.widest, FEW),
            many(found.in_part.len(), "tensor")
        ));
    }
    said
}

fn steps(replay: &Replay, width: usize, verbose: bool) -> String {
    let headings = ["loss logged", "replayed", "norm logged", "replayed", "rerouted"];
    let routes = replay.steps.iter().any(|step| step.flips.is_some());
    let headings = headings.into_iter().take(if routes { 5 } else { 4 }).map(str::to_owned);
    let mut table = Columns::new(headings.collect());
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format_float(v, DIGITS));
    let shown = if verbose { replay.steps.len() } else { LISTED };
    for step in replay.steps.iter().take(shown) {
        let mut cells = vec![
            number(step.logged),
            number(Some(step.replayed).filter(|_| replay.sampled.is_none())),
            number(step.logged_norm),
            number(Some(step.replayed_norm)),
        ];
        if routes {
            cells.push(step.flips.map_or("-".to_owned(), |flips| flips.to_string()));
        }
        table.row(&step.step.to_string(), cells);
    }
    let mut text = table.render("step", width, true);
    if replay.steps.len() > shown {
        let more = replay.steps.len() - shown;
        text.push_str(&paragraph(&format!("and {more} more: --verbose lists them"), 2, width));
    }
    text
}

fn tensors(replay: &Replay, width: usize) -> String {
    let headings = ["moved, logged", "replayed", "bits", "allowed"].map(str::to_owned).to_vec();
    let mut table = Columns::new(headings);
    for tensor in &replay.tensors {
        let bits = tensor.equal.map_or("", |equal| if equal { "equal" } else { "differ" });
        table.row(
            &tensor.name,
            vec![
                tensor.logged.map_or("-".to_owned(), |moved| format_float(moved, DIGITS)),
                format_float(tensor.replayed, DIGITS),
                bits.to_owned(),
                tensor.tolerance.map_or(String::new(), few),
            ],
        );
    }
    table.render("tensor", width, true)
}

/// The faults that the slice would reveal, at the smallest size tried, and those it cannot reveal.
fn seen(replay: &Replay, width: usize) -> String {
    let mut text = String::new();
    let mut shown = replay.would_have_been_seen().peekable();
    if shown.peek().is_some() {
        text.push('\n');
        text.push_str(&paragraph("would be detected", 0, width));
    }
    for PlantedFault { fault: name, planted, at, smallest, .. } in shown {
        let Some((step, what)) = at else { continue };
        let size = smallest.map_or(planted.clone(), |size| format!("1 part in {}", part(size)));
        text.push_str(&fault(name, &format!("{size}: step {step}, {what}"), width));
    }
    let of = match replay.extent {
        Extent::Steps { .. } => "this slice",
        Extent::Whole | Extent::States { .. } => "this replay",
    };
    text.push('\n');
    text.push_str(&paragraph(&format!("not detectable by {of}"), 0, width));
    for line in replay.cannot_be_seen() {
        text.push_str(&hanging(2, "-", 2, &line, width));
    }
    text
}

/// So many things.
fn many(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A small number, to two digits.
fn few(value: f64) -> String {
    format!("{value:.1e}")
}

/// One over a size, to two digits.
fn part(size: f64) -> String {
    let whole = format_float(1.0 / size, FEW);
    match whole.parse::<f64>() {
        Ok(number) if (1.0..1e15).contains(&number) => grouped(&format!("{number:.0}")),
        _ => whole,
    }
}

/// Running text that begins at a column.
fn paragraph(text: &str, indent: usize, width: usize) -> String {
    hanging(indent, "", 0, text, width)
}

/// A word and what is said to it, lines after the first below its beginning.
fn labelled(indent: usize, label: &str, text: &str, width: usize) -> String {
    hanging(indent, label, 10, text, width)
}

fn fault(name: &str, text: &str, width: usize) -> String {
    hanging(2, name, 25, text, width)
}

fn hanging(indent: usize, label: &str, columns: usize, text: &str, width: usize) -> String {
    let room = width.saturating_sub(indent + columns);
    let mut out = String::new();
    for (at, line) in wrap(&visible(text), room, room).iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        out.push_str(format!("{:indent$}{label:<columns$}{line}", "").trim_end());
        out.push('\n');
    }
    out
}
