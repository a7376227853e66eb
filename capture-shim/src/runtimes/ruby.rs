//! Fibers of Ruby: a fiber scheduler (`Fiber.set_scheduler`, the gem async, falcon) runs each
//! request in a fiber of its own, all in one thread. A thread-local word of the interpreter has the
//! address of the execution context of the fiber that the thread runs, so each record belongs to a
//! fiber, without a word of Ruby code and without the interpreter's lock.
//!
//! ```text
//!   constructor            words of the interpreter: dlsym, and the
//!                          function that frees a fiber                     ruby.rs
//!   the first extension    dlsym(library, "Init_..."): the interpreter is
//!                          ready, and is asked for switches of fibers      events.rs
//!   a fiber begins         gets a number (numbers.rs), with its starter    events.rs
//!   a record               the word leads to the number                    current.rs
//!   a fiber is freed       its number ends                                 events.rs
//! ```
//!
//! The place of the word and the fields of a fiber differ between versions and builds. So the word
//! is searched for when the first fiber begins: it is the one that leads into the fiber, which the
//! interpreter names itself. Each further fiber is compared with that. No fiber is ever read.
//!
//! The interpreter is the program itself or a library that it needs. Ruby before 3.0 has no fiber
//! schedulers and is left alone.

mod current;
mod events;
mod fiber_type;
mod interpreter;

use core::sync::atomic::Ordering::Relaxed;

use super::numbers;
use super::words::replace_word;
use crate::c_library::objects::{self, LoadedObject};
use crate::platform::text::BoundedText;
use crate::state::unfollowed_runtime;

/// Prepares the program, if it is or needs an interpreter with fiber schedulers.
pub(super) fn follow_fibers() {
    let Some(ruby) = find_interpreter() else { return };
    // Followed once the interpreter has been asked for switches.
    unfollowed_runtime::note_unfollowed();
    let own = objects::next_definition(c"dlsym").addr();
    if own == 0
        || !interpreter::find(&ruby)
        || !current::find_block(&ruby)
        || !numbers::make_table()
    {
        return;
    }
    let Some(free) = find_free(&ruby) else { return };
    // SAFETY: a word of the interpreter, which nothing else uses yet.
    events::FREE.store(unsafe { free.read() }, Relaxed);
    events::TYPE.store(free.wrapping_sub(fiber_type::FREE).addr(), Relaxed);
    replace_word(&ruby, free, events::free as unsafe extern "C" fn(_) as usize);
    events::FIND_SYMBOL.store(own, Relaxed);
    let hook = events::find_symbol as unsafe extern "C" fn(_, _) -> _ as usize;
    ruby.for_each_binding(c"dlsym", |word| replace_word(&ruby, word, hook));
}

/// Notes the interpreter's name, and returns whether there is one with fiber schedulers.
pub(super) fn find_program() -> bool {
    find_interpreter().is_some()
}

/// The interpreter, if the program is or needs one with fiber schedulers. Its name is noted.
fn find_interpreter() -> Option<LoadedObject> {
    let ruby = objects::loaded_objects().find(|object| {
        [c"ruby_version", c"rb_fiber_current"]
            .iter()
            .all(|name| !object.find_symbol(name).is_null())
    })?;
    let version = interpreter::version_text(&ruby);
    if !fiber_type::has_schedulers(version) {
        return None;
    }
    let mut name: BoundedText<64> = BoundedText::new();
    name.push(b"Ruby ").push(version);
    // SAFETY: the constructor runs this.
    unsafe { unfollowed_runtime::note_name(name) };
    Some(ruby)
}

/// The word with the function that frees a fiber, in the type of fibers. That type is among the
/// words that the dynamic linker has written: a program that is linked to a fixed address has other
/// ones.
fn find_free(ruby: &LoadedObject) -> Option<*mut usize> {
    if ruby.load_bias() == 0 {
        return None;
    }
    // SAFETY: an object with a load bias begins with its header.
    let [start, end] = unsafe { ruby.constants_range() }?;
    let start = start.next_multiple_of(size_of::<usize>());
    let first: *mut usize = core::ptr::with_exposed_provenance_mut(start);
    // SAFETY: the object's own words, which the dynamic linker has written and nothing changes.
    let words = unsafe {
        core::slice::from_raw_parts(first, end.saturating_sub(start) / size_of::<usize>())
    };
    let is_code = |address| ruby.contains_code(address);
    let is_name = |address| ruby.has_text(address, fiber_type::NAME);
    let index = fiber_type::find_free(words, is_code, is_name)?;
    // SAFETY: one of the words.
    Some(unsafe { first.add(index) })
}
