//! Requests of Node.js: its one thread works on all requests in turn, so that the thread of a
//! record is no evidence. Node itself knows for which request it runs, if it is asked to
//! (`AsyncLocalStorage`): a script that it loads before the program begins a context for each
//! received request, and names the context whose message is being written.
//!
//! ```text
//!   constructor            NODE_OPTIONS=... --require libsockcap.cjs        options.rs
//!   the script             removes that from the environment,
//!                          loads this library as an addon                  contexts.cjs, addon.rs
//!   a request is received  begin(): a new context, with a record           addon.rs
//!   a message is written   memory[0] = context; write(2); memory[0] = 0    contexts.cjs
//! ```
//!
//! The script writes the number of the context into the state of the thread, which Node sees as an
//! array: no call is made for it. A write outside of any request has no context, and what the
//! program reads belongs to the thread.

mod addon;
mod options;

use crate::c_library::objects;
use crate::platform::raw;
use crate::platform::text::{BoundedText, file_name};
use crate::state::unfollowed_runtime;

/// Has Node load the script, if the program is Node.
pub(super) fn follow_requests() {
    if !find_program() {
        return;
    }
    let mut objects = objects::loaded_objects();
    if !objects.any(|object| addon::find_functions(&object)) || !options::require_script() {
        unfollowed_runtime::note_unfollowed();
    }
}

/// Notes the name of Node, and returns whether the program is Node.
pub(super) fn find_program() -> bool {
    let mut path = [0; 4096];
    let length = raw::readlink(c"/proc/self/exe", &mut path);
    let file = file_name(path.get(..length).unwrap_or(&[]));
    // Other programs that contain Node refuse options, or print that they ignore them.
    let is_node = matches!(file, b"node" | b"nodejs");
    if is_node {
        let mut name = BoundedText::new();
        name.push(b"Node.js");
        // SAFETY: the constructor runs this.
        unsafe { unfollowed_runtime::note_name(name) };
    }
    is_node
}
