//! Functions that run in place of the interpreter's: each passes the call on, and numbers the
//! context that it made, or ends the number of the context that is freed. The thread has the
//! interpreter's lock.
//!
//! uvloop reads outside of any context, and then runs the connection's callback in the connection's
//! context. That context acts for the thread which has read: what it starts, the thread starts.

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicUsize};

use socket_log::layout::goroutine;

use super::interpreter;
use crate::platform::clock;
use crate::runtimes::{contexts, numbers};
use crate::state::context_source::{self, ContextSource, ContextStart};
use crate::state::{thread, unfollowed_runtime};

/// Interpreter's own function of each hook.
static COPY_CURRENT: AtomicUsize = AtomicUsize::new(0);
static COPY: AtomicUsize = AtomicUsize::new(0);
static NEW: AtomicUsize = AtomicUsize::new(0);
static ENTER: AtomicUsize = AtomicUsize::new(0);
pub(super) static DEALLOC: AtomicUsize = AtomicUsize::new(0);
pub(super) static TYPE_NEW: AtomicUsize = AtomicUsize::new(0);

/// Exported functions with hooks: name, place of the original, and hook.
pub(super) fn exported() -> [(&'static CStr, &'static AtomicUsize, usize); 4] {
    [
        (
            c"PyContext_CopyCurrent",
            &COPY_CURRENT,
            copy_current as unsafe extern "C" fn() -> _ as usize,
        ),
        (c"PyContext_Copy", &COPY, copy as unsafe extern "C" fn(_) -> _ as usize),
        (c"PyContext_New", &NEW, new as unsafe extern "C" fn() -> _ as usize),
        (c"PyContext_Enter", &ENTER, enter as unsafe extern "C" fn(_) -> _ as usize),
    ]
}

/// Copies the thread's context.
///
/// # Safety
/// As for the interpreter's own function; likewise for the following ones.
unsafe extern "C" fn copy_current() -> *mut c_void {
    // SAFETY: the function of this name.
    let made = unsafe {
        transmute::<usize, unsafe extern "C" fn() -> *mut c_void>(COPY_CURRENT.load(Relaxed))()
    };
    note_new(made)
}

/// Copies a context.
unsafe extern "C" fn copy(of: *mut c_void) -> *mut c_void {
    // SAFETY: the function of this name.
    let made = unsafe {
        transmute::<usize, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(COPY.load(Relaxed))(of)
    };
    note_new(made)
}

/// Makes an empty context.
unsafe extern "C" fn new() -> *mut c_void {
    // SAFETY: the function of this name.
    let made =
        unsafe { transmute::<usize, unsafe extern "C" fn() -> *mut c_void>(NEW.load(Relaxed))() };
    note_new(made)
}

/// Makes a context for a call of the type.
pub(super) unsafe extern "C" fn type_new(
    of: *mut c_void,
    arguments: *mut c_void,
    named: *mut c_void,
) -> *mut c_void {
    type TypeNew = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> *mut c_void;
    // SAFETY: the type's own function.
    let made = unsafe { transmute::<usize, TypeNew>(TYPE_NEW.load(Relaxed))(of, arguments, named) };
    note_new(made)
}

/// Runs a context in the thread.
unsafe extern "C" fn enter(context: *mut c_void) -> c_int {
    if CHECKED.load(Relaxed) == RIGHT
        && let Some(entry) = numbers::find(context.addr())
    {
        entry.acts_for.store(claim_transfer(), Relaxed);
    }
    // SAFETY: the function of this name.
    unsafe {
        transmute::<usize, unsafe extern "C" fn(*mut c_void) -> c_int>(ENTER.load(Relaxed))(context)
    }
}

/// Id of the thread, if its latest transfer belongs to it and not to a context, and this is the
/// first call since; otherwise 0.
fn claim_transfer() -> u32 {
    let thread = thread::current_thread();
    let latest = thread.latest.load(Relaxed);
    let is_new = latest != thread.claimed.load(Relaxed) && latest != 0;
    thread.claimed.store(latest, Relaxed);
    if is_new && thread.recorded_context.load(Relaxed) == 0 { thread.tid.load(Relaxed) } else { 0 }
}

/// Frees a context.
pub(super) unsafe extern "C" fn dealloc(context: *mut c_void) {
    numbers::remove(context.addr());
    // SAFETY: the type's own function.
    unsafe { transmute::<usize, unsafe extern "C" fn(*mut c_void)>(DEALLOC.load(Relaxed))(context) }
}

/// Whether the place of the context in a thread's state was checked, and found right or wrong.
static CHECKED: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const RIGHT: u8 = 1;
const WRONG: u8 = 2;

/// Functions by which records get the context of their thread.
static SOURCE: ContextSource = ContextSource { current_number, take_start };

/// Numbers a new context, and notes that the thread's context started it.
fn note_new(made: *mut c_void) -> *mut c_void {
    if !made.is_null() && is_known() {
        let ticks = clock::current_ticks();
        numbers::insert(made.addr(), ContextStart { ticks, starter: current_starter() });
    }
    made
}

/// Thread id of the thread or context that starts another one; 0 if it has no records. The start of
/// a context that starts others is recorded, too, even if nothing else of it is: the start of the
/// other one leads to it.
pub(super) fn current_starter() -> u32 {
    if let Some(greenlet) = contexts::reported_context() {
        return goroutine::thread_id(greenlet.into());
    }
    let Some(entry) = numbers::find(interpreter::current_context()) else {
        return thread::current_thread().tid.load(Relaxed);
    };
    match entry.acts_for.load(Relaxed) {
        0 => {
            let number = entry.number.load(Relaxed);
            contexts::record_start(number, || entry.take_start());
            goroutine::thread_id(number.into())
        }
        thread => thread,
    }
}

/// Number of the context that the thread runs, whose start is now in the log; 0 for none.
pub(super) fn started_context() -> u32 {
    numbers::find(interpreter::current_context()).map_or(0, |entry| {
        let number = entry.number.load(Relaxed);
        contexts::record_start(number, || entry.take_start());
        number
    })
}

/// Whether the place of the context in a thread's state is right. The first call checks it.
fn is_known() -> bool {
    match CHECKED.load(Relaxed) {
        RIGHT => true,
        WRONG => false,
        _ => {
            // A thread without a context gets one when its context is copied.
            let is_right = interpreter::has_context();
            CHECKED.store(if is_right { RIGHT } else { WRONG }, Relaxed);
            if is_right {
                context_source::ask_runtime(&SOURCE);
            } else {
                unfollowed_runtime::note_unfollowed();
            }
            is_right
        }
    }
}

/// Number of the context that the thread runs; 0 for its first one, and for none.
fn current_number() -> u32 {
    numbers::find(interpreter::current_context()).map_or(0, |entry| entry.number.load(Relaxed))
}

/// Start of the context of this number, which the thread runs, if it was not taken before.
fn take_start(number: u32) -> Option<ContextStart> {
    let entry = numbers::find(interpreter::current_context())?;
    if entry.number.load(Relaxed) == number { entry.take_start() } else { None }
}
