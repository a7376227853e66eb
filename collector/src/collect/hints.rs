//! File of clock hints: a line for each exchange in `hosts/NAME/clock-hints.csv`, which reconcile
//! reads. Losing a line in a crash of the machine does no harm, so nothing is synced.

use std::io::Read;
use std::io::{self, Seek, SeekFrom, Write};

use message_trace::clock_exchange::{ClockExchange, HEADER_LINE};

use message_trace::DataPath;

use crate::tuning::{MAX_HINTS_BYTES, NEW_FILE_MODE};
use crate::wire::TimeExchange;

/// Appends an exchange with a host to the file at `path`, which is created if needed. `boot` is the
/// boot id of the host's kernel.
pub(super) fn append_hint(
    path: &DataPath,
    boot: [u8; 16],
    exchange: &TimeExchange,
) -> io::Result<()> {
    let open = || path.open_to_append(NEW_FILE_MODE);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            path.parent().create_dir_all()?;
            open()?
        }
        file => file?,
    };
    let length = file.metadata()?.len();
    if length > MAX_HINTS_BYTES {
        return Ok(());
    }
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let TimeExchange { host_sent, collector_received, collector_sent, host_received } = *exchange;
    let line = ClockExchange { boot, host_sent, collector_received, collector_sent, host_received };
    let head = if length == 0 { format!("{HEADER_LINE}\n") } else { String::new() };
    // A line cut off by a full disk or a crash must not spoil this one.
    let end = if last == [b'\n'] { "" } else { "\n" };
    // One write, so that the line exists whole or not at all.
    file.write_all(format!("{end}{head}{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_has_one_head_and_one_line_per_exchange_even_after_a_truncated_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hosts/web-1/clock-hints.csv");
        let exchange = TimeExchange {
            host_sent: -1,
            collector_received: 2,
            collector_sent: 3,
            host_received: 4,
        };
        let boot = [0xab, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        append_hint(&DataPath::from(&path), boot, &exchange).unwrap();
        append_hint(&DataPath::from(&path), boot, &exchange).unwrap();
        let line = "ab000000000000000000000000000001,-1,2,3,4\n";
        let text = format!("{HEADER_LINE}\n{line}{line}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::write(&path, &text[..text.len() - 3]).unwrap();
        append_hint(&DataPath::from(&path), boot, &exchange).unwrap();
        let mut read = Vec::new();
        assert_eq!(
            ClockExchange::for_each_exchange(&path, |exchange| read.push(exchange)).unwrap(),
            1
        );
        assert_eq!(read.iter().map(|exchange| exchange.host_received).collect::<Vec<_>>(), [4, 4]);
    }
}
