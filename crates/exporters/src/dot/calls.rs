//! The call hierarchy of a pattern, as in Figure 8 of Project 5, the output of the nesting
//! algorithm. An ellipse has the name of a node and the mean latency of the call with all of its
//! children. An arrow has the mean time from entry into the parent to entry into the child. The
//! first arrow has the number of instances and their total latency.

use std::io;

use analyze::paths::timing::PatternTiming;
use analyze::paths::{CallTree, PathCall, PathPattern};
use message_trace::units::{count_noun, format_duration};

use super::text::{node_shape, quote_lines, write_preamble};
/// Draws the calls of `pattern`.
pub(super) fn draw_calls(pattern: &PathPattern, out: &mut dyn io::Write) -> io::Result<()> {
    let (hops, tree, timing) =
        (&pattern.hops, CallTree::from_hops(&pattern.hops), PatternTiming::from_pattern(pattern));
    write_preamble(out, &format!("pattern #{}: calls", pattern.id))?;
    for (call, PathCall { request, parent, .. }) in tree.calls.iter().enumerate() {
        let hop = &hops[*request];
        if parent.is_none() {
            writeln!(
                out,
                "  r{call} [label={}, shape={}];",
                quote_lines(&[&hop.src]),
                node_shape(hop.src_traced)
            )?;
        }
        let latency = format_duration(call_latency(&tree, &timing, call).max(0.0)).to_string();
        writeln!(
            out,
            "  c{call} [label={}, shape={}];",
            quote_lines(&[&hop.dst, &latency]),
            node_shape(hop.dst_traced)
        )?;
    }
    for (call, PathCall { request, parent, .. }) in tree.calls.iter().enumerate() {
        // The root of the path is entered when it sends.
        let entered = parent
            .map_or(timing.sent[*request], |parent| timing.received[tree.calls[parent].request]);
        let entry = format_duration((timing.received[*request] - entered).max(0.0)).to_string();
        let from = parent.map_or(format!("r{call}"), |parent| format!("c{parent}"));
        let whole = if call == 0 {
            let instances = count_noun(pattern.count.max(0) as u64, "instance", "instances");
            format!("{instances}, {} in total", format_duration(pattern.total_time))
        } else {
            String::new()
        };
        writeln!(out, "  {from} -> c{call} [label={}];", quote_lines(&[&whole, &entry]))?;
    }
    writeln!(out, "}}")
}

/// The latency of a call: from entry into the callee until its response or, without a response,
/// until the last event that the call causes. For an untraced callee it includes the network in
/// both directions.
fn call_latency(tree: &CallTree, timing: &PatternTiming, call: usize) -> f64 {
    let PathCall { request, response, .. } = tree.calls[call];
    match response {
        Some(response) => timing.sent[response] - timing.received[request],
        None => timing.subtree_end[request] - timing.received[request],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::{assert_golden, patterns};

    #[test]
    fn the_calls_of_a_pattern_as_in_figure_8() {
        let mut out = Vec::new();
        draw_calls(&patterns::forked_pattern(), &mut out).unwrap();
        assert_golden!("figure8.dot", &String::from_utf8(out).unwrap());
    }
}
