//! Whether anybody still writes to a log. The header says when a process ended, but not when it was killed, and a process
//! id says nothing across containers; the kernel knows: it grants a lease on a file only while nobody has it open for
//! writing, and a mapping counts as open.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Once;

use rustix::fs::fstatfs;

/// File systems of which it is known that their leases know of mappings. On overlayfs, for one, a mapping is of the file
/// below, and a lease would be granted.
const KNOWN: [i64; 5] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
    0xf2f5_2010, // f2fs
];

/// `true` where nobody writes to the file or can begin to by a mapping there is; `false` where somebody can; `None` where
/// the system does not tell.
pub fn none(file: &File) -> Option<bool> {
    let of = fstatfs(file).ok()?.f_type;
    if !KNOWN.contains(&of) {
        return None;
    }
    // Whoever opens the file for writing while the lease lasts makes the kernel tell us by a signal.
    static IGNORED: Once = Once::new();
    // SAFETY: to ignore a signal runs no code of ours.
    IGNORED.call_once(|| unsafe {
        libc::signal(libc::SIGIO, libc::SIG_IGN);
    });
    let lease = |kind: libc::c_int| {
        // SAFETY: the descriptor is open while `file` is borrowed, and the call takes no pointer.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) }
    };
    if lease(libc::F_RDLCK) == 0 {
        lease(libc::F_UNLCK);
        return Some(true);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_and_a_mapping_alone_are_noticed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = File::open(file.path()).unwrap();
        file.as_file().set_len(4096).unwrap();
        let expected = none(&read).map(|_| false);
        assert_eq!(none(&read), expected, "open for writing");
        // SAFETY: a new mapping, of a file that is not made shorter.
        let mapping = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                4096,
                rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                rustix::mm::MapFlags::SHARED,
                file.as_file(),
                0,
            )
        }
        .unwrap();
        let path = file.into_temp_path();
        assert_eq!(none(&read), expected, "mapped, and no longer open");
        // SAFETY: nothing refers to the mapping.
        unsafe { rustix::mm::munmap(mapping, 4096) }.unwrap();
        assert_eq!(none(&read), expected.map(|_| true), "nobody has it");
        drop(path);
    }
}
