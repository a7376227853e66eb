//! Input of the estimate: for each ordered pair of hosts the messages with the least delay.
//!
//! A clock line that lies below all of a set of delays lies below their lower convex hull, and
//! nothing else of the set matters (Moon et al. call it the minimum filter's line). So each pair
//! keeps hulls only, one per time bucket, so that steps of a clock can be found between buckets.
//! Only the part of a hull that a line of a possible slope ([`MAX_SKEW_ONE_IN`]) can touch is kept,
//! which makes it a few messages long. The buckets are aligned to the clock, and widen by powers of
//! two when there are too many. All that depends only on the set of messages, so samples that were
//! taken in parts and merged equal those taken together.

use rustc_hash::FxHashMap;

use crate::tuning::{
    BUCKETS, BUCKETS_A_PAIR, MAX_SKEW_ONE_IN, NARROWEST_BUCKET_BITS, WIDEST_BUCKET_BITS,
};

/// The messages with least delay between the hosts, in bounded memory however many are added.
#[derive(Clone, Debug, Default)]
pub struct ClockSamples {
    hosts: usize,
    /// Index of each ordered pair of hosts among `pairs`.
    place: FxHashMap<(u32, u32), u32>,
    pairs: Vec<DelayMinima>,
    /// Index of the pair of the message added last.
    latest: u32,
}

/// A message's two times, each on its own host's clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClockSample {
    /// When the message was sent, on the sender's clock.
    pub(crate) sent: i64,
    /// When the message was received, on the receiver's clock.
    pub(crate) received: i64,
}

/// The minima of one ordered pair of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DelayMinima {
    /// Number of the sending host.
    pub(crate) from: u32,
    /// Number of the receiving host.
    pub(crate) to: u32,
    /// Number of messages.
    pub(crate) messages: u64,
    /// The messages that are kept, by the time they were sent.
    pub(crate) points: Vec<ClockSample>,
    /// Width of a bucket, as a power of two of nanoseconds of the sender's clock.
    width: u32,
    /// Number of buckets that are not empty.
    buckets: usize,
}

impl ClockSamples {
    /// Creates an empty collection for hosts with numbers below `hosts`.
    pub fn new(hosts: usize) -> ClockSamples {
        ClockSamples { hosts, ..ClockSamples::default() }
    }

    /// Adds a message that host `from` sent at `sent` by its clock, and host `to` received at
    /// `received` by its clock, in nanoseconds. Messages within a host, and of unknown hosts, carry
    /// no information and are ignored.
    pub fn add_message(&mut self, from: u32, to: u32, sent: i64, received: i64) {
        if from == to || from.max(to) as usize >= self.hosts {
            return;
        }
        let is_latest = |minima: &DelayMinima| minima.from == from && minima.to == to;
        if !self.pairs.get(self.latest as usize).is_some_and(is_latest) {
            self.latest = self.pair_index(from, to);
        }
        let limit = bucket_limit(self.pairs.len());
        if let Some(minima) = self.pairs.get_mut(self.latest as usize) {
            minima.messages += 1;
            minima.add_sample(ClockSample { sent, received }, limit);
        }
    }

    /// Adds the contents of `other`. The order in which samples are merged makes no difference.
    pub fn merge_samples(&mut self, other: ClockSamples) {
        self.hosts = self.hosts.max(other.hosts);
        for theirs in other.pairs {
            let place = self.pair_index(theirs.from, theirs.to) as usize;
            let limit = bucket_limit(self.pairs.len());
            if let Some(minima) = self.pairs.get_mut(place) {
                minima.merge_minima(theirs, limit);
            }
        }
    }

    /// Removes all messages between two hosts, unless `keep` returns true for them.
    pub fn retain_pairs(&mut self, keep: impl Fn(u32, u32) -> bool) {
        self.pairs.retain(|pair| keep(pair.from, pair.to));
        self.number_pairs();
    }

    /// Returns the hosts between which a message arrived before it was sent, by uncorrected times.
    pub fn contradicting_pairs(&self) -> impl Iterator<Item = [u32; 2]> {
        let is_early = |point: &ClockSample| point.received < point.sent;
        let contradict = self.pairs.iter().filter(move |pair| pair.points.iter().any(is_early));
        contradict.map(|pair| [pair.from, pair.to])
    }

    /// Renumbers the hosts: `numbers` has the new number of each. No two may be equal.
    pub fn renumber_hosts(&mut self, numbers: &[u32]) {
        let new = |host: u32| numbers.get(host as usize).copied().unwrap_or(host);
        for pair in &mut self.pairs {
            (pair.from, pair.to) = (new(pair.from), new(pair.to));
        }
        self.number_pairs();
    }

    /// Stores the index of each pair again, after pairs were removed or renamed.
    fn number_pairs(&mut self) {
        let pairs = self.pairs.iter().zip(0..);
        self.place = pairs.map(|(pair, place)| ((pair.from, pair.to), place)).collect();
        self.latest = 0;
    }

    /// Returns how many messages were added.
    pub fn message_count(&self) -> u64 {
        self.pairs.iter().map(|minima| minima.messages).sum()
    }

    /// Returns all pairs with messages, by their numbers.
    pub(crate) fn pair_minima(&self) -> Vec<&DelayMinima> {
        let mut pairs: Vec<&DelayMinima> = self.pairs.iter().collect();
        pairs.sort_by_key(|minima| (minima.from, minima.to));
        pairs
    }

    /// Returns the index of a pair, which may be new.
    fn pair_index(&mut self, from: u32, to: u32) -> u32 {
        let next = self.pairs.len() as u32;
        let place = *self.place.entry((from, to)).or_insert(next);
        if place == next {
            self.pairs.push(DelayMinima {
                from,
                to,
                messages: 0,
                points: Vec::new(),
                width: NARROWEST_BUCKET_BITS,
                buckets: 0,
            });
            // The more pairs, the fewer buckets for each.
            let now = bucket_limit(self.pairs.len());
            if now < bucket_limit(self.pairs.len() - 1) {
                self.pairs.iter_mut().for_each(|minima| minima.limit_buckets(now));
            }
        }
        place
    }
}

/// Returns how many buckets each of `pairs` pairs may have: a power of two, so that it seldom
/// changes.
fn bucket_limit(pairs: usize) -> usize {
    let [most, fewest] = BUCKETS_A_PAIR;
    (BUCKETS / pairs.max(1).next_power_of_two()).clamp(fewest, most)
}

impl DelayMinima {
    /// Adds one message.
    fn add_sample(&mut self, new: ClockSample, limit: usize) {
        let bucket = new.sent >> self.width;
        let points = &mut self.points;
        let mut at = points.partition_point(|point| point.sent < new.sent);
        let in_bucket = |point: Option<&ClockSample>| {
            point.is_some_and(|point| point.sent >> self.width == bucket)
        };
        if let Some(equal) = points.get(at).filter(|point| point.sent == new.sent) {
            if equal.received <= new.received {
                return;
            }
            points[at] = new;
        } else {
            let before = at
                .checked_sub(1)
                .map(|before| points[before])
                .filter(|point| in_bucket(Some(point)));
            let after = points.get(at).copied().filter(|point| in_bucket(Some(point)));
            let useless = match (before, after) {
                (Some(before), Some(after)) => is_above(before, new, after),
                (Some(before), None) => rises_too_fast(before, new),
                (None, Some(after)) => falls_too_fast(new, after),
                (None, None) => false,
            };
            if useless {
                return;
            }
            self.buckets += usize::from(before.is_none() && after.is_none());
            points.insert(at, new);
        }
        // The new point's neighbours may have become redundant.
        while in_bucket(points.get(at + 1))
            && (rises_too_fast(new, points[at + 1])
                || in_bucket(points.get(at + 2)) && is_above(new, points[at + 1], points[at + 2]))
        {
            points.remove(at + 1);
        }
        while at >= 1
            && in_bucket(points.get(at - 1))
            && (falls_too_fast(points[at - 1], new)
                || at >= 2
                    && in_bucket(points.get(at - 2))
                    && is_above(points[at - 2], points[at - 1], new))
        {
            at -= 1;
            points.remove(at);
        }
        self.limit_buckets(limit);
    }

    /// Adds the messages of the same pair of hosts from other samples.
    fn merge_minima(&mut self, other: DelayMinima, limit: usize) {
        self.messages += other.messages;
        let mut points = Vec::with_capacity(self.points.len() + other.points.len());
        points.append(&mut self.points);
        points.extend(other.points);
        points.sort_unstable();
        self.points = points;
        self.width = self.width.max(other.width);
        self.rebuild_hulls();
        self.limit_buckets(limit);
    }

    /// Widens the buckets until there are no more than `limit`.
    fn limit_buckets(&mut self, limit: usize) {
        while self.buckets > limit && self.width < WIDEST_BUCKET_BITS {
            self.width += 1;
            self.rebuild_hulls();
        }
    }

    /// Rebuilds the hull of each bucket from its points, which are in order.
    fn rebuild_hulls(&mut self) {
        let points = &mut self.points;
        // Number of points that remain, index of the bucket's first one, and number of the bucket.
        let (mut kept, mut first, mut bucket) = (0, 0, None);
        self.buckets = 0;
        for place in 0..points.len() {
            let new = points[place];
            if bucket != Some(new.sent >> self.width) {
                bucket = Some(new.sent >> self.width);
                self.buckets += 1;
                first = kept;
            }
            if kept > first && points[kept - 1].sent == new.sent {
                // Points are in order, so the previous one was not received later.
                continue;
            }
            while kept > first
                && (falls_too_fast(points[kept - 1], new)
                    || kept > first + 1 && is_above(points[kept - 2], points[kept - 1], new))
            {
                kept -= 1;
            }
            if kept == first || !rises_too_fast(points[kept - 1], new) {
                points[kept] = new;
                kept += 1;
            }
        }
        points.truncate(kept);
    }
}

/// Returns the delay, and the time of sending, in nanoseconds.
fn exact_delay(point: ClockSample) -> (i128, i128) {
    let sent = i128::from(point.sent);
    (i128::from(point.received) - sent, sent)
}

/// Returns whether the delay rises from `a` to `b` so fast that no possible line touches `b`.
fn rises_too_fast(a: ClockSample, b: ClockSample) -> bool {
    let ((delay_a, sent_a), (delay_b, sent_b)) = (exact_delay(a), exact_delay(b));
    (delay_b - delay_a) * MAX_SKEW_ONE_IN >= sent_b - sent_a
}

/// Returns whether the delay falls from `a` to `b` so fast that no possible line touches `a`.
fn falls_too_fast(a: ClockSample, b: ClockSample) -> bool {
    let ((delay_a, sent_a), (delay_b, sent_b)) = (exact_delay(a), exact_delay(b));
    (delay_a - delay_b) * MAX_SKEW_ONE_IN >= sent_b - sent_a
}

/// Returns whether `middle`, between the two others, is above the line through them, or on it.
fn is_above(before: ClockSample, middle: ClockSample, after: ClockSample) -> bool {
    let ((delay_a, sent_a), (delay, sent), (delay_b, sent_b)) =
        (exact_delay(before), exact_delay(middle), exact_delay(after));
    (delay - delay_a) * (sent_b - sent_a) >= (delay_b - delay_a) * (sent - sent_a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept_samples(samples: &ClockSamples, from: u32, to: u32) -> Vec<(i64, i64)> {
        let pairs = samples.pair_minima();
        let pair = pairs.iter().find(|minima| (minima.from, minima.to) == (from, to));
        pair.map_or(Vec::new(), |pair| {
            pair.points.iter().map(|point| (point.sent, point.received - point.sent)).collect()
        })
    }

    #[test]
    fn a_bucket_keeps_its_hull() {
        let mut samples = ClockSamples::new(2);
        // All within the first millisecond: (10, 50) and (400, 50) are the least, (200, 50) lies on
        // the line between them, (300, 49) under it; (900, 50) lies where only a line that rises
        // 1000 ppm could touch it.
        for (sent, delay) in
            [(10, 50), (400, 50), (200, 50), (900, 50), (300, 49), (300, 60), (5_000, 52)]
        {
            samples.add_message(0, 1, sent, sent + delay);
        }
        // From (300, 49) to (900, 50) and to (5000, 52) the delay rises 1 in 600 and 1 in 1567.
        assert_eq!(kept_samples(&samples, 0, 1), [(300, 49), (5_000, 52)]);
        samples.add_message(1, 0, -5, 0);
        assert_eq!(kept_samples(&samples, 1, 0), [(-5, 5)]);
        assert_eq!(samples.message_count(), 8);
    }

    #[test]
    fn messages_without_information_are_ignored() {
        let mut samples = ClockSamples::new(2);
        samples.add_message(0, 0, 1, 2);
        samples.add_message(0, 2, 1, 2);
        assert_eq!(samples.message_count(), 0);
    }

    #[test]
    fn buckets_are_bounded_and_keep_the_least() {
        let mut samples = ClockSamples::new(2);
        for index in 0..100_000_i64 {
            let delay = 30_000 + (index * 7_919) % 10_007;
            samples.add_message(0, 1, index * 1_000_000, index * 1_000_000 + delay);
        }
        let pairs = samples.pair_minima();
        assert!(pairs[0].buckets <= BUCKETS_A_PAIR[0] && pairs[0].buckets > BUCKETS_A_PAIR[0] / 4);
        assert!(pairs[0].points.len() < 8 * BUCKETS_A_PAIR[0]);
        assert!(pairs[0].points.iter().any(|point| point.received - point.sent == 30_000));
    }

    #[test]
    fn times_of_any_distance_are_accepted() {
        let mut samples = ClockSamples::new(2);
        for time in [i64::MIN, -1, 0, i64::MAX] {
            samples.add_message(0, 1, time, i64::MAX);
            samples.add_message(1, 0, time, i64::MIN);
        }
        assert_eq!(samples.message_count(), 8);
    }

    /// Messages of a few hosts, with times near each other or far apart.
    fn any_messages() -> impl Strategy<Value = Vec<(u32, u32, i64, i64)>> {
        let time = prop_oneof![0..5_000_000_i64, 0..4_000_000_000_000_i64];
        proptest::collection::vec(
            (0..3_u32, 0..3_u32, time, prop_oneof![0..200_000_i64, 0..3_000_i64]),
            1..400,
        )
    }

    proptest! {
        /// For any order and parts of the messages, the samples are the same.
        #[test]
        fn order_and_parts_do_not_matter(messages in any_messages(), parts in 1..5_usize, seed in any::<u64>()) {
            let mut whole = ClockSamples::new(3);
            for (from, to, sent, delay) in &messages {
                whole.add_message(*from, *to, *sent, sent + delay);
            }
            let mut shuffled = messages.clone();
            let mut state = seed;
            for index in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                shuffled.swap(index, (state >> 33) as usize % (index + 1));
            }
            let mut merged = ClockSamples::new(3);
            for part in 0..parts {
                let mut samples = ClockSamples::new(3);
                for (from, to, sent, delay) in shuffled.iter().skip(part).step_by(parts) {
                    samples.add_message(*from, *to, *sent, sent + delay);
                }
                merged.merge_samples(samples);
            }
            prop_assert_eq!(whole.pair_minima(), merged.pair_minima());
        }

        /// The least distance of all messages from any possible line is that of those kept.
        #[test]
        fn nothing_that_a_line_can_touch_is_lost(messages in any_messages(), slope in -990..990_i64) {
            let mut samples = ClockSamples::new(3);
            for (from, to, sent, delay) in &messages {
                samples.add_message(*from, *to, *sent, sent + delay);
            }
            let over = |sent: i64, delay: i64| {
                i128::from(delay) * 1_000_000 - i128::from(slope) * i128::from(sent)
            };
            for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
                let all = messages.iter().filter(|message| message.0 != message.1);
                let all = all.filter(|message| (message.0, message.1) == (from, to));
                let least = all.map(|message| over(message.2, message.3)).min();
                let kept = kept_samples(&samples, from, to);
                prop_assert_eq!(kept.iter().map(|(sent, delay)| over(*sent, *delay)).min(), least);
            }
        }
    }
}
