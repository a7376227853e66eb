//! The application: asks the store, the store and the prices, or the name server, by the kind of
//! the request. Arguments: its port, the store's, the prices', the name server's.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// Time that the application works before it asks, and before it answers.
const WORK: Duration = Duration::from_millis(1);

fn main() -> io::Result<()> {
    let [port, store, prices, names] = demo::ports()?;
    demo::serve(port, move |line| {
        std::thread::sleep(WORK);
        let answer = match line {
            "/item" => demo::ask(store, line),
            "/page" => Ok(demo::ask(store, line)? + &demo::ask(prices, line)?),
            _ => look_up(names, line),
        };
        std::thread::sleep(WORK);
        answer
    })
}

fn look_up(port: u16, name: &str) -> io::Result<String> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    socket.send_to(name.as_bytes(), demo::local(port))?;
    let mut buffer = [0; 512];
    let (length, _) = socket.recv_from(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}
