//! Network namespaces: made by `ip netns` under a name that identifies the test process, entered,
//! and removed with all processes in them.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::capture::{program_path, run_successfully};

/// Directory where `ip netns` keeps namespaces.
const DIRECTORY: &str = "/run/netns";
/// Beginning of the names of all labs' namespaces.
const PREFIX: &str = "sockcap-lab";

/// A network namespace.
#[derive(Clone, Debug)]
pub struct NetworkNamespace {
    name: String,
    file: Arc<File>,
}

impl NetworkNamespace {
    /// Makes a namespace, with its loopback interface up.
    pub(super) fn new(name: &str) -> NetworkNamespace {
        run_successfully(Command::new(program_path("ip")).args(["netns", "add", name]));
        let path = Path::new(DIRECTORY).join(name);
        let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let namespace = NetworkNamespace { name: name.to_owned(), file: Arc::new(file) };
        namespace.run_ip("link set lo up");
        namespace
    }

    /// The name of the namespace for `ip netns`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The inode of the namespace, as logs have it.
    pub fn inode(&self) -> u64 {
        self.file.metadata().unwrap().ino()
    }

    /// Runs `ip` in the namespace, with arguments separated by spaces.
    pub fn run_ip(&self, arguments: &str) -> String {
        run_successfully(
            Command::new(program_path("ip")).args(["-n", &self.name]).args(arguments.split(' ')),
        )
    }

    /// Makes a command run in the namespace.
    pub fn enter_with(&self, command: &mut Command) {
        let file = Arc::clone(&self.file);
        let enter = move || move_into(&file);
        // SAFETY: the child makes one system call on an open descriptor, and allocates nothing.
        unsafe { command.pre_exec(enter) };
    }

    /// Runs `work` on a thread inside the namespace.
    pub fn run_inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let run = || {
            move_into(&self.file).unwrap_or_else(|error| panic!("{}: {error}", self.name));
            work()
        };
        std::thread::scope(|scope| scope.spawn(run).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Kills the processes in the namespace, and removes it. A failure is ignored, since a test may
    /// be failing already; the next lab tries again.
    pub(super) fn remove_quietly(&self) {
        remove_named(&self.name);
    }
}

fn move_into(file: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Prefix of the names of this test process's namespaces. It contains the id of the process and, as
/// ids are reused, the start time.
pub(super) fn own_prefix() -> String {
    let pid = std::process::id();
    format!("{PREFIX}-{pid}-{}", start_time_of(pid).expect("this process runs"))
}

/// The start time of a process, in the kernel's own units.
fn start_time_of(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is in parentheses and may contain any characters.
    text.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// Removes the namespaces of test processes that have ended.
pub(super) fn remove_stale() {
    for entry in fs::read_dir(DIRECTORY).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('-')) else {
            continue;
        };
        let mut numbers = rest.split('-').map_while(|number| number.parse::<u64>().ok());
        if let (Some(pid), Some(start)) = (numbers.next(), numbers.next())
            && start_time_of(pid as u32) != Some(start)
        {
            remove_named(&name);
        }
    }
}

fn remove_named(name: &str) {
    let path = Path::new(DIRECTORY).join(name);
    // A process that is being started while the others are killed is found the second time.
    for _ in 0..100 {
        let inside = processes_in(&path);
        for pid in &inside {
            let _ = kill_process(*pid, Signal::KILL);
        }
        if inside.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let _ = Command::new("ip").args(["netns", "delete", name]).output();
}

/// The processes in the namespace at `path`. Zombies are in none.
fn processes_in(path: &Path) -> Vec<Pid> {
    let Ok(wanted) = fs::metadata(path).map(|status| (status.dev(), status.ino())) else {
        return Vec::new();
    };
    let is_inside = |directory: &PathBuf| {
        fs::metadata(directory.join("ns/net"))
            .is_ok_and(|status| (status.dev(), status.ino()) == wanted)
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let pid =
        |directory: PathBuf| directory.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw);
    all.filter(is_inside).filter_map(pid).collect()
}
