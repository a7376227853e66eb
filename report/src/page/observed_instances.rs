//! Observations of the instances of one pattern: the distribution of each delay, their starting
//! times, and some of the instances themselves.

use analyze::paths::timing::DelayKind;
use analyze::paths::{Hop, TimedInstance};

use super::histogram::LogHistogram;
use super::sample::{InstanceSample, PageInstance};
use super::series::{PatternSeries, TimeSlices};
use crate::tuning::MAX_HOPS;

/// The observations of one pattern.
#[derive(Debug, Default)]
pub(super) struct ObservedInstances {
    pub(super) duration: LogHistogram,
    /// The distributions of node latency, network latency, time at an untraced node, and time of
    /// connecting, by hop.
    delays: Vec<[LogHistogram; 4]>,
    pub(super) series: PatternSeries,
    pub(super) sample: InstanceSample,
}

impl ObservedInstances {
    /// Adds an instance of a pattern with these `hops`. At most `limit` instances are kept.
    pub(super) fn add_instance(
        &mut self,
        instance: &TimedInstance<'_>,
        hops: &[Hop],
        begin: i64,
        slices: TimeSlices,
        limit: usize,
    ) {
        let duration = instance.duration();
        let start = instance.begin_time().unwrap_or(begin);
        let weight = instance.which.probability as f32;
        self.duration.add_time(duration, weight);
        self.series.add_path(slices.slice_at(start), duration, instance.which.probability);
        let shown = hops.len().min(instance.hops.len()).min(MAX_HOPS);
        self.delays.resize_with(shown, Default::default);
        for (index, (hop, delays)) in hops.iter().zip(&mut self.delays).enumerate() {
            // Only delays that the pattern has are counted, even if the instance has other times.
            let latencies = [
                (DelayKind::Node, hop.node.and_then(|_| instance.node_latency(index))),
                (DelayKind::Network, hop.network.and_then(|_| instance.network_latency(index))),
                (DelayKind::Untraced, hop.untraced.and_then(|_| instance.untraced_latency(index))),
                (DelayKind::Connect, hop.connect.and_then(|_| instance.connect_time(index))),
            ];
            for (part, latency) in latencies {
                if let Some(latency) = latency {
                    delays[part as usize].add_time(latency, weight);
                }
            }
        }
        if limit > 0 && self.sample.wants_path(instance.which.path, duration, limit) {
            self.sample.add_instance(PageInstance::from_instance(instance, begin, shown), limit);
        }
    }

    /// Keeps an instance of a pattern with these `hops` unconditionally.
    pub(super) fn keep_instance(&mut self, instance: &TimedInstance<'_>, hops: &[Hop], begin: i64) {
        let shown = hops.len().min(instance.hops.len()).min(MAX_HOPS);
        self.sample.keep_instance(PageInstance::from_instance(instance, begin, shown));
    }

    /// Takes the distribution of a delay out of the observations.
    pub(super) fn take_delay(&mut self, hop: usize, part: DelayKind) -> LogHistogram {
        self.delays
            .get_mut(hop)
            .map(|delays| std::mem::take(&mut delays[part as usize]))
            .unwrap_or_default()
    }
}
