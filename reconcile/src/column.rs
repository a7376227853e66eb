//! A table that grows: rows of one kind, by their places. It is in memory while the [`Tables`] have
//! room, and in a mapped temporary file from then on, so that memory does not limit how many rows
//! there are. Rows are as in memory there too.
//!
//! Looking at rows of a file brings their pages into memory; every way to them here takes note of
//! it, so that they are given back in time. To look at them in the order of their places costs
//! least, but any order is right.

mod sort;

use std::ops::{Index, IndexMut, Range};
use std::{ptr, slice};

use message_trace::Error;

use crate::mapping::Mapping;
use crate::tables::{BLOCK_BYTES, Tables};

/// Tables of so many bytes are in memory whatever there is of it.
const SMALL: usize = 4 << 10;

/// See the module.
#[derive(Debug)]
pub(crate) struct Column<T: Copy> {
    kept: Kept<T>,
    tables: Tables,
}

#[derive(Debug)]
enum Kept<T> {
    /// With how many bytes of it were taken from the budget.
    Memory(Vec<T>, usize),
    /// With how many rows there are.
    File(Mapping, usize),
}

impl<T: Copy> Default for Column<T> {
    fn default() -> Self {
        Column::new(&Tables::default())
    }
}

impl<T: Copy> Column<T> {
    pub(crate) fn new(tables: &Tables) -> Column<T> {
        Column { kept: Kept::Memory(Vec::new(), 0), tables: tables.clone() }
    }

    /// So many times `value`.
    pub(crate) fn filled(tables: &Tables, len: usize, value: T) -> Result<Column<T>, Error> {
        let mut this = Column::new(tables);
        this.resize(len, value)?;
        Ok(this)
    }

    /// All of `rows`.
    pub(crate) fn collect(
        tables: &Tables,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<Column<T>, Error> {
        let mut this = Column::new(tables);
        this.extend(rows)?;
        Ok(this)
    }

    /// Those it is one of.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.kept {
            Kept::Memory(rows, _) => rows.len(),
            Kept::File(_, len) => *len,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.touch(at);
        self.rows().get(at)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.touch(at);
        self.rows_mut().get_mut(at)
    }

    /// The rows in the order of their places.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.range(0..self.len())
    }

    /// Those of these places that there are.
    pub(crate) fn range(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &T> {
        let range = self.within(range);
        let (tables, most) = self.pieces();
        let pieces = self.rows()[range].chunks(most);
        pieces.inspect(move |piece| note(tables, piece)).flatten()
    }

    /// Calls `each` for each of them.
    pub(crate) fn for_each_mut(&mut self, range: Range<usize>, mut each: impl FnMut(&mut T)) {
        let range = self.within(range);
        let most = self.pieces().1;
        let tables = self.tables.clone();
        let tables = matches!(self.kept, Kept::File(..)).then_some(&tables);
        for piece in self.rows_mut()[range].chunks_mut(most) {
            note(tables, piece);
            piece.iter_mut().for_each(&mut each);
        }
    }

    /// These rows side by side. They are in memory together, so there should not be very many.
    pub(crate) fn slice(&self, range: Range<usize>) -> &[T] {
        let range = self.within(range);
        if let Kept::File(mapping, _) = &self.kept
            && !range.is_empty()
        {
            let start = mapping.start().as_ptr().addr();
            let bytes = start + range.start * size_of::<T>()..start + range.end * size_of::<T>();
            bytes
                .clone()
                .step_by(BLOCK_BYTES)
                .chain([bytes.end - 1])
                .for_each(|byte| self.tables.touch(byte));
        }
        &self.rows()[range]
    }

    /// These rows side by side, to be changed. As those of [`Column::slice`].
    fn slice_mut(&mut self, range: Range<usize>) -> &mut [T] {
        let range = self.within(range);
        self.slice(range.clone());
        &mut self.rows_mut()[range]
    }

    /// From `from` on, the first place whose row is not so.
    pub(crate) fn end(&self, from: usize, is: impl Fn(&T) -> bool) -> usize {
        from + self.range(from..self.len()).take_while(|row| is(row)).count()
    }

    /// The first place in `range` whose row is not so. Those that are so come first.
    pub(crate) fn partition_point(&self, range: Range<usize>, is: impl Fn(&T) -> bool) -> usize {
        let Range { mut start, mut end } = self.within(range);
        while start < end {
            let middle = start + (end - start) / 2;
            if self.get(middle).is_some_and(&is) { start = middle + 1 } else { end = middle }
        }
        start
    }

    #[inline]
    pub(crate) fn push(&mut self, row: T) -> Result<(), Error> {
        let room = match &self.kept {
            Kept::Memory(rows, _) => rows.len() < rows.capacity(),
            Kept::File(mapping, len) => (len + 1) * size_of::<T>() <= mapping.bytes(),
        };
        if !room {
            self.reserve(1)?;
        }
        match &mut self.kept {
            Kept::Memory(rows, _) => rows.push(row),
            Kept::File(mapping, len) => {
                let place = mapping.start().as_ptr().cast::<T>().wrapping_add(*len);
                self.tables.touch(place.addr());
                // SAFETY: there is room for it, and the mapping is aligned as pages are.
                unsafe { place.write(row) };
                *len += 1;
            }
        }
        Ok(())
    }

    pub(crate) fn extend(&mut self, rows: impl IntoIterator<Item = T>) -> Result<(), Error> {
        rows.into_iter().try_for_each(|row| self.push(row))
    }

    /// Makes it so long, with `value` where it was shorter.
    pub(crate) fn resize(&mut self, len: usize, value: T) -> Result<(), Error> {
        self.truncate(len);
        self.reserve(len - self.len())?;
        (self.len()..len).try_for_each(|_| self.push(value))
    }

    pub(crate) fn truncate(&mut self, most: usize) {
        match &mut self.kept {
            Kept::Memory(rows, _) => rows.truncate(most),
            Kept::File(_, len) => *len = most.min(*len),
        }
    }

    /// Leaves out the rows of which `keep` does not hold.
    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let mut kept = 0;
        for at in 0..self.len() {
            let row = self[at];
            if keep(&row) {
                self[kept] = row;
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Leaves out rows whose key is that of the one before.
    pub(crate) fn dedup_by_key<K: PartialEq>(&mut self, key: impl Fn(&T) -> K) {
        let mut kept = 0;
        for at in 0..self.len() {
            let row = self[at];
            if kept == 0 || key(&self[kept - 1]) != key(&row) {
                self[kept] = row;
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Makes room for so many more.
    fn reserve(&mut self, more: usize) -> Result<(), Error> {
        let needed = self.len() + more;
        match &mut self.kept {
            Kept::Memory(rows, _) if needed <= rows.capacity() => Ok(()),
            Kept::Memory(rows, taken) => {
                let most = needed.max(2 * rows.capacity()).max(4);
                let bytes = Some(most * size_of::<T>()).filter(|bytes| *bytes > SMALL).unwrap_or(0);
                if bytes > *taken && !self.tables.budget().take(bytes - *taken) {
                    return self.spill(needed);
                }
                rows.reserve_exact(most - rows.len());
                *taken = bytes;
                Ok(())
            }
            Kept::File(mapping, _) => {
                let bytes = needed * size_of::<T>();
                if bytes <= mapping.bytes() {
                    return Ok(());
                }
                let bytes =
                    bytes.max(mapping.bytes() + mapping.bytes() / 4).next_multiple_of(BLOCK_BYTES);
                let grown = mapping
                    .grown(bytes)
                    .map_err(|error| Error::io(self.tables.directory(), error))?;
                self.tables.mapped(grown.region());
                self.tables.unmap(&mut std::mem::replace(mapping, grown));
                Ok(())
            }
        }
    }

    /// Puts all rows into a file, with room for `needed`.
    fn spill(&mut self, needed: usize) -> Result<(), Error> {
        let directory = self.tables.directory();
        let bytes = (needed * size_of::<T>()).next_multiple_of(BLOCK_BYTES);
        let mapping = tempfile::tempfile_in(directory).and_then(|file| Mapping::new(file, bytes));
        let mapping = mapping.map_err(|error| Error::io(directory, error))?;
        self.tables.mapped(mapping.region());
        let rows = self.rows();
        let (from, len) = (rows.as_ptr(), rows.len());
        // SAFETY: there is room for as many, the mapping is aligned as pages are, and it is
        // elsewhere.
        unsafe { ptr::copy_nonoverlapping(from, mapping.start().as_ptr().cast::<T>(), len) };
        self.tables.came((len * size_of::<T>()).div_ceil(BLOCK_BYTES));
        // What was taken for memory is given back where the former is dropped.
        let former = Column { kept: Kept::File(mapping, len), tables: self.tables.clone() };
        *self = former;
        Ok(())
    }

    #[inline]
    fn touch(&self, at: usize) {
        if let Kept::File(mapping, _) = &self.kept {
            self.tables.touch(mapping.start().as_ptr().cast::<T>().wrapping_add(at).addr());
        }
    }

    /// Nobody takes note of what is looked at in it.
    #[inline]
    fn rows(&self) -> &[T] {
        match &self.kept {
            Kept::Memory(rows, _) => rows,
            // SAFETY: so many rows were written, as what they are, and nobody changes them while
            // this is borrowed.
            Kept::File(mapping, len) => unsafe {
                slice::from_raw_parts(mapping.start().as_ptr().cast::<T>(), *len)
            },
        }
    }

    #[inline]
    fn rows_mut(&mut self) -> &mut [T] {
        match &mut self.kept {
            Kept::Memory(rows, _) => rows,
            // SAFETY: as in `rows`.
            Kept::File(mapping, len) => unsafe {
                slice::from_raw_parts_mut(mapping.start().as_ptr().cast::<T>(), *len)
            },
        }
    }

    /// Who wants to know of pieces that are looked at, and how many rows they may have.
    fn pieces(&self) -> (Option<&Tables>, usize) {
        match self.kept {
            Kept::Memory(..) => (None, usize::MAX),
            Kept::File(..) => (Some(&self.tables), (BLOCK_BYTES / size_of::<T>().max(1)).max(1)),
        }
    }

    fn within(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.len());
        range.start.min(end)..end
    }
}

/// Takes note that these rows, a block at most, are about to be looked at.
fn note<T>(tables: Option<&Tables>, rows: &[T]) {
    if let Some(tables) = tables {
        tables.touch(rows.as_ptr().addr());
    }
}

impl<T: Copy> Index<usize> for Column<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        self.touch(at);
        &self.rows()[at]
    }
}

impl<T: Copy> IndexMut<usize> for Column<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        self.touch(at);
        &mut self.rows_mut()[at]
    }
}

impl<T: Copy> Drop for Column<T> {
    fn drop(&mut self) {
        match &mut self.kept {
            Kept::Memory(_, taken) => self.tables.budget().give(*taken),
            Kept::File(mapping, _) => self.tables.unmap(mapping),
        }
    }
}

#[cfg(test)]
mod tests;
