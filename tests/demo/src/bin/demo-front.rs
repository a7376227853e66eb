//! The front: forwards every request to the application. Arguments: its port, the application's
//! port.

use std::io;

fn main() -> io::Result<()> {
    let [port, application] = demo::port_arguments()?;
    demo::serve_lines(demo::loopback_address(port), move |line| {
        demo::ask_line(demo::loopback_address(application), line)
    })
}
