//! Matches each delivery with its push. A delivery that was awaited is caused by the push just
//! before it. An immediate delivery is caused by an earlier push that is not delivered yet, the
//! oldest first. If the length of a delivery follows from its push, pushes of the right length are
//! preferred.

use std::collections::VecDeque;

use message_trace::{FlowId, MessageId};
use rustc_hash::FxHashSet;

use super::backlog::Deliveries;
use super::broker::{Broker, BrokerReply};
use super::wakes::{ReplyQueue, was_awaited};
use crate::infer::auto::in_turn::match_in_fifo;
use crate::tuning::auto::queues::in_order::{
    ITEMS_PER_EXCEPTION, LATER_FACTOR, MAX_CAUSES, MAX_LOOKED_THROUGH, MAX_TOGETHER,
    OTHER_LENGTH_FACTOR,
};
use crate::tuning::auto::queues::wakes::LENGTH_TOLERANCE;

/// A push that may not be delivered yet.
#[derive(Clone, Copy)]
struct PendingPush {
    time: i64,
    row: MessageId,
    flow: FlowId,
    bytes: i64,
    /// The index of its kind among the receipts of the broker.
    kind: usize,
}

/// The causes of the deliveries of all `queues` of one broker: pushes with their probabilities, the
/// likeliest first.
pub(super) fn causes(broker: &Broker, queues: &[ReplyQueue]) -> Deliveries {
    let mut deliveries: Vec<(&BrokerReply, usize)> = Vec::new();
    let mut found = Vec::new();
    for (at, queue) in queues.iter().enumerate() {
        if let Some(unsolicited) = unsolicited_deliveries(broker, queue) {
            found.extend(unsolicited);
            continue;
        }
        deliveries.extend(broker.replies[queue.replies].all.iter().map(|reply| (reply, at)));
    }
    deliveries.sort_by_key(|(reply, _)| (reply.time, reply.row));
    let mut kinds: Vec<usize> =
        queues.iter().flat_map(|queue| queue.pushes.iter().copied()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let pushes = pushes(broker, &kinds);
    let mut next = 0;
    // Pending pushes, the oldest first.
    let mut pending: VecDeque<PendingPush> = VecDeque::new();
    // For each queue the latest time at which a worker was waiting, so that all earlier pushes were
    // delivered.
    let mut empty_until = vec![i64::MIN; queues.len()];
    for (reply, at) in deliveries {
        let queue = &queues[at];
        while let Some(push) = pushes.get(next).filter(|push| push.time <= reply.time) {
            pending.push_back(*push);
            next += 1;
        }
        let has_waited = was_awaited(reply, queue.within);
        let is_unasked = reply.request.is_none();
        let soon = queue.within.saturating_mul(2);
        if queue.to_all {
            // Pushes to all subscribers are not kept for later ones.
            empty_until[at] = reply.time.saturating_sub(soon).saturating_sub(1);
        } else if has_waited && !is_unasked {
            empty_until[at] = empty_until[at].max(reply.since);
        }
        let least = empty_until.iter().copied().min().unwrap_or(i64::MIN);
        while pending.len() > MAX_LOOKED_THROUGH
            || pending.front().is_some_and(|push| push.time <= least)
        {
            pending.pop_front();
        }
        if queue.empty.contains(&reply.bytes) {
            continue;
        }
        let is_possible = |push: &&PendingPush| {
            let ago = reply.time.saturating_sub(push.time);
            let is_soon = ago <= soon;
            queue.pushes.contains(&push.kind)
                && push.flow != reply.flow
                && push.time > empty_until[at]
                && (is_soon || !(has_waited || queue.to_all))
        };
        let mut weighed = weigh_pushes(pending.iter().filter(is_possible), reply, queue);
        if weighed.is_empty() && has_waited && !queue.to_all {
            weighed = late_cause(&pending, reply, queue);
        }
        let Some((first, _)) = weighed.first().copied() else { continue };
        let fits = |row: MessageId| {
            pending.iter().any(|push| push.row == row && has_right_length(push, reply, queue))
        };
        // Any response comes immediately; only its length shows that this one is a delivery.
        if !has_waited && queue.longer.is_some() && !fits(first) {
            continue;
        }
        let sum: f64 = weighed.iter().map(|(_, weight)| weight).sum();
        weighed.iter_mut().for_each(|(_, weight)| *weight *= queue.sure / sum);
        if !queue.to_all {
            pending.retain(|push| push.row != first);
        }
        found.push((reply.row, weighed));
    }
    found
}

/// Cause of a reply that was awaited, if no push came right before it: on a busy machine the broker
/// is woken late. The cause is the oldest undelivered push during the wait with the right length.
fn late_cause(
    pending: &VecDeque<PendingPush>,
    reply: &BrokerReply,
    queue: &ReplyQueue,
) -> Vec<(MessageId, f64)> {
    let is_late = |push: &&PendingPush| {
        queue.pushes.contains(&push.kind)
            && push.flow != reply.flow
            && push.time > reply.since
            && has_right_length(push, reply, queue)
    };
    weigh_pushes(pending.iter().filter(is_late), reply, queue)
}

/// The causes of unsolicited deliveries over a connection that carries other messages, too, if
/// there are about as many deliveries as pushes: each is caused by the push at its FIFO position,
/// or by several together.
fn unsolicited_deliveries(broker: &Broker, queue: &ReplyQueue) -> Option<Deliveries> {
    let longer = queue.longer.filter(|_| !queue.to_all)?;
    let all = &broker.replies[queue.replies].all;
    if all.iter().any(|reply| reply.request.is_some()) {
        return None;
    }
    let known = pushes(broker, &queue.pushes);
    let mut lengths: Vec<i64> = known.iter().map(|push| push.bytes + longer).collect();
    if lengths.is_empty() {
        return None;
    }
    let middle = lengths.len() / 2;
    let usual = (*lengths.select_nth_unstable(middle).1).max(1);
    // A message with the length of several deliveries carries several, and a much shorter one is
    // not a delivery.
    let mut deliveries: Vec<(&BrokerReply, i64)> = Vec::new();
    for reply in all.iter().filter(|reply| !queue.empty.contains(&reply.bytes)) {
        let several = (reply.bytes as f64 / usual as f64).round().max(0.0);
        let several = if several > MAX_TOGETHER { 1 } else { several as i64 };
        deliveries.extend((0..several).map(|_| (reply, reply.bytes / several)));
    }
    // If every delivery fits the push at its FIFO position, none is left out, however long a broker
    // delays some of them.
    let is_in_fifo = |pushes: &Vec<PendingPush>| {
        let fits = |(push, (reply, bytes)): (&PendingPush, &(&BrokerReply, i64))| {
            push.time <= reply.time && (bytes - push.bytes - longer).abs() <= LENGTH_TOLERANCE
        };
        pushes.len() == deliveries.len() && pushes.iter().zip(&deliveries).all(fits)
    };
    let all_in_fifo = [&known, &pushes(broker, &kinds_of_these_lengths(broker, queue, &known))]
        .into_iter()
        .find(|pushes| is_in_fifo(pushes))
        .map(|pushes| pushes.iter().map(|push| Some(*push)).collect::<Vec<_>>());
    if all_in_fifo.is_none()
        && ITEMS_PER_EXCEPTION * deliveries.len().abs_diff(known.len()) > known.len()
    {
        return None;
    }
    let by_waits = || {
        let given: Vec<i64> = known.iter().map(|push| push.time).collect();
        let begun: Vec<i64> = deliveries.iter().map(|(reply, _)| reply.time).collect();
        let fits = |push: usize, reply: usize| {
            (deliveries[reply].1 - known[push].bytes - longer).abs() <= LENGTH_TOLERANCE
        };
        match_in_fifo(&given, &begun, fits)
            .into_iter()
            .map(|push| push.map(|push| known[push]))
            .collect()
    };
    let mut found: Deliveries = Vec::new();
    for ((reply, _), push) in deliveries.iter().zip(all_in_fifo.unwrap_or_else(by_waits)) {
        let Some(push) = push else { continue };
        let cause = (push.row, queue.sure);
        match found.last_mut().filter(|(row, _)| *row == reply.row) {
            Some((_, causes)) => causes.push(cause),
            None => found.push((reply.row, vec![cause])),
        }
    }
    let taken: usize = found.iter().map(|(_, causes)| causes.len()).sum();
    if ITEMS_PER_EXCEPTION * (deliveries.len() - taken) > deliveries.len() {
        return None;
    }
    for (_, causes) in &mut found {
        let several = causes.len() as f64;
        causes.iter_mut().for_each(|(_, share)| *share /= several);
    }
    Some(found)
}

/// The kinds of receipts that are pushes of the queue, and other kinds on the same hops that have
/// the lengths of the `known` pushes and differ only in their responses.
fn kinds_of_these_lengths(
    broker: &Broker,
    queue: &ReplyQueue,
    known: &[PendingPush],
) -> Vec<usize> {
    let lengths: FxHashSet<i64> = known.iter().map(|push| push.bytes).collect();
    let is_one = |kind: &usize| {
        let receipts = &broker.receipts[*kind];
        let is_on_same_hop =
            || queue.pushes.iter().any(|known| broker.receipts[*known].hop == receipts.hop);
        queue.pushes.contains(kind)
            || is_on_same_hop()
                && receipts.all.iter().all(|receipt| lengths.contains(&receipt.bytes))
    };
    (0..broker.receipts.len()).filter(is_one).collect()
}

/// All receipts of these kinds, by time.
fn pushes(broker: &Broker, kinds: &[usize]) -> Vec<PendingPush> {
    let mut pushes: Vec<PendingPush> = Vec::new();
    for kind in kinds.iter().copied() {
        let all = broker.receipts[kind].all.iter();
        pushes.extend(all.map(|of| PendingPush {
            time: of.time,
            row: of.row,
            flow: of.flow,
            bytes: of.bytes,
            kind,
        }));
    }
    pushes.sort_by_key(|push| (push.time, push.row));
    pushes
}

/// Returns whether the length of the reply follows from the length of the push.
fn has_right_length(push: &PendingPush, reply: &BrokerReply, queue: &ReplyQueue) -> bool {
    queue.longer.is_some_and(|longer| (reply.bytes - push.bytes - longer).abs() <= LENGTH_TOLERANCE)
}

/// The likeliest of the `possible` pushes, which are ordered from the oldest on, with their
/// weights.
fn weigh_pushes<'push>(
    possible: impl Iterator<Item = &'push PendingPush>,
    reply: &BrokerReply,
    queue: &ReplyQueue,
) -> Vec<(MessageId, f64)> {
    // Number of pushes so far without and with the right length.
    let mut places = [0; 2];
    let mut weighed: Vec<(MessageId, f64)> = Vec::new();
    // A broadcast delivers the latest push, a queue the oldest.
    let possible: Vec<&PendingPush> = possible.collect();
    let ordered: Vec<&PendingPush> =
        if queue.to_all { possible.into_iter().rev().collect() } else { possible };
    for push in ordered {
        let fits = queue.longer.is_none() || has_right_length(push, reply, queue);
        let place = &mut places[usize::from(fits)];
        if *place >= MAX_CAUSES {
            continue;
        }
        weighed.push((
            push.row,
            LATER_FACTOR.powi(*place as i32) * if fits { 1.0 } else { OTHER_LENGTH_FACTOR },
        ));
        *place += 1;
    }
    weighed.sort_by(|one, other| other.1.total_cmp(&one.1));
    weighed.truncate(MAX_CAUSES);
    weighed
}
