//! A pattern message by message: each visit of a node is a vertex, each message an edge, with its
//! time on the way and how long the sender took before it. The delay that matters most is bold.

use std::io;

use analyze::paths::PathPattern;
use message_trace::Protocol;

use super::graph::{begin, shape, text};
use analyze::paths::timing::{Part, Timing, is_noticeable};
use message_trace::units::{duration, expected, plural, whole_percent};

/// Draws the messages of `pattern`.
pub(super) fn draw(pattern: &PathPattern, out: &mut dyn io::Write) -> io::Result<()> {
    let timing = Timing::of(pattern);
    let label = format!(
        "pattern #{}: {}, {} expected, mean {}, p99 {}",
        pattern.id,
        plural(pattern.count.max(0) as u64, "instance", "instances"),
        expected(pattern.expected),
        duration(pattern.duration.mean),
        duration(pattern.duration.p99)
    );
    begin(out, &label)?;
    for root in &timing.roots {
        let hop = &pattern.hops[*root];
        writeln!(out, "  r{root} [label={}, shape={}];", text(&[&hop.src]), shape(hop.src_traced))?;
    }
    for (index, hop) in pattern.hops.iter().enumerate() {
        writeln!(
            out,
            "  n{index} [label={}, shape={}];",
            text(&[&hop.dst]),
            shape(hop.dst_traced)
        )?;
    }
    for (index, hop) in pattern.hops.iter().enumerate() {
        let from = analyze::paths::timing::parent(hop, index)
            .map_or(format!("r{index}"), |parent| format!("n{parent}"));
        let port = match hop.dst_port.as_str() {
            "" | "*" => String::new(),
            port => {
                format!(
                    "{} {port}",
                    if hop.protocol == Protocol::Other { "" } else { hop.protocol.name() }
                )
            }
        };
        let node = hop.node.map_or(String::new(), |node| format!("after {}", duration(node.mean)));
        let network = hop
            .network
            .map_or(String::new(), |network| format!("{} on the way", duration(network.mean)));
        let untraced = hop.untraced.map_or(String::new(), |untraced| {
            format!("{} there and back", duration(untraced.mean))
        });
        let connect =
            hop.connect.filter(|_| is_noticeable(hop, pattern)).map_or(String::new(), |connect| {
                format!(
                    "connecting {} in {}",
                    duration(connect.delay.mean),
                    whole_percent(connect.share)
                )
            });
        let critical =
            timing.critical.filter(|critical| critical.hop == index).map(|critical| critical.part);
        let said = match critical {
            Some(Part::Node) => "most of the time: at the sender",
            Some(Part::Network) => "most of the time: on the way",
            Some(Part::Untraced) => "most of the time: there",
            Some(Part::Connect) => "most of the time: connecting",
            None => "",
        };
        let style = if critical.is_some() {
            ", style=bold, color=\"#b00020\", fontcolor=\"#b00020\""
        } else {
            ""
        };
        let label = text(&[port.trim(), &node, &connect, &network, &untraced, said]);
        writeln!(out, "  {from} -> n{index} [label={label}{style}];")?;
    }
    writeln!(out, "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::{assert_golden, patterns};

    #[test]
    fn the_graph_of_a_fork_and_of_names_that_would_be_markup() {
        let mut out = Vec::new();
        draw(&patterns::forked(), &mut out).unwrap();
        assert_golden!("pattern.dot", &String::from_utf8(out).unwrap());
        let mut out = Vec::new();
        draw(&patterns::hostile(), &mut out).unwrap();
        assert_golden!("hostile.dot", &String::from_utf8(out).unwrap());
    }
}
