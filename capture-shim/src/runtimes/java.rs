//! Virtual threads of Java: a few threads of the system, their carriers, take turns in running all
//! virtual threads, so the thread of a record is no evidence. The virtual machine reports which
//! virtual thread a carrier runs from now on (JVMTI), and each record belongs to that one.
//!
//! ```text
//!   constructor            a word of libjli.so: dlsym                                  java.rs
//!   the launcher           dlsym(libjvm.so, "JNI_CreateJavaVM") returns create_vm  creation.rs
//!   create_vm              the machine's own function; then asks for events        creation.rs
//!   mount, unmount         the number of the carrier's context changes               events.rs
//!   VirtualThread.start    records which thread starts which         starts.rs, class_file.rs
//! ```
//!
//! The launcher finds the machine's library at run time, so that nothing of it exists when this
//! library starts. No option is passed to the machine, as it would print or list one. Machines
//! before 21 have no virtual threads; a machine without these events is left alone.

mod class_file;
mod creation;
mod events;
mod interfaces;
mod native;
mod starts;
mod thread_number;
mod tool;

use core::sync::atomic::Ordering::Relaxed;

use super::words::replace_word;
use crate::c_library::objects;
use crate::platform::text::BoundedText;
use crate::state::unfollowed_runtime;

/// Has the launcher of Java create its virtual machine through this library, if the program is that
/// launcher.
pub(super) fn follow_virtual_threads() {
    let Some(launcher) =
        objects::loaded_objects().find(|object| !object.find_symbol(c"JLI_Launch").is_null())
    else {
        return;
    };
    let mut name = BoundedText::new();
    name.push(b"Java");
    // SAFETY: the constructor runs this.
    unsafe { unfollowed_runtime::note_name(name) };
    let own = objects::next_definition(c"dlsym").addr();
    if own == 0 {
        return unfollowed_runtime::note_unfollowed();
    }
    creation::FIND_SYMBOL.store(own, Relaxed);
    let hook = creation::find_symbol as unsafe extern "C" fn(_, _) -> _ as usize;
    launcher.for_each_binding(c"dlsym", |word| replace_word(&launcher, word, hook));
}
