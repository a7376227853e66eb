//! Lists of an authority: the keys that it has issued, and the revoked ones.

use std::path::PathBuf;

use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};
use rustls_pki_types::CertificateDer;
use time::OffsetDateTime;

use super::Authority;
use crate::keys::bundle::{KeyBundle, KeyContents, KeyRole};
use crate::keys::issued::ISSUED_FILE;
use crate::keys::revoked::{REVOKED_FILE, RevocationList};
use crate::keys::validity::{DAY_SECONDS, KeyValidity};
use crate::keys::{KeyError, certificate, files, issued, revoked};

impl Authority {
    /// Records that a key was issued, so that it can be revoked without its file. Must be called
    /// before the key is written anywhere.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn record_issued(&self, bundle: &KeyBundle) -> Result<(), KeyError> {
        issued::append_certificates(&self.directory, &format!("{}\n", bundle.certificate_pem()))
    }

    /// The certificates of all recorded keys, in the order of issue.
    ///
    /// # Errors
    /// Fails if the list cannot be read.
    pub fn issued_certificates(&self) -> Result<Vec<KeyContents>, KeyError> {
        let path = self.directory.join(ISSUED_FILE);
        let unread = |error| KeyError::Damaged {
            path: path.clone(),
            why: format!("a certificate cannot be read ({error})"),
        };
        let contents = |certificate: CertificateDer<'static>| {
            let names = certificate::dns_names(&certificate).map_err(unread)?;
            let role = if certificate::is_collector_name(&names) {
                KeyRole::Collector
            } else {
                KeyRole::Host
            };
            let valid = certificate::certificate_validity(&certificate).map_err(unread)?;
            Ok(KeyContents { role: Some(role), names, valid, certificate })
        };
        issued::read_certificates(&self.directory)?.into_iter().map(contents).collect()
    }

    /// The list of revoked keys, if any was ever revoked.
    ///
    /// # Errors
    /// Fails if the list cannot be read.
    pub fn revocation_list(&self) -> Result<Option<RevocationList>, KeyError> {
        RevocationList::read(&self.directory.join(REVOKED_FILE))
    }

    /// Revokes these certificates: writes a new list, which also has all entries of the previous
    /// one. Returns its path.
    ///
    /// # Errors
    /// Fails if the previous list cannot be read or the new one cannot be written.
    pub fn revoke_certificates(
        &self,
        certificates: &[CertificateDer<'static>],
    ) -> Result<PathBuf, KeyError> {
        let path = self.directory.join(REVOKED_FILE);
        let now = KeyValidity::for_days(0).until;
        let mut entries = revoked::revoked_serials(&path)?;
        for certificate in certificates {
            let serial =
                certificate::serial_number(certificate).map_err(|error| KeyError::Damaged {
                    path: path.clone(),
                    why: format!("a certificate cannot be read ({error})"),
                })?;
            if entries.iter().all(|(known, _)| *known != serial) {
                entries.push((serial, now));
            }
        }
        let [_, last] = self.validity()?;
        let time = |seconds| {
            OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
        };
        let revoked_certs = entries.iter().map(|(serial, at)| RevokedCertParams {
            serial_number: SerialNumber::from_slice(serial),
            revocation_time: time(*at),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: time(now),
            // The next list comes when a key is revoked, at no fixed time.
            next_update: time(last.max(now + DAY_SECONDS)),
            crl_number: SerialNumber::from(u64::try_from(now).unwrap_or(0)),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer)?.pem()?;
        let text = format!(
            "sockcap: list of revoked keys. It belongs at the collector, next to its key.\n{list}"
        );
        files::write_public(&path, &text)?;
        Ok(path)
    }
}
