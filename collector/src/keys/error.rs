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
    #[error("{}: there is a key already, which machines may be using; it is left as it is", .0.display())]
    Exists(PathBuf),
    /// There is no authority in this directory.
    #[error("{}: no authority here; make one with 'sockcap keys new', or name its directory with --keys", .0.display())]
    NoAuthority(PathBuf),
    /// Others could have read the key.
    #[error("{}: others than its owner can read this key (its mode is {mode:o}); run 'chmod 600 {}'", path.display(), path.display())]
    Readable {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A part of the file is missing.
    #[error("{}: {missing} is missing; a key file has a private key, its certificate and the authority's certificate, as 'sockcap keys' writes it", path.display())]
    Missing {
        /// Which file.
        path: PathBuf,
        /// Which part.
        missing: &'static str,
    },
    /// The content is not a key or certificate, or the parts do not belong together.
    #[error("{}: {why}; copy the file again as 'sockcap keys' has written it", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The content is not a list of revoked keys of this authority.
    #[error("{}: {why}; this is to be the list of revoked keys, as 'sockcap keys revoke' has written it", path.display())]
    List {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A key cannot be revoked because it is not known.
    #[error(
        "no key of '{0}' is known here; name its file, or a host as 'sockcap keys show' has it"
    )]
    NoSuchKey(String),
    /// The authority's own key is not for machines.
    #[error("{}: this is the authority's own key, which no machine needs; give it what 'sockcap keys new' or 'sockcap keys host' made", .0.display())]
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
        "'{0}': a certificate takes no such name; each part between dots has 1 to 63 letters, digits, '_' and '-', has no '-' at either end, and the last one is not a number"
    )]
    NotInCertificates(String),
    /// The name is reserved.
    #[error(
        "'{0}': no host can be called so, as the collector or the authority is; give another name"
    )]
    Reserved(String),
    /// A key for a host has no name.
    #[error("a host's key needs a name")]
    NoName,
    /// The validity of a certificate is not possible.
    #[error(
        "from {from} until {until} (seconds since 1970) is no time for a key that the authority's covers"
    )]
    Validity {
        /// The first second.
        from: i64,
        /// The last.
        until: i64,
    },
    /// A key or a certificate could not be made.
    #[error("a key could not be made: {0}")]
    Making(#[from] rcgen::Error),
}
