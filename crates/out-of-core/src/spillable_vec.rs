//! Spillable vector: rows of one kind, by index. The vector is in memory while its [`MemoryPool`]
//! has room, and in a mapped temporary file from then on, so that memory does not limit its length.
//! A row has the same bytes in both.
//!
//! Using a row of a file loads its page into memory. Every access goes through this type, which
//! notifies the pool, so that pages are given back in time. Sequential access costs least, but any
//! order is possible.

mod grow;
mod sort;

use std::ops::{Index, IndexMut, Range};
use std::slice;

use crate::PathError;
use crate::mapped_file::MappedFile;
use crate::memory_pool::MemoryPool;
use crate::tuning::MAPPED_BLOCK_BYTES;

/// Rows of one kind, in memory or in a mapped file.
#[derive(Debug)]
pub struct SpillableVec<T: Copy> {
    storage: VecStorage<T>,
    pool: MemoryPool,
}

#[derive(Debug)]
enum VecStorage<T> {
    /// The rows, and the number of bytes that they took from the budget.
    Memory(Vec<T>, usize),
    /// The file, and the number of rows in it.
    File(MappedFile, usize),
}

impl<T: Copy> Default for SpillableVec<T> {
    fn default() -> Self {
        SpillableVec::new(&MemoryPool::default())
    }
}

impl<T: Copy> SpillableVec<T> {
    /// An empty vector in the memory of `pool`.
    pub fn new(pool: &MemoryPool) -> SpillableVec<T> {
        SpillableVec { storage: VecStorage::Memory(Vec::new(), 0), pool: pool.clone() }
    }

    /// A vector of `len` copies of `value`.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn filled(pool: &MemoryPool, len: usize, value: T) -> Result<SpillableVec<T>, PathError> {
        let mut this = SpillableVec::new(pool);
        this.resize(len, value)?;
        Ok(this)
    }

    /// A vector of all `rows`.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn collect(
        pool: &MemoryPool,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<SpillableVec<T>, PathError> {
        let mut this = SpillableVec::new(pool);
        this.extend(rows)?;
        Ok(this)
    }

    /// The pool of the vector's memory.
    pub fn pool(&self) -> &MemoryPool {
        &self.pool
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.storage {
            VecStorage::Memory(rows, _) => rows.len(),
            VecStorage::File(_, len) => *len,
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at an index.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.touch_row(at);
        self.all_rows().get(at)
    }

    /// The mutable row at an index.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.touch_row(at);
        self.rows_mut().get_mut(at)
    }

    /// The rows in the order of their indices.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.range(0..self.len())
    }

    /// The existing rows of `range`.
    pub fn range(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &T> {
        let range = self.clamp_range(range);
        let (pool, most) = self.tracked_pieces();
        let pieces = self.all_rows()[range].chunks(most);
        pieces.inspect(move |piece| note_use(pool, piece)).flatten()
    }

    /// Calls `each` for each row of `range`.
    pub fn for_each_mut(&mut self, range: Range<usize>, mut each: impl FnMut(&mut T)) {
        let range = self.clamp_range(range);
        let most = self.tracked_pieces().1;
        let pool = self.pool.clone();
        let pool = matches!(self.storage, VecStorage::File(..)).then_some(&pool);
        for piece in self.rows_mut()[range].chunks_mut(most) {
            note_use(pool, piece);
            piece.iter_mut().for_each(&mut each);
        }
    }

    /// The rows of `range` as a slice. All of them are in memory together, so keep it small.
    pub fn slice(&self, range: Range<usize>) -> &[T] {
        let range = self.clamp_range(range);
        if let VecStorage::File(file, _) = &self.storage
            && !range.is_empty()
        {
            let start = file.first_byte().as_ptr().addr();
            let bytes = start + range.start * size_of::<T>()..start + range.end * size_of::<T>();
            bytes
                .clone()
                .step_by(MAPPED_BLOCK_BYTES)
                .chain([bytes.end - 1])
                .for_each(|byte| self.pool.touch_page(byte));
        }
        &self.all_rows()[range]
    }

    /// The rows of `range` as a mutable slice. See [`SpillableVec::slice`].
    fn slice_mut(&mut self, range: Range<usize>) -> &mut [T] {
        let range = self.clamp_range(range);
        self.slice(range.clone());
        &mut self.rows_mut()[range]
    }

    /// The first index from `from` on at which `condition` returns false.
    pub fn end_where(&self, from: usize, condition: impl Fn(&T) -> bool) -> usize {
        from + self.range(from..self.len()).take_while(|row| condition(row)).count()
    }

    /// The first index in `range` at which `condition` returns false. It must return true for all
    /// earlier rows, and false for all later ones.
    pub fn partition_point(&self, range: Range<usize>, condition: impl Fn(&T) -> bool) -> usize {
        let Range { mut start, mut end } = self.clamp_range(range);
        while start < end {
            let middle = start + (end - start) / 2;
            if self.get(middle).is_some_and(&condition) { start = middle + 1 } else { end = middle }
        }
        start
    }

    /// Appends a row.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, row: T) -> Result<(), PathError> {
        let room = match &self.storage {
            VecStorage::Memory(rows, _) => rows.len() < rows.capacity(),
            VecStorage::File(file, len) => (len + 1) * size_of::<T>() <= file.byte_len(),
        };
        if !room {
            self.reserve(1)?;
        }
        match &mut self.storage {
            VecStorage::Memory(rows, _) => rows.push(row),
            VecStorage::File(file, len) => {
                let place = file.first_byte().as_ptr().cast::<T>().wrapping_add(*len);
                self.pool.touch_page(place.addr());
                // SAFETY: the file has room for one more row after its `len` rows, and the mapping
                // is aligned to pages.
                unsafe { place.write(row) };
                *len += 1;
            }
        }
        Ok(())
    }

    /// Appends rows.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = T>) -> Result<(), PathError> {
        rows.into_iter().try_for_each(|row| self.push(row))
    }

    /// Resizes it to `len` rows, with `value` in new rows.
    ///
    /// # Errors
    /// When a temporary file cannot be written.
    pub fn resize(&mut self, len: usize, value: T) -> Result<(), PathError> {
        self.truncate(len);
        self.reserve(len - self.len())?;
        (self.len()..len).try_for_each(|_| self.push(value))
    }

    /// Drops all rows after the first `most`.
    pub fn truncate(&mut self, most: usize) {
        match &mut self.storage {
            VecStorage::Memory(rows, _) => rows.truncate(most),
            VecStorage::File(_, len) => *len = most.min(*len),
        }
    }

    /// Drops the rows for which `keep` returns false.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
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

    /// Drops each row with the same key as the row before it.
    pub fn dedup_by_key<K: PartialEq>(&mut self, key: impl Fn(&T) -> K) {
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

    /// Notifies the pool that a row of a file is about to be used.
    #[inline]
    fn touch_row(&self, at: usize) {
        if let VecStorage::File(file, _) = &self.storage {
            self.pool.touch_page(file.first_byte().as_ptr().cast::<T>().wrapping_add(at).addr());
        }
    }

    /// All rows, without notifying the pool of their use.
    #[inline]
    fn all_rows(&self) -> &[T] {
        match &self.storage {
            VecStorage::Memory(rows, _) => rows,
            // SAFETY: `len` rows of this type were written, and they do not change while `self` is
            // borrowed.
            VecStorage::File(file, len) => unsafe {
                slice::from_raw_parts(file.first_byte().as_ptr().cast::<T>(), *len)
            },
        }
    }

    /// All rows, without notifying the pool of their use.
    #[inline]
    fn rows_mut(&mut self) -> &mut [T] {
        match &mut self.storage {
            VecStorage::Memory(rows, _) => rows,
            // SAFETY: `len` rows of this type were written, and `self` is borrowed exclusively.
            VecStorage::File(file, len) => unsafe {
                slice::from_raw_parts_mut(file.first_byte().as_ptr().cast::<T>(), *len)
            },
        }
    }

    /// The pool to notify of used pieces of rows, and the maximum length of a piece.
    fn tracked_pieces(&self) -> (Option<&MemoryPool>, usize) {
        match self.storage {
            VecStorage::Memory(..) => (None, usize::MAX),
            VecStorage::File(..) => {
                (Some(&self.pool), (MAPPED_BLOCK_BYTES / size_of::<T>().max(1)).max(1))
            }
        }
    }

    /// The part of a range that has rows.
    fn clamp_range(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.len());
        range.start.min(end)..end
    }
}

/// Notifies the pool that the rows `rows`, at most one block, are about to be used.
fn note_use<T>(pool: Option<&MemoryPool>, rows: &[T]) {
    if let Some(pool) = pool {
        pool.touch_page(rows.as_ptr().addr());
    }
}

impl<T: Copy> Index<usize> for SpillableVec<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        self.touch_row(at);
        &self.all_rows()[at]
    }
}

impl<T: Copy> IndexMut<usize> for SpillableVec<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        self.touch_row(at);
        &mut self.rows_mut()[at]
    }
}

#[cfg(test)]
mod tests;
