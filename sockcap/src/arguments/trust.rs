//! `--key FILE` or `--plain`: how hosts and collector authenticate each other, and which addresses
//! need no authentication.

use std::net::ToSocketAddrs;
use std::path::PathBuf;

use clap::Args;

use crate::error::CommandError;

/// How the other end is authenticated.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct TrustArguments {
    /// The key of this machine, made by 'sockcap keys'
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// No encryption, and any client may write under any name; only over loopback addresses
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Refuses an address that other machines can reach, or that cannot be resolved.
pub(crate) fn require_loopback(address: &str) -> Result<(), CommandError> {
    let failed = |source| CommandError::Address { address: address.to_owned(), source };
    let mut addresses = address.to_socket_addrs().map_err(failed)?;
    if addresses.all(|address| address.ip().is_loopback()) {
        Ok(())
    } else {
        Err(CommandError::PlainAbroad(address.to_owned()))
    }
}
