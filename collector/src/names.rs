//! Names on the wire: those of hosts and logs, and that of the collector.

pub(crate) use socket_log::names::{
    AGAIN, HOST_NAME_LENGTH, NameError, host_name, log_name, original,
};

/// Name that the collector's certificate has. Shippers check it whatever address they connect to,
/// so whoever makes keys need not know where the collector will be. No machine on the Internet can
/// have it: `.internal` is reserved for private use.
pub(crate) const COLLECTOR: &str = "collector.sockcap.internal";
