//! The arguments of every subcommand, a file for each group of commands: help, completions and man
//! pages are made from these. They are turned into the stages' own options here and go no further.

mod accuracy;
mod analysis;
mod export;
mod filter;
mod gather;
mod import;
mod keys;
mod manual;
mod record;
mod results;
mod values;
mod view;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use message_trace::DataDir;

pub(crate) use accuracy::{Drop, Score, Skew, Synth};
pub(crate) use analysis::{Analyze, Inference, Reconcile};
pub(crate) use export::{Export, Exported, Format, Graph};
pub(crate) use filter::Filter;
pub(crate) use gather::{Collect, Ship};
pub(crate) use import::{Import, Source};
pub(crate) use keys::{DEFAULT_KEYS, Hosts, Keys, New, Revoke, Show, What as KeysCommand};
pub(crate) use manual::{Completions, Man};
pub(crate) use record::Record;
pub(crate) use results::{Dump, Info, Report};
pub(crate) use values::Moment;
pub(crate) use view::View;

/// See where the time goes in a distributed system of unmodified programs.
///
/// sockcap records the socket calls of programs as they are, works out which
/// message caused which, and shows the paths that requests take with the delay of
/// every hop. Two commands do it all:
///
///     sockcap record -- ./run-my-system
///     sockcap report
#[derive(Debug, Parser)]
#[command(name = "sockcap", version, verbatim_doc_comment, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Leave configuration files out (docs/configuration.md)
    #[arg(long, global = true)]
    no_config: bool,
}

const AFTER_HELP: &str = "\
The data directory (-d, default ./sockcap.data) holds what each stage leaves
for the next:
  record -> hosts/HOST/*.sclog    import -> imports/NAME, or hosts/HOST
  reconcile -> messages.parquet, nodes.parquet
  analyze -> links, paths, patterns (.parquet)    report -> report.html
Each stage runs the ones before it where their results are missing or out of
date.

~/.config/sockcap/config.toml and DIR/sockcap.toml can give every flag a value:
docs/configuration.md. A flag that is on there is turned off by --FLAG=false.

Examples:
  sockcap record -- ./run-my-system && sockcap report
  sockcap synth children-0-2 -d made && sockcap report -d made --sort p99

Exit status: 0 done; 1 a stage failed; 2 wrong usage. `sockcap record` exits as
CMD does (128 + N when signal N ended it), with 125 when sockcap itself failed
(or --strict refused), 126 when CMD could not be run, 127 when it was not
found.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command under libsockcap.so and log its socket calls
    #[command(after_help = record::HELP)]
    Record(Record),
    /// Send a host's logs to a collector
    #[command(after_help = gather::SHIP_HELP)]
    Ship(Ship),
    /// Gather the logs of many hosts in one data directory
    #[command(after_help = gather::COLLECT_HELP)]
    Collect(Collect),
    /// Bring in what other tools have captured
    #[command(after_help = import::HELP)]
    Import(Import),
    /// Match what was sent with what was received: logs to messages
    ///
    /// A later stage that has to run it again, as there are new logs, does so without options.
    #[command(after_help = analysis::RECONCILE_HELP)]
    Reconcile(Reconcile),
    /// Infer which message caused which: messages to links, paths and patterns
    #[command(after_help = analysis::ANALYZE_HELP)]
    Analyze(Analyze),
    /// Show the causal paths and where their time goes
    #[command(after_help = results::REPORT_HELP)]
    Report(Report),
    /// Show the page of a report in the browser, with every instance
    #[command(after_help = view::HELP)]
    View(View),
    /// Write tables, traces and patterns for other tools
    #[command(after_help = export::HELP)]
    Export(Export),
    /// Show what a data directory holds, and what could not be seen
    #[command(after_help = results::INFO_HELP)]
    Info(Info),
    /// Make the keys by which hosts and collector know each other
    #[command(after_help = keys::HELP)]
    Keys(Keys),
    /// Print the records of logs, a line each
    #[command(after_help = results::DUMP_HELP)]
    Dump(Dump),
    /// Make a trace whose truth is known
    #[command(after_help = accuracy::SYNTH_HELP)]
    Synth(Synth),
    /// Give hosts clocks that are off, or take that away
    #[command(after_help = accuracy::SKEW_HELP)]
    Skew(Skew),
    /// Drop messages as a sniffer does that is too slow
    #[command(after_help = accuracy::DROP_HELP)]
    Drop(Drop),
    /// Measure how well the last analysis agrees with a truth
    #[command(after_help = accuracy::SCORE_HELP)]
    Score(Score),
    /// Print what a shell needs to complete commands and flags
    #[command(after_help = manual::COMPLETIONS_HELP)]
    Completions(Completions),
    /// Print the manual page, or write those of all commands
    #[command(after_help = manual::MAN_HELP)]
    Man(Man),
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
