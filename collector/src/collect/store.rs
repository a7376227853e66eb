//! Files of one host at the collector, and their durability. Data that is acknowledged as durable
//! has been through `fdatasync`, including the directory entry; a shortage is reported at the next
//! flush, and the shipper sends the data again. `inventory` knows which files exist.

mod flush;
mod room;

use std::io;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use super::inventory::Inventory;
use super::stored_file::{StoredFile, create_log, open_existing, page_checksums, reopen_log};
use super::violation::Violation;
use message_trace::DataPath;

use crate::identity::LogIdentity;
use crate::page::PAGE;
use crate::tuning::MAX_DIRTY_FILES;
use crate::wire::StorageShortage;
use socket_log::names;

/// Limits on the files of a host at the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// Maximum number of bytes on the disk.
    pub bytes: u64,
    /// Maximum number of files.
    pub files: u64,
}

/// Files of one host. A host has at most one store at a time.
#[derive(Debug)]
pub(super) struct HostStore {
    inventory: Inventory,
    limits: HostLimits,
    /// Bytes written since the files were last counted.
    written: u64,
    current: Option<CurrentFile>,
    /// Files written since the last flush, except the current one.
    dirty: Vec<StoredFile>,
    /// Whether the directory has new names that are not durable yet.
    has_new_names: bool,
    /// Whether a file could not be created since the last flush because the limit was reached.
    too_many_files: bool,
    /// Any other shortage since the last flush. Nothing more is stored until it is reported.
    shortage: Option<StorageShortage>,
    /// Error of the disk, for the collector's log.
    failure: Option<io::Error>,
    /// Whether the files were counted again since the last flush.
    recounted: bool,
    /// Earliest time of the next count.
    next_recount: Instant,
}

/// File that the requests are about.
#[derive(Debug)]
struct CurrentFile {
    identity: LogIdentity,
    name: String,
    /// The file, opened when it is first needed.
    open: Option<StoredFile>,
    dirty: bool,
}

impl HostStore {
    /// Store in `directory`, which is created with the first file. `sender` has the names that the
    /// sender's key is for.
    ///
    /// # Errors
    /// Fails if a directory cannot be read or the sender cannot be recorded.
    pub(super) fn open(
        directory: impl Into<DataPath>,
        limits: HostLimits,
        sender: Option<Vec<String>>,
    ) -> io::Result<HostStore> {
        Ok(HostStore {
            inventory: Inventory::open(&directory.into(), sender)?,
            limits,
            written: 0,
            current: None,
            dirty: Vec::new(),
            has_new_names: false,
            too_many_files: false,
            shortage: None,
            failure: None,
            recounted: false,
            next_recount: Instant::now(),
        })
    }

    /// Bytes used on the disk.
    pub(super) fn used_bytes(&self) -> u64 {
        self.inventory.used().saturating_add(self.written)
    }

    /// Number of files.
    pub(super) fn file_count(&self) -> u64 {
        self.inventory.files()
    }

    /// Selects the file that the next requests are about.
    ///
    /// # Errors
    /// Fails if no log can have this name.
    pub(super) fn select_file(
        &mut self,
        name: &str,
        identity: LogIdentity,
    ) -> Result<(), Violation> {
        if self.current.as_ref().is_some_and(|current| current.identity == identity) {
            return Ok(());
        }
        names::check_log_name(name)?;
        self.deselect_file();
        let name = self.inventory.assign_name(&identity, name);
        self.current = Some(CurrentFile { identity, name, open: None, dirty: false });
        Ok(())
    }

    /// Selected file and its name at the collector.
    pub(super) fn current_file(&self) -> Option<(LogIdentity, &str)> {
        self.current.as_ref().map(|current| (current.identity, current.name.as_str()))
    }

    /// Closes and deselects the current file; it waits for a flush if it was written to.
    fn deselect_file(&mut self) {
        self.close_current_file();
        self.current = None;
        if self.dirty.len() >= MAX_DIRTY_FILES {
            self.sync_dirty();
        }
    }

    /// Current file, which is created if it does not exist; `None` if that failed.
    fn open_current(&mut self) -> Result<Option<&mut CurrentFile>, Violation> {
        let current = self.current.as_ref().ok_or(Violation::NoFile)?;
        if current.open.is_some() {
            return Ok(self.current.as_mut());
        }
        let (identity, name) = (current.identity, current.name.clone());
        let is_new = !self.inventory.has_name(&name);
        if is_new && !self.has_room_for_a_file() {
            self.too_many_files = true;
            return Ok(None);
        }
        let opened = if is_new {
            create_log(self.inventory.directory(), &name)
                .and_then(|open| self.inventory.note_sender().map(|()| open))
        } else {
            reopen_log(self.inventory.directory(), &name)
        };
        let open = match opened {
            Ok(open) => open,
            Err(error) if !is_new && error.kind() == io::ErrorKind::NotFound => {
                self.note_removed(&name);
                return Ok(None);
            }
            Err(error) => {
                self.note_failure(error);
                return Ok(None);
            }
        };
        self.has_new_names |= is_new;
        self.inventory.add_file(identity, name);
        let mut current = self.current.as_mut();
        if let Some(current) = &mut current {
            current.open = Some(open);
        }
        Ok(current)
    }

    /// Size of the current file in bytes, and the checksums of at most `count` of its pages from
    /// page `first` on. The pages are made durable before.
    ///
    /// # Errors
    /// Fails if there is no current file; the inner result fails if it cannot be read.
    pub(super) fn page_checksums(
        &mut self,
        first: u64,
        count: u32,
    ) -> Result<io::Result<(u64, Vec<u64>)>, Violation> {
        let current = self.current.as_ref().ok_or(Violation::NoFile)?;
        if !self.inventory.has_name(&current.name) {
            return Ok(Ok((0, Vec::new())));
        }
        match open_existing(&self.inventory.directory().join(&current.name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = current.name.clone();
                self.close_current_file();
                self.note_removed(&name);
                Ok(Ok((0, Vec::new())))
            }
            // A file that cannot be read must not look missing.
            file => Ok(file.and_then(|file| page_checksums(&file, first, count))),
        }
    }

    /// Stores an extent of the current file. A shortage is reported by the next
    /// [`flush`](HostStore::flush).
    ///
    /// # Errors
    /// Fails if no extent can be at this offset.
    pub(super) fn write_extent(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Violation> {
        let end =
            offset.checked_add(bytes.len() as u64).filter(|_| offset.is_multiple_of(PAGE as u64));
        let Some(end) = end else { return Err(Violation::Offset(offset)) };
        if self.shortage.is_some() {
            return Ok(());
        }
        if !self.has_room(bytes.len() as u64) {
            self.shortage.get_or_insert(StorageShortage::Quota);
        }
        if self.shortage.is_some() {
            return Ok(());
        }
        let Some(current) = self.open_current()? else { return Ok(()) };
        let Some(open) = &current.open else { return Ok(()) };
        current.dirty = true;
        let result = match open.check_length(end)? {
            Ok(()) => open.file.write_all_at(bytes, offset),
            Err(error) => Err(error),
        };
        match result {
            // Until the next count, all written bytes count as new.
            Ok(()) => self.written += bytes.len() as u64,
            Err(error) => self.note_failure(error),
        }
        Ok(())
    }

    /// Makes the current file `length` bytes long.
    ///
    /// # Errors
    /// Fails if `length` is much more than the file's content.
    pub(super) fn set_length(&mut self, length: u64) -> Result<(), Violation> {
        if self.shortage.is_some() {
            return Ok(());
        }
        let Some(current) = self.open_current()? else { return Ok(()) };
        let Some(open) = &current.open else { return Ok(()) };
        current.dirty = true;
        let result = match open.check_length(length)? {
            Ok(()) => open.file.set_len(length),
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.note_failure(error);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
