//! Queues that are hardly ever empty. A worker that has less time than there is work gets something
//! at once whenever it asks. So almost nothing is waited for, and [`super::wakes`] has nothing to
//! learn from. Such a queue shows by its account: nothing is delivered before as much was pushed;
//! who has to wait, or is told that there is nothing, finds all delivered; and the first push that
//! comes meanwhile ends the waiting. Then the oldest push goes first.
//!
//! A server may ask on behalf of others, and what comes before an answer be only what these did
//! before. So only workers to whom nobody connects are looked at.

use rustc_hash::FxHashSet;

use super::broker::{Broker, BrokerReceipt, BrokerReply, ReceiptsOfKind};
use super::wakes::ReplyQueue;
use crate::tuning::auto::queues::backlog::{
    AGREED_SHARE, LONGER_FACTOR, MIN_DELIVERIES, MIN_WAIT, NEARLY_ALL, NEIGHBOUR, SURE,
    WAIT_DIVISOR,
};

/// Deliveries by their rows, with the rows of pushes and their probabilities, the likeliest first.
pub(super) type Deliveries = Vec<(u32, Vec<(u32, f64)>)>;

/// The replies of one kind as a queue, if they are from one that is hardly ever empty, and what
/// each of them delivers.
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
    let asking: FxHashSet<u32> = all.iter().map(|reply| reply.peer as u32).collect();
    // Among all that agree, the one that came last is nearest to the delivery.
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

/// Kinds of receipts that may be the pushes: one kind, the kinds that are answered alike from one
/// node or from all, or those from one node and of one length. The answer may tell how much lies in
/// the queue, and becomes longer with that.
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
    /// The account of these kinds of pushes, if it agrees with the replies; those who are `asking`
    /// push nothing themselves.
    fn from_kinds(
        broker: &'broker Broker,
        all: &'broker [BrokerReply],
        asking: &FxHashSet<u32>,
        kinds: &[usize],
        is_long: impl Fn(&&BrokerReply) -> bool,
    ) -> Option<QueueAccount<'broker>> {
        let receipts = kinds.iter().flat_map(|kind| &broker.receipts[*kind].all);
        let mut pushes: Vec<&BrokerReceipt> = receipts.collect();
        if pushes.len() < MIN_DELIVERIES
            || pushes.iter().any(|push| asking.contains(&(push.peer as u32)))
        {
            return None;
        }
        pushes.sort_by_key(|push| (push.time, push.row));
        let until = |time: i64| pushes.partition_point(|push| push.time <= time);
        // In vain was what was long and came without a push.
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

    /// Whether the queue is empty where it was waited for, or is said to be empty, not only in the
    /// beginning; and whether each wait ended with the first push after it.
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
            // A broker that is busy reads more than one before it tells who waits.
            let came_last = has > had
                && self.pushes[had].time >= reply.time.saturating_sub(took / WAIT_DIVISOR);
            woken += usize::from(!is_empty && nothing_lay && came_last);
            agree += usize::from(nothing_lay && (is_empty && has == had || came_last));
        }
        // Where nothing is asked for any more all must have been delivered, or it is not known.
        let at_end = self.pushes.len() == self.brought.len();
        woken > 0 && agree as f64 >= AGREED_SHARE * cases as f64 && (later > 0 || at_end)
    }

    fn deliveries(&self) -> Deliveries {
        let cause = |place: usize, reply: &BrokerReply| {
            let beside = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
            let beside =
                beside.filter_map(|at| self.pushes.get(at)).filter(|push| push.time < reply.time);
            let first = self.pushes.get(place).map(|push| (push.row, SURE));
            first.into_iter().chain(beside.map(|push| (push.row, NEIGHBOUR))).collect()
        };
        (0..).zip(&self.brought).map(|(place, reply)| (reply.row, cause(place, reply))).collect()
    }
}

/// Sum of the times in the queue, in its order.
fn total_queue_time(pushes: &[&BrokerReceipt], brought: &[&BrokerReply]) -> i64 {
    let each = brought.iter().zip(pushes).map(|(reply, push)| reply.time.saturating_sub(push.time));
    each.fold(0, i64::saturating_add)
}
