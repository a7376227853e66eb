//! Lanes: rows in which a timeline draws spans, so that no span covers another. A node has lanes
//! for the calls that it serves and lanes for the calls that it makes, one for each call that is
//! open at the same time.

use rustc_hash::FxHashMap;

use super::spans::{ExportedSpan, SpanSide};

/// The lanes of all nodes, with the time at which each becomes free.
#[derive(Debug, Default)]
pub(crate) struct SpanLanes {
    /// By node and side, the time at which each lane becomes free, in nanoseconds since the Unix
    /// epoch.
    free: FxHashMap<(usize, SpanSide), Vec<i64>>,
}

/// The lane of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanLane {
    /// The number among the lanes of the node and side.
    pub(crate) number: usize,
    /// Whether this is the first span in the lane.
    pub(crate) is_new: bool,
}

impl SpanLanes {
    /// Puts a span into the first lane of its node and side that is free when it begins.
    pub(crate) fn place_span(&mut self, span: &ExportedSpan<'_>) -> SpanLane {
        let lanes = self.free.entry((span.party_index(), span.side)).or_default();
        let free = lanes.iter().position(|free| *free <= span.start);
        let number = free.unwrap_or(lanes.len());
        match lanes.get_mut(number) {
            Some(lane) => *lane = span.end,
            None => lanes.push(span.end),
        }
        SpanLane { number, is_new: free.is_none() }
    }
}

/// The name of a lane.
pub(crate) fn lane_name(side: SpanSide, number: usize) -> String {
    let what = match side {
        SpanSide::Caller => "calls",
        SpanSide::Callee => "serves",
    };
    format!("{what} {}", number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{spans, testing};

    #[test]
    fn concurrent_spans_are_in_separate_lanes() {
        let calls = testing::calls();
        let mut lanes = SpanLanes::default();
        let placed: Vec<(u64, SpanSide, usize, bool)> = spans::spans_of_calls(&calls)
            .iter()
            .map(|span| {
                let lane = lanes.place_span(span);
                (span.call.number, span.side, lane.number, lane.is_new)
            })
            .collect();
        use SpanSide::{Callee, Caller};
        let expected = [
            (0, Callee, 0, true),
            (1, Caller, 0, true),
            (2, Caller, 1, true),
            (1, Callee, 0, true),
            (2, Callee, 1, true),
            (3, Caller, 0, false),
            (3, Callee, 0, true),
            (4, Caller, 0, true),
        ];
        assert_eq!(placed, expected);
    }

    #[test]
    fn a_lane_is_free_as_soon_as_a_span_ends() {
        let (calls, mut lanes) = (testing::calls(), SpanLanes::default());
        let first = spans::spans_of_calls(&calls)[0];
        let next = ExportedSpan { start: first.end, end: first.end + 1, ..first };
        let at_once = ExportedSpan { start: first.end, end: first.end + 2, ..first };
        assert_eq!([first, next, at_once].map(|span| lanes.place_span(&span).number), [0, 0, 1]);
    }
}
