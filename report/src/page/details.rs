//! The details of one pattern: its hops with the distributions of their delays, the lines of its
//! tree, its instances over time, and instances to step through.

use analyze::paths::PathPattern;
use analyze::paths::timing::{Part, Timing, parent};
use message_trace::stats::Summary;
use serde::Serialize;

use super::histogram::Histogram;
use super::names::Names;
use super::number::Number;
use super::observed::Observed;
use super::sample::PageInstance;
use crate::ends::Ends;
use crate::label::{self, Label};
use crate::tree::{self, Guide, Mark};
use crate::tuning::MAX_HOPS;
/// The details as JSON has them. Times are in nanoseconds; hops are numbered from the root.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    id: i64,
    hops: HopColumns,
    /// The number of hops that are left out.
    omitted: usize,
    critical: Option<Critical>,
    tree: Vec<TreeLine>,
    duration: Delay,
    delays: Vec<HopDelay>,
    /// A flat list with three numbers for each slice: its number, the expected paths, and their
    /// mean duration.
    series: Vec<Number>,
    /// Some of the instances, in the order of their numbers.
    instances: Vec<PageInstance>,
}

/// The hops, a list for each column.
#[derive(Debug, Default, Serialize)]
struct HopColumns {
    /// The hop that caused this one; -1 for the root.
    parent: Vec<i64>,
    src: Vec<u32>,
    dst: Vec<u32>,
    /// Port, protocol, and what is asked for, as they follow the receiver's name.
    port: Vec<u32>,
    /// The ends that were traced: 1 for the sender plus 2 for the receiver.
    traced: Vec<u8>,
    bytes: Vec<Number>,
    /// The mean times of sending and receipt, since the sending of the root.
    sent: Vec<Number>,
    received: Vec<Number>,
    /// Share of the calls that failed, of answers that say so; left out where none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Option<Number>>,
}

#[derive(Debug, Serialize)]
struct Critical {
    hop: usize,
    part: &'static str,
}

/// A line of the tree: the hop, the characters before it, and the number of calls around it.
#[derive(Debug, Serialize)]
struct TreeLine(usize, String, usize);

#[derive(Debug, Serialize)]
struct HopDelay {
    hop: usize,
    part: &'static str,
    /// The part of the instances that have such a delay; left out if all have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<Number>,
    #[serde(flatten)]
    delay: Delay,
}

/// A delay: its mean and percentiles, and its distribution.
#[derive(Debug, Serialize)]
struct Delay {
    mean: Number,
    p50: Number,
    p99: Number,
    histogram: Histogram,
}

impl Delay {
    fn of(summary: &Summary, histogram: Histogram) -> Delay {
        Delay {
            mean: Number::whole(summary.mean),
            p50: Number::whole(summary.p50),
            p99: Number::whole(summary.p99),
            histogram,
        }
    }
}

impl Details {
    /// The details of `pattern`, with what was observed of its instances.
    pub(super) fn of(pattern: &PathPattern, mut observed: Observed, names: &mut Names) -> Details {
        let timing = Timing::of(pattern);
        let shown = pattern.hops.len().min(MAX_HOPS);
        let lines = tree::lines(&pattern.hops, &timing).into_iter().filter(|line| line.hop < shown);
        let mut hops = HopColumns::default();
        let mut delays = Vec::new();
        for (index, hop) in pattern.hops.iter().take(shown).enumerate() {
            let (ends, label) = (Ends::from(hop), Label::of(hop, label::UNICODE));
            hops.parent.push(parent(hop, index).map_or(-1, |parent| parent as i64));
            hops.src.push(names.number(ends.src));
            hops.dst.push(names.number(ends.dst));
            hops.port.push(names.number(&label.behind()));
            hops.traced.push(u8::from(ends.src_traced) | u8::from(ends.dst_traced) << 1);
            hops.bytes.push(Number::whole(hop.bytes));
            hops.sent.push(Number::whole(timing.sent[index]));
            hops.received.push(Number::whole(timing.received[index]));
            let parts = [
                (Part::Node, &hop.node),
                (Part::Network, &hop.network),
                (Part::Untraced, &hop.untraced),
            ];
            for (part, summary) in parts {
                if let Some(summary) = summary {
                    let delay = Delay::of(summary, observed.take_delay(index, part));
                    delays.push(HopDelay { hop: index, part: word(part), share: None, delay });
                }
            }
            hops.errors.push(hop.outcomes.map(|outcomes| Number::of(outcomes.error_share)));
            if let Some(connect) = hop.connect {
                let delay = Delay::of(&connect.delay, observed.take_delay(index, Part::Connect));
                let share = Some(Number::of(connect.share));
                delays.push(HopDelay { hop: index, part: word(Part::Connect), share, delay });
            }
        }
        if hops.errors.iter().all(Option::is_none) {
            hops.errors.clear();
        }
        let critical = timing.critical.filter(|critical| critical.hop < shown);
        Details {
            id: pattern.id,
            hops,
            omitted: pattern.hops.len() - shown,
            critical: critical
                .map(|critical| Critical { hop: critical.hop, part: word(critical.part) }),
            tree: lines
                .map(|line| TreeLine(line.hop, guides(&line.guides, line.mark), line.calls))
                .collect(),
            duration: Delay::of(&pattern.duration, std::mem::take(&mut observed.duration)),
            delays,
            series: observed.series.columns(),
            instances: observed.sample.into_instances(),
        }
    }
}

/// The name of a part in JSON.
fn word(part: Part) -> &'static str {
    match part {
        Part::Node => "node",
        Part::Network => "network",
        Part::Untraced => "untraced",
        Part::Connect => "connect",
    }
}

/// The characters before a hop: one for each chain around it, and one for its own chain.
fn guides(guides: &[Guide], mark: Mark) -> String {
    let guide = |guide: &Guide| match guide {
        Guide::Through => '│',
        Guide::Blank => ' ',
        Guide::Branch => '├',
        Guide::LastBranch => '└',
    };
    let mark = match mark {
        Mark::First => '●',
        Mark::Middle => '│',
        Mark::Last => '╵',
        Mark::Only => '•',
    };
    guides.iter().map(guide).chain([mark]).collect()
}
