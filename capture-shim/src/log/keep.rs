//! Kept descriptors: descriptors that the library keeps open in a process that loses the paths to
//! its log. These are the directory of the host, in which the process's children make their logs;
//! the log itself, which is extended by it; and a socket of the recorder, to which static programs
//! are announced.
//!
//! Other processes have no kept descriptors. They have high numbers, and appear closed to the
//! program: its own `close` of such a number fails, and a call that makes a descriptor with that
//! number succeeds, as the kept descriptor is moved. A number can be closed unseen by calls past
//! libc, so before each use the kernel is asked whether it still is the same file.

use core::ffi::{CStr, c_int, c_uint};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI32, AtomicU64};

use super::directory;
use crate::platform::raw::{self, OwnDescriptor};
use crate::state::{ProcessState, settings};
use crate::tuning::{KEPT_BELOW_LIMIT, MIN_KEPT_DESCRIPTOR, SECONDS_TO_ANNOUNCE};

/// Suffix of the path of the socket at which the recorder receives ends of streams, after the path
/// of the socket at which it accepts connections.
const STREAMS_SUFFIX: &[u8] = b".far";

/// Kept descriptor.
#[repr(C)]
pub(crate) struct KeptDescriptor {
    /// Number of the descriptor; negative if there is none. It is the first field for code that
    /// reads it without this type.
    fd: AtomicI32,
    /// Device of the file.
    device: AtomicU64,
    /// Inode of the file.
    inode: AtomicU64,
    /// Generation of the process for which the descriptor is valid; 0 if it is valid in children,
    /// too.
    generation: AtomicU64,
}

impl KeptDescriptor {
    /// No descriptor.
    const fn none() -> KeptDescriptor {
        KeptDescriptor {
            fd: AtomicI32::new(-1),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }

    /// Keeps `file` in place of the former file.
    fn replace_with(&self, file: &OwnDescriptor, generation: u64) {
        let from =
            raw::descriptor_limit().saturating_sub(KEPT_BELOW_LIMIT).min(MIN_KEPT_DESCRIPTOR);
        let (Ok(fd), Some(status)) = (file.duplicate(from as c_int), file.status()) else { return };
        self.fd.store(-1, Relaxed);
        self.device.store(status.st_dev, Relaxed);
        self.inode.store(status.st_ino, Relaxed);
        self.generation.store(generation, Relaxed);
        self.fd.store(fd, Release);
    }

    /// The descriptor, if it was kept for this generation and still is the same file.
    fn get(&self, generation: u64) -> Option<OwnDescriptor> {
        let fd = self.fd.load(Acquire);
        if fd < 0 || self.generation.load(Relaxed) != generation {
            return None;
        }
        let file = OwnDescriptor::never_closed(fd);
        if self.is_same_file(&file) {
            return Some(file);
        }
        let _ = self.fd.compare_exchange(fd, -1, Relaxed, Relaxed);
        None
    }

    /// Closes the descriptor, if it still is the same file.
    fn close(&self) {
        // A page that is not written is not copied, and hardly any process has a kept descriptor.
        let fd = self.fd.load(Relaxed);
        if fd < 0 {
            return;
        }
        self.fd.store(-1, Relaxed);
        if self.is_same_file(&OwnDescriptor::never_closed(fd)) {
            drop(OwnDescriptor::owned(fd));
        }
    }

    /// Whether `file` is the kept file. A separate function, so that the buffer of the kernel's
    /// answer is not on the stack of the callers.
    #[inline(never)]
    fn is_same_file(&self, file: &OwnDescriptor) -> bool {
        let known = [self.device.load(Relaxed), self.inode.load(Relaxed)];
        file.status().is_some_and(|status| [status.st_dev, status.st_ino] == known)
    }
}

/// Directory of the host.
pub(crate) static DIRECTORY: KeptDescriptor = KeptDescriptor::none();

/// Log of the process.
pub(crate) static LOG: KeptDescriptor = KeptDescriptor::none();

/// Socket at which the recorder receives ends of streams (`hooks/announce.rs`).
pub(crate) static RECORDER: KeptDescriptor = KeptDescriptor::none();

/// All descriptors.
static ALL: [&KeptDescriptor; 3] = [&DIRECTORY, &LOG, &RECORDER];

/// Descriptors that a recorder has put into this process, which cannot open them by their paths:
/// the directory and the recorder's socket, 0 if there is none. The recorder writes the numbers
/// before the library begins. Later it reads the numbers under which they are kept, to close them.
#[cfg(feature = "injected")]
#[unsafe(no_mangle)]
static sockcap_handed: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];

/// Keeps the descriptors that a recorder has put into this process.
#[cfg(feature = "injected")]
pub(crate) fn take_handed() {
    for (handed, kept) in sockcap_handed.iter().zip([&DIRECTORY, &RECORDER]) {
        let fd = handed.load(Relaxed);
        if fd > 0 {
            kept.replace_with(&OwnDescriptor::owned(fd), 0);
            handed.store(kept.fd.load(Relaxed).max(0), Relaxed);
            directory::set_uprooted();
        }
    }
}

/// Keeps the directory, unless it is kept already.
pub(crate) fn keep_directory() {
    if DIRECTORY.get(0).is_some() {
        return;
    }
    if let Ok(directory) = open_home() {
        DIRECTORY.replace_with(&directory, 0);
    }
}

/// Opens the directory of the host, and makes it if it is missing.
fn open_home() -> Result<OwnDescriptor, isize> {
    directory::open_directory().or_else(|error| {
        if directory::is_uprooted() {
            return Err(error);
        }
        directory::make_all();
        directory::open_directory()
    })
}

/// Opens the directory of the host, so that several files can be made in it, or returns the kept
/// descriptor.
pub(crate) fn open_host_directory() -> Result<OwnDescriptor, isize> {
    DIRECTORY.get(0).map_or_else(open_home, Ok)
}

/// Keeps a socket of the recorder, unless it is kept already or there is no recorder.
pub(crate) fn keep_recorder() {
    let Some(path) = settings::option_value(settings::INJECTOR).filter(|path| !path.is_empty())
    else {
        return;
    };
    if RECORDER.get(0).is_none()
        && let Some(socket) = raw::connect_datagrams(path, STREAMS_SUFFIX, SECONDS_TO_ANNOUNCE)
    {
        RECORDER.replace_with(&socket, 0);
    }
}

/// The recorder's socket, if one is kept.
pub(crate) fn kept_recorder() -> Option<OwnDescriptor> {
    RECORDER.get(0)
}

/// Keeps the process's log, unless it is kept already.
pub(crate) fn keep_log(state: &ProcessState) {
    let generation = state.generation.load(Acquire);
    if LOG.get(generation).is_none()
        && let Ok(file) = open_again(state)
    {
        LOG.replace_with(&file, generation);
    }
}

/// Opens the process's log for writing.
pub(crate) fn open_log(state: &ProcessState) -> Result<OwnDescriptor, isize> {
    let kept = LOG.get(state.generation.load(Acquire));
    kept.map_or_else(|| open_again(state), Ok)
}

/// Flags by which the log is opened again. Opening does not wait and has no side effects, whatever
/// file is at the log's path now.
const REOPEN_FLAGS: c_int = libc::O_RDWR
    | libc::O_APPEND
    | libc::O_CLOEXEC
    | libc::O_NOFOLLOW
    | libc::O_NONBLOCK
    | libc::O_NOCTTY;

/// Opens the process's log by its name, if the name still leads to the same file. Another user may
/// have put a file or a link in its place.
#[cold]
#[inline(never)]
fn open_again(state: &ProcessState) -> Result<OwnDescriptor, isize> {
    let file = open_file(state.log_path(), REOPEN_FLAGS, 0)?;
    let noted = state.identity.each_ref().map(|word| word.load(Relaxed));
    let is_same = noted == [0; 2] || file_identity(&file) == noted;
    if is_same { Ok(file) } else { Err(-libc::ESTALE as isize) }
}

/// Notes the file that is the process's log, for [`open_log`].
pub(crate) fn note_log(state: &ProcessState, file: &OwnDescriptor) {
    for (place, word) in state.identity.iter().zip(file_identity(file)) {
        place.store(word, Relaxed);
    }
}

/// Device and inode of a file; zeros if it is not a regular file, or the kernel does not report
/// them.
#[inline(never)]
fn file_identity(file: &OwnDescriptor) -> [u64; 2] {
    let is_regular = |status: &libc::stat| status.st_mode & libc::S_IFMT == libc::S_IFREG;
    file.status_of_new().filter(is_regular).map_or([0; 2], |status| [status.st_dev, status.st_ino])
}

/// Opens a file of the host's directory, by its whole path.
pub(crate) fn open_file(path: &CStr, flags: c_int, mode: u32) -> Result<OwnDescriptor, isize> {
    let is_gone = |error: &isize| *error == -libc::ENOENT as isize && !directory::is_uprooted();
    match DIRECTORY.get(0).map(|directory| directory.open_file(base_name(path), flags, mode)) {
        Some(result) if !result.as_ref().is_err_and(is_gone) => result,
        _ => directory::open_directory()?.open_file(base_name(path), flags, mode),
    }
}

/// Removes a file of the host's directory, by its whole path.
pub(crate) fn unlink_file(path: &CStr) {
    match DIRECTORY.get(0) {
        Some(directory) => directory.unlink_file(base_name(path)),
        // The path is used, and no descriptor of the directory: the process may have none left.
        None => raw::unlink(path),
    }
}

/// Last part of a path.
pub(super) fn base_name(path: &CStr) -> &CStr {
    let bytes = path.to_bytes_with_nul();
    let begin = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    bytes.get(begin..).and_then(|name| CStr::from_bytes_with_nul(name).ok()).unwrap_or(c"")
}

/// Closes the descriptor of the parent's log in a new child.
pub(crate) fn begin_child() {
    LOG.close();
}

/// Closes all descriptors, in a process that continues without the library.
#[cfg(feature = "injected")]
pub(crate) fn close_all() {
    ALL.iter().for_each(|kept| kept.close());
}

/// Whether `fd` is kept, and so closed from the program's point of view.
#[inline(always)]
pub(crate) fn is_kept(fd: c_int) -> bool {
    // No descriptor has the number -1.
    fd >= 0 && ALL.iter().any(|kept| kept.fd.load(Relaxed) == fd) && is_ours(fd)
}

/// Whether `fd` still is one of the kept files.
#[cold]
fn is_ours(fd: c_int) -> bool {
    let file = OwnDescriptor::never_closed(fd);
    ALL.iter().any(|kept| {
        let is_same = kept.fd.load(Relaxed) == fd && kept.is_same_file(&file);
        if !is_same {
            let _ = kept.fd.compare_exchange(fd, -1, Relaxed, Relaxed);
        }
        is_same
    })
}

/// Moves the kept descriptor with the number `fd` to another number.
pub(crate) fn free_number(fd: c_int) {
    for kept in ALL.iter().filter(|kept| kept.fd.load(Relaxed) == fd) {
        kept.replace_with(&OwnDescriptor::never_closed(fd), kept.generation.load(Relaxed));
    }
}

/// Calls `close` for the ranges of descriptor numbers from `first` to `last` that contain no kept
/// descriptor, and stops at its first failure. Returns the last result of `close`, or 0.
pub(crate) fn close_around(
    first: c_uint,
    last: c_uint,
    mut close: impl FnMut(c_uint, c_uint) -> c_int,
) -> c_int {
    let mut numbers = ALL.map(|kept| kept.fd.load(Relaxed));
    numbers.sort_unstable();
    let mut from = first;
    for fd in numbers {
        let Ok(number) = c_uint::try_from(fd) else { continue };
        if (from..=last).contains(&number) && is_kept(fd) {
            if from < number {
                let result = close(from, number - 1);
                if result != 0 {
                    return result;
                }
            }
            if number == last {
                return 0;
            }
            from = number + 1;
        }
    }
    close(from, last)
}
