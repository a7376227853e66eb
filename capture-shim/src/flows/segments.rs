//! Segmentation offload of UDP: one send that the kernel splits into datagrams (`UDP_SEGMENT`), and
//! one receive of datagrams that it has joined (`UDP_GRO`).
//!
//! Datagrams that are sent together may be received one by one, and vice versa. So the log has each
//! datagram separately. Their size is in the control data of the message, or it is an option of the
//! socket, which is then marked in its descriptors' entries.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use super::ControlData;
use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::log;
use crate::platform::raw;

/// Option, and type of control data: the size of the datagrams that a send is split into.
const UDP_SEGMENT: c_int = 103;
/// Type of control data: the size of the datagrams that a receive has joined.
const UDP_GRO: c_int = 104;

/// Size of the datagrams that a send on `fd` is split into, in bytes; 0 if it is one datagram.
///
/// # Safety
/// `control` is readable.
#[cold]
#[inline(never)]
pub(super) unsafe fn size_sent(fd: c_int, entry: DescriptorWord, control: ControlData) -> usize {
    // SAFETY: as the caller guarantees.
    match unsafe { control_value(control, UDP_SEGMENT) } {
        Some(size) => size,
        None if entry.splits_sends() => segment_size_option(fd),
        None => 0,
    }
}

/// Size of the datagrams that a receive has joined, in bytes; 0 if it is one datagram.
///
/// # Safety
/// `control` is as the kernel wrote it.
#[inline(always)]
pub(crate) unsafe fn size_received(control: ControlData) -> usize {
    // SAFETY: as the caller guarantees.
    if control.is_empty() { 0 } else { unsafe { control_value(control, UDP_GRO).unwrap_or(0) } }
}

/// Size of datagrams in an item of the type `kind` in the control data; `None` without such an
/// item. The last item counts, as for the kernel.
///
/// # Safety
/// `control` is readable.
unsafe fn control_value(control: ControlData, kind: c_int) -> Option<usize> {
    let mut value = None;
    // SAFETY: as the caller guarantees.
    unsafe {
        control.for_each_item(|header, contents| {
            if header.cmsg_level == libc::SOL_UDP && header.cmsg_type == kind {
                // The kernel takes a number of two bytes, and returns one of four.
                let number = |bytes: &[u8; 2]| usize::from(u16::from_ne_bytes(*bytes));
                value = contents.first_chunk().map(number).or(value);
            }
        });
    }
    value
}

/// Size of the datagrams that all sends on `fd` are split into, in bytes; 0 for none.
fn segment_size_option(fd: c_int) -> usize {
    raw::protocol_option::<c_int>(fd, libc::SOL_UDP, UDP_SEGMENT)
        .map_or(0, |size| usize::try_from(size).unwrap_or(0))
}

/// The entry of a datagram socket found in use, marked if its sends are split.
pub(super) fn mark_segmented(fd: c_int, entry: DescriptorWord) -> DescriptorWord {
    let is_internet = matches!(entry.domain(), libc::AF_INET | libc::AF_INET6);
    if is_internet && !entry.has_end() && segment_size_option(fd) != 0 {
        entry.with_split_sends(true)
    } else {
        entry
    }
}

/// Notes that the program has set an option of `fd`, which may be the size that its sends are split
/// into.
pub(crate) fn note_option_set(fd: c_int, level: c_int, name: c_int) {
    let entry = table::get_entry(fd);
    if level != libc::SOL_UDP || name != UDP_SEGMENT || entry.kind() != DescriptorKind::Datagram {
        return;
    }
    let Some(state) = log::state_for_table() else { return };
    let splits_sends = segment_size_option(fd) != 0;
    for other in 0..state.descriptors.load(Relaxed) as c_int {
        let entry = table::get_entry(other);
        if entry.flow() == table::get_entry(fd).flow() {
            // The replacement fails if the descriptor was closed meanwhile; then there is nothing
            // to do.
            let _ = table::replace_entry(state, other, entry, entry.with_split_sends(splits_sends));
        }
    }
}

/// Datagrams of a call that moved `bytes` bytes in datagrams of `size` bytes: the offset of each
/// datagram and its size.
pub(super) fn segment_ranges(bytes: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes).step_by(size.max(1)).map(move |at| (at, size.min(bytes - at)))
}
