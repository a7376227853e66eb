//! What was observed of the instances of one pattern: the distribution of each delay, when they
//! began, and some of the instances as they were.

use analyze::paths::timing::Part;
use analyze::paths::{Hop, TimedInstance};

use super::histogram::Histogram;
use super::sample::{PageInstance, Sample};
use super::series::{PatternSeries, Slices};
use crate::tuning::MAX_HOPS;

/// The observations of one pattern.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) duration: Histogram,
    /// By hop: the distributions of node latency, network latency, time at an untraced node, and
    /// time of connecting.
    delays: Vec<[Histogram; 4]>,
    pub(super) series: PatternSeries,
    pub(super) sample: Sample,
}

impl Observed {
    /// Adds an instance of a pattern with these `hops`. At limit `limit` instances are kept.
    pub(super) fn add(
        &mut self,
        instance: &TimedInstance<'_>,
        hops: &[Hop],
        begin: i64,
        slices: Slices,
        limit: usize,
    ) {
        let duration = instance.duration();
        let start = instance.begin().unwrap_or(begin);
        let weight = instance.which.probability as f32;
        self.duration.add(duration, weight);
        self.series.add(slices.at(start), duration, instance.which.probability);
        let shown = hops.len().min(instance.hops.len()).min(MAX_HOPS);
        self.delays.resize_with(shown, Default::default);
        for (index, (hop, delays)) in hops.iter().zip(&mut self.delays).enumerate() {
            // Only delays that the pattern has are counted, whatever the times of the instance say.
            let latencies = [
                (Part::Node, hop.node.and_then(|_| instance.node_latency(index))),
                (Part::Network, hop.network.and_then(|_| instance.network_latency(index))),
                (Part::Untraced, hop.untraced.and_then(|_| instance.untraced_latency(index))),
                (Part::Connect, hop.connect.and_then(|_| instance.connecting(index))),
            ];
            for (part, latency) in latencies {
                if let Some(latency) = latency {
                    delays[part as usize].add(latency, weight);
                }
            }
        }
        if limit > 0 && self.sample.wants(instance.which.path, duration, limit) {
            self.sample.add(PageInstance::of(instance, begin, shown), limit);
        }
    }

    /// Keeps an instance of a pattern with these `hops`, whatever it is like.
    pub(super) fn keep(&mut self, instance: &TimedInstance<'_>, hops: &[Hop], begin: i64) {
        let shown = hops.len().min(instance.hops.len()).min(MAX_HOPS);
        self.sample.keep(PageInstance::of(instance, begin, shown));
    }

    /// Takes out the distribution of a delay.
    pub(super) fn take_delay(&mut self, hop: usize, part: Part) -> Histogram {
        self.delays
            .get_mut(hop)
            .map(|delays| std::mem::take(&mut delays[part as usize]))
            .unwrap_or_default()
    }
}
