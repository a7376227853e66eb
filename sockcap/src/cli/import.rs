//! The arguments of `sockcap import`, a subcommand for each kind of file.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use importers::{Calls, Packets, Project5, Strace, Unit, how_to_run_strace};

use super::Data;
use super::values::{host_name, unit};

pub(super) const HELP: &str = "\
Importing the same again replaces it. Recordings and imports of one directory
are one trace.

Examples:
  sockcap import calls calls.csv.gz && sockcap report
  sockcap import messages messages.csv --nodes nodes.csv -d copy
  sockcap import project5 --unit ms trace.txt
  sockcap import strace --host web1 /tmp/trace
  sockcap import pcap --host web=web.pcap --host db=db.pcap";

#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) source: Source,
}

/// What is imported.
#[derive(Debug, Subcommand)]
pub(crate) enum Source {
    /// A table of messages: CSV, plain or compressed (gzip, zstd)
    ///
    /// Its columns, in any order, are those of 'sockcap export messages'. Needed are src, dst and a
    /// column with times: send_ts and recv_ts are on one clock, send_first, send_last, recv_first
    /// and recv_last each on the clock of its own host. Empty is unknown. src_host and dst_host say
    /// on which host a node is, where its name does not.
    #[command(after_help = MESSAGES_HELP)]
    Messages(Messages),
    /// A table of calls: CSV, plain or compressed (gzip, zstd)
    ///
    /// Its columns, in any order: call_id, caller, callee; t_call_send, t_call_recv, t_ret_send and
    /// t_ret_recv, each on the clock of the side that read it, empty where unknown; caller_thread,
    /// callee_thread, req_bytes, resp_bytes, caller_host and callee_host where they are known.
    #[command(after_help = CALLS_HELP)]
    Calls(Table),
    /// A trace as in the Project 5 paper: timestamp operation sender rcvr ID
    ///
    /// A line a message, the columns with space between them. The operation is CALL, RETURN or
    /// MESSAGE, the time (in seconds unless --unit says otherwise) stands for both ends, and ID
    /// pairs a call with its return.
    #[command(after_help = PROJECT5_HELP)]
    Project5(Table),
    /// The output of strace, for programs that the library cannot be loaded into
    ///
    /// What it saw becomes logs, as 'sockcap record' writes them: programs of which some were
    /// recorded and others traced by strace are one system. Needed are whole times (-ttt) and the
    /// sockets' names (-yy). The payloads of datagrams tell which is which (-s 65535); of them,
    /// only checksums are kept. A file of 'strace -f', those of one 'strace -ff', and those of
    /// several at once on one host; plain or compressed (gzip, zstd).
    #[command(after_help = strace_help())]
    Strace(StraceFiles),
    /// Captured packets: pcap or pcapng, plain or compressed (gzip, zstd)
    ///
    /// TCP connections are put together from their segments, and become with the datagrams what the
    /// programs at both ends would have logged. Name all captures of a system at once: each host's
    /// packets are timed by the sniffer that saw most of them, and translated addresses are found
    /// by packets that several saw.
    #[command(after_help = PCAP_HELP)]
    Pcap(Pcap),
}

const MESSAGES_HELP: &str = "\
Examples:
  sockcap import messages messages.csv && sockcap report
  sockcap import messages messages.csv --nodes nodes.csv -d copy";

const CALLS_HELP: &str = "\
Examples:
  sockcap import calls calls.csv && sockcap report
  sockcap import calls calls.csv.gz --unit us --name friday";

const PROJECT5_HELP: &str = "\
Examples:
  sockcap import project5 trace.txt && sockcap report
  sockcap import project5 --unit ms trace.txt";

/// How strace is to be run.
fn strace_help() -> String {
    format!(
        "Run strace like this:\n  {}\n\nExamples:\n  sockcap import strace /tmp/trace && sockcap report\n  sockcap import strace --host web1 /tmp/trace.*",
        how_to_run_strace("FILE", "CMD")
    )
}

/// Files of strace's.
#[derive(Debug, Args)]
pub(crate) struct StraceFiles {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// The host that the programs ran on, by the name it has in the trace [default: this host's own
    /// name]
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(crate) host: Option<String>,
}

impl StraceFiles {
    /// The importer.
    pub(crate) fn importer(&self) -> Strace {
        Strace { host: self.host.clone().unwrap_or_else(own_name) }
    }
}

/// This host's name, as a recording without a name for it has it.
fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

const PCAP_HELP: &str = "\
A file of 'tcpdump -i any' says which addresses are those of the host it was
captured on; of other files it is found where it can be. --host names that
host; without, it is called after the file. Hosts without a capture of their
own are called by their addresses. A host that also connects to others is one
node; of one that only answers each port is a node.

Examples:
  tcpdump -i any -s 0 -w web.pcap          on each host, and then
  sockcap import pcap --host web=web.pcap --host db=db.pcap && sockcap report
  sockcap import pcap switch.pcapng.zst --address web=10.0.0.1";

/// Captures.
#[derive(Debug, Args)]
pub(crate) struct Pcap {
    /// The files, each of another sniffer
    #[arg(required_unless_present = "hosts", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// On which host a file was captured; several files of one host are one sniffer's
    #[arg(long = "host", value_name = "NAME=FILE", value_parser = host_file)]
    pub(crate) hosts: Vec<(String, PathBuf)>,
    /// Which host an address is of
    #[arg(long = "address", value_name = "NAME=ADDRESS", value_parser = host_address)]
    pub(crate) addresses: Vec<(String, IpAddr)>,
}

impl Pcap {
    /// The importer.
    pub(crate) fn importer(&self) -> Packets {
        Packets { hosts: self.hosts.clone(), addresses: self.addresses.clone() }
    }
}

fn host_file(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("write it as NAME=FILE, such as web=web.pcap")?;
    Ok((host_name(name)?, file.into()))
}

fn host_address(text: &str) -> Result<(String, IpAddr), String> {
    let (name, address) =
        text.split_once('=').ok_or("write it as NAME=ADDRESS, such as web=10.0.0.1")?;
    let address = address.parse().map_err(|_| format!("'{address}' is no IP address"))?;
    Ok((host_name(name)?, address))
}

/// Tables of messages.
#[derive(Debug, Args)]
pub(crate) struct Messages {
    #[command(flatten)]
    pub(crate) table: Table,
    /// The table of nodes ('sockcap export nodes') of which src and dst are ids, instead of names
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Option<PathBuf>,
}

impl Messages {
    /// The importer.
    pub(crate) fn importer(&self) -> importers::Messages {
        importers::Messages {
            name: self.table.name.clone(),
            unit: self.table.unit.unwrap_or(Unit::Nanoseconds),
            nodes: self.nodes.clone(),
        }
    }
}

/// Tables of one kind.
#[derive(Debug, Args)]
pub(crate) struct Table {
    /// The files, which become one import
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// What to call the import [default: after the first file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The unit of the times: s, ms, us or ns [default: ns; project5: s]
    #[arg(long, value_name = "UNIT", value_parser = unit(), hide_possible_values = true)]
    pub(crate) unit: Option<Unit>,
}

impl Table {
    /// The importer of calls.
    pub(crate) fn calls(&self) -> Calls {
        Calls { name: self.name.clone(), unit: self.unit.unwrap_or(Unit::Nanoseconds) }
    }

    /// The importer of Project 5's traces.
    pub(crate) fn project5(&self) -> Project5 {
        Project5 { name: self.name.clone(), unit: self.unit.unwrap_or(Unit::Seconds) }
    }
}
