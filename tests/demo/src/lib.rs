#![doc = include_str!("../README.md")]

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::str::FromStr;

mod cache;

pub use cache::AnswerCache;

/// The loopback address of `port`.
pub fn loopback_address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// The optional argument `--name value`, which follows all positional ones.
///
/// # Errors
/// When its value cannot be read.
pub fn optional_argument<T: FromStr>(name: &str, default: T) -> io::Result<T> {
    let Some(value) = std::env::args().skip_while(|argument| argument != name).nth(1) else {
        return Ok(default);
    };
    value.parse().map_err(|_| io::Error::other(format!("'{value}' is not a value of {name}")))
}

/// The port numbers given as arguments.
///
/// # Errors
/// If one is missing or invalid.
pub fn port_arguments<const N: usize>() -> io::Result<[u16; N]> {
    let mut arguments = std::env::args().skip(1);
    let mut ports = [0; N];
    for port in &mut ports {
        let argument = arguments.next().unwrap_or_default();
        *port = argument
            .parse()
            .map_err(|_| io::Error::other(format!("'{argument}' is not a port")))?;
    }
    Ok(ports)
}

/// Responds to each line of each connection with the result of `answer`, with a thread per
/// connection, forever.
///
/// # Errors
/// If the address cannot be listened on.
pub fn serve_lines(
    address: SocketAddr,
    answer: impl Fn(&str) -> io::Result<String> + Copy + Send + 'static,
) -> io::Result<()> {
    for stream in TcpListener::bind(address)?.incoming() {
        let stream = stream?;
        std::thread::spawn(move || -> io::Result<()> {
            stream.set_nodelay(true)?;
            let mut output = stream.try_clone()?;
            for line in BufReader::new(stream).lines() {
                output.write_all(format!("{}\n", answer(&line?)?).as_bytes())?;
            }
            Ok(())
        });
    }
    Ok(())
}

/// Echoes each datagram, forever.
///
/// # Errors
/// When the port cannot be bound.
pub fn echo_datagrams(port: u16) -> io::Result<()> {
    let socket = UdpSocket::bind(loopback_address(port))?;
    let mut buffer = [0; 512];
    loop {
        let (length, peer) = socket.recv_from(&mut buffer)?;
        socket.send_to(&buffer[..length], peer)?;
    }
}

/// Sends one line to the server at `address`, and returns its response.
///
/// # Errors
/// If it cannot be reached or does not respond.
pub fn ask_line(address: SocketAddr, line: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().to_owned())
}
