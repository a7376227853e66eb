//! Functions that the library itself calls: functions of the dynamic linker, and some of libc's.
//!
//! They are libc's own, found as the library is loaded: if another preloaded library has interposed
//! them (to count locks or to look up symbols, for example), this library must neither call the
//! other library nor be affected by it.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr};

use libc::{Dl_info, pthread_mutex_t, pthread_mutexattr_t, sigset_t};

use super::c_name::c_name;
use super::objects;

/// Whether all functions were searched for. From then on any thread may change the linker's list.
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

    /// Address of the function; null if libc has none.
    ///
    /// The function is searched for only while the library is loaded, possibly by a hook that is
    /// called before the constructor (when that of another library ran first). Before glibc 2.34, a
    /// program without threads or plug-ins lacks some of the functions. The library then does
    /// without them, even if the program loads them later: another thread may be closing a library
    /// at that time, which removes a part of the list.
    fn address(&self) -> *mut c_void {
        let address = self.address.load(Relaxed);
        if address.is_null() && !ARE_FOUND.load(Relaxed) { self.find() } else { address }
    }

    /// Finds the function. Without libc, none of the functions exists.
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

/// Defines for each name a function that returns libc's function of this name, and one function
/// that finds all of them.
macro_rules! own {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(
            #[doc = concat!("Function `", stringify!($name), "`; `None` if it does not exist.")]
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

/// Address of the symbol `name` by `handle`, or after this library (`RTLD_NEXT`); null if there is
/// none. The error message is cleared so that the program does not find it.
///
/// # Safety
/// As for `dlsym`.
pub(crate) unsafe fn find_symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let Some(look_up) = dlsym() else { return ptr::null_mut() };
    // SAFETY: as the caller guarantees.
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

/// Handle of a library that is already loaded; null if it is not. The error message is cleared so
/// that the program does not find it.
///
/// # Safety
/// As for `dlopen`.
pub(crate) unsafe fn find_loaded(file: &CStr) -> *mut c_void {
    let Some(open) = dlopen() else { return ptr::null_mut() };
    // SAFETY: as the caller guarantees; nothing is loaded, so nothing is run.
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

/// Releases a handle. The library stays loaded for as long as it would without the handle.
///
/// # Safety
/// As for `dlclose`.
pub(crate) unsafe fn release_library(handle: *mut c_void) {
    if let Some(close) = dlclose() {
        // SAFETY: as the caller guarantees.
        unsafe { close(handle) };
    }
}

/// Libraries that contain some of libc's functions before glibc 2.34.
const PARTS_OF_LIBC: [&CStr; 4] =
    [c"libpthread.so.0", c"libutil.so.1", c"libresolv.so.2", c"librt.so.1"];

/// Address of a libc function that was not present when the program began: it is in a part of libc
/// that another library has loaded since, and that then stays. Null if there is none.
///
/// # Safety
/// As for `dlopen`.
pub(crate) unsafe fn search_libraries(name: &CStr) -> *mut c_void {
    // SAFETY: as the caller guarantees.
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
