//! Line of `perf script`, with its default fields or any choice of `comm`, `pid`, `tid`, `cpu`,
//! `time`, `period`, `event` and `trace` that includes `time`, `event` and `trace`:
//!
//! ```text
//!          python3 21455/21455 [001]  1209.057946:  sock:inet_sock_set_state: family=AF_INET ...
//! ```

/// Kind of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PerfLine<'l> {
    /// An event.
    Event(PerfLineHead<'l>),
    /// A line of the previous event's stack.
    Stack,
    /// A line of the header, without its `#`.
    Header(&'l [u8]),
    /// An empty line.
    Empty,
    /// A record of perf's own: lost records, mappings.
    Record,
    /// Any other line.
    Unknown,
}

/// Parts of an event's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PerfLineHead<'l> {
    /// Command; empty if it was not printed.
    pub(super) comm: &'l [u8],
    /// Ids of process and thread; 0 if they were not printed.
    pub(super) process: i32,
    pub(super) thread: i32,
    /// Processor; -1 if it was not printed.
    pub(super) processor: i32,
    /// Time in nanoseconds, on perf's clock.
    pub(super) time: i64,
    /// Kind of the event, `provider:name`.
    pub(super) event: &'l [u8],
    /// Text of the event's fields.
    pub(super) trace: &'l [u8],
}

/// Parses `line`, without its end.
pub(super) fn parse_line(line: &[u8]) -> PerfLine<'_> {
    match line.first() {
        None => return PerfLine::Empty,
        Some(b'\t') => return PerfLine::Stack,
        Some(b'#') => return PerfLine::Header(line.get(1..).unwrap_or_default()),
        Some(_) => {}
    }
    for colon in memchr::memchr_iter(b':', line) {
        let Some((begin, time)) = time_before(line, colon) else { continue };
        let (before, after) = (line.get(..begin), line.get(colon + 1..));
        let (Some(before), Some(after)) = (before, after) else { continue };
        let after = after.trim_ascii_start();
        if after.starts_with(b"PERF_RECORD_") {
            return PerfLine::Record;
        }
        let Some((event, trace)) = event_of(after) else { continue };
        let (comm, process, thread, processor) = parse_task(before.trim_ascii());
        return PerfLine::Event(PerfLineHead {
            comm,
            process,
            thread,
            processor,
            time,
            event,
            trace,
        });
    }
    let text = line.trim_ascii();
    if text.is_empty() {
        PerfLine::Empty
    } else if memchr::memmem::find(text, b"PERF_RECORD_").is_some() {
        PerfLine::Record
    } else if text.first().is_some_and(u8::is_ascii_hexdigit) && line.starts_with(b" ") {
        PerfLine::Stack
    } else {
        PerfLine::Unknown
    }
}

/// Time that ends before the colon: its start index, and its nanoseconds.
fn time_before(line: &[u8], colon: usize) -> Option<(usize, i64)> {
    let before = line.get(..colon)?;
    let decimals = before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let point = colon.checked_sub(decimals + 1)?;
    if !(1..=9).contains(&decimals) || line.get(point) != Some(&b'.') {
        return None;
    }
    let whole = line.get(..point)?.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let begin = point - whole;
    let apart = begin == 0 || line.get(begin - 1).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    if whole == 0 || !apart {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0_i64, |number, digit| {
            number.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
        })
    };
    let seconds = number(line.get(begin..point)?)?;
    let rest = number(line.get(point + 1..colon)?)? * 10_i64.pow(9 - decimals as u32);
    Some((begin, seconds.checked_mul(1_000_000_000)?.checked_add(rest)?))
}

/// Event and its fields: `[PERIOD] EVENT: FIELDS`.
fn event_of(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = |text: &[u8]| text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    let mut text = text;
    let (period, rest) = text.split_at(word(text));
    if !period.is_empty() && period.iter().all(u8::is_ascii_digit) {
        text = rest.trim_ascii_start();
    }
    let (event, trace) = text.split_at(word(text));
    let event = event.strip_suffix(b":")?;
    (!event.is_empty()).then_some((event, trace.trim_ascii()))
}

/// Command, process, thread and processor: `COMM PID/TID [CPU]`; any may be missing.
fn parse_task(text: &[u8]) -> (&[u8], i32, i32, i32) {
    let mut rest = text;
    let mut processor = -1;
    if let Some(inner) = rest.strip_suffix(b"]")
        && let Some(begin) = inner.iter().rposition(|byte| *byte == b'[')
        && let Some(number) = inner.get(begin + 1..).and_then(parse_id)
    {
        processor = number;
        rest = rest.get(..begin).unwrap_or_default().trim_ascii_end();
    }
    let begin = rest.iter().rposition(|byte| *byte == b' ').map_or(0, |blank| blank + 1);
    let (before, last) = rest.split_at(begin);
    let (process, thread) = match last.iter().position(|byte| *byte == b'/') {
        Some(slash) => {
            (last.get(..slash).and_then(parse_id), last.get(slash + 1..).and_then(parse_id))
        }
        None => (Some(0), parse_id(last)),
    };
    match process.zip(thread) {
        Some((process, thread)) => (before.trim_ascii_end(), process, thread, processor),
        None => (rest, 0, 0, processor),
    }
}

/// Parses an id: digits, or -1 for a thread that no longer exists.
fn parse_id(text: &[u8]) -> Option<i32> {
    if text == b"-1" {
        return Some(0);
    }
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    text.iter().try_fold(0_i32, |number, digit| {
        number.checked_mul(10)?.checked_add(i32::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(line: &str) -> (String, [i32; 3], i64, String, String) {
        let PerfLine::Event(head) = parse_line(line.as_bytes()) else { panic!("no event: {line}") };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ids = [head.process, head.thread, head.processor];
        (text(head.comm), ids, head.time, text(head.event), text(head.trace))
    }

    #[test]
    fn any_choice_of_fields_is_parsed() {
        let event = "sched:sched_waking".to_owned();
        for (line, comm, ids, time) in [
            (
                "perf 21454 [001]  1208.769625:        sched:sched_waking: a=b",
                "perf",
                [0, 21454, 1],
                1_208_769_625_000,
            ),
            (
                "   opt cgu.06 7/21424 [000]  1208.769625742: sched:sched_waking: a=b",
                "opt cgu.06",
                [7, 21424, 0],
                1_208_769_625_742,
            ),
            (" 1208.769625:        sched:sched_waking: a=b", "", [0, 0, -1], 1_208_769_625_000),
            ("18 [000]  1208.5:  sched:sched_waking: a=b", "", [0, 18, 0], 1_208_500_000_000),
            (
                "kworker/0:1-ev    18  1208.769625:  1  sched:sched_waking: a=b",
                "kworker/0:1-ev",
                [0, 18, -1],
                1_208_769_625_000,
            ),
            (
                "x [y]: 3 -1/-1 [002]  1208.769625: sched:sched_waking: a=b",
                "x [y]: 3",
                [0, 0, 2],
                1_208_769_625_000,
            ),
            (
                "swapper     0 [001]  1208.769625:  sched:sched_waking: a=b",
                "swapper",
                [0, 0, 1],
                1_208_769_625_000,
            ),
        ] {
            assert_eq!(
                head(line),
                (comm.to_owned(), ids, time, event.clone(), "a=b".to_owned()),
                "{line}"
            );
        }
        let (.., event, trace) = head("x 1 [0] 1.000000:     250000          cpu-clock: ");
        assert_eq!((event.as_str(), trace.as_str()), ("cpu-clock", ""));
    }

    #[test]
    fn other_lines_are_distinguished() {
        for (line, expected) in [
            ("", PerfLine::Empty),
            ("   ", PerfLine::Empty),
            ("\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])", PerfLine::Stack),
            ("    7f315be4c628 [unknown] ([unknown])", PerfLine::Stack),
            ("# hostname : vm", PerfLine::Header(b" hostname : vm")),
            ("x 1 [000] 1.000000: PERF_RECORD_LOST lost 5", PerfLine::Record),
            ("PERF_RECORD_MMAP2 1/1: [0x1]", PerfLine::Record),
            ("hello: world", PerfLine::Unknown),
            ("x 1 [000] 1.000000:", PerfLine::Unknown),
            ("x 1 [000] 99999999999999999999.5: a:b: c", PerfLine::Unknown),
        ] {
            assert_eq!(parse_line(line.as_bytes()), expected, "{line}");
        }
    }
}
