//! Fat messages: adjacent messages of one flow and direction, taken as one (WAP5 section 2.3).
//!
//! An application's message is often several calls: a header and a body, a body in buffers. They belong together as
//! long as the other side has not had its turn, so the border is a message of the other direction in between.
//! Each end is asked in its own order of events, by its own clock, so that no difference between clocks matters;
//! a turn seen at either end is one.

use crate::calls::Part;

/// Merges the messages of both directions of one flow, each in order, where at most `gap` nanoseconds lie between
/// them at the sender (at the receiver, where the sender was not traced). This is a pure function of one flow.
pub fn merge(parts: [Vec<Part>; 2], gap: i64) -> [Vec<Part>; 2] {
    let turns = [Turns::of(&parts[1]), Turns::of(&parts[0])];
    let [first, second] = parts;
    let [before, behind] = turns;
    [merge_direction(first, &before, gap), merge_direction(second, &behind, gap)]
}

/// When the other direction had its turn, in the order of each end.
struct Turns {
    /// Its receives, at the sender of the messages to be merged.
    at_sender: Vec<i64>,
    /// Its sends, at the receiver of the messages to be merged.
    at_receiver: Vec<i64>,
}

impl Turns {
    fn of(other: &[Part]) -> Turns {
        // As large as they get from the beginning: growing would take as much again.
        let mut at_sender = Vec::with_capacity(2 * other.len());
        let mut at_receiver = Vec::with_capacity(other.len());
        for part in other {
            at_sender.extend(part.received.into_iter().flat_map(|seen| [seen.first, seen.last]));
            at_receiver.extend(part.sent.map(|seen| seen.first));
        }
        at_sender.sort_unstable();
        at_receiver.sort_unstable();
        Turns { at_sender, at_receiver }
    }

    fn between(turns: &[i64], from: i64, to: i64) -> bool {
        let next = turns.partition_point(|turn| *turn < from);
        turns.get(next).is_some_and(|turn| *turn <= to)
    }
}

fn merge_direction(mut parts: Vec<Part>, turns: &Turns, gap: i64) -> Vec<Part> {
    // In place, as there may be as many as memory holds.
    parts.dedup_by(|next, last| {
        let is_adjacent = adjacent(last, next, turns, gap);
        if is_adjacent {
            append(last, next);
        }
        is_adjacent
    });
    parts.shrink_to_fit();
    parts
}

fn adjacent(last: &Part, next: &Part, turns: &Turns, gap: i64) -> bool {
    let sides =
        [(last.sent, next.sent, &turns.at_sender), (last.received, next.received, &turns.at_receiver)];
    let mut distance = None;
    for (last, next, turns) in sides {
        match (last, next) {
            // Work that other processes do is other nodes' work.
            (Some(last), Some(next)) if last.process == next.process => {
                if Turns::between(turns, last.last, next.first) {
                    return false;
                }
                distance = distance.or(Some(next.first.saturating_sub(last.last)));
            }
            (None, None) => {}
            _ => return false,
        }
    }
    distance.is_some_and(|distance| distance <= gap)
}

fn append(last: &mut Part, next: &Part) {
    if let (Some(sent), Some(more)) = (&mut last.sent, next.sent) {
        sent.last = sent.last.max(more.last);
    }
    if let (Some(received), Some(more)) = (&mut last.received, next.received) {
        received.last = received.last.max(more.last);
        received.tid = more.tid;
    }
    last.bytes += next.bytes;
    last.parts += next.parts;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Seen;

    fn part(sent: i64, received: i64) -> Part {
        let seen = |time| Some(Seen::once(time, 0, time as i32));
        Part { sent: seen(sent), received: seen(received), bytes: 1, parts: 1 }
    }

    fn sizes(parts: &[Part]) -> Vec<u32> {
        parts.iter().map(|part| part.parts).collect()
    }

    #[test]
    fn header_and_body_are_one() {
        let requests = vec![part(1, 5), part(2, 6), part(30, 35)];
        let answers = vec![part(10, 15), part(11, 16), part(12, 17)];
        let [requests, answers] = merge([requests, answers], 100);
        assert_eq!(sizes(&requests), [2, 1]);
        assert_eq!(sizes(&answers), [3]);
        let answer = answers[0];
        assert_eq!(answer.sent, Some(Seen { first: 10, last: 12, process: 0, tid: 10 }));
        assert_eq!(answer.received, Some(Seen { first: 15, last: 17, process: 0, tid: 17 }));
        assert_eq!(answer.bytes, 3);
    }

    #[test]
    fn a_turn_seen_at_either_end_is_a_border() {
        // The client sends twice before it reads; the server answers between its reads.
        let [requests, _] = merge([vec![part(1, 5), part(2, 9)], vec![part(7, 20), part(10, 21)]], 100);
        assert_eq!(sizes(&requests), [1, 1]);
        // The other way round, by clocks that are far apart.
        let [requests, _] = merge([vec![part(1, 1005), part(8, 1006)], vec![part(900, 5)]], 100);
        assert_eq!(sizes(&requests), [1, 1]);
    }

    #[test]
    fn a_long_pause_is_a_border() {
        let [one, _] = merge([vec![part(0, 5), part(100, 105), part(201, 206)], vec![]], 100);
        assert_eq!(sizes(&one), [2, 1]);
    }

    #[test]
    fn other_processes_and_unread_tails_stay_apart() {
        let mut other = part(2, 6);
        other.received = Some(Seen::once(6, 1, 6));
        let tail = Part { received: None, ..part(3, 0) };
        let [one, _] = merge([vec![part(1, 5), other, tail, tail], vec![]], 100);
        assert_eq!(sizes(&one), [1, 1, 2]);
    }

    #[test]
    fn one_side_alone_is_judged_by_its_own_order() {
        let sent = |time| Part { received: None, ..part(time, 0) };
        let received = |time| Part { sent: None, ..part(0, time) };
        let [out, back] =
            merge([vec![sent(1), sent(2), sent(10)], vec![received(4), received(5), received(12)]], 100);
        assert_eq!((sizes(&out), sizes(&back)), (vec![2, 1], vec![2, 1]));
    }
}
