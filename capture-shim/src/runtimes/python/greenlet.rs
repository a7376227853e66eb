//! Greenlets, the tasks of gevent: each has a stack of its own, and one function runs on the stack
//! of a greenlet after each switch to it. A greenlet is numbered when it is made, like a context.
//!
//! The library of greenlets is recognised by the capsule that it makes as it is loaded. Its own
//! calls of exported functions go through words of its data, which are replaced then. Versions
//! before 2, whose functions are not exported, are left alone.

use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use super::{hooks, libraries};
use crate::platform::clock;
use crate::runtimes::{contexts, numbers};
use crate::state::context_source::ContextStart;

/// Name of the capsule with the functions for C.
const CAPSULE: &CStr = c"greenlet._C_API";
/// Constructor of a greenlet (`UserGreenlet`).
const MAKE: &CStr = c"_ZN8greenlet12UserGreenletC1EP9_greenletNS_4refs17_BorrowedGreenletIS1_XadL_ZNS3_15GreenletCheckerEPvEEEE";
/// Function that frees a greenlet.
const FREE: &CStr = c"_ZN8greenlet12UserGreenletdlEPv";
/// Function that runs on the stack of the greenlet to which the thread has switched.
const SWITCHED: &CStr = c"_ZN8greenlet8Greenlet21g_switchstack_successEv";

/// Interpreter's function that makes a capsule.
pub(super) static NEW_CAPSULE: AtomicUsize = AtomicUsize::new(0);
/// Greenlet's own functions.
static MAKE_OWN: AtomicUsize = AtomicUsize::new(0);
static FREE_OWN: AtomicUsize = AtomicUsize::new(0);
static SWITCHED_OWN: AtomicUsize = AtomicUsize::new(0);

/// Makes a capsule.
///
/// # Safety
/// As for the interpreter's own function, `PyCapsule_New`.
pub(super) unsafe extern "C" fn new_capsule(
    pointer: *mut c_void,
    name: *const c_char,
    destructor: *mut c_void,
) -> *mut c_void {
    // SAFETY: null or a text.
    if !name.is_null() && unsafe { CStr::from_ptr(name) } == CAPSULE {
        follow_greenlets(pointer.addr());
    }
    type NewCapsule = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void) -> *mut c_void;
    // SAFETY: the function of this name.
    unsafe { transmute::<usize, NewCapsule>(NEW_CAPSULE.load(Relaxed))(pointer, name, destructor) }
}

/// Has the library that contains `address` call the hooks. It is being loaded.
fn follow_greenlets(address: usize) {
    let Some(library) = libraries::library_at(address) else { return };
    let hooks: [(&CStr, &AtomicUsize, usize); 3] = [
        (MAKE, &MAKE_OWN, make as unsafe extern "C" fn(_, _, _) -> _ as usize),
        (FREE, &FREE_OWN, free as unsafe extern "C" fn(_) as usize),
        (SWITCHED, &SWITCHED_OWN, switched as unsafe extern "C" fn(_, _) -> _ as usize),
    ];
    let functions = hooks.map(|(name, ..)| library.find_symbol(name).addr());
    // A second copy of the library would need functions of its own.
    if functions.contains(&0) || SWITCHED_OWN.load(Relaxed) != 0 {
        return;
    }
    for ((name, own, hook), function) in hooks.into_iter().zip(functions) {
        own.store(function, Relaxed);
        libraries::replace_binding(&library, name, hook);
    }
}

/// Makes a greenlet.
///
/// # Safety
/// As for the library's own function; likewise for the following ones.
unsafe extern "C" fn make(greenlet: usize, object: usize, parent: usize) -> usize {
    let ticks = clock::current_ticks();
    let starter = hooks::current_starter();
    numbers::insert(greenlet, ContextStart { ticks, starter });
    // SAFETY: the function of this name.
    unsafe {
        transmute::<usize, unsafe extern "C" fn(usize, usize, usize) -> usize>(
            MAKE_OWN.load(Relaxed),
        )(greenlet, object, parent)
    }
}

/// Frees a greenlet.
unsafe extern "C" fn free(greenlet: usize) {
    numbers::remove(greenlet);
    // SAFETY: the function of this name.
    unsafe { transmute::<usize, unsafe extern "C" fn(usize)>(FREE_OWN.load(Relaxed))(greenlet) }
}

/// Continues after a switch to a greenlet. The first one of a thread has no number.
unsafe extern "C" fn switched(result: usize, greenlet: usize) -> usize {
    match numbers::find(greenlet) {
        None => _ = contexts::context_entered(0),
        Some(entry) => {
            let number = entry.number.load(Relaxed);
            contexts::context_entered(number);
            contexts::record_start(number, || entry.take_start());
        }
    }
    // SAFETY: the function of this name.
    unsafe {
        transmute::<usize, unsafe extern "C" fn(usize, usize) -> usize>(SWITCHED_OWN.load(Relaxed))(
            result, greenlet,
        )
    }
}
