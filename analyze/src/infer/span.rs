//! A call from the view of one of its two nodes: from its first event there to its last, on the
//! node's own clock. The called node receives the request and sends the response; the calling node
//! sends the request and receives the response.

/// A request or a call, from its first event at the node to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeSpan {
    /// The request was received, or the call was made: nanoseconds, the node's own clock.
    pub(super) begin: i64,
    /// The response was sent, or received; [`OPEN`] if none was seen.
    pub(super) end: i64,
    /// The kind: caller, callee, and port. Requests and calls of one kind are treated as alike.
    pub(super) kind: u32,
}

/// The end of a span that has no known end.
pub(super) const OPEN: i64 = i64::MAX;

/// Counts the spans that begin before an earlier one has ended; each is a beginning and an end, and
/// they are sorted.
pub(super) fn count_overlapping(spans: &[[i64; 2]]) -> usize {
    let mut latest = i64::MIN;
    let is_overlapping = |[begin, end]: &&[i64; 2]| {
        let is_overlapping = *begin < latest;
        latest = latest.max(*end);
        is_overlapping
    };
    spans.iter().filter(is_overlapping).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_within_a_long_one_overlap_it() {
        let nested: Vec<[i64; 2]> =
            std::iter::once([0, 1000]).chain((1..100).map(|at| [10 * at, 10 * at + 2])).collect();
        assert_eq!(count_overlapping(&nested), 99);
        assert_eq!(count_overlapping(&[[0, 10], [10, 20], [25, 30]]), 0);
    }
}
