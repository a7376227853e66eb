//! The arguments of `sockcap import`, a subcommand for each kind of file.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use reconcile::import::{Calls, Unit};

use super::Data;

pub(super) const HELP: &str = "\
Importing the same again replaces it. Recordings and imports of one directory are one trace.

Examples:
  sockcap import calls calls.csv.gz
  sockcap report";

#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) source: Source,
}

/// What is imported.
#[derive(Debug, Subcommand)]
pub(crate) enum Source {
    /// A table of calls: CSV, plain or compressed (gzip, zstd)
    ///
    /// Its columns, in any order: call_id, caller, callee; t_call_send, t_call_recv, t_ret_send and t_ret_recv, each
    /// on the clock of the side that read it, empty where unknown; caller_thread, callee_thread, req_bytes,
    /// resp_bytes, caller_host and callee_host where they are known.
    Calls(Table),
}

/// Tables of one kind.
#[derive(Debug, Args)]
pub(crate) struct Table {
    /// The files, which become one import
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// What to call the import [default: the first file's name without its endings]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The unit of the times: s, ms, us or ns
    #[arg(long, value_name = "UNIT", value_parser = Unit::from_str, default_value_t = Unit::Nanoseconds)]
    pub(crate) unit: Unit,
}

impl Table {
    /// The importer of calls.
    pub(crate) fn calls(&self) -> Calls {
        Calls { name: self.name.clone(), unit: self.unit }
    }
}
