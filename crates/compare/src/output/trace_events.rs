//! A typical request of each side of a mutation as trace events, which Perfetto and Chrome open:
//! one process for each side, one thread for each node.

use std::io::{self, Write};

use serde_json::json;

use super::category_tree::CategoryTree;
use super::comparison_report::ComparisonReport;
use super::described::DescribedMutation;
use super::timeline::layout_spans;

/// Writes the first `limit` mutations, one after the other.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_trace_events(
    answer: &ComparisonReport,
    limit: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut events = Vec::new();
    let mut begin = 0.0;
    for (number, mutation) in answer.mutations.iter().take(limit).enumerate() {
        let sides = mutation_sides(mutation);
        let mut longest = 0.0_f64;
        for (side, (title, tree, period)) in sides.into_iter().enumerate() {
            let process = 2 * number + side + 1;
            let name = format!("#{} {title}", number + 1);
            events.push(json!({"ph": "M", "pid": process, "name": "process_name",
                "args": {"name": name}}));
            let mut nodes: Vec<&str> = tree.places.iter().map(|of| of.node.as_str()).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for (thread, node) in nodes.iter().enumerate() {
                events.push(json!({"ph": "M", "pid": process, "tid": thread + 1,
                    "name": "thread_name", "args": {"name": node}}));
            }
            for (place, span) in tree.places.iter().zip(layout_spans(tree, period)) {
                let thread = nodes.binary_search(&place.node.as_str()).map_or(0, |at| at + 1);
                longest = longest.max(span.end);
                events.push(json!({"ph": "X", "pid": process, "tid": thread,
                    "name": if place.operation.is_empty() { &place.node } else { &place.operation },
                    "ts": (begin + span.begin) / 1e3, "dur": (span.end - span.begin) / 1e3,
                    "args": {"own_ns": place.own_ns[period], "network_ns": place.network_ns[period],
                        "failed": place.failed}}));
            }
        }
        begin += 1.25 * longest;
    }
    serde_json::to_writer(&mut *out, &json!({"displayTimeUnit": "ns", "traceEvents": events}))?;
    writeln!(out)
}

/// The two sides of a mutation, each with title, category and period.
pub(super) fn mutation_sides(
    mutation: &DescribedMutation,
) -> [(&'static str, &CategoryTree, usize); 2] {
    match mutation.originators.first() {
        // The originator in the first period, or in the second if it did not occur in the first.
        Some(originator) => {
            let period = usize::from(originator.tree.counts[0] <= 0.0);
            [("originator", &originator.tree, period), ("mutation", &mutation.tree, 1)]
        }
        None => {
            let period = usize::from(mutation.tree.counts[0] <= 0.0);
            [("before", &mutation.tree, period), ("after", &mutation.tree, 1)]
        }
    }
}
