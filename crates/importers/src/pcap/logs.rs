//! Logs of the hosts with packets that are timed by one sniffer's clock: the records that their
//! programs would have written, as far as packets show.
//!
//! A log is written chunk by chunk, under another name, and gets its own name at the end: a failing
//! import leaves no partial log, and the size of a capture does not matter.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use message_trace::{DataDir, DataPath};
use rustc_hash::{FxHashMap, FxHashSet};
use socket_log::encode::{DatagramRecord, Direction, FlowOrigin, FlowRole, datagram_flag};
use socket_log::layout::{source, state};
use socket_log::write::{LogWriter, SocketParameters, TCP, TCP6, UDP, inet_address};

use super::headers::PacketEnd;
use super::plan::PlannedHost;
use crate::error::Error;
use crate::tuning::{MAX_HELD_CHUNKS, NEW_FILE_MODE};

/// A UDP socket of the IPv6 family.
const UDP6: SocketParameters = SocketParameters { domain: 10, ..UDP };

/// Reference to a socket in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowRef {
    log: u32,
    flow: u32,
}

/// Logs that one sniffer produces.
pub(crate) struct SnifferLogs {
    /// `None` to only count records.
    hosts: Option<DataPath>,
    sniffer: String,
    logs: Vec<NodeLog>,
    /// Index of the log of each host and service; a host without separate services has one log.
    by_node: FxHashMap<(u32, Option<u16>), u32>,
    /// Ports with a listening socket in a log.
    listening: FxHashSet<(u32, u16)>,
    /// Number of records written.
    pub(crate) records: u64,
}

struct NodeLog {
    writer: LogWriter,
    path: DataPath,
    /// Path while it is being written.
    unfinished: DataPath,
    /// Number of flows so far.
    flows: u32,
    /// Whether the file was created.
    begun: bool,
}

impl SnifferLogs {
    /// Creates the logs of `sniffer` in `data`, or without output if that is `None`.
    pub(crate) fn new(data: Option<&DataDir>, sniffer: &str) -> SnifferLogs {
        SnifferLogs {
            hosts: data.map(DataDir::hosts_dir),
            sniffer: sniffer.to_owned(),
            logs: Vec::new(),
            by_node: FxHashMap::default(),
            listening: FxHashSet::default(),
            records: 0,
        }
    }

    /// Opens a connection of `own`, which is on the host number `number`.
    pub(crate) fn open_connection(
        &mut self,
        (number, host): (u32, &PlannedHost),
        [own, peer]: [PacketEnd; 2],
        role: FlowRole,
        time: i64,
    ) -> FlowRef {
        let log = self.log_of_end(number, host, own, time);
        let origin = match role {
            FlowRole::Connect => FlowOrigin::Socket,
            FlowRole::Accept => FlowOrigin::Accept,
            _ => FlowOrigin::Found,
        };
        let socket = if own.0.is_ipv6() { TCP6 } else { TCP };
        let reference = self.begin_flow(log, socket, origin, time);
        let (own, peer) = (encode_end(own), encode_end(peer));
        self.write_record(reference, |writer, flow| {
            match role {
                // The connection's first packet is sent by the call to connect.
                FlowRole::Connect => {
                    writer.endpoints_connecting(ticks_of_time(time), flow, 0, [&own, &peer], 0)
                }
                _ => writer.endpoints(ticks_of_time(time), flow, role, &own, &peer, 0),
            };
        });
        reference
    }

    /// Opens a socket that listens on the port of `own`, on any address, as connections to it are
    /// older than the capture; once for each log.
    pub(crate) fn open_listener(
        &mut self,
        (number, host): (u32, &PlannedHost),
        own: PacketEnd,
        time: i64,
    ) {
        let log = self.log_of_end(number, host, own, time);
        if !self.listening.insert((log, own.1)) {
            return;
        }
        let (socket, any): (_, IpAddr) = match own.0 {
            IpAddr::V4(_) => (TCP, Ipv4Addr::UNSPECIFIED.into()),
            IpAddr::V6(_) => (TCP6, Ipv6Addr::UNSPECIFIED.into()),
        };
        let reference = self.begin_flow(log, socket, FlowOrigin::Found, time);
        let own = encode_end((any, own.1));
        self.write_record(reference, |writer, flow| {
            writer.endpoints(ticks_of_time(time), flow, FlowRole::Listen, &own, &[], 0);
        });
    }

    /// Opens a socket for datagrams, bound to `own`.
    pub(crate) fn open_datagram_socket(
        &mut self,
        (number, host): (u32, &PlannedHost),
        own: PacketEnd,
        time: i64,
    ) -> FlowRef {
        let log = self.log_of_end(number, host, own, time);
        let socket = if own.0.is_ipv6() { UDP6 } else { UDP };
        let reference = self.begin_flow(log, socket, FlowOrigin::Socket, time);
        let own = encode_end(own);
        self.write_record(reference, |writer, flow| {
            writer.endpoints(ticks_of_time(time), flow, FlowRole::Bind, &own, &[], 0);
        });
        reference
    }

    /// Writes a transfer of stream bytes.
    pub(crate) fn write_transfer(
        &mut self,
        to: FlowRef,
        direction: Direction,
        time: i64,
        bytes: u64,
    ) -> Result<(), Error> {
        self.write_record(to, |writer, flow| {
            writer.transfer(ticks_of_time(time), flow, direction, bytes);
        });
        self.spill_if_full(to)
    }

    /// Writes a transfer of a datagram.
    pub(crate) fn write_datagram(
        &mut self,
        to: FlowRef,
        direction: Direction,
        time: i64,
        peer: PacketEnd,
        (bytes, checksum, whole): (u32, u32, bool),
    ) -> Result<(), Error> {
        let peer = encode_end(peer);
        self.write_record(to, |writer, flow| {
            writer.datagram(&DatagramRecord {
                direction,
                flow,
                ticks: ticks_of_time(time),
                duration: 0,
                bytes: u64::from(bytes),
                checksum,
                flags: if whole { 0 } else { datagram_flag::TRUNCATED },
                peer: &peer,
            });
        });
        self.spill_if_full(to)
    }

    /// Records that the socket was closed.
    pub(crate) fn close_socket(&mut self, of: FlowRef, time: i64) {
        self.write_record(of, |writer, flow| {
            writer.close(ticks_of_time(time), flow);
        });
    }

    /// Writes the remaining records and gives all logs their names. Returns their paths.
    pub(crate) fn finish(mut self) -> Result<Vec<DataPath>, Error> {
        let mut paths = Vec::new();
        for log in self.logs.iter_mut().filter(|_| self.hosts.is_some()) {
            log.write_with(|writer, file| writer.finish_file(file))?;
            log.unfinished
                .rename_to(&log.path)
                .map_err(|error| Error::from_io(&log.path, error))?;
            paths.push(log.path.clone());
        }
        self.logs.clear();
        Ok(paths)
    }

    /// Log of the node to which `own` belongs.
    fn log_of_end(&mut self, number: u32, host: &PlannedHost, own: PacketEnd, time: i64) -> u32 {
        let service = Some(own.1).filter(|port| host.services.contains(port));
        let next = self.logs.len() as u32;
        let log = *self.by_node.entry((number, service)).or_insert(next);
        if log == next {
            let command = match service.or(host.service) {
                Some(port) => format!("{}:{port}", bracket_name(&host.name)),
                None => host.name.clone(),
            };
            let mut writer = LogWriter::new(&host.name, 0, "");
            writer.set_arguments(&[&command]).set_boot_id([0; 16]).set_source(source::PACKETS);
            writer.set_state(state::EXITED).set_epoch(0).set_start(ticks_of_time(time));
            let service = service.map_or_else(|| "all".to_owned(), |port| port.to_string());
            let file = format!("{}{service}.sclog", log_prefix(&self.sniffer));
            // Without a data directory it is never opened.
            let nowhere = || DataPath::trusted("");
            let path = self.hosts.clone().unwrap_or_else(nowhere).join(&host.name).join(file);
            let unfinished = path.unfinished_path();
            self.logs.push(NodeLog { writer, path, unfinished, flows: 0, begun: false });
        }
        log
    }

    fn begin_flow(
        &mut self,
        log: u32,
        socket: SocketParameters,
        origin: FlowOrigin,
        time: i64,
    ) -> FlowRef {
        let mut reference = FlowRef { log, flow: 0 };
        if let Some(log) = self.logs.get_mut(log as usize) {
            log.flows += 1;
            reference.flow = log.flows;
        }
        self.write_record(reference, |writer, flow| {
            writer.flow(ticks_of_time(time), flow, socket, origin, 0);
        });
        reference
    }

    fn write_record(&mut self, to: FlowRef, record: impl FnOnce(&mut LogWriter, u32)) {
        if let Some(log) = self.logs.get_mut(to.log as usize) {
            record(&mut log.writer, to.flow);
            self.records += 1;
        }
    }

    fn spill_if_full(&mut self, of: FlowRef) -> Result<(), Error> {
        match self.logs.get_mut(of.log as usize) {
            Some(log) if log.writer.full_chunks() >= MAX_HELD_CHUNKS && self.hosts.is_some() => {
                log.write_with(|writer, file| writer.spill_full_chunks(file))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for SnifferLogs {
    /// Removes logs that were not finished.
    fn drop(&mut self) {
        for log in self.logs.iter().filter(|log| log.begun) {
            // The log may have its final name already, or be out of reach; it is not read in either
            // case.
            let _ = log.unfinished.remove_file();
        }
    }
}

impl NodeLog {
    fn write_with(
        &mut self,
        write: impl FnOnce(&mut LogWriter, &File) -> io::Result<()>,
    ) -> Result<(), Error> {
        let path = &self.unfinished;
        let open = || -> io::Result<File> {
            if self.begun {
                return path.open_to_write();
            }
            path.parent().create_dir_all()?;
            path.create_new(NEW_FILE_MODE)
        };
        let written = open().and_then(|file| {
            self.begun = true;
            write(&mut self.writer, &file)
        });
        written.map_err(|error| Error::from_io(&self.unfinished, error))
    }
}

/// Prefix of the names of logs from `sniffer`.
fn log_prefix(sniffer: &str) -> String {
    format!("packets-{sniffer}-")
}

/// Logs in `data` from an earlier import of `sniffer`.
pub(crate) fn earlier_logs(data: &DataDir, sniffer: &str) -> Result<Vec<DataPath>, Error> {
    let prefix = log_prefix(sniffer);
    let is_ours = |path: &DataPath| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let service = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".sclog"));
        service.is_some_and(|service| service == "all" || service.parse::<u16>().is_ok())
    };
    Ok(data.log_paths()?.into_iter().filter(|path| is_ours(path)).collect())
}

fn bracket_name(name: &str) -> String {
    if name.contains(':') { format!("[{name}]") } else { name.to_owned() }
}

fn encode_end(end: PacketEnd) -> Vec<u8> {
    inet_address(SocketAddr::new(end.0, end.1))
}

/// Converts a time to ticks: nanoseconds since the Unix epoch.
fn ticks_of_time(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0)
}
