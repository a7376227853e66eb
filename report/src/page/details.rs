//! The details of one pattern: its hops with the distributions of their delays, the lines of its
//! tree, its instances over time, and instances to step through.

use analyze::paths::PathPattern;
use analyze::paths::timing::{DelayKind, PatternTiming, parent_hop};
use message_trace::stats::DelaySummary;
use serde::Serialize;

use super::histogram::LogHistogram;
use super::names::PageNames;
use super::number::ShortNumber;
use super::observed_instances::ObservedInstances;
use super::sample::PageInstance;
use crate::hop_endpoints::HopEndpoints;
use crate::label::{self, HopLabel};
use crate::tree::{self, ChainMark, TreeGuide};
use crate::tuning::MAX_HOPS;
/// The details in their JSON form. Times are in nanoseconds; hops are numbered from the root.
#[derive(Debug, Serialize)]
pub(super) struct PatternDetails {
    id: i64,
    hops: HopColumns,
    /// The number of omitted hops.
    omitted: usize,
    critical: Option<CriticalHop>,
    tree: Vec<PageTreeLine>,
    duration: DelayDetails,
    delays: Vec<HopDelay>,
    /// A flat list with three numbers for each slice: its number, the expected paths, and their
    /// mean duration.
    series: Vec<ShortNumber>,
    /// Some of the instances, in the order of their numbers.
    instances: Vec<PageInstance>,
}

/// The hops, one list for each column.
#[derive(Debug, Default, Serialize)]
struct HopColumns {
    /// The hop that caused this one; -1 for the root.
    parent: Vec<i64>,
    src: Vec<u32>,
    dst: Vec<u32>,
    /// Port, protocol, and operation, as they follow the receiver's name.
    port: Vec<u32>,
    /// The traced ends: 1 for the sender plus 2 for the receiver.
    traced: Vec<u8>,
    bytes: Vec<ShortNumber>,
    /// The mean times of sending and receipt, since the sending of the root.
    sent: Vec<ShortNumber>,
    received: Vec<ShortNumber>,
    /// Share of failed calls among the responses with a known outcome; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Option<ShortNumber>>,
}

#[derive(Debug, Serialize)]
struct CriticalHop {
    hop: usize,
    part: &'static str,
}

/// A line of the tree: the hop, the characters before it, and the number of calls around it.
#[derive(Debug, Serialize)]
struct PageTreeLine(usize, String, usize);

#[derive(Debug, Serialize)]
struct HopDelay {
    hop: usize,
    part: &'static str,
    /// The share of the instances that have a delay at this hop; left out if all instances have
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<ShortNumber>,
    #[serde(flatten)]
    delay: DelayDetails,
}

/// A delay: its mean and percentiles, and its distribution.
#[derive(Debug, Serialize)]
struct DelayDetails {
    mean: ShortNumber,
    p50: ShortNumber,
    p99: ShortNumber,
    histogram: LogHistogram,
}

impl DelayDetails {
    fn from_summary(summary: &DelaySummary, histogram: LogHistogram) -> DelayDetails {
        DelayDetails {
            mean: ShortNumber::from_whole(summary.mean),
            p50: ShortNumber::from_whole(summary.p50),
            p99: ShortNumber::from_whole(summary.p99),
            histogram,
        }
    }
}

impl PatternDetails {
    /// The details of `pattern`, with the observations of its instances.
    pub(super) fn from_pattern(
        pattern: &PathPattern,
        mut observed: ObservedInstances,
        names: &mut PageNames,
    ) -> PatternDetails {
        let timing = PatternTiming::from_pattern(pattern);
        let shown = pattern.hops.len().min(MAX_HOPS);
        let lines =
            tree::tree_lines(&pattern.hops, &timing).into_iter().filter(|line| line.hop < shown);
        let mut hops = HopColumns::default();
        let mut delays = Vec::new();
        for (index, hop) in pattern.hops.iter().take(shown).enumerate() {
            let (ends, label) = (HopEndpoints::from(hop), HopLabel::from_ends(hop, label::UNICODE));
            hops.parent.push(parent_hop(hop, index).map_or(-1, |parent| parent as i64));
            hops.src.push(names.intern(ends.src));
            hops.dst.push(names.intern(ends.dst));
            hops.port.push(names.intern(&label.receiver_suffix()));
            hops.traced.push(u8::from(ends.src_traced) | u8::from(ends.dst_traced) << 1);
            hops.bytes.push(ShortNumber::from_whole(hop.bytes));
            hops.sent.push(ShortNumber::from_whole(timing.sent[index]));
            hops.received.push(ShortNumber::from_whole(timing.received[index]));
            let parts = [
                (DelayKind::Node, &hop.node),
                (DelayKind::Network, &hop.network),
                (DelayKind::Untraced, &hop.untraced),
            ];
            for (part, summary) in parts {
                if let Some(summary) = summary {
                    let delay =
                        DelayDetails::from_summary(summary, observed.take_delay(index, part));
                    delays.push(HopDelay { hop: index, part: part_name(part), share: None, delay });
                }
            }
            hops.errors
                .push(hop.outcomes.map(|outcomes| ShortNumber::from_value(outcomes.error_share)));
            if let Some(connect) = hop.connect {
                let delay = DelayDetails::from_summary(
                    &connect.delay,
                    observed.take_delay(index, DelayKind::Connect),
                );
                let share = Some(ShortNumber::from_value(connect.share));
                delays.push(HopDelay {
                    hop: index,
                    part: part_name(DelayKind::Connect),
                    share,
                    delay,
                });
            }
        }
        if hops.errors.iter().all(Option::is_none) {
            hops.errors.clear();
        }
        let critical = timing.critical.filter(|critical| critical.hop < shown);
        PatternDetails {
            id: pattern.id,
            hops,
            omitted: pattern.hops.len() - shown,
            critical: critical
                .map(|critical| CriticalHop { hop: critical.hop, part: part_name(critical.kind) }),
            tree: lines
                .map(|line| {
                    PageTreeLine(line.hop, guide_characters(&line.guides, line.mark), line.calls)
                })
                .collect(),
            duration: DelayDetails::from_summary(
                &pattern.duration,
                std::mem::take(&mut observed.duration),
            ),
            delays,
            series: observed.series.to_columns(),
            instances: observed.sample.into_instances(),
        }
    }
}

/// The name of a part in JSON.
fn part_name(part: DelayKind) -> &'static str {
    match part {
        DelayKind::Node => "node",
        DelayKind::Network => "network",
        DelayKind::Untraced => "untraced",
        DelayKind::Connect => "connect",
    }
}

/// The characters before a hop: one for each chain around it, and one for its own chain.
fn guide_characters(guides: &[TreeGuide], mark: ChainMark) -> String {
    let guide = |guide: &TreeGuide| match guide {
        TreeGuide::Through => '│',
        TreeGuide::Blank => ' ',
        TreeGuide::Branch => '├',
        TreeGuide::LastBranch => '└',
    };
    let mark = match mark {
        ChainMark::First => '●',
        ChainMark::Middle => '│',
        ChainMark::Last => '╵',
        ChainMark::Only => '•',
    };
    guides.iter().map(guide).chain([mark]).collect()
}
