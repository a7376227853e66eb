//! Interface for tools (JVMTI). Its indices are those of `jvmtiInterface_1_`.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use super::interfaces::{Interface, Reference, function};

const SET_EVENT_NOTIFICATION_MODE: usize = 1;
const ALLOCATE: usize = 45;
const DEALLOCATE: usize = 46;
const SET_EVENT_CALLBACKS: usize = 121;
const GET_EXTENSION_EVENTS: usize = 124;
const SET_EXTENSION_EVENT_CALLBACK: usize = 125;
const DISPOSE_ENVIRONMENT: usize = 126;
const ADD_CAPABILITIES: usize = 141;
const RETRANSFORM_CLASSES: usize = 151;

/// Capabilities of a tool: a bit each (`jvmtiCapabilities`).
pub(super) type Capabilities = [u32; 4];
/// Only `can_support_virtual_threads`.
pub(super) const VIRTUAL_THREADS: Capabilities = [0, 1 << 12, 0, 0];
/// Only `can_retransform_classes`.
pub(super) const CHANGED_CLASSES: Capabilities = [0, 1 << 5, 0, 0];

/// Modes of events.
const DISABLE: c_int = 0;
const ENABLE: c_int = 1;
/// Event that a class is loaded or changed (`JVMTI_EVENT_CLASS_FILE_LOAD_HOOK`).
const CLASS_FILE: c_int = 54;

/// Callback of an event about a thread: the tool's environment, the thread's, and the thread.
pub(super) type ThreadEvent = unsafe extern "C" fn(Interface, Interface, Reference);
/// Callback of the event about a class file (`jvmtiEventClassFileLoadHook`): the two environments,
/// the class, its loader, its name, its domain, the length of the file and the file, and the places
/// of a new length and file.
pub(super) type ClassFileEvent = unsafe extern "C" fn(
    Interface,
    Interface,
    Reference,
    Reference,
    *const c_char,
    Reference,
    c_int,
    *const u8,
    *mut c_int,
    *mut *mut u8,
);

/// First callbacks of a tool (`jvmtiEventCallbacks`): four others, and the one about class files.
#[repr(C)]
struct Callbacks {
    others: [*const c_void; 4],
    class_file: ClassFileEvent,
}

/// Event that a machine has in addition to the specified ones (`jvmtiExtensionEventInfo`).
#[repr(C)]
struct ExtensionEvent {
    index: c_int,
    id: *const c_char,
    description: *const c_char,
    count: c_int,
    parameters: *const Parameter,
}

/// Parameter of an event (`jvmtiParamInfo`).
#[repr(C)]
struct Parameter {
    name: *const c_char,
    kind: c_int,
    base_type: c_int,
    is_nullable: u8,
}

/// Adds capabilities of the tool. Returns whether the machine has them.
///
/// # Safety
/// The environment is a tool's, and the calling thread is one of the machine's; likewise for the
/// following functions.
pub(super) unsafe fn add_capabilities(tool: Interface, added: &Capabilities) -> bool {
    type AddCapabilities = unsafe extern "C" fn(Interface, *const Capabilities) -> c_int;
    // SAFETY: as the caller guarantees.
    unsafe { function::<AddCapabilities>(tool, ADD_CAPABILITIES)(tool, added) == 0 }
}

/// Calls `visit` with each further event of the machine and its id, and frees the list.
pub(super) unsafe fn for_each_extension_event(
    tool: Interface,
    mut visit: impl FnMut(c_int, &CStr),
) {
    type GetExtensionEvents =
        unsafe extern "C" fn(Interface, *mut c_int, *mut *const ExtensionEvent) -> c_int;
    type Deallocate = unsafe extern "C" fn(Interface, *const c_void) -> c_int;
    let (mut count, mut events) = (0, ptr::null());
    // SAFETY: as the caller guarantees. The list, its texts and its parameters are allocated one by
    // one, for the caller.
    unsafe {
        let get = function::<GetExtensionEvents>(tool, GET_EXTENSION_EVENTS);
        if get(tool, &raw mut count, &raw mut events) != 0 {
            return;
        }
        let deallocate = function::<Deallocate>(tool, DEALLOCATE);
        let free = |memory: *const c_void| _ = deallocate(tool, memory);
        for index in 0..usize::try_from(count).unwrap_or_default() {
            let event = &*events.add(index);
            visit(event.index, CStr::from_ptr(event.id));
            for number in 0..usize::try_from(event.count).unwrap_or_default() {
                free((*event.parameters.add(number)).name.cast());
            }
            free(event.id.cast());
            free(event.description.cast());
            free(event.parameters.cast());
        }
        free(events.cast());
    }
}

/// Has the machine call a function at each of its further events of this index, in all threads.
/// Returns whether it will.
pub(super) unsafe fn call_at_event(tool: Interface, event: c_int, callback: ThreadEvent) -> bool {
    type SetCallback = unsafe extern "C" fn(Interface, c_int, ThreadEvent) -> c_int;
    // SAFETY: as the caller guarantees.
    unsafe {
        let set = function::<SetCallback>(tool, SET_EXTENSION_EVENT_CALLBACK);
        set(tool, event, callback) == 0 && set_mode(tool, ENABLE, event)
    }
}

/// Has the machine load a class anew, and pass its file to a function.
pub(super) unsafe fn transform_class(tool: Interface, class: Reference, callback: ClassFileEvent) {
    type SetCallbacks = unsafe extern "C" fn(Interface, *const Callbacks, c_int) -> c_int;
    type RetransformClasses = unsafe extern "C" fn(Interface, c_int, *const Reference) -> c_int;
    let callbacks = Callbacks { others: [ptr::null(); 4], class_file: callback };
    // SAFETY: as the caller guarantees.
    unsafe {
        let set = function::<SetCallbacks>(tool, SET_EVENT_CALLBACKS);
        let size = size_of::<Callbacks>() as c_int;
        if set(tool, &raw const callbacks, size) == 0 && set_mode(tool, ENABLE, CLASS_FILE) {
            function::<RetransformClasses>(tool, RETRANSFORM_CLASSES)(tool, 1, &raw const class);
            set_mode(tool, DISABLE, CLASS_FILE);
        }
    }
}

/// Memory of the machine, which it frees itself once it was passed on; null if it has none.
pub(super) unsafe fn allocate(tool: Interface, bytes: usize) -> *mut u8 {
    type Allocate = unsafe extern "C" fn(Interface, i64, *mut *mut u8) -> c_int;
    let mut memory = ptr::null_mut();
    // SAFETY: as the caller guarantees.
    let result =
        unsafe { function::<Allocate>(tool, ALLOCATE)(tool, bytes as i64, &raw mut memory) };
    if result == 0 { memory } else { ptr::null_mut() }
}

/// Ends the tool: it gets no events any more.
pub(super) unsafe fn end_tool(tool: Interface) {
    type DisposeEnvironment = unsafe extern "C" fn(Interface) -> c_int;
    // SAFETY: as the caller guarantees.
    unsafe { function::<DisposeEnvironment>(tool, DISPOSE_ENVIRONMENT)(tool) };
}

/// Turns an event on or off in all threads. Returns whether it exists.
unsafe fn set_mode(tool: Interface, mode: c_int, event: c_int) -> bool {
    type SetMode = unsafe extern "C" fn(Interface, c_int, c_int, Reference, ...) -> c_int;
    // SAFETY: as the caller guarantees.
    unsafe {
        let set = function::<SetMode>(tool, SET_EVENT_NOTIFICATION_MODE);
        set(tool, mode, event, ptr::null()) == 0
    }
}
