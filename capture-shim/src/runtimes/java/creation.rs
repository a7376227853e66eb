//! Creation of the virtual machine: the launcher looks up the machine's function by its name, and
//! gets [`create_vm`], which calls that function and then asks the new machine for events.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use super::events;
use super::interfaces::Interface;

/// Function by which a program creates the virtual machine.
const CREATE: &CStr = c"JNI_CreateJavaVM";

/// Dynamic linker's own function that finds a symbol.
pub(super) static FIND_SYMBOL: AtomicUsize = AtomicUsize::new(0);
/// Machine's own function of the name [`CREATE`].
static CREATE_OWN: AtomicUsize = AtomicUsize::new(0);

/// Finds a symbol for the launcher; [`create_vm`] in place of the function [`CREATE`].
///
/// # Safety
/// As for `dlsym`. The launcher passes no handle that depends on the caller.
pub(super) unsafe extern "C" fn find_symbol(
    library: *mut c_void,
    name: *const c_char,
) -> *mut c_void {
    type FindSymbol = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    // SAFETY: the function of this name.
    let found = unsafe { transmute::<usize, FindSymbol>(FIND_SYMBOL.load(Relaxed))(library, name) };
    // SAFETY: a symbol was found by the name, so it is a text.
    if found.is_null() || unsafe { CStr::from_ptr(name) } != CREATE {
        return found;
    }
    CREATE_OWN.store(found.addr(), Relaxed);
    create_vm as unsafe extern "C" fn(_, _, _) -> _ as *mut c_void
}

/// Creates the virtual machine.
///
/// # Safety
/// As for the machine's own function.
unsafe extern "C" fn create_vm(
    machine: *mut Interface,
    environment: *mut Interface,
    arguments: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(*mut Interface, *mut Interface, *mut c_void) -> c_int;
    // SAFETY: the function of this name.
    unsafe {
        let create = transmute::<usize, Create>(CREATE_OWN.load(Relaxed));
        let result = create(machine, environment, arguments);
        if result == 0 {
            events::follow_machine(machine.read(), environment.read());
        }
        result
    }
}
