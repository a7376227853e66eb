//! Flushes: files that wait for a flush, and shortages that are reported at the next one.

use std::io;

use rustix::io::Errno;

use super::HostStore;
use message_trace::DataPath;

use crate::collect::stored_file::{disk_use, forget_cached, is_at};
use crate::wire::StorageShortage;

impl HostStore {
    /// Makes everything durable that was received since the last flush.
    ///
    /// # Errors
    /// Returns the shortage if some of the data could not be stored, with the disk's error if there
    /// was one.
    pub(in crate::collect) fn flush(&mut self) -> Result<(), (StorageShortage, Option<io::Error>)> {
        self.close_current_file();
        self.sync_dirty();
        self.recounted = false;
        let too_many = std::mem::take(&mut self.too_many_files).then_some(StorageShortage::Files);
        match self.shortage.take().or(too_many) {
            None => Ok(()),
            Some(shortage) => Err((shortage, self.failure.take())),
        }
    }

    /// Closes the current file. If it was written to, it is added to the files that wait for a
    /// flush. It is reopened when more of it arrives.
    pub(super) fn close_current_file(&mut self) {
        if let Some(current) = &mut self.current
            && let Some(open) = current.open.take()
            && std::mem::take(&mut current.dirty)
        {
            self.dirty.push(open);
        }
    }

    /// Syncs the files that wait for a flush.
    pub(super) fn sync_dirty(&mut self) {
        for open in std::mem::take(&mut self.dirty) {
            let used = open.file.sync_data().and_then(|()| disk_use(&open.file));
            let is_there = is_at(&open.file, &self.inventory.directory().join(&open.name));
            match used.and_then(|used| Ok((used, is_there?))) {
                Ok((_, false)) => self.note_removed(&open.name),
                Ok((used, true)) => self.inventory.set_used(&open.name, used),
                Err(error) => {
                    forget_cached(&open.file);
                    self.note_failure(error);
                }
            }
        }
        self.written = 0;
        if self.has_new_names {
            // The host's directory may be as new as its files, so its parent is synced, too.
            let directory = self.inventory.directory();
            let both = [directory.clone(), directory.parent()];
            let synced = both.iter().try_for_each(DataPath::sync_directory);
            match synced {
                Ok(()) => self.has_new_names = false,
                // The directory was removed with all its files.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.has_new_names = false;
                    self.shortage.get_or_insert(StorageShortage::Removed);
                }
                Err(error) => self.note_failure(error),
            }
        }
    }

    /// Records a failure until the next flush is answered.
    pub(super) fn note_failure(&mut self, error: io::Error) {
        let shortage = match Errno::from_io_error(&error) {
            Some(Errno::NOSPC) => StorageShortage::Disk,
            Some(Errno::DQUOT) => StorageShortage::Quota,
            _ => StorageShortage::Failure,
        };
        self.shortage.get_or_insert(shortage);
        self.failure.get_or_insert(error);
    }

    /// Records that a file was removed by someone else: the shipper will check what it has to send
    /// again.
    pub(super) fn note_removed(&mut self, name: &str) {
        self.inventory.remove_file(name);
        self.shortage.get_or_insert(StorageShortage::Removed);
    }
}
