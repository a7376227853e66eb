//! TLS between hosts and collector: version 1.3 only, certificates of one private authority on both
//! sides, and no resumption, so that every connection shows its certificate.

mod verifier;

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, RootCertStore, ServerConfig,
};
use rustls_pki_types::{CertificateDer, DnsName, ServerName};

use crate::keys::COLLECTOR;
use crate::keys::{self, KeyBundle, KeyRole, RevocationWatcher};
use verifier::HostCertificateVerifier;

/// Result of [`refusal_reason`] for a revoked certificate.
pub(crate) const REVOKED: &str = "certificate revoked";

/// Error of a configuration or of a peer's certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The key is of another kind of machine.
    #[error(
        "this is {has}, but {needs} is needed; 'sockcap keys show FILE' shows the owner of a key"
    )]
    Role {
        /// Kind of machine that the key is for.
        has: String,
        /// Kind of machine that the key should be for.
        needs: &'static str,
    },
    /// The keys cannot be used.
    #[error("the keys cannot be used: {0}")]
    Keys(#[from] rustls::Error),
    /// The authority's certificate cannot be used.
    #[error("the authority's certificate cannot be used: {0}")]
    Authority(#[from] rustls::server::VerifierBuilderError),
    /// The peer's certificate has no name that a host may have.
    #[error("the certificate is not for a host: {0}")]
    NoHost(String),
}

/// Configuration of a collector: every peer has to show a certificate of its authority.
///
/// # Errors
/// Fails if the key is not a collector's, or cannot be used.
pub fn server_config(bundle: &KeyBundle) -> Result<Arc<ServerConfig>, TlsError> {
    server_config_with(bundle, None)
}

/// Configuration of a collector, like [`server_config`], that also refuses certificates on the list
/// of revoked ones.
///
/// # Errors
/// Fails as [`server_config`] does.
pub fn server_config_with(
    bundle: &KeyBundle,
    revoked: Option<&Arc<RevocationWatcher>>,
) -> Result<Arc<ServerConfig>, TlsError> {
    if bundle.role() != KeyRole::Collector {
        let has = format!("the key of host {}", bundle.names().join(", "));
        return Err(TlsError::Role { has, needs: "the collector's" });
    }
    let provider = crypto_provider();
    let inner =
        WebPkiClientVerifier::builder_with_provider(trusted_roots(bundle)?, provider.clone())
            .build()?;
    let verifier = match revoked {
        Some(revoked) => Arc::new(HostCertificateVerifier { inner, revoked: Arc::clone(revoked) }),
        None => inner,
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![bundle.certificate.clone()], bundle.key.clone_key())?;
    // A resumed session shows no certificate, so one that has since expired would still be
    // accepted.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Configuration of a shipper, for connections by [`connect_client`].
///
/// # Errors
/// Fails if the key is not a host's, or cannot be used.
pub fn client_config(bundle: &KeyBundle) -> Result<Arc<ClientConfig>, TlsError> {
    if bundle.role() != KeyRole::Host {
        return Err(TlsError::Role { has: "the collector's key".to_owned(), needs: "a host's" });
    }
    let mut config = ClientConfig::builder_with_provider(crypto_provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(trusted_roots(bundle)?)
        .with_client_auth_cert(vec![bundle.certificate.clone()], bundle.key.clone_key())?;
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Shipper's end of a connection; it accepts only the authority's collector at the other end.
///
/// # Errors
/// Fails if rustls cannot make the connection.
pub fn connect_client(config: Arc<ClientConfig>) -> Result<ClientConnection, TlsError> {
    let name = DnsName::try_from_str(COLLECTOR)
        .map_err(|_| rustls::Error::General(COLLECTOR.to_owned()))?;
    Ok(ClientConnection::new(config, ServerName::DnsName(name))?)
}

/// Names under which a peer may send, by the certificates that it has shown (`peer_certificates` of
/// a connection after its handshake).
///
/// # Errors
/// Fails if there is no certificate, or it has a name that no host may have.
pub(crate) fn host_names_of(certificates: &[CertificateDer<'_>]) -> Result<Vec<String>, TlsError> {
    let no_host = |why: &dyn std::fmt::Display| TlsError::NoHost(why.to_string());
    let first = certificates.first().ok_or_else(|| no_host(&"none was shown"))?;
    let names = keys::certificate_names(first).map_err(|error| no_host(&error))?;
    keys::check_host_names(&names).map_err(|error| no_host(&error))?;
    Ok(names)
}

/// Reason why TLS refused a connection, in a few words that are the same for the same cause, for
/// log lines and counters; `None` if TLS was not the reason.
pub(crate) fn refusal_reason(error: &io::Error) -> Option<&'static str> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match error {
        rustls::Error::NoCertificatesPresented => "no certificate",
        rustls::Error::InvalidCertificate(why) => match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "certificate expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "certificate not yet valid"
            }
            CertificateError::Revoked => REVOKED,
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "certificate of another authority"
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                "certificate for another purpose"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "certificate for another name"
            }
            _ => "bad certificate",
        },
        rustls::Error::PeerIncompatible(_) => "TLS older than 1.3",
        rustls::Error::AlertReceived(alert) => refused_by_peer(*alert),
        _ => "not TLS",
    })
}

/// Reason why the other side refused our certificate.
fn refused_by_peer(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CertificateExpired => "our certificate has expired, or is not yet valid",
        AlertDescription::CertificateRevoked => "our certificate was revoked",
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "our certificate is of another authority"
        }
        AlertDescription::CertificateRequired => "our certificate is missing",
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate => "our certificate is refused",
        AlertDescription::ProtocolVersion => "the other side has an older TLS",
        _ => "ended by the other side",
    }
}

fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Store with the one trusted authority.
fn trusted_roots(bundle: &KeyBundle) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add(bundle.authority.clone())?;
    Ok(Arc::new(roots))
}

#[cfg(test)]
mod tests;
