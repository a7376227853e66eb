//! Fragments of requests on several hosts, joined into one request by sent and received messages
//! (Magpie, section 4.1).

use std::collections::BTreeMap;

use crate::joined_request::{JoinedRequest, SyncEdge};

/// Bytes that an event of a fragment sent or received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FragmentPacket {
    /// Identifier of the connection at both ends. If messages have ids, the id of the message.
    pub connection: u64,
    /// Direction of the packet, one of the connection's two; both ends agree on it.
    pub is_back: bool,
    /// Offset of the packet's first byte in its direction of the connection, from 0.
    pub begin: i64,
    /// Offset after the packet's last byte. An empty packet counts as one byte.
    pub end: i64,
    /// Whether the event sent the packet. Otherwise it received it.
    pub is_sent: bool,
    /// Index of the fragment.
    pub fragment: u32,
    /// Index of the event in the fragment.
    pub event: u32,
}

/// Requests of several hosts: fragments that are connected by packets become one request. The
/// request begins with the fragment that sends before it receives, and has the number of this
/// fragment. Fragments that no packet connects with another one are unchanged. Requests are in the
/// order of their first fragments.
///
/// Bytes that a fragment sent without receiving on the same connection in between, and bytes that
/// it received without sending in between, are one message, because the number of pieces in which a
/// message is transferred is random. The synchronisation leads from the last send of the message to
/// its last receive. Packets of fragments or events that do not exist are skipped.
pub fn stitch_fragments(
    fragments: &[JoinedRequest],
    packets: &[FragmentPacket],
) -> Vec<JoinedRequest> {
    let has_event = |packet: &&FragmentPacket| {
        let fragment = fragments.get(packet.fragment as usize);
        fragment.is_some_and(|of| (packet.event as usize) < of.events.len())
    };
    let packets: Vec<FragmentPacket> = packets.iter().filter(has_event).copied().collect();
    let ties = match_messages(merge_packets(packets));
    let mut group: Vec<u32> = (0..fragments.len() as u32).collect();
    for (from, to) in &ties {
        let (from, to) = (group_root(&mut group, from.0), group_root(&mut group, to.0));
        group[from.max(to) as usize] = from.min(to);
    }
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for place in 0..fragments.len() as u32 {
        members.entry(group_root(&mut group, place)).or_default().push(place);
    }
    let is_opener = find_openers(&ties, fragments.len());
    let mut whole: Vec<(u32, JoinedRequest)> = Vec::new();
    // For each fragment the index of its request, and the number of the request's events before its
    // own.
    let mut locations = vec![(0, 0_u32); fragments.len()];
    for of in members.values_mut() {
        of.sort_by_key(|place| (!is_opener[*place as usize], *place));
        let mut request = JoinedRequest::default();
        for place in of.iter() {
            let fragment = &fragments[*place as usize];
            let before = request.events.len() as u32;
            locations[*place as usize] = (whole.len(), before);
            if before == 0 {
                request = fragment.clone();
            } else {
                append_fragment(&mut request, fragment, before);
            }
        }
        whole.push((of[0], request));
    }
    for (from, to) in ties {
        let ((request, before), (_, after)) =
            (locations[from.0 as usize], locations[to.0 as usize]);
        let sync = SyncEdge { source: from.1 + before, destination: to.1 + after };
        whole[request].1.syncs.push(sync);
    }
    for (_, request) in &mut whole {
        request.syncs.sort_unstable_by_key(|sync| (sync.source, sync.destination));
    }
    whole.sort_by_key(|(first, _)| *first);
    whole.into_iter().map(|(_, request)| request).collect()
}

/// Appends a fragment after the `before` events of a request.
fn append_fragment(request: &mut JoinedRequest, fragment: &JoinedRequest, before: u32) {
    request.events.extend_from_slice(&fragment.events);
    let moved = |sync: &SyncEdge| SyncEdge {
        source: sync.source.saturating_add(before),
        destination: sync.destination.saturating_add(before),
    };
    request.syncs.extend(fragment.syncs.iter().map(moved));
    request.demands += fragment.demands;
    request.whole &= fragment.whole;
}

/// The first fragment of the group of the fragment `place`: its root in the union-find forest
/// `group`.
fn group_root(group: &mut [u32], mut place: u32) -> u32 {
    while group[place as usize] != place {
        let above = group[group[place as usize] as usize];
        group[place as usize] = above;
        place = above;
    }
    place
}

/// Merges consecutive packets that a fragment sent, or received, on a connection without a packet
/// in the other direction in between. A merged packet has the event of the last packet.
fn merge_packets(mut packets: Vec<FragmentPacket>) -> Vec<FragmentPacket> {
    packets.sort_unstable_by_key(|of| (of.fragment, of.connection, of.event, of.begin));
    let mut messages: Vec<FragmentPacket> = Vec::new();
    for mut packet in packets {
        packet.end = packet.end.max(packet.begin.saturating_add(1));
        match messages.last_mut() {
            Some(last)
                if last.fragment == packet.fragment
                    && last.connection == packet.connection
                    && last.is_back == packet.is_back
                    && last.is_sent == packet.is_sent =>
            {
                let begin = last.begin.min(packet.begin);
                *last = FragmentPacket { begin, end: last.end.max(packet.end), ..packet };
            }
            _ => messages.push(packet),
        }
    }
    messages
}

/// Index of a fragment, and index of one of its events.
type FragmentEvent = (u32, u32);

/// For each message the event that sent it and the event that received it.
fn match_messages(mut messages: Vec<FragmentPacket>) -> Vec<(FragmentEvent, FragmentEvent)> {
    messages.sort_unstable_by_key(|of| (of.connection, of.is_back, of.begin, of.end));
    let mut ties = Vec::new();
    for stream in messages.chunk_by(|a, b| (a.connection, a.is_back) == (b.connection, b.is_back)) {
        let (sent, received): (Vec<FragmentPacket>, _) = stream.iter().partition(|of| of.is_sent);
        let received: Vec<FragmentPacket> = received;
        let mut first = 0;
        for to in &received {
            // Sent messages follow one another without overlaps, and so do received messages.
            while sent.get(first).is_some_and(|from| from.end <= to.begin) {
                first += 1;
            }
            let overlapping = sent[first..].iter().take_while(|from| from.begin < to.end);
            let from = overlapping.filter(|from| from.fragment != to.fragment);
            ties.extend(from.map(|from| ((from.fragment, from.event), (to.fragment, to.event))));
        }
    }
    ties.sort_unstable();
    ties.dedup();
    ties
}

/// Whether each fragment sends to another one before it receives from one.
fn find_openers(ties: &[(FragmentEvent, FragmentEvent)], count: usize) -> Vec<bool> {
    let mut firsts: Vec<Option<(u32, bool)>> = vec![None; count];
    for ((from, sent), (to, received)) in ties {
        for (fragment, event, is_sent) in [(from, sent, true), (to, received, false)] {
            let first = firsts[*fragment as usize].get_or_insert((*event, is_sent));
            *first = (*first).min((*event, is_sent));
        }
    }
    firsts.into_iter().map(|first| first.is_some_and(|(_, is_sent)| is_sent)).collect()
}
