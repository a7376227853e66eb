//! Summarising: the figures of a context from its response times.

use crate::collect::{ExecutionCounts, ResponseObservation};
use crate::result::{ContextSummary, ExampleExecution, ResponseTimes};
use crate::statistics::{LogBins, TimeMoments, TimeSample, count_modes, sample_quartiles};
use crate::tuning::{MAX_EXAMPLES, MIN_FOR_HISTOGRAM};

/// The scale that all summaries of an operation share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SummaryScale {
    /// The bins of the operation's histograms.
    pub bins: LogBins,
    /// The tick of the clock that measured the times, in nanoseconds.
    pub tick: i64,
}

/// The summary of counts and response times, which are sorted by time.
pub(crate) fn summarise_context(
    counts: &ExecutionCounts,
    moments: &TimeMoments,
    sorted: &[ResponseObservation],
    scale: &SummaryScale,
) -> ContextSummary {
    ContextSummary {
        count: counts.steps,
        expected: counts.expected,
        timed: counts.timed,
        failed: counts.failed,
        outliving: counts.outliving,
        times: response_times(moments, sorted, scale),
        spent: counts.spent.means(),
    }
}

/// The figures of response times, which are sorted by time; `None` if there are none.
pub(crate) fn response_times(
    moments: &TimeMoments,
    sorted: &[ResponseObservation],
    scale: &SummaryScale,
) -> Option<ResponseTimes> {
    let samples = time_samples(sorted);
    let [q1, median, q3] = sample_quartiles(&samples)?;
    let has_histogram = samples.len() >= MIN_FOR_HISTOGRAM;
    Some(ResponseTimes {
        weight: moments.weight,
        mean: moments.mean,
        deviation: moments.deviation(),
        min: sorted.first()?.time,
        q1,
        median,
        q3,
        max: sorted.last()?.time,
        modes: count_modes(&samples, scale.tick),
        histogram: if has_histogram { scale.bins.bin_weights(&samples) } else { Vec::new() },
        examples: slowest_examples(sorted),
    })
}

/// The response times and their weights.
pub(crate) fn time_samples(observations: &[ResponseObservation]) -> Vec<TimeSample> {
    observations
        .iter()
        .map(|observation| TimeSample { time: observation.time, weight: observation.weight })
        .collect()
}

/// Some requests, evenly spread from the slowest to the fastest, each once.
fn slowest_examples(sorted: &[ResponseObservation]) -> Vec<ExampleExecution> {
    let last = sorted.len().saturating_sub(1);
    let few = sorted.len().min(MAX_EXAMPLES);
    let mut examples: Vec<ExampleExecution> = Vec::with_capacity(few);
    for number in 0..few {
        let place = last - number * last / few.saturating_sub(1).max(1);
        let Some(ResponseObservation { request, time, .. }) = sorted.get(place).copied() else {
            break;
        };
        if examples.iter().all(|example| example.request != request) {
            examples.push(ExampleExecution { request, time });
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::PositionId;

    fn observed(count: i64) -> Vec<ResponseObservation> {
        let one = |n| ResponseObservation {
            time: 10 * n,
            request: n / 2,
            position: PositionId::default(),
            weight: 1.0,
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn examples_are_distinct_requests_from_the_slowest_to_the_fastest() {
        assert_eq!(slowest_examples(&[]), []);
        assert_eq!(slowest_examples(&observed(1)), [ExampleExecution { request: 0, time: 0 }]);
        assert_eq!(slowest_examples(&observed(2)), [ExampleExecution { request: 0, time: 10 }]);
        let many = slowest_examples(&observed(1_000));
        assert_eq!(many.len(), MAX_EXAMPLES);
        assert_eq!((many[0].time, many[MAX_EXAMPLES - 1].time), (9_990, 0));
    }

    #[test]
    fn a_context_without_response_times_has_counts_only() {
        let scale = SummaryScale { bins: LogBins::from_samples(&[]), tick: 1 };
        let counts =
            ExecutionCounts { steps: 3, expected: 2.5, failed: 1, ..ExecutionCounts::default() };
        let summary = summarise_context(&counts, &TimeMoments::default(), &[], &scale);
        assert_eq!((summary.count, summary.failed, summary.times.is_none()), (3, 1, true));
        assert_eq!(summary.moments(), TimeMoments::default());
    }
}
