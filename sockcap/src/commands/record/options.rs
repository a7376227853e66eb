//! What is recorded, and how much: the library's own options, which reach every program that CMD
//! starts.

use clap::Args;

use crate::arguments::values::{check_protocols, check_size, command_name, left_out_runtimes};

/// Word for a log of the maximum size that ends.
const OLDEST: &str = "oldest";

/// Word for a log of the maximum size that overwrites its oldest records.
const NEWEST: &str = "newest";

/// What is recorded, and how much: the library's own options, which reach every program that CMD
/// starts.
#[derive(Debug, Args)]
pub(super) struct RecordOptions {
    /// The maximum size of a process's log: bytes, with an optional suffix K, M or G (at least 64K)
    /// [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = check_size)]
    max_size: Option<String>,
    /// What a log of the maximum size keeps: the oldest records (it ends) or the newest (a flight
    /// recorder)
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = [OLDEST, NEWEST],
        default_value = OLDEST,
        requires = "max_size"
    )]
    keep: String,
    /// Record how long threads wait in poll, select and epoll_wait
    #[arg(long)]
    waits: bool,
    /// Record the thread's CPU time with every message (about half a microsecond each)
    #[arg(long)]
    cpu: bool,
    /// Record the costs of requests: file calls, sleeps, locks, hand-offs between threads, and from
    /// the kernel when each thread had a processor
    #[arg(long)]
    pub(super) resources: bool,
    /// Put the library into static programs and Go programs as they start, since they load none
    /// (x86-64)
    #[arg(long)]
    pub(super) inject: bool,
    /// Record a checksum of the first N bytes of each direction of a stream
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    fingerprint: Option<u32>,
    /// Record the bytes that name each message (request lines, HTTP/2's header frames, for other
    /// protocols the first 256 bytes), of all protocols or of those in LIST, comma-separated
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = check_protocols)]
    protocols: Option<String>,
    /// Do not record hashes of rare words of messages, by which messages with the same id are
    /// recognised
    #[arg(long)]
    pub(super) no_words: bool,
    /// Do not follow tasks within a thread: of any runtime, or of those in LIST, comma-separated
    /// (go, java, node, python, ruby, tokio)
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = left_out_runtimes)]
    no_runtimes: Option<String>,
    /// Record only flows with this port at either end; comma-separated (at most 64)
    #[arg(long = "port", value_name = "PORT", value_delimiter = ',')]
    ports: Vec<u16>,
    /// Record only programs of this name; comma-separated. Others run as they would without sockcap
    #[arg(long = "command", value_name = "NAME", value_delimiter = ',', value_parser = command_name)]
    commands: Vec<String>,
}

impl RecordOptions {
    /// The variables for the library, as `docs/capture.md` describes them.
    pub(super) fn library_variables(&self) -> Vec<(&'static str, String)> {
        let list = |values: &[String]| Some(values.join(",")).filter(|list| !list.is_empty());
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        let on = |is_on: bool| is_on.then(|| "1".to_owned());
        let all = [
            ("SOCKCAP_MAX_BYTES", self.max_size.clone()),
            ("SOCKCAP_WHEN_FULL", (self.keep == NEWEST).then(|| self.keep.clone())),
            ("SOCKCAP_WAITS", on(self.waits)),
            ("SOCKCAP_CPU", on(self.cpu)),
            ("SOCKCAP_FINGERPRINT", self.fingerprint.map(|bytes| bytes.to_string())),
            ("SOCKCAP_PROTOCOLS", self.protocols.clone()),
            ("SOCKCAP_RUNTIMES", self.no_runtimes.clone()),
            ("SOCKCAP_PORTS", list(&ports)),
            ("SOCKCAP_COMMANDS", list(&self.commands)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
