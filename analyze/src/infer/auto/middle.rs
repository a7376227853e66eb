//! Untraced intermediaries. A program that was not recorded (a static one, say) is visible only
//! through its traced peers. It is a server if they call it; if it calls others, these have
//! connections from unknown clients. Here the calls of the program are found among those of unknown
//! clients, so that it becomes a service like any other, with times on its peers' clocks.
//!
//! Calls of one kind from unknown clients were made by an untraced server at the same address if
//! they all lie within requests to it, and would not at other times. So clients are not attributed
//! to a server that happens to be on their machine (a load generator next to a database), nor to a
//! server that always has a request open (a queue that is polled).

use std::net::IpAddr;

use message_trace::{Endpoint, EndpointId, MessageId, MessageTrace, NodeId};
use rustc_hash::FxHashMap;

use crate::calls::Calls;
use crate::naming::Naming;
use crate::tuning::auto::services::middle::{CHANCE_SHARE, MIN_CALLS, OTHER_TIMES, WITHIN_SHARE};

/// An address and, since each machine has its own loopback address, the host of its peer.
type ServerAddress<'a> = (IpAddr, Option<&'a str>);

/// The times of the first and the last event of a call at its traced end, in nanoseconds on the
/// common clock.
type CallTimes = (i64, i64);

/// The most likely makers of the calls of unknown clients.
pub(super) struct UntracedIntermediaries<'a> {
    /// The node that made the calls of a kind from an address.
    makers: FxHashMap<(ServerAddress<'a>, u32), u32>,
}

impl<'a> UntracedIntermediaries<'a> {
    pub(super) fn from_trace(
        trace: &'a MessageTrace,
        naming: &Naming,
        calls: &Calls,
    ) -> UntracedIntermediaries<'a> {
        let mut served: FxHashMap<ServerAddress<'a>, FxHashMap<u32, Vec<CallTimes>>> =
            FxHashMap::default();
        let mut made: FxHashMap<(ServerAddress<'a>, u32), Vec<CallTimes>> = FxHashMap::default();
        for call in calls.iter() {
            let (Some(row), Some(answer)) = (calls.request(call), calls.response(call)) else {
                continue;
            };
            let traced = |node: u32| naming.nodes()[node as usize].traced;
            let message = trace.message(row);
            match (traced(naming.src(row)), traced(naming.dst(row))) {
                (true, false) => {
                    let seen = trace.send_ts(row).zip(trace.arrival_time(answer));
                    if let Some((seen, server_address)) =
                        seen.zip(server_address(trace, message.dst_endpoint, message.src))
                    {
                        served
                            .entry(server_address)
                            .or_default()
                            .entry(naming.dst(row))
                            .or_default()
                            .push(seen);
                    }
                }
                (false, true) if is_unknown_client(naming, row) => {
                    let seen = trace.arrival_time(row).zip(trace.send_ts(answer));
                    if let Some((seen, server_address)) =
                        seen.zip(server_address(trace, message.src_endpoint, message.dst))
                    {
                        made.entry((server_address, naming.hop(row))).or_default().push(seen);
                    }
                }
                _ => {}
            }
        }
        let mut makers = FxHashMap::default();
        for ((server_address, kind), calls) in
            made.into_iter().filter(|(_, calls)| calls.len() >= MIN_CALLS)
        {
            let servers = served.get(&server_address).into_iter().flatten();
            let fits = servers
                .filter_map(|(node, requests)| Some((*node, coincidence_share(requests, &calls)?)));
            // The candidate with the fewest requests open at other times is the strongest evidence.
            let best = fits.min_by(|(node, chance), (other, less)| {
                chance.total_cmp(less).then(node.cmp(other))
            });
            if let Some((node, _)) = best {
                makers.insert((server_address, kind), node);
            }
        }
        UntracedIntermediaries { makers }
    }

    /// The node that made the call with this request row, if it came from an unknown client.
    pub(super) fn maker(
        &self,
        trace: &'a MessageTrace,
        naming: &Naming,
        row: MessageId,
    ) -> Option<u32> {
        if self.makers.is_empty() || !is_unknown_client(naming, row) {
            return None;
        }
        let message = trace.message(row);
        let server_address = server_address(trace, message.src_endpoint, message.dst)?;
        self.makers.get(&(server_address, naming.hop(row))).copied()
    }
}

/// Returns whether the sender of the message is an untraced node with ephemeral ports only.
fn is_unknown_client(naming: &Naming, row: MessageId) -> bool {
    let node = naming.nodes()[naming.src(row) as usize];
    node.client && !node.traced
}

/// Address of an endpoint that talks to `peer`.
fn server_address(
    trace: &MessageTrace,
    endpoint: EndpointId,
    peer: NodeId,
) -> Option<ServerAddress<'_>> {
    let Some(Endpoint::Inet(address)) = trace.endpoint(endpoint) else { return None };
    let address = address.ip().to_canonical();
    let host = trace.nodes.get(peer).map(|node| node.host.as_str());
    Some((address, host.filter(|_| address.is_loopback())))
}

/// The share of the calls that would also lie within requests at other times; `None` unless all
/// calls lie within requests at their own times.
fn coincidence_share(requests: &[CallTimes], calls: &[CallTimes]) -> Option<f64> {
    let mut requests = requests.to_vec();
    requests.sort_unstable();
    let mut took: Vec<i64> =
        requests.iter().map(|(begin, end)| end.saturating_sub(*begin)).collect();
    let place = took.len().checked_sub(1)? * 9 / 10;
    let (_, long, _) = took.select_nth_unstable(place);
    let long = *long;
    // The latest end of the requests up to each one.
    let ends: Vec<i64> = requests
        .iter()
        .scan(i64::MIN, |latest, (_, end)| {
            *latest = (*latest).max(*end);
            Some(*latest)
        })
        .collect();
    let within = |by: i64| {
        let is_within = |(begin, end): &&CallTimes| {
            let before = requests.partition_point(|request| request.0 <= begin.saturating_add(by));
            before > 0 && ends[before - 1] >= end.saturating_add(by)
        };
        calls.iter().filter(is_within).count() as f64 / calls.len() as f64
    };
    let chance = OTHER_TIMES.iter().map(|times| within(long.saturating_mul(*times))).sum::<f64>()
        / OTHER_TIMES.len() as f64;
    (requests.len() >= MIN_CALLS && within(0) >= WITHIN_SHARE && chance <= CHANCE_SHARE)
        .then_some(chance)
}

#[cfg(test)]
#[path = "middle_tests.rs"]
mod tests;
