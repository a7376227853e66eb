//! Interposed functions of libc, each under its name.
//!
//! They are resolved when the library is loaded, before the program runs: a later search could
//! happen in a signal handler, or in an allocator that is not yet ready. A function that libc lacks
//! (but that a library loaded later may have) is searched for at each call.

#![allow(non_upper_case_globals, reason = "called as the functions are")]

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr};

use super::c_name::c_name;
use super::interposed::interposed;
use super::{errno, linker, objects};

/// Whether the library is loaded, and all functions were searched for.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

/// A function of libc, by name.
pub(crate) struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    const fn new(name: &'static CStr) -> Function {
        Function { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Address of the function; of a stand-in that fails with `ENOSYS` if libc lacks it.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Relaxed);
        if address.is_null() { self.resolve() } else { address }
    }

    /// Address of the function if it was already searched for, otherwise null.
    #[cfg(not(feature = "injected"))]
    pub(crate) fn known_address(&self) -> *mut c_void {
        self.address.load(Relaxed)
    }

    /// Finds the function. A hook calls this only before this library's constructor has run (the
    /// constructor of another library ran first), and for functions that libc lacks.
    #[cold]
    fn resolve(&self) -> *mut c_void {
        // SAFETY: the name ends with a zero byte.
        let address = unsafe { find_after_this(self.name) };
        self.address.store(address, Relaxed);
        if address.is_null() { missing as *mut c_void } else { address }
    }
}

/// Finds the function of this name in the libraries after this one. While this library is loaded,
/// the list of all libraries is searched; later the dynamic linker is asked, since libraries are
/// opened and closed then.
///
/// # Safety
/// As for `dlsym`.
unsafe fn find_after_this(name: &CStr) -> *mut c_void {
    if cfg!(feature = "injected") {
        stand_in_address(name)
    } else if IS_LOADED.load(Relaxed) {
        // SAFETY: as the caller guarantees.
        unsafe { linker::search_libraries(name) }
    } else {
        objects::next_definition(name)
    }
}

/// Finds the stand-in for the function of this name if there is no libc.
fn stand_in_address(name: &CStr) -> *mut c_void {
    #[cfg(feature = "injected")]
    return super::stand_ins::stand_in_function(name);
    #[cfg(not(feature = "injected"))]
    return objects::next_definition(name);
}

/// Stand-in for a function that this libc does not have.
extern "C" fn missing() -> isize {
    errno::set_errno(libc::ENOSYS);
    -1
}

/// Libc's own function `name`, with its type.
macro_rules! real {
    ($name:ident) => {
        core::mem::transmute::<*mut core::ffi::c_void, crate::c_library::types::$name>(
            crate::c_library::functions::$name.address(),
        )
    };
}
pub(crate) use real;

/// Defines the [`Function`] with one name.
macro_rules! define_function {
    ($name:ident) => {
        pub(crate) static $name: Function = Function::new(c_name(concat!(stringify!($name), "\0")));
    };
}

/// Defines the [`Function`] of each name in the list.
macro_rules! define_functions {
    (
        handled { $($($name:ident)|+: $arguments:tt -> $result:ty => $handler:path;)* }
        wrapped { $(
            $($other:ident)|+: $with:tt -> $outcome:ty => $module:ident::$around:ident $about:tt;
        )* }
        jumped { $($jumped:ident)* }
    ) => {
        $($(define_function!($name);)+)*
        $($(define_function!($other);)+)*
        $(define_function!($jumped);)*

        /// Finds all functions of the list.
        pub(super) fn resolve_all() {
            $($($name.address();)+)*
            $($($other.address();)+)*
            $($jumped.address();)*
        }
    };
}

interposed! { define_functions }

/// Functions that are interposed to record resources.
#[cfg(feature = "resources")]
mod for_resources {
    use super::*;

    use crate::c_library::interposed_for_resources;

    interposed_for_resources! { define_functions }
}

#[cfg(feature = "resources")]
pub(crate) use for_resources::*;

/// Finds all functions that are interposed.
pub(crate) fn resolve_functions() {
    resolve_all();
    #[cfg(feature = "resources")]
    for_resources::resolve_all();
    linker::find_all();
    IS_LOADED.store(true, Relaxed);
}
