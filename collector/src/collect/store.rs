//! One host's files at the collector: which they are, what they hold, and when that is on the disk.
//! What is said to be durable has been through `fdatasync`, its directory's entry included; what
//! could not be stored is told at the next flush, and the shipper sends it again.
//!
//! Files may be taken away at any time, as by somebody who makes room: then the shipper is told,
//! and what there is is counted anew.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use socket_log::OpenError;

use super::sender;
use super::stored_file::{
    Open, disk_use, existing, forget_cached, is_at, is_no_file, make, reopen, sums, sync_directory,
};
use crate::identity::Identity;
use crate::page::PAGE;
use crate::wire::Shortage;
use socket_log::names;

/// Files that wait for a flush at once; with more, they are flushed early.
const DIRTY: usize = 64;
/// What a host may have at the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes on the disk.
    pub bytes: u64,
    /// Files.
    pub files: u64,
}

/// What a shipper does that no shipper of ours would do.
#[derive(Debug, thiserror::Error)]
pub(super) enum Violation {
    /// A name that leads elsewhere, or is no log's.
    #[error(transparent)]
    Name(#[from] names::NameError),
    /// Something about a file before saying which.
    #[error("it sent something of a file without saying of which")]
    NoFile,
    /// An extent that does not begin at a page, or ends where nothing can be.
    #[error("it sent an extent at byte {0}, where none can be")]
    Offset(u64),
    /// A size far beyond what is in the file.
    #[error("it made a file {length} bytes long that has {used} bytes of content")]
    Sparse {
        /// What it asked for.
        length: u64,
        /// What there is.
        used: u64,
    },
}

/// The files of one host. There is one of these a host at any time.
#[derive(Debug)]
pub(super) struct HostStore {
    directory: PathBuf,
    limits: Limits,
    /// The names that the sender's key is for, if it had to show one.
    sender: Option<Vec<String>>,
    /// What each log is called here.
    names: HashMap<Identity, String>,
    /// All names, with what each file took on the disk when that was last counted,
    taken: HashMap<String, u64>,
    /// what all of them took then,
    counted: u64,
    /// and those written since.
    written: u64,
    current: Option<Current>,
    /// Written since the last flush, besides the current one.
    dirty: Vec<Open>,
    /// New names in the directory, which is not durable yet.
    entries: bool,
    /// A file could not be made since the last flush, as there are as many as may be.
    too_many: bool,
    /// What else was short since then. Nothing more is stored until it is told.
    short: Option<Shortage>,
    /// What the disk said, for the log.
    failure: Option<io::Error>,
    /// What there is was counted since the last flush.
    recounted: bool,
}

/// The file that is spoken of.
#[derive(Debug)]
struct Current {
    identity: Identity,
    name: String,
    /// Not before something of it is needed.
    open: Option<Open>,
    dirty: bool,
}

impl HostStore {
    /// The store in `directory`, which is made when the first file comes, for a sender whose key is
    /// for these names.
    ///
    /// # Errors
    /// When a directory cannot be read, or the sender not be noted.
    pub(super) fn open(
        directory: &Path,
        limits: Limits,
        sender: Option<Vec<String>>,
    ) -> io::Result<HostStore> {
        let mut store = HostStore {
            directory: directory.to_owned(),
            limits,
            sender,
            names: HashMap::new(),
            taken: HashMap::new(),
            counted: 0,
            written: 0,
            current: None,
            dirty: Vec::new(),
            entries: false,
            too_many: false,
            short: None,
            failure: None,
            recounted: false,
        };
        store.count()?;
        Ok(store)
    }

    /// Looks at what there is.
    fn count(&mut self) -> io::Result<()> {
        (self.names, self.taken, self.counted) = Default::default();
        let directory = &self.directory;
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        sender::note(directory, self.sender.as_deref())?;
        for entry in entries {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if names::log_name(&names::original(&name)).is_err() {
                continue;
            }
            let file = match existing(&directory.join(&name)) {
                Ok(file) => file,
                // What is no file has its name taken all the same; any other error must not make a
                // log look unknown.
                Err(error) if is_no_file(&error) => {
                    self.taken.insert(name, 0);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let used = disk_use(&file)?;
            self.counted += used;
            self.taken.insert(name.clone(), used);
            match Identity::read(&name, &file) {
                Ok((identity, _)) => drop(self.names.insert(identity, name)),
                Err(OpenError::Io { source, .. }) => return Err(source),
                Err(_) => {}
            }
        }
        // What another collector left unsaid is durable from here on.
        sync_directory(directory)
    }

    /// Looks at what there is once more before it is said that there is no room. Once a flush: a
    /// host that is refused must not have its directory read over and over.
    fn recount(&mut self) {
        if std::mem::replace(&mut self.recounted, true) {
            return;
        }
        self.close();
        self.sync();
        let before = std::mem::take(&mut self.names);
        if let Err(error) = self.count() {
            return self.fail(error);
        }
        if before.keys().any(|identity| !self.names.contains_key(identity)) {
            self.short.get_or_insert(Shortage::Removed);
        }
    }

    /// A file that there was is gone: its shipper shall look what it has to send again.
    fn is_gone(&mut self, name: &str) {
        self.names.retain(|_, known| known != name);
        self.counted = self.counted.saturating_sub(self.taken.remove(name).unwrap_or(0));
        self.short.get_or_insert(Shortage::Removed);
    }

    /// Bytes on the disk.
    pub(super) fn used(&self) -> u64 {
        self.counted.saturating_add(self.written)
    }

    /// How many files there are.
    pub(super) fn files(&self) -> u64 {
        self.taken.len() as u64
    }

    /// Whatever follows is of this file.
    ///
    /// # Errors
    /// When the name is none of a log.
    pub(super) fn select(&mut self, name: &str, identity: Identity) -> Result<(), Violation> {
        if self.current.as_ref().is_some_and(|current| current.identity == identity) {
            return Ok(());
        }
        names::log_name(name)?;
        self.put_aside();
        let name = match self.names.get(&identity) {
            Some(known) => known.clone(),
            None => self.new_name(name),
        };
        self.current = Some(Current { identity, name, open: None, dirty: false });
        Ok(())
    }

    /// The file that is spoken of, and what it is called here.
    pub(super) fn current(&self) -> Option<(Identity, &str)> {
        self.current.as_ref().map(|current| (current.identity, current.name.as_str()))
    }

    /// The current file waits for a flush if it has to.
    fn put_aside(&mut self) {
        self.close();
        self.current = None;
        if self.dirty.len() >= DIRTY {
            self.sync();
        }
    }

    /// What a log is called that was not here yet: as on its host, unless that is another log's
    /// name.
    fn new_name(&self, name: &str) -> String {
        let is_free = |name: &str| {
            let path = self.directory.join(name);
            // One without a header has been begun and never finished, and is gone on with.
            let is_begun = |file: &File| {
                matches!(
                    Identity::read(name, file),
                    Err(OpenError::NotALog { .. } | OpenError::Version { .. })
                )
            };
            !self.taken.contains_key(name) || existing(&path).is_ok_and(|file| is_begun(&file))
        };
        if is_free(name) {
            return name.to_owned();
        }
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let numbered =
            (2..).map(|number: u64| format!("{stem}{}{number}.{extension}", names::AGAIN));
        numbered.into_iter().find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
    }

    /// The current file, made if need be; `None` where that could not be.
    fn file(&mut self) -> Result<Option<&mut Current>, Violation> {
        let current = self.current.as_ref().ok_or(Violation::NoFile)?;
        if current.open.is_some() {
            return Ok(self.current.as_mut());
        }
        let (identity, name) = (current.identity, current.name.clone());
        let is_new = !self.taken.contains_key(&name);
        if is_new && !self.has_room_for_a_file() {
            self.too_many = true;
            return Ok(None);
        }
        let opened = if is_new {
            make(&self.directory, &name).and_then(|open| {
                sender::note(&self.directory, self.sender.as_deref()).map(|()| open)
            })
        } else {
            reopen(&self.directory, &name)
        };
        let open = match opened {
            Ok(open) => open,
            Err(error) if !is_new && error.kind() == io::ErrorKind::NotFound => {
                self.is_gone(&name);
                return Ok(None);
            }
            Err(error) => {
                self.fail(error);
                return Ok(None);
            }
        };
        self.entries |= is_new;
        self.taken.entry(name.clone()).or_default();
        self.names.insert(identity, name);
        let mut current = self.current.as_mut();
        if let Some(current) = &mut current {
            current.open = Some(open);
        }
        Ok(current)
    }

    /// Whether there may be one more file.
    fn has_room_for_a_file(&mut self) -> bool {
        let is_full = |store: &HostStore| store.taken.len() as u64 >= store.limits.files;
        if is_full(self) {
            self.recount();
        }
        !is_full(self)
    }

    /// Whether there may be so many bytes more.
    fn has_room(&mut self, bytes: u64) -> bool {
        let is_full = |store: &HostStore| store.used().saturating_add(bytes) > store.limits.bytes;
        if is_full(self) {
            self.recount();
        }
        !is_full(self)
    }

    /// The current file's size and the checksums of its pages from `first` on, at most `count`: of
    /// what is durable.
    ///
    /// # Errors
    /// When there is no current file, or (within) when it cannot be read.
    pub(super) fn have(
        &mut self,
        first: u64,
        count: u32,
    ) -> Result<io::Result<(u64, Vec<u64>)>, Violation> {
        let current = self.current.as_ref().ok_or(Violation::NoFile)?;
        if !self.taken.contains_key(&current.name) {
            return Ok(Ok((0, Vec::new())));
        }
        match existing(&self.directory.join(&current.name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = current.name.clone();
                self.close();
                self.is_gone(&name);
                Ok(Ok((0, Vec::new())))
            }
            // What cannot be looked at must not look as if it were not there.
            file => Ok(file.and_then(|file| sums(&file, first, count))),
        }
    }

    /// Stores an extent of the current file. What cannot be stored is told by the next
    /// [`flush`](HostStore::flush).
    ///
    /// # Errors
    /// When no extent can be there.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Violation> {
        let end =
            offset.checked_add(bytes.len() as u64).filter(|_| offset.is_multiple_of(PAGE as u64));
        let Some(end) = end else { return Err(Violation::Offset(offset)) };
        if self.short.is_some() {
            return Ok(());
        }
        if !self.has_room(bytes.len() as u64) {
            self.short.get_or_insert(Shortage::Quota);
        }
        if self.short.is_some() {
            return Ok(());
        }
        let Some(current) = self.file()? else { return Ok(()) };
        let Some(open) = &current.open else { return Ok(()) };
        current.dirty = true;
        let result = match open.room_for(end)? {
            Ok(()) => open.file.write_all_at(bytes, offset),
            Err(error) => Err(error),
        };
        match result {
            // Until it is counted, it is taken to be all new.
            Ok(()) => self.written += bytes.len() as u64,
            Err(error) => self.fail(error),
        }
        Ok(())
    }

    /// Makes the current file so long.
    ///
    /// # Errors
    /// When that is much more than there is in it.
    pub(super) fn set_length(&mut self, length: u64) -> Result<(), Violation> {
        if self.short.is_some() {
            return Ok(());
        }
        let Some(current) = self.file()? else { return Ok(()) };
        let Some(open) = &current.open else { return Ok(()) };
        current.dirty = true;
        let result = match open.room_for(length)? {
            Ok(()) => open.file.set_len(length),
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.fail(error);
        }
        Ok(())
    }

    /// Puts all on the disk that came since the last flush.
    ///
    /// # Errors
    /// When some of it could not be stored; the disk's own error stands beside, unless there is
    /// simply too little of something.
    pub(super) fn flush(&mut self) -> Result<(), (Shortage, Option<io::Error>)> {
        self.close();
        self.sync();
        self.recounted = false;
        let too_many = std::mem::take(&mut self.too_many).then_some(Shortage::Files);
        match self.short.take().or(too_many) {
            None => Ok(()),
            Some(shortage) => Err((shortage, self.failure.take())),
        }
    }

    /// Has the current file wait for a flush if it has to. It is opened again when something more
    /// of it comes.
    fn close(&mut self) {
        if let Some(current) = &mut self.current
            && let Some(open) = current.open.take()
            && std::mem::take(&mut current.dirty)
        {
            self.dirty.push(open);
        }
    }

    /// Puts on the disk what waits for it.
    fn sync(&mut self) {
        for open in std::mem::take(&mut self.dirty) {
            let used = open.file.sync_data().and_then(|()| disk_use(&open.file));
            let is_there = is_at(&open.file, &self.directory.join(&open.name));
            match used.and_then(|used| Ok((used, is_there?))) {
                Ok((_, false)) => self.is_gone(&open.name),
                Ok((used, true)) => {
                    let before = self.taken.insert(open.name, used).unwrap_or(0);
                    self.counted = self.counted.saturating_sub(before).saturating_add(used);
                }
                Err(error) => {
                    forget_cached(&open.file);
                    self.fail(error);
                }
            }
        }
        self.written = 0;
        if self.entries {
            // That of the host may be as new as those in it.
            let both = [Some(self.directory.as_path()), self.directory.parent()];
            let synced = both.into_iter().flatten().try_for_each(sync_directory);
            match synced {
                Ok(()) => self.entries = false,
                // Taken away with all that was in it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.entries = false;
                    self.short.get_or_insert(Shortage::Removed);
                }
                Err(error) => self.fail(error),
            }
        }
    }

    /// Remembers what could not be done until the flush is answered.
    fn fail(&mut self, error: io::Error) {
        let shortage = match Errno::from_io_error(&error) {
            Some(Errno::NOSPC) => Shortage::Disk,
            Some(Errno::DQUOT) => Shortage::Quota,
            _ => Shortage::Failure,
        };
        self.short.get_or_insert(shortage);
        self.failure.get_or_insert(error);
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
