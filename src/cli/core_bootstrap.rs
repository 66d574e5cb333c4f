//! How the bootstrap over tasks of CORE is shown.

use serde_json::{Value as Json, json};

use super::{BAD_USAGE, args};
use repro_core::decimal::{format_float, nearest_f64};
use repro_core::source::{Error, Location};
use repro_model::tasks::bootstrap::{Settings, TaskBootstrap};
use repro_stats::bootstrap::Resampled;

/// The settings that the arguments ask for.
pub fn settings(own: &args::StatsArgs) -> Result<Settings, Error> {
    let level = own.level.parse().ok().filter(|level| *level > 0.0 && *level < 1.0);
    let level = level.ok_or_else(|| {
        let found = format!("`{}`", own.level);
        BAD_USAGE.at(Location::file("--level"), "a fraction between 0 and 1", found)
    })?;
    Ok(Settings { level, resamples: own.resamples, seed: own.seed })
}

/// The percentile interval, as two numbers.
pub fn percentile(found: &TaskBootstrap) -> Json {
    interval(found, false)
}

fn interval(found: &TaskBootstrap, corrected: bool) -> Json {
    match found.ends(corrected) {
        Ok([low, high]) => json!([number(low), number(high)]),
        Err(refused) => json!({"refused": refused.to_string()}),
    }
}

/// Everything as JSON.
pub fn json(found: &TaskBootstrap) -> Json {
    let error = found
        .resampled
        .as_ref()
        .map_or(Json::Null, |resampled| json!(number(resampled.standard_error())));
    let drawn = found.resampled.as_ref().ok();
    json!({
        "estimate": number(nearest_f64(&found.estimate)),
        "over": "tasks",
        "n": found.tasks,
        "level": found.settings.level,
        "percentile": interval(found, false),
        "bca": interval(found, true),
        "standard_error": error,
        "resamples": drawn.map(Resampled::resamples),
        "enumerated": drawn.map(|resampled| resampled.support().is_some()),
        "seed": found.settings.seed.to_string(),
        "evidence": found.evidence().is_none(),
        "why": found.evidence(),
    })
}

/// The interval in words.
pub fn text(found: &TaskBootstrap) -> String {
    let percent = format!("{}%", shown(found.settings.level * 100.0));
    let ends = |corrected: bool| match found.ends(corrected) {
        Ok([low, high]) => format!("{} to {}", shown(low), shown(high)),
        Err(refused) => format!("none, {refused}"),
    };
    let drawn = match &found.resampled {
        Ok(resampled) if resampled.support().is_some() => {
            format!("all {} resamples", resampled.resamples())
        }
        Ok(resampled) => {
            format!("{} resamples, seed {}", resampled.resamples(), found.settings.seed)
        }
        Err(_) => return format!("no interval: {}", ends(false)),
    };
    let evidence = found.evidence().map(|why| format!("; {why}")).unwrap_or_default();
    format!(
        "{percent} over {} tasks: percentile {}, BCa {} ({drawn}){evidence}",
        found.tasks,
        ends(false),
        ends(true)
    )
}

/// At most ten significant digits.
fn number(value: f64) -> f64 {
    format_float(value, 10).parse().unwrap_or(value)
}

fn shown(value: f64) -> String {
    format_float(value, 5)
}
