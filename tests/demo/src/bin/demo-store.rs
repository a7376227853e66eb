//! The store: responds to lines over TCP and to datagrams over UDP. Arguments: its port, and the
//! milliseconds of work per response, or `udp`; `--address`, the address on which it listens over
//! TCP.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

fn main() -> io::Result<()> {
    let [port] = demo::port_arguments()?;
    match std::env::args().nth(2).as_deref() {
        Some("udp") => demo::echo_datagrams(port),
        work => {
            let work = Duration::from_millis(work.and_then(|work| work.parse().ok()).unwrap_or(0));
            let address = demo::optional_argument("--address", IpAddr::V4(Ipv4Addr::LOCALHOST))?;
            demo::serve_lines((address, port).into(), move |line| {
                std::thread::sleep(work);
                Ok(format!("stored {line}"))
            })
        }
    }
}
