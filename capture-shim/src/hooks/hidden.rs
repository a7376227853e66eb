//! Calls in which libc moves bytes unseen (its resolver, its files, the system log): which, when,
//! how long and with what result.
//!
//! The sends and receives of these calls go from within libc straight to the kernel. What can be
//! recorded is that a thread was held up there. The query and its destination are payload and are
//! not inspected.

use core::ffi::{CStr, c_char, c_int, c_void};

use socket_log::api::Api;
use socket_log::encode::{self, LibcCall};

use crate::c_library::types;
use crate::log;
use crate::platform::{clock, raw};

/// Result of a call in which libc moves bytes unseen.
pub(crate) trait HiddenResult {
    /// The result as the log keeps it.
    fn as_number(&self) -> c_int;
}

impl HiddenResult for c_int {
    fn as_number(&self) -> c_int {
        *self
    }
}

impl HiddenResult for () {
    fn as_number(&self) -> c_int {
        0
    }
}

impl<T> HiddenResult for *mut T {
    fn as_number(&self) -> c_int {
        if self.is_null() { -1 } else { 0 }
    }
}

/// Makes the program's call of the function `api`, which is about no known flow, and logs it with
/// its duration.
pub(crate) fn timed<R: HiddenResult>(api: Api, call: impl FnOnce() -> R) -> R {
    on_flow(api, 0, call)
}

/// Whether no server is asked, because `host` is null or a numeric address. The name itself is not
/// kept.
fn needs_no_lookup(host: *const c_char) -> bool {
    if host.is_null() {
        return true;
    }
    if !raw::is_readable(host) {
        return false;
    }
    // SAFETY: just found readable; libc would have to read it as well.
    let host = unsafe { CStr::from_ptr(host) }.to_bytes();
    host.contains(&b':') || host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// # Safety
/// As for `getaddrinfo`.
pub(crate) unsafe fn getaddrinfo(
    real: types::getaddrinfo,
    host: *const c_char,
    service: *const c_char,
    hints: *const c_void,
    found: *mut *mut c_void,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { real(host, service, hints, found) };
    if needs_no_lookup(host) { call() } else { timed(Api::GetAddrInfo, call) }
}

/// Makes the program's call of the function `api`, which is about `flow` (0 if about none), and
/// logs it with its duration.
pub(crate) fn on_flow<R: HiddenResult>(api: Api, flow: u32, call: impl FnOnce() -> R) -> R {
    let begin = clock::current_ticks();
    let result = call();
    // The writer is obtained after the call: during it another thread may have run, or this may now
    // be a child.
    let writer = match api {
        // Neither another program's work nor a loaded library is a use of a socket.
        Api::POpen | Api::PClose | Api::DlOpenDeepBind => log::existing_writer(),
        _ => log::current_writer(),
    };
    if let Some(writer) = writer {
        let now = clock::current_ticks();
        let what = LibcCall { api, flow, duration: now - begin, result: result.as_number() };
        writer.record(&encode::libc_call_record(begin, &what), now);
    }
    result
}
