//! Fragment matching in one direction of a stream: which receive calls got the bytes of each send
//! call.
//!
//! A stream has no boundaries between messages, but it keeps every byte in order: the n-th byte
//! sent is the n-th byte received. So a send's message was received by the calls that got its first
//! and its last byte, however the bytes were cut on the way. This is a pure function of the two
//! sides' calls in order; it is for streams what matching by content is for datagrams.
//!
//! Bytes with overwritten records have entries among the calls, so that the bytes after them keep
//! their positions.
//!
//! If the receiver's log has an operation that begins within the bytes of one send, these are two
//! messages, as they are if the sender's log has it.

use crate::calls::{CallSpan, FlowMessage, StreamTransfer};

/// Iterator over the messages of one direction. One call of each side is in memory, whatever their
/// number. Messages that were sent come in order, with those without a recorded send at their
/// positions.
#[derive(Clone, Debug)]
pub(crate) struct StreamFragments<S, R> {
    sends: S,
    receives: R,
    /// Whether it is known which calls belong together; if not, each call is a message of its own.
    placed: bool,
    /// The receive that is being matched.
    receive: Option<StreamTransfer>,
    /// Number of remaining bytes of `receive`.
    left: u64,
    /// Remainder of a send that an operation divides.
    rest: Option<StreamTransfer>,
    /// Remaining bytes of sends with overwritten records.
    hidden: u64,
    /// Bytes of the messages so far that were never received.
    pub unread: u64,
    /// Bytes of the messages so far without a recorded send.
    pub unsent: u64,
}

impl<S: Iterator<Item = StreamTransfer>, R: Iterator<Item = StreamTransfer>> StreamFragments<S, R> {
    /// Matches `sends` with `receives`, each in order, if the positions of both in the stream are
    /// known (`placed`).
    pub(crate) fn new(sends: S, receives: R, placed: bool) -> StreamFragments<S, R> {
        StreamFragments {
            sends,
            receives,
            placed,
            receive: None,
            left: 0,
            rest: None,
            hidden: 0,
            unread: 0,
            unsent: 0,
        }
    }

    /// The receive of the next bytes, and whether its first byte is among them.
    fn next_receive(&mut self) -> Option<(StreamTransfer, bool)> {
        if self.left == 0 {
            self.receive = self.receives.find(|receive| receive.bytes > 0);
            self.left = self.receive.map_or(0, |receive| receive.bytes);
        }
        self.receive.map(|receive| (receive, receive.bytes == self.left))
    }

    /// Takes up to `most` bytes of the current receive, and returns their number.
    fn take_bytes(&mut self, most: u64) -> u64 {
        let taken = most.min(self.left);
        self.left -= taken;
        taken
    }

    /// The message of a send, or of its remainder.
    fn sent_message(&mut self, send: &StreamTransfer) -> FlowMessage {
        let mut wanted = send.bytes;
        let mut received: Option<CallSpan> = None;
        let (mut forgotten, mut acted, mut begins) = (0, false, false);
        while wanted > 0 && self.placed {
            let Some((receive, is_first)) = self.next_receive() else { break };
            if is_first && receive.begins {
                if wanted < send.bytes {
                    let rest = StreamTransfer { bytes: wanted, elsewhere: false, ..*send };
                    self.rest = Some(StreamTransfer { begins: false, ..rest });
                    break;
                }
                begins = true;
            }
            acted |= is_first && received.is_none() && receive.elsewhere;
            let taken = self.take_bytes(wanted);
            if receive.is_forgotten() {
                forgotten += taken;
            } else {
                let first = received.map_or(receive.time, |seen| seen.first);
                received = Some(CallSpan {
                    first,
                    ..CallSpan::from_call(receive.time, receive.process(), receive.tid)
                });
            }
            wanted -= taken;
        }
        let rest = self.rest.map_or(0, |rest| rest.bytes);
        self.unread += wanted - rest + forgotten;
        FlowMessage {
            sent: Some(CallSpan::from_call(send.time, send.process(), send.tid)),
            // With a part of the bytes alone, the time when the rest was received is unknown.
            received: received.filter(|_| forgotten == 0),
            bytes: send.bytes - rest,
            parts: 1,
            elsewhere: send.elsewhere,
            acted,
            begins: [send.begins, begins],
        }
    }
}

impl<S: Iterator<Item = StreamTransfer>, R: Iterator<Item = StreamTransfer>> Iterator
    for StreamFragments<S, R>
{
    type Item = FlowMessage;

    fn next(&mut self) -> Option<FlowMessage> {
        loop {
            if let Some(rest) = self.rest.take() {
                return Some(self.sent_message(&rest));
            }
            let mut most = self.hidden;
            if most == 0 {
                match self.sends.find(|send| send.bytes > 0) {
                    Some(send) if !send.is_forgotten() => return Some(self.sent_message(&send)),
                    Some(send) => {
                        self.hidden = if self.placed { send.bytes } else { 0 };
                        continue;
                    }
                    // The remaining bytes were received and not sent.
                    None => most = u64::MAX,
                }
            }
            let Some((receive, is_first)) = self.next_receive() else {
                if std::mem::take(&mut self.hidden) == 0 {
                    return None;
                }
                continue;
            };
            let bytes = self.take_bytes(most);
            self.hidden = self.hidden.saturating_sub(bytes);
            if !receive.is_forgotten() {
                self.unsent += bytes;
                let seen = CallSpan::from_call(receive.time, receive.process(), receive.tid);
                let acted = receive.elsewhere;
                return Some(FlowMessage {
                    sent: None,
                    received: Some(seen),
                    bytes,
                    parts: 1,
                    elsewhere: false,
                    acted,
                    begins: [false, is_first && receive.begins],
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::TransferOrigin;
    use crate::indices::ProcessIndex;
    use crate::streams::tally::CallTally;
    use proptest::prelude::*;

    /// Messages of one direction, and the bytes that only one side saw.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Matched {
        /// One message for each send, in order, and one for each receive without a recorded send,
        /// at its position.
        pub parts: Vec<FlowMessage>,
        /// Bytes sent that were never received: the receiver closed early, or its end of the trace
        /// is missing.
        pub unread: u64,
        /// Bytes received beyond the recorded sends: the sender's calls were not all captured.
        pub unsent: u64,
    }

    /// Matches the sends of one side, in order, with the receives of the other, in order.
    fn match_stream(sends: &[StreamTransfer], receives: &[StreamTransfer]) -> Matched {
        let tally = |calls: &[StreamTransfer]| {
            let mut tally = CallTally::default();
            calls.iter().for_each(|call| tally.add_call(call));
            tally
        };
        let placed = tally(sends).is_placed() && tally(receives).is_placed();
        let mut parts =
            StreamFragments::new(sends.iter().copied(), receives.iter().copied(), placed);
        let mut matched = Matched { parts: Vec::with_capacity(sends.len()), unread: 0, unsent: 0 };
        matched.parts.extend(parts.by_ref());
        Matched { unread: parts.unread, unsent: parts.unsent, ..matched }
    }

    fn call(time: i64, bytes: u64) -> StreamTransfer {
        StreamTransfer {
            time,
            bytes,
            origin: TransferOrigin::default(),
            tid: time as i32,
            elsewhere: false,
            begins: false,
        }
    }

    fn span(seen: Option<CallSpan>) -> Option<(i64, i64)> {
        seen.map(|seen| (seen.first, seen.last))
    }

    #[test]
    fn by_hand() {
        let sends = [call(1, 10), call(2, 5), call(3, 0), call(4, 1)];
        let receives = [call(11, 4), call(12, 8), call(13, 4)];
        let matched = match_stream(&sends, &receives);
        let spans: Vec<_> = matched.parts.iter().map(|part| span(part.received)).collect();
        assert_eq!(spans, [Some((11, 12)), Some((12, 13)), Some((13, 13))]);
        assert_eq!(matched.parts[1].received.unwrap().tid, 13);
        assert_eq!((matched.unread, matched.unsent), (0, 0));
    }

    #[test]
    fn a_receiver_that_closes_early_leaves_a_tail() {
        let matched = match_stream(&[call(1, 10), call(2, 10), call(3, 10)], &[call(11, 12)]);
        let spans: Vec<_> = matched.parts.iter().map(|part| span(part.received)).collect();
        assert_eq!(spans, [Some((11, 11)), Some((11, 11)), None]);
        assert_eq!(matched.unread, 18);
    }

    #[test]
    fn bytes_without_a_recorded_send_are_messages_too() {
        let matched = match_stream(&[call(1, 10)], &[call(11, 12), call(12, 3)]);
        assert_eq!(matched.parts.len(), 3);
        assert_eq!(matched.parts[1].sent, None);
        assert_eq!(matched.parts[1..].iter().map(|part| part.bytes).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(matched.unsent, 5);
    }

    #[test]
    fn bytes_with_overwritten_records_keep_their_place() {
        let forgotten =
            |time, bytes| StreamTransfer { origin: TransferOrigin::FORGOTTEN, ..call(time, bytes) };
        let spans = |matched: &Matched| -> Vec<_> {
            matched
                .parts
                .iter()
                .map(|part| (span(part.sent), span(part.received), part.bytes))
                .collect()
        };
        let once = |time| Some((time, time));
        let receives = [call(11, 4), call(12, 10), call(13, 6)];
        let matched = match_stream(&[forgotten(3, 12), call(3, 2), call(4, 6)], &receives);
        let expected = [
            (None, once(11), 4),
            (None, once(12), 8),
            (once(3), once(12), 2),
            (once(4), once(13), 6),
        ];
        assert_eq!(spans(&matched), expected);
        assert_eq!((matched.unread, matched.unsent), (0, 12));
        let sends = [call(1, 4), call(2, 10), call(3, 6)];
        let matched = match_stream(&sends, &[forgotten(12, 12), call(12, 2), call(13, 6)]);
        assert_eq!(
            spans(&matched),
            [(once(1), None, 4), (once(2), None, 10), (once(3), once(13), 6)]
        );
        assert_eq!((matched.unread, matched.unsent), (12, 0), "2 of the 10 were seen");
        let both = match_stream(&[forgotten(3, 7), call(3, 3)], &[forgotten(11, 5), call(11, 5)]);
        assert_eq!(spans(&both), [(None, once(11), 2), (once(3), once(11), 3)]);
    }

    #[test]
    fn overwritten_records_of_one_of_several_processes_have_no_place() {
        let process = ProcessIndex::from_index(1);
        let other = StreamTransfer { origin: TransferOrigin::from_call(process), ..call(2, 5) };
        let forgotten = StreamTransfer { origin: TransferOrigin::FORGOTTEN, ..call(3, 5) };
        let matched = match_stream(&[other, forgotten, call(3, 5)], &[call(11, 15)]);
        assert!(matched.parts.iter().all(|part| part.sent.is_none() || part.received.is_none()));
        assert_eq!((matched.parts.len(), matched.unread, matched.unsent), (3, 10, 15));
    }

    #[test]
    fn an_unknown_number_of_overwritten_bytes_leaves_no_places() {
        let forgotten = StreamTransfer {
            origin: TransferOrigin::FORGOTTEN,
            ..call(3, StreamTransfer::UNKNOWN)
        };
        let matched =
            match_stream(&[call(1, 5), forgotten, call(3, 5)], &[call(11, 5), call(12, 1 << 40)]);
        assert!(matched.parts.iter().all(|part| part.sent.is_none() || part.received.is_none()));
        assert_eq!((matched.parts.len(), matched.unread, matched.unsent), (4, 10, 5 + (1 << 40)));
    }

    /// The sizes of consecutive calls that move `total` bytes in all.
    fn cut(total: u64, mut pieces: Vec<u64>) -> Vec<u64> {
        let mut left = total;
        pieces.retain_mut(|piece| {
            *piece = (*piece).min(left);
            left -= *piece;
            *piece > 0
        });
        pieces.extend(Some(left).filter(|left| *left > 0));
        pieces
    }

    proptest! {
        /// However a stream is cut into writes and reads, each message has the times of the reads
        /// that got its first and last byte in a byte-by-byte simulation, and no byte is lost or
        /// added.
        #[test]
        fn any_cut_into_writes_and_reads_matches(
            total in 0u64..400,
            read in 0u64..400,
            writes in prop::collection::vec(1u64..60, 0..30),
            reads in prop::collection::vec(1u64..60, 0..30),
        ) {
            let sends: Vec<_> = cut(total, writes).into_iter().enumerate().map(|(at, b)| call(at as i64, b)).collect();
            let receives: Vec<_> =
                cut(read, reads).into_iter().enumerate().map(|(at, b)| call(1000 + at as i64, b)).collect();
            let by_byte = |calls: &[StreamTransfer]| -> Vec<i64> {
                calls.iter().flat_map(|call| (0..call.bytes).map(|_| call.time)).collect()
            };
            let (sent, got) = (by_byte(&sends), by_byte(&receives));
            let matched = match_stream(&sends, &receives);
            let mut offset = 0;
            for (send, part) in sends.iter().zip(&matched.parts) {
                let end = offset + send.bytes as usize;
                prop_assert_eq!(span(part.sent), Some((send.time, send.time)));
                prop_assert_eq!(part.bytes, send.bytes);
                let first = got.get(offset).copied();
                let last = got.get(offset..end.min(got.len())).and_then(|range| range.last()).copied();
                prop_assert_eq!(span(part.received), first.zip(last));
                offset = end;
            }
            prop_assert_eq!(matched.unread, total.saturating_sub(read));
            prop_assert_eq!(matched.unsent, read.saturating_sub(total));
            let bytes: u64 = matched.parts.iter().map(|part| part.bytes).sum();
            prop_assert_eq!(bytes, total.max(read));
            prop_assert_eq!(sent.len() as u64, total);
        }
    }
}
