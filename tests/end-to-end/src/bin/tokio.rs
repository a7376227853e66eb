//! A program in the style of many Rust servers: tokio's reactor, its streams, datagrams and child
//! processes, on several threads. The tests record it and compare its log with what the kernel saw.

use std::io;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use tokio::process::Command;

async fn echo_stream(mut stream: TcpStream) -> io::Result<()> {
    let (mut reader, mut writer) = stream.split();
    tokio::io::copy(&mut reader, &mut writer).await.map(drop)
}

async fn run_client(port: u16, size: usize) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let mut answer = vec![0; size];
    for _ in 0..20 {
        stream.write_all(&vec![1; size]).await?;
        stream.read_exact(&mut answer).await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo_stream(stream));
        }
    });
    let clients: Vec<_> = (1..=8).map(|n| tokio::spawn(run_client(port, n * 1000))).collect();
    for client in clients {
        client.await??;
    }
    server.abort();

    let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    let mut buffer = [0; 100];
    for size in 1..50 {
        b.send_to(&buffer[..size], a.local_addr()?).await?;
        a.recv_from(&mut buffer).await?;
    }

    let (mut one, mut other) = UnixStream::pair()?;
    one.write_all(&[2; 10_000]).await?;
    other.read_exact(&mut vec![0; 10_000]).await?;

    let child = Command::new("/bin/echo").arg("a child").stdout(Stdio::piped()).output().await?;
    assert_eq!(child.stdout, b"a child\n");
    println!("done");
    Ok(())
}
