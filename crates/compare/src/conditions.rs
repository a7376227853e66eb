//! Conditions: results of a comparison that fail a continuous integration run. Each condition is
//! tested statistically: a bare threshold would fail by chance.

use std::fmt;
use std::str::FromStr;

use message_trace::units::{format_duration, format_whole_percent};
use statrs::function::erf::erfc;

use crate::analysis::PeriodSample;
use crate::comparison::Comparison;
use crate::mutations::MutationKind;
use crate::statistics::rates_differ;
use crate::suspects::EvidenceKind;
use crate::wording::operation_text;

/// A condition under which a comparison fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FailCondition {
    /// A longer response time.
    Longer {
        /// Measure of the response times that is compared.
        what: TimeMeasure,
        /// By how much longer.
        by: TimeMargin,
    },
    /// Requests that take paths which no request of the first period took.
    NewPaths,
}

/// A figure of response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeMeasure {
    /// Mean response time.
    Mean,
    /// A quantile, from 0 to 1.
    Quantile(f64),
}

/// Increase that is still accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeMargin {
    /// A fraction of the former value.
    Relative(f64),
    /// A time in nanoseconds.
    Absolute(f64),
}

impl FromStr for FailCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<FailCondition, String> {
        let wrong = || {
            format!(
                "'{text}' is not a condition; write one such as 'p95 > +10%', 'mean > +2ms' or \
                 'new-paths'"
            )
        };
        if text.trim() == "new-paths" {
            return Ok(FailCondition::NewPaths);
        }
        let (what, by) = text.split_once('>').ok_or_else(wrong)?;
        let what = match what.trim() {
            "mean" => TimeMeasure::Mean,
            quantile => {
                let percent = quantile.strip_prefix('p').and_then(|number| number.parse().ok());
                let share = percent.map(|percent: f64| percent / 100.0);
                TimeMeasure::Quantile(
                    share.filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(wrong)?,
                )
            }
        };
        let by = by.trim().strip_prefix('+').unwrap_or(by.trim());
        let by = match by.strip_suffix('%') {
            Some(percent) => {
                TimeMargin::Relative(percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0)
            }
            None => TimeMargin::Absolute(parse_nanoseconds(by).ok_or_else(wrong)?),
        };
        let (TimeMargin::Relative(number) | TimeMargin::Absolute(number)) = by;
        if number.is_finite() && number >= 0.0 {
            Ok(FailCondition::Longer { what, by })
        } else {
            Err(wrong())
        }
    }
}

/// Parses a time such as `2ms` to nanoseconds.
fn parse_nanoseconds(text: &str) -> Option<f64> {
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    })
}

impl fmt::Display for TimeMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeMeasure::Mean => f.write_str("mean"),
            TimeMeasure::Quantile(share) => write!(f, "p{}", (share * 1e6).round() / 1e4),
        }
    }
}

impl fmt::Display for TimeMargin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeMargin::Relative(share) => write!(f, "+{}%", (share * 1e6).round() / 1e4),
            TimeMargin::Absolute(ns) => write!(f, "+{}", format_duration(*ns)),
        }
    }
}

impl FailCondition {
    /// Description of the violation; `None` if there is none, or it may be chance. `level` is the
    /// probability of a reported violation although nothing exceeds its margin.
    pub fn find_violation(&self, comparison: &Comparison, level: f64) -> Option<String> {
        match self {
            FailCondition::NewPaths => new_paths(comparison),
            FailCondition::Longer { what, by } => {
                let overall = &comparison.overall;
                let (values, p_value) = test_longer(&overall.samples, *what, *by, overall.effect?)?;
                (p_value <= level).then(|| {
                    let [before, after] = values.map(format_duration);
                    format!("{what} {before} → {after} is more than {by} (p = {p_value:.2e})")
                })
            }
        }
    }
}

/// A measure in both periods, and the p-value: the probability of an increase of at least the
/// observed size if the true increase is within the margin. `effect` is the design effect of the
/// samples. `None` if a period has no requests.
fn test_longer(
    samples: &[PeriodSample; 2],
    what: TimeMeasure,
    by: TimeMargin,
    effect: f64,
) -> Option<([f64; 2], f64)> {
    let [before, after] = samples;
    if before.sorted.is_empty() || after.sorted.is_empty() {
        return None;
    }
    let (factor, shift) = match by {
        TimeMargin::Relative(share) => (1.0 + share, 0.0),
        TimeMargin::Absolute(ns) => (1.0, ns),
    };
    match what {
        TimeMeasure::Mean => {
            let means = [before.moments.mean, after.moments.mean];
            let error = |sample: &PeriodSample, factor: f64| {
                factor * factor * sample.moments.variance() * effect / sample.sorted.len() as f64
            };
            // Welch's test; samples are large enough for the normal distribution.
            let deviation = (error(before, factor) + error(after, 1.0)).sqrt();
            let above = means[1] - (factor * means[0] + shift);
            let p_value = match deviation > 0.0 {
                true => erfc(above / deviation / std::f64::consts::SQRT_2) / 2.0,
                false if above > 0.0 => 0.0,
                false => 1.0,
            };
            Some((means, p_value))
        }
        TimeMeasure::Quantile(share) => {
            let values = [before.quantile(share)?, after.quantile(share)?].map(f64::from);
            // The response times of the first period, increased by the margin. If those of the
            // second period are no longer, an equal share of each exceeds the quantile of both
            // together.
            let increased: Vec<f32> = before
                .sorted
                .iter()
                .map(|time| (f64::from(*time) * factor + shift) as f32)
                .collect();
            let mut both: Vec<f32> = increased.iter().chain(&after.sorted).copied().collect();
            both.sort_unstable_by(f32::total_cmp);
            let both = PeriodSample { sorted: both, ..PeriodSample::default() };
            let threshold = both.quantile(share)?;
            let above = |sorted: &[f32]| {
                (sorted.len() - sorted.partition_point(|time| *time <= threshold)) as f64
            };
            let (counts, totals) = (
                [above(&increased), above(&after.sorted)],
                [increased.len() as f64, after.sorted.len() as f64],
            );
            let two_sided = rates_differ(counts, totals, effect);
            let is_more = counts[1] * totals[0] > counts[0] * totals[1];
            Some((values, if is_more { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 }))
        }
    }
}

/// Description of a path that no request of the first period took; `None` if there is none.
fn new_paths(comparison: &Comparison) -> Option<String> {
    let names = &comparison.names;
    let of_categories = comparison.mutations.iter().filter_map(|mutation| match &mutation.kind {
        MutationKind::Structural { shares, .. } if shares[0] == 0.0 => {
            let root = comparison.categories.get(mutation.category)?.structure.request_kind();
            let share = format_whole_percent(shares[1]);
            Some(format!("{share} of {} take a new path", operation_text(names, root[1], root[2])))
        }
        _ => None,
    });
    let of_sites = comparison.evidence.iter().filter_map(|evidence| match &evidence.kind {
        EvidenceKind::Calls(_) if evidence.is_sure && evidence.values[0] == 0.0 => {
            let what = operation_text(names, evidence.site.node, evidence.site.operation);
            Some(format!(
                "{what} makes other calls in {}",
                format_whole_percent(evidence.values[1])
            ))
        }
        _ => None,
    });
    let of_kinds = comparison.new_kinds.iter().filter_map(|change| {
        let [_, node, root] = comparison.kinds.get(change.kind)?.names;
        let share = format_whole_percent(change.shares[1]);
        let what = operation_text(names, node, root);
        (change.shares[0] == 0.0).then(|| format!("{what} is new, {share} of the requests"))
    });
    of_sites.chain(of_categories).chain(of_kinds).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let longer = |what, by| Ok(FailCondition::Longer { what, by });
        let read = |text: &str| text.parse::<FailCondition>();
        assert_eq!(
            read("p95 > +10%"),
            longer(TimeMeasure::Quantile(0.95), TimeMargin::Relative(0.1))
        );
        assert_eq!(read("mean>2ms"), longer(TimeMeasure::Mean, TimeMargin::Absolute(2e6)));
        assert_eq!(
            read("p12.5 > +0%"),
            longer(TimeMeasure::Quantile(0.125), TimeMargin::Relative(0.0))
        );
        assert_eq!(read(" new-paths "), Ok(FailCondition::NewPaths));
        for wrong in ["", "p95", "p0 > 1%", "p100 > 1%", "p95 > 10", "p95 > -1%", "max > 1ms"] {
            assert!(read(wrong).is_err_and(|error| error.contains("'p95 > +10%'")), "{wrong}");
        }
    }

    fn drawn(seed: u64, factor: f32) -> PeriodSample {
        let values = (0..2_000_u64).map(|number| {
            let drawn = message_trace::mix_bits(seed << 20 | number) % 1_000;
            factor * (1e6 + 1e3 * drawn as f32)
        });
        let values: Vec<f32> = values.collect();
        PeriodSample::from_observations(values.into_iter().map(|value| (value, 1.0, 0)), [1; 4])
    }

    #[test]
    fn a_margin_is_tested_for_significance() {
        let p_value =
            |factor: f32, what, by| test_longer(&[drawn(1, 1.0), drawn(2, factor)], what, by, 1.0);
        for what in [TimeMeasure::Mean, TimeMeasure::Quantile(0.5), TimeMeasure::Quantile(0.95)] {
            let of = |factor, by| p_value(factor, what, by).unwrap().1;
            assert!(of(1.2, TimeMargin::Relative(0.1)) < 0.001, "{what}");
            assert!(of(1.05, TimeMargin::Relative(0.1)) > 0.9, "{what}");
            assert!(of(1.2, TimeMargin::Absolute(1e6)) > 0.9, "{what}");
            assert!(of(1.0, TimeMargin::Relative(0.0)) > 0.01, "{what}");
        }
    }
}
