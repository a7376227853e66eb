//! The authority that signs the machines' certificates. Its key is in a directory of the person who
//! runs the experiment and is needed only to make keys: neither shipping nor collecting reads it.

mod lists;

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use message_trace::PathError;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::bundle::{KeyBundle, KeyRole};
use super::certificate::COLLECTOR;
use super::validity::KeyValidity;
use super::{KeyError, certificate, files};

/// Name of the file with the authority's key.
pub const AUTHORITY_FILE: &str = "authority.pem";

/// Name of the file with the collector's key in the same directory; the file of a host's key has
/// the host's name.
pub const COLLECTOR_FILE: &str = "collector.pem";

/// Authority that can make keys.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    /// The certificate as it is copied into every machine's file.
    pem: String,
    /// Directory of the authority's key, and of the lists of issued and revoked keys.
    directory: PathBuf,
}

impl Authority {
    /// Creates an authority that is valid for `days` days, and the directory for its key.
    ///
    /// # Errors
    /// Fails if an authority exists already ([`KeyError::Exists`]) or cannot be written.
    pub fn create(directory: &Path, days: u32) -> Result<Authority, KeyError> {
        Authority::create_for(directory, KeyValidity::for_days(days))
    }

    /// Creates an authority like [`Authority::create`], for an exact validity.
    ///
    /// # Errors
    /// Fails as [`create`](Self::create) does.
    pub(crate) fn create_for(directory: &Path, valid: KeyValidity) -> Result<Authority, KeyError> {
        let key = KeyPair::generate()?;
        let mut params = authority_params(&key)?;
        (params.not_before, params.not_after) = valid.certificate_times()?;
        let certificate = params.self_signed(&key)?;
        let text = format!(
            "sockcap: the authority's own key. Anyone who has it can make keys for any host: keep it here.\n{}{}",
            key.serialize_pem(),
            certificate.pem()
        );
        files::make_directory(directory)?;
        files::write_private(&directory.join(AUTHORITY_FILE), &text, false)?;
        let pem = certificate.pem();
        let directory = directory.to_owned();
        Ok(Authority {
            issuer: Issuer::new(params, key),
            certificate: certificate.into(),
            pem,
            directory,
        })
    }

    /// Opens the authority with its key in this directory.
    ///
    /// # Errors
    /// Fails if there is no authority ([`KeyError::NoAuthority`]), its key is damaged, or others
    /// can read the key.
    pub fn open(directory: &Path) -> Result<Authority, KeyError> {
        let path = directory.join(AUTHORITY_FILE);
        let text = match files::read_private(&path) {
            Err(KeyError::File(PathError::Io { source, .. }))
                if source.kind() == ErrorKind::NotFound =>
            {
                return Err(KeyError::NoAuthority(directory.to_owned()));
            }
            result => result?,
        };
        let missing = |missing| move |_| KeyError::Missing { path: path.clone(), missing };
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
            .map_err(missing.clone()("the private key"))?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(missing("the authority's certificate"))?;
        let damaged = |why: &str| KeyError::Damaged {
            path: directory.join(AUTHORITY_FILE),
            why: why.to_owned(),
        };
        if !certificate::matches_key(&certificate, &key) {
            return Err(damaged("the certificate is not for the private key"));
        }
        let pem = text.find("-----BEGIN CERTIFICATE-----").and_then(|begin| text.get(begin..));
        let pem = pem.ok_or_else(|| damaged("the certificate has no beginning"))?.to_owned();
        let key = KeyPair::try_from(&key)?;
        let directory = directory.to_owned();
        Ok(Authority {
            issuer: Issuer::new(authority_params(&key)?, key),
            certificate,
            pem,
            directory,
        })
    }

    /// The authority's certificate, by which its signatures are verified.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The first and the last second of the authority's validity, in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the authority's certificate is damaged.
    pub fn validity(&self) -> Result<[i64; 2], KeyError> {
        certificate::certificate_validity(&self.certificate).map_err(|error| KeyError::Damaged {
            path: AUTHORITY_FILE.into(),
            why: format!("the certificate cannot be read ({error})"),
        })
    }

    /// Issues a key for the collector, valid for `days` days, but no longer than the authority's.
    ///
    /// # Errors
    /// Fails if the authority has expired or the key cannot be made.
    pub fn issue_collector(&self, days: u32) -> Result<KeyBundle, KeyError> {
        self.issue_key(KeyRole::Collector, &[COLLECTOR], KeyValidity::for_days(days))
    }

    /// Issues a key for a host that may send logs under these names, valid for `days` days, but no
    /// longer than the authority's.
    ///
    /// # Errors
    /// Fails if no certificate can have one of the names or it is the collector's name, and as
    /// `issue_collector` does.
    pub fn issue_host<Name: AsRef<str>>(
        &self,
        names: &[Name],
        days: u32,
    ) -> Result<KeyBundle, KeyError> {
        self.issue_key(KeyRole::Host, names, KeyValidity::for_days(days))
    }

    /// Issues a key for an exact validity; if the authority expires earlier, so does the key.
    ///
    /// # Errors
    /// Fails as `issue_collector` and `issue_host` do.
    pub fn issue_key<Name: AsRef<str>>(
        &self,
        role: KeyRole,
        names: &[Name],
        valid: KeyValidity,
    ) -> Result<KeyBundle, KeyError> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![match role {
            KeyRole::Host => {
                certificate::check_host_names(names)?;
                ExtendedKeyUsagePurpose::ClientAuth
            }
            KeyRole::Collector => ExtendedKeyUsagePurpose::ServerAuth,
        }];
        // Verifiers do not check the validity of the authority's own certificate, so it has to
        // bound this one's.
        let [_, last] = self.validity()?;
        (params.not_before, params.not_after) =
            KeyValidity { until: valid.until.min(last), ..valid }.certificate_times()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let names: Vec<String> = match role {
            KeyRole::Collector => vec![COLLECTOR.to_owned()],
            KeyRole::Host => names.iter().map(|name| name.as_ref().to_owned()).collect(),
        };
        for name in &names {
            params.subject_alt_names.push(SanType::DnsName(name.as_str().try_into()?));
        }
        // Names may be longer than a common name can be, and only people read the common name.
        params.distinguished_name = Default::default();
        let common_name = if role == KeyRole::Host { "sockcap host" } else { "sockcap collector" };
        params.distinguished_name.push(DnType::CommonName, common_name);

        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let mut text = format!(
            "sockcap: the key of {}. Keep it on that machine only.\n",
            key_label(role, &names)
        );
        let _ = write!(text, "{}{}{}", key.serialize_pem(), certificate.pem(), self.pem);
        KeyBundle::from_pem(Path::new("the new key"), text)
    }
}

/// Name of the key's owner that people read in the certificate.
fn key_label(role: KeyRole, names: &[String]) -> String {
    match role {
        KeyRole::Collector => "the collector".to_owned(),
        KeyRole::Host => format!("host {}", names.join(", ")),
    }
}

/// Parameters of an authority's certificate, except its validity. All follow from its key, so that
/// the certificate need not be read; with the key in its name, two authorities are never confused.
pub(super) fn authority_params(key: &KeyPair) -> Result<CertificateParams, KeyError> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let identifier = params.key_identifier(key);
    let mut name = "sockcap authority ".to_owned();
    for byte in identifier.iter().take(8) {
        let _ = write!(name, "{byte:02x}");
    }
    params.distinguished_name = Default::default();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
