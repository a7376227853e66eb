//! From logs to messages: reconciliation (WAP5 section 4) turns what every process saw of its own sockets into one
//! trace of messages, each with the time at both ends.
//!
//! The way of the data, one concern a file: logs are read into a capture (`read_logs`, `capture`); the flows of all
//! processes that hold one kernel socket become one (`socket`); the two ends of each connection find each other
//! (`connections`, `pairing`, `unix_sockets`); the calls of each direction are matched by byte ([`streams`]) and
//! made fat ([`fat`]), datagrams by checksum (`datagram_match`, [`datagrams`]); `output` writes the trace. The
//! public modules are the steps by key: pure functions of the calls of one stream direction, one flow or one
//! datagram key. What could not be matched is counted by cause in the [`Reconciliation`].
//! [`blind_spots`] lists whom the logs mention and who has none.

mod addresses;
pub mod blind_spots;
mod calls;
mod capture;
pub mod clocks;
mod connections;
mod datagram_flows;
mod datagram_match;
mod datagram_names;
pub mod datagrams;
mod error;
pub mod fat;
pub mod import;
mod imported;
mod json;
mod names;
mod options;
mod output;
mod pairing;
mod process;
mod read_logs;
mod receivers;
mod reconciliation;
mod socket;
mod stream_flows;
pub mod streams;
mod unix_sockets;

pub use calls::{Part, Seen, Transfer};
pub use clocks::Clocks;
pub use error::Error;
pub use options::Options;
pub use reconciliation::{Counts, DamagedLog, Datagrams, Internal, Reconciliation, StreamBytes};

use message_trace::{DataDir, Progress};

use crate::capture::Capture;
use crate::connections::Listening;
use crate::output::Output;

/// Reads all logs and imports of `data`, and writes `messages.parquet`, `nodes.parquet`, `clocks.json` and
/// `reconciliation.json`. Equal logs give equal files.
///
/// # Errors
/// When there is neither a log that can be read nor an import, or a file cannot be written. Damaged logs are no error: what is whole in
/// them is used, and the rest counted.
pub fn reconcile(
    data: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Reconciliation, Error> {
    let mut outcome = Reconciliation::default();
    let imports = data.imported()?;
    let mut capture = match data.logs()?.is_empty() && !imports.is_empty() {
        true => Capture::default(),
        false => read_logs::read(data, progress, &mut outcome)?,
    };

    progress.step("matching messages", 0);
    let mut sockets = socket::sockets(&mut capture, &mut outcome);
    let listening = Listening::of(&capture, &sockets);
    let addresses = &listening.addresses;
    let fallbacks = datagram_names::fallbacks(&mut capture.names, &sockets, addresses);
    let partner = connections::partners(&capture, &sockets, &listening);
    let connections = connections::connections(&capture, &sockets, &partner, &listening);
    let clocks = clocks(&capture);
    let mut output = Output::new(&capture, &clocks, &mut outcome);
    stream_flows::write(&mut output, &mut sockets, &connections, options);
    datagram_flows::write(&mut output, &sockets, addresses, &partner, &fallbacks, options);
    let mut trace = output.trace;
    imported::append(&imports, &clocks, &mut trace, &mut outcome)?;
    trace.sort();

    progress.step("writing messages", 0);
    trace.write(&data.messages(), &data.nodes())?;
    clocks.write(&data.clocks())?;
    outcome.write(data)?;
    Ok(outcome)
}

/// The clocks of the hosts, of which nothing is known yet. The reference is the host with most processes.
fn clocks(capture: &Capture) -> Clocks {
    let processes =
        |host: usize| capture.processes.iter().filter(|process| process.host as usize == host).count();
    let reference = (0..capture.hosts.len()).max_by_key(|host| (processes(*host), std::cmp::Reverse(*host)));
    let reference = reference.and_then(|host| capture.hosts.get(host)).map_or("", String::as_str);
    let at = capture.processes.iter().filter_map(|process| process.node.start).min().unwrap_or(0);
    Clocks::identical(reference, &capture.hosts, at)
}
