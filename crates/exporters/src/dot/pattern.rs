//! A pattern message by message. Each visit of a node is a vertex. Each message is an edge, with
//! its time on the network and the time that the sender took before it. The delay that matters most
//! is bold.

use std::io;

use analyze::paths::timing::{DelayKind, PatternTiming, is_noticeable, parent_hop};
use analyze::paths::{Hop, PathPattern};
use message_trace::TransportProtocol;
use message_trace::stats::DelaySummary;
use message_trace::units::{
    FormattedDuration, count_noun, format_duration, format_expected, format_whole_percent,
};

use super::text::{node_shape, quote_lines, write_preamble};

/// The style of the message with the most critical delay.
const CRITICAL_STYLE: &str = ", style=bold, color=\"#b00020\", fontcolor=\"#b00020\"";

/// Draws the messages of `pattern`.
pub(super) fn draw_pattern(pattern: &PathPattern, out: &mut dyn io::Write) -> io::Result<()> {
    let timing = PatternTiming::from_pattern(pattern);
    write_preamble(out, &pattern_title(pattern))?;
    for root in &timing.roots {
        let hop = &pattern.hops[*root];
        writeln!(
            out,
            "  r{root} [label={}, shape={}];",
            quote_lines(&[&hop.src]),
            node_shape(hop.src_traced)
        )?;
    }
    for (index, hop) in pattern.hops.iter().enumerate() {
        let (label, shape) = (quote_lines(&[&hop.dst]), node_shape(hop.dst_traced));
        writeln!(out, "  n{index} [label={label}, shape={shape}];")?;
    }
    for (index, hop) in pattern.hops.iter().enumerate() {
        let from =
            parent_hop(hop, index).map_or(format!("r{index}"), |parent| format!("n{parent}"));
        let critical = timing.critical.filter(|critical| critical.hop == index);
        let part = critical.map(|critical| critical.kind);
        let label = hop_label(hop, part, is_noticeable(hop, pattern));
        let style = if critical.is_some() { CRITICAL_STYLE } else { "" };
        writeln!(out, "  {from} -> n{index} [label={label}{style}];")?;
    }
    writeln!(out, "}}")
}

/// The figures of the whole pattern.
fn pattern_title(pattern: &PathPattern) -> String {
    format!(
        "pattern #{}: {}, {} expected, mean {}, p99 {}",
        pattern.id,
        count_noun(pattern.count.max(0) as u64, "instance", "instances"),
        format_expected(pattern.expected),
        format_duration(pattern.duration.mean),
        format_duration(pattern.duration.p99)
    )
}

/// The label of a message: its destination port, its delays (with the wait for the connection if
/// `connects` is set) and which delay is the critical one, if any.
fn hop_label(hop: &Hop, critical: Option<DelayKind>, connects: bool) -> String {
    let protocol = if hop.protocol == TransportProtocol::Other { "" } else { hop.protocol.name() };
    let port = match hop.dst_port.as_str() {
        "" | "*" => String::new(),
        port => format!("{protocol} {port}"),
    };
    let delay = |delay: Option<DelaySummary>, text: &dyn Fn(FormattedDuration) -> String| {
        delay.map_or(String::new(), |delay| text(format_duration(delay.mean)))
    };
    let node = delay(hop.node, &|time| format!("after {time}"));
    // A step within a node crosses no network.
    let is_within = hop.src == hop.dst;
    let network = hop.network.filter(|network| !is_within || network.mean != 0.0);
    let network = delay(network, &|time| format!("{time} on the network"));
    let untraced = delay(hop.untraced, &|time| format!("{time} there and back"));
    let connect = hop.connect.filter(|_| connects).map_or(String::new(), |connect| {
        let (time, share) =
            (format_duration(connect.delay.mean), format_whole_percent(connect.share));
        format!("connecting {time} in {share}")
    });
    let longest = match critical {
        Some(DelayKind::Node) => "most of the time: at the sender",
        Some(DelayKind::Network) => "most of the time: on the network",
        Some(DelayKind::Untraced) => "most of the time: there",
        Some(DelayKind::Connect) => "most of the time: connecting",
        None => "",
    };
    quote_lines(&[port.trim(), &node, &connect, &network, &untraced, longest])
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::{assert_golden, patterns};

    #[test]
    fn a_step_within_a_node_crosses_no_network() {
        let mut hop = patterns::lookup_pattern().hops[1].clone();
        hop.src.clone_from(&hop.dst);
        assert!(hop_label(&hop, None, false).contains("on the network"));
        hop.network = hop.network.map(|_| Default::default());
        assert!(!hop_label(&hop, None, false).contains("on the network"));
    }

    #[test]
    fn the_graph_of_a_fork_and_of_names_that_would_be_markup() {
        let mut out = Vec::new();
        draw_pattern(&patterns::forked_pattern(), &mut out).unwrap();
        assert_golden!("pattern.dot", &String::from_utf8(out).unwrap());
        let mut out = Vec::new();
        draw_pattern(&patterns::hostile_pattern(), &mut out).unwrap();
        assert_golden!("hostile.dot", &String::from_utf8(out).unwrap());
    }
}
