//! Signature: features that the two ends of one flow share whatever their names are, sizes and
//! checksums. Their evidence depends on how common they are; here it is in nats as if no other flow
//! were like it.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::half_flow::{HalfFlowSide, TURNS};
use super::half_flow_table::HalfFlowView;
use crate::tuning::{
    COMMON_SIZE_BYTES, MAX_FINGERPRINT_NATS, MAX_SIZE_NATS, REPEATED_SIZE_NATS, TURNS_DIFFER_NATS,
    UNREAD_NATS,
};

/// Features that two ends share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FlowLikeness {
    /// Improbability of the agreement by chance, in nats.
    pub(super) information: f64,
    /// Number of the first turns with the same size at both ends.
    pub(super) turns: u8,
    /// Whether both totals are equal and final.
    pub(super) totals: bool,
    /// Number of directions with the same checksum.
    pub(super) fingerprints: u8,
}

/// Features that `one`, as the connecting end, shares with `other`, as the accepting one; `None` if
/// they cannot be two ends of one flow.
pub(super) fn compare_flows(one: HalfFlowView, other: HalfFlowView) -> Option<FlowLikeness> {
    let directions =
        [(&one.sent, &other.received, one, other), (&other.sent, &one.received, other, one)];
    let (mut information, mut fingerprints, mut unread) = (0.0, 0, false);
    for (sent, received, sender, receiver) in directions {
        if received.bytes > sent.bytes && sender.whole {
            return None;
        }
        if received.bytes < sent.bytes && receiver.whole {
            unread = true;
        }
        if let (Some(at_sender), Some(at_receiver)) = (sent.fingerprint, received.fingerprint)
            && at_sender.bytes == at_receiver.bytes
        {
            if at_sender.crc != at_receiver.crc {
                return None;
            }
            fingerprints += 1;
            information += size_log_odds(u64::from(at_sender.bytes)).min(MAX_FINGERPRINT_NATS);
        }
    }
    let totals = one.whole
        && other.whole
        && one.sent.bytes == other.received.bytes
        && one.received.bytes == other.sent.bytes;
    let (turns, differ) = count_equal_turns(one, other);
    // Without all the bytes only the turns are evidence, and bytes left unread are rare.
    if !totals && (turns < 2 || differ) {
        return None;
    }
    let mut covered = [0, 0];
    for (place, turn) in one.turns.iter().enumerate().take(turns) {
        covered[usize::from(turn.sent)] += turn.bytes;
        information += match place.checked_sub(2).and_then(|before| one.turns.get(before)) {
            None => size_log_odds(turn.bytes),
            Some(before) if before.bytes == turn.bytes => REPEATED_SIZE_NATS,
            Some(_) => size_log_odds(turn.bytes) / 2.0,
        };
    }
    if totals {
        let rest =
            [one.received.bytes - covered[0].min(one.received.bytes), one.sent.bytes - covered[1]];
        let weight = if turns == 0 { 1.0 } else { 0.5 };
        // After equal turns the rest mostly continues in the same way.
        let varied = turns < 2 || has_varying_turns(one);
        information += rest
            .into_iter()
            .filter(|_| varied)
            .map(|bytes| size_log_odds(bytes) * weight)
            .sum::<f64>();
    }
    if differ {
        information -= TURNS_DIFFER_NATS;
    }
    if unread {
        information -= UNREAD_NATS;
    }
    Some(FlowLikeness {
        information: information.max(0.0),
        turns: turns as u8,
        totals,
        fingerprints,
    })
}

/// Evidence of one equal size, in nats.
fn size_log_odds(bytes: u64) -> f64 {
    (1.0 + bytes as f64 / COMMON_SIZE_BYTES).ln().min(MAX_SIZE_NATS)
}

/// Whether the turns of one side have different sizes.
fn has_varying_turns(flow: HalfFlowView) -> bool {
    flow.turns.iter().zip(flow.turns.iter().skip(2)).any(|(turn, next)| turn.bytes != next.bytes)
}

/// Number of turns at the beginning that are complete and equal at both ends, and whether the next
/// one contradicts.
fn count_equal_turns(one: HalfFlowView, other: HalfFlowView) -> (usize, bool) {
    let mut equal = 0;
    for (turn, mirrored) in one.turns.iter().zip(other.turns) {
        if turn.sent == mirrored.sent {
            return (equal, true);
        }
        match (is_complete(one, equal), is_complete(other, equal)) {
            (true, true) if turn.bytes == mirrored.bytes => equal += 1,
            (true, true) => return (equal, true),
            (true, false) => return (equal, mirrored.bytes > turn.bytes),
            (false, true) => return (equal, turn.bytes > mirrored.bytes),
            (false, false) => return (equal, false),
        }
    }
    (equal, false)
}

/// Whether turn number `turn` is known to be complete.
fn is_complete(flow: HalfFlowView, turn: usize) -> bool {
    turn + 1 < flow.turns.len() || (flow.whole && flow.all_turns)
}

/// Calls `found` with the lookup keys of a half flow, seen as `side`: equal for the two ends of a
/// flow, each for some kind of flow. The last is the most distinctive one.
pub(super) fn for_each_key(flow: HalfFlowView, side: HalfFlowSide, mut found: impl FnMut(u64)) {
    let connects = side == HalfFlowSide::Connecting;
    let [forward, backward] =
        if connects { [flow.sent, flow.received] } else { [flow.received, flow.sent] };
    // The client's port, which source translation keeps if it can.
    let port = if connects { flow.local.port() } else { flow.peer.port() };
    let complete = (0..flow.turns.len()).take_while(|turn| is_complete(flow, *turn)).count();
    let mut hasher = FxHasher::default();
    let mut turns = Vec::with_capacity(4);
    for (place, turn) in flow.turns.iter().enumerate().take(complete.min(TURNS)) {
        (turn.sent == connects, turn.bytes).hash(&mut hasher);
        if place == 1 || place == 3 || place == 7 || place == 15 {
            turns.push((place, hasher.finish()));
        }
    }
    if let (Some(out), Some(back)) = (forward.fingerprint, backward.fingerprint) {
        found(hash_value(&(1u8, out, back)));
    }
    for turns in &turns {
        found(hash_value(&(2u8, turns)));
        found(hash_value(&(3u8, turns, port)));
    }
    if flow.whole {
        found(hash_value(&(4u8, forward.bytes, backward.bytes, port)));
        found(hash_value(&(5u8, forward.bytes, backward.bytes)));
    }
}

/// A hash of the known appearance of a half flow, which is equal for flows that look alike.
pub(super) fn appearance_hash(flow: HalfFlowView, side: HalfFlowSide) -> u64 {
    let connects = side == HalfFlowSide::Connecting;
    let [forward, backward] =
        if connects { [flow.sent, flow.received] } else { [flow.received, flow.sent] };
    if flow.whole {
        return hash_value(&(
            forward.bytes,
            backward.bytes,
            forward.fingerprint,
            backward.fingerprint,
        ));
    }
    let complete = (0..flow.turns.len()).take_while(|turn| is_complete(flow, *turn));
    let turns: Vec<(bool, u64)> = complete
        .filter_map(|turn| flow.turns.get(turn))
        .take(2)
        .map(|turn| (turn.sent == connects, turn.bytes))
        .collect();
    hash_value(&(turns, forward.fingerprint, backward.fingerprint))
}

fn hash_value(what: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    what.hash(&mut hasher);
    hasher.finish()
}
