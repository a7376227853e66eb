//! Rare words of the messages of a batch, from `words.parquet`, which is in the order of the
//! messages; without that table no words are known.

use std::collections::VecDeque;

use message_trace::table::words::{WordReader, WordRow};
use message_trace::{DataDir, MessageEnd, MessageId, MessageTrace, PathError, WordHash};

/// The words of a data directory, read batch by batch.
pub(super) struct WordCursor {
    reader: WordReader,
    /// Words that were read ahead.
    read: VecDeque<WordRow>,
    /// Whether the table was read to its end.
    is_exhausted: bool,
}

impl WordCursor {
    /// Opens the words of `data`, if it has any.
    ///
    /// # Errors
    /// If the table exists but cannot be read.
    pub(super) fn open(data: &DataDir) -> Result<Option<WordCursor>, PathError> {
        let reader = WordReader::open(data.words_path())?;
        Ok(reader.map(|reader| WordCursor { reader, read: VecDeque::new(), is_exhausted: false }))
    }

    /// Attaches words to the messages of `trace` from row `from` on; calls must follow the order of
    /// the trace. `first` is the number of the first message of `trace` in the whole trace.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(super) fn attach_to_batch(
        &mut self,
        trace: &mut MessageTrace,
        from: usize,
        first: u64,
    ) -> Result<(), PathError> {
        let end = first + trace.len() as u64;
        while !self.is_exhausted && self.read.back().is_none_or(|row| row.message < end) {
            let WordCursor { reader, read, .. } = self;
            self.is_exhausted = !reader.read_batch(|row| read.push_back(row))?;
        }
        let count = self.read.partition_point(|row| row.message < end);
        for WordRow { message, received, word } in self.read.drain(..count) {
            let end = if received { MessageEnd::Received } else { MessageEnd::Sent };
            if let Some(row) = message.checked_sub(first).filter(|row| *row as usize >= from) {
                trace.add_word(MessageId::from_index(row as usize), end, WordHash(word as u32));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, write_words};

    #[test]
    fn messages_get_their_words_in_batches_of_any_length() {
        let mut trace = Fixture::new();
        for at in 0..9 {
            trace.send("x", "s", 10 * at, 10 * at + 1).on(at % 2);
        }
        let whole = trace.trace();
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let rows = [(0, false, -3), (0, true, -3), (4, false, 1), (4, false, 9), (8, true, 2)];
        let rows = rows.map(|(message, received, word)| WordRow { message, received, word });
        write_words(&data, &rows);
        for length in 1..10 {
            let mut words = WordCursor::open(&data).unwrap().unwrap();
            let mut found = Vec::new();
            for first in (0..9).step_by(length) {
                // One message before the batch is included.
                let begin = first.max(1) - 1;
                let mut batch = MessageTrace::new(whole.nodes.clone());
                batch.append_rows(&whole, begin..(first + length).min(9));
                words.attach_to_batch(&mut batch, first - begin, begin as u64).unwrap();
                for row in first - begin..batch.len() {
                    let message = (begin + row) as u64;
                    for end in MessageEnd::ALL {
                        let received = end == MessageEnd::Received;
                        let all = batch.words(MessageId::from_index(row), end).iter();
                        let rows = all.map(|word| word.0 as i32);
                        found.extend(rows.map(|word| WordRow { message, received, word }));
                    }
                }
            }
            assert_eq!(found, rows, "{length}");
        }
        let nothing = tempfile::tempdir().unwrap();
        assert!(WordCursor::open(&DataDir::new(nothing.path())).unwrap().is_none());
    }
}
