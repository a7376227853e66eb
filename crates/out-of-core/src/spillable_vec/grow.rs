//! Memory of a vector: growing within the budget, then in a file, and giving all of it back.

use std::ptr;

use super::{SpillableVec, VecStorage};
use crate::PathError;
use crate::mapped_file::MappedFile;
use crate::tuning::{ALWAYS_IN_MEMORY_BYTES, MAPPED_BLOCK_BYTES};

impl<T: Copy> SpillableVec<T> {
    /// Makes room for `more` rows.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), PathError> {
        let needed = self.len() + more;
        match &mut self.storage {
            VecStorage::Memory(rows, _) if needed <= rows.capacity() => Ok(()),
            VecStorage::Memory(rows, taken) => {
                let most = needed.max(2 * rows.capacity()).max(4);
                let bytes = Some(most * size_of::<T>())
                    .filter(|bytes| *bytes > ALWAYS_IN_MEMORY_BYTES)
                    .unwrap_or(0);
                if bytes > *taken && !self.pool.budget().take_bytes(bytes - *taken) {
                    return self.spill_to_file(needed);
                }
                rows.reserve_exact(most - rows.len());
                *taken = bytes;
                Ok(())
            }
            VecStorage::File(file, _) => {
                let bytes = needed * size_of::<T>();
                if bytes <= file.byte_len() {
                    return Ok(());
                }
                let bytes = bytes
                    .max(file.byte_len() + file.byte_len() / 4)
                    .next_multiple_of(MAPPED_BLOCK_BYTES);
                let grown = file
                    .remap_longer(bytes)
                    .map_err(|error| PathError::io(self.pool.directory(), error))?;
                self.pool.add_region(grown.region());
                self.pool.unmap_file(&mut std::mem::replace(file, grown));
                Ok(())
            }
        }
    }

    /// Moves all rows into a file, with room for `needed`.
    fn spill_to_file(&mut self, needed: usize) -> Result<(), PathError> {
        let directory = self.pool.directory();
        let bytes = (needed * size_of::<T>()).next_multiple_of(MAPPED_BLOCK_BYTES);
        let file = tempfile::tempfile_in(directory).and_then(|file| MappedFile::new(file, bytes));
        let file = file.map_err(|error| PathError::io(directory, error))?;
        self.pool.add_region(file.region());
        let rows = self.all_rows();
        let (from, len) = (rows.as_ptr(), rows.len());
        // SAFETY: the file has room for `len` rows, its mapping is aligned to pages, and does not
        // overlap with the rows.
        unsafe { ptr::copy_nonoverlapping(from, file.first_byte().as_ptr().cast::<T>(), len) };
        self.pool.count_arrived((len * size_of::<T>()).div_ceil(MAPPED_BLOCK_BYTES));
        // Dropping the old value gives its memory back to the budget.
        let in_file = VecStorage::File(file, len);
        *self = SpillableVec { storage: in_file, pool: self.pool.clone() };
        Ok(())
    }
}

impl<T: Copy> Drop for SpillableVec<T> {
    fn drop(&mut self) {
        match &mut self.storage {
            VecStorage::Memory(_, taken) => self.pool.budget().give_back(*taken),
            VecStorage::File(file, _) => self.pool.unmap_file(file),
        }
    }
}
