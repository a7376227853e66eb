//! Contexts of CPython: asyncio, uvloop, trio and anyio run each task in a context object of its
//! own (`contextvars`), which is copied from the context that starts the task. The thread's state
//! names the object that the thread runs. So each record belongs to a task, without a word of
//! Python code, whichever event loop the program has.
//!
//! The interpreter is the program itself or a library that it needs. Nothing of its code changes;
//! these words of its data do, before it begins:
//!
//! ```text
//!   symbol table: PyContext_CopyCurrent, ...     which extension modules are bound to: a new
//!                                                context gets a number (hooks.rs)
//!   type of contexts: tp_new, tp_dealloc         likewise; the number of a context ends with it
//! ```
//!
//! Greenlets, which have no contexts, are followed by the switches of their library (greenlet.rs),
//! and sends that uvloop has queued by their transports (uvloop.rs).
//!
//! The context of a thread is read at each record (interpreter.rs), even while the thread has
//! released the interpreter's lock. Objects are never dereferenced, only their addresses count.
//! Where the thread's state has the context depends on the version, and is checked once the first
//! context was copied. Unknown versions, and interpreters that are loaded later, are left alone.

mod greenlet;
mod hooks;
mod interpreter;
mod libraries;
mod queued;
mod uvloop;

use core::sync::atomic::Ordering::Relaxed;

use super::numbers;
use crate::c_library::objects::{self, LoadedObject};
use crate::platform::raw::{self, PAGE};
use crate::state::unfollowed_runtime;

/// Prepares the program, if it is or needs a known version of CPython.
pub(super) fn follow_contexts() {
    let Some(python) = find_interpreter() else { return };
    // A program with asyncio in itself binds its calls when it is built.
    let has_asyncio = !python.find_symbol(c"PyInit__asyncio").is_null();
    if has_asyncio || !interpreter::find(&python) || !numbers::make_table() {
        unfollowed_runtime::note_unfollowed();
    } else {
        follow_new_contexts(&python);
    }
}

/// Notes the interpreter's name, and returns whether there is one.
pub(super) fn find_program() -> bool {
    find_interpreter().is_some()
}

/// The interpreter, if the program is one or needs one. Its name is noted.
fn find_interpreter() -> Option<LoadedObject> {
    let python = objects::loaded_objects()
        .find(|object| !object.find_symbol(c"PyContext_CopyCurrent").is_null())?;
    interpreter::note_name(&python);
    Some(python)
}

/// Has each new context of the interpreter numbered, and each number end with its context.
fn follow_new_contexts(python: &LoadedObject) {
    let Some(slots) = interpreter::ContextType::find(python) else {
        return unfollowed_runtime::note_unfollowed();
    };
    hooks::DEALLOC.store(slots.dealloc.load(Relaxed), Relaxed);
    hooks::TYPE_NEW.store(slots.new.load(Relaxed), Relaxed);
    slots.dealloc.store(hooks::dealloc as unsafe extern "C" fn(_) as usize, Relaxed);
    slots.new.store(hooks::type_new as unsafe extern "C" fn(_, _, _) -> _ as usize, Relaxed);
    let capsule = greenlet::new_capsule as unsafe extern "C" fn(_, _, _) -> _ as usize;
    let module = uvloop::initialize_module as unsafe extern "C" fn(_) -> _ as usize;
    let libraries = [
        (c"PyCapsule_New", &greenlet::NEW_CAPSULE, capsule),
        (c"PyModuleDef_Init", &uvloop::INITIALIZE_MODULE, module),
    ];
    for (name, original, hook) in hooks::exported().into_iter().chain(libraries) {
        let function = python.find_symbol(name).addr();
        if function != 0 {
            original.store(function, Relaxed);
            bind_symbol(python, name, hook);
        }
    }
}

/// Has objects that are loaded from now on bind the symbol `name` of `python` to `address`.
fn bind_symbol(python: &LoadedObject, name: &core::ffi::CStr, address: usize) {
    let Some((value, protection)) = python.symbol_value(name) else { return };
    let page = value.addr() & !(PAGE - 1);
    // SAFETY: the value lies in one page, of a segment with this protection, and is read only while
    // another object is bound.
    unsafe {
        if raw::protect_pages(page, PAGE, protection | libc::PROT_WRITE) {
            value.write(address.wrapping_sub(python.load_bias()) as u64);
            raw::protect_pages(page, PAGE, protection);
        }
    }
}
