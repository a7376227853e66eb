//! Recorded processes that still run, and therefore still write their logs.

use std::fs;
use std::os::unix::fs::MetadataExt;

use collector::writers;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use socket_log::layout::{source, state};
use socket_log::{LogHeader, SocketLog};

/// Whether the process of a log still runs here and writes to it. A log that was copied from
/// elsewhere has no writer.
pub(crate) fn is_running(log: &SocketLog) -> bool {
    let header = log.header();
    header.state == state::RUNNING
        && header.source == source::LIBRARY
        && log.file().is_some_and(|file| match writers::has_no_writer(file) {
            Some(is_left) => !is_left,
            None => is_alive(header),
        })
}

/// Whether the process is alive, if process ids mean the same here as in the log.
fn is_alive(header: &LogHeader) -> bool {
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |status| status.ino());
    let pid = i32::try_from(header.pid).ok().and_then(Pid::from_raw);
    namespace != 0
        && header.pid_namespace == namespace
        && is_this_boot(header)
        && pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Whether a log is from this boot of this machine.
fn is_this_boot(header: &LogHeader) -> bool {
    let Ok(text) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else { return false };
    let digits = text.trim().replace('-', "");
    let id = u128::from_str_radix(&digits, 16).map(u128::to_be_bytes);
    id.is_ok_and(|id| id == header.boot_id)
}
