//! Project 5's Figure 8, the output of the nesting algorithm: the call hierarchy of a pattern. An
//! ellipse has a node's name and the mean latency of all that goes on in the node and its children;
//! an arrow has the mean latency between entry into the parent and entry into the child; the number
//! of instances and their total latency stand at the first arrow.

use std::io;

use analyze::paths::PathPattern;

use super::graph::{begin, shape, text};
use crate::patterns::call_tree::{CallTree, PatternCall};
use analyze::paths::timing::Timing;
use message_trace::units::{duration, plural};

/// Draws the calls of `pattern`.
pub(super) fn draw(pattern: &PathPattern, out: &mut dyn io::Write) -> io::Result<()> {
    let (hops, tree, timing) = (&pattern.hops, CallTree::of(&pattern.hops), Timing::of(pattern));
    begin(out, &format!("pattern #{}: calls", pattern.id))?;
    for (call, PatternCall { request, parent, .. }) in tree.calls.iter().enumerate() {
        let hop = &hops[*request];
        if parent.is_none() {
            writeln!(
                out,
                "  r{call} [label={}, shape={}];",
                text(&[&hop.src]),
                shape(hop.src_traced)
            )?;
        }
        let latency = duration(latency(&tree, &timing, call).max(0.0)).to_string();
        writeln!(
            out,
            "  c{call} [label={}, shape={}];",
            text(&[&hop.dst, &latency]),
            shape(hop.dst_traced)
        )?;
    }
    for (call, PatternCall { request, parent, .. }) in tree.calls.iter().enumerate() {
        // The root enters the path when it sends.
        let entered = parent
            .map_or(timing.sent[*request], |parent| timing.received[tree.calls[parent].request]);
        let entry = duration((timing.received[*request] - entered).max(0.0)).to_string();
        let from = parent.map_or(format!("r{call}"), |parent| format!("c{parent}"));
        let whole = if call == 0 {
            let instances = plural(pattern.count.max(0) as u64, "instance", "instances");
            format!("{instances}, {} in total", duration(pattern.total_time))
        } else {
            String::new()
        };
        writeln!(out, "  {from} -> c{call} [label={}];", text(&[&whole, &entry]))?;
    }
    writeln!(out, "}}")
}

/// From entry into the callee until it answers or, where it does not, until the last that comes of
/// it; of an untraced callee with the way there and back.
fn latency(tree: &CallTree, timing: &Timing, call: usize) -> f64 {
    let PatternCall { request, response, .. } = tree.calls[call];
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
        draw(&patterns::forked(), &mut out).unwrap();
        assert_golden!("figure8.dot", &String::from_utf8(out).unwrap());
    }
}
