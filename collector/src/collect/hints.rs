//! Where clock hints are kept: a line an exchange in `hosts/NAME/clock-hints.csv`, which reconcile reads. They are hints:
//! a line that is lost with the machine is no loss.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::wire::Exchange;

/// The file's name in a host's directory.
const NAME: &str = "clock-hints.csv";
const HEAD: &str = "boot,host_sent,collector_received,collector_sent,host_received\n";
/// Beyond this size in bytes, none are added: half a million exchanges.
const LONGEST: u64 = 64 << 20;

/// Adds an exchange with a host whose kernel has this boot id.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn add(directory: &Path, boot: [u8; 16], exchange: &Exchange) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut file = File::options().append(true).create(true).open(directory.join(NAME))?;
    let length = file.metadata()?.len();
    if length > LONGEST {
        return Ok(());
    }
    let boot = u128::from_be_bytes(boot);
    let Exchange { host_sent, collector_received, collector_sent, host_received } = exchange;
    let head = if length == 0 { HEAD } else { "" };
    // In one write, so that a line is there as a whole or not.
    let line =
        format!("{head}{boot:032x},{host_sent},{collector_received},{collector_sent},{host_received}\n");
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_one_head_and_a_line_an_exchange() {
        let directory = tempfile::tempdir().unwrap();
        let host = directory.path().join("hosts/web-1");
        let exchange = Exchange { host_sent: -1, collector_received: 2, collector_sent: 3, host_received: 4 };
        let boot = [0xab, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        add(&host, boot, &exchange).unwrap();
        add(&host, boot, &exchange).unwrap();
        let line = "ab000000000000000000000000000001,-1,2,3,4\n";
        assert_eq!(fs::read_to_string(host.join(NAME)).unwrap(), format!("{HEAD}{line}{line}"));
    }
}
