//! Handshakes over a pair of sockets: which peers are admitted, and the reasons that both sides
//! report otherwise.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

use rustls::{ServerConnection, Stream};

use super::*;
use crate::keys::{Authority, KeyValidity};

const DAY: i64 = 24 * 60 * 60;
const YEAR: i64 = 365 * DAY;

/// An authority in a directory of its own.
fn authority() -> Authority {
    let directory = tempfile::tempdir().unwrap();
    Authority::create(directory.path(), 10).unwrap()
}

fn now() -> i64 {
    KeyValidity::for_days(0).until
}

/// Results of a connection: at the collector's end, which reads a byte and returns the shipper's
/// names; and at the shipper's, which gets the byte back.
fn connect_ends(
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
) -> (io::Result<Vec<String>>, io::Result<()>) {
    let (mut here, mut there) = UnixStream::pair().unwrap();
    // Either end stays open until the other has read the reason of its refusal.
    let collector = thread::spawn(move || {
        let mut connection = ServerConnection::new(server).unwrap();
        let names = serve_byte(&mut connection, &mut here);
        here.shutdown(Shutdown::Write).unwrap();
        (names, here)
    });
    let mut connection = connect_client(client).unwrap();
    let mut byte = [7];
    let mut stream = Stream::new(&mut connection, &mut there);
    let shipped = stream.write_all(&byte).and_then(|()| stream.read_exact(&mut byte));
    there.shutdown(Shutdown::Write).unwrap();
    (collector.join().unwrap().0, shipped)
}

/// The collector's end.
fn serve_byte(
    connection: &mut ServerConnection,
    socket: &mut UnixStream,
) -> io::Result<Vec<String>> {
    let mut byte = [0];
    Stream::new(connection, socket).read_exact(&mut byte)?;
    let names = host_names_of(connection.peer_certificates().unwrap_or_default())
        .map_err(io::Error::other)?;
    Stream::new(connection, socket).write_all(&byte)?;
    Ok(names)
}

/// The reasons at both ends.
fn words(
    (collector, shipper): (io::Result<Vec<String>>, io::Result<()>),
) -> (&'static str, &'static str) {
    let word = |error: io::Error| refusal_reason(&error).unwrap_or("no refusal of TLS");
    (collector.err().map_or("well", word), shipper.err().map_or("well", word))
}

#[test]
fn keys_of_the_authority_are_admitted_under_their_names() {
    let authority = authority();
    let config = server_config(&authority.issue_collector(1).unwrap()).unwrap();
    for names in [vec!["web1"], vec!["Web_1.example.org", "db1"]] {
        let host = client_config(&authority.issue_host(&names, 1).unwrap()).unwrap();
        let (collector, shipper) = connect_ends(config.clone(), host);
        assert_eq!(collector.unwrap(), names);
        shipper.unwrap();
    }
}

#[test]
fn keys_from_a_reopened_authority_are_valid() {
    let directory = tempfile::tempdir().unwrap();
    let made = Authority::create(directory.path(), 10).unwrap();
    let config = server_config(&made.issue_collector(1).unwrap()).unwrap();
    let again = Authority::open(directory.path()).unwrap();
    let host = client_config(&again.issue_host(&["web1"], 1).unwrap()).unwrap();
    assert_eq!(connect_ends(config, host).0.unwrap(), ["web1"]);
}

#[test]
fn keys_read_from_files_work_like_new_ones() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path(), 10).unwrap();
    let reopened = |bundle: KeyBundle, name: &str| {
        let path = directory.path().join(name);
        bundle.write(&path, false).unwrap();
        KeyBundle::open(&path).unwrap()
    };
    let collector = reopened(authority.issue_collector(1).unwrap(), "collector.pem");
    let host = reopened(authority.issue_host(&["web1"], 1).unwrap(), "web1.pem");
    assert_eq!(
        connect_ends(server_config(&collector).unwrap(), client_config(&host).unwrap()).0.unwrap(),
        ["web1"]
    );
}

#[test]
fn a_host_outside_its_time_is_refused() {
    let authority = authority();
    let config = server_config(&authority.issue_collector(1).unwrap()).unwrap();
    let host = |from, until| {
        client_config(
            &authority.issue_key(KeyRole::Host, &["web1"], KeyValidity { from, until }).unwrap(),
        )
        .unwrap()
    };
    let ours = "our certificate has expired, or is not yet valid";
    let expired = connect_ends(config.clone(), host(now() - 2 * DAY, now() - DAY));
    assert_eq!(words(expired), ("certificate expired", ours));
    let early = connect_ends(config.clone(), host(now() + DAY, now() + 2 * DAY));
    assert_eq!(words(early), ("certificate not yet valid", ours));
    assert_eq!(words(connect_ends(config, host(now() - DAY, now() + DAY))), ("well", "well"));
}

#[test]
fn a_collector_outside_its_time_is_refused() {
    let authority = authority();
    let host = client_config(&authority.issue_host(&["web1"], 1).unwrap()).unwrap();
    let at = |from, until| {
        let bundle = authority
            .issue_key(KeyRole::Collector, &[COLLECTOR], KeyValidity { from, until })
            .unwrap();
        connect_ends(server_config(&bundle).unwrap(), host.clone())
    };
    assert_eq!(words(at(now() - 2 * DAY, now() - DAY)).1, "certificate expired");
    assert_eq!(words(at(now() + DAY, now() + 2 * DAY)).1, "certificate not yet valid");
}

#[test]
fn no_key_is_valid_longer_than_its_authority() {
    let directory = tempfile::tempdir().unwrap();
    let valid = KeyValidity { from: now() - 2 * YEAR, until: now() - YEAR };
    let old = Authority::create_for(directory.path(), valid).unwrap();
    assert!(old.issue_host(&["web1"], 365).is_err(), "it would end before it begins");
    let longer = KeyValidity { until: valid.until + 2 * YEAR, ..valid };
    let host = old.issue_key(KeyRole::Host, &["web1"], longer).unwrap();
    assert_eq!(host.validity(), [valid.from, valid.until]);
}

#[test]
fn keys_of_another_authority_are_refused() {
    let (one, other) = (authority(), authority());
    let config = server_config(&one.issue_collector(1).unwrap()).unwrap();
    let foreign = client_config(&other.issue_host(&["web1"], 1).unwrap()).unwrap();
    // The shipper checks first, so the collector gets its reason from there.
    assert_eq!(
        words(connect_ends(config.clone(), foreign)),
        ("our certificate is of another authority", "certificate of another authority")
    );
    // A shipper that would accept any collector is refused all the same.
    let careless = without_looking(&other.issue_host(&["web1"], 1).unwrap());
    assert_eq!(
        words(connect_ends(config, careless)),
        ("certificate of another authority", "our certificate is of another authority")
    );
}

#[test]
fn a_peer_without_a_certificate_is_refused() {
    let authority = authority();
    let bundle = authority.issue_host(&["web1"], 1).unwrap();
    let bare = ClientConfig::builder_with_provider(crypto_provider())
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_root_certificates(trusted_roots(&bundle).unwrap())
        .with_no_client_auth();
    let results = connect_ends(
        server_config(&authority.issue_collector(1).unwrap()).unwrap(),
        Arc::new(bare),
    );
    assert_eq!(words(results), ("no certificate", "our certificate is missing"));
}

#[test]
fn no_host_can_pose_as_the_collector_nor_the_collector_as_a_host() {
    let authority = authority();
    let (collector, host) =
        (authority.issue_collector(1).unwrap(), authority.issue_host(&["web1"], 1).unwrap());
    // The wrong key by mistake is reported before any connection.
    assert!(server_config(&host).unwrap_err().to_string().contains("web1"));
    assert!(client_config(&collector).unwrap_err().to_string().contains("the collector's key"));

    // With a program other than sockcap it is refused by the other end.
    let mut posing = ServerConfig::clone(&server_config(&collector).unwrap());
    posing.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(certified(&host)));
    let results = connect_ends(Arc::new(posing), client_config(&host).unwrap());
    assert_eq!(words(results).1, "certificate for another purpose");
    let results = connect_ends(server_config(&collector).unwrap(), without_looking(&collector));
    assert_eq!(words(results).0, "certificate for another purpose");
}

#[test]
fn only_a_server_with_the_collectors_name_is_the_collector() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path(), 10).unwrap();
    let host = client_config(&authority.issue_host(&["web1"], 1).unwrap()).unwrap();
    let config = server_config(&authority.issue_collector(1).unwrap()).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let text = fs::read_to_string(directory.path().join(keys::AUTHORITY_FILE)).unwrap();
    let of_authority = rcgen::KeyPair::from_pem(&text).unwrap();
    use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    // Certificates that no authority of sockcap makes, except the last one.
    for (name, usage, word) in [
        (COLLECTOR, ClientAuth, "certificate for another purpose"),
        ("web1", ServerAuth, "certificate for another name"),
        (COLLECTOR, ServerAuth, "well"),
    ] {
        let mut params = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &keys::issuer_for_tests(&of_authority)).unwrap();
        let private = rustls_pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
        let certified = rustls::sign::CertifiedKey::from_der(
            vec![certificate.into()],
            private.into(),
            &crypto_provider(),
        );
        let mut posing = ServerConfig::clone(&config);
        posing.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(certified.unwrap()));
        assert_eq!(words(connect_ends(Arc::new(posing), host.clone())).1, word);
    }
}

#[test]
fn a_certificate_without_a_host_name_is_refused() {
    let authority = authority();
    let collector = authority.issue_collector(1).unwrap();
    let error =
        host_names_of(std::slice::from_ref(&collector.certificate)).unwrap_err().to_string();
    assert!(error.contains(COLLECTOR), "{error}");
    assert!(host_names_of(std::slice::from_ref(&collector.authority)).is_err(), "no name at all");
    assert!(
        host_names_of(&[]).is_err()
            && host_names_of(&[CertificateDer::from(b"no certificate".to_vec())]).is_err()
    );
    // Names that a foreign program could have put into a certificate.
    for name in ["*.example.org", ".hidden", "a b", "authority"] {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        assert!(host_names_of(&[made.cert.into()]).is_err(), "{name}");
    }
}

#[test]
fn tls_1_2_and_other_protocols_are_refused() {
    let authority = authority();
    let config = server_config(&authority.issue_collector(1).unwrap()).unwrap();
    let answer = |sent: &[u8]| {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        there.write_all(sent).unwrap();
        let mut connection = ServerConnection::new(config.clone()).unwrap();
        let error = connection.complete_io(&mut here).unwrap_err();
        drop(here);
        let mut alert = Vec::new();
        there.read_to_end(&mut alert).unwrap();
        (refusal_reason(&error).unwrap(), alert)
    };
    let (why, alert) = answer(&client_hello_1_2());
    assert_eq!((why, alert.as_slice()), ("TLS older than 1.3", [21, 3, 3, 0, 2, 2, 70].as_slice()));
    assert_eq!(answer(b"GET /metrics HTTP/1.1\r\n\r\n").0, "not TLS");
    assert_eq!(answer(&[0; 64]).0, "not TLS");
}

/// First message of a client with TLS 1.2 at most (RFC 5246, 7.4.1.2): ECDHE with ECDSA over P-256,
/// no supported_versions.
fn client_hello_1_2() -> Vec<u8> {
    let extensions: [&[u8]; 2] = [
        &[0, 10, 0, 4, 0, 2, 0, 23], // supported_groups: secp256r1
        &[0, 13, 0, 4, 0, 2, 4, 3],  // signature_algorithms: ecdsa_secp256r1_sha256
    ];
    let extensions = extensions.concat();
    let mut body = vec![3, 3];
    body.extend([7; 32]); // random
    body.extend([0, 0, 2, 0xc0, 0x2b, 1, 0]); // no session, one cipher suite, no compression
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let mut record = vec![22, 3, 1];
    record.extend((body.len() as u16 + 4).to_be_bytes());
    record.extend([1, 0]);
    record.extend((body.len() as u16).to_be_bytes());
    record.extend(body);
    record
}

#[test]
fn every_connection_shows_its_certificate_again() {
    let authority = authority();
    let config = server_config(&authority.issue_collector(1).unwrap()).unwrap();
    let host = client_config(&authority.issue_host(&["web1"], 1).unwrap()).unwrap();
    for _ in 0..2 {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let config = config.clone();
        let collector = thread::spawn(move || {
            let mut connection = ServerConnection::new(config).unwrap();
            Stream::new(&mut connection, &mut here).write_all(&[7]).unwrap();
            let mut end = [0];
            Stream::new(&mut connection, &mut here).read_exact(&mut end).unwrap();
            connection.handshake_kind()
        });
        let mut connection = connect_client(host.clone()).unwrap();
        let mut byte = [0];
        let mut stream = Stream::new(&mut connection, &mut there);
        stream.read_exact(&mut byte).and_then(|()| stream.write_all(&byte)).unwrap();
        assert_eq!(collector.join().unwrap(), Some(rustls::HandshakeKind::Full));
    }
}

/// Certificate and key of a machine in the form of rustls.
fn certified(bundle: &KeyBundle) -> rustls::sign::CertifiedKey {
    let chain = vec![bundle.certificate.clone()];
    rustls::sign::CertifiedKey::from_der(chain, bundle.key.clone_key(), &crypto_provider()).unwrap()
}

/// A shipper that does not check the collector's certificate.
fn without_looking(bundle: &KeyBundle) -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_provider(crypto_provider())
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAnyServer))
        .with_client_auth_cert(vec![bundle.certificate.clone()], bundle.key.clone_key());
    Arc::new(config.unwrap())
}

#[derive(Debug)]
struct AcceptAnyServer;

impl rustls::client::danger::ServerCertVerifier for AcceptAnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls_pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        crypto_provider().signature_verification_algorithms.supported_schemes()
    }
}
