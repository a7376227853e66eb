//! Buffered files of libc over descriptors: opened, closed and printed to from within libc.
//!
//! A file's own reads and writes are out of sight. The table can be kept right: `fclose` closes a
//! descriptor without `close`, and `fopen` gives a number that may have been a socket's. Where a
//! file is made of a socket, or closed over one, the log says so, because bytes may move there that
//! it does not have.

use core::ffi::{c_char, c_int};

use libc::FILE;
use socket_log::api::Api;
use socket_log::encode::Direction;

use super::hidden;
use crate::c_library::errno;
use crate::c_library::types::{self, VaList};
use crate::descriptors::table::{self, Entry};
use crate::flows::{between_descriptors, closing, find};

/// Descriptor of a file; negative where it has none.
///
/// # Safety
/// `file` is null or a file of libc's.
unsafe fn descriptor(file: *mut FILE) -> c_int {
    if file.is_null() {
        return -1;
    }
    let before = errno::get();
    // SAFETY: as the caller says. A file in memory has no descriptor, which sets `errno`.
    let fd = unsafe { libc::fileno(file) };
    errno::set(before);
    fd
}

/// Makes a call that opens a file.
pub(crate) fn opened(call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    let file = call();
    // SAFETY: libc's own answer.
    closing::fresh(unsafe { descriptor(file) });
    file
}

/// # Safety
/// As `fdopen`.
pub(crate) unsafe fn fdopen(real: types::fdopen, fd: c_int, mode: *const c_char) -> *mut FILE {
    let entry = find::resolve(fd, table::get(fd));
    // SAFETY: the program's own call.
    let call = || unsafe { real(fd, mode) };
    if entry.is_other() { call() } else { hidden::on_flow(Api::FdOpen, entry.flow(), call) }
}

/// # Safety
/// As `fclose`.
pub(crate) unsafe fn fclose(real: types::fclose, file: *mut FILE) -> c_int {
    // SAFETY: the program's own file.
    let fd = unsafe { descriptor(file) };
    // SAFETY: the program's own call.
    close(Api::FClose, fd, || unsafe { real(file) })
}

/// Makes a call that ends with closing `fd`.
fn close(api: Api, fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let entry = table::get(fd);
    if fd < 0 || entry == Entry::UNKNOWN {
        return call();
    }
    // Before the call: behind it, another thread may already have been given the number.
    closing::forget(fd);
    if entry.is_other() { call() } else { hidden::on_flow(api, entry.flow(), call) }
}

/// # Safety
/// As `freopen`.
pub(crate) unsafe fn freopen(
    real: types::freopen,
    path: *const c_char,
    mode: *const c_char,
    file: *mut FILE,
) -> *mut FILE {
    // SAFETY: the program's own file.
    closing::fresh(unsafe { descriptor(file) });
    // SAFETY: the program's own call.
    opened(|| unsafe { real(path, mode, file) })
}

/// # Safety
/// As `popen`.
pub(crate) unsafe fn popen(
    real: types::popen,
    command: *const c_char,
    mode: *const c_char,
) -> *mut FILE {
    // SAFETY: the program's own call.
    opened(|| hidden::timed(Api::POpen, || unsafe { real(command, mode) }))
}

/// # Safety
/// As `pclose`.
pub(crate) unsafe fn pclose(real: types::pclose, file: *mut FILE) -> c_int {
    // SAFETY: the program's own file.
    closing::fresh(unsafe { descriptor(file) });
    // SAFETY: the program's own call.
    hidden::timed(Api::PClose, || unsafe { real(file) })
}

/// # Safety
/// As `vdprintf`.
pub(crate) unsafe fn vdprintf(
    real: types::vdprintf,
    fd: c_int,
    format: *const c_char,
    arguments: VaList,
) -> c_int {
    // SAFETY: the program's own call.
    print(fd, || unsafe { real(fd, format, arguments) })
}

/// # Safety
/// As `vdprintf`, with libc's checks of the format.
pub(crate) unsafe fn vdprintf_chk(
    real: types::__vdprintf_chk,
    fd: c_int,
    flag: c_int,
    format: *const c_char,
    arguments: VaList,
) -> c_int {
    // SAFETY: the program's own call.
    print(fd, || unsafe { real(fd, flag, format, arguments) })
}

/// Makes a call that prints to a descriptor. Its result is the number of bytes that libc has
/// written, in one piece or several, so a stream's bytes are logged as they are. The datagrams that
/// libc makes of them nobody outside knows.
fn print(fd: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let entry = find::resolve(fd, table::get(fd));
    match entry.kind() {
        table::Kind::Stream => {
            between_descriptors::moved(fd, Direction::Send, || call() as isize) as c_int
        }
        table::Kind::Datagram => hidden::on_flow(Api::DPrintf, entry.flow(), call),
        _ => call(),
    }
}
