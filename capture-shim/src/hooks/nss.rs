//! Reads and writes of NSPR with encryption by a layer of NSS: inspects the plain text if snippets
//! are kept.
//!
//! NSPR's descriptors are stacks of layers, and these functions are called on the topmost layer.
//! The bytes that a program reads and writes by them are plain text if a layer of NSS is in the
//! stack. NSS does not call these functions for the layers below it. Each hook receives its return
//! address after the program's arguments.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::iter::once;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::Direction;

use super::tls::{own, with_plaintext};
use crate::flows::message_snippets::plain;
use crate::tuning::MAX_NSPR_LAYERS;

/// Descriptor of NSPR (`PRFileDesc`), or one layer of it.
#[repr(C)]
pub(crate) struct Layer {
    methods: *const c_void,
    secret: *mut c_void,
    lower: *const Layer,
    higher: *const Layer,
    destructor: *const c_void,
    /// Number of the layer's kind; 0 for NSPR's own.
    identity: c_int,
}

/// One of several buffers (`PRIOVec`).
#[repr(C)]
pub(crate) struct NsprBuffer {
    start: *const u8,
    length: c_int,
}

/// Kind of the layer in which NSS encrypts; 0 while none was seen.
static NSS: AtomicI32 = AtomicI32::new(0);

/// Flag of `PR_Recv`: the bytes stay to be read later.
const PEEK: c_int = 2;

/// Whether a layer of NSS is in the stack of `top`. `caller` is the address that called the hook.
///
/// # Safety
/// The descriptor is null or open.
unsafe fn is_encrypted(top: *const Layer, caller: *const c_void) -> bool {
    let mut next = top;
    for _ in 0..MAX_NSPR_LAYERS {
        // SAFETY: the layers of an open descriptor, as the program's own calls traverse them.
        let Some(layer) = (unsafe { next.as_ref() }) else { return false };
        // SAFETY: as the caller guarantees.
        if layer.identity > 0 && unsafe { is_nss(layer.identity, caller) } {
            return true;
        }
        next = layer.lower;
    }
    false
}

/// Whether layers of the kind `identity` belong to NSS.
///
/// # Safety
/// `identity` is the kind of a layer.
unsafe fn is_nss(identity: c_int, caller: *const c_void) -> bool {
    if NSS.load(Relaxed) == identity {
        return true;
    }
    type NameOfIdentity = unsafe extern "C" fn(c_int) -> *const c_char;
    let own = own!(PR_GET_NAME_FOR_IDENTITY, caller, NameOfIdentity);
    // SAFETY: NSPR's own function; a name that it returns stays valid.
    let is_nss = unsafe {
        let name = own(identity);
        !name.is_null() && CStr::from_ptr(name) == c"SSL"
    };
    if is_nss {
        NSS.store(identity, Relaxed);
    }
    is_nss
}

/// Makes the program's call on `top`, which moves bytes in this direction from or to `parts`, and
/// inspects them if they are plain text. Their number is the result of `call`, and at most `most`.
///
/// # Safety
/// The descriptor is null or open, and the parts are readable for their lengths.
#[inline(always)]
unsafe fn call_layer(
    top: *const Layer,
    direction: Direction,
    parts: impl Iterator<Item = (*const u8, usize)>,
    most: usize,
    caller: *const c_void,
    call: impl FnOnce() -> i32,
) -> i32 {
    // SAFETY: as the caller guarantees.
    let is_encrypted = || unsafe { is_encrypted(top, caller) };
    let inspects = plain::is_wanted() && is_encrypted();
    let scope = inspects.then(|| plain::enter_scope(top.cast(), direction)).flatten();
    let moved = |result: i32| (result.max(0) as usize).min(most);
    // SAFETY: as the caller guarantees.
    unsafe { with_plaintext(scope, parts, most, call, moved) }
}

/// Defines the hooks of functions with one buffer, each with an expression for whether the call
/// only peeks at bytes (after `unless`).
macro_rules! with_buffer {
    ($(
        $hook:ident(buffer: $pointer:ty $(, $more:ident: $kind:ty)*) => $function:ident,
            $direction:ident, unless $peeks:expr;
    )*) => {$(
        /// Makes the program's call, and inspects its plain text.
        ///
        /// # Safety
        /// As for the function of NSPR with this name.
        pub(crate) unsafe extern "C" fn $hook(
            top: *mut Layer,
            buffer: $pointer,
            size: i32,
            $($more: $kind,)*
            caller: *const c_void,
        ) -> i32 {
            type Own = unsafe extern "C" fn(*mut Layer, $pointer, i32 $(, $kind)*) -> i32;
            let own = own!($function, caller, Own);
            let most = size.max(0) as usize;
            // SAFETY: the program's own call, and NSPR has just used the buffer.
            unsafe {
                let call = || own(top, buffer, size $(, $more)*);
                // Peeked bytes are read again later, but the socket is read now.
                let most = if $peeks { 0 } else { most };
                let parts = once((buffer.cast_const().cast(), usize::MAX));
                call_layer(top, Direction::$direction, parts, most, caller, call)
            }
        }
    )*};
}

with_buffer! {
    read(buffer: *mut c_void) => PR_READ, Receive, unless false;
    write(buffer: *mut c_void) => PR_WRITE, Send, unless false;
    recv(buffer: *mut c_void, flags: c_int, timeout: u32) => PR_RECV, Receive,
        unless flags & PEEK != 0;
    send(buffer: *mut c_void, flags: c_int, timeout: u32) => PR_SEND, Send, unless false;
}

/// Writes several buffers, and inspects their plain text.
///
/// # Safety
/// As for `PR_Writev`.
pub(crate) unsafe extern "C" fn writev(
    top: *mut Layer,
    parts: *const NsprBuffer,
    count: i32,
    timeout: u32,
    caller: *const c_void,
) -> i32 {
    type WritevFunction = unsafe extern "C" fn(*mut Layer, *const NsprBuffer, i32, u32) -> i32;
    let own = own!(PR_WRITEV, caller, WritevFunction);
    // SAFETY: the program's own call, and NSPR has just used the parts.
    unsafe {
        let each = (0..count.max(0) as usize).map(|index| {
            let NsprBuffer { start, length } = parts.add(index).read();
            (start, length.max(0) as usize)
        });
        let call = || own(top, parts, count, timeout);
        call_layer(top, Direction::Send, each, usize::MAX, caller, call)
    }
}

/// Closes a descriptor of NSPR, and forgets its conversation.
///
/// # Safety
/// As for `PR_Close`.
pub(crate) unsafe extern "C" fn close(top: *mut Layer, caller: *const c_void) -> c_int {
    type CloseFunction = unsafe extern "C" fn(*mut Layer) -> c_int;
    let own = own!(PR_CLOSE, caller, CloseFunction);
    plain::forget(top.cast());
    // SAFETY: the program's own call.
    unsafe { own(top) }
}
