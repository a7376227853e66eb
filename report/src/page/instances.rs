//! All instances of the patterns of a page, for [`sockcap view`](super), which serves one screen of
//! instances at a time. A message takes 16 bytes and an instance 32.

use std::cmp::Reverse;

use analyze::paths::TimedInstance;
use serde::Serialize;

use super::sample::{PageInstance, connection_waits};
use crate::tuning::MAX_HOPS;

/// Sentinel for an unknown time.
const UNKNOWN_TIME: i64 = i64::MIN;

/// The order in which instances are stepped through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceOrder {
    /// By the time at which they began.
    #[default]
    Time,
    /// The slowest instance comes first.
    Slowest,
    /// The most likely first.
    Likely,
}

impl InstanceOrder {
    /// The order with the name `name`: `time`, `slowest` or `likely`.
    pub fn from_name(name: &str) -> Option<InstanceOrder> {
        match name {
            "time" => Some(InstanceOrder::Time),
            "slowest" => Some(InstanceOrder::Slowest),
            "likely" => Some(InstanceOrder::Likely),
            _ => None,
        }
    }
}

/// The instances of one pattern.
#[derive(Debug, Default)]
struct PatternInstances {
    /// Path, probability, time of the beginning and duration in nanoseconds of each instance.
    instances: Vec<(i64, f32, i64, i64)>,
    /// The times of sending and receipt of each message, in nanoseconds since the beginning of its
    /// instance.
    times: Vec<[i64; 2]>,
    /// The waits for connections: index of the instance, index of the hop, and nanoseconds. The
    /// list is sorted.
    connecting: Vec<(u32, u32, i64)>,
    /// Number of messages of each instance.
    hops: usize,
}

/// The instances of all patterns, by rank.
#[derive(Debug, Default)]
pub struct InstanceStore {
    patterns: Vec<PatternInstances>,
    begin: i64,
}

impl InstanceStore {
    /// An empty store for a trace that begins at `begin`, in nanoseconds.
    pub fn new(begin: i64) -> InstanceStore {
        InstanceStore { patterns: Vec::new(), begin }
    }

    /// Adds an instance of the pattern of that rank. All instances of a pattern have the same
    /// number of messages.
    pub fn add_instance(&mut self, rank: usize, instance: &TimedInstance<'_>) {
        if self.patterns.len() <= rank {
            self.patterns.resize_with(rank + 1, PatternInstances::default);
        }
        let pattern = &mut self.patterns[rank];
        pattern.hops = instance.hops.len().min(MAX_HOPS);
        let start = instance.begin_time().unwrap_or(self.begin);
        let at = start.saturating_sub(self.begin);
        let which = instance.which;
        let number = pattern.instances.len() as u32;
        let waited = connection_waits(instance, pattern.hops);
        pattern.connecting.extend(waited.map(|(hop, time)| (number, hop, time)));
        pattern.instances.push((which.path, which.probability as f32, at, instance.duration()));
        let since =
            |time: Option<i64>| time.map_or(UNKNOWN_TIME, |time| time.saturating_sub(start));
        let hops = instance.hops.iter().take(pattern.hops);
        pattern.times.extend(hops.map(|hop| [since(hop.sent), since(hop.received)]));
    }

    /// The number of instances of the pattern with the rank `rank`.
    pub(crate) fn instance_count(&self, rank: usize) -> usize {
        self.patterns.get(rank).map_or(0, |pattern| pattern.instances.len())
    }

    /// The instances of the pattern with the rank `rank`, in the order `order`: at most `limit`,
    /// after the first `from`.
    pub(crate) fn get(
        &self,
        rank: usize,
        order: InstanceOrder,
        from: usize,
        limit: usize,
    ) -> Vec<PageInstance> {
        let Some(pattern) = self.patterns.get(rank) else { return Vec::new() };
        let places = pattern.ordered_indices(order).into_iter().skip(from).take(limit);
        places.map(|place| pattern.instance_at(place)).collect()
    }

    /// The index of the path with the number `path` among the instances of the pattern with the
    /// rank `rank`, counted from 0 in that order; `None` if it is not among them.
    pub fn place_of_path(&self, rank: usize, order: InstanceOrder, path: i64) -> Option<usize> {
        let pattern = self.patterns.get(rank)?;
        let is_it = |place: usize| pattern.instances.get(place).is_some_and(|one| one.0 == path);
        pattern.ordered_indices(order).into_iter().position(is_it)
    }
}

/// A screen of instances, in the form that is served.
#[derive(Serialize)]
struct InstancesPage {
    from: usize,
    /// The number of all instances of the pattern.
    all: usize,
    instances: Vec<PageInstance>,
}

impl InstanceStore {
    /// The instance that [`InstanceStore::get`] returns, as JSON.
    ///
    /// # Errors
    /// When a value has no form in JSON. No value here is of that kind.
    pub fn to_json(
        &self,
        rank: usize,
        order: InstanceOrder,
        from: usize,
        limit: usize,
    ) -> serde_json::Result<Vec<u8>> {
        let instances = self.get(rank, order, from, limit);
        serde_json::to_vec(&InstancesPage { from, all: self.instance_count(rank), instances })
    }
}

impl PatternInstances {
    /// The indices of the instances in the order `order`.
    fn ordered_indices(&self, order: InstanceOrder) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.instances.len()).collect();
        let instance = |place: &usize| self.instances[*place];
        match order {
            InstanceOrder::Time => places.sort_by_key(|place| (instance(place).2, *place)),
            InstanceOrder::Slowest => {
                places.sort_by_key(|place| (Reverse(instance(place).3), *place))
            }
            InstanceOrder::Likely => {
                places.sort_by(|one, other| instance(other).1.total_cmp(&instance(one).1))
            }
        }
        places
    }

    fn instance_at(&self, place: usize) -> PageInstance {
        let (path, probability, at, duration) = self.instances[place];
        let times = &self.times[place * self.hops..(place + 1) * self.hops];
        let column = |end: usize| {
            times.iter().map(|time| (time[end] != UNKNOWN_TIME).then_some(time[end])).collect()
        };
        let probability = (f64::from(probability) * 1e3).round() / 1e3;
        let first = self.connecting.partition_point(|(of, ..)| (*of as usize) < place);
        let of = self.connecting[first..].iter().take_while(|(of, ..)| *of as usize == place);
        PageInstance {
            path,
            probability,
            at,
            duration,
            sent: column(0),
            received: column(1),
            connecting: of.map(|(_, hop, time)| (*hop, *time)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::paths::{InstanceRow, TimedHop};

    fn found_connecting(instances: &InstanceStore) -> Vec<Vec<(u32, i64)>> {
        instances
            .get(1, InstanceOrder::Time, 0, 9)
            .into_iter()
            .map(|instance| instance.connecting)
            .collect()
    }

    #[test]
    fn instances_are_served_in_batches_in_any_order() {
        let mut instances = InstanceStore::new(1_000);
        for (path, probability, sent, received) in
            [(7, 0.5, 3_000, Some(3_010)), (8, 1.0, 1_000, Some(1_500)), (9, 0.9, 2_000, None)]
        {
            let hops = [TimedHop {
                parent: None,
                depth: 0,
                message: 0,
                sent: Some(sent),
                received,
                bytes: 0,
                connecting: if path == 9 { 7 } else { 0 },
                is_error: None,
            }];
            let which = InstanceRow { path, pattern: 3, probability };
            instances.add_instance(1, &TimedInstance { which, hops: &hops });
        }
        let paths = |order, from, limit| -> Vec<i64> {
            instances.get(1, order, from, limit).iter().map(|instance| instance.path).collect()
        };
        assert_eq!(paths(InstanceOrder::Time, 0, 9), [8, 9, 7]);
        assert_eq!(paths(InstanceOrder::Slowest, 0, 9), [8, 7, 9]);
        assert_eq!(paths(InstanceOrder::Likely, 1, 1), [9]);
        assert_eq!(paths(InstanceOrder::Time, 3, 9), Vec::<i64>::new());
        let place = |order, path| instances.place_of_path(1, order, path);
        assert_eq!(
            [7, 8, 9].map(|path| place(InstanceOrder::Slowest, path)),
            [Some(1), Some(0), Some(2)]
        );
        assert_eq!([place(InstanceOrder::Time, 7), place(InstanceOrder::Time, 3)], [Some(2), None]);
        assert_eq!(instances.place_of_path(5, InstanceOrder::Time, 7), None);
        assert_eq!(found_connecting(&instances), [vec![], vec![(0, 7)], vec![]]);
        assert_eq!(instances.get(0, InstanceOrder::Time, 0, 9), []);
        assert_eq!(instances.get(5, InstanceOrder::Time, 0, 9), []);
        let found = &instances.get(1, InstanceOrder::Time, 1, 1)[0];
        assert_eq!(
            (found.at, found.duration, &found.sent[..], &found.received[..]),
            (1_000, 0, &[Some(0)][..], &[None][..])
        );
    }

    #[test]
    fn long_instances_are_as_long_as_the_pattern_that_is_shown() {
        let hop = |place: i64| TimedHop {
            parent: (place > 0).then(|| place as u32 - 1),
            depth: place as u32,
            message: place,
            sent: Some(place),
            received: Some(place + 1),
            bytes: 0,
            connecting: 0,
            is_error: None,
        };
        let hops: Vec<TimedHop> = (0..MAX_HOPS as i64 + 500).map(hop).collect();
        let mut instances = InstanceStore::new(0);
        for path in 0..2 {
            let which = InstanceRow { path, pattern: 0, probability: 1.0 };
            instances.add_instance(0, &TimedInstance { which, hops: &hops });
        }
        for found in instances.get(0, InstanceOrder::Time, 0, 9) {
            assert_eq!((found.sent.len(), found.duration), (MAX_HOPS, MAX_HOPS as i64 + 500));
        }
    }
}
