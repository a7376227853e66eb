//! The sample: the instances of a pattern in a page on disk. Half of them are the slowest, as users
//! look for these. The others are an arbitrary selection.

use std::cmp::Reverse;

use analyze::paths::TimedInstance;
use serde::Serialize;

use message_trace::mix_bits;

/// An instance as users step through it. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PageInstance {
    /// The number of the instance in the table of paths.
    pub(crate) path: i64,
    /// The probability of the instance.
    pub(crate) probability: f64,
    /// The time at which the root was sent, since the beginning of the trace.
    pub(crate) at: i64,
    /// The time from the sending of the root to the last event.
    pub(crate) duration: i64,
    /// The time of sending of each hop, since the sending of the root; null if it is unknown.
    pub(crate) sent: Vec<Option<i64>>,
    /// The time of receipt of each hop, since the sending of the root; null if it is unknown.
    pub(crate) received: Vec<Option<i64>>,
    /// The hops before which the sender waited for a connection, each with the nanoseconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) connecting: Vec<(u32, i64)>,
}

impl PageInstance {
    /// The form of `instance` for the page, with at most `limit` messages. The trace begins at
    /// `begin`.
    pub(super) fn from_instance(
        instance: &TimedInstance<'_>,
        begin: i64,
        limit: usize,
    ) -> PageInstance {
        let start = instance.begin_time().unwrap_or(begin);
        let since = |time: Option<i64>| time.map(|time| time.saturating_sub(start));
        let hops = || instance.hops.iter().take(limit);
        PageInstance {
            path: instance.which.path,
            probability: (instance.which.probability * 1e3).round() / 1e3,
            at: start.saturating_sub(begin),
            duration: instance.duration(),
            sent: hops().map(|hop| since(hop.sent)).collect(),
            received: hops().map(|hop| since(hop.received)).collect(),
            connecting: connection_waits(instance, limit).collect(),
        }
    }
}

/// The hops, of the first `limit`, before which the sender waited for a connection, each with the
/// nanoseconds.
pub(super) fn connection_waits(
    instance: &TimedInstance<'_>,
    limit: usize,
) -> impl Iterator<Item = (u32, i64)> {
    let hops = (0..).zip(instance.hops).take(limit);
    hops.filter(|(_, hop)| hop.connecting > 0).map(|(place, hop)| (place, hop.connecting))
}

/// A sample of the instances of a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct InstanceSample {
    /// The slowest instances, in descending order of duration.
    slowest: Vec<PageInstance>,
    /// The other instances, sorted by their pseudorandom keys.
    others: Vec<(u64, PageInstance)>,
    /// Instances that are kept unconditionally.
    kept: Vec<PageInstance>,
}

impl InstanceSample {
    /// Adds an instance if it is among the `limit` instances to keep. Half of `limit` are the
    /// slowest.
    pub(super) fn add_instance(&mut self, instance: PageInstance, limit: usize) {
        let slow = limit / 2;
        let mut other = Some(instance);
        if slow > 0 {
            let rank = |one: &PageInstance| (Reverse(one.duration), one.path);
            let place = self
                .slowest
                .binary_search_by_key(&other.as_ref().map(rank), |one| Some(rank(one)))
                .unwrap_or_else(|place| place);
            if place < slow {
                self.slowest.extend(other.take());
                self.slowest[place..].rotate_right(1);
                other = if self.slowest.len() > slow { self.slowest.pop() } else { None };
            }
        }
        let Some(instance) = other else { return };
        let key = pseudorandom_key(instance.path);
        let place = self.others.partition_point(|(other, _)| *other < key);
        if place < limit - slow {
            self.others.insert(place, (key, instance));
            self.others.truncate(limit - slow);
        }
    }

    /// Whether an instance with the number `path` and the duration `duration`, in nanoseconds,
    /// would be kept.
    pub(super) fn wants_path(&self, path: i64, duration: i64, limit: usize) -> bool {
        let slow = limit / 2;
        self.slowest.len() < slow
            || self.slowest.last().is_some_and(|last| duration > last.duration)
            || self.others.len() < limit - slow
            || self.others.last().is_some_and(|(key, _)| self::pseudorandom_key(path) < *key)
    }

    /// Adds an instance in addition to the limit.
    pub(super) fn keep_instance(&mut self, instance: PageInstance) {
        self.kept.push(instance);
    }

    /// The instances of the sample, in the order of their numbers.
    pub(super) fn into_instances(self) -> Vec<PageInstance> {
        let others = self.others.into_iter().map(|(_, instance)| instance);
        let chosen = self.slowest.into_iter().chain(others);
        let mut instances: Vec<PageInstance> = chosen.chain(self.kept).collect();
        instances.sort_by_key(|instance| instance.path);
        instances.dedup_by_key(|instance| instance.path);
        instances
    }
}

/// A pseudorandom number that is always the same for the same `path`.
fn pseudorandom_key(path: i64) -> u64 {
    mix_bits((path as u64).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn instance(path: i64, duration: i64) -> PageInstance {
        PageInstance {
            path,
            probability: 1.0,
            at: 0,
            duration,
            sent: Vec::new(),
            received: Vec::new(),
            connecting: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn the_slowest_are_kept(durations in prop::collection::vec(0..50i64, 0..100), limit in 1..20usize) {
            let mut sample = InstanceSample::default();
            for (path, duration) in durations.iter().enumerate() {
                let before: Vec<_> = sample.clone().into_instances();
                let wanted = sample.wants_path(path as i64, *duration, limit);
                sample.add_instance(instance(path as i64, *duration), limit);
                if !wanted {
                    prop_assert_eq!(before, sample.clone().into_instances());
                }
            }
            let kept = sample.into_instances();
            prop_assert_eq!(kept.len(), limit.min(durations.len()));
            let mut slowest = durations.clone();
            slowest.sort_unstable_by_key(|duration| Reverse(*duration));
            let mut found: Vec<i64> = kept.iter().map(|instance| instance.duration).collect();
            found.sort_unstable_by_key(|duration| Reverse(*duration));
            let slow = (limit / 2).min(durations.len());
            prop_assert_eq!(&found[..slow], &slowest[..slow]);
            // Each instance occurs once, in the order of the numbers.
            prop_assert!(kept.windows(2).all(|pair| pair[0].path < pair[1].path));
        }
    }
}
