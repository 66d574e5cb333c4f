//! The statistics against those of scipy: `shared/data/statistics/oracle.json`, every data set and
//! every key of it, within the tolerances that it names.

use num_rational::BigRational;
use serde_json::Value;

use repro_stats::bootstrap::{BootstrapInterval, Resampled};
use repro_stats::distribution::{Normal, StudentT, Symmetric};
use repro_stats::proportion::{Proportion, fisher, two_proportions};
use repro_stats::{self as stats, Decimals, RankedPair, Refused, Summary, T};

const RESAMPLES: usize = 10_000;
const SEED: u64 = 20_260_313;
/// Five standard deviations of a bootstrap standard error over as many resamples, generously.
const ERROR_TOLERANCE: f64 = 0.06;

/// What was compared, and what did not agree.
#[derive(Default)]
struct Comparison {
    compared: usize,
    complaints: Vec<String>,
}

impl Comparison {
    fn within(&mut self, place: &str, found: f64, wanted: &Value, tolerance: f64) {
        self.compared += 1;
        let wanted = number(wanted);
        let close = (found - wanted).abs() <= tolerance;
        if !close {
            self.complaints.push(format!("{place}: {found} for {wanted} ± {tolerance}"));
        }
    }

    /// Closed forms: relatively 1e-9 or absolutely 1e-12.
    fn close(&mut self, place: &str, found: f64, wanted: &Value) {
        self.within(place, found, wanted, (1e-9 * number(wanted).abs()).max(1e-12));
    }

    /// Closed forms that keep their digits however small they are: relatively 1e-9.
    fn small(&mut self, place: &str, found: f64, wanted: &Value) {
        self.within(place, found, wanted, 1e-9 * number(wanted).abs());
    }

    fn equal(&mut self, place: &str, found: usize, wanted: &Value) {
        self.within(place, found as f64, wanted, 0.0);
    }

    fn pair(&mut self, place: &str, found: [f64; 2], wanted: &Value) {
        self.close(place, found[0], &wanted[0]);
        self.close(place, found[1], &wanted[1]);
    }

    fn unknown(&mut self, place: &str) {
        self.complaints.push(format!("{place}: nothing compares this key"));
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value))
}

fn oracle(test: &str) -> Option<Value> {
    let path = super::shared::folder(test)?.join("statistics/oracle.json");
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// A t test: the keys that every kind of it has.
fn t_test(it: &mut Comparison, place: &str, test: &T, key: &str, wanted: &Value) {
    let place = &format!("{place}/{key}");
    match key {
        "mean" | "diff" => it.close(place, test.estimate, wanted),
        "se" => it.close(place, test.standard_error, wanted),
        "df" => it.close(place, test.df, wanted),
        "t" => it.close(place, test.t, wanted),
        "p_two_sided" => it.close(place, test.p_two_sided(), wanted),
        "p_one_sided_greater" => it.close(place, test.p_greater(), wanted),
        "p_one_sided_less" => it.close(place, test.p_less(), wanted),
        "ci90" => it.pair(place, test.interval(0.90).unwrap(), wanted),
        "ci95" => it.pair(place, test.interval(0.95).unwrap(), wanted),
        "ci99" => it.pair(place, test.interval(0.99).unwrap(), wanted),
        _ => it.unknown(place),
    }
}

fn paired_t(it: &mut Comparison, place: &str, d: &[f64], wanted: &Value) {
    let summary = Summary::of(d).unwrap();
    let test = stats::one_sample(&summary, 0.0).unwrap();
    for (key, wanted) in members(wanted) {
        match key {
            "n" => it.equal(place, summary.n, wanted),
            "sd_ddof1" => it.close(place, summary.sd, wanted),
            "sd_ddof0" => it.close(place, summary.population_sd(), wanted),
            _ => t_test(it, place, &test, key, wanted),
        }
    }
}

fn welch(it: &mut Comparison, place: &str, a: &[f64], b: &[f64], wanted: &Value) {
    let (a, b) = (Summary::of(a).unwrap(), Summary::of(b).unwrap());
    let test = stats::welch(&a, &b).unwrap();
    for (key, wanted) in members(wanted) {
        match key {
            "n" => {
                it.equal(place, a.n, &wanted[0]);
                it.equal(place, b.n, &wanted[1]);
            }
            "pooled" => {
                let pooled = stats::pooled(&a, &b).unwrap();
                for (key, wanted) in members(wanted) {
                    t_test(it, &format!("{place}/pooled"), &pooled, key, wanted);
                }
            }
            _ => t_test(it, place, &test, key, wanted),
        }
    }
}

fn sign_flip(it: &mut Comparison, place: &str, d: &[f64], wanted: &Value) {
    let test = stats::sign_flip(d, RESAMPLES, SEED).unwrap();
    for (key, wanted) in members(wanted) {
        match key {
            "kind" => {}
            "p_two_sided" => it.close(place, test.p_two_sided, wanted),
            "p_one_sided_greater" => it.close(place, test.p_greater, wanted),
            "p_one_sided_less" => it.close(place, test.p_less, wanted),
            "min_attainable_two_sided" => it.close(place, test.least_two_sided, wanted),
            _ => it.unknown(&format!("{place}/{key}")),
        }
    }
}

fn enumerated(it: &mut Comparison, place: &str, resampled: &Resampled, wanted: &Value) {
    let Some(wanted) = wanted.as_object() else { return };
    let ends = resampled.percentile(0.95).unwrap();
    let [least, greatest] = resampled.ends().unwrap();
    for (key, wanted) in wanted {
        match key.as_str() {
            "support" => it.equal(place, resampled.support().unwrap(), wanted),
            "low" => it.close(place, ends.low, wanted),
            "high" => it.close(place, ends.high, wanted),
            "prob_of_min" => it.close(place, least, wanted),
            "prob_of_max" => it.close(place, greatest, wanted),
            "total" => it.close(place, 1.0, wanted),
            _ => it.unknown(&format!("{place}/{key}")),
        }
    }
}

/// A bootstrap interval at 95%. An enumeration has another quantile rule than scipy, so that it is held
/// to the wider tolerance; draws of another generator are held to the narrow one.
fn bootstrap(
    it: &mut Comparison,
    place: &str,
    found: BootstrapInterval,
    resampled: &Resampled,
    wanted: &Value,
) {
    let place = &format!("{place}, seed {SEED}");
    let narrow = [&wanted["tol_low"], &wanted["tol_high"]];
    let tolerance = |end: usize| {
        let wide = resampled.support().and(wanted["tol_any_convention"].get(end));
        let stated = wide.or(wanted["tol"].get(end));
        number(stated.unwrap_or(narrow[end]))
    };
    for (key, value) in members(wanted) {
        match key {
            "ci95" => {
                it.within(place, found.low, &value[0], tolerance(0));
                it.within(place, found.high, &value[1], tolerance(1));
            }
            "se" => {
                let tolerance = ERROR_TOLERANCE * number(value);
                it.within(place, resampled.standard_error(), value, tolerance);
            }
            // How scipy's values were made, and the tolerances themselves.
            "mc_sd_low" | "mc_sd_high" | "mc_sd" | "mc_mean" | "seed" | "B" => {}
            "tol_low" | "tol_high" | "tol" | "tol_any_convention" => {}
            _ => it.unknown(&format!("{place}/{key}")),
        }
    }
}

fn data_set(it: &mut Comparison, set: &Value) {
    let (a, b) = (list(&set["a"]), list(&set["b"]));
    for (key, wanted) in members(set) {
        let place = &format!("{}/{key}", set["id"]);
        let d = || stats::differences(&a, &b).unwrap();
        match key {
            "id" | "description" | "a" | "b" => {}
            "d" => {
                let wanted = wanted.as_array().unwrap();
                it.equal(place, d().len(), &wanted.len().into());
                d().iter().zip(wanted).for_each(|(found, wanted)| it.close(place, *found, wanted));
            }
            "paired_t" => paired_t(it, place, &d(), wanted),
            "welch" => welch(it, place, &a, &b, wanted),
            "sign_flip" => sign_flip(it, place, &d(), wanted),
            "pearson_r" => match stats::correlation(&a, &b) {
                Ok(found) => it.close(place, found, wanted),
                // Correlation with a constant is rounding noise in the oracle.
                Err(refused) => assert_eq!(refused, Refused::NoSpread, "{place}"),
            },
            "exact_bootstrap_percentile" => {
                enumerated(it, place, &Resampled::of(&d(), RESAMPLES, SEED).unwrap(), wanted);
            }
            "bootstrap_percentile" | "bootstrap_bca" => {
                let resampled = Resampled::of(&d(), RESAMPLES, SEED).unwrap();
                let found = interval(&resampled, key);
                bootstrap(it, place, found, &resampled, wanted);
            }
            "bootstrap_unpaired_percentile" | "bootstrap_unpaired_bca" => {
                let resampled = Resampled::of_two(&a, &b, RESAMPLES, SEED).unwrap();
                let found = interval(&resampled, key);
                bootstrap(it, place, found, &resampled, wanted);
            }
            _ => it.unknown(place),
        }
    }
}

fn interval(resampled: &Resampled, key: &str) -> BootstrapInterval {
    let found = if key.ends_with("bca") { resampled.bca(0.95) } else { resampled.percentile(0.95) };
    found.unwrap()
}

fn finish(it: &Comparison, least: usize) {
    assert!(it.complaints.is_empty(), "{}", it.complaints.join("\n"));
    assert!(it.compared >= least, "only {} numbers were compared", it.compared);
}

#[test]
fn data_sets_agree_with_scipy() {
    let Some(oracle) = oracle("data_sets_agree_with_scipy") else { return };
    let mut it = Comparison::default();
    for set in oracle["datasets"].as_array().unwrap() {
        data_set(&mut it, set);
    }
    finish(&it, 250);
}

#[test]
fn quantiles_agree_with_scipy() {
    let Some(oracle) = oracle("quantiles_agree_with_scipy") else { return };
    let mut it = Comparison::default();
    for (df, quantiles) in members(&oracle["quantiles"]) {
        for (p, wanted) in members(quantiles) {
            let probability: f64 = p.parse().unwrap();
            let found = match df {
                "inf" => Normal.quantile(probability).unwrap(),
                _ => {
                    let student = StudentT::new(df.parse().unwrap()).unwrap();
                    student.quantile(probability).unwrap()
                }
            };
            it.close(&format!("quantile {p} of {df} degrees"), found, wanted);
        }
    }
    finish(&it, 40);
}

#[test]
fn printed_summaries_agree_with_scipy() {
    let Some(oracle) = oracle("printed_summaries_agree_with_scipy") else { return };
    let mut it = Comparison::default();
    for case in oracle["from_stats"].as_array().unwrap() {
        let inputs = list(&case["inputs"]);
        let arm = |at: usize| Summary {
            mean: inputs[at],
            sd: inputs[at + 1],
            n: inputs[at + 2] as usize,
        };
        let test = stats::welch(&arm(0), &arm(3)).unwrap();
        for (key, wanted) in
            members(case).filter(|(key, _)| !["id", "inputs", "note"].contains(key))
        {
            t_test(&mut it, &case["id"].to_string(), &test, key, wanted);
        }
    }
    finish(&it, 50);
}

/// The data set whose id begins as this one does.
fn set_called<'a>(oracle: &'a Value, id: &str) -> &'a Value {
    let sets = oracle["datasets"].as_array().unwrap();
    sets.iter().find(|set| set["id"].as_str().unwrap().starts_with(id)).unwrap()
}

#[test]
fn equivalence_agrees_with_scipy() {
    let Some(oracle) = oracle("equivalence_agrees_with_scipy") else { return };
    let mut it = Comparison::default();
    for case in oracle["tost"].as_array().unwrap() {
        let set = set_called(&oracle, case["dataset"].as_str().unwrap());
        let (a, b) = (list(&set["a"]), list(&set["b"]));
        let welch = stats::welch(&Summary::of(&a).unwrap(), &Summary::of(&b).unwrap()).unwrap();
        let (low, high) = (number(&case["low"]), number(&case["upp"]));
        let paired = stats::equivalence(&stats::paired(&a, &b).unwrap(), low, high).unwrap();
        for (key, wanted) in members(case) {
            let place = &format!("{}/{key}", case["id"]);
            match key {
                "id" | "dataset" | "low" | "upp" | "rule" => {}
                "paired_p" => it.close(place, paired.p(), wanted),
                "paired_lower" => {
                    it.pair(place, [paired.lower.t, paired.lower.p_greater()], wanted);
                }
                "paired_upper" => it.pair(place, [paired.upper.t, paired.upper.p_less()], wanted),
                "welch_p" => {
                    it.close(place, stats::equivalence(&welch, low, high).unwrap().p(), wanted);
                }
                _ => it.unknown(place),
            }
        }
    }
    finish(&it, 10);
}

#[test]
fn target_tests_agree_with_scipy() {
    let Some(oracle) = oracle("target_tests_agree_with_scipy") else { return };
    let mut it = Comparison::default();
    for case in oracle["target_tests"].as_array().unwrap() {
        // `S03a` is the list `a` of the data set `S03...`; `S11` the one of `S11...` against b.
        let id = case["id"].as_str().unwrap();
        let column = if id.ends_with('b') { "b" } else { "a" };
        let set = set_called(&oracle, id.trim_end_matches(['a', 'b']));
        let summary = Summary::of(&list(&set[column])).unwrap();
        let test = stats::one_sample(&summary, number(&case["target"])).unwrap();
        for (key, wanted) in members(case) {
            let place = &format!("{id}/{key}");
            match key {
                "id" | "target" => {}
                "n" => it.equal(place, summary.n, wanted),
                "mean" => it.close(place, summary.mean, wanted),
                "t" => it.close(place, test.t, wanted),
                "p_less" => it.close(place, test.p_less(), wanted),
                "passes_p01" => assert_eq!(test.p_less() < 0.01, wanted.as_bool().unwrap()),
                _ => it.unknown(place),
            }
        }
    }
    finish(&it, 8);
}

#[test]
fn proportions_agree_with_scipy() {
    let Some(oracle) = oracle("proportions_agree_with_scipy") else { return };
    let mut it = Comparison::default();
    for case in oracle["proportions"].as_array().unwrap() {
        let trials = case["n"].as_u64().unwrap();
        let both =
            [0, 1].map(|arm| Proportion::new(case["k"][arm].as_u64().unwrap(), trials).unwrap());
        let test = two_proportions(&both[1], &both[0]).unwrap();
        for (key, wanted) in members(case) {
            let place = &format!("{}/{key}", case["name"]);
            match key {
                "name" | "n" | "k" | "note" => {}
                "acc" => it.pair(place, both.map(|one| 100.0 * one.share()), wanted),
                "se_acc_sample" => {
                    let errors = both.map(|one| 100.0 * one.standard_error().unwrap());
                    it.pair(place, errors, wanted);
                }
                "z_pooled" => it.close(place, test.z, wanted),
                "p_two_sided" => it.close(place, test.p_two_sided(), wanted),
                "fisher_p" => it.close(place, fisher(&both[0], &both[1]).unwrap(), wanted),
                "wilson95" => {
                    it.pair(place, both[0].wilson(0.95).unwrap(), &wanted[0]);
                    it.pair(place, both[1].wilson(0.95).unwrap(), &wanted[1]);
                }
                _ => it.unknown(place),
            }
        }
    }
    finish(&it, 20);
}

#[test]
fn every_part_of_the_oracle_is_read() {
    let Some(oracle) = oracle("every_part_of_the_oracle_is_read") else { return };
    let parts: Vec<_> = members(&oracle).map(|(key, _)| key).filter(|key| *key != "meta").collect();
    let mut known =
        ["datasets", "from_stats", "proportions", "quantiles", "target_tests", "tost"].to_vec();
    known.retain(|part| parts.contains(part));
    let unknown: Vec<_> = parts.iter().filter(|part| !known.contains(part)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Mann-Whitney, Kolmogorov-Smirnov, analysis of variance, χ² and Fisher's test: `tests/corpus/stats/oracle.json`.
#[test]
fn further_tests_agree_with_scipy() {
    let oracle: Value = serde_json::from_str(include_str!("../corpus/stats/oracle.json")).unwrap();
    let mut it = Comparison::default();
    let cases = |kind: &str| oracle[kind].as_array().unwrap().clone();
    for case in cases("two_lists") {
        two_lists(&mut it, &case);
    }
    for case in cases("groups") {
        let place = case["name"].as_str().unwrap();
        let groups = case["groups"].as_array().unwrap().iter();
        let groups: Vec<_> = groups.map(|group| Decimals::of(&list(group)).unwrap()).collect();
        let test = stats::anova(&groups).unwrap();
        it.small(place, test.f, &case["f"]);
        it.pair(place, [test.df_between, test.df_within], &case["df"]);
        it.small(place, test.p, &case["p"]);
    }
    for case in cases("categories") {
        let place = case["name"].as_str().unwrap();
        let exact = |values: &Value| {
            let exact = |value| BigRational::from_float(value).unwrap();
            list(values).into_iter().map(exact).collect::<Vec<_>>()
        };
        let weights = case["weights"].is_array().then(|| exact(&case["weights"]));
        let test = stats::chi_squared(&exact(&case["counts"]), weights.as_deref()).unwrap();
        it.small(place, test.statistic, &case["statistic"]);
        it.close(place, test.df, &case["df"]);
        it.small(place, test.p, &case["p"]);
    }
    for case in cases("tables") {
        let place = case["table"].to_string();
        let cells: Vec<u64> = serde_json::from_value(case["table"].clone()).unwrap();
        let row = |a: u64, b: u64| Proportion::new(a, a + b).unwrap();
        let p = fisher(&row(cells[0], cells[1]), &row(cells[2], cells[3])).unwrap();
        it.small(&place, p, &case["p"]);
    }
    finish(&it, 180);
}

fn two_lists(it: &mut Comparison, case: &Value) {
    let place = case["name"].as_str().unwrap();
    let of = |key: &str| Decimals::of(&list(&case[key])).unwrap();
    let ranked = RankedPair::new(&of("a"), &of("b")).unwrap();
    let test = ranked.mann_whitney().unwrap();
    assert_eq!(Value::Bool(test.is_exact), case["is_exact"], "{place}");
    it.close(place, test.u, &case["u"]);
    for (key, found) in
        [("p_two_sided", test.p_two_sided), ("p_less", test.p_less), ("p_greater", test.p_greater)]
    {
        it.small(place, found, &case[key]);
    }
    let test = ranked.kolmogorov_smirnov().unwrap();
    it.close(place, test.d, &case["d"]);
    if let Some(wanted) = case.get("ks_p") {
        it.small(place, test.p, wanted);
    }
}
