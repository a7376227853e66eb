//! The metrics by which patterns are ranked. Their names are the values of `sockcap report --sort`,
//! and occur in the table of the page and in the JSON.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use analyze::paths::{DelayStatistics, PathPattern};

/// A metric of a pattern, or of the delays of a node or a hop. The largest value comes first.
/// `count`, `expected` and the two composite metrics `confidence` and `evidence` are from WAP5
/// section 6.6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// `total`: the sum over the instances of duration times probability. It shows where the system
    /// spends its time.
    #[default]
    Total,
    /// `count`: the number of instances.
    Count,
    /// `expected`: the expected number of real instances, the sum of their probabilities.
    Expected,
    /// `confidence`: expected / count, the mean probability of an instance. It favours patterns
    /// that are certain.
    Confidence,
    /// `evidence`: expected / sqrt(count). Seeing a pattern often makes it more credible, but not
    /// in proportion.
    Evidence,
    /// `mean`: the mean duration of an instance.
    Mean,
    /// `p99`: the 99th percentile of the duration.
    P99,
}

/// A name that is not a [`SortKey`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a sort key; use one of total, count, expected, confidence, evidence, mean, \
         p99"
)]
pub struct UnknownSortKey(pub String);

impl SortKey {
    /// All keys, in the order in which help lists them.
    pub const ALL: [SortKey; 7] = [
        SortKey::Total,
        SortKey::Count,
        SortKey::Expected,
        SortKey::Confidence,
        SortKey::Evidence,
        SortKey::Mean,
        SortKey::P99,
    ];

    /// The name on the command line and in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            SortKey::Total => "total",
            SortKey::Count => "count",
            SortKey::Expected => "expected",
            SortKey::Confidence => "confidence",
            SortKey::Evidence => "evidence",
            SortKey::Mean => "mean",
            SortKey::P99 => "p99",
        }
    }

    /// A short description of the metric.
    pub fn label(self) -> &'static str {
        match self {
            SortKey::Total => "total time",
            SortKey::Count => "count",
            SortKey::Expected => "expected count",
            SortKey::Confidence => "confidence (expected / count)",
            SortKey::Evidence => "evidence (expected / √count)",
            SortKey::Mean => "mean duration",
            SortKey::P99 => "p99 duration",
        }
    }

    /// The value of the metric for a pattern or a family.
    fn value_of(self, values: &SortValues) -> f64 {
        match self {
            SortKey::Total => values.total_time,
            SortKey::Count => values.count,
            SortKey::Expected => values.expected,
            SortKey::Confidence => values.expected / values.count,
            SortKey::Evidence => values.expected / values.count.sqrt(),
            SortKey::Mean => values.mean,
            SortKey::P99 => values.p99,
        }
    }

    /// Whether the metric grows with the probability of instances. By any other metric, a very
    /// improbable pattern could be first.
    fn is_weighted(self) -> bool {
        matches!(self, SortKey::Total | SortKey::Expected)
    }

    /// The value of the metric for the delays of a node or a hop, as if each message were an
    /// instance with the duration of its delay.
    pub(crate) fn value_of_delays(self, delays: &DelayStatistics) -> f64 {
        let DelayStatistics { count, expected, delay, total_time, .. } = *delays;
        match self {
            SortKey::Total => total_time,
            SortKey::Count => count as f64,
            SortKey::Expected => expected,
            SortKey::Confidence => expected / count as f64,
            SortKey::Evidence => expected / (count as f64).sqrt(),
            SortKey::Mean => delay.map_or(f64::NAN, |delay| delay.mean),
            SortKey::P99 => delay.map_or(f64::NAN, |delay| delay.p99),
        }
    }

    /// The order of two rows of delays.
    pub(crate) fn compare_delays(self, a: &DelayStatistics, b: &DelayStatistics) -> Ordering {
        compare_descending(self.value_of_delays(a), self.value_of_delays(b))
    }

    /// The order of two patterns. Metrics that do not depend on the probability of instances put
    /// patterns first that are expected at least once.
    pub fn compare_patterns(self, a: &PathPattern, b: &PathPattern) -> Ordering {
        self.compare_values(&SortValues::from_pattern(a), &SortValues::from_pattern(b))
    }

    /// The order of two patterns, or of two families, by their values.
    pub(crate) fn compare_values(self, a: &SortValues, b: &SortValues) -> Ordering {
        let by_value = || compare_descending(self.value_of(a), self.value_of(b));
        match self.is_weighted() {
            true => by_value(),
            false => b.is_expected().cmp(&a.is_expected()).then_with(by_value),
        }
    }

    /// The `patterns` in the order of the metric. Equal ones keep their order. A pattern without a
    /// value, such as the confidence of one without instances, comes last.
    pub(crate) fn rank_patterns(self, patterns: &[PathPattern]) -> Vec<&PathPattern> {
        let mut ranked: Vec<&PathPattern> = patterns.iter().collect();
        ranked.sort_by(|a, b| self.compare_patterns(a, b));
        ranked
    }
}

/// Minimum number of expected instances that is shown as 1.0, so that the pattern counts as
/// expected once.
const EXPECTED_ONCE: f64 = 0.95;

/// The values of a pattern or a family from which metrics are computed. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortValues {
    pub(crate) count: f64,
    pub(crate) expected: f64,
    pub(crate) total_time: f64,
    pub(crate) mean: f64,
    pub(crate) p99: f64,
}

impl SortValues {
    fn from_pattern(pattern: &PathPattern) -> SortValues {
        SortValues {
            count: pattern.count as f64,
            expected: pattern.expected,
            total_time: pattern.total_time,
            mean: pattern.duration.mean,
            p99: pattern.duration.p99,
        }
    }

    fn is_expected(&self) -> bool {
        self.expected >= EXPECTED_ONCE
    }
}

fn compare_descending(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (a_is_nan, b_is_nan) => a_is_nan.cmp(&b_is_nan),
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SortKey {
    type Err = UnknownSortKey;

    fn from_str(name: &str) -> Result<SortKey, UnknownSortKey> {
        SortKey::ALL
            .into_iter()
            .find(|key| key.name() == name)
            .ok_or_else(|| UnknownSortKey(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_reports;

    fn order(key: SortKey, patterns: &[PathPattern]) -> Vec<i64> {
        key.rank_patterns(patterns).iter().map(|pattern| pattern.id).collect()
    }

    /// Four patterns; each is first by a different metric.
    fn four() -> Vec<PathPattern> {
        let make = |id, count, expected: f64, mean: f64, p99| {
            let mut pattern = sample_reports::cached_pattern();
            (pattern.id, pattern.count, pattern.expected) = (id, count, expected);
            (pattern.duration.mean, pattern.duration.p99) = (mean, p99);
            pattern.total_time = expected * mean;
            pattern
        };
        vec![
            make(0, 1000, 20.0, 5.0, 9.0),    // most instances
            make(1, 400, 100.0, 2.0, 4.0),    // most expected; most evidence: 5.0
            make(2, 4, 4.0, 10.0, 800.0),     // surest, largest p99
            make(3, 100, 30.0, 300.0, 310.0), // largest total and mean
        ]
    }

    #[test]
    fn each_key_ranks_by_its_metric() {
        let patterns = four();
        assert_eq!(order(SortKey::Total, &patterns), [3, 1, 0, 2]); // 9000, 200, 100, 40
        assert_eq!(order(SortKey::Count, &patterns), [0, 1, 3, 2]);
        assert_eq!(order(SortKey::Expected, &patterns), [1, 3, 0, 2]);
        assert_eq!(order(SortKey::Confidence, &patterns), [2, 3, 1, 0]); // 1, .3, .25, .02
        assert_eq!(order(SortKey::Evidence, &patterns), [1, 3, 2, 0]); // 5, 3, 2, .63
        assert_eq!(order(SortKey::Mean, &patterns), [3, 2, 0, 1]);
        assert_eq!(order(SortKey::P99, &patterns), [2, 3, 0, 1]);
    }

    #[test]
    fn improbable_patterns_are_not_first() {
        let mut patterns = four();
        // A pattern that was seen once and is very improbable, but longer than any other.
        let mut ghost = patterns[2].clone();
        (ghost.id, ghost.count, ghost.expected, ghost.total_time) = (4, 1, 0.01, 10_000.0);
        (ghost.duration.mean, ghost.duration.p99) = (1e6, 1e6);
        patterns.push(ghost);
        assert_eq!(order(SortKey::P99, &patterns), [2, 3, 0, 1, 4]);
        assert_eq!(order(SortKey::Mean, &patterns)[4], 4);
        assert_eq!(
            order(SortKey::Total, &patterns)[0],
            4,
            "a value that is weighted stands for itself"
        );
    }

    #[test]
    fn equal_values_keep_their_order() {
        let mut patterns = four();
        for pattern in &mut patterns {
            pattern.count = 7;
        }
        assert_eq!(order(SortKey::Count, &patterns), [0, 1, 2, 3]);
    }

    #[test]
    fn patterns_without_a_value_come_last() {
        let mut patterns = four();
        (patterns[0].count, patterns[0].expected) = (0, 0.0);
        assert!(SortKey::Confidence.value_of(&SortValues::from_pattern(&patterns[0])).is_nan());
        assert_eq!(order(SortKey::Confidence, &patterns), [2, 3, 1, 0]);
    }

    #[test]
    fn names_read_back() {
        for key in SortKey::ALL {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        let error = "sum".parse::<SortKey>().unwrap_err();
        assert!(
            error.to_string().contains("total, count, expected, confidence, evidence, mean, p99")
        );
    }
}
