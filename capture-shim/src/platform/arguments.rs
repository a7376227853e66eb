//! Arguments with which the program was started.
//!
//! A server may write a title over them before it uses its first socket, so they are copied when
//! the library is loaded. musl passes a constructor no arguments; under musl the kernel is asked
//! when the log begins.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};

use socket_log::layout::ARGUMENTS_BYTES;

use super::raw;
use crate::c_library::linker;

struct StartArgumentsCell(UnsafeCell<StartArguments>);

// SAFETY: only the constructor writes it, before the program has a second thread.
unsafe impl Sync for StartArgumentsCell {}

/// Arguments as the log's header has them: each ended by a zero byte, and cut at the field's size.
struct StartArguments {
    bytes: [u8; ARGUMENTS_BYTES],
    length: usize,
}

/// Arguments of this process; empty if the constructor was passed none.
static START_ARGUMENTS: StartArgumentsCell =
    StartArgumentsCell(UnsafeCell::new(StartArguments { bytes: [0; ARGUMENTS_BYTES], length: 0 }));

/// Copies the arguments that the loader passed to the constructor.
///
/// # Safety
/// Only the constructor calls this. Under glibc, and without any libc, `arguments` are `count`
/// strings.
pub(crate) unsafe fn keep_arguments(count: c_int, arguments: *const *const c_char) {
    // Only glibc has this function, and passes arguments.
    let are_passed = cfg!(feature = "injected") || linker::gnu_get_libc_version().is_some();
    if !are_passed || arguments.is_null() {
        return;
    }
    // SAFETY: the constructor runs before the program has a second thread.
    let kept = unsafe { &mut *START_ARGUMENTS.0.get() };
    for place in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: one of the `count` strings.
        let argument = unsafe { *arguments.add(place) };
        if argument.is_null() {
            return;
        }
        // SAFETY: a string that the kernel put there.
        let argument = unsafe { CStr::from_ptr(argument) }.to_bytes_with_nul();
        let Some(room) = kept.bytes.get_mut(kept.length..).filter(|room| !room.is_empty()) else {
            return;
        };
        let fits = argument.len().min(room.len());
        if let (Some(room), Some(argument)) = (room.get_mut(..fits), argument.get(..fits)) {
            room.copy_from_slice(argument);
        }
        kept.length += fits;
    }
}

/// Whether `is_wanted` returns true for any argument.
pub(crate) fn any_argument(is_wanted: impl Fn(&[u8]) -> bool) -> bool {
    // SAFETY: nothing writes any more once the arguments are kept.
    let kept = unsafe { &*START_ARGUMENTS.0.get() };
    kept.bytes.split(|byte| *byte == 0).any(is_wanted)
}

/// Writes the arguments into the field of a log's header.
pub(crate) fn write_arguments(field: &mut [u8; ARGUMENTS_BYTES]) {
    // SAFETY: nothing writes any more once the constructor has run.
    let kept = unsafe { &*START_ARGUMENTS.0.get() };
    if kept.length > 0 {
        *field = kept.bytes;
    } else if let Ok(file) = raw::open(c"/proc/self/cmdline", libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        file.read(field);
    }
}
