//! Events of the virtual machine about its virtual threads: which one a carrier runs.

use core::ffi::{CStr, c_int};

use super::interfaces::{self, Interface, Reference};
use super::tool::{self, ThreadEvent};
use super::{native, starts, thread_number};
use crate::runtimes::contexts;
use crate::state::unfollowed_runtime;

/// First version of Java with virtual threads, as the interface for native code returns it.
const VIRTUAL_THREADS_SINCE: c_int = 21 << 16;

/// Events that a carrier begins, and ends, to run a virtual thread.
const MOUNTED: &CStr = c"com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNTED: &CStr = c"com.sun.hotspot.events.VirtualThreadUnmount";

/// Has a new machine report which virtual thread each carrier runs, and which thread starts which
/// virtual thread.
///
/// # Safety
/// The machine was just created, and the environment is the calling thread's.
pub(super) unsafe fn follow_machine(machine: Interface, environment: Interface) {
    // SAFETY: as the caller guarantees.
    unsafe {
        if native::version(environment) < VIRTUAL_THREADS_SINCE {
            return;
        }
        let tool = interfaces::tool_environment(machine);
        if tool.is_null() {
            unfollowed_runtime::note_unfollowed();
        } else if !follow_events(tool, environment) {
            tool::end_tool(tool);
            unfollowed_runtime::note_unfollowed();
        } else {
            starts::follow_starts(tool, environment);
        }
    }
}

/// Has the machine call the hooks. Returns whether it will.
///
/// # Safety
/// As for [`follow_machine`].
unsafe fn follow_events(tool: Interface, environment: Interface) -> bool {
    let hooks: [(&CStr, ThreadEvent); 2] = [(MOUNTED, mounted), (UNMOUNTED, unmounted)];
    let mut followed = 0;
    // SAFETY: as the caller guarantees.
    unsafe {
        if !thread_number::find(environment)
            || !tool::add_capabilities(tool, &tool::VIRTUAL_THREADS)
        {
            return false;
        }
        tool::for_each_extension_event(tool, |event, id| {
            let hook = hooks.iter().find(|(name, _)| *name == id);
            followed +=
                usize::from(hook.is_some_and(|(_, hook)| tool::call_at_event(tool, event, *hook)));
        });
    }
    followed == hooks.len()
}

/// Attributes further records of the thread to a virtual thread.
///
/// # Safety
/// The machine calls this when the thread has begun to run the virtual thread.
unsafe extern "C" fn mounted(_: Interface, environment: Interface, thread: Reference) {
    // SAFETY: as the caller guarantees.
    contexts::context_entered(unsafe { thread_number::context_number(environment, thread) });
}

/// Attributes further records of the thread to itself.
///
/// # Safety
/// The machine calls this when the thread is about to leave the virtual thread.
unsafe extern "C" fn unmounted(_: Interface, _: Interface, _: Reference) {
    contexts::context_entered(0);
}
