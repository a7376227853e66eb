//! Memory of a vector: growing while the budget lasts, then in a file, and giving it all back.

use std::ptr;

use super::{SpillableVec, Storage};
use crate::PathError;
use crate::mapped_file::MappedFile;
use crate::tuning::{ALWAYS_IN_MEMORY_BYTES, MAPPED_BLOCK_BYTES};

impl<T: Copy> SpillableVec<T> {
    /// Makes room for `more` rows.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), PathError> {
        let needed = self.len() + more;
        match &mut self.storage {
            Storage::Memory(rows, _) if needed <= rows.capacity() => Ok(()),
            Storage::Memory(rows, taken) => {
                let most = needed.max(2 * rows.capacity()).max(4);
                let bytes = Some(most * size_of::<T>())
                    .filter(|bytes| *bytes > ALWAYS_IN_MEMORY_BYTES)
                    .unwrap_or(0);
                if bytes > *taken && !self.pool.budget().take(bytes - *taken) {
                    return self.spill(needed);
                }
                rows.reserve_exact(most - rows.len());
                *taken = bytes;
                Ok(())
            }
            Storage::File(file, _) => {
                let bytes = needed * size_of::<T>();
                if bytes <= file.bytes() {
                    return Ok(());
                }
                let bytes =
                    bytes.max(file.bytes() + file.bytes() / 4).next_multiple_of(MAPPED_BLOCK_BYTES);
                let grown = file
                    .grown(bytes)
                    .map_err(|error| PathError::io(self.pool.directory(), error))?;
                self.pool.mapped(grown.region());
                self.pool.unmap(&mut std::mem::replace(file, grown));
                Ok(())
            }
        }
    }

    /// Puts all rows into a file, with room for `needed`.
    fn spill(&mut self, needed: usize) -> Result<(), PathError> {
        let directory = self.pool.directory();
        let bytes = (needed * size_of::<T>()).next_multiple_of(MAPPED_BLOCK_BYTES);
        let file = tempfile::tempfile_in(directory).and_then(|file| MappedFile::new(file, bytes));
        let file = file.map_err(|error| PathError::io(directory, error))?;
        self.pool.mapped(file.region());
        let rows = self.rows();
        let (from, len) = (rows.as_ptr(), rows.len());
        // SAFETY: there is room for as many, the file is aligned as pages are, and it is
        // elsewhere.
        unsafe { ptr::copy_nonoverlapping(from, file.start().as_ptr().cast::<T>(), len) };
        self.pool.came((len * size_of::<T>()).div_ceil(MAPPED_BLOCK_BYTES));
        // Dropping the former value gives its memory back to the budget.
        let former = SpillableVec { storage: Storage::File(file, len), pool: self.pool.clone() };
        *self = former;
        Ok(())
    }
}

impl<T: Copy> Drop for SpillableVec<T> {
    fn drop(&mut self) {
        match &mut self.storage {
            Storage::Memory(_, taken) => self.pool.budget().give(*taken),
            Storage::File(file, _) => self.pool.unmap(file),
        }
    }
}
