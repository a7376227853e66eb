//! Flags that importers of events share.

use clap::Args;
use socket_log::names;

use crate::flags::NameFlag;

/// The flags of an importer of events.
#[derive(Args)]
pub(super) struct EventFlags {
    #[command(flatten)]
    pub(super) name: NameFlag,
    /// The host of events that do not name one, by its name in the trace
    #[arg(long, value_name = "NAME", value_parser = names::read_host_name)]
    pub(super) host: Option<String>,
}
