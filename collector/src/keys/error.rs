//! Errors of keys; each names the file and the remedy.

use std::path::PathBuf;

use message_trace::PathError;
use socket_log::names::NameError;

/// Keys could not be made, written or read.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// Nothing is overwritten without permission.
    #[error("{}: there is a key already, which may be in use; it was not changed", .0.display())]
    Exists(PathBuf),
    /// There is no authority's key in this directory.
    #[error("{}: no authority here; create one with 'sockcap keys new', or choose its directory with --keys", .0.display())]
    NoAuthority(PathBuf),
    /// Others could have read the key.
    #[error("{}: users other than the owner can read this key (mode {mode:o}); run 'chmod 600 {}'", path.display(), path.display())]
    Readable {
        /// Path of the file.
        path: PathBuf,
        /// Permissions of the file.
        mode: u32,
    },
    /// A part of the file is missing.
    #[error("{}: {missing} is missing; a key file has a private key, its certificate and the authority's certificate; copy one that 'sockcap keys' has written", path.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
        /// The missing part.
        missing: &'static str,
    },
    /// The content is not a key or certificate, or the parts do not belong together.
    #[error("{}: {why}; copy the file that 'sockcap keys' has written again", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Reason, for people.
        why: String,
    },
    /// The content is not a list of revoked keys of this authority.
    #[error("{}: {why}; use the list of revoked keys that 'sockcap keys revoke' has written", path.display())]
    List {
        /// Path of the file.
        path: PathBuf,
        /// Reason, for people.
        why: String,
    },
    /// A key cannot be revoked because it is not known.
    #[error(
        "no key of '{0}' is known here; give its file, or a host that 'sockcap keys show' lists"
    )]
    NoSuchKey(String),
    /// The authority's own key is not for machines.
    #[error("{}: this is the authority's own key, which no machine needs; use a key made by 'sockcap keys new' or 'sockcap keys host'", .0.display())]
    IsAuthority(PathBuf),
    /// No host can have this name at all.
    #[error("'{name}': {source}")]
    Name {
        /// The name.
        name: String,
        /// Rule that the name breaks.
        source: NameError,
    },
    /// A certificate cannot have this name.
    #[error(
        "'{0}': not a valid name for a certificate; each part between dots has 1 to 63 letters, digits, '_' and '-', without a '-' at either end, and the last part is not a number"
    )]
    NotInCertificates(String),
    /// The name is reserved.
    #[error("'{0}': the name is reserved for the collector or the authority; choose another one")]
    Reserved(String),
    /// A key for a host has no name.
    #[error("a host's key needs a name")]
    NoName,
    /// The validity of a certificate is not possible.
    #[error(
        "a key cannot be valid from {from} until {until} (seconds since 1970), as the authority's key is not"
    )]
    Validity {
        /// The first second of the validity, since 1970.
        from: i64,
        /// The last second of the validity, since 1970.
        until: i64,
    },
    /// A key or a certificate could not be made.
    #[error("a key could not be made: {0}")]
    Making(#[from] rcgen::Error),
}
