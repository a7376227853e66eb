//! What the page shows of one pattern: its hops with their delays as distributions, the lines of
//! its tree, how it fared over time, and instances to step through.

use analyze::paths::PathPattern;
use message_trace::stats::Summary;
use serde::Serialize;

use super::histogram::Histogram;
use super::names::Names;
use super::number::Number;
use super::observed::Observed;
use super::sample::PageInstance;
use crate::label::{self, Label};
use crate::tree::{self, Guide, Mark};
use analyze::paths::timing::{Part, Timing, parent};

/// Hops that are shown of one pattern: more cannot be told apart.
pub(super) const MOST_HOPS: usize = 1_000;

/// All of it, as JSON has it. Times are in nanoseconds, hops are numbered from the root.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    id: i64,
    hops: HopColumns,
    /// Hops that are left out.
    omitted: usize,
    critical: Option<Critical>,
    tree: Vec<TreeLine>,
    duration: Delay,
    delays: Vec<HopDelay>,
    /// Slice, expected paths and their mean duration, and so on.
    series: Vec<Number>,
    /// Some of the instances, by number.
    instances: Vec<PageInstance>,
}

/// A column each.
#[derive(Debug, Default, Serialize)]
struct HopColumns {
    /// The hop that caused it; -1 for the root.
    parent: Vec<i64>,
    src: Vec<u32>,
    dst: Vec<u32>,
    /// What follows the receiver's name: port and protocol.
    port: Vec<u32>,
    /// Whether the ends were traced: 1 for the sender, 2 for the receiver.
    traced: Vec<u8>,
    bytes: Vec<Number>,
    /// On average: since the sending of the root.
    sent: Vec<Number>,
    received: Vec<Number>,
}

#[derive(Debug, Serialize)]
struct Critical {
    hop: usize,
    part: &'static str,
}

/// A line of the tree: the hop, what is drawn before it, and how many calls it lies within.
#[derive(Debug, Serialize)]
struct TreeLine(usize, String, usize);

#[derive(Debug, Serialize)]
struct HopDelay {
    hop: usize,
    part: &'static str,
    /// In which part of the instances there is such a delay, where that is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<Number>,
    #[serde(flatten)]
    delay: Delay,
}

/// A delay: what was measured, and its distribution by [`Histogram`].
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
    /// The details of `pattern`, of whose instances `observed` is known.
    pub(super) fn of(pattern: &PathPattern, mut observed: Observed, names: &mut Names) -> Details {
        let timing = Timing::of(pattern);
        let shown = pattern.hops.len().min(MOST_HOPS);
        let lines = tree::lines(&pattern.hops, &timing).into_iter().filter(|line| line.hop < shown);
        let mut hops = HopColumns::default();
        let mut delays = Vec::new();
        for (index, hop) in pattern.hops.iter().take(shown).enumerate() {
            let label = Label::of(hop, label::UNICODE);
            hops.parent.push(parent(hop, index).map_or(-1, |parent| parent as i64));
            hops.src.push(names.number(&hop.src));
            hops.dst.push(names.number(&hop.dst));
            hops.port.push(names.number(&format!("{}{}", label.port, label.protocol)));
            hops.traced.push(u8::from(hop.src_traced) | u8::from(hop.dst_traced) << 1);
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
            if let Some(connect) = hop.connect {
                let delay = Delay::of(&connect.delay, observed.take_delay(index, Part::Connect));
                let share = Some(Number::of(connect.share));
                delays.push(HopDelay { hop: index, part: word(Part::Connect), share, delay });
            }
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

/// What a delay is, in a word.
fn word(part: Part) -> &'static str {
    match part {
        Part::Node => "node",
        Part::Network => "network",
        Part::Untraced => "untraced",
        Part::Connect => "connect",
    }
}

/// What stands before a hop, a character for each chain around it, and one for its own.
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
