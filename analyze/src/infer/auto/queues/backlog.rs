//! Backlogs: queues that are hardly ever empty. An overloaded worker receives a job immediately
//! whenever it asks. So almost no reply waits, and [`super::wakes`] has nothing to learn from. The
//! account of the queue shows it all the same: nothing is delivered before as much was pushed; when
//! a worker has to wait, or is answered with nothing, everything was delivered; and the first push
//! meanwhile ends the wait. Then the queue is FIFO.
//!
//! A server may ask on behalf of others, and the messages before a response may only belong to
//! these. So only workers that accept no connections are examined.

use message_trace::{MessageId, NodeId};
use rustc_hash::FxHashSet;

use super::broker::{Broker, BrokerReceipt, BrokerReply, ReceiptsOfKind};
use super::wakes::ReplyQueue;
use crate::tuning::auto::queues::backlog::{
    AGREED_SHARE, LONGER_FACTOR, MIN_DELIVERIES, MIN_WAIT, NEARLY_ALL, NEIGHBOUR, SURE,
    WAIT_DIVISOR,
};

/// Deliveries with the pushes that may have caused each and their probabilities, the likeliest
/// first.
pub(super) type Deliveries = Vec<(MessageId, Vec<(MessageId, f64)>)>;

/// The replies of one kind as a queue, if it is hardly ever empty, with the deliveries of each
/// reply.
pub(super) fn queue(broker: &Broker, replies: usize) -> Option<(ReplyQueue, Deliveries)> {
    let all = &broker.replies[replies].all;
    if all.len() < MIN_DELIVERIES
        || all.iter().any(|reply| reply.request.is_none() || !reply.to_client)
    {
        return None;
    }
    let mut took: Vec<i64> =
        all.iter().map(|reply| reply.time.saturating_sub(reply.since)).collect();
    let place = ((took.len() - 1) as f64 * NEARLY_ALL) as usize;
    let (_, usual, _) = took.select_nth_unstable(place);
    let long = usual.saturating_mul(LONGER_FACTOR).max(MIN_WAIT);
    let is_long = |reply: &&BrokerReply| reply.time.saturating_sub(reply.since) > long;
    if !all.iter().any(|reply| is_long(&reply)) {
        return None;
    }
    let asking: FxHashSet<NodeId> = all.iter().map(|reply| reply.peer).collect();
    // Among all accounts that agree, the one with the latest pushes is nearest to the deliveries.
    candidates(broker)
        .into_iter()
        .filter_map(|kinds| {
            QueueAccount::from_kinds(broker, all, &asking, &kinds, is_long)
                .map(|account| (account, kinds))
        })
        .min_by_key(|(account, _)| account.lay)
        .map(|(account, pushes)| {
            let deliveries = account.deliveries();
            let empty = account.empty;
            let sure = SURE;
            (
                ReplyQueue {
                    replies,
                    pushes,
                    within: long,
                    longer: None,
                    empty,
                    to_all: false,
                    sure,
                },
                deliveries,
            )
        })
}

/// Kinds of receipts that may be the pushes: one kind, the kinds with similar responses from one
/// node or from all, or the kinds from one node with one length. The response may contain the
/// length of the queue, and grows with it.
fn candidates(broker: &Broker) -> Vec<Vec<usize>> {
    let kinds = 0..broker.receipts.len();
    let mut found: Vec<Vec<usize>> = kinds.clone().map(|kind| vec![kind]).collect();
    let alike: [fn(&ReceiptsOfKind, &ReceiptsOfKind) -> bool; 3] = [
        |one, other| other.answered == one.answered && other.hop == one.hop,
        |one, other| other.answered == one.answered,
        |one, other| other.asked == one.asked && other.hop == one.hop,
    ];
    for one in &broker.receipts {
        for is_alike in alike {
            found.push(
                kinds.clone().filter(|kind| is_alike(one, &broker.receipts[*kind])).collect(),
            );
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Pushes and deliveries, each in order.
struct QueueAccount<'broker> {
    pushes: Vec<&'broker BrokerReceipt>,
    brought: Vec<&'broker BrokerReply>,
    empty: FxHashSet<i64>,
    /// Sum of the times in the queue, in nanoseconds.
    lay: i64,
}

impl<'broker> QueueAccount<'broker> {
    /// The account of these kinds of pushes, if it agrees with the replies; nodes that are `asking`
    /// do not push.
    fn from_kinds(
        broker: &'broker Broker,
        all: &'broker [BrokerReply],
        asking: &FxHashSet<NodeId>,
        kinds: &[usize],
        is_long: impl Fn(&&BrokerReply) -> bool,
    ) -> Option<QueueAccount<'broker>> {
        let receipts = kinds.iter().flat_map(|kind| &broker.receipts[*kind].all);
        let mut pushes: Vec<&BrokerReceipt> = receipts.collect();
        if pushes.len() < MIN_DELIVERIES || pushes.iter().any(|push| asking.contains(&push.peer)) {
            return None;
        }
        pushes.sort_by_key(|push| (push.time, push.row));
        let until = |time: i64| pushes.partition_point(|push| push.time <= time);
        // A long poll that returned although nothing was pushed has timed out.
        let in_vain =
            |reply: &&BrokerReply| is_long(reply) && until(reply.since) == until(reply.time);
        let empty: FxHashSet<i64> = all.iter().filter(in_vain).map(|reply| reply.bytes).collect();
        let brought: Vec<&BrokerReply> =
            all.iter().filter(|reply| !empty.contains(&reply.bytes)).collect();
        let is_after = brought.iter().zip(&pushes).all(|(reply, push)| push.time < reply.time);
        if brought.len() < MIN_DELIVERIES || brought.len() > pushes.len() || !is_after {
            return None;
        }
        let account =
            QueueAccount { lay: total_queue_time(&pushes, &brought), pushes, brought, empty };
        account.agrees(all, is_long).then_some(account)
    }

    /// Returns whether the queue is empty when a worker waited for it, or when a reply reports that
    /// it is empty, not only in the beginning; and whether each wait ended with the first push
    /// after it.
    fn agrees(&self, all: &[BrokerReply], is_long: impl Fn(&&BrokerReply) -> bool) -> bool {
        let until = |time: i64| self.pushes.partition_point(|push| push.time <= time);
        let delivered = |time: i64| self.brought.partition_point(|reply| reply.time < time);
        let (mut cases, mut agree, mut woken, mut later) = (0, 0, 0, 0);
        for reply in all {
            let is_empty = self.empty.contains(&reply.bytes);
            if !is_empty && !is_long(&reply) {
                continue;
            }
            cases += 1;
            let (had, has) = (until(reply.since), until(reply.time));
            let nothing_lay = had == delivered(reply.time);
            later += usize::from(nothing_lay && had >= MIN_DELIVERIES);
            let took = reply.time.saturating_sub(reply.since);
            // A busy broker reads more than one push before it notifies the waiting worker.
            let came_last = has > had
                && self.pushes[had].time >= reply.time.saturating_sub(took / WAIT_DIVISOR);
            woken += usize::from(!is_empty && nothing_lay && came_last);
            agree += usize::from(nothing_lay && (is_empty && has == had || came_last));
        }
        // If there are no further requests, everything must have been delivered, or the result is
        // not known.
        let at_end = self.pushes.len() == self.brought.len();
        woken > 0 && agree as f64 >= AGREED_SHARE * cases as f64 && (later > 0 || at_end)
    }

    fn deliveries(&self) -> Deliveries {
        let cause = |place: usize, reply: &BrokerReply| {
            let neighbours = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
            let neighbours = neighbours
                .filter_map(|at| self.pushes.get(at))
                .filter(|push| push.time < reply.time);
            let first = self.pushes.get(place).map(|push| (push.row, SURE));
            first.into_iter().chain(neighbours.map(|push| (push.row, NEIGHBOUR))).collect()
        };
        (0..).zip(&self.brought).map(|(place, reply)| (reply.row, cause(place, reply))).collect()
    }
}

/// Sum of the times in the queue, in FIFO order.
fn total_queue_time(pushes: &[&BrokerReceipt], brought: &[&BrokerReply]) -> i64 {
    let each = brought.iter().zip(pushes).map(|(reply, push)| reply.time.saturating_sub(push.time));
    each.fold(0, i64::saturating_add)
}
