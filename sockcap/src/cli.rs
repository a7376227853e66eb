//! The arguments of every subcommand, in one place: help, completions and man pages are made from these. They are
//! turned into the stages' own options here and go no further.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use analyze::Algorithm;
use clap::{Args, Parser, Subcommand};
use jiff::SignedDuration;
use message_trace::table::export::Format;
use message_trace::{DataDir, Grain};
use report::SortKey;

/// See where the time goes in a distributed system of unmodified programs.
///
/// sockcap records the socket calls of programs as they are, works out which message caused which, and shows the
/// paths that requests take with the delay of every hop. Two commands do it all:
///
///     sockcap record -- ./run-my-system
///     sockcap report
#[derive(Debug, Parser)]
#[command(name = "sockcap", version, verbatim_doc_comment, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
The data directory (-d, default ./sockcap.data) holds what each stage leaves for the next:
  record -> hosts/HOST/*.sclog    reconcile -> messages.parquet, nodes.parquet
  analyze -> links, paths, patterns (.parquet)    report -> report.html
Each stage runs the ones before it where their results are missing or out of date.

Exit status: 0 done; 1 a stage failed; 2 wrong usage. `sockcap record` exits as CMD does (128 + N
when signal N ended it), with 125 when sockcap itself failed (or --strict refused), 126 when CMD
could not be run, 127 when it was not found.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command under libsockcap.so and log its socket calls
    #[command(after_help = RECORD_HELP)]
    Record(Record),
    /// Match what was sent with what was received: logs to messages
    ///
    /// A later stage that has to run it again, as there are new logs, does so without options.
    Reconcile(Reconcile),
    /// Infer which message caused which: messages to links, paths and patterns
    Analyze(Analyze),
    /// Show the causal paths and where their time goes
    #[command(after_help = REPORT_HELP)]
    Report(Report),
    /// Write a stage's table as CSV, JSON or Parquet
    #[command(after_help = EXPORT_HELP)]
    Export(Export),
    /// Show what a data directory holds, and what could not be seen
    Info(Info),
    /// Print the records of logs, a line each
    Dump(Dump),
}

const RECORD_HELP: &str = "\
Every program that CMD starts is recorded too, each process in a log of its own. Record several
commands into one directory, one after another or at once; all of them become one trace.

Not seen: programs that load no libraries (static, most Go), setuid programs, and sockets used
without libc. CMD itself is looked at before it starts: if it is such a program, a warning says so
and it runs all the same; with --strict it does not run and the exit status is 125.

Examples:
  sockcap record -- ./server --port 8080
  sockcap record -d /tmp/run1 --host web1 -- nginx -g 'daemon off;'

By hand:  LD_PRELOAD=/path/to/libsockcap.so SOCKCAP_DIR=DIR SOCKCAP_HOST=NAME CMD";

const REPORT_HELP: &str = "\
Sort keys:
  total       expected count times duration     count  instances built
  expected    sum of their probabilities        mean   mean duration
  confidence  expected / count                  p99    99th percentile of it
  evidence    expected / sqrt(count)

What is not said of the analysis is as in the last one of the directory; 'sockcap analyze' without
options goes back to the defaults.

Examples:
  sockcap report
  sockcap report --sort p99 --limit 5
  sockcap report --json | jq '.patterns[0]'";

const EXPORT_HELP: &str = "\
Examples:
  sockcap export messages > messages.csv
  sockcap export patterns --format json -o patterns.jsonl";

/// Where the data directory is unless the user says otherwise.
pub(crate) const DEFAULT_DIRECTORY: &str = "sockcap.data";

#[derive(Debug, Args)]
pub(crate) struct Data {
    /// The data directory
    #[arg(short = 'd', long = "data", value_name = "DIR", default_value = DEFAULT_DIRECTORY)]
    directory: PathBuf,
}

impl Data {
    pub(crate) fn dir(&self) -> DataDir {
        DataDir::new(&self.directory)
    }
}

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
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD", allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// What is recorded, and how much: the library's own options, which reach every program that CMD starts.
#[derive(Debug, Args)]
pub(crate) struct RecordOptions {
    /// The largest size of a process's log: bytes, or with K, M or G behind (at least 64K) [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<String>,
    /// What a log that has reached its size keeps: the oldest records (it ends) or the newest (a flight recorder)
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
    /// Record only programs of this name; several with commas. Others run as they would without sockcap
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

/// A size as the library takes it.
fn size(text: &str) -> Result<String, String> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    if text.len() - digits.len() > 1 || digits.parse::<u32>().is_err() {
        return Err("a size is a number of bytes, or one with K, M or G behind, such as 64M".into());
    }
    Ok(text.to_owned())
}

/// A command is told by its file's name.
fn command_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('/') {
        return Err("give the name of the program's file without its directory, such as nginx".into());
    }
    Ok(text.to_owned())
}

/// A host's name becomes the name of a directory, so it may be no path.
fn host_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || text.starts_with('.') || text.len() > 127 || !text.chars().all(allowed) {
        return Err(
            "a host name has 1 to 127 letters, digits, '-', '_' and '.', and does not begin with '.'".into(),
        );
    }
    Ok(text.to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct Reconcile {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Take adjacent messages of a flow and direction as one up to this pause between them
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = duration)]
    fat_gap: Duration,
    /// Keep what a process sends to itself, such as an event loop's wake-ups
    #[arg(long)]
    keep_internal: bool,
}

impl Reconcile {
    pub(crate) fn options(&self) -> reconcile::Options {
        reconcile::Options { fat_gap: self.fat_gap, keep_internal: self.keep_internal }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) data: Data,
    #[command(flatten)]
    pub(crate) inference: Inference,
}

/// What the user may say of the analysis. To `report`, what is left out is as in the last one.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct Inference {
    /// What a node is: host, process, command (all processes of a command on a host) or thread
    /// [default: command]
    #[arg(long, value_name = "GRAIN", value_parser = Grain::from_str)]
    node: Option<Grain>,
    /// The algorithm: linking (WAP5) [default: linking]
    #[arg(long, value_name = "NAME", value_parser = Algorithm::from_str)]
    algorithm: Option<Algorithm>,
    /// The longest time for which a message may wait for its cause to take effect [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    window: Option<Duration>,
    /// Take a message as spontaneous as if its cause lay this many mean delays back [default: 4]
    #[arg(long, value_name = "Y", value_parser = positive)]
    spontaneous_delay: Option<f64>,
    /// How many uncertain links of one path are tried both ways [default: 4]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(0..=16))]
    try_both: Option<u8>,
    /// Let a client's request be caused by the response before it, as the paper has it, instead of starting
    /// a path with each request [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    link_clients: Option<bool>,
}

impl Inference {
    /// `options` with what was asked for.
    pub(crate) fn applied_to(&self, options: analyze::Options) -> analyze::Options {
        analyze::Options {
            grain: self.node.unwrap_or(options.grain),
            algorithm: self.algorithm.unwrap_or(options.algorithm),
            window: self.window.map_or(options.window, |window| window.as_nanos() as i64),
            spontaneous_delay: self.spontaneous_delay.unwrap_or(options.spontaneous_delay),
            try_both_limit: self.try_both.map_or(options.try_both_limit, usize::from),
            clients_start_paths: self.link_clients.map_or(options.clients_start_paths, |link| !link),
            ..options
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Write the HTML page to this file [default: DIR/report.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead, with all patterns and all figures
    #[arg(long)]
    pub(crate) json: bool,
    /// What to rank the patterns by
    #[arg(long, value_name = "KEY", default_value_t = SortKey::default(), value_parser = SortKey::from_str)]
    pub(crate) sort: SortKey,
    /// Print at most so many patterns (the HTML page has all)
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: clap::ColorChoice,
    #[command(flatten)]
    pub(crate) inference: Inference,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Which table
    #[arg(value_enum)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) data: Data,
    /// The format: csv, json (an object a line) or parquet
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Csv, value_parser = Format::from_str)]
    pub(crate) format: Format,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Table {
    /// Who sent what to whom, with the time at both ends
    Messages,
    /// Who the messages went between
    Nodes,
    /// Which message caused which, with a probability
    Links,
    /// The path instances, a row a message
    Paths,
    /// The path patterns, a row a hop
    Patterns,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The logs (*.sclog)
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
}

/// A time span like `2s` or `100ms`, of at most a year: its nanoseconds fit an `i64` with room to spare.
fn duration(text: &str) -> Result<Duration, String> {
    const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    let span = text.parse().ok().and_then(|span: SignedDuration| Duration::try_from(span).ok());
    span.filter(|span| !span.is_zero() && *span <= YEAR)
        .ok_or_else(|| format!("'{text}' is no time span; write it like 2s, 100ms or 1m30s"))
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("'{text}' is no positive number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn time_spans() {
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert!(duration("-1s").is_err() && duration("0s").is_err() && duration("soon").is_err());
    }

    #[test]
    fn host_names_are_no_paths() {
        assert!(host_name("web-1.example").is_ok());
        for wrong in ["", "..", ".x", "a/b", "a b"] {
            assert!(host_name(wrong).is_err(), "{wrong}");
        }
    }
}
