//! The front: sends every request on to the application. Arguments: its port, the application's
//! port.

use std::io;

fn main() -> io::Result<()> {
    let [port, application] = demo::ports()?;
    demo::serve(demo::local(port), move |line| demo::ask(demo::local(application), line))
}
