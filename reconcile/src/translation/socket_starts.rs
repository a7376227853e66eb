//! Beginning of a socket in one log: its first calls, which are passed on to a table one by one,
//! and summaries of its two directions. The facts of several logs about one socket are combined.

use crate::translation::half_flow::FlowDirectionSummary;
use crate::tuning::{MAX_BEGINNING_CALLS, UNMERGED_FIRST_CALLS};

/// A call: its time in nanoseconds, its number of bytes, and whether it sent them.
pub(crate) type CallBytes = (i64, u64, bool);

/// A call of a chosen socket, with the socket's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedCall {
    pub(crate) number: u32,
    sent: bool,
    pub(crate) time: i64,
    bytes: u64,
}

impl NumberedCall {
    pub(crate) fn from_call(number: u32, (time, bytes, sent): CallBytes) -> NumberedCall {
        NumberedCall { number, sent, time, bytes }
    }

    pub(crate) fn to_call(&self) -> CallBytes {
        (self.time, self.bytes, self.sent)
    }
}

/// Beginning of a socket in one log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketStart {
    /// Number of calls that are kept.
    kept: u32,
    /// The last kept call, which may still grow; the others were passed on.
    pub(crate) last: Option<CallBytes>,
    /// Time of the first call that was not kept.
    pub(crate) cut: Option<i64>,
    pub(crate) sent: FlowDirectionSummary,
    pub(crate) received: FlowDirectionSummary,
    /// Whether records of its calls were overwritten: then none of the remaining calls is its
    /// beginning.
    pub(crate) forgotten: bool,
}

impl SocketStart {
    /// Adds a call. Returns the previous one if it is complete.
    pub(crate) fn add_call(&mut self, call: CallBytes) -> Option<CallBytes> {
        let (time, bytes, sent) = call;
        let direction = if sent { &mut self.sent } else { &mut self.received };
        if direction.bytes == 0 {
            (direction.first, direction.last) = (time, time);
        }
        (direction.first, direction.last) = (direction.first.min(time), direction.last.max(time));
        direction.bytes = direction.bytes.saturating_add(bytes);
        match &mut self.last {
            _ if self.cut.is_some() => None,
            Some(last) if self.kept >= UNMERGED_FIRST_CALLS && last.2 == sent => {
                last.1 = last.1.saturating_add(bytes);
                None
            }
            _ if self.kept >= MAX_BEGINNING_CALLS => {
                self.cut = Some(time);
                None
            }
            last => {
                self.kept += 1;
                last.replace(call)
            }
        }
    }

    /// Adds the facts of another process about the same socket, except for its calls.
    pub(crate) fn join_process(&mut self, other: &SocketStart) {
        self.forgotten |= other.forgotten;
        self.cut = self.cut.into_iter().chain(other.cut).min();
        for (direction, more) in
            [(&mut self.sent, other.sent), (&mut self.received, other.received)]
        {
            direction.fingerprint = match (direction.bytes, more.bytes) {
                (0, _) => more.fingerprint,
                (_, 0) => direction.fingerprint,
                // Each process has the checksum of its own part only.
                _ => None,
            };
            if more.bytes > 0 {
                direction.first =
                    if direction.bytes > 0 { direction.first.min(more.first) } else { more.first };
                direction.last =
                    if direction.bytes > 0 { direction.last.max(more.last) } else { more.last };
                direction.bytes = direction.bytes.saturating_add(more.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::half_flow::PrefixChecksum;

    fn beginning(calls: &[CallBytes]) -> (SocketStart, Vec<CallBytes>) {
        let mut beginning = SocketStart::default();
        let mut kept: Vec<CallBytes> =
            calls.iter().filter_map(|call| beginning.add_call(*call)).collect();
        kept.extend(beginning.last);
        (beginning, kept)
    }

    #[test]
    fn facts_of_several_processes_are_combined() {
        let (mut reader, calls) = beginning(&[(2, 10, false), (8, 20, false)]);
        assert_eq!(calls, [(2, 10, false), (8, 20, false)]);
        reader.received.fingerprint = Some(PrefixChecksum { bytes: 30, crc: 1 });
        reader.join_process(&beginning(&[(5, 7, true), (6, 8, true)]).0);
        assert_eq!((reader.sent.bytes, reader.sent.first, reader.sent.last), (15, 5, 6));
        assert_eq!(
            (reader.received.bytes, reader.received.first, reader.received.last),
            (30, 2, 8)
        );
        assert!(reader.received.fingerprint.is_some());
        reader.join_process(&beginning(&[(9, 1, false)]).0);
        assert!(reader.received.fingerprint.is_none());
    }

    #[test]
    fn the_number_of_kept_calls_is_bounded() {
        let long: Vec<CallBytes> = (0..1_000).map(|at| (at, 2, at % 400 < 200)).collect();
        let (of_long, calls) = beginning(&long);
        assert!(calls.len() < UNMERGED_FIRST_CALLS as usize + 8 && of_long.cut.is_none());
        assert_eq!(calls.iter().map(|call| call.1).sum::<u64>(), 2_000);
        let talk: Vec<CallBytes> = (0..1_000).map(|at| (at, 2, at % 2 == 0)).collect();
        let (of_talk, calls) = beginning(&talk);
        assert_eq!(
            (calls.len(), of_talk.cut),
            (MAX_BEGINNING_CALLS as usize, Some(i64::from(MAX_BEGINNING_CALLS)))
        );
        assert_eq!(of_talk.sent.bytes + of_talk.received.bytes, 2_000);
    }
}
