//! Functions of TLS libraries that are interposed: where the libraries' own ones are.
//!
//! Such a library need not be there, may be opened later, and may be there in two versions (that of
//! the program, and one that a module brings). So its function is looked for when it is called, as
//! the dynamic linker looked for it on behalf of the caller: in what the caller's library needs,
//! and else behind this library. It is found once for each place that calls it, until a library is
//! closed: then another one may come to be at the same place.

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
    /// Number among all, which tells them apart where one place calls several.
    number: usize,
    /// Files that have it, where it is found in no other way.
    files: &'static [&'static CStr],
    /// What is called where it is not to be found.
    stand_in: extern "C" fn() -> isize,
}

/// Files of OpenSSL, the newest first.
const OPENSSL: &[&CStr] = &[c"libssl.so.3", c"libssl.so.1.1", c"libssl.so.10", c"libssl.so.1.0.0"];

/// Files of GnuTLS.
const GNUTLS: &[&CStr] = &[c"libgnutls.so.30"];

/// Files of NSPR, whose functions NSS puts its layers below.
const NSPR: &[&CStr] = &[c"libnspr4.so"];

/// Stand-in that fails by a negative number.
extern "C" fn negative() -> isize {
    -1
}

/// Stand-in that fails by zero.
extern "C" fn zero() -> isize {
    0
}

/// Defines the functions: `NAME(its name, its files, its stand-in)`.
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

/// Function as one place calls it.
struct CallerFunction {
    /// Place and function; 0 for none, [`BUSY`] while it is being noted.
    key: AtomicUsize,
    /// Value of [`CLOSED`] when it was looked for.
    closed: AtomicUsize,
    address: AtomicPtr<c_void>,
}

/// In the place of a key: it is being noted.
const BUSY: usize = 1;

/// Functions that were found.
static FOUND: [CallerFunction; MAX_TLS_CALLERS] = [const {
    CallerFunction {
        key: AtomicUsize::new(0),
        closed: AtomicUsize::new(0),
        address: AtomicPtr::new(ptr::null_mut()),
    }
}; MAX_TLS_CALLERS];

/// Number of times that a library was about to be closed, or was.
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// Forgets all that was found: a library is about to be closed, or was.
pub(crate) fn forget_functions() {
    CLOSED.fetch_add(1, AcqRel);
}

/// Places in [`FOUND`] where `key` may be.
fn cache_places(key: usize) -> impl Iterator<Item = &'static CallerFunction> {
    // The lowest bits of neighbouring callers differ least evenly.
    let first = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 40;
    (0..TLS_CALLERS_TRIED).filter_map(move |step| FOUND.get((first + step) % MAX_TLS_CALLERS))
}

impl TlsFunction {
    /// Address of the library's own function for the place `caller`, to which it will return.
    #[inline]
    pub(crate) fn for_caller(&self, caller: *const c_void) -> *mut c_void {
        // Addresses of programs have zeros there.
        let key = caller.addr() ^ (self.number + 1) << 56;
        let closed = CLOSED.load(Acquire);
        for found in cache_places(key) {
            if found.key.load(Acquire) == key && found.closed.load(Acquire) == closed {
                let address = found.address.load(Acquire);
                // Nobody noted another one meanwhile.
                if found.key.load(Relaxed) == key {
                    return address;
                }
            }
        }
        self.find_function(caller, key, closed)
    }

    /// Finds the function and notes it under `key`, as of `closed`.
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

    /// The function in the library that has the place `caller` and in those that it needs; null for
    /// none, and where the caller is the program itself, since that one needs this library.
    ///
    /// # Safety
    /// As `dlsym`.
    unsafe fn in_library_of(&self, caller: *const c_void) -> *mut c_void {
        // SAFETY: the name ends with a zero byte.
        unsafe {
            let Some(file) = library_of_caller(caller) else { return ptr::null_mut() };
            // What is known of a library without a handle is not enough for a search in it.
            let handle = linker::find_loaded(file);
            if handle.is_null() {
                return handle;
            }
            let address = linker::find_symbol(handle, self.name);
            linker::release_library(handle);
            if objects::is_own(address) { ptr::null_mut() } else { address }
        }
    }

    /// The function in the files that have it, where one of them is loaded; null for none.
    ///
    /// # Safety
    /// As `dlopen`.
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

/// `address`, or `other` where that is null.
fn or_else_find(address: *mut c_void, other: impl FnOnce() -> *mut c_void) -> *mut c_void {
    if address.is_null() { other() } else { address }
}

/// File of the library that has the place `caller`; `None` where that is the program itself, or it
/// cannot be told (musl has no `dladdr1`).
///
/// # Safety
/// As `dlsym`. The name stays as long as the library.
unsafe fn library_of_caller<'library>(caller: *const c_void) -> Option<&'library CStr> {
    /// Beginning of what glibc knows of a library (`struct link_map`).
    #[repr(C)]
    struct LinkMapPrefix {
        address: usize,
        /// Its file, empty for the program.
        file: *const c_char,
    }
    /// The last argument of `dladdr1`: the library is wanted.
    const LINK_MAP: c_int = 2;
    // SAFETY: the function's type as documented; it fills in both where it succeeds.
    unsafe {
        let with_map = linker::dladdr1()?;
        let (mut about, mut map) = (MaybeUninit::<Dl_info>::uninit(), ptr::null());
        let is_found = with_map(caller, about.as_mut_ptr(), &mut map, LINK_MAP) != 0;
        let file = map.cast::<LinkMapPrefix>().as_ref().filter(|_| is_found)?.file;
        (!file.is_null() && *file != 0).then(|| CStr::from_ptr(file))
    }
}
