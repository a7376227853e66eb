//! Keys by which a collector and its hosts authenticate each other: a private authority, created
//! once by the person who runs the experiment, and one file for each machine. Certificates of
//! public authorities are not accepted.
//!
//! | file | owner | permits |
//! |---|---|---|
//! | `authority.pem` | the person who runs the experiment, on neither end | making keys |
//! | `collector.pem` | the collector | gathering what hosts send |
//! | `NAME.pem` | the host NAME | sending logs under that name |
//!
//! A host's certificate is for clients only and the collector's for servers only, so no host can
//! pose as the collector. A key that was leaked is revoked by a list that the authority signs
//! (`revoked`, `issued`); `docs/keys.md` has the steps.

mod authority;
mod bundle;
mod certificate;
mod error;
mod files;
mod issued;
mod revoked;
mod validity;

pub use authority::{AUTHORITY_FILE, Authority, COLLECTOR_FILE};
pub use bundle::{KeyBundle, KeyContents, KeyRole, inspect_key_file};
pub use error::KeyError;
pub use revoked::{REVOKED_FILE, RevocationList, RevocationWatcher};
pub use validity::KeyValidity;

pub(crate) use certificate::{COLLECTOR, check_host_names, dns_names as certificate_names};

#[cfg(test)]
mod tests;

/// Issuer of an authority's key, for certificates that [`Authority`] would not make.
#[cfg(test)]
pub(crate) fn issuer_for_tests(key: &rcgen::KeyPair) -> rcgen::Issuer<'static, &rcgen::KeyPair> {
    rcgen::Issuer::new(authority::authority_params(key).unwrap(), key)
}
