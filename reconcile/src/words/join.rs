//! The join: a word belongs to the message of its call, which is the message of the same stream and
//! end whose calls the time of the word's call lies between. If one call moved bytes of several
//! messages, such as commands that were sent at once, it is not known whose word it is, and none of
//! them gets it. A datagram is recognised by its process, size and time; again, several that agree
//! in these get no words.

use std::collections::VecDeque;

use message_trace::PathError;
use out_of_core::{ExternalSorter, KeyedRecord, ReadFailure, SortedRuns};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::rows::message_span::{LoggedWord, MessageSpan, is_received};

/// A word of a message at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct MessageWord {
    /// Number of the message.
    pub(crate) message: u64,
    /// 0 for the sender's end, 1 for the receiver's.
    end: u32,
    /// Hash of the word, with its sign bit flipped, so that words are sorted as signed numbers.
    ordered: u32,
}

/// The sign bit of a word.
const SIGN: u32 = 1 << 31;

impl MessageWord {
    /// The hash of the word.
    pub(crate) fn word(&self) -> i32 {
        (self.ordered ^ SIGN) as i32
    }

    /// Whether the receiver saw the word.
    pub(crate) fn is_received(&self) -> bool {
        self.end != 0
    }
}

impl KeyedRecord for MessageWord {
    type Key = (u64, u32, u32);

    fn key(&self) -> (u64, u32, u32) {
        (self.message, self.end, self.ordered)
    }
}

/// Assigns each of `words` to one of `messages`; the pairs go to `joined`. Returns the number of
/// words without a message.
///
/// # Errors
/// Fails if a temporary file cannot be read or written.
pub(crate) fn join_words(
    messages: &SortedRuns<MessageSpan>,
    words: &SortedRuns<LoggedWord>,
    joined: &mut ExternalSorter<MessageWord>,
) -> Result<u64, PathError> {
    let failed = ReadFailure::default();
    let mut messages = messages.iter(&failed).peekable();
    // Messages of the place that began before the word's call, and did not end before it.
    let mut open: VecDeque<MessageSpan> = VecDeque::new();
    let mut alone = 0;
    for word in words.iter(&failed) {
        let at = (word.place, word.time);
        while let Some(message) = messages.next_if(|message| (message.place, message.first) <= at) {
            if message.place == word.place && message.last >= word.time {
                open.push_back(message);
            }
        }
        open.retain(|message| message.place == word.place && message.last >= word.time);
        match open.front().filter(|_| open.len() == 1) {
            Some(message) => joined.push(MessageWord {
                message: message.number,
                end: u32::from(is_received(word.place)),
                ordered: word.word as u32 ^ SIGN,
            })?,
            None => alone += 1,
        }
    }
    failed.check_failure()?;
    Ok(alone)
}

#[cfg(test)]
mod tests {
    use message_trace::{NodeId, TransportProtocol};
    use out_of_core::MemoryBudget;

    use super::*;
    use crate::indices::OptionalIndex;
    use crate::rows::message_span::place_of_call;

    /// Joins messages, each as its place, times and number, with words, each as its place, time and
    /// hash. Returns message and hash of each pair, and how many words remain.
    fn joined(
        messages: &[(u64, i64, i64, u64)],
        words: &[(u64, i64, u32)],
    ) -> (Vec<(u64, i32)>, u64) {
        let (budget, directory) = (MemoryBudget::new(0), tempfile::tempdir().unwrap());
        let mut spans = ExternalSorter::new(&budget, directory.path(), 2);
        for (place, first, last, number) in messages.iter().copied() {
            spans.push(MessageSpan { place, first, last, number }).unwrap();
        }
        let mut logged = ExternalSorter::new(&budget, directory.path(), 2);
        for (place, time, word) in words.iter().copied() {
            logged.push(LoggedWord { place, time, word: word.into() }).unwrap();
        }
        let mut pairs = ExternalSorter::new(&budget, directory.path(), 2);
        let alone = join_words(&spans.finish(), &logged.finish(), &mut pairs).unwrap();
        let failed = ReadFailure::default();
        let pairs = pairs.finish();
        let found = pairs.iter(&failed).map(|pair| (pair.message, pair.word())).collect();
        (found, alone)
    }

    #[test]
    fn a_word_belongs_to_the_only_message_of_its_call() {
        let messages =
            [(7, 10, 20, 1), (7, 20, 20, 3), (7, 20, 30, 5), (7, 40, 40, 7), (8, 10, 50, 2)];
        let words = [
            (6, 10, 90),
            (7, 9, 91),
            (7, 10, 100),
            (7, 15, 101),
            (7, 20, 102),
            (7, 25, 103),
            (7, 35, 92),
            (7, 40, u32::MAX),
            (8, 40, 104),
            (8, 60, 93),
        ];
        // The call at 20 ends one message, has another and begins a third one.
        let expected = vec![(1, 100), (1, 101), (2, 104), (5, 103), (7, -1)];
        assert_eq!(joined(&messages, &words), (expected, 5));
    }

    #[test]
    fn datagrams_that_look_alike_get_no_words() {
        let place = |side, bytes| {
            let by = NodeId::from_index(5);
            place_of_call(TransportProtocol::Udp, OptionalIndex::NONE, 0, by, (side, bytes))
        };
        let messages = [
            (place(0, 100), 10, 10, 1),
            (place(0, 100), 10, 10, 2),
            (place(0, 101), 10, 10, 3),
            (place(1, 100), 10, 10, 4),
            (place(0, 100), 20, 20, 5),
        ];
        let words = [
            (place(0, 100), 10, 90),
            (place(0, 101), 10, 100),
            (place(1, 100), 10, 101),
            (place(0, 100), 20, 102),
        ];
        assert_eq!(joined(&messages, &words), (vec![(3, 100), (4, 101), (5, 102)], 1));
    }
}
