//! Removal of the library from a process that continues without it.

use core::ffi::c_int;
use core::mem::offset_of;

use super::frame::Frame;
use super::slots;
use crate::hooks::processes;
use crate::log::keep;
use crate::state::{self, slot::Slot};

/// Offsets by which the injector finds waiting hooks, in the order of the fields of its
/// `HookOffsets`.
#[unsafe(no_mangle)]
static sockcap_waiting: [u64; 13] = [
    offset_of!(Slot, owner) as u64,
    offset_of!(Slot, waiting) as u64,
    offset_of!(Slot, floor) as u64,
    offset_of!(Slot, stack_end) as u64,
    offset_of!(Slot, stack_length) as u64,
    offset_of!(Slot, alternate) as u64,
    offset_of!(Slot, alternate_length) as u64,
    offset_of!(Frame, stack) as u64,
    offset_of!(Frame, before) as u64,
    offset_of!(Frame, registers) as u64,
    offset_of!(Frame, arguments) as u64,
    offset_of!(Frame, number) as u64,
    size_of::<Frame>() as u64,
];

/// Ends the log. Hooks that still run, or are called, do nothing from then on. Returns 0, or 1 if
/// the log does not record its end.
///
/// # Safety
/// To be called while no thread of the process runs.
#[unsafe(no_mangle)]
unsafe extern "C" fn sockcap_end() -> c_int {
    state::restore_state();
    // A thread without a slot belongs to a copy of the process which has no log of its own yet.
    let is_recorded = slots::is_wiped() || processes::leave_process(slots::take_skipped());
    keep::close_all();
    c_int::from(!is_recorded)
}
