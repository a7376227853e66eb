//! Streaming exchanges: requests that are still being sent while their answers already come back,
//! for example when a proxy or a service passes on or echoes a body while it arrives. Both sides
//! send and receive in between, so apparent turns are not turns: all pieces in one direction are
//! one request, all pieces in the other one answer.
//!
//! The connecting side sends requests, and the next one when it has the whole answer. So a piece
//! from the connecting side is no new request
//! - if much of the answer crossed it: the piece was sent before that part of the answer was
//!   received, and received after that part was sent;
//! - if the piece has the size of whole buffers, and the request's beginning has not: a request of
//!   its own would have a head;
//! - if pieces of whole buffers preceded it and, when it is answered, as many more bytes have come
//!   back than were sent as before: it is the last one of a body that is echoed.
//!
//! Small requests that are sent before the answers of earlier ones came are pipelining, and are
//! left alone.

use std::iter::Peekable;
use std::ops::Range;

use crate::calls::{FlowMessage, StreamTransfer};
use crate::indices::ProcessIndex;
use crate::tuning::{BUFFER_MULTIPLE_BYTES, MIN_LAST_PIECE_BYTES, MIN_PIECE_BYTES};

/// One request and its answer, each as a range of bytes in its direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamingExchange([Range<u64>; 2]);

/// Insides of exchanges in one direction, where there are no boundaries; queried in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeInterior<'a> {
    exchanges: &'a [StreamingExchange],
    direction: usize,
}

impl<'a> ExchangeInterior<'a> {
    /// The insides of `exchanges`, which are in order, for one direction.
    pub(crate) fn from_exchanges(
        exchanges: &'a [StreamingExchange],
        direction: usize,
    ) -> ExchangeInterior<'a> {
        ExchangeInterior { exchanges, direction }
    }

    /// Whether byte number `place` of the direction is after the beginning and before the end of an
    /// exchange. Later queries must be about later places.
    pub(crate) fn contains_place(&mut self, place: u64) -> bool {
        while let Some((StreamingExchange(ranges), rest)) = self.exchanges.split_first() {
            let range = &ranges[self.direction];
            if place < range.end {
                return range.start < place;
            }
            self.exchanges = rest;
        }
        false
    }
}

/// Finds the exchanges of a connection on which requests are sent while their answers come, from
/// the fragments of its requests and the receives and sends of the answers, each in order.
pub(crate) fn find_streaming_exchanges(
    requests: impl Iterator<Item = FlowMessage>,
    received: impl Iterator<Item = StreamTransfer>,
    sent: impl Iterator<Item = StreamTransfer>,
) -> Vec<StreamingExchange> {
    let mut pieces = RequestFragments {
        fragments: requests,
        answers: AnswerProgress::from_transfers(received, sent),
        next: None,
        asked: 0,
    };
    let mut exchanges = Vec::new();
    let Some(first) = pieces.next() else { return exchanges };
    let (mut request, mut next) = (StreamingRequest::from_fragment(first), pieces.next());
    while let Some(piece) = next {
        next = pieces.next();
        let end = next.map_or_else(|| pieces.final_progress(), |next| next.begin);
        if request.is_continued(&piece, &end) {
            request.extend_with(&piece);
        } else {
            exchanges.extend(request.to_exchange(&piece.begin));
            request = StreamingRequest::from_fragment(piece);
        }
    }
    exchanges.extend(request.to_exchange(&ByteProgress {
        asked: u64::MAX,
        received: u64::MAX,
        sent: u64::MAX,
    }));
    exchanges
}

/// Progress of both directions when a part of a request was sent and received, in bytes.
#[derive(Clone, Copy, Debug)]
struct ByteProgress {
    /// Bytes of requests before the part.
    asked: u64,
    /// Bytes that the sender of the part had received.
    received: u64,
    /// Bytes that the receiver of the part had sent.
    sent: u64,
}

/// Data sent without a turn of the other side.
#[derive(Clone, Copy, Debug)]
struct RequestFragment {
    /// Progress of both directions before the first byte.
    begin: ByteProgress,
    bytes: u64,
    /// The sending and the receiving process.
    processes: [Option<ProcessIndex>; 2],
}

/// A request, as far as known so far.
#[derive(Debug)]
struct StreamingRequest {
    /// The first piece of the request.
    first: RequestFragment,
    /// Whether there are further pieces.
    continued: bool,
    /// Maximum surplus of bytes that came back over those sent, when a piece was sent.
    ahead: i64,
}

impl StreamingRequest {
    fn from_fragment(first: RequestFragment) -> StreamingRequest {
        StreamingRequest { first, continued: false, ahead: i64::MIN }
    }

    /// Surplus of bytes that came back over those sent until `place`.
    fn bytes_ahead(&self, place: &ByteProgress) -> i64 {
        let begin = &self.first.begin;
        place.sent.saturating_sub(begin.sent) as i64
            - place.asked.saturating_sub(begin.asked) as i64
    }

    /// Adds a further piece to the request.
    fn extend_with(&mut self, piece: &RequestFragment) {
        self.continued = true;
        self.ahead = self.ahead.max(self.bytes_ahead(&piece.begin));
    }

    /// Whether `piece`, which comes next and ends at `end`, belongs to the request.
    fn is_continued(&self, piece: &RequestFragment, end: &ByteProgress) -> bool {
        let ByteProgress { received, sent, .. } = piece.begin;
        let is_crossed = sent.saturating_sub(received) >= MIN_PIECE_BYTES;
        let is_buffer = |bytes: u64| bytes.is_multiple_of(BUFFER_MULTIPLE_BYTES);
        let is_large = piece.bytes >= MIN_PIECE_BYTES;
        let is_echoed = self.continued
            && piece.bytes >= MIN_LAST_PIECE_BYTES
            && self.bytes_ahead(end) == self.bytes_ahead(&piece.begin).max(self.ahead);
        piece.processes == self.first.processes
            && (is_crossed && (is_large || self.continued)
                || is_large && is_buffer(piece.bytes) && !is_buffer(self.first.bytes)
                || is_echoed)
    }

    /// The exchange of the request, if it has several pieces; the next request begins at `end`.
    fn to_exchange(&self, end: &ByteProgress) -> Option<StreamingExchange> {
        let begin = &self.first.begin;
        self.continued
            .then_some(StreamingExchange([begin.asked..end.asked, begin.sent..end.received]))
    }
}

/// The pieces of all requests.
struct RequestFragments<P, R: Iterator<Item = StreamTransfer>, S: Iterator<Item = StreamTransfer>> {
    fragments: P,
    answers: AnswerProgress<R, S>,
    /// The first fragment of the next piece, and its end.
    next: Option<(RequestFragment, ByteProgress)>,
    asked: u64,
}

impl<P, R, S> RequestFragments<P, R, S>
where
    P: Iterator<Item = FlowMessage>,
    R: Iterator<Item = StreamTransfer>,
    S: Iterator<Item = StreamTransfer>,
{
    /// The end of everything, after the last piece.
    fn final_progress(&mut self) -> ByteProgress {
        let [received, sent] =
            [self.answers.received.bytes_until(i64::MAX), self.answers.sent.bytes_until(i64::MAX)];
        ByteProgress { asked: self.asked, received, sent: sent.max(received) }
    }
}

impl<P, R, S> Iterator for RequestFragments<P, R, S>
where
    P: Iterator<Item = FlowMessage>,
    R: Iterator<Item = StreamTransfer>,
    S: Iterator<Item = StreamTransfer>,
{
    type Item = RequestFragment;

    fn next(&mut self) -> Option<RequestFragment> {
        let mut whole = self.next.take();
        for part in self.fragments.by_ref() {
            let (begin, end) = self.answers.progress_around(&part, self.asked);
            self.asked += part.bytes;
            let processes = [part.sent, part.received].map(|seen| seen.map(|seen| seen.process));
            let piece = RequestFragment { begin, bytes: part.bytes, processes };
            whole = match whole {
                Some((mut whole, last)) => {
                    let is_turn = last.received != begin.received || last.sent != begin.sent;
                    if is_turn || whole.processes != processes {
                        self.next = Some((piece, end));
                        return Some(whole);
                    }
                    whole.bytes += part.bytes;
                    Some((whole, end))
                }
                None => Some((piece, end)),
            };
        }
        whole.map(|(whole, _)| whole)
    }
}

/// Receives and sends of the answers.
struct AnswerProgress<R: Iterator<Item = StreamTransfer>, S: Iterator<Item = StreamTransfer>> {
    received: MovedBytes<R>,
    sent: MovedBytes<S>,
}

impl<R: Iterator<Item = StreamTransfer>, S: Iterator<Item = StreamTransfer>> AnswerProgress<R, S> {
    fn from_transfers(received: R, sent: S) -> AnswerProgress<R, S> {
        AnswerProgress {
            received: MovedBytes::from_calls(received),
            sent: MovedBytes::from_calls(sent),
        }
    }

    /// Progress at the beginning and at the end of a part of a request. An end that did not see it
    /// is filled in from the other one.
    fn progress_around(&mut self, part: &FlowMessage, asked: u64) -> (ByteProgress, ByteProgress) {
        let (received, sent) = (&mut self.received, &mut self.sent);
        let received = part
            .sent
            .map(|seen| [received.bytes_until(seen.first), received.bytes_until(seen.last)]);
        let sent =
            part.received.map(|seen| [sent.bytes_until(seen.first), sent.bytes_until(seen.last)]);
        let [received, sent] =
            [received.or(sent), sent.or(received)].map(Option::unwrap_or_default);
        let place = |end: usize| ByteProgress { asked, received: received[end], sent: sent[end] };
        (place(0), place(1))
    }
}

/// Number of bytes moved by a time; queried in order.
struct MovedBytes<I: Iterator<Item = StreamTransfer>> {
    calls: Peekable<I>,
    bytes: u64,
}

impl<I: Iterator<Item = StreamTransfer>> MovedBytes<I> {
    fn from_calls(calls: I) -> MovedBytes<I> {
        MovedBytes { calls: calls.peekable(), bytes: 0 }
    }

    /// The number of bytes moved by `time`.
    fn bytes_until(&mut self, time: i64) -> u64 {
        while let Some(call) = self.calls.next_if(|call| call.time <= time) {
            self.bytes += call.bytes;
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{CallSpan, TransferOrigin};

    /// A client and a server that send bytes at given times, each received one unit of time later,
    /// or after a given delay.
    #[derive(Default)]
    struct Talk {
        requests: Vec<FlowMessage>,
        received: Vec<StreamTransfer>,
        sent: Vec<StreamTransfer>,
    }

    impl Talk {
        fn ask(&mut self, time: i64, bytes: u64) {
            let seen = |time, process| {
                Some(CallSpan::from_call(time, ProcessIndex::from_index(process), 0))
            };
            let (sent, received) = (seen(time, 0), seen(time + 1, 1));
            self.requests.push(FlowMessage {
                sent,
                received,
                bytes,
                parts: 1,
                elsewhere: true,
                acted: true,
                begins: [false; 2],
            });
        }

        fn answer(&mut self, time: i64, bytes: u64, received: i64) {
            let call = |time, process| StreamTransfer {
                time,
                bytes,
                origin: TransferOrigin::from_call(ProcessIndex::from_index(process)),
                tid: 0,
                elsewhere: true,
                begins: false,
            };
            self.sent.push(call(time, 1));
            self.received.push(call(received, 0));
        }

        fn exchanges(&self) -> Vec<[Range<u64>; 2]> {
            let requests = self.requests.iter().copied();
            let calls = [&self.received, &self.sent].map(|calls| calls.iter().copied());
            let [received, sent] = calls;
            find_streaming_exchanges(requests, received, sent)
                .into_iter()
                .map(|StreamingExchange(ranges)| ranges)
                .collect()
        }
    }

    const BUFFER: u64 = 2 * MIN_PIECE_BYTES;

    #[test]
    fn a_piece_that_the_answer_crosses_is_no_new_request() {
        let mut talk = Talk::default();
        talk.ask(0, 100);
        talk.answer(5, 200, 6);
        for piece in 0..5 {
            let begin = 10 + 10 * piece;
            talk.ask(begin, 9_001);
            // The answer is read when the next piece is in flight.
            talk.answer(begin + 5, 9_002, begin + 12);
        }
        talk.ask(70, 100);
        talk.answer(75, 200, 76);
        assert_eq!(talk.exchanges(), [[100..100 + 5 * 9_001, 200..200 + 5 * 9_002]]);
    }

    #[test]
    fn whole_buffers_continue_a_request_that_began_with_a_head() {
        let of = |head: u64, last: u64, answered: u64| {
            let mut talk = Talk::default();
            talk.ask(0, BUFFER + head);
            talk.answer(5, BUFFER + 150, 6);
            talk.ask(10, BUFFER);
            talk.answer(15, BUFFER, 16);
            talk.ask(20, last);
            talk.answer(25, answered, 26);
            talk.ask(30, 90);
            talk.answer(35, 160, 36);
            talk.exchanges()
        };
        let [asked, answered] = [2 * BUFFER + 120, 2 * BUFFER + 150];
        assert_eq!(of(120, 5_000, 5_000), [[0..asked + 5_000, 0..answered + 5_000]]);
        assert_eq!(of(120, 5_000, 200), [[0..asked, 0..answered]], "not turned round");
        assert_eq!(of(120, 500, 500), [[0..asked, 0..answered]], "too small to tell");
        assert!(of(0, 5_000, 5_000).is_empty(), "blocks of no body");
    }

    #[test]
    fn alternating_and_pipelined_calls_are_left_alone() {
        let mut turns = Talk::default();
        for call in 0..10 {
            turns.ask(10 * call, 9_000);
            turns.answer(10 * call + 5, 9_000, 10 * call + 6);
        }
        assert!(turns.exchanges().is_empty());
        let mut pipelined = Talk::default();
        for call in 0..10 {
            pipelined.ask(10 * call, 90);
            pipelined.answer(10 * call + 5, 20_000, 10 * call + 18);
        }
        assert!(pipelined.exchanges().is_empty());
    }

    #[test]
    fn inside_is_between_beginning_and_end() {
        let exchanges = [StreamingExchange([10..20, 0..5]), StreamingExchange([30..40, 7..9])];
        let places = |direction, places: &[u64]| {
            let mut inside = ExchangeInterior::from_exchanges(&exchanges, direction);
            places.iter().map(|place| inside.contains_place(*place)).collect::<Vec<_>>()
        };
        let asked = places(0, &[5, 10, 11, 19, 20, 30, 31, 40]);
        assert_eq!(asked, [false, false, true, true, false, false, true, false]);
        assert_eq!(places(1, &[4, 6, 8]), [true, false, true]);
    }
}
