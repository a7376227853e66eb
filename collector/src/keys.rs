//! The keys by which a collector and its hosts know each other: a private authority, made once by
//! whoever runs the experiment, and one file for each machine. Nothing here is known to anybody
//! else: a certificate of a public authority opens nothing.
//!
//! | file | who holds it | what it can do |
//! |---|---|---|
//! | `authority.pem` | whoever runs the experiment, on neither end | make keys for machines |
//! | `collector.pem` | the collector | gather what hosts send |
//! | `NAME.pem` | the host NAME | send logs under that name |
//!
//! A host's certificate is for clients only and the collector's for servers only, so no host can
//! pose as the collector. A key that was lost to somebody is revoked by a list that the authority
//! signs (`revoked`, `issued`); `docs/keys.md` says what to do.

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

/// The issuer that an authority's key makes, for certificates that [`Authority`] would not make.
#[cfg(test)]
pub(crate) fn issuer_for_tests(key: &rcgen::KeyPair) -> rcgen::Issuer<'static, &rcgen::KeyPair> {
    rcgen::Issuer::new(authority::authority_params(key).unwrap(), key)
}
