//! Runtimes that are recognised by the program's file and not followed: Erlang's BEAM, Deno and
//! Bun. They run all their tasks on a few threads, as those that are followed do, so their names
//! are noted for the user.

mod programs;

use crate::c_library::objects;
use crate::platform::raw;
use crate::platform::text::BoundedText;
use crate::state::unfollowed_runtime;

/// Notes the name of the program's runtime, if it is one of these.
pub(super) fn note_program() {
    let mut path = [0; 4096];
    let length = raw::readlink(c"/proc/self/exe", &mut path);
    let path = path.get(..length).unwrap_or(&[]);
    let Some(program) = programs::recognise(path) else { return };
    // Other programs may have a file of this name, but none exports this function.
    let Some(file) = objects::program_object() else { return };
    if file.find_symbol(program.exports).is_null() {
        return;
    }
    let mut name: BoundedText<64> = BoundedText::new();
    name.push(program.name);
    if let Some(release) = program.release {
        name.push(b" ").push_number(release.into());
    }
    // SAFETY: the constructor runs this.
    unsafe { unfollowed_runtime::note_name(name) };
    unfollowed_runtime::note_unfollowed();
}
