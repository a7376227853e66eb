//! Recorder that installed a blob, according to the blob's note, and whether it still runs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::facts;

/// Inode of the initial process namespace of a machine (`PROC_PID_INIT_INO`), from which all others
/// are visible.
const FIRST_NAMESPACE: u64 = 0xeffffffc;

/// Recording process, identified by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecorderProcess {
    /// Process id in its own namespace.
    pub process: u32,
    /// Start time, in ticks of the kernel.
    pub since: u64,
    /// PID namespace of the recorder; 0 if it is not known.
    pub namespace: u64,
}

impl RecorderProcess {
    /// This process.
    pub(super) fn current() -> RecorderProcess {
        let process = std::process::id();
        let namespace = pid_namespace("self").unwrap_or(0);
        RecorderProcess {
            process,
            since: start_ticks(&process.to_string()).unwrap_or(0),
            namespace,
        }
    }

    /// Process id of a running recorder as seen from here; `None` if it has ended. A recorder that
    /// is not visible from here, as from within a container, counts as running.
    pub(super) fn living_id(self) -> Option<u32> {
        let own = pid_namespace("self");
        let name = self.process.to_string();
        if self.namespace == 0 || own == Some(self.namespace) {
            return (start_ticks(&name) == Some(self.since) && may_record(&name))
                .then_some(self.process);
        }
        let found = fs::read_dir("/proc").into_iter().flatten().find_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let process = name.parse().ok()?;
            let is_it = pid_namespace(&name) == Some(self.namespace)
                && start_ticks(&name) == Some(self.since)
                && innermost_id(&name) == Some(self.process);
            (is_it && may_record(&name)).then_some(process)
        });
        let sees_all = own == Some(FIRST_NAMESPACE);
        found.or_else(|| (!sees_all).then_some(self.process))
    }
}

/// Process namespace of a process.
fn pid_namespace(process: &str) -> Option<u64> {
    Some(fs::metadata(format!("/proc/{process}/ns/pid")).ok()?.ino())
}

/// Process id in the process's own namespace.
fn innermost_id(process: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Start time of a process. `None` if it does not exist or has ended.
fn start_ticks(process: &str) -> Option<u64> {
    facts::running_since(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Whether a process runs a program that records. A recorded process may name any other one in its
/// note, and users are advised to end the named process.
fn may_record(process: &str) -> bool {
    let path = format!("/proc/{process}/exe");
    let known = |path: &str| fs::metadata(path).map(|about| (about.dev(), about.ino()));
    // A process that does not let us inspect its program may be another user's recorder.
    let Ok(program) = fs::read_link(&path) else { return true };
    let is_own =
        known(&path).ok().is_some_and(|of| known("/proc/self/exe").is_ok_and(|own| own == of));
    is_own
        || Path::file_name(&program)
            .is_some_and(|name| name.to_string_lossy().starts_with("sockcap"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_recorder_counts_as_running_while_its_process_runs() {
        let own = RecorderProcess::current();
        assert_eq!(own.living_id(), Some(own.process));
        assert_eq!(RecorderProcess { since: own.since - 1, ..own }.living_id(), None);
        // The note of an older version.
        assert_eq!(RecorderProcess { namespace: 0, ..own }.living_id(), Some(own.process));
    }

    /// A container's processes have other numbers. This test uses one of another namespace.
    #[test]
    fn a_recorder_in_another_namespace_is_known_by_its_own_id() {
        let mut child = Command::new("unshare").args(["--pid", "--fork", "sleep", "100"]).spawn();
        let parent = child.as_ref().unwrap().id();
        let children = format!("/proc/{parent}/task/{parent}/children");
        let of_child = || fs::read_to_string(&children).ok()?.trim().parse::<u32>().ok();
        let number = (0..1000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            of_child()
        });
        let name = number.unwrap().to_string();
        let (other, began) = (pid_namespace(&name).unwrap(), start_ticks(&name).unwrap());
        assert_eq!(innermost_id(&name), Some(1));
        let noted = RecorderProcess { process: 1, since: began, namespace: other };
        // The program of process 1 does not record, so users are not advised to end it.
        let sees_all = pid_namespace("self") == Some(FIRST_NAMESPACE);
        assert_eq!(noted.living_id(), (!sees_all).then_some(1));
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(number.unwrap() as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        child.as_mut().unwrap().wait().unwrap();
    }

    #[test]
    fn a_process_with_another_program_is_not_a_recorder() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let name = child.id().to_string();
        let noted = RecorderProcess {
            process: child.id(),
            since: start_ticks(&name).unwrap(),
            namespace: 0,
        };
        // Until it has executed its program it runs this one.
        let ended = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            noted.living_id().is_none()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ended);
    }
}
