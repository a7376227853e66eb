//! Classifies descriptors other than sockets: files, pipes and eventfds, if resources are recorded.

use core::ffi::c_int;

use super::table::DescriptorWord;
use crate::platform::raw::{self, OwnDescriptor};
use crate::platform::text::BoundedText;

/// Bit that marks an id which was made from the descriptor of an eventfd, since the kernel's id is
/// unknown.
const BY_DESCRIPTOR: u32 = 1 << 31;

/// Entry of `fd` for the table of descriptors; `None` if `fd` is a socket, or if the process may
/// not ask the kernel.
pub(crate) fn classify_descriptor(fd: c_int) -> Option<DescriptorWord> {
    let status = OwnDescriptor::never_closed(fd).status()?;
    Some(match status.st_mode & libc::S_IFMT {
        libc::S_IFSOCK => return None,
        libc::S_IFREG | libc::S_IFBLK => DescriptorWord::FILE,
        libc::S_IFIFO => {
            let number = status.st_ino ^ status.st_dev.rotate_left(32);
            DescriptorWord::for_pipe((number ^ number >> 32) as u32)
        }
        // A file without a type: an anonymous inode of the kernel.
        0 => eventfd_id(fd).map_or(DescriptorWord::UNCAPTURED, DescriptorWord::for_eventfd),
        _ => DescriptorWord::UNCAPTURED,
    })
}

/// The kernel's id of the eventfd `fd`, or an id made from its descriptor; `None` if it is not an
/// eventfd.
fn eventfd_id(fd: c_int) -> Option<u32> {
    const COUNT: &[u8] = b"eventfd-count:";
    const ID: &[u8] = b"eventfd-id:";
    let mut path: BoundedText<40> = BoundedText::new();
    path.push(b"/proc/self/fdinfo/").push_number(fd as u64);
    let file = raw::open(path.as_c_str(), libc::O_RDONLY | libc::O_CLOEXEC, 0).ok()?;
    let mut text = [0; 256];
    let length = file.read(&mut text);
    let lines = || text.get(..length).unwrap_or(&[]).split(|byte| *byte == b'\n');
    let value = |name: &[u8]| lines().find_map(|line| line.strip_prefix(name));
    value(COUNT)?;
    // Linux before 5.2 reports no id.
    let id = value(ID).and_then(|id| {
        let digits = id.iter().filter_map(|byte| (*byte as char).to_digit(10));
        digits.reduce(|number, digit| number.wrapping_mul(10).wrapping_add(digit))
    });
    Some(id.unwrap_or(fd as u32 | BY_DESCRIPTOR))
}
