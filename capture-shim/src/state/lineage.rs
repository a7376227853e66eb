//! Lineage: the ancestors of this process.
//!
//! A process without a socket leaves no log, but the process tree should contain it if one of its
//! descendants has a log. So each process knows its ancestors, by an environment variable. A new
//! program finds the variable in its environment, a child inherits the memory that contains it, and
//! a log's header has its value.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};

use socket_log::layout::ANCESTORS_BYTES;

use crate::platform::environment::{find_variable, present_environment};
use crate::platform::raw;
use crate::platform::text::{self, BoundedText};
use crate::tuning::LINEAGE_BYTES;

/// Beginning of the variable. Its value is `PID:START:NAME,...`, oldest ancestor first, with START
/// in nanoseconds since the Unix epoch.
pub(crate) const ANCESTORS: &[u8] = b"SOCKCAP_ANCESTORS=";

/// Maximum length of a process's name in the variable, as for the kernel's own process names.
const MAX_NAME_BYTES: usize = 15;

/// The variable: the ancestors, followed by this process.
struct LineageVariable(UnsafeCell<[u8; LINEAGE_BYTES]>);

// SAFETY: written by the constructor and by a `fork` child, before there is a second thread.
unsafe impl Sync for LineageVariable {}

/// Lineage of this process.
static LINEAGE: LineageVariable = LineageVariable(UnsafeCell::new([0; LINEAGE_BYTES]));

/// The variable, with this process as the last entry; empty if this process is not recorded.
pub(crate) fn lineage_variable() -> &'static CStr {
    // SAFETY: written only while there is no second thread. The last byte is always zero.
    CStr::from_bytes_until_nul(unsafe { &*LINEAGE.0.get() }).unwrap_or(c"")
}

/// Whether the environment `given` has the variable with this process's value.
pub(crate) fn is_in_environment(given: *const *const c_char) -> bool {
    let own = lineage_variable().to_bytes();
    own.is_empty() || find_variable(given, ANCESTORS) == own.get(ANCESTORS.len()..)
}

/// Copies the variable that the program was given into [`LINEAGE`]. This process is not in the
/// variable yet, see [`enter_process`].
pub(crate) fn read_lineage() {
    let given = find_variable(present_environment(), ANCESTORS).unwrap_or(b"");
    // SAFETY: the constructor runs before there is a second thread.
    let line = unsafe { &mut *LINEAGE.0.get() };
    line.fill(0);
    let given = latest_entries(given, LINEAGE_BYTES - ANCESTORS.len() - 1);
    for (to, from) in line.iter_mut().zip(ANCESTORS.iter().chain(given)) {
        *to = *from;
    }
}

/// Appends the process `pid`, which began at `start` (nanoseconds since the Unix epoch), to
/// [`LINEAGE`].
pub(crate) fn enter_process(pid: u32, start: i64) {
    let mut entry: BoundedText<64> = BoundedText::new();
    entry.push_number(pid.into()).push(b":").push_number(start.max(0) as u64).push(b":");
    for byte in started_as().iter().take(MAX_NAME_BYTES) {
        let is_plain = byte.is_ascii_graphic() && !matches!(byte, b',' | b':');
        entry.push(if is_plain { core::slice::from_ref(byte) } else { b"_" });
    }
    let (begin, end) = (ANCESTORS.len(), lineage_variable().to_bytes().len());
    // SAFETY: only called before there is a second thread, as for `LineageVariable`.
    let line = unsafe { &mut *LINEAGE.0.get() };
    let own = entry.as_bytes();
    let Some(above) = line.get(begin..end) else { return };
    // The variable is changed in place, as a program may have left little room on the stack.
    let kept = latest_entries(above, LINEAGE_BYTES - begin - own.len() - 2).len();
    line.copy_within(end - kept..end, begin);
    let mut rest = line.iter_mut().skip(begin + kept);
    let separator: &[u8] = if kept == 0 { b"" } else { b"," };
    for (byte, place) in separator.iter().chain(own).zip(&mut rest) {
        *place = *byte;
    }
    rest.for_each(|place| *place = 0);
}

/// Writes the ancestors of this process, which is `pid`, into a header's field.
pub(crate) fn fill_ancestors(pid: u32, field: &mut [u8; ANCESTORS_BYTES]) {
    let all = lineage_variable().to_bytes().get(ANCESTORS.len()..).unwrap_or(&[]);
    let last = all.iter().rposition(|byte| *byte == b',');
    let mut own: BoundedText<64> = BoundedText::new();
    own.push_number(pid.into()).push(b":");
    // A child that was made unseen is not in the lineage, and its parent is the last entry.
    let last_entry = all.get(last.map_or(0, |comma| comma + 1)..).unwrap_or(&[]);
    let end = if last_entry.starts_with(own.as_bytes()) { last.unwrap_or(0) } else { all.len() };
    text::fill_field(field, latest_entries(all.get(..end).unwrap_or(&[]), ANCESTORS_BYTES));
}

/// Last whole entries of `line` that fit into `room` bytes.
fn latest_entries(line: &[u8], room: usize) -> &[u8] {
    let Some(over) = line.len().checked_sub(room).filter(|over| *over > 0) else { return line };
    let cut = line.get(over - 1..).unwrap_or(&[]);
    let comma = cut.iter().position(|byte| *byte == b',').map_or(cut.len(), |comma| comma + 1);
    cut.get(comma..).unwrap_or(&[])
}

/// Name of the file that the program was started as; for a script the script's name.
fn started_as() -> &'static [u8] {
    text::file_name(raw::started_as())
}
