//! Space for the logs of a host, by its quotas of files and of bytes.

use std::time::Instant;

use super::HostStore;
use crate::tuning::RECOUNT_PAUSE;
use crate::wire::StorageShortage;

impl HostStore {
    /// Whether the host may have one more file.
    pub(super) fn has_room_for_a_file(&mut self) -> bool {
        let is_full = |store: &HostStore| store.file_count() >= store.limits.files;
        if is_full(self) {
            self.recount_files();
        }
        !is_full(self)
    }

    /// Whether the host may store `bytes` more.
    pub(super) fn has_room(&mut self, bytes: u64) -> bool {
        let is_full =
            |store: &HostStore| store.used_bytes().saturating_add(bytes) > store.limits.bytes;
        if is_full(self) {
            self.recount_files();
        }
        !is_full(self)
    }

    /// Counts the files again before the host is refused for lack of space. This is done once
    /// between two flushes, and only after a pause proportional to its duration, so that a host
    /// without space does not cause its directory to be read over and over.
    fn recount_files(&mut self) {
        let began = Instant::now();
        if std::mem::replace(&mut self.recounted, true) || began < self.next_recount {
            return;
        }
        self.close_current_file();
        self.sync_dirty();
        self.recount_now();
        self.next_recount = Instant::now() + RECOUNT_PAUSE * began.elapsed();
    }

    fn recount_now(&mut self) {
        match self.inventory.recount() {
            Ok(false) => {}
            Ok(true) => {
                self.shortage.get_or_insert(StorageShortage::Removed);
            }
            Err(error) => self.note_failure(error),
        }
    }
}
