//! `quic server CERTIFICATE` responds to each stream's request with the requested number of bytes,
//! and prints its port; `quic client CERTIFICATE PORT REQUESTS` sends requests, and prints how many
//! bytes it received.

use std::env;
use std::error::Error;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "server", certificate] => serve(certificate).await,
        [_, "client", certificate, port, requests] => {
            ask(certificate, port.parse()?, requests.parse()?).await
        }
        _ => Err("quic server CERTIFICATE | quic client CERTIFICATE PORT REQUESTS".into()),
    }
}

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

async fn serve(certificate: &str) -> Outcome {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    fs::write(certificate, made.cert.der())?;
    let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key)?;
    let endpoint = Endpoint::server(config, at(0))?;
    println!("{}", endpoint.local_addr()?.port());
    let Some(incoming) = endpoint.accept().await else { return Ok(()) };
    let connection = incoming.await?;
    while let Ok((mut to, mut from)) = connection.accept_bi().await {
        let request = from.read_to_end(8).await?;
        let bytes = u64::from_le_bytes(request.as_slice().try_into()?);
        to.write_all(&vec![b'a'; usize::try_from(bytes)?]).await?;
        to.finish()?;
    }
    endpoint.wait_idle().await;
    Ok(())
}

async fn ask(certificate: &str, port: u16, requests: u64) -> Outcome {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(certificate)?))?;
    let mut endpoint = Endpoint::client(at(0))?;
    endpoint.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let connection = endpoint.connect(at(port), "localhost")?.await?;
    let mut given = 0;
    for request in 0..requests {
        let (mut to, mut from) = connection.open_bi().await?;
        to.write_all(&(request * 10_000).to_le_bytes()).await?;
        to.finish()?;
        given += from.read_to_end(1 << 24).await?.len();
    }
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    println!("{given}");
    Ok(())
}
