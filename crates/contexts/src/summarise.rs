//! Summarising: the figures of a context from its response times.

use crate::collect::{Counts, Observation};
use crate::result::{Example, Summary, Times};
use crate::statistics::{Bins, Moments, Sample, modes, quartiles};
use crate::tuning::{MAX_EXAMPLES, MIN_FOR_HISTOGRAM};

/// What the summaries of an operation have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// The bins of its histograms.
    pub bins: Bins,
    /// The tick of its clock, in nanoseconds.
    pub tick: i64,
}

/// The summary of these counts and response times, which are sorted by time.
pub(crate) fn summary(
    counts: &Counts,
    moments: &Moments,
    sorted: &[Observation],
    scale: &Scale,
) -> Summary {
    Summary {
        count: counts.steps,
        expected: counts.expected,
        timed: counts.timed,
        failed: counts.failed,
        outliving: counts.outliving,
        times: times(moments, sorted, scale),
        spent: counts.spent.means(),
    }
}

/// The figures of these response times, which are sorted by time; `None` where there is none.
pub(crate) fn times(moments: &Moments, sorted: &[Observation], scale: &Scale) -> Option<Times> {
    let samples = samples(sorted);
    let [q1, median, q3] = quartiles(&samples)?;
    let is_told = samples.len() >= MIN_FOR_HISTOGRAM;
    Some(Times {
        weight: moments.weight,
        mean: moments.mean,
        deviation: moments.deviation(),
        min: sorted.first()?.time,
        q1,
        median,
        q3,
        max: sorted.last()?.time,
        modes: modes(&samples, scale.tick),
        histogram: if is_told { scale.bins.counts(&samples) } else { Vec::new() },
        examples: examples(sorted),
    })
}

/// The response times and their weights.
pub(crate) fn samples(observations: &[Observation]) -> Vec<Sample> {
    observations
        .iter()
        .map(|observation| Sample { time: observation.time, weight: observation.weight })
        .collect()
}

/// Some requests, the slowest first, each once.
fn examples(sorted: &[Observation]) -> Vec<Example> {
    let last = sorted.len().saturating_sub(1);
    let few = sorted.len().min(MAX_EXAMPLES);
    let mut examples: Vec<Example> = Vec::with_capacity(few);
    for number in 0..few {
        let place = last - number * last / few.saturating_sub(1).max(1);
        let Some(Observation { request, time, .. }) = sorted.get(place).copied() else { break };
        if examples.iter().all(|example| example.request != request) {
            examples.push(Example { request, time });
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(count: i64) -> Vec<Observation> {
        let one = |n| Observation { time: 10 * n, request: n / 2, position: 0, weight: 1.0 };
        (0..count).map(one).collect()
    }

    #[test]
    fn examples_go_from_the_slowest_to_the_fastest_and_each_request_is_there_once() {
        assert_eq!(examples(&[]), []);
        assert_eq!(examples(&observed(1)), [Example { request: 0, time: 0 }]);
        assert_eq!(examples(&observed(2)), [Example { request: 0, time: 10 }]);
        let many = examples(&observed(1_000));
        assert_eq!(many.len(), MAX_EXAMPLES);
        assert_eq!((many[0].time, many[MAX_EXAMPLES - 1].time), (9_990, 0));
    }

    #[test]
    fn a_context_without_response_times_has_counts_only() {
        let scale = Scale { bins: Bins::of(&[]), tick: 1 };
        let counts = Counts { steps: 3, expected: 2.5, failed: 1, ..Counts::default() };
        let summary = summary(&counts, &Moments::default(), &[], &scale);
        assert_eq!((summary.count, summary.failed, summary.times.is_none()), (3, 1, true));
        assert_eq!(summary.moments(), Moments::default());
    }
}
