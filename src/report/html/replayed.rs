//! Replayed steps: each difference as a fraction of the tolerance.

use std::ops::Range;

use plotters::prelude::*;

use super::escaped::escaped;
use super::figure::{ARMS, Drawn, GRID, INK, SIZE, figure};
use crate::outcome::{DrawnShare, ReplayChart};

/// Shares below this are drawn as this: the axis has powers of ten.
const LEAST: f64 = 1e-4;

/// Adds what the replays of a post came to.
pub fn draw(page: &mut String, replays: &[ReplayChart]) {
    for one in replays.iter().filter(|one| !one.shares.is_empty()) {
        shares(page, one);
    }
    let bitwise: Vec<_> = replays.iter().filter(|one| one.is_bitwise).collect();
    if bitwise.is_empty() {
        return;
    }
    let told = bitwise.iter().map(|one| {
        let word = one.verdict.word();
        format!(
            "<li><span class=\"verdict {word}\">{word}</span> {}: {}{}</li>\n",
            escaped(&one.title),
            escaped(&one.compared),
            limits(one)
        )
    });
    page.push_str(&format!(
        "<figure><figcaption><strong>Replayed and compared bit for bit</strong><ul class=\"keys\">\n{}</ul></figcaption></figure>\n",
        told.collect::<String>()
    ));
}

/// The faults that the steps would have shown, and those that they cannot show.
fn limits(chart: &ReplayChart) -> String {
    let list = |title: &str, lines: &[String]| {
        let lines: String =
            lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
        match lines.is_empty() {
            true => lines,
            false => format!("<details><summary>{title}</summary><ul>\n{lines}</ul></details>\n"),
        }
    };
    list("would have been detected", &chart.seen)
        + &list("cannot be detected by these steps", &chart.unseen)
}

/// The shares of one kind of number, by steps.
struct KindOfShare<'r> {
    kind: &'r str,
    shares: Vec<&'r DrawnShare>,
}

impl<'r> KindOfShare<'r> {
    /// All kinds, in the order in which they are compared; no more than there are colours.
    fn all(chart: &'r ReplayChart) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        for share in chart.shares.iter().filter(|one| one.share.is_finite()) {
            match kinds.iter_mut().find(|known| known.kind == share.kind) {
                Some(known) => known.shares.push(share),
                None => kinds.push(Self { kind: share.kind, shares: vec![share] }),
            }
        }
        kinds.truncate(ARMS.len());
        kinds
    }

    fn largest(&self) -> Option<&'r DrawnShare> {
        self.shares.iter().copied().max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// Its marker.
    fn sign(index: usize) -> &'static str {
        ["circle", "triangle", "cross"][index % 3]
    }
}

fn shares(page: &mut String, chart: &ReplayChart) {
    let kinds = KindOfShare::all(chart);
    let largest = kinds.iter().filter_map(KindOfShare::largest).map(|one| one.share);
    let most = largest.fold(1.0, f64::max);
    let range = LEAST.log10()..(most * 2.0).log10();
    let steps = || chart.shares.iter().map(|one| one.step as f64);
    let first = steps().fold(f64::INFINITY, f64::min);
    let last = steps().fold(f64::NEG_INFINITY, f64::max);
    let mut svg = String::new();
    if plot(&mut svg, &kinds, first - 0.5..last + 0.5, range).is_err() {
        return;
    }
    let told = kinds.iter().enumerate().filter_map(|(index, kind)| {
        let DrawnShare { step, what, share, .. } = kind.largest()?;
        let tensor = if what == kind.kind { String::new() } else { format!(", {what}") };
        Some(format!(
            "<li><svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"arm-{index}\" width=\"10\" height=\"10\"/></svg> {} ({}): at most {:.3} of the tolerance, in step {step}{}</li>\n",
            kind.kind,
            KindOfShare::sign(index),
            share,
            escaped(&tensor)
        ))
    });
    let word = chart.verdict.word();
    let caption = format!(
        "<p class=\"note\"><span class=\"verdict {word}\">{word}</span>: {}; a difference above the line at 1 is larger than rounding explains; differences below {LEAST} are drawn at {LEAST}</p>\n<ul class=\"keys\">\n{}</ul>{}",
        escaped(&chart.compared),
        told.collect::<String>(),
        limits(chart)
    );
    let title = format!("Replayed, {}: differences as fractions of the tolerance", chart.title);
    figure(page, &title, &svg, SIZE.1, &caption);
}

fn plot<'s>(
    svg: &'s mut String,
    kinds: &[KindOfShare<'_>],
    axis: Range<f64>,
    range: Range<f64>,
) -> Drawn<'s> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(48)
        .y_label_area_size(74)
        .build_cartesian_2d(axis.clone(), range)?;
    // Marks of an axis are sums of floats.
    let whole = |value: f64| Some(value.round()).filter(|whole| (value - whole).abs() < 1e-6);
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(GRID)
        .label_style(("sans-serif", 18, &INK))
        .x_desc("step")
        .x_labels(12)
        .y_labels(8)
        .x_label_formatter(&|step| whole(*step).map_or_else(String::new, |step| step.to_string()))
        .y_label_formatter(&|power| {
            whole(*power).map_or_else(String::new, |power| 10f64.powi(power as i32).to_string())
        })
        .draw()?;
    let limit = [(axis.start, 0.0), (axis.end, 0.0)];
    chart.draw_series(LineSeries::new(limit, INK.stroke_width(2)))?;
    for (index, (kind, colour)) in std::iter::zip(kinds, ARMS).enumerate() {
        let places: Vec<_> =
            kind.shares.iter().map(|one| (one.step as f64, one.share.max(LEAST).log10())).collect();
        chart.draw_series(LineSeries::new(places.iter().copied(), colour.stroke_width(1)))?;
        match index % 3 {
            0 => chart.draw_series(places.iter().map(|at| Circle::new(*at, 5, colour.filled())))?,
            1 => chart.draw_series(
                places.iter().map(|at| TriangleMarker::new(*at, 7, colour.filled())),
            )?,
            _ => chart
                .draw_series(places.iter().map(|at| Cross::new(*at, 5, colour.stroke_width(2))))?,
        };
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn chart(shares: Vec<DrawnShare>) -> ReplayChart {
        ReplayChart {
            title: "run-<s1> 967..977".to_owned(),
            compared: "10 steps, 79 tensors".to_owned(),
            verdict: Verdict::Verified,
            is_bitwise: shares.is_empty(),
            shares,
            seen: vec!["the learning rate times 1.01".to_owned()],
            unseen: vec!["bytes < tokens".to_owned()],
        }
    }

    fn share(step: u64, kind: &'static str, share: f64) -> DrawnShare {
        DrawnShare { step, kind, what: format!("{kind} of `a<b`"), share }
    }

    fn drawn(charts: &[ReplayChart]) -> String {
        let mut page = String::new();
        draw(&mut page, charts);
        page
    }

    #[test]
    fn shares_are_drawn_with_the_largest_of_each_kind_in_words() {
        let shares =
            vec![share(968, "loss", 0.0), share(969, "loss", 0.25), share(968, "update", 3.5)];
        let page = drawn(&[chart(shares.clone())]);
        assert_eq!(page, drawn(&[chart(shares)]));
        for wanted in [
            "run-&lt;s1&gt; 967..977",
            "loss (circle): at most 0.250 of the tolerance, in step 969, loss of `a&lt;b`",
            "update (triangle): at most 3.500",
            "\n969\n",
            "<circle",
            "<summary>would have been detected</summary><ul>\n<li>the learning rate times 1.01</li>",
            "<summary>cannot be detected by these steps</summary><ul>\n<li>bytes &lt; tokens</li>",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert!(!page.contains("style="), "a policy forbids styles in the page");
    }

    #[test]
    fn bits_that_are_equal_are_told_and_numbers_that_are_none_are_left_out() {
        assert!(
            drawn(&[chart(Vec::new())]).contains("run-&lt;s1&gt; 967..977: 10 steps, 79 tensors")
        );
        let page = drawn(&[chart(vec![share(968, "loss", f64::NAN), share(968, "loss", 0.5)])]);
        assert!(page.contains("at most 0.500") && !page.contains("NaN"), "{page}");
    }
}
