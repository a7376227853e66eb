//! Constructor of the library: reads the user's choices and maps the memory of the process's state.

use core::ffi::{c_char, c_int};

use crate::c_library::{functions, objects};
use crate::descriptors::table;
use crate::flows::watch;
use crate::hooks::{past_libc, processes, unseen};
use crate::log::{leavings, positions, recycle};
use crate::platform::handed_filters::{self, FILTERS};
use crate::platform::{arguments, clock, environment, permitted, test_clock};
#[cfg(feature = "injected")]
use crate::state::unix_peers;
use crate::state::{self, inherit, lineage, options, settings};

/// Entry by which the dynamic linker calls the constructor.
#[cfg(not(feature = "injected"))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char) = constructor;

/// Mark by which copies of the library in one process know each other, whichever they are: another
/// file, or the one that records resources too.
#[cfg(not(feature = "injected"))]
#[unsafe(no_mangle)]
static sockcap_library: u8 = 0;

/// Whether a copy of the library stands before this one and records the process. It is found by the
/// order in which symbols are sought, so all copies agree, whichever is prepared first.
fn is_second_copy() -> bool {
    !cfg!(feature = "injected") && !objects::is_first_with(c"sockcap_library")
}

/// Takes the filters for system calls that the program begins with, if the environment has them and
/// they were not taken before.
///
/// # Safety
/// To be called by the constructor alone, before the library's first system call.
pub(super) unsafe fn take_filters() {
    if !permitted::is_active()
        && let Some(text) = environment::find(environment::present(), FILTERS)
    {
        // SAFETY: as the caller says.
        unsafe { handed_filters::take(text) };
    }
}

/// Prepares the library before the program runs.
pub(super) extern "C" fn constructor(count: c_int, arguments: *const *const c_char) {
    // SAFETY: this is the constructor, and glibc hands it the program's arguments.
    unsafe { arguments::keep(count, arguments) };
    // SAFETY: this is the constructor.
    unsafe { take_filters() };
    functions::resolve();
    if is_second_copy() {
        // Each call goes on to where it would without this one.
        table::disable();
        return;
    }
    let usable = settings::read();
    options::read();
    // SAFETY: this is the constructor.
    #[cfg(feature = "injected")]
    unsafe {
        unix_peers::read()
    };
    clock::choose(settings::clock());
    test_clock::read(settings::option(settings::TEST_CLOCK));
    let birth = clock::anchor();
    lineage::read();
    lineage::enter(birth.realtime);
    // Without libc, nobody else would ask for it.
    if !cfg!(feature = "injected") {
        inherit::complete_own();
    }
    // Who executed it has said that nothing is recorded.
    let is_fenced = permitted::is_active() && !unseen::can_make_log();
    if !usable
        || is_fenced
        || !options::selects_this_command()
        || !state::create()
        || !table::create()
        || !watch::create()
        || !recycle::create()
        || !positions::create()
    {
        table::disable();
        return;
    }
    processes::at_exit();
    leavings::watch();
    #[cfg(not(feature = "injected"))]
    super::buffered::follow();
    #[cfg(all(feature = "resources", target_arch = "x86_64"))]
    super::tokio::follow();
    if let Some(state) = state::current() {
        // SAFETY: the process has one thread.
        unsafe { *state.birth.get() = birth };
    }
    past_libc::begin();
}
