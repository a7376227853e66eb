//! Stand-ins for the libc functions that the library itself uses, for images without libc that the
//! library is injected into, see `exports/injected.rs`.
//!
//! The rest of the library calls them by libc's names. Questions that only a dynamic linker could
//! answer, such as the address of a function of another library, are answered as if there were
//! none.

use core::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicUsize};

mod memory;

/// Address of the function that makes the program's own system call; null until it is known.
static OWN_CALL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Address of the auxiliary vector of the program, or 0.
static AUXILIARY: AtomicUsize = AtomicUsize::new(0);

/// Environment of the program, in place of libc's own variable.
#[unsafe(no_mangle)]
static mut environ: *mut *const c_char = ptr::null_mut();

/// Stores the places of the program's environment and auxiliary vector, before anything else of the
/// library runs.
///
/// # Safety
/// To be called once, before the program runs. `environment` is an array of strings that ends with
/// a null pointer, and the auxiliary vector follows it, as at the entry of a program. `own_call`
/// has the type of libc's `syscall` with six arguments.
pub(crate) unsafe fn begin_without_libc(environment: *mut *const c_char, own_call: *mut c_void) {
    OWN_CALL.store(own_call, Relaxed);
    // SAFETY: the program has not begun, so nothing else reads it.
    unsafe { (&raw mut environ).write(environment) };
    let mut end = environment;
    // SAFETY: as the caller guarantees.
    unsafe {
        while !end.read().is_null() {
            end = end.add(1);
        }
        AUXILIARY.store(end.add(1).expose_provenance(), Relaxed);
    }
}

/// Value of an entry of the auxiliary vector, or 0.
#[unsafe(no_mangle)]
extern "C" fn getauxval(kind: c_ulong) -> c_ulong {
    let mut entry: *const [c_ulong; 2] = ptr::with_exposed_provenance(AUXILIARY.load(Relaxed));
    while !entry.is_null() {
        // SAFETY: the vector ends with an entry of kind 0.
        let [present, value] = unsafe { entry.read() };
        if present == kind {
            return value;
        }
        if present == libc::AT_NULL {
            break;
        }
        // SAFETY: not the last entry.
        entry = unsafe { entry.add(1) };
    }
    0
}

/// Address of the stand-in for the libc function `name`, which makes the system call by its number.
/// Null for functions without a stand-in.
pub(super) fn stand_in_function(name: &CStr) -> *mut c_void {
    match name.to_bytes() {
        b"syscall" => OWN_CALL.load(Relaxed),
        b"dup2" => dup2 as *mut c_void,
        _ => ptr::null_mut(),
    }
}

/// The program's own `dup2`, by its system call number.
unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    type Dup2Function = unsafe extern "C" fn(i64, i64, i64, i64, i64, i64, i64) -> i64;
    let call = OWN_CALL.load(Relaxed);
    // SAFETY: set before the first hook runs, with this type.
    unsafe {
        core::mem::transmute::<*mut c_void, Dup2Function>(call)(
            libc::SYS_dup2,
            old.into(),
            new.into(),
            0,
            0,
            0,
            0,
        ) as c_int
    }
}
