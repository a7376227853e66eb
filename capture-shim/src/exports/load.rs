//! Constructor of the library: reads the user's options and maps the memory of the process's state.

use core::ffi::{c_char, c_int};

use crate::c_library::{functions, objects};
use crate::descriptors::table;
use crate::flows::watch;
use crate::hooks::{past_libc, processes, unseen};
use crate::log::{partial_chunks, positions, recycle};
use crate::platform::inherited_filters::{self, FILTERS_VARIABLE};
use crate::platform::{arguments, clock, environment, identity, permitted_syscalls, test_clock};
#[cfg(feature = "injected")]
use crate::state::unix_peers;
use crate::state::{self, inherit, lineage, options, settings};

/// Entry by which the dynamic linker calls the constructor.
#[cfg(not(feature = "injected"))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char) = constructor;

/// Symbol by which copies of the library in one process recognise each other, whether they are
/// other files, or the variant that also records resources.
#[cfg(not(feature = "injected"))]
#[unsafe(no_mangle)]
static sockcap_library: u8 = 0;

/// Whether a copy of the library precedes this one and records the process. The first copy is found
/// by the symbol search order, so all copies agree, whichever is prepared first.
fn is_second_copy() -> bool {
    !cfg!(feature = "injected") && !objects::is_first_with(c"sockcap_library")
}

/// Reads the seccomp filters that the program begins with, if the environment has them and they
/// were not read before.
///
/// # Safety
/// Only the constructor calls this, before the library's first system call.
pub(super) unsafe fn take_filters() {
    if !permitted_syscalls::is_active()
        && let Some(text) =
            environment::find_variable(environment::present_environment(), FILTERS_VARIABLE)
    {
        // SAFETY: as the caller guarantees.
        unsafe { inherited_filters::take_filters(text) };
    }
}

/// Prepares the library before the program runs.
pub(super) extern "C" fn constructor(count: c_int, arguments: *const *const c_char) {
    // SAFETY: this is the constructor, to which glibc passes the program's arguments.
    unsafe { arguments::keep_arguments(count, arguments) };
    // SAFETY: this is the constructor.
    unsafe { take_filters() };
    functions::resolve_functions();
    if is_second_copy() {
        // Each hook of this copy passes the call to the function that follows it.
        table::disable_table();
        return;
    }
    let usable = settings::read_settings();
    options::read_options();
    // SAFETY: this is the constructor.
    #[cfg(feature = "injected")]
    unsafe {
        unix_peers::read_variable()
    };
    clock::choose_ticks(settings::tick_choice());
    test_clock::read_shift(settings::option_value(settings::TEST_CLOCK));
    let birth = clock::read_anchor();
    // SAFETY: this is the constructor.
    unsafe { clock::keep_first_anchor(birth) };
    lineage::read_lineage();
    lineage::enter_process(identity::process_id(), birth.realtime);
    // Libc may start children without a hook. Without libc, each child passes a hook, which
    // completes the child's environment.
    if !cfg!(feature = "injected") {
        inherit::complete_own();
    }
    // If seccomp filters forbid making a log, the program that executed this one has recorded that
    // nothing of it is captured.
    let is_fenced = permitted_syscalls::is_active() && !unseen::can_make_log();
    if !usable
        || is_fenced
        || !options::selects_this_command()
        || !state::create_state()
        || !table::create_table()
        || !watch::create_watches()
        || !recycle::create_queue()
        || !positions::create_counts()
    {
        table::disable_table();
        return;
    }
    processes::register_exit_callback();
    partial_chunks::watch_thread_ends();
    #[cfg(not(feature = "injected"))]
    super::buffered::follow_files();
    crate::runtimes::follow_runtimes();
    if let Some(state) = state::current_state() {
        // SAFETY: the process has one thread.
        unsafe { *state.birth.get() = birth };
    }
    past_libc::note_start();
}
