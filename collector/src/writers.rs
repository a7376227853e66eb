//! Detection of writers of a log. The header states when a process ended, but not when it was
//! killed. The kernel knows: it grants a lease on a file only while no process has it open for
//! writing, and a mapping counts as open. If leases do not cover mappings, the process with the id
//! in the header is looked for, provided that process ids here mean the same as where the log was
//! written.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Once;

use rustix::fs::fstatfs;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use socket_log::LogHeader;
use socket_log::layout::source;

/// File systems with leases that are known to cover mappings. On overlayfs, for one, a mapping is
/// of the underlying file, and a lease would be granted.
const LEASE_FILE_SYSTEMS: [i64; 5] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
    0xf2f5_2010, // f2fs
];

/// Whether no process has the file open for writing or mapped; `None` if the system does not report
/// it.
pub fn has_no_writer(file: &File) -> Option<bool> {
    let of = fstatfs(file).ok()?.f_type;
    if !LEASE_FILE_SYSTEMS.contains(&of) {
        return None;
    }
    // An attempt to open the file for writing while the lease lasts makes the kernel send us a
    // signal.
    static IGNORED: Once = Once::new();
    // SAFETY: ignoring a signal runs no code of ours.
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

/// Scope of process ids: the boot and the pid namespace in which ids have the meaning that they
/// have for this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessScope {
    /// The kernel's id of this boot; zeros if unknown.
    pub(super) boot: [u8; 16],
    /// The inode of the pid namespace; 0 if unknown.
    namespace: u64,
}

impl ProcessScope {
    /// Scope of this process on a kernel with this boot id.
    pub(super) fn new(boot: [u8; 16]) -> ProcessScope {
        ProcessScope {
            boot,
            namespace: fs::metadata("/proc/self/ns/pid").map_or(0, |status| status.ino()),
        }
    }

    /// Whether the process of a log is known to be gone, so that it writes no more: it ran on this
    /// kernel and in this namespace, and its id is unused. A log is mapped by its own process only.
    ///
    /// A process of another container may be alive under an id that is unused here, and a
    /// preallocated log has no process yet: both count as alive. So does a process with an id that
    /// was reused since.
    pub(super) fn is_process_gone(&self, header: &LogHeader) -> bool {
        let is_ours = [source::LIBRARY, source::SWITCHES].contains(&header.source)
            && self.boot != [0; 16]
            && header.boot_id == self.boot
            && self.namespace != 0
            && header.pid_namespace == self.namespace;
        let pid = i32::try_from(header.pid)
            .ok()
            .filter(|pid| is_ours && *pid > 0)
            .and_then(Pid::from_raw);
        // A zombie counts as alive.
        pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }
}

#[cfg(test)]
mod tests {
    use socket_log::SocketLog;
    use socket_log::write::LogWriter;

    use super::*;

    #[test]
    fn a_process_is_gone_once_its_id_is_unused_in_its_namespace() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let here = ProcessScope::new([7; 16]);
        assert_ne!(here.namespace, 0, "/proc has it");
        let pid = child.id();
        let header = |boot: u8, namespace: u64, seen_by: u32| {
            let mut log = LogWriter::new("web-1", pid, "/bin/sleep");
            log.set_boot(boot).set_pid_namespace(namespace).set_source(seen_by);
            SocketLog::from_bytes(std::path::Path::new("x"), log.to_bytes())
                .unwrap()
                .header()
                .clone()
        };
        let own = header(7, here.namespace, source::LIBRARY);
        let others = [
            header(8, here.namespace, source::LIBRARY),
            header(7, here.namespace + 1, source::LIBRARY),
            header(7, 0, source::LIBRARY),
            header(7, here.namespace, source::STRACE),
        ];
        assert!(!here.is_process_gone(&own), "it runs");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(here.is_process_gone(&own), "it was killed");
        assert!(others.iter().all(|other| !here.is_process_gone(other)), "unknown process");
        assert!(!ProcessScope { boot: [0; 16], ..here }.is_process_gone(&header(
            0,
            here.namespace,
            source::LIBRARY
        )));
    }

    #[test]
    fn an_open_file_and_a_mapping_are_each_noticed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = File::open(file.path()).unwrap();
        file.as_file().set_len(4096).unwrap();
        let expected = has_no_writer(&read).map(|_| false);
        assert_eq!(has_no_writer(&read), expected, "open for writing");
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
        assert_eq!(has_no_writer(&read), expected, "mapped, and no longer open");
        // SAFETY: nothing refers to the mapping.
        unsafe { rustix::mm::munmap(mapping, 4096) }.unwrap();
        assert_eq!(has_no_writer(&read), expected.map(|_| true), "no writer");
        drop(path);
    }
}
