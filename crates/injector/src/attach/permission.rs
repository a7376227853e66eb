//! Permission to work on a running process, and if there is none, the reason and a remedy: checked
//! before the process is stopped.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::maps;
use crate::outcome::{Error, SkipReason};
use crate::traced_thread::tracer_of_process;

/// Checks a process before it is touched.
pub(crate) fn check_attachable(process: u32) -> Result<(), Error> {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    let Ok(status) = status else { return Err(Error::NoProcess { process }) };
    let left = |why| Err(Error::skipped(process, why));
    if status_field(&status, "State").is_some_and(|state| state.starts_with(['Z', 'X'])) {
        return match has_other_threads(process) {
            true => left(SkipReason::FirstThreadEnded),
            false => Err(Error::NoProcess { process }),
        };
    }
    if status_field(&status, "State").is_some_and(|state| state.starts_with('T')) {
        return left(SkipReason::Stopped);
    }
    let tracer = tracer_of_process(process);
    if tracer != 0 {
        let why = format!("process {tracer} traces it already; end that one first");
        return Err(Error::NotAllowed { process, why });
    }
    if shares_memory(process) {
        let why =
            "it runs in the memory of its parent until it executes another program".to_owned();
        return Err(Error::NotAllowed { process, why });
    }
    let own = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if filter_count(&status) > filter_count(&own) {
        return left(SkipReason::Filtered);
    }
    // A process that may not be inspected may not be traced either; the error has the reason.
    let maps = fs::read(format!("/proc/{process}/maps"))
        .map_err(|error| explain_refusal(process, error))?;
    if !sees_same_files(process) {
        return left(SkipReason::OtherFiles);
    }
    match loaded_library(&maps) {
        Some(path) => left(SkipReason::HasLibrary(path)),
        None => Ok(()),
    }
}

/// Whether a process has threads in addition to its first one.
fn has_other_threads(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    threads.count() > 1
}

/// Whether a process shares its parent's memory, as children of `vfork` do. A patch in one of the
/// two affects both.
pub(super) fn shares_memory(process: u32) -> bool {
    /// Constant of `linux/kcmp.h`.
    const KCMP_VM: libc::c_int = 1;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let parent =
        status_field(&status, "PPid").and_then(|parent| parent.parse::<libc::pid_t>().ok());
    let Some(parent) = parent.filter(|parent| *parent > 0) else { return false };
    // SAFETY: the call takes numbers only.
    unsafe { libc::syscall(libc::SYS_kcmp, process, parent, KCMP_VM, 0, 0) == 0 }
}

/// Value of a field of `status`.
pub(super) fn status_field<'text>(status: &'text str, name: &str) -> Option<&'text str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim)
}

/// Number of seccomp filters of a process. If the recorder has the same number, the filters likely
/// belong to a container and apply to the recorder, too.
fn filter_count(status: &str) -> u32 {
    let number = |name| status_field(status, name).and_then(|value| value.parse::<u32>().ok());
    match number("Seccomp") {
        None | Some(0) => 0,
        // The original strict mode, and kernels that do not count filters.
        Some(1) => u32::MAX,
        Some(_) => number("Seccomp_filters").unwrap_or(1),
    }
}

/// Whether a process sees the same files under the same paths as this one.
fn sees_same_files(process: u32) -> bool {
    let mounts = |who: &str| fs::read_link(format!("/proc/{who}/ns/mnt")).ok();
    let root = |who: &str| fs::read_link(format!("/proc/{who}/root")).ok();
    let process = process.to_string();
    mounts(&process) == mounts("self") && root(&process) == root("self")
}

/// Path of our library if a process has loaded it.
fn loaded_library(maps: &[u8]) -> Option<PathBuf> {
    maps::file_regions(maps).map(|file| file.path).find(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("libsockcap") && name.contains(".so"))
    })
}

/// Explains why the kernel does not let us trace a process.
pub(crate) fn explain_refusal(process: u32, error: io::Error) -> Error {
    let is_refusal = [Some(libc::EPERM), Some(libc::EACCES)].contains(&error.raw_os_error());
    if !is_refusal {
        return match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => Error::NoProcess { process },
            _ => Error::NotAllowed { process, why: error.to_string() },
        };
    }
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let user = status_field(&status, "Uid").and_then(|ids| ids.split_whitespace().next());
    let user = user.and_then(|user| user.parse().ok());
    let own = rustix::process::geteuid().as_raw();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let why = refusal_text(own, user, scope.trim(), &error);
    Error::NotAllowed { process, why }
}

/// Text for a refusal. `user` is the owner of the process, and `scope` the value of Yama's
/// ptrace_scope.
fn refusal_text(own: u32, user: Option<u32>, scope: &str, error: &io::Error) -> String {
    match (user, scope) {
        (_, "3") => "kernel.yama.ptrace_scope is 3, so nothing can be traced until the machine is \
                     restarted; start it with 'sockcap record' instead"
            .to_owned(),
        (Some(user), _) if own != 0 && user != own => {
            format!("it belongs to user {user}; run sockcap as that user or as root")
        }
        (_, "1") if own != 0 => {
            "kernel.yama.ptrace_scope is 1, so only children can be traced; run sockcap as root, \
             start the program with 'sockcap record', or set it to 0 (sysctl)"
                .to_owned()
        }
        (_, "2") => {
            "kernel.yama.ptrace_scope is 2, so only root can trace; run sockcap as root".to_owned()
        }
        _ if own != 0 => format!(
            "{error}; it has privileges that its user does not have (setuid, capabilities), or \
             hides its memory; run sockcap as root"
        ),
        _ => {
            format!(
                "{error}; this root user may not trace (CAP_SYS_PTRACE is missing), as in a \
                     container"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_refusal_has_its_reason() {
        let error = || io::Error::from_raw_os_error(libc::EPERM);
        for (own, user, scope, word) in [
            (1000, Some(1000), "1", "ptrace_scope is 1"),
            (1000, Some(33), "1", "user 33"),
            (1000, Some(1000), "2", "only root"),
            (0, Some(33), "3", "scope is 3"),
            (1000, Some(1000), "", "setuid"),
            (0, Some(33), "0", "CAP_SYS_PTRACE"),
        ] {
            let words = refusal_text(own, user, scope, &error());
            assert!(words.contains(word), "{words}");
        }
    }

    /// The child stays in the memory of its parent, which waits, until it is killed.
    #[test]
    fn a_child_in_its_parents_memory_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (source, program) = (place.path().join("vforks.c"), place.path().join("vforks"));
        let text = "#include <unistd.h>\nint main(void) { if (vfork() == 0) pause(); _exit(0); }";
        fs::write(&source, text).unwrap();
        let compiled = Command::new("gcc").arg("-o").args([&program, &source]).status();
        assert!(compiled.unwrap().success());
        let mut parent = Command::new(&program).spawn().unwrap();
        let children = format!("/proc/{0}/task/{0}/children", parent.id());
        let child = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            fs::read_to_string(&children).ok()?.trim().parse::<u32>().ok()
        });
        let refused = check_attachable(child.unwrap());
        let killed = rustix::process::Pid::from_raw(child.unwrap() as i32).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
        parent.wait().unwrap();
        assert!(matches!(refused, Err(Error::NotAllowed { why, .. }) if why.contains("memory")));
        assert!(!shares_memory(std::process::id()));
    }

    /// The other thread waits until it is killed.
    #[test]
    fn a_process_without_its_first_thread_has_not_ended() {
        let place = tempfile::tempdir().unwrap();
        let (source, program) = (place.path().join("leaves.c"), place.path().join("leaves"));
        let text = "#include <pthread.h>\n#include <unistd.h>\n\
                    static void *waits(void *unused) { for (;;) pause(); return unused; }\n\
                    int main(void) { pthread_t thread; pthread_create(&thread, 0, waits, 0);\n\
                    pthread_exit(0); }";
        fs::write(&source, text).unwrap();
        let mut compiler = Command::new("gcc");
        compiler.args(["-pthread", "-o"]).args([&program, &source]);
        assert!(compiler.status().unwrap().success());
        let mut leaves = Command::new(&program).spawn().unwrap();
        let status = format!("/proc/{}/status", leaves.id());
        let has_left = || fs::read_to_string(&status).unwrap().contains("State:\tZ");
        while !has_left() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let looked = check_attachable(leaves.id());
        leaves.kill().unwrap();
        assert!(
            matches!(&looked, Err(Error::NotAttached { why: SkipReason::FirstThreadEnded, .. })),
            "{looked:?}"
        );
        // Until it is waited for, it is a zombie without threads.
        while has_other_threads(leaves.id()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(check_attachable(leaves.id()), Err(Error::NoProcess { .. })));
        leaves.wait().unwrap();
    }

    #[test]
    fn filters_are_counted() {
        assert_eq!(filter_count("Seccomp:\t0\nSeccomp_filters:\t0\n"), 0);
        assert_eq!(filter_count("Seccomp:\t2\nSeccomp_filters:\t3\n"), 3);
        assert_eq!(filter_count("Seccomp:\t2\n"), 1);
        assert_eq!(filter_count("Seccomp:\t1\n"), u32::MAX);
    }

    #[test]
    fn a_library_of_ours_is_found_by_its_name() {
        let of = |path: &str| loaded_library(format!("1-2 r-xp 0 fe:00 1    {path}\n").as_bytes());
        assert_eq!(of("/a b/libsockcap.so"), Some("/a b/libsockcap.so".into()));
        assert_eq!(of("/usr/lib/libc.so.6"), None);
        assert_eq!(of("/data/libsockcap.data/x"), None);
        assert_eq!(loaded_library(b"1-2 r-xp 0 00:00 0    [anon:/a/libsockcap.so]\n"), None);
    }
}
