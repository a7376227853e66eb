//! Summary: the number of executions in a context and their durations, in numbers as short as the
//! page can use.

use contexts::result::{ContextSummary, ResponseTimes};
use serde::Serialize;

use super::choice::spread_evenly;
use crate::page::number::ShortNumber;
use crate::tuning::MAX_CONTEXT_BINS;

/// The path of an example request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathOfExample {
    pub(super) path: i64,
    pub(super) pattern: i64,
}

/// The executions of an operation or in a context.
#[derive(Debug, Serialize)]
pub(super) struct PageSummary {
    count: u64,
    timed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    failed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    outliving: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<PageTimes>,
}

#[derive(Debug, Serialize)]
struct PageTimes {
    weight: ShortNumber,
    mean: ShortNumber,
    deviation: ShortNumber,
    min: i64,
    q1: ShortNumber,
    median: ShortNumber,
    q3: ShortNumber,
    max: i64,
    modes: Option<u32>,
    histogram: Vec<ShortNumber>,
    /// Number of a request, its response time, the number of its pattern or -1, and the number of
    /// its path or -1.
    examples: Vec<(i64, i64, i64, i64)>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PageSummary {
    /// The number of bins to merge into one, if there are `count`.
    pub(super) fn bins_per_group(count: usize) -> usize {
        count.div_ceil(MAX_CONTEXT_BINS).max(1)
    }

    /// The summary with every `every` bins merged into one.
    pub(super) fn from_summary(summary: &ContextSummary, every: usize) -> PageSummary {
        PageSummary {
            count: summary.count,
            timed: summary.timed,
            failed: summary.failed,
            outliving: summary.outliving,
            times: summary.times.as_ref().map(|times| PageTimes::from_times(times, every)),
        }
    }

    /// The numbers of the example requests.
    pub(super) fn example_requests(&self) -> impl Iterator<Item = i64> {
        self.times.iter().flat_map(|times| times.examples.iter().map(|(request, ..)| *request))
    }

    /// Sets the paths of examples.
    pub(super) fn name_paths(&mut self, of: &impl Fn(i64) -> Option<PathOfExample>) {
        let examples = self.times.iter_mut().flat_map(|times| &mut times.examples);
        for (request, _, pattern, path) in examples {
            (*pattern, *path) = of(*request).map_or((-1, -1), |found| (found.pattern, found.path));
        }
    }
}

impl PageTimes {
    fn from_times(times: &ResponseTimes, every: usize) -> PageTimes {
        let bins = times.histogram.chunks(every.max(1));
        let weight =
            |bins: &[f32]| ShortNumber::from_value(bins.iter().copied().map(f64::from).sum());
        let example =
            |example: &contexts::result::ExampleExecution| (example.request, example.time, -1, -1);
        PageTimes {
            weight: ShortNumber::from_value(times.weight),
            mean: ShortNumber::from_whole(times.mean),
            deviation: ShortNumber::from_whole(times.deviation),
            min: times.min,
            q1: ShortNumber::from_whole(times.q1),
            median: ShortNumber::from_whole(times.median),
            q3: ShortNumber::from_whole(times.q3),
            max: times.max,
            modes: times.modes,
            histogram: bins.map(weight).collect(),
            examples: spread_evenly(&times.examples).map(example).collect(),
        }
    }
}
