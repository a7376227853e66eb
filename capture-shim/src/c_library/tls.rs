//! Interposed functions of TLS libraries: finds the libraries' own ones.
//!
//! A TLS library may be absent, may be opened later, and may be loaded in two versions (the
//! program's, and one that a module brings). So its function is searched for when it is called, in
//! the way in which the dynamic linker did for the caller: first in the dependencies of the
//! caller's library, then after this library. The result is cached for each call site until a
//! library is closed, since another library may then be loaded at the same address.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use libc::Dl_info;

use super::linker;
use super::objects;
use crate::tuning::{MAX_TLS_CALLERS, TLS_CALLERS_TRIED};

/// Function of a TLS library, by name.
pub(crate) struct TlsFunction {
    name: &'static CStr,
    /// Number of the function, which distinguishes several functions of one call site.
    number: usize,
    /// Files that contain the function, for when it is found in no other way.
    files: &'static [&'static CStr],
    /// Function that is called if the function cannot be found.
    stand_in: extern "C" fn() -> isize,
}

/// Files of OpenSSL, newest first.
const OPENSSL: &[&CStr] = &[c"libssl.so.3", c"libssl.so.1.1", c"libssl.so.10", c"libssl.so.1.0.0"];

/// Files of GnuTLS.
const GNUTLS: &[&CStr] = &[c"libgnutls.so.30"];

/// Files of NSPR, to whose descriptors NSS adds its own layers.
const NSPR: &[&CStr] = &[c"libnspr4.so"];

/// Stand-in that reports failure by a negative number.
extern "C" fn negative() -> isize {
    -1
}

/// Stand-in that reports failure by zero.
extern "C" fn zero() -> isize {
    0
}

/// Defines a [`TlsFunction`] by each line `NAME(name, files, stand-in)`.
macro_rules! define {
    ($($constant:ident($name:literal, $files:ident, $stand_in:ident);)*) => {
        /// Numbers of the functions.
        #[expect(non_camel_case_types, reason = "called as the statics are")]
        enum Number { $($constant,)* }
        $(
            #[doc = concat!("Function `", stringify!($constant), "` of its library.")]
            pub(crate) static $constant: TlsFunction = TlsFunction {
                name: $name,
                number: Number::$constant as usize,
                files: $files,
                stand_in: $stand_in,
            };
        )*
    };
}

define! {
    SSL_READ(c"SSL_read", OPENSSL, negative);
    SSL_READ_EX(c"SSL_read_ex", OPENSSL, zero);
    SSL_PEEK(c"SSL_peek", OPENSSL, negative);
    SSL_PEEK_EX(c"SSL_peek_ex", OPENSSL, zero);
    SSL_WRITE(c"SSL_write", OPENSSL, negative);
    SSL_WRITE_EX(c"SSL_write_ex", OPENSSL, zero);
    SSL_FREE(c"SSL_free", OPENSSL, zero);
    GNUTLS_RECORD_RECV(c"gnutls_record_recv", GNUTLS, negative);
    GNUTLS_RECORD_RECV_SEQ(c"gnutls_record_recv_seq", GNUTLS, negative);
    GNUTLS_RECORD_SEND(c"gnutls_record_send", GNUTLS, negative);
    GNUTLS_RECORD_SEND2(c"gnutls_record_send2", GNUTLS, negative);
    GNUTLS_RECORD_SEND_RANGE(c"gnutls_record_send_range", GNUTLS, negative);
    GNUTLS_DEINIT(c"gnutls_deinit", GNUTLS, zero);
    PR_READ(c"PR_Read", NSPR, negative);
    PR_WRITE(c"PR_Write", NSPR, negative);
    PR_RECV(c"PR_Recv", NSPR, negative);
    PR_SEND(c"PR_Send", NSPR, negative);
    PR_WRITEV(c"PR_Writev", NSPR, negative);
    PR_CLOSE(c"PR_Close", NSPR, negative);
    PR_GET_NAME_FOR_IDENTITY(c"PR_GetNameForIdentity", NSPR, zero);
}

/// Entry of the cache: a function as resolved for one call site.
struct CallerFunction {
    /// Call site and function; 0 for none, [`BUSY`] while it is being written.
    key: AtomicUsize,
    /// Value of [`CLOSINGS`] when the function was searched for.
    closed: AtomicUsize,
    address: AtomicPtr<c_void>,
}

/// Value of a key while the entry is being written.
const BUSY: usize = 1;

/// Functions of TLS libraries that were found so far, each for its caller.
static FOUND: [CallerFunction; MAX_TLS_CALLERS] = [const {
    CallerFunction {
        key: AtomicUsize::new(0),
        closed: AtomicUsize::new(0),
        address: AtomicPtr::new(ptr::null_mut()),
    }
}; MAX_TLS_CALLERS];

/// Number of library closings, counted both before and after each.
static CLOSINGS: AtomicUsize = AtomicUsize::new(0);

/// Forgets all functions that were found, since a library is about to be closed or was closed.
pub(crate) fn forget_functions() {
    CLOSINGS.fetch_add(1, AcqRel);
}

/// Places in [`FOUND`] at which `key` may be.
fn cache_places(key: usize) -> impl Iterator<Item = &'static CallerFunction> {
    // The lowest bits of the product are the least evenly distributed for neighbouring callers.
    let first = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 40;
    (0..TLS_CALLERS_TRIED).filter_map(move |step| FOUND.get((first + step) % MAX_TLS_CALLERS))
}

impl TlsFunction {
    /// Address of the library's own function for the call site `caller`, to which it will return.
    #[inline]
    pub(crate) fn for_caller(&self, caller: *const c_void) -> *mut c_void {
        // Program addresses have zeros in these bits.
        let key = caller.addr() ^ (self.number + 1) << 56;
        let closed = CLOSINGS.load(Acquire);
        for found in cache_places(key) {
            if found.key.load(Acquire) == key && found.closed.load(Acquire) == closed {
                let address = found.address.load(Acquire);
                // No other entry was written meanwhile.
                if found.key.load(Relaxed) == key {
                    return address;
                }
            }
        }
        self.find_function(caller, key, closed)
    }

    /// Finds the function and stores it under `key`, as valid while [`CLOSINGS`] is `closed`.
    #[cold]
    #[inline(never)]
    fn find_function(&self, caller: *const c_void, key: usize, closed: usize) -> *mut c_void {
        // SAFETY: the names end with zero bytes.
        let address = unsafe {
            let address = self.in_library_of(caller);
            let address = or_else_find(address, || linker::find_symbol(libc::RTLD_NEXT, self.name));
            or_else_find(address, || self.in_files())
        };
        if address.is_null() {
            return self.stand_in as *mut c_void;
        }
        for found in cache_places(key) {
            let known = found.key.load(Acquire);
            let is_free = known == 0 || found.closed.load(Relaxed) != closed;
            if is_free
                && known != BUSY
                && found.key.compare_exchange(known, BUSY, AcqRel, Relaxed).is_ok()
            {
                found.address.store(address, Release);
                found.closed.store(closed, Release);
                found.key.store(key, Release);
                break;
            }
        }
        address
    }

    /// The function in the library that contains the call site `caller` and in its dependencies;
    /// null if there is none, and if the caller is the program itself, since the program depends on
    /// this library.
    ///
    /// # Safety
    /// As for `dlsym`.
    unsafe fn in_library_of(&self, caller: *const c_void) -> *mut c_void {
        // SAFETY: the name ends with a zero byte.
        unsafe {
            let Some(file) = library_of_caller(caller) else { return ptr::null_mut() };
            // The `link_map` of a library is not enough for a search in it; that takes a handle.
            let handle = linker::find_loaded(file);
            if handle.is_null() {
                return handle;
            }
            let address = linker::find_symbol(handle, self.name);
            linker::release_library(handle);
            if objects::is_own(address) { ptr::null_mut() } else { address }
        }
    }

    /// The function in the files that contain it, if one of them is loaded; otherwise null.
    ///
    /// # Safety
    /// As for `dlopen`.
    unsafe fn in_files(&self) -> *mut c_void {
        self.files.iter().fold(ptr::null_mut(), |address, file| {
            // SAFETY: nothing is loaded, so nothing is run.
            or_else_find(address, || unsafe {
                let handle = linker::find_loaded(file);
                if handle.is_null() { handle } else { linker::find_symbol(handle, self.name) }
            })
        })
    }
}

/// `address`, or the result of `other` if `address` is null.
fn or_else_find(address: *mut c_void, other: impl FnOnce() -> *mut c_void) -> *mut c_void {
    if address.is_null() { other() } else { address }
}

/// File of the library that contains the call site `caller`; `None` if that is the program itself,
/// or if it cannot be determined (musl has no `dladdr1`).
///
/// # Safety
/// As for `dlsym`. The name lives as long as the library.
unsafe fn library_of_caller<'library>(caller: *const c_void) -> Option<&'library CStr> {
    /// Beginning of glibc's description of a library (`struct link_map`).
    #[repr(C)]
    struct LinkMapPrefix {
        address: usize,
        /// File of the library, empty for the program.
        file: *const c_char,
    }
    /// Last argument of `dladdr1`: request the `link_map`.
    const LINK_MAP: c_int = 2;
    // SAFETY: the function's type as documented; it fills in both if it succeeds.
    unsafe {
        let with_map = linker::dladdr1()?;
        let (mut about, mut map) = (MaybeUninit::<Dl_info>::uninit(), ptr::null());
        let is_found = with_map(caller, about.as_mut_ptr(), &mut map, LINK_MAP) != 0;
        let file = map.cast::<LinkMapPrefix>().as_ref().filter(|_| is_found)?.file;
        (!file.is_null() && *file != 0).then(|| CStr::from_ptr(file))
    }
}
