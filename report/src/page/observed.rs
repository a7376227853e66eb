//! What the instances of one pattern were like: a distribution of each delay, when they began, and
//! some of them whole.

use analyze::paths::{Hop, TimedInstance};

use super::details::MOST_HOPS;
use super::histogram::Histogram;
use super::sample::{PageInstance, Sample};
use super::series::{PatternSeries, Slices};
use analyze::paths::timing::Part;

/// All of it for one pattern.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) duration: Histogram,
    /// By hop: at its node, on the network, at an untraced node, connecting.
    delays: Vec<[Histogram; 4]>,
    pub(super) series: PatternSeries,
    pub(super) sample: Sample,
}

impl Observed {
    /// Adds an instance of a pattern with these `hops`; of its instances `most` are kept.
    pub(super) fn add(
        &mut self,
        seen: &TimedInstance<'_>,
        hops: &[Hop],
        begin: i64,
        slices: Slices,
        most: usize,
    ) {
        let duration = seen.duration();
        let start = seen.begin().unwrap_or(begin);
        let weight = seen.which.probability as f32;
        self.duration.add(duration, weight);
        self.series.add(slices.at(start), duration, seen.which.probability);
        let shown = hops.len().min(seen.hops.len()).min(MOST_HOPS);
        self.delays.resize_with(shown, Default::default);
        for (index, (hop, delays)) in hops.iter().zip(&mut self.delays).enumerate() {
            // What the pattern does not have is none of its delays, whatever the times are.
            let latencies = [
                (Part::Node, hop.node.and_then(|_| seen.node_latency(index))),
                (Part::Network, hop.network.and_then(|_| seen.network_latency(index))),
                (Part::Untraced, hop.untraced.and_then(|_| seen.untraced_latency(index))),
                (Part::Connect, hop.connect.and_then(|_| seen.connecting(index))),
            ];
            for (part, latency) in latencies {
                if let Some(latency) = latency {
                    delays[part as usize].add(latency, weight);
                }
            }
        }
        if most > 0 && self.sample.wants(seen.which.path, duration, most) {
            self.sample.add(PageInstance::of(seen, begin, shown), most);
        }
    }

    /// The distribution of a delay; it is gone then.
    pub(super) fn take_delay(&mut self, hop: usize, part: Part) -> Histogram {
        self.delays
            .get_mut(hop)
            .map(|delays| std::mem::take(&mut delays[part as usize]))
            .unwrap_or_default()
    }
}
