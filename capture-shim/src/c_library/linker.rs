//! Functions that the library calls for itself: those of the dynamic linker, and some of libc's.
//!
//! They are libc's own, found as the library is loaded: another preloaded library that has put its
//! own before them (to count locks, say, or to look symbols up) must neither be called by this one
//! nor change what it finds.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr};

use libc::{Dl_info, pthread_mutex_t, pthread_mutexattr_t, sigset_t};

use super::c_name::c_name;
use super::objects;

/// Whether all functions were looked for. From then on the linker's list changes, in any thread.
static ARE_FOUND: AtomicBool = AtomicBool::new(false);

/// Function of libc or of the dynamic linker, by name.
struct OwnFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl OwnFunction {
    const fn new(name: &'static CStr) -> OwnFunction {
        OwnFunction { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Address of the function; null where libc has none.
    ///
    /// It is looked for while the library is loaded alone, maybe by a hook that is called before
    /// (another library's constructor ran first). Before glibc 2.34, a program without threads or
    /// without plug-ins lacks some; it does without them, even if it loads what has them later:
    /// another thread may be closing a library, and with it a part of the list, at that time.
    fn address(&self) -> *mut c_void {
        let address = self.address.load(Relaxed);
        if address.is_null() && !ARE_FOUND.load(Relaxed) { self.find() } else { address }
    }

    /// Finds the function. Without libc, none of these is there.
    #[cold]
    fn find(&self) -> *mut c_void {
        #[cfg(not(feature = "injected"))]
        let address = objects::last_definition(self.name);
        #[cfg(feature = "injected")]
        let address = super::stand_ins::stand_in_function(self.name);
        self.address.store(address, Relaxed);
        address
    }
}

/// Defines functions, each as one that gives it, and one that finds all.
macro_rules! own {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(
            #[doc = concat!("Function `", stringify!($name), "`; `None` where there is none.")]
            pub(crate) fn $name() -> Option<unsafe extern "C" fn($($argument),*) -> $result> {
                static FUNCTION: OwnFunction =
                    OwnFunction::new(c_name(concat!(stringify!($name), "\0")));
                let address = FUNCTION.address();
                // SAFETY: the function's type as documented.
                (!address.is_null()).then(|| unsafe { core::mem::transmute(address) })
            }
        )*

        /// Finds all functions.
        pub(super) fn find_all() {
            $(_ = $name();)*
            ARE_FOUND.store(true, Relaxed);
        }
    };
}

own! {
    dlsym(*mut c_void, *const c_char) -> *mut c_void;
    dlerror() -> *mut c_char;
    dlopen(*const c_char, c_int) -> *mut c_void;
    dlclose(*mut c_void) -> c_int;
    dladdr1(*const c_void, *mut Dl_info, *mut *const c_void, c_int) -> c_int;
    gnu_get_libc_version() -> *const c_char;
    on_exit(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;
    pthread_key_create(*mut c_uint, unsafe extern "C" fn(*mut c_void)) -> c_int;
    pthread_setspecific(c_uint, *const c_void) -> c_int;
    pthread_attr_getsigmask_np(*const c_void, *mut sigset_t) -> c_int;
    pthread_mutexattr_init(*mut pthread_mutexattr_t) -> c_int;
    pthread_mutexattr_settype(*mut pthread_mutexattr_t, c_int) -> c_int;
    pthread_mutex_init(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> c_int;
    pthread_mutex_lock(*mut pthread_mutex_t) -> c_int;
    pthread_mutex_unlock(*mut pthread_mutex_t) -> c_int;
}

/// Address of the symbol `name` for the code that holds `handle`, or behind this library
/// (`RTLD_NEXT`); null for none. The program finds no error message.
///
/// # Safety
/// As `dlsym`.
pub(crate) unsafe fn find_symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let Some(look_up) = dlsym() else { return ptr::null_mut() };
    // SAFETY: as the caller says.
    unsafe {
        let address = look_up(handle, name.as_ptr());
        if address.is_null()
            && let Some(take_error) = dlerror()
        {
            take_error();
        }
        address
    }
}

/// Handle of a library that is loaded already; null for none. The program finds no error message.
///
/// # Safety
/// As `dlopen`.
pub(crate) unsafe fn find_loaded(file: &CStr) -> *mut c_void {
    let Some(open) = dlopen() else { return ptr::null_mut() };
    // SAFETY: as the caller says; nothing is loaded, so nothing is run.
    unsafe {
        let handle = open(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null()
            && let Some(take_error) = dlerror()
        {
            take_error();
        }
        handle
    }
}

/// Gives a handle back. The library stays as long as without.
///
/// # Safety
/// As `dlclose`.
pub(crate) unsafe fn release_library(handle: *mut c_void) {
    if let Some(close) = dlclose() {
        // SAFETY: as the caller says.
        unsafe { close(handle) };
    }
}

/// Libraries that have some of libc's functions before glibc 2.34.
const PARTS_OF_LIBC: [&CStr; 4] =
    [c"libpthread.so.0", c"libutil.so.1", c"libresolv.so.2", c"librt.so.1"];

/// Address of a function of libc that was not there when the program began: of a part of libc that
/// a library has brought since, which then stays. Null for none.
///
/// # Safety
/// As `dlopen`.
pub(crate) unsafe fn search_libraries(name: &CStr) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe {
        let address = find_symbol(libc::RTLD_NEXT, name);
        if !address.is_null() {
            return address;
        }
        for part in PARTS_OF_LIBC {
            let handle = find_loaded(part);
            if handle.is_null() {
                continue;
            }
            let address = find_symbol(handle, name);
            if !address.is_null() && !objects::is_own(address) {
                return address;
            }
            release_library(handle);
        }
        ptr::null_mut()
    }
}
