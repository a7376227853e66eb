//! Rare words of the messages of a trace, as hashes, for passes that compare messages.

use std::ops::Range;

use crate::message::MessageId;

/// The hash of a word, under the key of its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordHash(pub u32);

/// An end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageEnd {
    /// The sender.
    Sent = 0,
    /// The receiver.
    Received = 1,
}

impl MessageEnd {
    /// Both ends.
    pub const ALL: [MessageEnd; 2] = [MessageEnd::Sent, MessageEnd::Received];
}

/// The words of both ends of each message, in the order of the rows. Messages without words take no
/// memory.
#[derive(Clone, Debug, Default)]
pub struct WordColumn {
    /// The row and end of each word, `2 * row + end`.
    places: Vec<u64>,
    words: Vec<WordHash>,
}

impl WordColumn {
    /// Returns whether no message has words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds a word of the message at `end`. Words come in the order of messages and ends.
    pub fn push(&mut self, id: MessageId, end: MessageEnd, word: WordHash) {
        self.places.push(place(id.index(), end));
        self.words.push(word);
    }

    /// Returns the words of the message at `end`, in their order.
    pub fn words_of(&self, id: MessageId, end: MessageEnd) -> &[WordHash] {
        let place = place(id.index(), end);
        let first = self.places.partition_point(|other| *other < place);
        let rest = self.places.get(first..).unwrap_or_default();
        let count = rest.iter().take_while(|other| **other == place).count();
        self.words.get(first..first + count).unwrap_or_default()
    }

    /// Appends the words of `rows` of `other`; the first of them becomes row `begin` of this
    /// column.
    pub fn append_rows(&mut self, other: &WordColumn, rows: Range<usize>, begin: usize) {
        let [first, end] = [rows.start, rows.end].map(|row| place(row, MessageEnd::Sent));
        let [from, to] =
            [first, end].map(|bound| other.places.partition_point(|place| *place < bound));
        let offset = place(begin, MessageEnd::Sent);
        let places = other.places.get(from..to).unwrap_or_default();
        self.places.extend(places.iter().map(|place| place - first + offset));
        self.words.extend_from_slice(other.words.get(from..to).unwrap_or_default());
    }

    /// Permutes the rows: `order` contains the former id of each message.
    pub(crate) fn permute_rows(&mut self, order: &[MessageId]) {
        if self.is_empty() {
            return;
        }
        let mut sorted = WordColumn::default();
        for (id, former) in MessageId::ids().zip(order) {
            for end in MessageEnd::ALL {
                for word in self.words_of(*former, end) {
                    sorted.push(id, end, *word);
                }
            }
        }
        *self = sorted;
    }
}

/// The position of one end of a message among the ends of all messages.
fn place(row: usize, end: MessageEnd) -> u64 {
    2 * row as u64 + end as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of all rows: those of the sender, and after a bar those of the receiver.
    fn all_words(column: &WordColumn, rows: usize) -> Vec<String> {
        let of = |id, end| -> String {
            column.words_of(id, end).iter().map(|word| word.0.to_string()).collect()
        };
        MessageId::ids()
            .take(rows)
            .map(|id| format!("{}|{}", of(id, MessageEnd::Sent), of(id, MessageEnd::Received)))
            .collect()
    }

    #[test]
    fn rows_keep_their_words_at_each_end() {
        let mut column = WordColumn::default();
        assert!(column.is_empty() && all_words(&column, 1) == ["|"]);
        for (row, end, word) in [(0, 0, 1), (0, 0, 2), (0, 1, 2), (2, 1, 3), (3, 0, 4)] {
            column.push(MessageId::from_index(row), MessageEnd::ALL[end], WordHash(word));
        }
        assert_eq!(all_words(&column, 5), ["12|2", "|", "|3", "4|", "|"]);
        let mut other = WordColumn::default();
        other.push(MessageId::from_index(1), MessageEnd::Sent, WordHash(9));
        other.append_rows(&column, 0..3, 4);
        assert_eq!(all_words(&other, 8), ["|", "9|", "|", "|", "12|2", "|", "|3", "|"]);
        column.permute_rows(&[3, 2, 1, 0].map(MessageId::from_index));
        assert_eq!(all_words(&column, 4), ["4|", "|3", "|", "12|2"]);
    }
}
