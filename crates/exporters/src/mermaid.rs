//! A pattern as a sequence diagram of Mermaid, which GitHub, GitLab and many wikis draw. The
//! messages are in the order of their mean times of sending, with their delays. A response is a
//! dashed line; a request without a response has an open arrow.

use std::io;

use analyze::paths::timing::{PatternTiming, is_noticeable};
use analyze::paths::{CallTree, Hop, PathPattern};
use clap::Args;
use message_trace::TransportProtocol;
use message_trace::units::{count_noun, format_duration, format_expected, format_whole_percent};
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{PatternFlag, read_flags};
use crate::patterns::one_pattern;

/// The entry in the registry.
pub(crate) static MERMAID: ExporterSpec = Spec {
    about: EntryHelp {
        name: "mermaid",
        summary: "A pattern as a sequence diagram",
        examples: &["sockcap export mermaid --pattern 0"],
        ..EntryHelp::NOTHING
    },
    flags: PatternFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "GitHub, GitLab, wikis",
        make: |given| {
            let PatternFlag { pattern } = read_flags(given)?;
            Ok(Box::new(MermaidExporter { pattern }))
        },
    },
};

/// An exporter of a pattern as a sequence diagram, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MermaidExporter {
    /// The number of the pattern. The default is 0.
    pub pattern: Option<i64>,
}

impl Exporter for MermaidExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Analysis
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        for pattern in one_pattern(source.data, self.pattern.unwrap_or_default())? {
            write_diagram(&pattern, output.writer)?;
        }
        output.writer.flush()?;
        Ok(None)
    }
}

/// Writes the diagram of `pattern`.
fn write_diagram(pattern: &PathPattern, out: &mut dyn io::Write) -> io::Result<()> {
    let (hops, tree, timing) =
        (&pattern.hops, CallTree::from_hops(&pattern.hops), PatternTiming::from_pattern(pattern));
    let mut order: Vec<usize> = (0..hops.len()).collect();
    order.sort_by(|one, other| timing.sent[*one].total_cmp(&timing.sent[*other]));
    let mut names: Vec<&str> = Vec::new();
    for name in order.iter().flat_map(|hop| [&hops[*hop].src, &hops[*hop].dst]) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or_default();
    writeln!(out, "sequenceDiagram")?;
    for (place, name) in names.iter().enumerate() {
        writeln!(out, "    participant n{place} as {}", escape_text(name))?;
    }
    if !names.is_empty() {
        let instances = count_noun(pattern.count.max(0) as u64, "instance", "instances");
        let title = format!(
            "pattern #{}: {instances}, {} expected, mean {}, p99 {}",
            pattern.id,
            format_expected(pattern.expected),
            format_duration(pattern.duration.mean),
            format_duration(pattern.duration.p99),
        );
        let last = names.len() - 1;
        let over = if last == 0 { "n0".to_owned() } else { format!("n0,n{last}") };
        writeln!(out, "    Note over {over}: {}", escape_text(&title))?;
    }
    for index in order {
        let hop = &hops[index];
        let call = tree.calls[tree.of_hop[index]];
        let arrow = match (call.request == index, call.response) {
            (false, _) => "-->>",
            (true, Some(_)) => "->>",
            (true, None) => "-)",
        };
        let label = message_label(hop, call.request == index, is_noticeable(hop, pattern));
        writeln!(
            out,
            "    n{}{arrow}n{}: {}",
            place(&hop.src),
            place(&hop.dst),
            escape_text(&label)
        )?;
    }
    Ok(())
}

/// The label of a message: its destination port and its delays, with the wait for its connection if
/// `connects` is set.
fn message_label(hop: &Hop, is_request: bool, connects: bool) -> String {
    let protocol =
        if hop.protocol == TransportProtocol::Other { "request" } else { hop.protocol.name() };
    let mut parts = vec![match hop.dst_port.as_str() {
        _ if !is_request => "answer".to_owned(),
        "" | "*" => protocol.to_owned(),
        port => format!("{protocol} {port}"),
    }];
    if let Some(node) = hop.node {
        parts.push(format!("after {}", format_duration(node.mean)));
    }
    if let Some(connect) = hop.connect.filter(|_| connects) {
        let (mean, share) =
            (format_duration(connect.delay.mean), format_whole_percent(connect.share));
        parts.push(format!("connecting {mean} in {share}"));
    }
    // A step within a node crosses no network.
    let is_within = hop.src == hop.dst;
    if let Some(network) = hop.network.filter(|network| !is_within || network.mean != 0.0) {
        parts.push(format!("{} on the network", format_duration(network.mean)));
    }
    if let Some(untraced) = hop.untraced {
        parts.push(format!("{} there and back", format_duration(untraced.mean)));
    }
    parts.join(", ")
}

/// Escapes `text`: every character that is special to Mermaid becomes its number between `#` and
/// `;`.
fn escape_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            c if c.is_control() || c == '\u{2028}' || c == '\u{2029}' => plain.push(' '),
            ' ' | '-' | '_' | '.' | ',' | '/' | '(' | ')' => plain.push(c),
            // A leading colon is special: Mermaid interprets "wrap" after it.
            ':' if !plain.is_empty() => plain.push(c),
            c if c.is_ascii_punctuation() => plain.push_str(&format!("#{};", c as u32)),
            c => plain.push(c),
        }
    }
    if plain.trim().is_empty() { "?".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::testing::HOSTILE;
    use proptest::prelude::*;
    use test_support::{assert_golden, patterns};

    fn mermaid(pattern: &PathPattern) -> String {
        let mut out = Vec::new();
        write_diagram(pattern, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_diagrams_of_some_patterns() {
        let all: Vec<String> =
            [patterns::forked_pattern(), patterns::lookup_pattern()].iter().map(mermaid).collect();
        assert_golden!("mermaid.txt", &all.join("\n"));
    }

    #[test]
    fn a_step_within_a_node_crosses_no_network() {
        let mut pattern = patterns::lookup_pattern();
        let hop = &mut pattern.hops[1];
        (hop.dst, hop.dst_port) = (hop.src.clone(), "Parse".to_owned());
        assert!(mermaid(&pattern).contains("tcp Parse, after 98.0 µs, 46.0 µs on the network"));
        pattern.hops[1].network = pattern.hops[1].network.map(|_| Default::default());
        assert!(mermaid(&pattern).contains("tcp Parse, after 98.0 µs\n"));
    }

    #[test]
    fn a_text_does_not_begin_with_a_colon() {
        assert_eq!([":wrap:80", "web:80"].map(escape_text), ["#58;wrap:80", "web:80"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_name_makes_a_line_or_a_sign(name in any::<String>()) {
            for name in [name.as_str(), HOSTILE] {
                let mut pattern = patterns::cached_pattern();
                pattern.hops[2].dst_port = name.to_owned();
                for hop in &mut pattern.hops {
                    for end in [&mut hop.src, &mut hop.dst].into_iter().filter(|end| *end == "redis-server") {
                        *end = name.to_owned();
                    }
                }
                let (text, plain) = (mermaid(&pattern), mermaid(&patterns::cached_pattern()));
                prop_assert_eq!(text.lines().count(), plain.lines().count());
                for line in text.lines() {
                    // Without the escaped characters, no special character remains.
                    let mut rest = line.to_owned();
                    while let Some(at) = rest.find('#') {
                        let end = at + rest[at..].find(';').unwrap();
                        prop_assert!(rest[at + 1..end].chars().all(|c| c.is_ascii_digit()), "{}", line);
                        rest.replace_range(at..=end, "");
                    }
                    prop_assert!(!rest.contains([';', '%', '{', '"', '\\', '\u{7}']), "{}", line);
                }
            }
        }
    }
}
