//! Buffered files of libc (`FILE`) over descriptors: opened, closed, read and written within libc.
//!
//! If libc's tables of file functions are known (`exports/buffered.rs`), the reads, writes and
//! closes of files call the functions here. Otherwise they are unseen. The table of descriptors can
//! still be kept right: `fclose` closes a descriptor without `close`, and `fopen` returns a number
//! that may have been a socket's. A file that is made from a socket, or closed over one, is logged,
//! because bytes may move over it that the log does not have.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use libc::{FILE, ssize_t};
use socket_log::api::Api;
use socket_log::encode::Direction;

use super::{hidden, processes};
use crate::c_library::errno;
use crate::c_library::types::{self, VaList};
use crate::descriptors::table::{self, DescriptorWord};
use crate::flows::{CallerAddress, between_descriptors, closing, counts, resolve, transfer};
use crate::log;
use crate::state::{self, child_birth, thread};

/// Descriptor of a file; negative if it has none.
///
/// # Safety
/// `file` is null or a file of libc's.
unsafe fn file_descriptor(file: *mut FILE) -> c_int {
    if file.is_null() {
        return -1;
    }
    let before = errno::get_errno();
    // SAFETY: as the caller guarantees. A file in memory has no descriptor, which sets `errno`.
    let fd = unsafe { libc::fileno(file) };
    errno::set_errno(before);
    fd
}

/// Libc's function for one operation on files, which a function of this library replaces in libc's
/// table. It is set before the replacement can be called.
pub(crate) struct LibcFileFunction(AtomicPtr<c_void>);

impl LibcFileFunction {
    const fn none() -> LibcFileFunction {
        LibcFileFunction(AtomicPtr::new(ptr::null_mut()))
    }

    /// Sets libc's function.
    pub(crate) fn set_function(&self, function: *mut c_void) {
        self.0.store(function, Relaxed);
    }
}

/// Libc's function by which a file reads its descriptor.
pub(crate) static READ: LibcFileFunction = LibcFileFunction::none();
/// Libc's function by which a file writes to its descriptor.
pub(crate) static WRITE: LibcFileFunction = LibcFileFunction::none();
/// Libc's function by which a file closes its descriptor.
pub(crate) static CLOSE: LibcFileFunction = LibcFileFunction::none();

/// Addresses of libc's function tables that call the hooks of this file, for files of bytes and of
/// wide characters; zeros if none do.
static FOLLOWED_TABLES: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Offset of the function table's address in a glibc `FILE`, in bytes, in all 64-bit versions.
const TABLE_OFFSET: usize = 216;

/// Notes that files with these tables (of bytes, of wide characters) call [`file_read`],
/// [`file_write`] and [`file_close`].
pub(crate) fn follow_tables(tables: [usize; 2]) {
    for (place, table) in FOLLOWED_TABLES.iter().zip(tables) {
        place.store(table, Relaxed);
    }
}

/// Address of the function table of a glibc file.
///
/// # Safety
/// `file` is a file of glibc's.
pub(crate) unsafe fn table_of(file: *const FILE) -> usize {
    // SAFETY: as the caller guarantees.
    unsafe { file.byte_add(TABLE_OFFSET).cast::<usize>().read() }
}

/// Whether reads, writes and the close of a file call the hooks of this file.
///
/// # Safety
/// `file` is null or a file of libc's.
unsafe fn is_followed(file: *const FILE) -> bool {
    let [plain, wide] = &FOLLOWED_TABLES;
    let plain = plain.load(Relaxed);
    if plain == 0 || file.is_null() {
        return false;
    }
    // SAFETY: libc is glibc, as its tables were found.
    let table = unsafe { table_of(file) };
    table == plain || table == wide.load(Relaxed)
}

/// Descriptor of a file, after its entry in the table of descriptors was verified. Libc opens and
/// closes files of its own unseen, and their numbers may have belonged to sockets.
///
/// # Safety
/// `file` is a file of libc's.
#[inline(always)]
unsafe fn verified_descriptor(file: *mut FILE) -> c_int {
    // SAFETY: as the caller guarantees.
    let fd = unsafe { file_descriptor(file) };
    let entry = table::get_entry(fd);
    if !entry.is_uncaptured() {
        resolve::verify_entry(fd, entry);
    }
    fd
}

/// Reads from the descriptor of a file of libc's, by libc's own function, and logs it.
///
/// # Safety
/// As for libc's function of files.
pub(crate) unsafe fn file_read(file: *mut FILE, buffer: *mut c_void, size: ssize_t) -> ssize_t {
    type FileReadFunction = unsafe extern "C" fn(*mut FILE, *mut c_void, ssize_t) -> ssize_t;
    // SAFETY: libc's own call; its function was set before.
    unsafe {
        let real = core::mem::transmute::<*mut c_void, FileReadFunction>(READ.0.load(Relaxed));
        let fd = verified_descriptor(file);
        let room = size.max(0) as usize;
        let result = transfer::receive_bytes(fd, buffer.cast(), room, || real(file, buffer, size));
        note_use(fd);
        result
    }
}

/// Writes to the descriptor of a file of libc's, by libc's own function, and logs it.
///
/// # Safety
/// As for libc's function of files.
pub(crate) unsafe fn file_write(file: *mut FILE, buffer: *const c_void, size: ssize_t) -> ssize_t {
    type FileWriteFunction = unsafe extern "C" fn(*mut FILE, *const c_void, ssize_t) -> ssize_t;
    // SAFETY: libc's own call; its function was set before.
    let call = || unsafe {
        core::mem::transmute::<*mut c_void, FileWriteFunction>(WRITE.0.load(Relaxed))(
            file, buffer, size,
        )
    };
    // SAFETY: libc's own file.
    if thread::current_thread().prints_to(unsafe { file_descriptor(file) }) {
        return call();
    }
    // If this write begins the log after the end of the process was handled, the end is logged
    // after the write.
    let status = processes::exit_status().filter(|_| log::existing_writer().is_none());
    // SAFETY: libc's own file.
    let fd = unsafe { verified_descriptor(file) };
    // Libc writes until all is written, so a smaller result means an error.
    let send = || match call() {
        0 if size > 0 => -1,
        written => written,
    };
    // SAFETY: libc's own call.
    let result = unsafe {
        transfer::send_bytes(fd, buffer.cast(), size.max(0) as usize, CallerAddress::NONE, send)
    };
    note_use(fd);
    if let Some(status) = status
        && log::existing_writer().is_some()
    {
        processes::log_process_end(status);
    }
    result.max(0)
}

/// Closes the descriptor of a file of libc's, by libc's own function, and logs it.
///
/// # Safety
/// As for libc's function of files.
pub(crate) unsafe fn file_close(file: *mut FILE) -> c_int {
    type FileCloseFunction = unsafe extern "C" fn(*mut FILE) -> c_int;
    // SAFETY: libc's own call; its function was set before.
    unsafe {
        // The stream's bytes are counted before the call: after it, another thread may already
        // have opened the same descriptor number.
        counts::log_final_and_forget(file_descriptor(file));
        core::mem::transmute::<*mut c_void, FileCloseFunction>(CLOSE.0.load(Relaxed))(file)
    }
}

/// Notes in the process's state that there is a buffered file over a socket, if `fd` is one.
#[inline(always)]
fn note_use(fd: c_int) {
    if !table::get_entry(fd).is_uncaptured()
        && let Some(state) = state::current_state()
    {
        state.has_buffered.store(1, Relaxed);
    }
}

/// Makes a call that opens a file, and clears the table's entry of its descriptor.
pub(crate) fn open(call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    let file = call();
    // SAFETY: libc returned null or an open file.
    closing::clear_reused(unsafe { file_descriptor(file) });
    file
}

/// # Safety
/// As for `fdopen`.
pub(crate) unsafe fn fdopen(real: types::fdopen, fd: c_int, mode: *const c_char) -> *mut FILE {
    let entry = resolve::resolve_entry(fd, table::get_entry(fd));
    // SAFETY: the program's own call.
    let call = || unsafe { real(fd, mode) };
    if entry.is_uncaptured() {
        return call();
    }
    let file = hidden::on_flow(Api::FdOpen, entry.flow(), call);
    note_use(fd);
    file
}

/// # Safety
/// As for `fclose`.
pub(crate) unsafe fn fclose(real: types::fclose, file: *mut FILE) -> c_int {
    // SAFETY: the program's own file.
    let fd = unsafe { file_descriptor(file) };
    // SAFETY: the program's own call.
    let call = || unsafe { real(file) };
    let entry = table::get_entry(fd);
    if fd < 0 || entry == DescriptorWord::UNKNOWN {
        return call();
    }
    // SAFETY: the program's own file.
    if !unsafe { is_followed(file) } {
        // As in [`file_close`], the count precedes the call.
        counts::log_final_and_forget(fd);
    }
    if entry.is_uncaptured() { call() } else { hidden::on_flow(Api::FClose, entry.flow(), call) }
}

/// # Safety
/// As for `freopen`.
pub(crate) unsafe fn freopen(
    real: types::freopen,
    path: *const c_char,
    mode: *const c_char,
    file: *mut FILE,
) -> *mut FILE {
    // SAFETY: the program's own file.
    if !unsafe { is_followed(file) } {
        // SAFETY: the program's own file.
        counts::log_final_and_forget(unsafe { file_descriptor(file) });
    }
    // SAFETY: the program's own call.
    open(|| unsafe { real(path, mode, file) })
}

/// # Safety
/// As for `popen`.
pub(crate) unsafe fn popen(
    real: types::popen,
    command: *const c_char,
    mode: *const c_char,
) -> *mut FILE {
    // Libc starts the shell with the process's environment, which must have its lineage by then.
    child_birth::complete_birth();
    // SAFETY: the program's own call.
    open(|| hidden::timed(Api::POpen, || unsafe { real(command, mode) }))
}

/// # Safety
/// As for `pclose`.
pub(crate) unsafe fn pclose(real: types::pclose, file: *mut FILE) -> c_int {
    // Libc may close the descriptor unseen. Its entry is cleared before, since another thread may
    // get the same number as soon as it is closed.
    // SAFETY: the program's own file.
    closing::clear_reused(unsafe { file_descriptor(file) });
    // SAFETY: the program's own call.
    hidden::timed(Api::PClose, || unsafe { real(file) })
}

/// # Safety
/// As for `vdprintf`.
pub(crate) unsafe fn vdprintf(
    real: types::vdprintf,
    fd: c_int,
    format: *const c_char,
    arguments: VaList,
) -> c_int {
    // SAFETY: the program's own call.
    log_print(fd, || unsafe { real(fd, format, arguments) })
}

/// # Safety
/// As for `vdprintf`, with libc's checks of the format.
pub(crate) unsafe fn vdprintf_chk(
    real: types::__vdprintf_chk,
    fd: c_int,
    flag: c_int,
    format: *const c_char,
    arguments: VaList,
) -> c_int {
    // SAFETY: the program's own call.
    log_print(fd, || unsafe { real(fd, flag, format, arguments) })
}

/// Makes a call that prints to a descriptor, and logs it. Its result is the number of bytes that
/// libc has written, in one piece or several, so a stream's bytes are logged as they are. How libc
/// splits them into datagrams is not known.
fn log_print(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let entry = resolve::resolve_entry(fd, table::get_entry(fd));
    match entry.kind() {
        table::DescriptorKind::Stream => {
            let print = || {
                // Some versions of libc print through a file.
                thread::current_thread().set_printing(Some(fd));
                let result = call();
                thread::current_thread().set_printing(None);
                result as isize
            };
            between_descriptors::log_moved_bytes(fd, Direction::Send, print) as c_int
        }
        table::DescriptorKind::Datagram => hidden::on_flow(Api::DPrintf, entry.flow(), call),
        _ => call(),
    }
}
