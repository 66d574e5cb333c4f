//! Charts beside a post: the courses of its runs, the differences that its tests measured, and the charts of other modules.

use std::ops::Range;

use plotters::prelude::*;

use super::escaped::escaped;
use super::figure::{ARMS, Drawn, GRID, INK, SIZE, extent, figure};
use super::replayed;
use crate::outcome::{ClaimReport, CourseArm, CourseChart, PostReport, TestNumbers};

/// So many differences are drawn.
const DIFFERENCES: usize = 24;
/// The height of one of them.
const ROW: u32 = 30;
/// The first part of a course, whose values need not fit into the picture.
const START: f64 = 0.05;

/// The pictures of a post; nothing where it has none.
pub fn drawn(post: &PostReport) -> String {
    let mut page = String::new();
    let tests: Vec<_> = post.claims.iter().filter_map(tested).take(DIFFERENCES).collect();
    for chart in &post.pictures.courses {
        course(&mut page, chart);
    }
    if !tests.is_empty() {
        differences(&mut page, &tests);
    }
    replayed::draw(&mut page, &post.pictures.replays);
    match page.is_empty() {
        true => page,
        false => format!("<aside class=\"charts\" aria-label=\"pictures\">\n{page}</aside>\n"),
    }
}

/// A claim with the numbers of a test.
fn tested(claim: &ClaimReport) -> Option<(&ClaimReport, &TestNumbers)> {
    let test = claim.outcome.measured.iter().find_map(|one| one.test.as_ref())?;
    let [low, high] = test.interval95;
    [test.estimate, low, high].iter().all(|end| end.is_finite()).then_some((claim, test))
}

/// A course: of each arm the mean of its runs, and a band from the least to the greatest of them.
fn course(page: &mut String, chart: &CourseChart) {
    let bands: Vec<_> = chart.arms.iter().map(ArmBand::of).collect();
    let points = || bands.iter().flat_map(|band| &band.points);
    let Some(axis) = extent(points().map(|point| point.at)) else { return };
    let start = axis.start + START * (axis.end - axis.start);
    let later = points().filter(|point| point.at >= start);
    let Some(range) = extent(later.flat_map(|point| [point.low, point.high])) else { return };
    let mut svg = String::new();
    if lines(&mut svg, chart.axis, &bands, axis, &range).is_err() {
        return;
    }
    let key = |(index, (arm, band)): (usize, (&CourseArm, &ArmBand))| {
        let (name, runs) = (escaped(&arm.name), arm.runs.len());
        let plural = if runs == 1 { "" } else { "s" };
        let last = band
            .points
            .last()
            .map(|last| format!(", last {:.4} ({:.4} to {:.4})", last.mean, last.low, last.high));
        format!(
            "<li><svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"arm-{index}\" width=\"10\" height=\"10\"/></svg> {name}, {runs} run{plural}{}</li>\n",
            last.unwrap_or_default()
        )
    };
    let keys: String = std::iter::zip(&chart.arms, &bands).enumerate().map(key).collect();
    figure(page, &chart.title, &svg, SIZE.1, &format!("<ul class=\"keys\">\n{keys}</ul>"));
}

/// The runs of an arm at one place of the axis.
struct BandPoint {
    at: f64,
    mean: f64,
    low: f64,
    high: f64,
}

/// The runs of an arm, where all of them have a point.
struct ArmBand {
    points: Vec<BandPoint>,
}

impl ArmBand {
    fn of(arm: &CourseArm) -> Self {
        let length = arm.runs.iter().map(Vec::len).min().unwrap_or_default();
        let point = |index: usize| {
            let here: Vec<[f64; 2]> =
                arm.runs.iter().filter_map(|run| run.get(index).copied()).collect();
            let count = here.len().max(1) as f64;
            let numbers = || here.iter().map(|[_, number]| *number);
            BandPoint {
                at: here.iter().map(|[at, _]| at).sum::<f64>() / count,
                mean: numbers().sum::<f64>() / count,
                low: numbers().fold(f64::INFINITY, f64::min),
                high: numbers().fold(f64::NEG_INFINITY, f64::max),
            }
        };
        Self { points: (0..length).map(point).collect() }
    }
}

fn lines<'s>(
    svg: &'s mut String,
    axis_name: &str,
    bands: &[ArmBand],
    axis: Range<f64>,
    range: &Range<f64>,
) -> Drawn<'s> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(axis, range.clone())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(GRID)
        .label_style(("sans-serif", 18, &INK))
        .x_desc(axis_name)
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|value| short(*value))
        .draw()?;
    for (band, colour) in std::iter::zip(bands, ARMS) {
        let inside: Vec<_> =
            band.points.iter().filter(|point| range.contains(&point.mean)).collect();
        let limited = |value: f64| value.clamp(range.start, range.end);
        let up = inside.iter().map(|point| (point.at, limited(point.high)));
        let down = inside.iter().rev().map(|point| (point.at, limited(point.low)));
        let outline: Vec<_> = up.chain(down).collect();
        chart.draw_series([Polygon::new(outline, colour.mix(0.2))])?;
        let mean = inside.iter().map(|point| (point.at, point.mean));
        chart.draw_series(LineSeries::new(mean, colour.stroke_width(2)))?;
    }
    area.present()
}

/// A large number with its unit: `1.5M`.
fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")];
    let unit = units.into_iter().find(|(size, _)| value.abs() >= *size);
    match unit {
        Some((size, sign)) => {
            let digits = format!("{:.2}", value / size);
            format!("{}{sign}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        None => format!("{value}"),
    }
}

/// Differences of means with their intervals, each against zero.
fn differences(page: &mut String, tests: &[(&ClaimReport, &TestNumbers)]) {
    let ends = tests.iter().flat_map(|(_, test)| test.interval95).chain([0.0]);
    let Some(range) = extent(ends) else { return };
    let height = ROW * tests.len() as u32 + 70;
    let mut svg = String::new();
    if forest(&mut svg, tests, range, height).is_err() {
        return;
    }
    let told = |(index, (claim, test)): (usize, &(&ClaimReport, &TestNumbers))| {
        let [low, high] = test.interval95;
        let words = match claim.quote.trim() {
            "" => escaped(&claim.id),
            quote => escaped(quote),
        };
        format!(
            "<li value=\"{}\">{words}: {:.5} ({low:.5} to {high:.5})</li>\n",
            index + 1,
            test.estimate
        )
    };
    let list: String = tests.iter().enumerate().map(told).collect();
    figure(
        page,
        "Differences of means with 95% intervals",
        &svg,
        height,
        &format!("<ol class=\"keys\">\n{list}</ol>"),
    );
}

fn forest<'s>(
    svg: &'s mut String,
    tests: &[(&ClaimReport, &TestNumbers)],
    range: Range<f64>,
    height: u32,
) -> Drawn<'s> {
    let area = SVGBackend::with_string(svg, (SIZE.0, height)).into_drawing_area();
    let count = tests.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(34)
        .build_cartesian_2d(range, count + 0.5..0.5)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(GRID)
        .label_style(("sans-serif", 18, &INK))
        .x_labels(7)
        .y_labels(tests.len())
        .y_label_formatter(&|row| if row.fract() == 0.0 { format!("{row}") } else { String::new() })
        .draw()?;
    chart.draw_series(LineSeries::new([(0.0, 0.5), (0.0, count + 0.5)], GRID.stroke_width(1)))?;
    for (index, (_, test)) in tests.iter().enumerate() {
        let (row, [low, high]) = ((index + 1) as f64, test.interval95);
        chart.draw_series(LineSeries::new([(low, row), (high, row)], ARMS[0].stroke_width(3)))?;
        chart.draw_series([Circle::new((test.estimate, row), 5, ARMS[0].filled())])?;
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_drawn_with_its_arms_and_the_same_bytes_each_time() {
        let run = |shift: f64| {
            (1..=50).map(|at| [f64::from(at) * 1e5, 3.0 / f64::from(at) + shift]).collect()
        };
        let arm = |name: &str, shift: f64| CourseArm {
            name: name.to_owned(),
            runs: vec![run(shift), run(shift + 0.1)],
        };
        let chart = CourseChart {
            title: "loss".to_owned(),
            axis: "tokens",
            arms: vec![arm("<dense>", 1.0), arm("moe", 0.8)],
        };
        let drawn = || {
            let mut page = String::new();
            course(&mut page, &chart);
            page
        };
        let page = drawn();
        assert_eq!(page, drawn());
        for wanted in
            ["&lt;dense&gt;, 2 runs, last 1.1100", "<polygon", "<polyline", "tokens", "\n2M\n"]
        {
            assert!(page.contains(wanted), "{wanted} {page}");
        }
        assert!(!page.contains("style="), "a policy forbids styles in the page");
    }

    #[test]
    fn a_course_without_extent_is_not_drawn() {
        let arm = CourseArm { name: "a".to_owned(), runs: vec![vec![[1.0, 2.0]; 5]] };
        let mut page = String::new();
        course(&mut page, &CourseChart { title: String::new(), axis: "step", arms: vec![arm] });
        assert_eq!(page, "");
    }

    #[test]
    fn large_numbers_have_units() {
        assert_eq!([1.5e6, 2e9, 1200.0, 12.5].map(short), ["1.5M", "2B", "1.2K", "12.5"]);
    }
}
