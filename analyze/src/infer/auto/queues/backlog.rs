//! Backlogs: queues that are hardly ever empty. An overloaded worker receives a job immediately
//! whenever it asks. So almost no reply waits, and [`super::wakes`] has nothing to learn from. The
//! queue is recognised by its account, that is, how many items were pushed and how many delivered
//! by each time: at no time was more delivered than pushed; when a worker has to wait, or is
//! answered with nothing, everything was delivered; and the first push during a wait ends it. Then
//! the queue is FIFO.
//!
//! A server may ask on behalf of others, and the messages before a response may only belong to the
//! others. So only workers that accept no connections are examined.

use message_trace::{MessageId, NodeId};
use rustc_hash::FxHashSet;

use super::broker::{Broker, BrokerReceipt, BrokerReply, ReceiptsOfKind};
use super::wakes::{self, ReplyQueue};
use crate::tuning::auto::queues::backlog::{
    AGREED_SHARE, FIFO_SHARE, LONGER_FACTOR, MIN_DELIVERIES, MIN_WAIT, NEARLY_ALL, NEIGHBOUR_SHARE,
    WAIT_DIVISOR,
};

/// Deliveries with the pushes that may have caused each and their probabilities, the likeliest
/// first.
pub(super) type Deliveries = Vec<(MessageId, Vec<(MessageId, f64)>)>;

/// The replies of one kind, with the index `replies` at the broker, as a queue with its deliveries;
/// `None` if they do not come from a queue that is hardly ever empty.
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
        .min_by_key(|(account, _)| account.time_in_queue)
        .map(|(account, pushes)| {
            let deliveries = account.deliveries();
            let empty = account.empty;
            let sure = FIFO_SHARE;
            (
                ReplyQueue {
                    replies,
                    pushes,
                    within: long,
                    longer: None,
                    empty,
                    to_all: false,
                    sure,
                    is_for_requests: wakes::is_for_requests(all),
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

/// The account of a queue: its pushes and deliveries, each in order.
struct QueueAccount<'broker> {
    pushes: Vec<&'broker BrokerReceipt>,
    /// The replies that deliver something.
    delivering: Vec<&'broker BrokerReply>,
    /// The lengths of replies that deliver nothing.
    empty: FxHashSet<i64>,
    /// Sum of the times in the queue, in nanoseconds.
    time_in_queue: i64,
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
        let has_timed_out =
            |reply: &&BrokerReply| is_long(reply) && until(reply.since) == until(reply.time);
        let empty: FxHashSet<i64> =
            all.iter().filter(has_timed_out).map(|reply| reply.bytes).collect();
        let delivering: Vec<&BrokerReply> =
            all.iter().filter(|reply| !empty.contains(&reply.bytes)).collect();
        let is_after = delivering.iter().zip(&pushes).all(|(reply, push)| push.time < reply.time);
        if delivering.len() < MIN_DELIVERIES || delivering.len() > pushes.len() || !is_after {
            return None;
        }
        let account = QueueAccount {
            time_in_queue: total_queue_time(&pushes, &delivering),
            pushes,
            delivering,
            empty,
        };
        account.agrees(all, is_long).then_some(account)
    }

    /// Returns whether, by this account, the queue was empty whenever a worker waited long or a
    /// reply delivered nothing, and whether each such wait ended with the first push after its
    /// start. Waits at the beginning of the trace alone are not sufficient.
    fn agrees(&self, all: &[BrokerReply], is_long: impl Fn(&&BrokerReply) -> bool) -> bool {
        let until = |time: i64| self.pushes.partition_point(|push| push.time <= time);
        let delivered = |time: i64| self.delivering.partition_point(|reply| reply.time < time);
        let (mut cases, mut agree, mut woken, mut later) = (0, 0, 0, 0);
        for reply in all {
            let is_empty = self.empty.contains(&reply.bytes);
            if !is_empty && !is_long(&reply) {
                continue;
            }
            cases += 1;
            let (had, has) = (until(reply.since), until(reply.time));
            let was_empty = had == delivered(reply.time);
            later += usize::from(was_empty && had >= MIN_DELIVERIES);
            let took = reply.time.saturating_sub(reply.since);
            // A busy broker reads more than one push before it notifies the waiting worker.
            let came_last = has > had
                && self.pushes[had].time >= reply.time.saturating_sub(took / WAIT_DIVISOR);
            woken += usize::from(!is_empty && was_empty && came_last);
            agree += usize::from(was_empty && (is_empty && has == had || came_last));
        }
        // If there are no further requests, everything must have been delivered, or the result is
        // not known.
        let at_end = self.pushes.len() == self.delivering.len();
        woken > 0 && agree as f64 >= AGREED_SHARE * cases as f64 && (later > 0 || at_end)
    }

    /// The deliveries with their likeliest pushes: the push in FIFO order and its neighbours.
    fn deliveries(&self) -> Deliveries {
        let cause = |place: usize, reply: &BrokerReply| {
            let neighbours = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
            let neighbours = neighbours
                .filter_map(|at| self.pushes.get(at))
                .filter(|push| push.time < reply.time);
            let first = self.pushes.get(place).map(|push| (push.row, FIFO_SHARE));
            first.into_iter().chain(neighbours.map(|push| (push.row, NEIGHBOUR_SHARE))).collect()
        };
        (0..).zip(&self.delivering).map(|(place, reply)| (reply.row, cause(place, reply))).collect()
    }
}

/// Sum of the times in the queue, in FIFO order.
fn total_queue_time(pushes: &[&BrokerReceipt], delivering: &[&BrokerReply]) -> i64 {
    let each =
        delivering.iter().zip(pushes).map(|(reply, push)| reply.time.saturating_sub(push.time));
    each.fold(0, i64::saturating_add)
}
