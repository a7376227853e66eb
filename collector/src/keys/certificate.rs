//! Content of a certificate, as parsed by rustls' own library: names, validity and issuer.

use std::time::Duration;

use rustls_pki_types::{CertificateDer, DnsName, PrivateKeyDer, UnixTime};
use socket_log::names::check_host_name;
use webpki::{
    ALL_VERIFICATION_ALGS, CertRevocationList, EndEntityCert, KeyUsage, RevocationOptions,
    RevocationOptionsBuilder, anchor_from_trusted_cert,
};

use super::KeyError;

/// Name in the collector's certificate. Shippers check it whatever address they connect to, so the
/// address of the collector need not be known when keys are made. No machine on the Internet can
/// have it: `.internal` is reserved for private use.
pub(crate) const COLLECTOR: &str = "collector.sockcap.internal";

/// File names of machines other than hosts.
const RESERVED: [&str; 3] = ["authority", "collector", COLLECTOR];

/// Checks that hosts may have these names in a certificate.
pub(crate) fn check_host_names<Name: AsRef<str>>(names: &[Name]) -> Result<(), KeyError> {
    if names.is_empty() {
        return Err(KeyError::NoName);
    }
    for name in names.iter().map(AsRef::as_ref) {
        check_host_name(name).map_err(|source| KeyError::Name { name: name.to_owned(), source })?;
        if DnsName::try_from(name).is_err() || name.ends_with('.') {
            return Err(KeyError::NotInCertificates(name.to_owned()));
        }
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(KeyError::Reserved(name.to_owned()));
        }
    }
    Ok(())
}

/// Whether these are the collector's names: exactly one name, which no host has.
pub(super) fn is_collector_name<Name: AsRef<str>>(names: &[Name]) -> bool {
    matches!(names, [name] if name.as_ref() == COLLECTOR)
}

/// DNS names of a certificate.
pub(crate) fn dns_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, webpki::Error> {
    Ok(EndEntityCert::try_from(certificate)?.valid_dns_names().map(str::to_owned).collect())
}

/// The first and the last second of a certificate's validity, in seconds since 1970.
///
/// The library states them only when it rejects a certificate, so it is asked about the beginning
/// and the end of all time. It checks the time first, whatever the certificate is for.
pub(super) fn certificate_validity(
    certificate: &CertificateDer<'_>,
) -> Result<[i64; 2], webpki::Error> {
    let parsed = EndEntityCert::try_from(certificate)?;
    let at = |seconds| {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let usage = KeyUsage::client_auth();
        parsed.verify_for_usage(ALL_VERIFICATION_ALGS, &[], &[], time, usage, None, None).map(drop)
    };
    let seconds = |time: UnixTime| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let from = match at(0) {
        Err(webpki::Error::CertNotValidYet { not_before, .. }) => seconds(not_before),
        Err(error @ (webpki::Error::BadDer | webpki::Error::BadDerTime)) => return Err(error),
        _ => 0,
    };
    match at(u64::MAX) {
        Err(webpki::Error::CertExpired { not_after, .. }) => Ok([from, seconds(not_after)]),
        Err(error) => Err(error),
        Ok(()) => Ok([from, i64::MAX]),
    }
}

/// Verifies that the authority has signed a certificate for this use.
pub(super) fn verify_signed_for(
    usage: KeyUsage,
    certificate: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
) -> Result<(), webpki::Error> {
    verify_certificate(usage, certificate, authority, None)
}

/// Verifies a certificate as of its first second, so that an expired one still counts as its
/// authority's.
fn verify_certificate(
    usage: KeyUsage,
    certificate: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
    revocation: Option<RevocationOptions<'_>>,
) -> Result<(), webpki::Error> {
    let [from, _] = certificate_validity(certificate)?;
    let time = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(from).unwrap_or(0)));
    let anchors = [anchor_from_trusted_cert(authority)?];
    let parsed = EndEntityCert::try_from(certificate)?;
    parsed
        .verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, &[], time, usage, revocation, None)
        .map(drop)
}

/// Verifies that the authority that signed this certificate also signed this list of revoked
/// certificates.
pub(super) fn verify_revocation_list(
    list: &CertRevocationList<'_>,
    certificate: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
) -> Result<(), webpki::Error> {
    let lists = [list];
    let options = RevocationOptionsBuilder::new(&lists)
        .map_err(|_| webpki::Error::UnknownRevocationStatus)?;
    match verify_certificate(KeyUsage::server_auth(), certificate, authority, Some(options.build()))
    {
        // The collector's own certificate may be on the list: hosts do not read it.
        Ok(()) | Err(webpki::Error::CertRevoked) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Serial number, which identifies a certificate of an authority.
pub(super) fn serial_number(certificate: &CertificateDer<'_>) -> Result<Vec<u8>, webpki::Error> {
    Ok(EndEntityCert::try_from(certificate)?.serial().to_vec())
}

/// Whether a certificate is for this private key.
pub(super) fn matches_key(certificate: &CertificateDer<'_>, key: &PrivateKeyDer<'_>) -> bool {
    let public = rcgen::KeyPair::try_from(key)
        .map(|pair| rcgen::PublicKeyData::subject_public_key_info(&pair))
        .unwrap_or_default();
    EndEntityCert::try_from(certificate).is_ok_and(|certificate| {
        certificate.subject_public_key_info().as_ref() == public.as_slice()
    })
}
