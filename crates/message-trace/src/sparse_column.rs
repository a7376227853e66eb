//! Sparse column: few rows have a value, and only these take memory.

use std::ops::Range;

/// Values by row, in ascending order of the rows.
#[derive(Clone, Debug)]
pub struct SparseColumn<T> {
    rows: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for SparseColumn<T> {
    fn default() -> Self {
        SparseColumn { rows: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy> SparseColumn<T> {
    /// Returns whether no row has a value.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Sets the value of `row`, which must be after all rows with a value.
    pub fn push(&mut self, row: usize, value: T) {
        self.rows.push(row as u32);
        self.values.push(value);
    }

    /// Returns the value of `row`, if it has one.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        // Usually there are no values at all.
        if self.rows.last().is_none_or(|last| (*last as usize) < row) {
            return None;
        }
        let place = self.rows.binary_search(&(row as u32)).ok()?;
        self.values.get(place).copied()
    }

    /// Appends the values of `rows` of `other`; the first of them becomes row `begin` of this
    /// column.
    pub fn append_rows(&mut self, other: &SparseColumn<T>, rows: Range<usize>, begin: usize) {
        let first = other.rows.partition_point(|row| (*row as usize) < rows.start);
        let own = other.rows.iter().zip(&other.values).skip(first);
        for (row, value) in own.take_while(|(row, _)| (**row as usize) < rows.end) {
            self.push(begin + *row as usize - rows.start, *value);
        }
    }

    /// Removes the first `rows`; the next one becomes the first.
    pub fn remove_first(&mut self, rows: usize) {
        let gone = self.rows.partition_point(|row| (*row as usize) < rows);
        self.rows.drain(..gone);
        self.values.drain(..gone);
        self.rows.iter_mut().for_each(|row| *row -= rows as u32);
    }

    /// Permutes the rows: `order` contains the former row of each.
    pub(crate) fn permute_rows(&mut self, order: &[u32]) {
        if self.rows.is_empty() {
            return;
        }
        let mut sorted = SparseColumn::default();
        for (row, former) in order.iter().enumerate() {
            if let Some(value) = self.get(*former as usize) {
                sorted.push(row, value);
            }
        }
        *self = sorted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_values(few: &SparseColumn<char>, rows: usize) -> String {
        (0..rows).map(|row| few.get(row).unwrap_or('.')).collect()
    }

    #[test]
    fn rows_keep_their_values() {
        let mut few = SparseColumn::default();
        assert_eq!(all_values(&few, 3), "...");
        for (row, value) in [(1, 'b'), (3, 'd'), (4, 'e')] {
            few.push(row, value);
        }
        assert_eq!(all_values(&few, 7), ".b.de..");
        let mut other = SparseColumn::default();
        other.push(0, 'x');
        other.append_rows(&few, 2..4, 5);
        assert_eq!(all_values(&other, 9), "x.....d..");
        few.permute_rows(&[4, 0, 1, 2, 3]);
        assert_eq!(all_values(&few, 5), "e.b.d");
        few.remove_first(2);
        assert_eq!(all_values(&few, 4), "b.d.");
    }
}
