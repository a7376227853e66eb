//! Reads and writes of TLS libraries: inspects their plain text if snippets are kept.
//!
//! The bytes of the sockets and their times come from the socket calls that the library makes
//! internally. Each hook receives its return address after the program's arguments.

use core::ffi::{c_int, c_void};
use core::iter::once;

use libc::{size_t, ssize_t};
use socket_log::encode::Direction;

use crate::c_library::{tls, types};
use crate::flows::message_snippets::plain::{self, PlaintextScope};

/// The TLS library's own function, cast to its type. A process may have several such libraries:
/// `$caller`, the address that called the hook, decides which one is meant.
macro_rules! own {
    ($function:ident, $caller:ident, $type:ty) => {
        // SAFETY: the library's own function of that name, with its documented type.
        unsafe {
            core::mem::transmute::<*mut c_void, $type>(
                crate::c_library::tls::$function.for_caller($caller),
            )
        }
    };
}

pub(super) use own;

/// Makes the program's call, which moves plain text from or to `parts`, each an address and a
/// maximum length, and inspects it: as many bytes as `moved` returns for the call's result, and at
/// most `most`. Without a `scope` nothing is inspected.
///
/// # Safety
/// The parts are null or readable for their lengths.
#[inline(always)]
pub(super) unsafe fn with_plaintext<R: Copy>(
    scope: Option<PlaintextScope>,
    parts: impl Iterator<Item = (*const u8, usize)>,
    most: usize,
    call: impl FnOnce() -> R,
    moved: impl FnOnce(R) -> usize,
) -> R {
    let Some(scope) = scope else { return call() };
    let result = call();
    // SAFETY: as the caller guarantees.
    unsafe { scope.leave_scope(parts, moved(result), most) };
    result
}

/// Makes the program's call, which moves plain text of a `session` of OpenSSL or GnuTLS in this
/// direction from or to one buffer, and inspects it. `moved` returns the number of bytes for the
/// call's result, which is at most `most`.
///
/// # Safety
/// The buffer is readable for the bytes that the call moves.
#[inline(always)]
unsafe fn call_session<R: Copy>(
    session: *const c_void,
    direction: Direction,
    buffer: *const c_void,
    most: usize,
    call: impl FnOnce() -> R,
    moved: impl FnOnce(R) -> usize,
) -> R {
    let parts = once((buffer.cast(), usize::MAX));
    // SAFETY: as the caller guarantees.
    unsafe { with_plaintext(plain::enter_scope(session, direction), parts, most, call, moved) }
}

/// Defines the hooks of functions that return the number of moved bytes, or 0 or a negative error.
macro_rules! counted {
    ($(
        $hook:ident($session:ident, $buffer:ident: $pointer:ty, $size:ident: $sized:ty
            $(, $more:ident: $kind:ty)*) -> $result:ty => $function:ident, $direction:ident;
    )*) => {$(
        /// Makes the program's call, and inspects its plain text.
        ///
        /// # Safety
        /// As for the TLS library's function with this name.
        pub(crate) unsafe extern "C" fn $hook(
            $session: *mut c_void,
            $buffer: $pointer,
            $size: $sized,
            $($more: $kind,)*
            caller: *const c_void,
        ) -> $result {
            type Own =
                unsafe extern "C" fn(*mut c_void, $pointer, $sized $(, $kind)*) -> $result;
            let own = own!($function, caller, Own);
            // SAFETY: the program's own call.
            let call = || unsafe { own($session, $buffer, $size $(, $more)*) };
            let moved = |result: $result| result.max(0) as usize;
            let most = $size as usize;
            // SAFETY: the library has just used this many bytes there.
            unsafe { call_session($session, Direction::$direction, $buffer, most, call, moved) }
        }
    )*};
}

counted! {
    ssl_read(session, buffer: *mut c_void, size: c_int) -> c_int => SSL_READ, Receive;
    ssl_write(session, buffer: *const c_void, size: c_int) -> c_int => SSL_WRITE, Send;
    gnutls_record_recv(session, buffer: *mut c_void, size: size_t) -> ssize_t
        => GNUTLS_RECORD_RECV, Receive;
    gnutls_record_recv_seq(session, buffer: *mut c_void, size: size_t, number: *mut c_void)
        -> ssize_t => GNUTLS_RECORD_RECV_SEQ, Receive;
    gnutls_record_send(session, buffer: *const c_void, size: size_t) -> ssize_t
        => GNUTLS_RECORD_SEND, Send;
    gnutls_record_send2(session, buffer: *const c_void, size: size_t, pad: size_t, flags: c_int)
        -> ssize_t => GNUTLS_RECORD_SEND2, Send;
    gnutls_record_send_range(session, buffer: *const c_void, size: size_t, range: *const c_void)
        -> ssize_t => GNUTLS_RECORD_SEND_RANGE, Send;
}

/// Defines the hooks of functions that return 1 if they have stored the number of moved bytes in
/// their last argument.
macro_rules! counted_by_argument {
    ($($hook:ident($pointer:ty) => $function:ident, $direction:ident;)*) => {$(
        /// Makes the program's call, and inspects its plain text.
        ///
        /// # Safety
        /// As for the TLS library's function with this name.
        pub(crate) unsafe extern "C" fn $hook(
            session: *mut c_void,
            buffer: $pointer,
            size: size_t,
            count: *mut size_t,
            caller: *const c_void,
        ) -> c_int {
            type Own =
                unsafe extern "C" fn(*mut c_void, $pointer, size_t, *mut size_t) -> c_int;
            let own = own!($function, caller, Own);
            // SAFETY: the program's own call.
            let call = || unsafe { own(session, buffer, size, count) };
            // SAFETY: the library has just written the number.
            let moved = |result| if result > 0 { unsafe { *count } } else { 0 };
            // SAFETY: the library has just used this many bytes there.
            unsafe { call_session(session, Direction::$direction, buffer, size, call, moved) }
        }
    )*};
}

counted_by_argument! {
    ssl_read_ex(*mut c_void) => SSL_READ_EX, Receive;
    ssl_write_ex(*const c_void) => SSL_WRITE_EX, Send;
}

/// Peeks at plain text, which is not inspected.
///
/// # Safety
/// As for `SSL_peek`.
pub(crate) unsafe extern "C" fn ssl_peek(
    session: *mut c_void,
    buffer: *mut c_void,
    size: c_int,
    caller: *const c_void,
) -> c_int {
    type PeekFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int) -> c_int;
    let own = own!(SSL_PEEK, caller, PeekFunction);
    // Peeked bytes are read again later, but the socket is read now.
    // SAFETY: the program's own call, and no bytes.
    unsafe {
        let call = || own(session, buffer, size);
        call_session(session, Direction::Receive, buffer, 0, call, |_| 0)
    }
}

/// Peeks at plain text, which is not inspected.
///
/// # Safety
/// As for `SSL_peek_ex`.
pub(crate) unsafe extern "C" fn ssl_peek_ex(
    session: *mut c_void,
    buffer: *mut c_void,
    size: size_t,
    count: *mut size_t,
    caller: *const c_void,
) -> c_int {
    type PeekExFunction =
        unsafe extern "C" fn(*mut c_void, *mut c_void, size_t, *mut size_t) -> c_int;
    let own = own!(SSL_PEEK_EX, caller, PeekExFunction);
    // SAFETY: the program's own call, and no bytes.
    unsafe {
        let call = || own(session, buffer, size, count);
        call_session(session, Direction::Receive, buffer, 0, call, |_| 0)
    }
}

/// Defines the hooks of functions that end a session.
macro_rules! ending {
    ($($hook:ident => $function:ident;)*) => {$(
        /// Ends a session, and forgets its conversation.
        ///
        /// # Safety
        /// As for the TLS library's function with this name.
        pub(crate) unsafe extern "C" fn $hook(session: *mut c_void, caller: *const c_void) {
            type Own = unsafe extern "C" fn(*mut c_void);
            let own = own!($function, caller, Own);
            plain::forget(session);
            // SAFETY: the program's own call.
            unsafe { own(session) }
        }
    )*};
}

ending! {
    ssl_free => SSL_FREE;
    gnutls_deinit => GNUTLS_DEINIT;
}

/// Unloads a library, and forgets the known addresses of the TLS libraries' functions.
///
/// # Safety
/// As for `dlclose`.
pub(crate) unsafe fn dlclose(real: types::dlclose, handle: *mut c_void) -> c_int {
    // While the library is being unloaded, it may still call some of these functions.
    tls::forget_functions();
    // SAFETY: the program's own call.
    let result = unsafe { real(handle) };
    tls::forget_functions();
    result
}
