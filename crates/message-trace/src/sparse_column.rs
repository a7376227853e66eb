//! Sparse column: few messages have a value, and only these take memory.

use std::ops::Range;

use crate::message::MessageId;

/// Values by message, in ascending order of their rows.
#[derive(Clone, Debug)]
pub struct SparseColumn<T> {
    ids: Vec<MessageId>,
    values: Vec<T>,
}

impl<T> Default for SparseColumn<T> {
    fn default() -> Self {
        SparseColumn { ids: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy> SparseColumn<T> {
    /// Returns whether no message has a value.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Sets the value of a message, which must be after all messages with a value.
    pub fn push(&mut self, id: MessageId, value: T) {
        self.ids.push(id);
        self.values.push(value);
    }

    /// Returns the value of the message, if it has one.
    #[inline]
    pub fn get(&self, id: MessageId) -> Option<T> {
        // Usually there are no values at all.
        if self.ids.last().is_none_or(|last| *last < id) {
            return None;
        }
        let place = self.ids.binary_search(&id).ok()?;
        self.values.get(place).copied()
    }

    /// Appends the values of `rows` of `other`; the first of them becomes row `begin` of this
    /// column.
    pub fn append_rows(&mut self, other: &SparseColumn<T>, rows: Range<usize>, begin: usize) {
        let first = other.ids.partition_point(|id| id.index() < rows.start);
        let own = other.ids.iter().zip(&other.values).skip(first);
        for (id, value) in own.take_while(|(id, _)| id.index() < rows.end) {
            self.push(MessageId::from_index(begin + id.index() - rows.start), *value);
        }
    }

    /// Removes the first `rows`; the next one becomes the first.
    pub fn remove_first(&mut self, rows: usize) {
        let gone = self.ids.partition_point(|id| id.index() < rows);
        self.ids.drain(..gone);
        self.values.drain(..gone);
        self.ids.iter_mut().for_each(|id| *id = MessageId::from_index(id.index() - rows));
    }

    /// Permutes the rows: `order` contains the former id of each message.
    pub(crate) fn permute_rows(&mut self, order: &[MessageId]) {
        if self.ids.is_empty() {
            return;
        }
        let mut sorted = SparseColumn::default();
        for (id, former) in MessageId::ids().zip(order) {
            if let Some(value) = self.get(*former) {
                sorted.push(id, value);
            }
        }
        *self = sorted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_values(few: &SparseColumn<char>, rows: usize) -> String {
        MessageId::ids().take(rows).map(|id| few.get(id).unwrap_or('.')).collect()
    }

    #[test]
    fn rows_keep_their_values() {
        let mut few = SparseColumn::default();
        assert_eq!(all_values(&few, 3), "...");
        for (row, value) in [(1, 'b'), (3, 'd'), (4, 'e')] {
            few.push(MessageId::from_index(row), value);
        }
        assert_eq!(all_values(&few, 7), ".b.de..");
        let mut other = SparseColumn::default();
        other.push(MessageId::from_index(0), 'x');
        other.append_rows(&few, 2..4, 5);
        assert_eq!(all_values(&other, 9), "x.....d..");
        few.permute_rows(&[4, 0, 1, 2, 3].map(MessageId::from_index));
        assert_eq!(all_values(&few, 5), "e.b.d");
        few.remove_first(2);
        assert_eq!(all_values(&few, 4), "b.d.");
    }
}
