//! Certificates that an authority has issued, so that a key can be revoked after its file is lost:
//! one PEM file next to the authority's own, to which each certificate is added before its key is
//! written anywhere. It contains no secret.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use message_trace::PathError;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use super::KeyError;

/// Name of the file with the issued certificates.
pub(crate) const ISSUED_FILE: &str = "issued.certs";

/// Appends certificates, in PEM, to the list of issued certificates in `directory`.
pub(super) fn append_certificates(directory: &Path, certificates: &str) -> Result<(), KeyError> {
    let path = directory.join(ISSUED_FILE);
    let file = |error| PathError::io(&path, error);
    let mut target =
        OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(file)?;
    let written = target.write_all(certificates.as_bytes()).and_then(|()| target.sync_all());
    Ok(written.map_err(file)?)
}

/// All issued certificates, in the order of issue.
pub(super) fn read_certificates(
    directory: &Path,
) -> Result<Vec<CertificateDer<'static>>, KeyError> {
    let path = directory.join(ISSUED_FILE);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(PathError::io(&path, error).into()),
    };
    let why =
        |error| KeyError::Damaged { path: path.clone(), why: format!("it is not whole ({error})") };
    CertificateDer::pem_slice_iter(&text).map(|certificate| certificate.map_err(why)).collect()
}
