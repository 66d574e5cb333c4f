//! The MLPerf Training rules for each benchmark.

/// The quality that ends a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A loss, or an error rate.
    AtMost(f64),
    /// An accuracy.
    AtLeast(f64),
}

impl Target {
    /// Whether `value` reaches the target.
    pub fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "of at most {limit}"),
            Self::AtLeast(limit) => write!(f, "of at least {limit}"),
        }
    }
}

/// The rules for one benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BenchmarkRule {
    /// Its name.
    pub benchmark: &'static str,
    /// The number of runs in a submission.
    pub runs: usize,
    /// The number of fastest and of slowest runs that are dropped.
    pub dropped: usize,
    /// The target of each metric by name; the name is empty if the benchmark has one metric.
    pub targets: &'static [(&'static str, Target)],
}

/// The benchmarks of MLPerf Training 1.0 to 5.1.
const RULES: &[BenchmarkRule] = &[
    benchmark("bert", 10, &[("", Target::AtLeast(0.72))]),
    benchmark("dlrm_dcnv2", 10, &[("", Target::AtLeast(0.80275))]),
    benchmark("flux1", 10, &[("", Target::AtMost(0.586))]),
    benchmark("gnn", 10, &[("", Target::AtLeast(0.72))]),
    benchmark("gpt3", 3, &[("", Target::AtMost(2.69))]),
    benchmark("llama2_70b_lora", 10, &[("", Target::AtMost(0.925))]),
    benchmark("llama31_405b", 3, &[("", Target::AtMost(5.6))]),
    benchmark("llama31_8b", 10, &[("", Target::AtMost(3.3))]),
    benchmark("maskrcnn", 5, &[("BBOX", Target::AtLeast(0.377)), ("SEGM", Target::AtLeast(0.339))]),
    benchmark("resnet", 5, &[("", Target::AtLeast(0.759))]),
    benchmark("retinanet", 5, &[("", Target::AtLeast(0.34))]),
    benchmark("rgat", 10, &[("", Target::AtLeast(0.72))]),
    benchmark("rnnt", 10, &[("", Target::AtMost(0.058))]),
    benchmark("ssd", 5, &[("", Target::AtLeast(0.34))]),
    benchmark(
        "stable_diffusion",
        10,
        &[("FID", Target::AtMost(90.0)), ("CLIP", Target::AtLeast(0.15))],
    ),
    BenchmarkRule { dropped: 4, ..benchmark("unet3d", 40, &[("", Target::AtLeast(0.908))]) },
];

const fn benchmark(
    benchmark: &'static str,
    runs: usize,
    targets: &'static [(&'static str, Target)],
) -> BenchmarkRule {
    BenchmarkRule { benchmark, runs, dropped: 1, targets }
}

/// The rule of a known benchmark.
pub fn rule(benchmark: &str) -> Option<BenchmarkRule> {
    RULES.iter().find(|rule| rule.benchmark == benchmark).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_known_by_name() {
        let rule = rule("unet3d").unwrap();
        assert_eq!((rule.runs, rule.dropped), (40, 4));
        assert!(RULES.iter().map(|rule| rule.benchmark).is_sorted());
        assert_eq!(super::rule("llama2"), None);
        assert_eq!(Target::AtMost(0.925).to_string(), "of at most 0.925");
    }
}
