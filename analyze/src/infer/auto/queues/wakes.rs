//! Wake relations: kinds of replies that are woken by kinds of messages. The awaited replies of a
//! kind are sent within a short time, which is learned, after the receipt of messages of the other
//! kind, and by chance few would be so near.
//!
//! Other systems look similar and are not queues. An overloaded server answers shortly after others
//! ask, but there others ask all the time. A client that waits for a lock is answered when another
//! releases it, but there each side takes both roles at times. A server that made calls for its
//! response waits for their responses.

use message_trace::{FlowId, MessageId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::broker::{Broker, BrokerReceipt, BrokerReply, ReceiptsOfKind};
use crate::tuning::auto::queues::wakes::{
    CONSTANT_SHARE, DELIVERIES_PER_EXCEPTION, EQUAL_LENGTH_FACTOR, FIRST_TIME, HARDLY_SHARE,
    LENGTH_TOLERANCE, LONG_FACTOR, MAX_LOOKED_AT, MAX_SAMPLE, MIN_LIFT, MIN_ODDS, MIN_OF_LENGTH,
    MIN_WOKEN, SLOWER_FACTOR, TIME_STEP, TIMES_TRIED, WOKEN_SHARE,
};

/// A kind of replies that are caused by messages of other nodes.
#[derive(Debug)]
pub(super) struct ReplyQueue {
    /// The index of the kind of replies at the broker.
    pub(super) replies: usize,
    /// The indices of the kinds of receipts at the broker that wake these replies.
    pub(super) pushes: Vec<usize>,
    /// Longest time from the wake-up to the sending of a reply, in nanoseconds.
    pub(super) within: i64,
    /// The lengths of replies that deliver nothing, as after a timeout.
    pub(super) empty: FxHashSet<i64>,
    /// Number of bytes by which deliveries are longer than pushes, if it is mostly the same.
    pub(super) longer: Option<i64>,
    /// Whether a push is delivered to all waiting workers instead of one.
    pub(super) to_all: bool,
    /// Probability that a reply that seems to be woken was woken.
    pub(super) sure: f64,
    /// Whether the threads that wait for the replies mostly do so for requests of their own. Then
    /// what they send does not ask for work.
    pub(super) is_for_requests: bool,
}

/// Relation of one kind of receipts to a kind of replies.
struct WakeRelation {
    /// The index of the kind of receipts at the broker.
    pushes: usize,
    /// Longest time from the wake-up to the sending of a reply, in nanoseconds.
    within: i64,
    /// Log-odds against chance.
    score: f64,
    /// Number of awaited replies that were sent within this time after a receipt.
    hits: f64,
    /// Number of these that would be by chance.
    expected: f64,
}

/// The kinds of replies of `broker` that are caused by messages of other nodes.
pub(super) fn queues(broker: &Broker) -> Vec<ReplyQueue> {
    (0..broker.replies.len()).filter_map(|replies| queue(broker, replies)).collect()
}

/// The replies of one kind, with the index `replies` at the broker, as a queue; `None` if messages
/// of other nodes do not wake them.
fn queue(broker: &Broker, replies: usize) -> Option<ReplyQueue> {
    let all = &broker.replies[replies].all;
    let step = all.len().div_ceil(MAX_SAMPLE);
    let sample: Vec<&BrokerReply> = all.iter().step_by(step).collect();
    let of_kind = |pushes: usize| wakes(broker, &sample, pushes);
    let wakes: Vec<WakeRelation> = (0..broker.receipts.len()).filter_map(of_kind).collect();
    // All pushes wake replies after about the same delay. Receipts that only seem to wake them have
    // longer delays.
    let surest_delay = wakes.iter().max_by(|one, other| one.score.total_cmp(&other.score))?.within;
    let wakes: Vec<WakeRelation> = wakes
        .into_iter()
        .filter(|wakes| wakes.within <= surest_delay.saturating_mul(SLOWER_FACTOR))
        .collect();
    let within = wakes.iter().map(|wakes| wakes.within).max()?;
    let mut pushes: Vec<usize> = wakes.iter().map(|wakes| wakes.pushes).collect();
    let others = (0..broker.receipts.len()).filter(|kind| !pushes.contains(kind));
    let alike: Vec<usize> =
        others.filter(|kind| is_alike(broker, all, &pushes, *kind, within)).collect();
    pushes.extend(alike);
    let long: Vec<&BrokerReply> =
        sample.iter().copied().filter(|reply| was_awaited(reply, within)).collect();
    let waker = |reply: &BrokerReply| last_of(broker, &pushes, reply, within);
    let empty = empty_lengths(&long, |reply| waker(reply).is_some());
    let delivering: Vec<&BrokerReply> =
        long.into_iter().filter(|reply| !empty.contains(&reply.bytes)).collect();
    let woken: Vec<(&BrokerReply, &BrokerReceipt)> =
        delivering.iter().filter_map(|reply| waker(reply).map(|by| (*reply, by))).collect();
    let mostly = woken.len() as f64 >= WOKEN_SHARE * delivering.len() as f64;
    if woken.len() < MIN_WOKEN || !mostly || is_mutual(broker, replies, &woken) {
        return None;
    }
    let mut times: FxHashMap<MessageId, u32> = FxHashMap::default();
    woken.iter().for_each(|(_, by)| *times.entry(by.row).or_default() += 1);
    let to_all = times.values().filter(|times| **times > 1).count() * 2 > times.len();
    let [hits, expected] =
        [|wakes: &WakeRelation| wakes.hits, |wakes: &WakeRelation| wakes.expected]
            .map(|of| wakes.iter().map(of).sum::<f64>());
    let sure = (1.0 - expected / hits).clamp(0.5, 0.99);
    let is_for_requests = is_for_requests(all);
    let longer = usual_excess(&woken);
    let queue =
        ReplyQueue { replies, pushes, within, longer, empty, to_all, sure, is_for_requests };
    (!is_for_requests || is_balanced(broker, &queue)).then_some(queue)
}

/// Returns whether most replies are for threads that wait for them on behalf of a request.
pub(super) fn is_for_requests(all: &[BrokerReply]) -> bool {
    2 * all.iter().filter(|reply| reply.is_for_request).count() > all.len()
}

/// Returns whether the queue delivers no more than is pushed. A client that waits for a lock, too,
/// is answered when another one releases the lock, but most of its requests are answered without a
/// release.
fn is_balanced(broker: &Broker, queue: &ReplyQueue) -> bool {
    let all = &broker.replies[queue.replies].all;
    let deliveries = || all.iter().filter(|reply| !queue.empty.contains(&reply.bytes));
    let without_push = if queue.to_all {
        deliveries().filter(|reply| !was_awaited(reply, queue.within)).count()
    } else {
        let pushes: usize = queue.pushes.iter().map(|kind| broker.receipts[*kind].all.len()).sum();
        deliveries().count().saturating_sub(pushes)
    };
    DELIVERIES_PER_EXCEPTION * without_push <= deliveries().count()
}

/// Returns whether the reply was awaited for so long that it was not sent immediately; `within` is
/// the longest time from a wake-up to a reply.
pub(super) fn was_awaited(reply: &BrokerReply, within: i64) -> bool {
    reply.time.saturating_sub(reply.since) > within.saturating_mul(LONG_FACTOR)
}

/// The last receipt of these kinds within the time `within` before `reply`, if it came while the
/// reply was awaited.
fn last_of<'broker>(
    broker: &'broker Broker,
    kinds: &[usize],
    reply: &BrokerReply,
    within: i64,
) -> Option<&'broker BrokerReceipt> {
    let last = kinds.iter().filter_map(|kind| broker.receipts[*kind].last_before(reply));
    last.max_by_key(|receipt| receipt.time).filter(|receipt| {
        let is_soon = reply.time.saturating_sub(receipt.time) <= within;
        is_soon && receipt.time > reply.since && !broker.was_answered(receipt.time, reply.time)
    })
}

/// The relation of receipts of the kind `pushes` to replies of the `sample`, if the receipts wake
/// the replies.
fn wakes(broker: &Broker, sample: &[&BrokerReply], pushes: usize) -> Option<WakeRelation> {
    let receipts: &ReceiptsOfKind = &broker.receipts[pushes];
    // For each reply: how long it was awaited, the number of messages of the kind `pushes`
    // meanwhile, and the time since the last of them.
    let waits: Vec<(i64, f64, i64)> = sample
        .iter()
        .filter_map(|reply| {
            let last = receipts.last_before(reply).filter(|receipt| receipt.time > reply.since)?;
            let came = receipts
                .count_until(reply.time)
                .saturating_sub(receipts.count_until(reply.since)) as f64;
            let ago = reply.time.saturating_sub(last.time);
            let ago = if broker.was_answered(last.time, reply.time) { i64::MAX } else { ago };
            Some((reply.time.saturating_sub(reply.since), came, ago))
        })
        .collect();
    if waits.len() < MIN_WOKEN {
        return None;
    }
    let mut best: Option<WakeRelation> = None;
    for step in 0..TIMES_TRIED {
        let within = (FIRST_TIME * TIME_STEP.powi(step)) as i64;
        let (mut hits, mut expected) = (0.0, 0.0);
        for (waited, came, ago) in
            waits.iter().filter(|(waited, ..)| *waited > within.saturating_mul(LONG_FACTOR))
        {
            hits += f64::from(*ago <= within);
            expected += (came * within as f64 / *waited as f64).min(1.0);
        }
        if hits < MIN_WOKEN as f64 || hits < MIN_LIFT * expected {
            continue;
        }
        let score = hits * (hits / expected.max(1e-9)).ln() - (hits - expected);
        if score > best.as_ref().map_or(MIN_ODDS, |best| best.score) {
            best = Some(WakeRelation { pushes, within, score, hits, expected });
        }
    }
    best
}

/// Returns whether messages of a kind that is too rare on its own wake replies as the known kinds
/// do that the same nodes send to the same port: whenever a worker waited, they mostly woke one.
/// Only one of several waiting workers is woken, so each message is tested for whether it woke any;
/// if another message may have woken the same worker, the case does not count.
fn is_alike(
    broker: &Broker,
    all: &[BrokerReply],
    known: &[usize],
    kind: usize,
    within: i64,
) -> bool {
    let receipts = &broker.receipts[kind];
    if !known.iter().any(|known| broker.receipts[*known].hop == receipts.hop) {
        return false;
    }
    let (mut came, mut woke) = (0, 0);
    for receipt in &receipts.all {
        let next = all.partition_point(|reply| reply.time < receipt.time);
        let later = || all[next..].iter().take(MAX_LOOKED_AT);
        let waiting = |reply: &&BrokerReply| {
            reply.since < receipt.time && reply.peer != receipt.peer && was_awaited(reply, within)
        };
        let Some(first) = later().find(waiting) else { continue };
        let is_woken = first.time.saturating_sub(receipt.time) <= within;
        if is_woken && last_of(broker, known, first, within).is_some() {
            continue;
        }
        came += 1;
        woke += usize::from(is_woken);
    }
    came > 0 && 4 * woke >= 3 * came
}

/// The lengths of awaited replies that are hardly ever woken, and so deliver nothing.
fn empty_lengths(long: &[&BrokerReply], is_woken: impl Fn(&BrokerReply) -> bool) -> FxHashSet<i64> {
    let mut lengths: FxHashMap<i64, (u32, u32)> = FxHashMap::default();
    for reply in long {
        let (count, woken) = lengths.entry(reply.bytes).or_default();
        *count += 1;
        *woken += u32::from(is_woken(reply));
    }
    let is_empty = |(count, woken): (u32, u32)| {
        count >= MIN_OF_LENGTH && f64::from(woken) < HARDLY_SHARE * f64::from(count)
    };
    lengths.into_iter().filter(|(_, counts)| is_empty(*counts)).map(|(length, _)| length).collect()
}

/// Returns whether each side takes both roles at times, which is no queue: the replies are
/// requested, and most messages that wake them come over connections on which the same requests are
/// sent. The same requests have the same length, and responses of about the same length: to push
/// may by chance be as long as to ask for work.
fn is_mutual(broker: &Broker, replies: usize, woken: &[(&BrokerReply, &BrokerReceipt)]) -> bool {
    let own = &broker.replies[replies];
    let usual = median_length(&own.all);
    let same = broker.replies.iter().filter(|kind| kind.asked == own.asked && kind.asked != 0);
    let alike = same.filter(|kind| {
        let [shorter, longer] = [median_length(&kind.all), usual].map(|length| length.max(1));
        let [shorter, longer] = [shorter.min(longer), shorter.max(longer)];
        longer <= EQUAL_LENGTH_FACTOR * shorter
    });
    let asking: FxHashSet<FlowId> =
        alike.flat_map(|kind| &kind.all).map(|reply| reply.flow).collect();
    2 * woken.iter().filter(|(_, by)| asking.contains(&by.flow)).count() > woken.len()
}

/// Median length of replies, in bytes.
fn median_length(replies: &[BrokerReply]) -> i64 {
    let mut lengths: Vec<i64> = replies.iter().map(|reply| reply.bytes).collect();
    let middle = lengths.len() / 2;
    if lengths.is_empty() { 0 } else { *lengths.select_nth_unstable(middle).1 }
}

/// Usual difference in bytes between a delivery and its push, if there is one.
fn usual_excess(woken: &[(&BrokerReply, &BrokerReceipt)]) -> Option<i64> {
    let mut all: Vec<i64> =
        woken.iter().map(|(reply, by)| reply.bytes.saturating_sub(by.bytes)).collect();
    let middle = all.len() / 2;
    let (_, median, _) = all.select_nth_unstable(middle);
    let median = *median;
    let about =
        all.iter().filter(|longer| longer.saturating_sub(median).abs() <= LENGTH_TOLERANCE).count();
    (about as f64 >= CONSTANT_SHARE * all.len() as f64).then_some(median)
}
