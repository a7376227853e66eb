//! Second copies: receives of sends that were matched already.

use message_trace::PathError;
use out_of_core::SpillableVec;
use rustc_hash::FxHashSet;

use crate::datagrams::comparison::DatagramComparison;
use crate::datagrams::datagram_matches::DatagramMatches;
use crate::datagrams::pass::MatchingPass;
use crate::datagrams::sides::{
    DatagramSide, DatagramSides, PeerClass, SideRanges, all_done, class_ranges,
};
use crate::indices::SocketIndex;

/// Adds to `matches` the receives of a group that are copies of datagrams: received by another
/// socket as well, or again by the same one.
pub(super) fn match_second_copies(
    comparison: &DatagramComparison,
    pass: MatchingPass,
    sides: &mut DatagramSides,
    [sends, receives]: &SideRanges,
    matches: &mut DatagramMatches,
) -> Result<(), PathError> {
    let pool = comparison.pool;
    let [to, from] = sides;
    let done = from.range(receives.clone()).filter(|side| side.done);
    let mut received: FxHashSet<SocketIndex> = done.map(|side| side.class.0).collect();
    let receive_classes =
        SpillableVec::collect(pool, class_ranges(from, receives).map(PeerClass::from_range))?;
    for receives in receive_classes.iter().map(|class| class.to_range()) {
        if all_done(from, &receives) {
            continue;
        }
        let first = from[receives.start];
        let socket = first.class.0;
        // Sends that arrived somewhere and could have arrived here as well, sorted by time.
        let mut origins: SpillableVec<(i64, u32)> = SpillableVec::new(pool);
        for sends in class_ranges(to, sends) {
            let send = to[sends.start];
            if comparison.can_reach(pass, &send, &first) {
                // Sends by another clock come before all others.
                let apart = comparison.routing.clock_apart(send.class.0, socket);
                let arrived = to.range(sends).filter(|side| side.done);
                let time = |side: &DatagramSide| {
                    apart.map_or(i64::MIN, |apart| side.time.saturating_sub(apart))
                };
                origins.extend(arrived.map(|side| (time(side), side.at)))?;
            }
        }
        origins.sort_by_key(|origin| *origin)?;
        // Receives are sorted by time, too.
        let mut before = 0;
        for at in receives {
            let receive = &mut from[at];
            if receive.done {
                continue;
            }
            before = origins.end_where(before, |(time, _)| *time <= receive.time);
            let Some((_, origin)) = before.checked_sub(1).and_then(|last| origins.get(last)) else {
                continue;
            };
            receive.done = true;
            if received.insert(socket) {
                matches.copies.push((*origin, receive.at))?;
            } else {
                matches.duplicates.push(receive.at)?;
            }
        }
    }
    Ok(())
}
