//! Timestamps that a host exchanged with the collector, in `hosts/NAME/clock-hints.csv`: one line
//! per exchange, in the order of arrival.
//!
//! The collector writes the file while hosts ship their logs, and reconcile reads it for the hosts'
//! clocks; this is the only module that knows its format (docs/log-format.md). The file is
//! untrusted: its last line may be cut off if the collector was killed, and any other damaged.
//! Lines that are no exchange are skipped and counted.

use data_files::DataPath;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

/// The first line of the file, and of each later section if the collector writes it again.
pub const HEADER_LINE: &str = "boot,host_sent,collector_received,collector_sent,host_received";
/// Maximum length of a line in bytes, with the newline that ends it.
pub const MAX_LINE_BYTES: usize = 256;

/// Four timestamps, as NTP exchanges them, of a request of the host and the collector's response:
/// nanoseconds since the Unix epoch, each by the clock of the machine that took it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockExchange {
    /// The id of the boot of the host's kernel, as in the headers of its logs; 0 if unknown.
    pub boot: [u8; 16],
    /// When the host sent the request, in nanoseconds since the Unix epoch by the host's clock.
    pub host_sent: i64,
    /// When the request arrived, by the collector's clock.
    pub collector_received: i64,
    /// When the response was sent, by the collector's clock.
    pub collector_sent: i64,
    /// When the response arrived, by the host's clock.
    pub host_received: i64,
}

impl ClockExchange {
    /// Returns the round-trip time: the time that request and response were under way together, in
    /// nanoseconds. `None` if the time is negative, or the response was sent before the request
    /// arrived: then the exchange is damaged, or a clock was set in between.
    ///
    /// Damage to a single number makes the round trip longer, so that the exchange is less precise,
    /// or is detected here, or makes no bound on the clocks wrong by more than the round trip was.
    pub fn round_trip(&self) -> Option<i64> {
        let waited = self.collector_sent.checked_sub(self.collector_received)?;
        let all = self.host_received.checked_sub(self.host_sent)?;
        all.checked_sub(waited).filter(|trip| *trip >= 0 && waited >= 0)
    }

    /// Parses a line without its newline.
    pub fn parse_line(line: &[u8]) -> Option<ClockExchange> {
        let line = std::str::from_utf8(line).ok()?;
        let mut fields = line.trim_end_matches('\r').split(',');
        let boot = parse_boot_id(fields.next()?)?;
        let mut time = || fields.next()?.parse().ok();
        let exchange = ClockExchange {
            boot,
            host_sent: time()?,
            collector_received: time()?,
            collector_sent: time()?,
            host_received: time()?,
        };
        fields.next().is_none().then_some(exchange)
    }

    /// Passes the exchanges of the file at `path` to `each`, line by line in bounded memory.
    /// Returns the number of damaged lines. A last line without its newline counts as damaged,
    /// since its end may be missing; header lines do not.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn for_each_exchange(
        path: impl Into<DataPath>,
        mut each: impl FnMut(ClockExchange),
    ) -> io::Result<u64> {
        let path = &path.into();
        let mut file = BufReader::with_capacity(64 << 10, path.open()?);
        let mut line = Vec::with_capacity(MAX_LINE_BYTES);
        let mut damaged = 0;
        loop {
            line.clear();
            let read = (&mut file).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(damaged);
            }
            let exchange = match line.strip_suffix(b"\n") {
                Some(line) if line == HEADER_LINE.as_bytes() => continue,
                Some(line) => ClockExchange::parse_line(line),
                None => {
                    skip_line(&mut file)?;
                    None
                }
            };
            match exchange {
                Some(exchange) => each(exchange),
                None => damaged += 1,
            }
        }
    }
}

/// The line of the file, without its newline.
impl fmt::Display for ClockExchange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.boot.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
        let ClockExchange { host_sent, collector_received, collector_sent, host_received, .. } =
            self;
        write!(out, ",{host_sent},{collector_received},{collector_sent},{host_received}")
    }
}

/// Parses 32 hexadecimal digits.
fn parse_boot_id(digits: &str) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    if digits.len() != 2 * id.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (place, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(id)
}

/// Skips the rest of a line.
fn skip_line(file: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = file.fill_buf()?;
        let (used, is_end) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        file.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_exchanges(bytes: &[u8]) -> (Vec<ClockExchange>, u64) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let mut all = Vec::new();
        let damaged =
            ClockExchange::for_each_exchange(file.path(), |exchange| all.push(exchange)).unwrap();
        (all, damaged)
    }

    fn to_lines(all: &[ClockExchange]) -> String {
        all.iter()
            .fold(format!("{HEADER_LINE}\n"), |text, exchange| text + &exchange.to_string() + "\n")
    }

    const SOME: ClockExchange = ClockExchange {
        boot: *b"\x00\x01\xfe34567890abcde",
        host_sent: 1_000,
        collector_received: -7,
        collector_sent: 0,
        host_received: 1_050,
    };

    #[test]
    fn a_line_is_an_exchange() {
        let line = "0001fe33343536373839306162636465,1000,-7,0,1050";
        assert_eq!(SOME.to_string(), line);
        assert_eq!(ClockExchange::parse_line(line.as_bytes()), Some(SOME));
        assert_eq!(SOME.round_trip(), Some(43));
        assert_eq!(read_exchanges(to_lines(&[SOME; 3]).as_bytes()), (vec![SOME; 3], 0));
        // No head line, another kind of line end, and one more head line.
        assert_eq!(
            read_exchanges(format!("{line}\r\n{HEADER_LINE}\n{line}\n").as_bytes()),
            (vec![SOME; 2], 0)
        );
        assert_eq!(read_exchanges(b""), (vec![], 0));
    }

    #[test]
    fn lines_that_are_no_exchange_are_counted() {
        let long = "1".repeat(70_000);
        let wrong = [
            "",
            "a",
            "0001fe33343536373839306162636465,1000,-7,0",
            "0001fe33343536373839306162636465,1000,-7,0,1050,",
            "0001fe3334353637383930616263646,1000,-7,0,1050",
            "+001fe33343536373839306162636465,1000,-7,0,1050",
            "0001fe33343536373839306162636465,1000,-7,0,10 50",
            "0001fe33343536373839306162636465,1000,-7,0,9223372036854775808",
            // Two lines; the first was cut off.
            "0001fe33343536373839306162636465,1000,-7,0001fe33343536373839306162636465,1000,-7,0,1050",
            &long,
        ];
        for wrong in wrong {
            assert_eq!(
                read_exchanges(format!("{SOME}\n{wrong}\n{SOME}\n").as_bytes()),
                (vec![SOME; 2], 1),
                "{wrong}"
            );
        }
        // The last is cut off, and may be incomplete.
        assert_eq!(read_exchanges(format!("{SOME}\n{SOME}").as_bytes()), (vec![SOME], 1));
        assert_eq!(read_exchanges(&[b'x'; MAX_LINE_BYTES]), (vec![], 1));
    }

    #[test]
    fn an_impossible_exchange_has_no_round_trip() {
        let with = |change: fn(&mut ClockExchange)| {
            let mut exchange = SOME;
            change(&mut exchange);
            exchange.round_trip()
        };
        assert_eq!(with(|it| it.host_received = 1_007), Some(0));
        assert_eq!(with(|it| it.host_received = 1_006), None);
        assert_eq!(with(|it| it.collector_sent = -8), None);
        assert_eq!(with(|it| it.collector_received = i64::MIN), None);
        assert_eq!(with(|it| (it.host_sent, it.host_received) = (i64::MIN, i64::MAX)), None);
    }

    fn any_exchanges() -> impl Strategy<Value = Vec<ClockExchange>> {
        let exchange =
            (any::<[u8; 16]>(), any::<[i64; 4]>()).prop_map(|(boot, [a, b, c, d])| ClockExchange {
                boot,
                host_sent: a,
                collector_received: b,
                collector_sent: c,
                host_received: d,
            });
        proptest::collection::vec(exchange, 0..20)
    }

    proptest! {
        /// Written exchanges are read unchanged.
        #[test]
        fn written_exchanges_are_read_unchanged(all in any_exchanges()) {
            prop_assert_eq!(read_exchanges(to_lines(&all).as_bytes()), (all, 0));
        }

        /// From a file that is cut off anywhere, all whole lines are read.
        #[test]
        fn a_file_that_is_cut_off_loses_one_line(all in any_exchanges(), cut in any::<prop::sample::Index>()) {
            let text = to_lines(&all);
            let kept = &text.as_bytes()[..cut.index(text.len() + 1)];
            let whole = kept.iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
            let damaged = u64::from(kept.last().is_some_and(|last| *last != b'\n'));
            prop_assert_eq!(read_exchanges(kept), (all[..whole].to_vec(), damaged));
        }

        /// Overwritten, inserted or removed bytes cost only the lines that they are in.
        #[test]
        fn damage_costs_its_own_lines(
            all in any_exchanges(),
            at in any::<prop::sample::Index>(),
            taken in 0..400_usize,
            put in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b',')], 0..400),
        ) {
            let mut bytes = to_lines(&all).into_bytes();
            let from = at.index(bytes.len());
            let to = (from + taken).min(bytes.len());
            let before = bytes[..from].iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
            let lines_after = bytes[to..].iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
            bytes.splice(from..to, put);
            let (found, damaged) = read_exchanges(&bytes);
            prop_assert!(found.starts_with(&all[..before.min(all.len())]));
            prop_assert!(found.ends_with(&all[all.len() - lines_after.min(all.len())..]));
            let lines = bytes.split(|byte| *byte == b'\n').count();
            prop_assert!(found.len() + damaged as usize <= lines);
        }

        /// A change of a single number lowers the precision, or is detected, or is wrong by the
        /// round trip at most.
        #[test]
        fn a_wrong_number_is_detected_or_bounded(
            delays in prop::array::uniform2(0..1_000_000_i64),
            waited in 0..1_000_000_i64,
            ahead in -10_000_000..10_000_000_i64,
            which in 0..4_usize,
            wrong in prop_oneof![-3_000_000..3_000_000_i64, any::<i64>()],
        ) {
            let mut times = [ahead, delays[0], delays[0] + waited, delays[0] + waited + delays[1] + ahead];
            times[which] = times[which].saturating_add(wrong);
            let [host_sent, collector_received, collector_sent, host_received] = times;
            let exchange =
                ClockExchange { boot: [0; 16], host_sent, collector_received, collector_sent, host_received };
            if exchange.round_trip().is_some() {
                // The collector minus the host is -ahead, between the bounds by the response and by
                // the request.
                let trip = delays[0] + delays[1];
                prop_assert!(collector_received.saturating_sub(host_sent) >= -ahead - trip);
                prop_assert!(collector_sent.saturating_sub(host_received) <= -ahead + trip);
            }
        }
    }
}
