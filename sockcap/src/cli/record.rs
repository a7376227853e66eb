//! The arguments of `sockcap record`.

use std::ffi::OsString;

use clap::Args;

use super::Data;
use super::values::{command_name, host_name, size};
use crate::complete::programs;

pub(super) const HELP: &str = "\
Every program that CMD starts is recorded too, each process in a log of its
own. Record several commands into one directory, one after another or at once;
all of them become one trace.

Not seen: programs that load no libraries (static, most Go), setuid programs,
and sockets used without libc. CMD itself is looked at before it starts: if it
is such a program, a warning says so and it runs all the same; with --strict it
does not run and the exit status is 125. What is static or Go is seen by strace:
'sockcap import strace --help' says how.

Examples:
  sockcap record -- ./server --port 8080
  sockcap record -d /tmp/run1 --host web1 -- nginx -g 'daemon off;'

By hand:
  LD_PRELOAD=/path/to/libsockcap.so SOCKCAP_DIR=DIR SOCKCAP_HOST=NAME CMD";

#[derive(Debug, Args)]
pub(crate) struct Record {
    #[command(flatten)]
    pub(crate) data: Data,
    /// The name of this host in the trace [default: the host's own name]
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(crate) host: Option<String>,
    /// Refuse to run a program that cannot be recorded, instead of warning
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) options: RecordOptions,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD", add = programs())]
    pub(crate) command: Vec<OsString>,
}

/// What is recorded, and how much: the library's own options, which reach every program that CMD
/// starts.
#[derive(Debug, Args)]
pub(crate) struct RecordOptions {
    /// The largest size of a process's log: bytes, or with K, M or G behind (at least 64K)
    /// [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<String>,
    /// What a log that has reached its size keeps: the oldest records (it ends) or the newest (a
    /// flight recorder)
    #[arg(long, value_name = "WHICH", default_value = "oldest", value_parser = ["oldest", "newest"], requires = "max_size")]
    keep: String,
    /// Record how long threads wait in poll, select and epoll_wait
    #[arg(long)]
    waits: bool,
    /// Record the thread's CPU time with every message (about half a microsecond each)
    #[arg(long)]
    cpu: bool,
    /// Record a checksum of the first N bytes of each direction of a stream
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    fingerprint: Option<u32>,
    /// Record only flows with this port at either end; several with commas (at most 64)
    #[arg(long = "port", value_name = "PORT", value_delimiter = ',')]
    ports: Vec<u16>,
    /// Record only programs of this name; several with commas. Others run as they would without
    /// sockcap
    #[arg(long = "command", value_name = "NAME", value_delimiter = ',', value_parser = command_name)]
    commands: Vec<String>,
}

impl RecordOptions {
    /// The variables that tell the library, as `docs/capture.md` describes them.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let list = |values: &[String]| Some(values.join(",")).filter(|list| !list.is_empty());
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        let on = |is_on: bool| is_on.then(|| "1".to_owned());
        let all = [
            ("SOCKCAP_MAX_BYTES", self.max_size.clone()),
            ("SOCKCAP_WHEN_FULL", (self.keep == "newest").then(|| self.keep.clone())),
            ("SOCKCAP_WAITS", on(self.waits)),
            ("SOCKCAP_CPU", on(self.cpu)),
            ("SOCKCAP_FINGERPRINT", self.fingerprint.map(|bytes| bytes.to_string())),
            ("SOCKCAP_PORTS", list(&ports)),
            ("SOCKCAP_COMMANDS", list(&self.commands)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
