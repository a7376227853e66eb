//! Parts of the interpreter that are used here: exported functions, the type of contexts, and the
//! field of a thread's state that names its context.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use crate::c_library::objects::LoadedObject;
use crate::platform::raw;
use crate::platform::text::BoundedText;
use crate::state::unfollowed_runtime;

/// Offset of the context in a thread's state (`PyThreadState.context`), in bytes, by the minor
/// version of Python 3.
const CONTEXT_OFFSETS: [(u32, usize); 6] =
    [(9, 240), (10, 240), (11, 224), (12, 208), (13, 208), (14, 216)];

/// Function of the interpreter that returns the state of the calling thread, whether it has the
/// interpreter's lock or not (`PyGILState_GetThisThreadState`).
static THIS_THREAD: AtomicUsize = AtomicUsize::new(0);
/// Function of the interpreter that returns 0 before its start and from its end on
/// (`Py_IsInitialized`). From then on states of threads may be freed.
static IS_INITIALIZED: AtomicUsize = AtomicUsize::new(0);
/// Offset of the context in a thread's state, in bytes.
static CONTEXT: AtomicUsize = AtomicUsize::new(0);
/// Address of the type of contexts (`PyContext_Type`).
static TYPE: AtomicUsize = AtomicUsize::new(0);

/// Offset of the type in an object, in bytes.
const OBJECT_TYPE: usize = 8;

/// Finds the interpreter's parts. Returns false if a part is missing, or the version is unknown.
pub(super) fn find(python: &LoadedObject) -> bool {
    let Some(offset) = minor_version(python).and_then(context_offset) else { return false };
    CONTEXT.store(offset, Relaxed);
    [
        (&THIS_THREAD, c"PyGILState_GetThisThreadState"),
        (&IS_INITIALIZED, c"Py_IsInitialized"),
        (&TYPE, c"PyContext_Type"),
    ]
    .iter()
    .all(|(place, name)| {
        let address = python.find_symbol(name).addr();
        place.store(address, Relaxed);
        address != 0
    })
}

fn context_offset(minor: u32) -> Option<usize> {
    CONTEXT_OFFSETS.iter().find(|(known, _)| *known == minor).map(|(_, offset)| *offset)
}

/// Minor version of Python 3.
fn minor_version(python: &LoadedObject) -> Option<u32> {
    let minor = version_text(python).strip_prefix(b"3.")?;
    let digits = minor.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

/// Version of the interpreter, such as `3.12.1`; empty if it is not known.
fn version_text(python: &LoadedObject) -> &'static [u8] {
    let function = python.find_symbol(c"Py_GetVersion");
    if function.is_null() {
        return &[];
    }
    // SAFETY: the function may be called before the interpreter's start, and returns a text of its
    // own.
    let version = unsafe {
        let version: extern "C" fn() -> *const c_char = transmute(function);
        CStr::from_ptr(version())
    };
    version.to_bytes().split(|byte| *byte == b' ').next().unwrap_or(&[])
}

/// Notes the interpreter's name, in case its contexts are not followed.
pub(super) fn note_name(python: &LoadedObject) {
    let mut name: BoundedText<64> = BoundedText::new();
    name.push(b"Python ").push(version_text(python));
    // SAFETY: this is called by the constructor.
    unsafe { unfollowed_runtime::note_name(name) };
}

/// Address of the context that the calling thread runs; 0 for none.
#[inline]
pub(super) fn current_context() -> usize {
    let state = thread_state();
    if state == 0 {
        return 0;
    }
    // SAFETY: the calling thread's own state, which lives as long as the thread runs Python code.
    unsafe { ptr::with_exposed_provenance::<usize>(state + CONTEXT.load(Relaxed)).read_volatile() }
}

/// Address of the calling thread's state; 0 for none.
#[inline]
fn thread_state() -> usize {
    // SAFETY: exported functions of the interpreter that only read. They are set before the first
    // context is made.
    unsafe {
        let is_initialized: extern "C" fn() -> c_int = transmute(IS_INITIALIZED.load(Relaxed));
        let this_thread: extern "C" fn() -> *const c_void = transmute(THIS_THREAD.load(Relaxed));
        if is_initialized() == 0 { 0 } else { this_thread().addr() }
    }
}

/// Whether the thread's state has a context at the expected place. The calling thread runs Python
/// code and has just copied its context.
pub(super) fn has_context() -> bool {
    let (state, offset) = (thread_state(), CONTEXT.load(Relaxed));
    let place: *const usize = ptr::with_exposed_provenance(state.wrapping_add(offset));
    if state == 0 || !raw::is_readable(place) {
        return false;
    }
    // SAFETY: it is readable.
    let object: *const [usize; 2] = ptr::with_exposed_provenance(unsafe { place.read_volatile() });
    // SAFETY: it is readable, and any bytes are numbers.
    object.is_aligned()
        && raw::is_readable(object)
        && unsafe { object.byte_add(OBJECT_TYPE).cast::<usize>().read() } == TYPE.load(Relaxed)
}

/// Slots of the type of contexts.
pub(super) struct ContextType {
    /// Function that frees a context (`tp_dealloc`).
    pub(super) dealloc: &'static AtomicUsize,
    /// Function that makes a context for a call of the type (`tp_new`).
    pub(super) new: &'static AtomicUsize,
}

impl ContextType {
    /// Offsets of the name, the size of an object and the slots, in bytes.
    const NAME: usize = 24;
    const SIZE: usize = 32;
    const DEALLOC: usize = 48;
    const NEW: usize = 312;

    /// Type of contexts, if it has the expected name, size and functions.
    pub(super) fn find(python: &LoadedObject) -> Option<ContextType> {
        let word = |offset: usize| {
            let address = TYPE.load(Relaxed).wrapping_add(offset);
            // SAFETY: a static type of the interpreter, which is longer.
            unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(address) }
        };
        let is_in_code = |slot: &AtomicUsize| python.contains_code(slot.load(Relaxed));
        let name: *const c_char = ptr::with_exposed_provenance(word(Self::NAME).load(Relaxed));
        if !raw::is_readable(name) {
            return None;
        }
        // SAFETY: the name of a type is a text.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let (dealloc, new) = (word(Self::DEALLOC), word(Self::NEW));
        let is_known = name.ends_with(b"Context")
            && (32..256).contains(&word(Self::SIZE).load(Relaxed))
            && is_in_code(dealloc)
            && is_in_code(new);
        is_known.then_some(ContextType { dealloc, new })
    }
}
