//! Advice if the kernel does not report switches.

use std::fs;
use std::io;

/// Line with the reason why the thread switches are not recorded, and the remedy.
pub(in super::super) fn refusal_line(error: &io::Error) -> String {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
    let paranoid = paranoid.and_then(|text| text.trim().parse::<i32>().ok());
    let unknown = "when threads had a processor will be unknown";
    format!("no context switches ({error}), so {unknown}; {}", refusal_remedy(error, paranoid))
}

/// The remedy, by the kernel's setting `kernel.perf_event_paranoid` if it can be read.
fn refusal_remedy(error: &io::Error, paranoid: Option<i32>) -> &'static str {
    match (error.raw_os_error(), paranoid) {
        (Some(libc::EACCES | libc::EPERM), Some(level)) if level > 2 => {
            "'sysctl kernel.perf_event_paranoid=2' permits them for all users"
        }
        (Some(libc::EACCES | libc::EPERM | libc::ENOSYS), Some(_)) => {
            "a filter forbids perf_event_open; in a container, allow it in the seccomp profile"
        }
        (Some(libc::ENOSYS | libc::ENOENT), None) => "this kernel has no perf events",
        (Some(libc::EMFILE), _) => {
            "each processor needs an open file: raise the limit with 'ulimit -n'"
        }
        _ => "run as root to see whether rights are missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_remedy() {
        let out =
            |code: i32, paranoid| refusal_remedy(&io::Error::from_raw_os_error(code), paranoid);
        assert!(out(libc::EACCES, Some(3)).contains("paranoid=2"));
        assert!(out(libc::EPERM, Some(2)).contains("seccomp"));
        assert!(out(libc::ENOSYS, Some(2)).contains("seccomp"));
        assert!(out(libc::ENOSYS, None).contains("no perf events"));
        assert!(out(libc::EMFILE, Some(2)).contains("ulimit"));
    }
}
