//! Revoked keys: a list that the authority signs and the collector follows, as an X.509 revocation
//! list (RFC 5280, section 5), which openssl reads, too. It contains no secret.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use message_trace::PathError;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer};
use webpki::{
    BorrowedCertRevocationList, CertRevocationList, EndEntityCert, OwnedCertRevocationList,
};

use super::{KeyBundle, KeyError, certificate};

/// Name of the list's file, next to the key of the authority or of the collector.
pub const REVOKED_FILE: &str = "revoked.crl";

/// List of revoked keys, as read from a file.
#[derive(Debug)]
pub struct RevocationList(CertRevocationList<'static>);

impl RevocationList {
    /// Reads the list; `None` if there is no file because nothing was ever revoked.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a revocation list.
    pub fn read(path: &Path) -> Result<Option<RevocationList>, KeyError> {
        let Some(der) = read_list(path)? else { return Ok(None) };
        let list =
            OwnedCertRevocationList::from_der(&der).map_err(|error| damaged_list(path, &error))?;
        Ok(Some(RevocationList(list.into())))
    }

    /// Whether this certificate was revoked. An unreadable certificate counts as revoked.
    pub fn contains(&self, certificate: &CertificateDer<'_>) -> bool {
        match EndEntityCert::try_from(certificate) {
            Ok(certificate) => !matches!(self.0.find_serial(certificate.serial()), Ok(None)),
            Err(_) => true,
        }
    }
}

/// Serial numbers of the certificates on the list at `path`, with the time of each revocation, in
/// seconds since 1970.
pub(super) fn revoked_serials(path: &Path) -> Result<Vec<(Vec<u8>, i64)>, KeyError> {
    let Some(der) = read_list(path)? else { return Ok(Vec::new()) };
    let damaged = |error| damaged_list(path, &error);
    let list = BorrowedCertRevocationList::from_der(&der).map_err(damaged)?;
    let entry = |entry: Result<webpki::BorrowedRevokedCert<'_>, _>| {
        let entry = entry.map_err(damaged)?;
        let at = i64::try_from(entry.revocation_date.as_secs()).unwrap_or(i64::MAX);
        Ok((entry.serial_number.to_vec(), at))
    };
    (&list).into_iter().map(entry).collect()
}

/// Reads the file of a list; `None` if there is no file.
fn read_list(path: &Path) -> Result<Option<CertificateRevocationListDer<'static>>, KeyError> {
    match fs::read(path) {
        Ok(text) => {
            CertificateRevocationListDer::from_pem_slice(&text).map(Some).map_err(|error| {
                KeyError::List { path: path.to_owned(), why: format!("it is not whole ({error})") }
            })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PathError::io(path, error).into()),
    }
}

fn damaged_list(path: &Path, error: &webpki::Error) -> KeyError {
    KeyError::List { path: path.to_owned(), why: format!("it cannot be read ({error})") }
}

/// List that a collector follows while it runs: it is reread when it changes.
#[derive(Debug)]
pub struct RevocationWatcher {
    path: PathBuf,
    /// Certificate signed by the authority; the list must be of the same authority.
    certificate: CertificateDer<'static>,
    /// The authority's own certificate.
    authority: CertificateDer<'static>,
    state: RwLock<WatchedList>,
}

#[derive(Debug, Default)]
struct WatchedList {
    list: Option<RevocationList>,
    /// [`file_stamp`] of the file when the list was read.
    stamp: Option<[i64; 5]>,
}

impl RevocationWatcher {
    /// Opens the list at `path`, of the authority that issued the collector's `key`, to reload it
    /// when it changes. The list need not exist yet.
    ///
    /// # Errors
    /// Fails if the file is not a list of this authority.
    pub fn open(path: &Path, key: &KeyBundle) -> Result<RevocationWatcher, KeyError> {
        let followed = RevocationWatcher {
            path: path.to_owned(),
            certificate: key.certificate.clone(),
            authority: key.authority.clone(),
            state: RwLock::default(),
        };
        followed.reload_if_changed()?;
        Ok(followed)
    }

    /// Path of the list.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the list if it has changed since the last call. Returns whether it has.
    ///
    /// # Errors
    /// Fails once if the list is gone, or is no longer a list of this authority; the previous one
    /// stays in force.
    pub fn reload_if_changed(&self) -> Result<bool, KeyError> {
        let stamp = file_stamp(&self.path);
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if state.stamp == stamp {
                return Ok(false);
            }
        }
        let read = self.read_list();
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.stamp = stamp;
        match read? {
            Some(list) => state.list = Some(list),
            None if state.list.is_none() => return Ok(false),
            None => {
                return Err(KeyError::List {
                    path: self.path.clone(),
                    why: "it is gone".to_owned(),
                });
            }
        }
        Ok(true)
    }

    /// Reads the list and verifies that it is of the same authority; `None` if there is no file.
    fn read_list(&self) -> Result<Option<RevocationList>, KeyError> {
        let Some(list) = RevocationList::read(&self.path)? else { return Ok(None) };
        certificate::verify_revocation_list(&list.0, &self.certificate, &self.authority).map_err(
            |error| KeyError::List {
                path: self.path.clone(),
                why: format!("the collector's authority has not signed it ({error})"),
            },
        )?;
        Ok(Some(list))
    }

    /// Whether this certificate was revoked.
    pub fn is_revoked(&self, certificate: &CertificateDer<'_>) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.list.as_ref().is_some_and(|list| list.contains(certificate))
    }
}

/// Inode, size, modification time and change time of a file, by which a change is noticed. `None`
/// if there is no file.
fn file_stamp(path: &Path) -> Option<[i64; 5]> {
    let status = fs::metadata(path).ok()?;
    let [inode, size] = [status.ino(), status.size()].map(|number| number as i64);
    Some([inode, size, status.mtime(), status.mtime_nsec(), status.ctime_nsec()])
}
