//! Folded stacks, which `flamegraph.pl`, inferno and Speedscope draw. A line such as
//! `CLIENT;web:80;db:5432 1234` is a chain of calls with the nanoseconds spent in it.
//!
//! Each delay of a pattern is counted once, times the expected number of instances. The time at a
//! node counts for the call that the node works on. The time of a message on the network is the
//! frame `[network]` of its call. Concurrent calls count separately, so the sum is the work of all
//! nodes, not the time that a user waits. When one message causes a node to send several, the time
//! until the last of them counts once.

use std::collections::BTreeMap;
use std::io;

use analyze::paths::timing::{PatternTiming, mean_connect_time};
use analyze::paths::{CallTree, Hop, PathPattern};
use clap::Args;
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{SelectionFlags, read_flags};
use crate::patterns::read_patterns;
use crate::tuning::MAX_PATTERNS;

/// The entry in the registry.
pub(crate) static FOLDED: ExporterSpec = Spec {
    about: EntryHelp {
        name: "folded",
        summary: "Patterns as folded stacks, for flame graphs",
        examples: &["sockcap export folded | flamegraph.pl --countname ns > flames.svg"],
        ..EntryHelp::NOTHING
    },
    flags: SelectionFlags::augment_args,
    entry: ExporterEntry {
        opened_by: "flamegraph.pl, inferno, Speedscope",
        make: |given| {
            let SelectionFlags { only, limit } = read_flags(given)?;
            Ok(Box::new(FoldedExporter { pattern: only.pattern, limit }))
        },
    },
};

/// An exporter of patterns as folded stacks, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoldedExporter {
    /// The number of the only pattern to write. The default is all patterns.
    pub pattern: Option<i64>,
    /// Maximum number of patterns; those with the largest total time are written. The default is
    /// [`MAX_PATTERNS`].
    pub limit: Option<usize>,
}

impl Exporter for FoldedExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Analysis
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let limit = self.limit.unwrap_or(MAX_PATTERNS);
        write_stacks(&read_patterns(source.data, self.pattern, limit)?, output.writer)?;
        output.writer.flush()?;
        Ok(None)
    }
}

/// The frame of the time that the messages of a call spend on the network.
const NETWORK: &str = "[network]";
/// The frame of the time for which a call waits for its connection.
const CONNECTING: &str = "[connecting]";

/// Writes the stacks of all `patterns` together.
fn write_stacks(patterns: &[PathPattern], out: &mut dyn io::Write) -> io::Result<()> {
    let mut stacks: BTreeMap<String, f64> = BTreeMap::new();
    for pattern in patterns {
        add_pattern(pattern, &mut stacks);
    }
    for (stack, time) in stacks {
        let time = time.round();
        if time >= 1.0 {
            writeln!(out, "{stack} {time:.0}")?;
        }
    }
    Ok(())
}

/// Adds the times of a pattern to its stacks, in nanoseconds.
fn add_pattern(pattern: &PathPattern, stacks: &mut BTreeMap<String, f64>) {
    let hops = &pattern.hops;
    let (tree, timing) = (CallTree::from_hops(hops), PatternTiming::from_pattern(pattern));
    let stack = |call: Option<usize>| -> String {
        let chain = call.map(|call| tree.chain_to(call)).unwrap_or_default();
        let root = chain.first().map_or(0, |call| tree.calls[*call].request);
        let frames = chain.iter().map(|call| frame_of_call(&hops[tree.calls[*call].request]));
        std::iter::once(clean_name(&hops[root].src)).chain(frames).collect::<Vec<_>>().join(";")
    };
    let mut count = |stack: String, time: f64| {
        if time.is_finite() && time > 0.0 && pattern.expected.is_finite() {
            *stacks.entry(stack).or_default() += time * pattern.expected.max(0.0);
        }
    };
    for (index, hop) in hops.iter().enumerate() {
        let call = tree.of_hop[index];
        count(
            format!("{};{NETWORK}", stack(Some(call))),
            hop.network.map_or(0.0, |delay| delay.mean),
        );
        // The time of an untraced node cannot be distinguished from the time on the network to and
        // from it.
        count(stack(Some(call)), hop.untraced.map_or(0.0, |delay| delay.mean));
        // The messages that this hop caused, by the time until the first, and from each message to
        // the next.
        let mut sent: Vec<(f64, usize)> = timing.children[index]
            .iter()
            .filter_map(|child| {
                Some((hops[*child].node?.mean + mean_connect_time(&hops[*child]), *child))
            })
            .collect();
        sent.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut until = 0.0;
        for (time, child) in sent {
            let of = tree.of_hop[child];
            // A node that sends a request works for the parent call; one that sends a response
            // works for the call that it answers.
            let is_request = tree.calls[of].request == child;
            let works_for = if is_request { tree.calls[of].parent } else { Some(of) };
            // The wait for a connection is the last part of the time before a message.
            let connecting = mean_connect_time(&hops[child]).min(time - until).max(0.0);
            count(stack(works_for), time - until - connecting);
            count(format!("{};{CONNECTING}", stack(Some(of))), connecting);
            until = time.max(until);
        }
    }
}

/// The frame of a call: the name of the callee, with its port.
fn frame_of_call(request: &Hop) -> String {
    let port = match request.dst_port.as_str() {
        "" | "*" => String::new(),
        port if port.chars().all(|c| c.is_ascii_digit()) => format!(":{port}"),
        port => format!(" {port}"),
    };
    clean_name(&format!("{}{port}", request.dst))
}

/// Replaces the characters of a name that would end a frame (a semicolon) or a stack (a line end).
fn clean_name(name: &str) -> String {
    let clean = |c: char| match c {
        ';' => ':',
        c if c.is_control() || c.is_whitespace() => ' ',
        c => c,
    };
    let name: String = name.chars().map(clean).collect();
    if name.trim().is_empty() { "?".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::testing::HOSTILE;
    use proptest::prelude::*;
    use test_support::{assert_golden, patterns};

    fn folded(patterns: &[PathPattern]) -> String {
        let mut out = Vec::new();
        write_stacks(patterns, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_stacks_of_some_patterns() {
        assert_golden!(
            "folded.txt",
            &folded(&[
                patterns::cached_pattern(),
                patterns::forked_pattern(),
                patterns::lookup_pattern()
            ]),
        );
    }

    #[test]
    fn connecting_is_a_frame_of_the_call() {
        let pattern = patterns::connecting_pattern();
        let text = folded(std::slice::from_ref(&pattern));
        let line = "CLIENT;nginx:8080;app.py:9000;redis-server:6379;[connecting] ";
        let time = text.lines().find_map(|text| text.strip_prefix(line)).unwrap();
        assert!(
            (time.parse::<f64>().unwrap() - 10.0 * patterns::MS * pattern.expected).abs() < 2.0,
            "{text}"
        );
        let plain = folded(&[patterns::cached_pattern()]);
        let without: Vec<&str> = text.lines().filter(|text| !text.starts_with(line)).collect();
        assert_eq!(without, plain.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_chain_is_as_long_as_its_delays() {
        let pattern = patterns::cached_pattern();
        let delays =
            pattern.hops.iter().flat_map(|hop| [hop.node, hop.network, hop.untraced]).flatten();
        let expected = delays.map(|delay| delay.mean).sum::<f64>() * pattern.expected;
        let total: f64 = folded(&[pattern])
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
            .sum();
        assert!((total - expected).abs() < 10.0, "{total} {expected}");
    }

    #[test]
    fn messages_caused_by_one_message_are_not_counted_twice() {
        let text = folded(&[patterns::forked_pattern()]);
        let gateway =
            text.lines().find_map(|line| line.strip_prefix("CLIENT;gateway:8000 ")).unwrap();
        // 0.72 ms until the second request, then 2.9 ms until the last message.
        let expected = (0.72 + 2.9) * patterns::MS * patterns::forked_pattern().expected;
        assert!((gateway.parse::<f64>().unwrap() - expected).abs() < 2.0, "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_name_makes_a_line_or_a_frame(name in any::<String>()) {
            for name in [name.as_str(), HOSTILE] {
                let (mut pattern, plain) = (patterns::cached_pattern(), folded(&[patterns::cached_pattern()]));
                for hop in &mut pattern.hops {
                    for end in [&mut hop.src, &mut hop.dst].into_iter().filter(|end| *end == "redis-server") {
                        *end = name.to_owned();
                    }
                }
                let shape = |text: &str| {
                    let mut lines: Vec<(usize, u64)> = text.lines().map(|line| {
                        let (stack, time) = line.rsplit_once(' ').unwrap();
                        (stack.split(';').count(), time.parse().unwrap())
                    }).collect();
                    lines.sort_unstable();
                    lines
                };
                prop_assert_eq!(shape(&folded(&[pattern])), shape(&plain));
            }
        }
    }
}
