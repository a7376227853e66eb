//! Where a log's process ran: its host, the kernel, and the machine, which is a network namespace
//! of a kernel. One place for it, because loopback addresses, process ids and paths mean something
//! only within one of these.

use std::borrow::Cow;
use std::io;

use message_trace::{DataDir, DataPath};
use rustc_hash::FxHashMap;
use socket_log::LogHeader;

use crate::tuning::MAX_SENDER_BYTES;

/// Where a process ran, each by its place among all of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessHome {
    pub(crate) host: u32,
    /// One boot of a kernel. It owns process ids and the paths of unix sockets.
    pub(crate) kernel: u32,
    /// A network namespace of a kernel. It owns loopback addresses and abstract unix names.
    pub(crate) machine: u32,
    /// Whether the log says which kernel that is.
    is_reported: bool,
}

/// All hosts, kernels and machines that there are.
#[derive(Default)]
pub(crate) struct MachineTable {
    names: FxHashMap<String, u32>,
    kernels: FxHashMap<([u8; 16], Option<u32>, LogSender), u32>,
    machines: FxHashMap<(u32, u64), u32>,
    senders: FxHashMap<DataPath, LogSender>,
}

/// Who sent a log to a collector: the names of the key that was shown. `None`: nobody, as it was
/// recorded here.
///
/// What a sender says of its kernel is believed of its own logs only. Else a host could say that it
/// is a process of another's machine, and be taken for the other end of what goes on within that,
/// and for another reader of its clock.
type LogSender = Option<String>;

impl MachineTable {
    /// Where the process of the log at `path` ran.
    pub(crate) fn locate_process(&mut self, header: &LogHeader, path: &DataPath) -> ProcessHome {
        let next = self.names.len() as u32;
        let host = *self.names.entry(host_name(header, path).into_owned()).or_insert(next);
        // Without the kernel's id a host is a kernel of its own, unless others say which it is.
        let told = header.boot_id != [0; 16];
        let next = self.kernels.len() as u32;
        let sender = self.find_sender(&path.parent());
        let kernel = (header.boot_id, (!told).then_some(host), sender);
        let kernel = *self.kernels.entry(kernel).or_insert(next);
        let next = self.machines.len() as u32;
        let machine = *self.machines.entry((kernel, header.namespace)).or_insert(next);
        ProcessHome { host, kernel, machine, is_reported: told }
    }

    /// Who sent the logs of this directory.
    fn find_sender(&mut self, directory: &DataPath) -> LogSender {
        if let Some(known) = self.senders.get(directory) {
            return known.clone();
        }
        let sender = match DataDir::sender_path_in(directory).read_text_at_most(MAX_SENDER_BYTES) {
            Ok(names) => Some(names),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // Somebody of whom nothing else is known, then.
            Err(_) => Some(directory.display().to_string()),
        };
        self.senders.entry(directory.to_owned()).or_insert(sender).clone()
    }

    /// How many machines there are.
    pub(crate) fn machine_count(&self) -> u32 {
        self.machines.len() as u32
    }

    /// The names of the hosts, in their order.
    pub(crate) fn into_hosts(self) -> Vec<String> {
        let mut hosts: Vec<(String, u32)> = self.names.into_iter().collect();
        hosts.sort_by_key(|(_, place)| *place);
        hosts.into_iter().map(|(name, _)| name).collect()
    }
}

/// Puts processes whose log does not say where they ran (packets and strace tell nothing of the
/// machine) on the machine that the others of their host are on, with its loopback addresses, where
/// that is one.
pub(crate) fn resolve_homes(homes: &mut [ProcessHome]) {
    let mut known: FxHashMap<u32, Option<ProcessHome>> = FxHashMap::default();
    for home in homes.iter().filter(|home| home.is_reported) {
        known
            .entry(home.host)
            .and_modify(|known| *known = known.filter(|known| known == home))
            .or_insert(Some(*home));
    }
    for home in homes.iter_mut().filter(|home| !home.is_reported) {
        if let Some(Some(known)) = known.get(&home.host) {
            (home.kernel, home.machine) = (known.kernel, known.machine);
        }
    }
}

/// The name of the host. The log's directory is named after it as well and stands in where the
/// header has no name.
pub(crate) fn host_name<'a>(header: &'a LogHeader, path: &DataPath) -> Cow<'a, str> {
    if header.host.is_empty() {
        let directory = path.parent();
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        return Cow::Owned(name.into_owned());
    }
    Cow::Borrowed(&header.host)
}
