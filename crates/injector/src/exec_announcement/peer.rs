//! Peer of a connection, as the kernel identifies it: only processes of the recorder's own user are
//! traced, and each can announce only itself.

use std::os::unix::net::UnixStream;

use crate::outcome::Error;
use crate::ptrace::Tid;
use crate::rights::has_effective_user;

/// Process id of a connection's peer if the peer belongs to this process's user. Root accepts all
/// users, as its children may have become any of them.
pub(crate) fn peer_process(connection: &UnixStream) -> Result<u32, Error> {
    let refused = |why: String| Error::Announcement(why);
    let peer = rustix::net::sockopt::socket_peercred(connection)
        .map_err(|error| refused(format!("its sender is not known: {error}")))?;
    let (own, other) = (rustix::process::geteuid(), peer.uid);
    if !may_announce(own.as_raw(), other.as_raw()) {
        return Err(refused(format!("its sender is user {}", other.as_raw())));
    }
    // The kernel reports 0, which is not a `Pid`, for a process that is not visible from here.
    let process = rustix::process::Pid::as_raw(Some(peer.pid));
    let process = u32::try_from(process).ok().filter(|process| *process > 0).ok_or_else(|| {
        refused("its sender is in a container that cannot be seen from here".to_owned())
    })?;
    // The process id is from the moment of the connection. If the process has ended since, another
    // user's process may have the id.
    if !has_effective_user(process, other.as_raw()) {
        return Err(refused("its sender has ended, or has changed its user".to_owned()));
    }
    Ok(process)
}

/// Whether a user may announce to a recorder of another user.
fn may_announce(recorder: u32, sender: u32) -> bool {
    recorder == 0 || recorder == sender
}

/// Thread id, in our namespace, of a process's thread that has the id `announced` in the process's
/// own namespace; in a container these differ.
pub(crate) fn find_thread(process: u32, announced: u32) -> Option<Tid> {
    let own = |task: &str| {
        let status = std::fs::read_to_string(format!("/proc/{process}/task/{task}/status")).ok()?;
        innermost_id(&status)
    };
    // The likely case first: both ids are the same.
    if own(&announced.to_string()) == Some(announced) {
        return Tid::try_from(announced).ok();
    }
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let names = tasks.filter_map(|task| task.ok()?.file_name().into_string().ok());
    let found = names.into_iter().find(|name| own(name) == Some(announced))?;
    found.parse().ok()
}

/// Id of a thread in its own namespace, from the text of its `status`.
fn innermost_id(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_announces_to_its_own_recorder_and_to_root() {
        assert!(may_announce(1000, 1000) && may_announce(0, 1000) && may_announce(0, 0));
        assert!(!may_announce(1000, 1001) && !may_announce(1000, 0));
    }

    #[test]
    fn a_process_of_another_user_is_not_the_one_that_connected() {
        let own = rustix::process::geteuid().as_raw();
        assert!(has_effective_user(std::process::id(), own));
        assert!(!has_effective_user(std::process::id(), own + 1));
        assert!(!has_effective_user(u32::MAX, own));
    }

    #[test]
    fn the_innermost_number_is_the_last() {
        assert_eq!(innermost_id("Name:\tNSpid:\nNSpid:\t100\t7\t1\nNSsid:\t2\n"), Some(1));
        assert_eq!(innermost_id("NSpid:\t100\n"), Some(100));
        assert_eq!(innermost_id("Name:\ta\n"), None);
    }

    #[test]
    fn threads_of_this_process_are_found() {
        let own = std::process::id();
        let tid = std::thread::spawn(move || {
            let tid = rustix::thread::gettid().as_raw_pid();
            assert_eq!(find_thread(own, tid as u32), Some(tid));
            tid
        });
        let tid = tid.join().unwrap();
        assert_ne!(tid as u32, own);
        assert_eq!(find_thread(own, own), Some(own as Tid));
        assert_eq!(find_thread(own, u32::MAX), None);
    }
}
