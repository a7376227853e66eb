//! The client: sends one request. Arguments: the front's port, the request.

use std::io;

fn main() -> io::Result<()> {
    let [port] = demo::port_arguments()?;
    let answer =
        demo::ask_line(demo::loopback_address(port), &std::env::args().nth(2).unwrap_or_default())?;
    if answer.is_empty() { Err(io::Error::other("no answer")) } else { Ok(()) }
}
