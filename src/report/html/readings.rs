//! The possible readings of a number behind ±: each as an interval next to the printed one, or the p that it gives.

use super::escaped::escaped;
use super::figure::digits;
use crate::outcome::{ClaimReport, Measured, SpreadChart};
use crate::wording;

/// The width of a picture, in its units, and where its bars begin and end.
const WIDTH: f64 = 400.0;
const BARS: [f64; 2] = [96.0, 262.0];
/// The height of a row.
const ROW: f64 = 20.0;
/// Probabilities below this are drawn as this: the axis has powers of ten.
const LEAST_P: f64 = 1e-6;

/// A row of a picture: its name, the ends of its bar as shares of the axis, and the words behind it.
struct ReadingRow {
    name: String,
    ends: [f64; 2],
    words: String,
    is_marked: bool,
}

/// Adds the intervals that each reading of a number behind ± gives, those marked that print as it does.
pub fn of_spread(page: &mut String, chart: &SpreadChart) {
    let SpreadChart { printed, unit, allowed: [from, to], runs, mean, readings } = chart;
    let widths = || readings.iter().map(|(_, width)| *width).chain([*printed]);
    let far = widths().chain(runs.iter().map(|run| (run - mean).abs())).fold(0.0, f64::max);
    if !far.is_finite() || far <= 0.0 {
        return;
    }
    let around = |width: f64| [0.5 - 0.5 * width / far, 0.5 + 0.5 * width / far];
    let row = |(name, width): &(String, f64)| {
        let is_marked = (from..=to).contains(&width);
        let sign = if is_marked { " ✓" } else { "" };
        ReadingRow {
            name: name.clone(),
            ends: around(*width),
            words: format!("± {}{sign}", digits(*width, 3)),
            is_marked,
        }
    };
    let text = ReadingRow {
        name: "printed".to_owned(),
        ends: around(*printed),
        words: format!("± {printed}{unit}"),
        is_marked: true,
    };
    let rows: Vec<_> = std::iter::once(text).chain(readings.iter().map(row)).collect();
    let fitting: Vec<_> =
        rows.iter().skip(1).filter(|row| row.is_marked).map(|row| row.name.as_str()).collect();
    let caption = format!(
        "Possible readings of ± {printed}{unit} for {}: {}. Each bar is the mean of the runs ± that reading; the dots are the runs.",
        wording::many(runs.len(), "run"),
        match fitting.as_slice() {
            [] => "no reading matches the printed digits".to_owned(),
            names => format!("the printed digits match {} (✓)", names.join(", ")),
        }
    );
    let dots: String = runs
        .iter()
        .map(|run| {
            let at = place(0.5 + 0.5 * (run - mean) / far);
            format!(
                "<circle cx=\"{at:.2}\" cy=\"{}\" r=\"3\"/>",
                ROW * 0.5 + ROW * rows.len() as f64
            )
        })
        .collect();
    let name =
        format!("<text x=\"0\" y=\"{:.0}\">runs</text>{dots}", ROW * 0.7 + ROW * rows.len() as f64);
    draw(page, &rows, &name, ROW * (rows.len() + 1) as f64, &caption);
}

/// Adds the p that each reading of ± gives to an order; nothing where a claim is none of these.
pub fn of_order(page: &mut String, claim: &ClaimReport) {
    let row = |one: &Measured| {
        let ([low, high], [_, alpha]) = (one.interval?, one.allowed?);
        let is_marked = high < alpha;
        let words = if digits(low, 2) == digits(high, 2) {
            digits(low, 2)
        } else {
            format!("{} to {}", digits(low, 2), digits(high, 2))
        };
        Some((
            ReadingRow { name: one.of.clone(), ends: [share(low), share(high)], words, is_marked },
            alpha,
        ))
    };
    let outcome = &claim.outcome;
    let is_order = outcome.rule == "test" && outcome.measured.iter().all(|one| !one.of.is_empty());
    let Some(rows) = outcome.measured.iter().map(row).collect::<Option<Vec<_>>>() else { return };
    let Some(alpha) = rows.first().map(|(_, alpha)| *alpha).filter(|_| is_order) else { return };
    let (rows, _): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let height = ROW * rows.len() as f64;
    let at = place(share(alpha));
    let line = format!("<path class=\"text\" d=\"M{at:.2} 0v{height:.0}\"/>");
    let below = rows.iter().filter(|row| row.is_marked).count();
    let caption = format!(
        "The p-value for each reading of ±, on a log axis from {LEAST_P} to 1: {below} of {} are below {alpha}, the vertical line.",
        rows.len()
    );
    draw(page, &rows, &line, height, &caption);
}

/// Where a probability lies on the axis.
fn share(p: f64) -> f64 {
    1.0 - p.max(LEAST_P).log10() / LEAST_P.log10()
}

/// A share of the axis in units of the picture.
fn place(share: f64) -> f64 {
    let [from, to] = BARS;
    from + (to - from) * share
}

fn draw(page: &mut String, rows: &[ReadingRow], more: &str, height: f64, caption: &str) {
    page.push_str(&format!(
        "<figure class=\"readings\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escaped(caption)
    ));
    for (index, ReadingRow { name, ends: [from, to], words, is_marked }) in rows.iter().enumerate()
    {
        let top = ROW * index as f64;
        let (from, to) = (place(*from), place(*to));
        let class = if *is_marked { "fits" } else { "other" };
        page.push_str(&format!(
            "<text x=\"0\" y=\"{:.0}\">{}</text><rect class=\"{class}\" x=\"{from:.2}\" y=\"{:.0}\" width=\"{:.2}\" height=\"8\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            top + ROW * 0.7,
            escaped(name),
            top + 6.0,
            (to - from).max(2.0),
            BARS[1] + 8.0,
            top + ROW * 0.7,
            escaped(words)
        ));
    }
    page.push_str(&format!("{more}</svg><figcaption>{}</figcaption></figure>", escaped(caption)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(allowed: [f64; 2], readings: &[(&str, f64)]) -> SpreadChart {
        SpreadChart {
            printed: 0.5,
            unit: "%",
            allowed,
            runs: vec![1.0, 2.0, 1.5],
            mean: 1.5,
            readings: readings.iter().map(|(name, width)| ((*name).to_owned(), *width)).collect(),
        }
    }

    #[test]
    fn readings_that_print_the_same_are_marked() {
        let mut page = String::new();
        of_spread(&mut page, &chart([0.45, 0.55], &[("sd", 0.5), ("se", 0.2887)]));
        for wanted in [
            "the printed digits match sd (✓)",
            "± 0.5 ✓</text>",
            "± 0.289</text>",
            "<rect class=\"other\" x=\"131.",
            "runs</text><circle cx=\"96.00\"",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        let mut page = String::new();
        of_spread(&mut page, &chart([0.45, 0.46], &[("sd", 0.5)]));
        assert!(page.contains("no reading matches the printed digits"), "{page}");
    }

    #[test]
    fn what_has_no_width_is_not_drawn() {
        let flat =
            SpreadChart { printed: 0.0, runs: vec![1.5; 3], ..chart([0.0, 0.1], &[("sd", 0.0)]) };
        let endless = chart([0.0, 0.1], &[("sd", f64::INFINITY)]);
        for chart in [flat, endless] {
            let mut page = String::new();
            of_spread(&mut page, &chart);
            assert_eq!(page, "");
        }
    }

    #[test]
    fn probabilities_lie_on_an_axis_of_powers() {
        assert_eq!([1.0, 1e-3, 1e-6, 0.0].map(share), [1.0, 0.5, 0.0, 0.0]);
    }
}
