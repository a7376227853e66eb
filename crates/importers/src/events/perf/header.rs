//! Header of `perf script --header`: the host, and one moment on both perf's clock and the wall
//! clock.

/// Facts from the header.
#[derive(Clone, Debug, Default)]
pub(super) struct PerfHeader {
    host: Option<String>,
    /// Offset that is added to times of perf's clock, in nanoseconds.
    offset: Option<i64>,
}

impl PerfHeader {
    /// Reads a header line, without its `#`.
    pub(super) fn read_line(&mut self, text: &[u8]) {
        let Ok(text) = std::str::from_utf8(text) else { return };
        let Some((name, value)) = text.split_once(':') else { return };
        match name.trim() {
            "hostname" => self.host = Some(value.trim().to_owned()),
            "reference time" => self.offset = parse_clock_offset(value).or(self.offset),
            _ => {}
        }
    }

    /// Name of the recorded host.
    pub(super) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Offset that is added to times of perf's clock, in nanoseconds.
    pub(super) fn clock_offset(&self) -> Option<i64> {
        self.offset
    }
}

/// Difference of the clocks from
/// `2026-11-25 18:47:57.076595 = 1795632477.076595 (TOD) = 1208.678322059 (monotonic)`.
fn parse_clock_offset(text: &str) -> Option<i64> {
    let mut parts = text.split('=').skip(1).map(|part| part.split_whitespace().next());
    let mut next = || parse_nanoseconds(parts.next()??);
    let (wall, own) = (next()?, next()?);
    wall.checked_sub(own)
}

fn parse_nanoseconds(text: &str) -> Option<i64> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = decimals.len().min(9);
    let rest: i64 = decimals.get(..digits)?.parse().unwrap_or(0);
    let seconds: i64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(rest * 10_i64.pow(9 - digits as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_on_both_clocks_yields_their_difference() {
        let mut header = PerfHeader::default();
        header.read_line(b" captured on    : Wed Nov 25 18:47:57 2026");
        assert_eq!((header.host(), header.clock_offset()), (None, None));
        header.read_line(b" hostname : vm");
        header.read_line(b" reference time: 2026-11-25 18:47:57.076595 = 1795632477.076595 (TOD) = 1208.678322059 (monotonic)");
        let expected = 1_795_632_477_076_595_000 - 1_208_678_322_059;
        assert_eq!((header.host(), header.clock_offset()), (Some("vm"), Some(expected)));
        header.read_line(b" reference time: of nobody");
        assert_eq!(header.clock_offset(), Some(expected));
    }
}
