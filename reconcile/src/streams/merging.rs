//! Merging of adjacent messages of one flow and direction into one (fat messages, WAP5 section
//! 2.3).
//!
//! An application's message is often several calls: a header and a body, a body in buffers. They
//! belong together as long as the other side has not had its turn, so a message of the other
//! direction in between is a boundary. Each end is examined in its own order of events, by its own
//! clock, so that no difference between clocks matters; a turn seen at either end counts. A pause
//! is also a boundary if it is longer than those within the connection's messages
//! ([`super::inner_gap`]).
//!
//! If logs record where operations begin, nothing has to be guessed: the start of an operation
//! begins a message, and everything up to the next start belongs to that message, however long it
//! takes and whatever the other side sends meanwhile. After the last operation the protocol may
//! have been another (a WebSocket after its upgrade), so there a turn is a boundary again.

use std::iter::Peekable;

use crate::calls::{FlowMessage, append_message};
use crate::streams::boundary::IsBoundary;
use crate::streams::multiplexed::usual_sizes::UsualSizes;
use crate::streams::streaming::ExchangeInterior;
use crate::tuning::{MAX_CONTROL_BYTES, MAX_CONTROL_DELAY_NS, MIN_PIECE_BYTES};

/// Limits of pauses within a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PauseLimits {
    /// Maximum time between the parts of a message, in nanoseconds.
    pub(crate) usual: i64,
    /// Maximum time after a large part of an answer, in nanoseconds, if neither side did anything
    /// else meanwhile: the sender is producing the rest.
    pub(crate) stalled: i64,
}

/// Merges messages of one direction, in order, with pauses of at most `pauses` at the sender (at
/// the receiver, if the sender was not traced) and without a turn of the other direction between
/// them: none of its receives at the sender, with the times `at_sender`, and none of its sends at
/// the receiver, with the times `at_receiver`. All are in order and read once, so that only one of
/// each need be in memory. If the sides need not take turns, `boundary` decides whether a fragment
/// belongs to another message than the previous one. There is no boundary at all `inside` a
/// streaming exchange, in which both sides send bodies at the same time. With `one_clock` the times
/// of both ends are comparable. `operations` is the number of fragments with which an operation
/// begins.
pub(crate) fn merge_messages<'a, P, S, R>(
    parts: P,
    (at_sender, at_receiver): (S, R),
    pauses: PauseLimits,
    boundary: Option<BoundaryRule<'a>>,
    inside: ExchangeInterior<'a>,
    one_clock: bool,
    operations: u64,
) -> MessageMerger<'a, P, S, R>
where
    P: Iterator<Item = FlowMessage>,
    S: Iterator<Item = i64>,
    R: Iterator<Item = i64>,
{
    MessageMerger {
        fragments: parts,
        next: None,
        latest: None,
        at_sender: OppositeTurns::from_times(at_sender),
        at_receiver: OppositeTurns::from_times(at_receiver),
        pauses,
        boundary,
        inside,
        one_clock,
        operations,
        place: 0,
    }
}

/// Iterator over the merged messages of one direction; see [`merge_messages`].
#[derive(Debug)]
pub(crate) struct MessageMerger<'a, P, S: Iterator<Item = i64>, R: Iterator<Item = i64>> {
    fragments: P,
    /// The first fragment of the next message.
    next: Option<FlowMessage>,
    /// The latest fragment of the message.
    latest: Option<FlowMessage>,
    at_sender: OppositeTurns<S>,
    at_receiver: OppositeTurns<R>,
    pauses: PauseLimits,
    boundary: Option<BoundaryRule<'a>>,
    inside: ExchangeInterior<'a>,
    one_clock: bool,
    /// Number of operations that have yet to begin.
    operations: u64,
    /// Number of bytes in the fragments so far.
    place: u64,
}

impl<P, S, R> Iterator for MessageMerger<'_, P, S, R>
where
    P: Iterator<Item = FlowMessage>,
    S: Iterator<Item = i64>,
    R: Iterator<Item = i64>,
{
    type Item = FlowMessage;

    fn next(&mut self) -> Option<FlowMessage> {
        let mut message = self.next.take().or_else(|| self.fragments.next())?;
        self.latest = Some(message);
        self.place += message.bytes;
        self.operations -= u64::from(message.begins_operation()).min(self.operations);
        while let Some(part) = self.fragments.next() {
            if !self.belongs_to_message(&message, &part) {
                self.next = Some(part);
                break;
            }
            append_message(&mut message, &part);
            self.latest = Some(part);
            self.place += part.bytes;
        }
        Some(message)
    }
}

/// Times of the other direction's turns, in the order of one end.
#[derive(Debug)]
struct OppositeTurns<I: Iterator<Item = i64>> {
    next: Peekable<I>,
    /// The latest turn before the calls of the last query.
    before: Option<i64>,
}

impl<I: Iterator<Item = i64>> OppositeTurns<I> {
    fn from_times(turns: I) -> OppositeTurns<I> {
        OppositeTurns { next: turns.peekable(), before: None }
    }

    /// Whether there was a turn from `from` to `to`. Later queries must not be about times before
    /// `from`.
    fn has_turn_between(&mut self, from: i64, to: i64) -> bool {
        while let Some(turn) = self.next.next_if(|turn| *turn < from) {
            self.before = Some(turn);
        }
        self.next.peek().is_some_and(|turn| *turn <= to)
    }
}

impl<P, S: Iterator<Item = i64>, R: Iterator<Item = i64>> MessageMerger<'_, P, S, R> {
    /// Whether the next fragment belongs to the same message.
    fn belongs_to_message(&mut self, last: &FlowMessage, next: &FlowMessage) -> bool {
        match (last.begins_operation(), next.begins_operation()) {
            (_, true) => false,
            (true, false) => self.is_of_operation(last, next),
            (false, false) => self.is_in_exchange(last, next) || self.are_adjacent(last, next),
        }
    }

    /// Whether the next fragment, which begins no operation, belongs to the operation of the
    /// message before it.
    fn is_of_operation(&mut self, last: &FlowMessage, next: &FlowMessage) -> bool {
        let mut is_turn = false;
        for (side, last, next) in [(0, last.sent, next.sent), (1, last.received, next.received)] {
            match (last, next) {
                (Some(last), Some(next)) if last.process == next.process => {
                    is_turn |= self.is_turn(side, last.last, next.first);
                }
                (None, None) => {}
                _ => return false,
            }
        }
        self.operations > 0 || !is_turn
    }

    /// Whether the other direction had a turn between two times at that side.
    fn is_turn(&mut self, side: usize, from: i64, to: i64) -> bool {
        match side {
            0 => self.at_sender.has_turn_between(from, to),
            _ => self.at_receiver.has_turn_between(from, to),
        }
    }

    /// Whether the next fragment belongs to the same streaming exchange.
    fn is_in_exchange(&mut self, last: &FlowMessage, next: &FlowMessage) -> bool {
        let processes = |part: &FlowMessage| {
            [part.sent, part.received].map(|seen| seen.map(|seen| seen.process))
        };
        self.inside.contains_place(self.place) && processes(last) == processes(next)
    }

    /// Whether the next fragment follows the message without a turn of the other side, a boundary,
    /// or a long pause.
    fn are_adjacent(&mut self, last: &FlowMessage, next: &FlowMessage) -> bool {
        let mut distance = None;
        let is_waiting = self.one_clock && waits_for_receiver(last, next);
        for (side, last, next) in [(0, last.sent, next.sent), (1, last.received, next.received)] {
            match (last, next) {
                // The work of other processes is the work of other nodes.
                (Some(last), Some(next)) if last.process == next.process => {
                    if self.is_turn(side, last.last, next.first) {
                        return false;
                    }
                    let at_this_end = next.first.saturating_sub(last.last);
                    distance = distance.filter(|_| !is_waiting).or(Some(at_this_end));
                }
                (None, None) => {}
                _ => return false,
            }
        }
        if let Some(BoundaryRule { separates, units }) = self.boundary {
            let is_separate = self.latest.is_none_or(|latest| separates(&latest, next));
            if is_separate || units.is_some_and(|units| units.are_whole(last.bytes)) {
                return false;
            }
        }
        distance.is_some_and(|distance| distance <= self.max_pause(next))
            && !(next.elsewhere && self.is_control(last))
    }

    /// Maximum time between the latest fragment and the next one, if they belong to one message.
    fn max_pause(&self, next: &FlowMessage) -> i64 {
        let is_large = self.latest.is_some_and(|latest| latest.bytes >= MIN_PIECE_BYTES);
        let is_answer = self.at_sender.before.is_some();
        match is_large && is_answer && !next.elsewhere && !next.acted {
            true => self.pauses.stalled,
            false => self.pauses.usual,
        }
    }

    /// Whether a message that is complete before its sender turned to something else is control
    /// data of the connection: small, and about data that had just been received there.
    fn is_control(&self, message: &FlowMessage) -> bool {
        let about = self.at_sender.before.zip(message.sent);
        message.bytes <= MAX_CONTROL_BYTES
            && about
                .is_some_and(|(turn, sent)| sent.first.saturating_sub(turn) <= MAX_CONTROL_DELAY_NS)
    }
}

/// Whether the receiver of a body had not got all of it when `next` was sent: the sender then waits
/// for the receiver, however long, and only the receiver's times show a pause.
fn waits_for_receiver(last: &FlowMessage, next: &FlowMessage) -> bool {
    let times = next.sent.zip(last.received);
    last.bytes >= MIN_PIECE_BYTES
        && times.is_some_and(|(sent, received)| sent.first < received.last)
}

/// Rule for boundaries between two messages of one direction if the sides need not take turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundaryRule<'a> {
    /// Whether the second of two fragments belongs to another message than the first.
    pub(crate) separates: IsBoundary,
    /// Usual sizes of messages, if known.
    pub(crate) units: Option<&'a UsualSizes>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallSpan;
    use crate::indices::ProcessIndex;
    use crate::streams::multiplexed::detection;

    fn fragment_at(sent: i64, received: i64) -> FlowMessage {
        let seen = |time| Some(CallSpan::from_call(time, ProcessIndex::default(), time as i32));
        FlowMessage {
            sent: seen(sent),
            received: seen(received),
            bytes: 1,
            parts: 1,
            elsewhere: false,
            acted: false,
            begins: [false; 2],
        }
    }

    fn merged<P, S, R>(
        parts: P,
        (at_sender, at_receiver): (S, R),
        gap: i64,
        boundary: Option<BoundaryRule<'_>>,
    ) -> MessageMerger<'_, P, S, R>
    where
        P: Iterator<Item = FlowMessage>,
        S: Iterator<Item = i64>,
        R: Iterator<Item = i64>,
    {
        let pauses = PauseLimits { usual: gap, stalled: gap };
        super::merge_messages(
            parts,
            (at_sender, at_receiver),
            pauses,
            boundary,
            ExchangeInterior::from_exchanges(&[], 0),
            true,
            0,
        )
    }

    /// Both directions of one flow.
    fn merge([one, other]: [Vec<FlowMessage>; 2], gap: i64) -> [Vec<FlowMessage>; 2] {
        [(&one, &other), (&other, &one)].map(|(parts, turns)| {
            let received = turns.iter().filter_map(|part| part.received);
            let mut at_sender: Vec<i64> =
                received.flat_map(|seen| [seen.first, seen.last]).collect();
            at_sender.sort_unstable();
            let sent = turns.iter().filter_map(|part| part.sent.map(|seen| seen.first));
            merged(parts.iter().copied(), (at_sender.into_iter(), sent), gap, None).collect()
        })
    }

    fn sizes(parts: &[FlowMessage]) -> Vec<u32> {
        parts.iter().map(|part| part.parts).collect()
    }

    #[test]
    fn header_and_body_are_one() {
        let requests = vec![fragment_at(1, 5), fragment_at(2, 6), fragment_at(30, 35)];
        let answers = vec![fragment_at(10, 15), fragment_at(11, 16), fragment_at(12, 17)];
        let [requests, answers] = merge([requests, answers], 100);
        assert_eq!(sizes(&requests), [2, 1]);
        assert_eq!(sizes(&answers), [3]);
        let answer = answers[0];
        assert_eq!(
            answer.sent,
            Some(CallSpan { first: 10, last: 12, process: ProcessIndex::default(), tid: 10 })
        );
        assert_eq!(
            answer.received,
            Some(CallSpan { first: 15, last: 17, process: ProcessIndex::default(), tid: 17 })
        );
        assert_eq!(answer.bytes, 3);
    }

    #[test]
    fn a_turn_seen_at_either_end_is_a_boundary() {
        // The client sends twice before it reads; the server answers between its reads.
        let [requests, _] = merge(
            [
                vec![fragment_at(1, 5), fragment_at(2, 9)],
                vec![fragment_at(7, 20), fragment_at(10, 21)],
            ],
            100,
        );
        assert_eq!(sizes(&requests), [1, 1]);
        // The reverse, by clocks that are far apart.
        let [requests, _] = merge(
            [vec![fragment_at(1, 1005), fragment_at(8, 1006)], vec![fragment_at(900, 5)]],
            100,
        );
        assert_eq!(sizes(&requests), [1, 1]);
    }

    #[test]
    fn control_data_is_no_part_of_the_next_request() {
        let acknowledgement = FlowMessage { bytes: 17, ..fragment_at(20, 25) };
        let answers = [5, 19].map(|at| fragment_at(at - 2, at));
        let next = |elsewhere| FlowMessage { bytes: 300, elsewhere, ..fragment_at(40, 45) };
        let sizes = |first: FlowMessage, next: FlowMessage| -> Vec<u64> {
            let turns = answers.iter().filter_map(|part| part.received.map(|seen| seen.first));
            let none = std::iter::empty();
            merged([first, next].into_iter(), (turns, none), 100, None)
                .map(|part| part.bytes)
                .collect()
        };
        assert_eq!(sizes(acknowledgement, next(true)), [17, 300]);
        // Nothing came in between, or it is too large, or too late to be about the received data.
        assert_eq!(sizes(acknowledgement, next(false)), [317]);
        assert_eq!(sizes(FlowMessage { bytes: 100, ..acknowledgement }, next(true)), [400]);
        let late = |at| FlowMessage {
            sent: Some(CallSpan::from_call(at, ProcessIndex::default(), 1)),
            ..acknowledgement
        };
        let later = FlowMessage {
            sent: Some(CallSpan::from_call(2_000_040, ProcessIndex::default(), 1)),
            ..next(true)
        };
        assert_eq!(sizes(late(2_000_020), later), [317]);
    }

    #[test]
    fn pieces_of_many_calls_are_messages() {
        let parts = [
            fragment_at(1, 5),
            fragment_at(2, 6),
            FlowMessage { elsewhere: true, ..fragment_at(3, 7) },
        ];
        let parts = parts.map(|part| FlowMessage {
            sent: part.sent.map(|seen| CallSpan { tid: 1, ..seen }),
            ..part
        });
        let sizes = |boundary| -> Vec<u32> {
            let none = || std::iter::empty();
            merged(parts.into_iter(), (none(), none()), 100, boundary)
                .map(|part| part.parts)
                .collect()
        };
        let pieces = BoundaryRule { separates: detection::is_boundary, units: None };
        assert_eq!((sizes(None), sizes(Some(pieces))), (vec![3], vec![2, 1]));
        // A piece of these sizes is a whole message.
        let units = UsualSizes::from_turns(&[1; 100]);
        assert_eq!(sizes(Some(BoundaryRule { units: Some(&units), ..pieces })), [1, 1, 1]);
    }

    #[test]
    fn a_long_pause_is_a_boundary() {
        let [one, _] = merge(
            [vec![fragment_at(0, 5), fragment_at(100, 105), fragment_at(201, 206)], vec![]],
            100,
        );
        assert_eq!(sizes(&one), [2, 1]);
    }

    #[test]
    fn a_pause_until_the_receiver_has_caught_up_is_no_boundary() {
        let body =
            |sent, received| FlowMessage { bytes: MIN_PIECE_BYTES, ..fragment_at(sent, received) };
        let pieces = |parts: Vec<FlowMessage>| sizes(&merge([parts, vec![]], 100)[0]);
        assert_eq!(pieces(vec![body(0, 500), body(300, 550), body(540, 610)]), [3]);
        assert_eq!(pieces(vec![body(0, 290), body(300, 350)]), [1, 1], "all was there");
        assert_eq!(pieces(vec![body(0, 500), body(300, 601)]), [1, 1], "a pause at both ends");
        assert_eq!(pieces(vec![fragment_at(0, 500), body(300, 550)]), [1, 1], "no body");
        // With clocks that are not comparable, it is unknown which end was late.
        let none = || std::iter::empty();
        let parts = [body(0, 500), body(300, 550)].into_iter();
        let pauses = PauseLimits { usual: 100, stalled: 100 };
        let inside = ExchangeInterior::from_exchanges(&[], 0);
        let apart = super::merge_messages(parts, (none(), none()), pauses, None, inside, false, 0);
        assert_eq!(apart.map(|part| part.parts).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_large_answer_may_stall_while_both_sides_are_idle() {
        let piece = |at, bytes| FlowMessage { bytes, ..fragment_at(at, at + 1) };
        let pieces = |turn: Option<i64>, first: u64, second: FlowMessage| {
            let (parts, none) = (vec![piece(10, first), second], std::iter::empty());
            let pauses = PauseLimits { usual: 100, stalled: 1_000 };
            let inside = ExchangeInterior::from_exchanges(&[], 0);
            let turns = (turn.into_iter(), none);
            let merged =
                super::merge_messages(parts.into_iter(), turns, pauses, None, inside, true, 0);
            merged.map(|part| part.parts).collect::<Vec<_>>()
        };
        let asked = Some(5);
        assert_eq!(pieces(asked, MIN_PIECE_BYTES, piece(900, 1)), [2]);
        assert_eq!(pieces(asked, MIN_PIECE_BYTES, piece(1_200, 1)), [1, 1], "too long");
        assert_eq!(pieces(asked, 40, piece(900, 1)), [1, 1], "no body");
        assert_eq!(pieces(None, MIN_PIECE_BYTES, piece(900, 1)), [1, 1], "no request");
        for (elsewhere, acted) in [(true, false), (false, true)] {
            let next = FlowMessage { elsewhere, acted, ..piece(900, 1) };
            assert_eq!(pieces(asked, MIN_PIECE_BYTES, next), [1, 1]);
        }
    }

    #[test]
    fn other_processes_and_unread_tails_stay_apart() {
        let mut other = fragment_at(2, 6);
        other.received = Some(CallSpan::from_call(6, ProcessIndex::from_index(1), 6));
        let tail = FlowMessage { received: None, ..fragment_at(3, 0) };
        let [one, _] = merge([vec![fragment_at(1, 5), other, tail, tail], vec![]], 100);
        assert_eq!(sizes(&one), [1, 1, 2]);
    }

    #[test]
    fn one_side_alone_is_judged_by_its_own_order() {
        let sent = |time| FlowMessage { received: None, ..fragment_at(time, 0) };
        let received = |time| FlowMessage { sent: None, ..fragment_at(0, time) };
        let [out, back] = merge(
            [vec![sent(1), sent(2), sent(10)], vec![received(4), received(5), received(12)]],
            100,
        );
        assert_eq!((sizes(&out), sizes(&back)), (vec![2, 1], vec![2, 1]));
    }
}
