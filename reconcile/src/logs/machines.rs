//! Location of a log's process: its host, the kernel, and the machine, which is a network namespace
//! of a kernel. All code for it is here, because loopback addresses, process ids and paths are
//! meaningful only within one of these.

use std::borrow::Cow;
use std::io;

use message_trace::{DataDir, DataPath};
use rustc_hash::FxHashMap;
use socket_log::LogHeader;

use crate::indices::{HostIndex, KernelIndex, MachineIndex};
use crate::tuning::MAX_SENDER_BYTES;

/// Location of a process, each by its index among all of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessHome {
    pub(crate) host: HostIndex,
    /// One boot of a kernel. It owns process ids and the paths of unix sockets.
    pub(crate) kernel: KernelIndex,
    /// A network namespace of a kernel. It owns loopback addresses and abstract unix names.
    pub(crate) machine: MachineIndex,
    /// Whether the log states the kernel.
    is_reported: bool,
}

/// All hosts, kernels and machines.
#[derive(Default)]
pub(crate) struct MachineTable {
    names: FxHashMap<String, HostIndex>,
    kernels: FxHashMap<([u8; 16], Option<HostIndex>, LogSender), KernelIndex>,
    machines: FxHashMap<(KernelIndex, u64), MachineIndex>,
    senders: FxHashMap<DataPath, LogSender>,
}

/// Sender of a log to a collector: the names of the key that was shown. `None` if the log was
/// recorded here.
///
/// Statements of a sender about its kernel are believed for its own logs only. Otherwise a host
/// could claim that it is a process of another's machine, and be treated as the other end of
/// traffic within that machine, and as another reader of its clock.
type LogSender = Option<String>;

impl MachineTable {
    /// Locates the process of the log at `path`.
    pub(crate) fn locate_process(&mut self, header: &LogHeader, path: &DataPath) -> ProcessHome {
        let next = HostIndex::from_index(self.names.len());
        let host = *self.names.entry(host_name(header, path).into_owned()).or_insert(next);
        // Without the kernel's id a host is a kernel of its own, unless other logs identify it.
        let is_reported = header.boot_id != [0; 16];
        let next = KernelIndex::from_index(self.kernels.len());
        let sender = self.find_sender(&path.parent());
        let kernel = (header.boot_id, (!is_reported).then_some(host), sender);
        let kernel = *self.kernels.entry(kernel).or_insert(next);
        let next = MachineIndex::from_index(self.machines.len());
        let machine = *self.machines.entry((kernel, header.namespace)).or_insert(next);
        ProcessHome { host, kernel, machine, is_reported }
    }

    /// The sender of the logs in this directory.
    fn find_sender(&mut self, directory: &DataPath) -> LogSender {
        if let Some(known) = self.senders.get(directory) {
            return known.clone();
        }
        let sender = match DataDir::sender_path_in(directory).read_text_at_most(MAX_SENDER_BYTES) {
            Ok(names) => Some(names),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // An unreadable file counts as a sender of its own.
            Err(_) => Some(directory.display().to_string()),
        };
        self.senders.entry(directory.to_owned()).or_insert(sender).clone()
    }

    /// Number of machines.
    pub(crate) fn machine_count(&self) -> usize {
        self.machines.len()
    }

    /// The names of the hosts, in their order.
    pub(crate) fn into_hosts(self) -> Vec<String> {
        let mut hosts: Vec<(String, HostIndex)> = self.names.into_iter().collect();
        hosts.sort_by_key(|(_, place)| *place);
        hosts.into_iter().map(|(name, _)| name).collect()
    }
}

/// Assigns processes with a log that does not state where they ran (packets and strace have no
/// facts about the machine) to the machine of the other processes of their host, with its loopback
/// addresses, if there is only one.
pub(crate) fn resolve_homes(homes: &mut [ProcessHome]) {
    let mut known: FxHashMap<HostIndex, Option<ProcessHome>> = FxHashMap::default();
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

/// The name of the host. The log's directory also has that name and is used if the header does not
/// contain the name.
pub(crate) fn host_name<'a>(header: &'a LogHeader, path: &DataPath) -> Cow<'a, str> {
    if header.host.is_empty() {
        let directory = path.parent();
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        return Cow::Owned(name.into_owned());
    }
    Cow::Borrowed(&header.host)
}
