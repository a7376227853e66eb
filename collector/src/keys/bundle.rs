//! Bundle of the keys of one machine, in one file that is copied there: its private key, its
//! certificate, and the authority's certificate, by which it authenticates the other side.

use std::path::{Path, PathBuf};

use rustls_pki_types::pem::{PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use webpki::KeyUsage;

use super::{KeyError, certificate, files};

/// Purpose of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRole {
    /// For a host: sending logs.
    Host,
    /// For the collector: gathering logs.
    Collector,
}

/// Key, certificate and authority of one machine.
#[derive(Debug)]
pub struct KeyBundle {
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) authority: CertificateDer<'static>,
    role: KeyRole,
    names: Vec<String>,
    valid: [i64; 2],
    pem: SecretText,
}

/// Text of the file, which contains the private key.
struct SecretText(String);

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret key elided]")
    }
}

impl KeyBundle {
    /// Reads the key file of a machine.
    ///
    /// # Errors
    /// Fails if the file cannot be read, others can read it, a part is missing, or the parts do not
    /// belong together. An expired or not yet valid key is no error: [`valid`](Self::valid) returns
    /// its validity.
    pub fn open(path: &Path) -> Result<KeyBundle, KeyError> {
        KeyBundle::from_pem(path, files::read_private(path)?)
    }

    /// Writes the key file of a machine, readable only for its owner.
    ///
    /// # Errors
    /// Fails if the file exists and is not to be replaced ([`KeyError::Exists`]), or cannot be
    /// written; then nothing is left on the disk.
    pub fn write(&self, path: &Path, replace: bool) -> Result<(), KeyError> {
        files::write_private(path, &self.pem.0, replace)
    }

    /// Purpose of the key.
    pub fn role(&self) -> KeyRole {
        self.role
    }

    /// Names in the certificate: the names under which a host may send, or
    /// `collector.sockcap.internal`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The first and the last second of the certificate's validity, in seconds since 1970.
    pub fn validity(&self) -> [i64; 2] {
        self.valid
    }

    /// The certificate's text in the file.
    pub(super) fn certificate_pem(&self) -> &str {
        const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
        const END: &str = "-----END CERTIFICATE-----";
        let text = self.pem.0.as_str();
        let begin = text.find(BEGIN).unwrap_or(text.len());
        let end = text[begin..].find(END).map_or(text.len(), |end| begin + end + END.len());
        text.get(begin..end).unwrap_or("")
    }

    /// Parses the key file with the content `text`.
    pub(super) fn from_pem(path: &Path, text: String) -> Result<KeyBundle, KeyError> {
        let PemSections { key, certificates } = split_pem(path, &text)?;
        let missing = |missing| KeyError::Missing { path: path.to_owned(), missing };
        let damaged = |why: String| KeyError::Damaged { path: path.to_owned(), why };
        let key = key.ok_or_else(|| missing("the private key"))?;
        let (certificate, authority) = match <[_; 2]>::try_from(certificates) {
            Ok([certificate, authority]) => (certificate, authority),
            Err(few) if few.len() > 2 => {
                return Err(damaged(format!("it has {} certificates instead of two", few.len())));
            }
            Err(few) => {
                let Some(only) = few.first() else { return Err(missing("the certificate")) };
                return Err(if certificate::dns_names(only).is_ok_and(|names| names.is_empty()) {
                    if certificate::matches_key(only, &key) {
                        KeyError::IsAuthority(path.to_owned())
                    } else {
                        missing("the machine's certificate")
                    }
                } else {
                    missing("the authority's certificate")
                });
            }
        };
        if !certificate::matches_key(&certificate, &key) {
            return Err(damaged("the certificate is not for the private key".to_owned()));
        }
        let unread = |error| damaged(format!("the certificate cannot be read ({error:?})"));
        let names = certificate::dns_names(&certificate).map_err(unread)?;
        let valid = certificate::certificate_validity(&certificate).map_err(unread)?;
        let signed = |usage| certificate::verify_signed_for(usage, &certificate, &authority);
        let role = match (signed(KeyUsage::client_auth()), signed(KeyUsage::server_auth())) {
            (Ok(()), _) => KeyRole::Host,
            (_, Ok(())) => KeyRole::Collector,
            (Err(_), Err(error)) => {
                return Err(damaged(format!(
                    "the authority has not signed the certificate ({error:?})"
                )));
            }
        };
        let is_named = match role {
            KeyRole::Host => certificate::check_host_names(&names).is_ok(),
            KeyRole::Collector => certificate::is_collector_name(&names),
        };
        if !is_named {
            return Err(damaged(format!(
                "the certificate has the wrong names ({})",
                names.join(", ")
            )));
        }
        Ok(KeyBundle { key, certificate, authority, role, names, valid, pem: SecretText(text) })
    }
}

/// Contents of a key file of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyContents {
    /// Purpose of the key; `None` for the authority's own.
    pub role: Option<KeyRole>,
    /// Names in the certificate.
    pub names: Vec<String>,
    /// The first and the last second of the certificate's validity, in seconds since 1970.
    pub valid: [i64; 2],
    /// The certificate itself.
    pub certificate: CertificateDer<'static>,
}

/// Reads a key file of any kind.
///
/// # Errors
/// Fails as [`KeyBundle::open`] does, except that the authority's own file is accepted.
pub fn inspect_key_file(path: &Path) -> Result<KeyContents, KeyError> {
    let text = files::read_private(path)?;
    match KeyBundle::from_pem(path, text.clone()) {
        Err(KeyError::IsAuthority(_)) => {
            let why = |error| KeyError::Damaged {
                path: path.to_owned(),
                why: format!("the certificate cannot be read ({error:?})"),
            };
            let certificate = split_pem(path, &text)?.certificates.into_iter().next();
            let certificate = certificate.ok_or_else(|| why(webpki::Error::BadDer))?;
            Ok(KeyContents {
                role: None,
                names: Vec::new(),
                valid: certificate::certificate_validity(&certificate).map_err(why)?,
                certificate,
            })
        }
        bundle => bundle.map(|bundle| {
            let KeyBundle { role, names, valid, certificate, .. } = bundle;
            KeyContents { role: Some(role), names, valid, certificate }
        }),
    }
}

/// Sections of a key file.
struct PemSections {
    key: Option<PrivateKeyDer<'static>>,
    certificates: Vec<CertificateDer<'static>>,
}

/// Splits a key file into its sections.
fn split_pem(path: &Path, text: &str) -> Result<PemSections, KeyError> {
    let mut parts = PemSections { key: None, certificates: Vec::new() };
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(text.as_bytes()) {
        let why = |error: rustls_pki_types::pem::Error| KeyError::Damaged {
            path: PathBuf::from(path),
            why: format!("it is not whole ({error})"),
        };
        let (kind, der) = section.map_err(why)?;
        match kind {
            SectionKind::Certificate => parts.certificates.push(der.into()),
            _ => parts.key = parts.key.or_else(|| PrivateKeyDer::from_pem(kind, der)),
        }
    }
    Ok(parts)
}
