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
pub use bundle::{Bundle, Contents, Role, look};
pub use error::Error;
pub use revoked::{Followed, REVOKED_FILE, Revoked};
pub use validity::Validity;

pub(crate) use certificate::{COLLECTOR, host_names, names as certificate_names};

#[cfg(test)]
mod tests;

/// The issuer that an authority's key makes, for certificates that [`Authority`] would not make.
#[cfg(test)]
pub(crate) fn issuer_for_tests(key: &rcgen::KeyPair) -> rcgen::Issuer<'static, &rcgen::KeyPair> {
    rcgen::Issuer::new(authority::params(key).unwrap(), key)
}
