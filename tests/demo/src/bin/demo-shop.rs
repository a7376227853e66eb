//! The application: calls the store, the store and the prices, the prices unless its cache has the
//! response, or the name server, depending on the kind of the request. Arguments: its port, the
//! store's, the prices', the name server's; `--store`, the store's address; `--cache`, the number
//! of offers with cached prices; `--asks`, how often a page requests its price.

use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::OnceLock;
use std::time::Duration;

use demo::AnswerCache;

/// Time that the application works before it calls others, and before it responds.
const WORK: Duration = Duration::from_millis(1);

static OFFERS: OnceLock<AnswerCache> = OnceLock::new();

fn main() -> io::Result<()> {
    let [port, store, prices, names] = demo::port_arguments()?;
    let store =
        (demo::optional_argument("--store", IpAddr::V4(Ipv4Addr::LOCALHOST))?, store).into();
    let (room, asks) =
        (demo::optional_argument("--cache", 64)?, demo::optional_argument("--asks", 1)?);
    let prices = demo::loopback_address(prices);
    demo::serve_lines(demo::loopback_address(port), move |line| {
        std::thread::sleep(WORK);
        let answer = match line {
            "/item" => demo::ask_line(store, line),
            "/page" => (0..asks).try_fold(demo::ask_line(store, line)?, |page, _| {
                Ok(page + &demo::ask_line(prices, line)?)
            }),
            _ if line.starts_with("/offer/") => {
                let offers = OFFERS.get_or_init(|| AnswerCache::new(room));
                offers.get_or_ask(line, || demo::ask_line(prices, line))
            }
            _ => look_up(names, line),
        };
        std::thread::sleep(WORK);
        answer
    })
}

fn look_up(port: u16, name: &str) -> io::Result<String> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    socket.send_to(name.as_bytes(), demo::loopback_address(port))?;
    let mut buffer = [0; 512];
    let (length, _) = socket.recv_from(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}
