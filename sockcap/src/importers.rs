//! The importers and what each says of itself.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use importers::{Calls, Importer, Messages, Packets, Project5, Strace, Unit};
use registry::{About, AnyFlag, Choice, Entry, Flag, Given, values};

use crate::arguments::values::host_name;

/// A kind of foreign capture.
pub(crate) struct Kind {
    /// Its name and help.
    pub(crate) about: About,
    /// What help says of the files.
    pub(crate) files: &'static str,
    /// The flag that names files, too, so that none need be named without it.
    pub(crate) files_by: Option<&'static str>,
    /// Its flags.
    pub(crate) flags: &'static [&'static dyn AnyFlag],
    /// The importer as the user wants it.
    pub(crate) make: fn(&Given) -> Box<dyn Importer>,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}

impl Entry for Kind {
    fn about(&self) -> &About {
        &self.about
    }

    fn flags(&self) -> &'static [&'static dyn AnyFlag] {
        self.flags
    }
}

/// All kinds, in the order of help.
pub(crate) static IMPORTERS: &[&Kind] = &[&MESSAGES, &CALLS, &PROJECT5, &STRACE, &PCAP];

static NAME: Flag<String> = Flag::text(
    "name",
    "NAME",
    values::text,
    "What to call the import [default: after the first file]",
);

static UNIT: Flag<Unit> = Flag::one_of(
    "unit",
    "UNIT",
    || ["s", "ms", "us", "ns"].map(Choice::plain).to_vec(),
    str::parse,
    "The unit of the times: s, ms, us or ns [default: ns; project5: s]",
)
.unlisted();

static NODES: Flag<PathBuf> = Flag::path(
    "nodes",
    "FILE",
    "The table of nodes ('sockcap export nodes') of which src and dst are ids, instead of names",
);

static MESSAGES: Kind = Kind {
    about: About {
        name: "messages",
        summary: "A table of messages: CSV, plain or compressed (gzip, zstd)",
        details: "\
Its columns, in any order, are those of 'sockcap export messages'. Needed are src, dst and a \
column with times: send_ts and recv_ts are on one clock, send_first, send_last, recv_first and \
recv_last each on the clock of its own host. Empty is unknown. src_host and dst_host say on which \
host a node is, where its name does not.",
        notes: "",
        examples: &[
            "sockcap import messages messages.csv && sockcap report",
            "sockcap import messages messages.csv --nodes nodes.csv -d copy",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME, &UNIT, &NODES],
    make: |given| {
        Box::new(Messages {
            name: given.get(&NAME),
            unit: given.get(&UNIT).unwrap_or(Unit::Nanoseconds),
            nodes: given.get(&NODES),
        })
    },
};

static CALLS: Kind = Kind {
    about: About {
        name: "calls",
        summary: "A table of calls: CSV, plain or compressed (gzip, zstd)",
        details: "\
Its columns, in any order: call_id, caller, callee; t_call_send, t_call_recv, t_ret_send and \
t_ret_recv, each on the clock of the side that read it, empty where unknown; caller_thread, \
callee_thread, req_bytes, resp_bytes, caller_host and callee_host where they are known.",
        notes: "",
        examples: &[
            "sockcap import calls calls.csv && sockcap report",
            "sockcap import calls calls.csv.gz --unit us --name friday",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME, &UNIT],
    make: |given| {
        Box::new(Calls {
            name: given.get(&NAME),
            unit: given.get(&UNIT).unwrap_or(Unit::Nanoseconds),
        })
    },
};

static PROJECT5: Kind = Kind {
    about: About {
        name: "project5",
        summary: "A trace as in the Project 5 paper: timestamp operation sender rcvr ID",
        details: "\
A line a message, the columns with space between them. The operation is CALL, RETURN or MESSAGE, \
the time (in seconds unless --unit says otherwise) stands for both ends, and ID pairs a call with \
its return.",
        notes: "",
        examples: &[
            "sockcap import project5 trace.txt && sockcap report",
            "sockcap import project5 --unit ms trace.txt",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME, &UNIT],
    make: |given| {
        Box::new(Project5 {
            name: given.get(&NAME),
            unit: given.get(&UNIT).unwrap_or(Unit::Seconds),
        })
    },
};

static HOST: Flag<String> = Flag::text(
    "host",
    "NAME",
    host_name,
    "The host that the programs ran on, by the name it has in the trace [default: this host's own \
     name]",
);

static STRACE: Kind = Kind {
    about: About {
        name: "strace",
        summary: "The output of strace, for programs that the library cannot be loaded into",
        details: "\
What it saw becomes logs, as 'sockcap record' writes them: programs of which some were recorded \
and others traced by strace are one system. Needed are whole times (-ttt) and the sockets' names \
(-yy). The payloads of datagrams tell which is which (-s 65535); of them, only checksums are kept. \
A file of 'strace -f', those of one 'strace -ff', and those of several at once on one host; plain \
or compressed (gzip, zstd).",
        notes: "\
Run strace like this:
  CALLS=%network,%process,read,readv,write,writev,sendfile,splice,close
  CALLS=$CALLS,close_range,dup,dup2,dup3,fcntl,ioctl
  strace -f -ttt -T -yy -s 65535 -e trace=$CALLS -o FILE CMD",
        examples: &[
            "sockcap import strace /tmp/trace && sockcap report",
            "sockcap import strace --host web1 /tmp/trace.*",
        ],
    },
    files: "The files",
    files_by: None,
    flags: &[&HOST],
    make: |given| Box::new(Strace { host: given.get(&HOST).unwrap_or_else(own_name) }),
};

/// This host's name, as a recording without a name for it has it.
fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

static HOSTS: Flag<(String, PathBuf)> = Flag::text(
    "host",
    "NAME=FILE",
    host_file,
    "On which host a file was captured; several files of one host are one sniffer's",
)
.repeated();

static ADDRESSES: Flag<(String, IpAddr)> =
    Flag::text("address", "NAME=ADDRESS", host_address, "Which host an address is of").repeated();

static PCAP: Kind = Kind {
    about: About {
        name: "pcap",
        summary: "Captured packets: pcap or pcapng, plain or compressed (gzip, zstd)",
        details: "\
TCP connections are put together from their segments, and become with the datagrams what the \
programs at both ends would have logged. Name all captures of a system at once: each host's \
packets are timed by the sniffer that saw most of them, and translated addresses are found by \
packets that several saw.",
        notes: "\
A file of 'tcpdump -i any' says which addresses are those of the host it was
captured on; of other files it is found where it can be. --host names that
host; without, it is called after the file. Hosts without a capture of their
own are called by their addresses. A host that also connects to others is one
node; of one that only answers each port is a node.",
        examples: &[
            "tcpdump -i any -s 0 -w web.pcap          on each host, and then",
            "sockcap import pcap --host web=web.pcap --host db=db.pcap && sockcap report",
            "sockcap import pcap switch.pcapng.zst --address web=10.0.0.1",
        ],
    },
    files: "The files, each of another sniffer",
    files_by: Some("host"),
    flags: &[&HOSTS, &ADDRESSES],
    make: |given| Box::new(Packets { hosts: given.all(&HOSTS), addresses: given.all(&ADDRESSES) }),
};

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
