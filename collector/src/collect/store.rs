//! One host's files at the collector: which they are, what they hold, and when that is on the disk. What is said to be
//! durable has been through `fdatasync`, its directory's entry included; what could not be stored is told at the next flush,
//! and the shipper sends it again.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, OFlags, SeekFrom, fadvise, seek};
use rustix::io::Errno;

use crate::identity::Identity;
use crate::names;
use crate::page::{self, PAGE};
use crate::wire::Shortage;

/// Files that wait for a flush at once; with more, they are flushed early.
const DIRTY: usize = 64;
/// By how much a file may be longer than what is in it. A log of a program that confined itself is made 256 MiB longer than its
/// use at once; without a bound a host could make files that take forever to read.
const SPARSE: u64 = 1 << 30;
/// What stands between the name and the number of a log whose name another has already. No name on a host has it.
const AGAIN: &str = "+";
/// What is read at once for checksums.
const READ: usize = 64 * PAGE;

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
    /// What each log is called here.
    names: HashMap<Identity, String>,
    taken: HashSet<String>,
    /// Bytes on the disk when that was last counted,
    counted: u64,
    /// and those written since.
    written: u64,
    current: Option<Current>,
    /// Written since the last flush, besides the current one.
    dirty: Vec<Open>,
    /// New names in the directory, which is not durable yet.
    entries: bool,
    /// What was short since the last flush.
    short: Option<Shortage>,
    /// What the disk said, for the log.
    failure: Option<io::Error>,
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

/// An open file.
#[derive(Debug)]
struct Open {
    file: File,
    /// What it took on the disk when that was last counted.
    used: u64,
}

impl HostStore {
    /// The store in `directory`, which is made when the first file comes.
    ///
    /// # Errors
    /// When a directory cannot be read.
    pub(super) fn open(directory: &Path, limits: Limits) -> io::Result<HostStore> {
        let mut store = HostStore {
            directory: directory.to_owned(),
            limits,
            names: HashMap::new(),
            taken: HashSet::new(),
            counted: 0,
            written: 0,
            current: None,
            dirty: Vec::new(),
            entries: false,
            short: None,
            failure: None,
        };
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(store),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if names::log_name(&name.replace(AGAIN, "-")).is_ok() && store.taken.insert(name.clone()) {
                let Ok(file) = existing(&directory.join(&name)) else { continue };
                store.counted += disk_use(&file)?;
                if let Ok((identity, _)) = Identity::read(&name, &file) {
                    store.names.insert(identity, name);
                }
            }
        }
        // What another collector left unsaid is durable from here on.
        File::open(directory)?.sync_all()?;
        Ok(store)
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

    /// The current file waits for a flush if it has to.
    fn put_aside(&mut self) {
        if let Some(Current { open: Some(open), dirty: true, .. }) = self.current.take() {
            self.dirty.push(open);
            if self.dirty.len() >= DIRTY {
                self.sync();
            }
        }
    }

    /// What a log is called that was not here yet: as on its host, unless that is another log's name.
    fn new_name(&self, name: &str) -> String {
        let is_free = |name: &str| {
            let path = self.directory.join(name);
            // One without a header has been begun and never finished, and is gone on with.
            !self.taken.contains(name)
                || existing(&path).is_ok_and(|file| Identity::read(name, &file).is_err())
        };
        if is_free(name) {
            return name.to_owned();
        }
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let numbered = (2..).map(|number: u64| format!("{stem}{}{number}.{extension}", AGAIN));
        numbered.into_iter().find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
    }

    /// The current file, made if need be; `None` where that could not be.
    fn file(&mut self) -> Result<Option<&mut Current>, Violation> {
        let current = self.current.as_ref().ok_or(Violation::NoFile)?;
        if current.open.is_some() {
            return Ok(self.current.as_mut());
        }
        let is_new = !self.taken.contains(&current.name);
        if is_new && self.taken.len() as u64 >= self.limits.files {
            self.short.get_or_insert(Shortage::Files);
            return Ok(None);
        }
        let open = match make(&self.directory, &current.name) {
            Ok(open) => open,
            Err(error) => {
                self.fail(error);
                return Ok(None);
            }
        };
        self.entries |= is_new;
        self.taken.insert(current.name.clone());
        self.names.insert(current.identity, current.name.clone());
        let mut current = self.current.as_mut();
        if let Some(current) = &mut current {
            current.open = Some(open);
        }
        Ok(current)
    }

    /// The current file's size and the checksums of its pages from `first` on, at most `count`: of what is durable.
    ///
    /// # Errors
    /// When there is no current file, or (within) when it cannot be read.
    pub(super) fn have(&mut self, first: u64, count: u32) -> Result<io::Result<(u64, Vec<u64>)>, Violation> {
        let current = self.current.as_ref().ok_or(Violation::NoFile)?;
        if current.open.is_none() && !self.taken.contains(&current.name) {
            return Ok(Ok((0, Vec::new())));
        }
        let Some(Current { open: Some(open), .. }) = self.file()? else { return Ok(Ok((0, Vec::new()))) };
        Ok(sums(&open.file, first, count))
    }

    /// Stores an extent of the current file. What cannot be stored is told by the next [`flush`](HostStore::flush).
    ///
    /// # Errors
    /// When no extent can be there.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Violation> {
        let end = offset.checked_add(bytes.len() as u64).filter(|_| offset.is_multiple_of(PAGE as u64));
        let Some(end) = end else { return Err(Violation::Offset(offset)) };
        if self.short.is_some() {
            return Ok(());
        }
        if self.used().saturating_add(bytes.len() as u64) > self.limits.bytes {
            self.short = Some(Shortage::Quota);
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
    /// When some of it could not be stored; the disk's own error stands beside, unless there is simply too little of something.
    pub(super) fn flush(&mut self) -> Result<(), (Shortage, Option<io::Error>)> {
        if let Some(current) = &mut self.current
            && let Some(open) = current.open.take_if(|_| current.dirty)
        {
            current.dirty = false;
            self.dirty.push(open);
        }
        self.sync();
        match self.short.take() {
            None => Ok(()),
            Some(shortage) => Err((shortage, self.failure.take())),
        }
    }

    /// Puts on the disk what waits for it.
    fn sync(&mut self) {
        for open in std::mem::take(&mut self.dirty) {
            let used = open.file.sync_data().and_then(|()| disk_use(&open.file));
            match used {
                Ok(used) => self.counted = self.counted.saturating_sub(open.used).saturating_add(used),
                Err(error) => {
                    // The kernel now takes the pages for written. They shall be read from the disk when they are
                    // looked at again.
                    let _ = fadvise(&open.file, 0, None, Advice::DontNeed);
                    self.fail(error);
                }
            }
        }
        self.written = 0;
        if self.entries {
            match File::open(&self.directory).and_then(|directory| directory.sync_all()) {
                Ok(()) => self.entries = false,
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

impl Open {
    /// Whether the file may be so long, by what is in it already.
    fn room_for(&self, length: u64) -> Result<io::Result<()>, Violation> {
        match disk_use(&self.file) {
            Ok(used) if length > used.saturating_add(SPARSE) => Err(Violation::Sparse { length, used }),
            result => Ok(result.map(|_| ())),
        }
    }
}

/// Opens a file that is there, and is one, not a way to another.
fn existing(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Opens a log, making it and its directory where they are not there.
fn make(directory: &Path, name: &str) -> io::Result<Open> {
    let open = || {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o644);
        options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(directory.join(name))
    };
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory)?;
            // The directory's own entry, too, has to last.
            directory.parent().map(File::open).transpose()?.map(|parent| parent.sync_all()).transpose()?;
            open()
        }
        result => result,
    }?;
    let used = disk_use(&file)?;
    Ok(Open { file, used })
}

/// How many bytes a file takes on the disk.
fn disk_use(file: &File) -> io::Result<u64> {
    // Blocks are of 512 bytes whatever the file system.
    Ok(file.metadata()?.blocks() * 512)
}

/// The size of a file and the checksums of its pages from `first` on, at most `count`, after making them durable.
fn sums(file: &File, first: u64, count: u32) -> io::Result<(u64, Vec<u64>)> {
    // What is there might have been written by a collector that was killed before it could make it last.
    if first == 0 {
        file.sync_data()?;
    }
    let length = file.metadata()?.len();
    let last = page::pages(length).min(first.saturating_add(u64::from(count)));
    let mut sums = Vec::with_capacity(last.saturating_sub(first) as usize);
    let mut buffer = vec![0; READ];
    let mut at = first * PAGE as u64;
    let end = last * PAGE as u64;
    while at < end {
        // Holes have the checksum of zeros.
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => (data - data % PAGE as u64).clamp(at, end),
            Err(Errno::NXIO) => end,
            Err(_) => at,
        };
        sums.resize(sums.len() + ((data - at) / PAGE as u64) as usize, 0);
        at = data;
        let mut read = 0;
        let wanted = buffer.len().min((end - at) as usize);
        while read < wanted {
            match file.read_at(&mut buffer[read..wanted], at + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if read == 0 {
            break;
        }
        sums.extend(buffer[..read].chunks(PAGE).map(page::sum));
        at += read.next_multiple_of(PAGE) as u64;
    }
    Ok((length, sums))
}
