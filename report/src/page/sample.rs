//! Which instances of a pattern a page has that cannot have all: the slowest, as they are what is
//! looked for, and some of the others, chosen without regard to what they are like.

use std::cmp::Reverse;

use analyze::paths::TimedInstance;
use serde::Serialize;

use message_trace::mixed;

/// An instance as it is stepped through: times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageInstance {
    /// Its number in the table of paths.
    pub path: i64,
    /// How likely it happened so.
    pub probability: f64,
    /// When its root was sent, since the beginning of the trace.
    pub at: i64,
    /// From the sending of the root to the last event.
    pub duration: i64,
    /// By hop: when it was sent, since the sending of the root; null where that is not known.
    pub sent: Vec<Option<i64>>,
    /// By hop: when it was received.
    pub received: Vec<Option<i64>>,
    /// The hops of which the sender waited for a connection, each with how long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connecting: Vec<(u32, i64)>,
}

impl PageInstance {
    /// `seen` of a trace that begins at `begin`, no more than `most` of its messages.
    pub(super) fn of(seen: &TimedInstance<'_>, begin: i64, most: usize) -> PageInstance {
        let start = seen.begin().unwrap_or(begin);
        let since = |time: Option<i64>| time.map(|time| time.saturating_sub(start));
        let hops = || seen.hops.iter().take(most);
        PageInstance {
            path: seen.which.path,
            probability: (seen.which.probability * 1e3).round() / 1e3,
            at: start.saturating_sub(begin),
            duration: seen.duration(),
            sent: hops().map(|hop| since(hop.sent)).collect(),
            received: hops().map(|hop| since(hop.received)).collect(),
            connecting: connecting(seen, most).collect(),
        }
    }
}

/// The hops of which the sender waited for a connection, each with how long, of the first `most`.
pub(super) fn connecting(
    seen: &TimedInstance<'_>,
    most: usize,
) -> impl Iterator<Item = (u32, i64)> {
    let hops = (0..).zip(seen.hops).take(most);
    hops.filter(|(_, hop)| hop.connecting > 0).map(|(place, hop)| (place, hop.connecting))
}

/// Some of the instances of a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    slowest: Vec<PageInstance>,
    others: Vec<(u64, PageInstance)>,
}

impl Sample {
    /// Adds an instance, unless there is no room for it: half of `most` are the slowest.
    pub(super) fn add(&mut self, instance: PageInstance, most: usize) {
        let slow = most / 2;
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
        let key = key(instance.path);
        let place = self.others.partition_point(|(other, _)| *other < key);
        if place < most - slow {
            self.others.insert(place, (key, instance));
            self.others.truncate(most - slow);
        }
    }

    /// Whether an instance of that duration and number would be kept.
    pub(super) fn wants(&self, path: i64, duration: i64, most: usize) -> bool {
        let slow = most / 2;
        self.slowest.len() < slow
            || self.slowest.last().is_some_and(|last| duration > last.duration)
            || self.others.len() < most - slow
            || self.others.last().is_some_and(|(key, _)| self::key(path) < *key)
    }

    /// All of them, by number.
    pub(super) fn into_instances(self) -> Vec<PageInstance> {
        let others = self.others.into_iter().map(|(_, instance)| instance);
        let mut instances: Vec<PageInstance> = self.slowest.into_iter().chain(others).collect();
        instances.sort_by_key(|instance| instance.path);
        instances
    }
}

/// A number that has nothing to do with `path` but is always the same.
fn key(path: i64) -> u64 {
    mixed((path as u64).wrapping_add(0x9e37_79b9_7f4a_7c15))
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
        fn the_slowest_are_kept(durations in prop::collection::vec(0..50i64, 0..100), most in 1..20usize) {
            let mut sample = Sample::default();
            for (path, duration) in durations.iter().enumerate() {
                let before: Vec<_> = sample.clone().into_instances();
                let wanted = sample.wants(path as i64, *duration, most);
                sample.add(instance(path as i64, *duration), most);
                if !wanted {
                    prop_assert_eq!(before, sample.clone().into_instances());
                }
            }
            let kept = sample.into_instances();
            prop_assert_eq!(kept.len(), most.min(durations.len()));
            let mut slowest = durations.clone();
            slowest.sort_unstable_by_key(|duration| Reverse(*duration));
            let mut found: Vec<i64> = kept.iter().map(|instance| instance.duration).collect();
            found.sort_unstable_by_key(|duration| Reverse(*duration));
            let slow = (most / 2).min(durations.len());
            prop_assert_eq!(&found[..slow], &slowest[..slow]);
            // Each once, by number.
            prop_assert!(kept.windows(2).all(|pair| pair[0].path < pair[1].path));
        }
    }
}
