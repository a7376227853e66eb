//! Interfaces of the virtual machine: a pointer to a table of functions, whose order is a part of
//! their specifications and never changes.

use core::ffi::{c_int, c_void};
use core::mem::transmute_copy;
use core::ptr;

/// Pointer to an interface: the machine, a thread's environment for native code (native.rs), or the
/// environment of a tool (tool.rs).
pub(super) type Interface = *const *const Function;
type Function = *const c_void;
/// Reference to an object.
pub(super) type Reference = *const c_void;

/// Index of the machine's function that returns an environment (`JNIInvokeInterface_`).
const GET_ENV: usize = 6;
/// Version of the tool interface that knows virtual threads.
const TOOL_VERSION: c_int = 0x3015_0000;

/// Function of an interface.
///
/// # Safety
/// The interface is valid and has a function of type `F` at the index.
#[inline]
pub(super) unsafe fn function<F: Copy>(interface: Interface, index: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<Function>()) };
    // SAFETY: as the caller guarantees.
    unsafe { transmute_copy(&(*interface).add(index).read()) }
}

/// Environment of a new tool; null if the machine has none of the version.
///
/// # Safety
/// The interface is a machine, and the calling thread is one of its threads.
pub(super) unsafe fn tool_environment(machine: Interface) -> Interface {
    type GetEnv = unsafe extern "C" fn(Interface, *mut Interface, c_int) -> c_int;
    let mut tool = ptr::null();
    // SAFETY: as the caller guarantees.
    let result =
        unsafe { function::<GetEnv>(machine, GET_ENV)(machine, &raw mut tool, TOOL_VERSION) };
    if result == 0 { tool } else { ptr::null() }
}
