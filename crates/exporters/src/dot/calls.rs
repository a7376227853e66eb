//! The call hierarchy of a pattern, as in Figure 8 of Project 5, the output of the nesting
//! algorithm. An ellipse has the name of a node and the mean latency of the call with all of its
//! children. An arrow has the mean time from entry into the parent to entry into the child. The
//! first arrow has the number of instances and their total latency.

use std::io;

use analyze::paths::timing::Timing;
use analyze::paths::{CallTree, PathCall, PathPattern};
use message_trace::units::{duration, plural};

use super::text::{begin, shape, text};
/// Draws the calls of `pattern`.
pub(super) fn draw(pattern: &PathPattern, out: &mut dyn io::Write) -> io::Result<()> {
    let (hops, tree, timing) = (&pattern.hops, CallTree::of(&pattern.hops), Timing::of(pattern));
    begin(out, &format!("pattern #{}: calls", pattern.id))?;
    for (call, PathCall { request, parent, .. }) in tree.calls.iter().enumerate() {
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
    for (call, PathCall { request, parent, .. }) in tree.calls.iter().enumerate() {
        // The root of the path enters it when it sends.
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

/// The latency of a call: from entry into the callee until its response or, without one, until the
/// last event that the call causes. The latency of an untraced callee has the network on both ways
/// in it.
fn latency(tree: &CallTree, timing: &Timing, call: usize) -> f64 {
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
        draw(&patterns::forked(), &mut out).unwrap();
        assert_golden!("figure8.dot", &String::from_utf8(out).unwrap());
    }
}
