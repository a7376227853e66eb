//! Events of fibers: the hook for the interpreter's switches, which numbers a fiber as it begins,
//! and the function that runs before a fiber is freed.
//!
//! Events only number fibers and name their starters. The interpreter omits the event of a switch
//! if an interrupt (`Thread#raise`, a signal) comes at this moment, so the fiber of a record is
//! read at the record.

use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicUsize};

use socket_log::layout::goroutine;

use super::current;
use super::interpreter::{self, Value};
use crate::platform::clock;
use crate::runtimes::{contexts, numbers};
use crate::state::context_source::{self, ContextSource, ContextStart};
use crate::state::thread::{self, ThreadLogState};
use crate::state::unfollowed_runtime;

/// Dynamic linker's own function that finds a symbol.
pub(super) static FIND_SYMBOL: AtomicUsize = AtomicUsize::new(0);
/// Interpreter's own function that frees a fiber.
pub(super) static FREE: AtomicUsize = AtomicUsize::new(0);
/// Address of the type of fibers.
pub(super) static TYPE: AtomicUsize = AtomicUsize::new(0);

/// Beginning of the name of the function by which an extension is initialized.
const EXTENSION: &[u8] = b"Init_";

/// Whether switches of fibers are reported.
static STATE: AtomicU8 = AtomicU8::new(NOT_ASKED);
const NOT_ASKED: u8 = 0;
const ASKED: u8 = 1;
/// A fiber was not where the first one was; no further one is numbered.
const WRONG: u8 = 2;

/// Functions by which records get the fiber of their thread.
static SOURCE: ContextSource = ContextSource { current_number, take_start };

/// Finds a symbol for the interpreter, and asks the interpreter for switches when it looks up the
/// first extension. It has the extension for character sets or for sockets before any fiber that
/// sends.
///
/// # Safety
/// As for `dlsym`. The interpreter passes no handle that depends on the caller.
pub(super) unsafe extern "C" fn find_symbol(
    library: *mut c_void,
    name: *const c_char,
) -> *mut c_void {
    if STATE.load(Relaxed) == NOT_ASKED
        && !name.is_null()
        // SAFETY: a name is a text.
        && unsafe { CStr::from_ptr(name) }.to_bytes().starts_with(EXTENSION)
        && interpreter::ask_for_switches(switched)
    {
        STATE.store(ASKED, Relaxed);
        unfollowed_runtime::note_followed();
    }
    type FindSymbol = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    // SAFETY: the function of this name.
    unsafe { transmute::<usize, FindSymbol>(FIND_SYMBOL.load(Relaxed))(library, name) }
}

/// Follows a switch: the thread has begun or resumed a fiber. A fiber without a number that has
/// only begun gets one. Others without are the first ones of threads.
///
/// # Safety
/// The interpreter calls this, so the thread has its lock.
unsafe extern "C" fn switched(_: u32, _: Value, ruby_thread: Value, _: usize, _: Value) {
    if STATE.load(Relaxed) == WRONG {
        return;
    }
    let thread = thread::current_thread();
    let running = current::running_context();
    // SAFETY: as the caller guarantees.
    unsafe {
        if numbers::find(running).is_none() && interpreter::has_no_frame() {
            number_fiber(thread, ruby_thread);
        }
    }
    context_source::begin_asking(thread);
    thread.fiber.store(current::running_context(), Relaxed);
    thread.fiber_thread.store(ruby_thread, Relaxed);
}

/// Numbers the fiber that the thread has begun.
///
/// # Safety
/// The thread has the interpreter's lock.
unsafe fn number_fiber(thread: &ThreadLogState, ruby_thread: Value) {
    // SAFETY: as the caller guarantees.
    let fiber = unsafe { interpreter::current_structure(TYPE.load(Relaxed)) };
    let Some(context) = fiber.and_then(current::context_of_running) else {
        STATE.store(WRONG, Relaxed);
        return unfollowed_runtime::note_unfollowed();
    };
    let ticks = clock::current_ticks();
    let starter = if interpreter::keeps_threads() { starter(thread, ruby_thread) } else { 0 };
    numbers::insert(context, ContextStart { ticks, starter });
    context_source::ask_runtime(&SOURCE);
}

/// Thread id of the thread or fiber that ran before the switch; 0 if the thread has no records. The
/// start of a fiber that starts others is recorded, too, even if nothing else of it is.
fn starter(thread: &ThreadLogState, ruby_thread: Value) -> u32 {
    let is_same = thread.fiber_thread.load(Relaxed) == ruby_thread;
    let before = if is_same { thread.fiber.load(Relaxed) } else { 0 };
    let Some(entry) = numbers::find(before) else { return thread.tid.load(Relaxed) };
    let number = entry.number.load(Relaxed);
    contexts::record_start(number, || entry.take_start());
    goroutine::thread_id(number.into())
}

/// Frees a fiber.
///
/// # Safety
/// As for the interpreter's own function.
pub(super) unsafe extern "C" fn free(fiber: *mut c_void) {
    numbers::remove(current::context_of(fiber.addr()));
    // SAFETY: the function of fibers' type.
    unsafe { transmute::<usize, unsafe extern "C" fn(*mut c_void)>(FREE.load(Relaxed))(fiber) }
}

/// Number of the fiber that the thread runs; 0 for its first one.
fn current_number() -> u32 {
    numbers::find(current::running_context()).map_or(0, |entry| entry.number.load(Relaxed))
}

/// Start of the fiber of this number, which the thread runs, if it was not taken before.
fn take_start(number: u32) -> Option<ContextStart> {
    let entry = numbers::find(current::running_context())?;
    if entry.number.load(Relaxed) == number { entry.take_start() } else { None }
}
