//! Functions that the interpreter exports for extensions.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicUsize};

use crate::c_library::objects::LoadedObject;
use crate::platform::environment::{find_variable, present_environment};

/// Value of the interpreter, such as a reference to an object.
pub(super) type Value = usize;

/// Function that is called at an event: the event, the hook's value, the thread's object, and two
/// values that are not used by switches of fibers.
pub(super) type EventHook = unsafe extern "C" fn(u32, Value, Value, usize, Value);

/// Event: the thread has begun or resumed a fiber (`RUBY_EVENT_FIBER_SWITCH`).
const FIBER_SWITCH: u32 = 0x1000;

/// The value `false`, the same in all versions.
const FALSE: Value = 0;

/// Whether the calling thread has the interpreter's lock.
static HAS_LOCK: AtomicUsize = AtomicUsize::new(0);
/// Adds a hook for events.
static ADD_HOOK: AtomicUsize = AtomicUsize::new(0);
/// Object of the fiber that the thread runs.
static CURRENT_FIBER: AtomicUsize = AtomicUsize::new(0);
/// Structure of an object of a type.
static STRUCTURE: AtomicUsize = AtomicUsize::new(0);
/// Whether an object has a type.
static IS_KIND_OF: AtomicUsize = AtomicUsize::new(0);
/// Innermost frames of the fiber that the thread runs.
static FRAMES: AtomicUsize = AtomicUsize::new(0);
/// Whether threads of Ruby may change their threads of the system.
static MOVES_THREADS: AtomicBool = AtomicBool::new(false);

/// Finds the functions. Returns false if one is missing.
pub(super) fn find(ruby: &LoadedObject) -> bool {
    let moves = find_variable(present_environment(), b"RUBY_MN_THREADS=");
    MOVES_THREADS.store(moves.is_some_and(|value| value != b"0"), Relaxed);
    [
        (&HAS_LOCK, c"ruby_thread_has_gvl_p"),
        (&ADD_HOOK, c"rb_add_event_hook"),
        (&CURRENT_FIBER, c"rb_fiber_current"),
        (&STRUCTURE, c"rb_check_typeddata"),
        (&IS_KIND_OF, c"rb_typeddata_is_kind_of"),
        (&FRAMES, c"rb_profile_frames"),
    ]
    .iter()
    .all(|(place, name)| {
        let address = ruby.find_symbol(name).addr();
        place.store(address, Relaxed);
        address != 0
    })
}

/// Version of the interpreter, such as `3.1.2`.
pub(super) fn version_text(ruby: &LoadedObject) -> &'static [u8] {
    let text: *const c_char = ruby.find_symbol(c"ruby_version").cast();
    // SAFETY: null, or an array of characters that ends with a zero byte.
    if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// Has the interpreter call `hook` after each switch of a fiber of the calling thread's Ractor.
/// Returns false if the thread does not have the interpreter's lock.
pub(super) fn ask_for_switches(hook: EventHook) -> bool {
    // SAFETY: the functions of these names. The interpreter is looking up an extension, which may
    // call them as well.
    unsafe {
        let has_lock: unsafe extern "C" fn() -> c_int = transmute(HAS_LOCK.load(Relaxed));
        if has_lock() == 0 {
            return false;
        }
        let add_hook: unsafe extern "C" fn(EventHook, u32, Value) =
            transmute(ADD_HOOK.load(Relaxed));
        add_hook(hook, FIBER_SWITCH, FALSE);
    }
    true
}

/// Address of the structure of the fiber that the thread runs, which has just begun and is no
/// thread's first one. `None` if it is not of the type at `fiber_type`.
///
/// # Safety
/// The calling thread has the interpreter's lock.
pub(super) unsafe fn current_structure(fiber_type: usize) -> Option<usize> {
    // SAFETY: the functions of these names. They neither allocate nor raise: the fiber has an
    // object, and the type is compared before.
    unsafe {
        let current: unsafe extern "C" fn() -> Value = transmute(CURRENT_FIBER.load(Relaxed));
        let is_kind_of: unsafe extern "C" fn(Value, usize) -> c_int =
            transmute(IS_KIND_OF.load(Relaxed));
        let structure: unsafe extern "C" fn(Value, usize) -> *mut c_void =
            transmute(STRUCTURE.load(Relaxed));
        let fiber = current();
        (is_kind_of(fiber, fiber_type) != 0).then(|| structure(fiber, fiber_type).addr())
    }
}

/// Whether the fiber that the thread runs has only begun: it has no frame so far. One that was
/// resumed is within the function that had switched to another fiber.
///
/// # Safety
/// As for [`current_structure`].
pub(super) unsafe fn has_no_frame() -> bool {
    type Frames = unsafe extern "C" fn(c_int, c_int, *mut Value, *mut c_int) -> c_int;
    let (mut frame, mut line) = (FALSE, 0);
    // SAFETY: the function of this name, and room for one frame.
    unsafe {
        let frames: Frames = transmute(FRAMES.load(Relaxed));
        frames(0, 1, &raw mut frame, &raw mut line) == 0
    }
}

/// Whether threads of Ruby stay in their threads of the system, in the Ractor that is followed.
pub(super) fn keeps_threads() -> bool {
    !MOVES_THREADS.load(Relaxed)
}
