//! One line of strace's output: its thread, time and content.
//!
//! `4731  1795184746.055875 read(3<TCP:[...]>, "x", 1) = 1 <0.000012>`, or preceded by
//! `[pid  4731]` if strace writes to the terminal. A call during which other lines were written is
//! on two lines: `... <unfinished ...>`, and later `<... read resumed>...`.

use super::arguments::ArgumentCursor;

/// A parsed line of strace's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StraceLine<'a> {
    /// Thread, if the line names it.
    pub(super) thread: Option<u32>,
    /// Name of the thread's program, if strace was asked to show it.
    pub(super) command: &'a [u8],
    /// Time in nanoseconds since the Unix epoch; 0 in a comment by strace.
    pub(super) time: i64,
    /// Resolution of the time, in nanoseconds.
    pub(super) unit: i64,
    pub(super) what: LineContent<'a>,
}

/// Content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineContent<'a> {
    /// A complete call: its name, and everything after the opening bracket.
    Call { name: &'a [u8], rest: &'a [u8] },
    /// A call that has begun: its name, and the text after the opening bracket up to where the line
    /// is interrupted.
    Unfinished { name: &'a [u8], rest: &'a [u8] },
    /// The end of a call that has begun, from where its first line was interrupted.
    Resumed { rest: &'a [u8] },
    /// The thread has ended, with this status.
    Exited(i32),
    /// The thread was killed; the status is the one that a shell would report.
    Killed(i32),
    /// The thread is gone: the thread with this number, of the same process, executed another
    /// program and continues under the number of the first thread.
    Superseded(u32),
    /// A signal, or a comment by strace, which is ignored.
    Remark,
}

/// Reason why a line cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineProblem {
    /// The line is not strace's, or truncated.
    NotUnderstood,
    /// The line has no time.
    NoTime,
    /// The line has the time of day without a date (`-t`, `-tt`).
    TimeOfDay,
    /// The line has the time since the previous line (`-r`).
    Relative,
}

/// Parses a line of strace's output.
pub(super) fn parse_line(text: &[u8]) -> Result<StraceLine<'_>, LineProblem> {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let remark =
        StraceLine { thread: None, command: b"", time: 0, unit: 1, what: LineContent::Remark };
    let mut cursor = ArgumentCursor::new(text);
    // Stacks (-k) and data dumps (-e read, -e write) follow the line that they belong to.
    if text.is_empty() || cursor.eat_token(b" > ") || cursor.eat_token(b" | ") || is_remark(text) {
        return Ok(remark);
    }
    let (thread, command) = parse_thread(&mut cursor);
    let time = parse_time(&mut cursor);
    skip_addresses(&mut cursor);
    let what = parse_content(cursor.rest())?;
    let (time, unit) = time?;
    Ok(StraceLine { thread, command, time, unit, what })
}

/// Whether a line is strace's own output to the terminal.
fn is_remark(text: &[u8]) -> bool {
    text.starts_with(b"strace: ")
        || text.starts_with(b"Process ")
        || text.starts_with(b"[ Process PID=")
}

/// Parses `4731`, `[pid  4731]`, and either with `<name>` after the number.
fn parse_thread<'a>(cursor: &mut ArgumentCursor<'a>) -> (Option<u32>, &'a [u8]) {
    let begin = *cursor;
    let in_brackets = cursor.eat_token(b"[pid");
    cursor.skip_spaces();
    let number = match cursor.peek() {
        Some(b'0'..=b'9') => cursor.read_number().and_then(|number| u32::try_from(number).ok()),
        _ => None,
    };
    let mut command: &[u8] = b"";
    if number.is_some() && cursor.peek() == Some(b'<') {
        // A program's name may contain any bytes, but is short.
        let end = cursor.rest().iter().take(20).position(|byte| *byte == b'>');
        if let Some(name) = end.and_then(|end| cursor.rest().get(1..end)) {
            command = name;
            cursor.skip_bytes(name.len() + 2);
        }
    }
    // A number that is not followed by a space is a time.
    if number.is_none()
        || !(if in_brackets { cursor.eat_token(b"]") } else { cursor.peek() == Some(b' ') })
    {
        *cursor = begin;
        return (None, b"");
    }
    cursor.skip_spaces();
    (number, command)
}

/// Parses seconds since the epoch and their fraction, in nanoseconds; returns their resolution,
/// too.
fn parse_time(cursor: &mut ArgumentCursor) -> Result<(i64, i64), LineProblem> {
    /// Smaller numbers of nanoseconds (years before 1973) are times since the previous line.
    const RELATIVE: i64 = 100_000_000;
    cursor.skip_spaces();
    if !cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return Err(LineProblem::NoTime);
    }
    let seconds = cursor.read_number().ok_or(LineProblem::NoTime)?;
    if cursor.peek() == Some(b':') {
        while cursor.peek().is_some_and(|byte| byte != b' ') {
            cursor.skip_bytes(1);
        }
        cursor.skip_spaces();
        return Err(LineProblem::TimeOfDay);
    }
    let (nanoseconds, unit) = match cursor.eat_token(b".") {
        true => parse_fraction(cursor).ok_or(LineProblem::NoTime)?,
        false => (0, 1_000_000_000),
    };
    cursor.skip_spaces();
    if seconds < RELATIVE {
        return Err(LineProblem::Relative);
    }
    // With -r next to -ttt: "(+     0.000012)".
    if cursor.eat_token(b"(+") {
        cursor.skip_value();
        cursor.eat_token(b")");
        cursor.skip_spaces();
    }
    seconds
        .checked_mul(1_000_000_000)
        .and_then(|time| time.checked_add(nanoseconds))
        .map(|time| (time, unit))
        .ok_or(LineProblem::NoTime)
}

/// Parses the digits after a point, in billionths, and returns the unit of the last digit.
fn parse_fraction(cursor: &mut ArgumentCursor) -> Option<(i64, i64)> {
    let (mut value, mut unit) = (0, 1_000_000_000i64);
    while let Some(byte @ b'0'..=b'9') = cursor.peek() {
        unit /= 10;
        value += unit * i64::from(byte - b'0');
        cursor.skip_bytes(1);
    }
    (unit < 1_000_000_000).then_some((value, unit.max(1)))
}

/// Skips the instruction's address (`-i`) and the call's number (`-n`), in brackets.
fn skip_addresses(cursor: &mut ArgumentCursor) {
    while cursor.peek() == Some(b'[') {
        let begin = *cursor;
        cursor.skip_bytes(1);
        if cursor.skip_value().is_none() || !cursor.eat_token(b"]") || cursor.peek() != Some(b' ') {
            *cursor = begin;
            return;
        }
        cursor.skip_spaces();
    }
}

fn parse_content(text: &[u8]) -> Result<LineContent<'_>, LineProblem> {
    if let Some(ending) = text.strip_prefix(b"+++ ") {
        return parse_thread_end(ending);
    }
    if text.starts_with(b"--- ") {
        return Ok(LineContent::Remark);
    }
    if let Some(resumed) = text.strip_prefix(b"<... ") {
        let after = resumed.windows(8).take(64).position(|word| word == b"resumed>");
        let rest = after.and_then(|at| resumed.get(at + 8..)).ok_or(LineProblem::NotUnderstood)?;
        return match strip_end(rest, b"<unfinished ...>") {
            // The call was interrupted again by the thread's end.
            Some(_) => Ok(LineContent::Remark),
            None => Ok(LineContent::Resumed { rest }),
        };
    }
    let length =
        text.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"_?".contains(byte));
    let (name, rest) =
        text.split_at_checked(length.unwrap_or(0)).ok_or(LineProblem::NotUnderstood)?;
    let rest =
        rest.strip_prefix(b"(").filter(|_| !name.is_empty()).ok_or(LineProblem::NotUnderstood)?;
    if strip_end(rest, b"<detached ...>").is_some() {
        return Ok(LineContent::Remark);
    }
    // On the terminal, strace's comments interrupt lines.
    if attached_thread(rest).is_some()
        && let Some(at) = rest.windows(ATTACHED.len()).rposition(|word| word == ATTACHED)
    {
        return Ok(LineContent::Unfinished { name, rest: rest.get(..at).unwrap_or(rest) });
    }
    Ok(match strip_end(rest, b"<unfinished ...>") {
        Some(rest) => LineContent::Unfinished { name, rest },
        None => LineContent::Call { name, rest },
    })
}

/// Beginning of strace's comment on a thread that it begins to trace.
const ATTACHED: &[u8] = b"strace: Process ";

/// Thread that strace has begun to trace, from a comment at a line's end.
pub(super) fn attached_thread(text: &[u8]) -> Option<u32> {
    let text = text.trim_ascii_end().strip_suffix(b" attached")?;
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = text.split_at_checked(text.len() - digits)?;
    before.ends_with(ATTACHED).then(|| {
        ArgumentCursor::new(number).read_number().and_then(|child| u32::try_from(child).ok())
    })?
}

/// Strips `end` and the spaces before it from `text`.
fn strip_end<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    text.strip_suffix(end).map(|text| text.strip_suffix(b" ").unwrap_or(text))
}

/// "exited with 3 +++", "killed by SIGKILL (core dumped) +++", "superseded by execve in pid 12
/// +++".
fn parse_thread_end(text: &[u8]) -> Result<LineContent<'_>, LineProblem> {
    if let Some(status) = text.strip_prefix(b"exited with ") {
        let status =
            ArgumentCursor::new(status).read_number().and_then(|status| i32::try_from(status).ok());
        return status.map(LineContent::Exited).ok_or(LineProblem::NotUnderstood);
    }
    if let Some(signal) = text.strip_prefix(b"killed by ") {
        let name = ArgumentCursor::new(signal).read_word();
        let number =
            SIGNALS.iter().position(|known| known.as_bytes() == name).map_or(0, |at| at as i32 + 1);
        return Ok(LineContent::Killed(128 + number));
    }
    let by = text
        .strip_prefix(b"superseded by execve in pid ")
        .and_then(|by| ArgumentCursor::new(by).read_number());
    by.and_then(|by| u32::try_from(by).ok())
        .map(LineContent::Superseded)
        .ok_or(LineProblem::NotUnderstood)
}

/// Signals from 1 on, as on all machines except a few old ones.
const SIGNALS: [&str; 15] = [
    "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL",
    "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call<'a>(name: &'a str, rest: &'a str) -> LineContent<'a> {
        LineContent::Call { name: name.as_bytes(), rest: rest.as_bytes() }
    }

    #[test]
    fn lines_have_threads_and_times() {
        let whole = 1_795_184_746_055_875_000;
        let cases: &[(&str, Option<u32>, &str, i64)] = &[
            ("4731  1795184746.055875 read(3) = 0", Some(4731), "", whole),
            ("12345 1795184746.055875 read(3) = 0", Some(12345), "", whole),
            ("[pid    31] 1795184746.055875 read(3) = 0", Some(31), "", whole),
            ("[pid    31<a b>] 1795184746.055875 read(3) = 0", Some(31), "a b", whole),
            ("31<python3> 1795184746.055875123 read(3) = 0", Some(31), "python3", whole + 123),
            ("1795184746.055875 read(3) = 0", None, "", whole),
            ("31 1795184746.055875 (+     0.000012) read(3) = 0", Some(31), "", whole),
            ("31 1795184746.055875 [00007f5a] [ 0] read(3) = 0", Some(31), "", whole),
            ("31 1795184746 read(3) = 0", Some(31), "", 1_795_184_746_000_000_000),
        ];
        for (text, thread, command, time) in cases {
            let line = parse_line(text.as_bytes()).unwrap();
            assert_eq!(
                line,
                StraceLine {
                    thread: *thread,
                    command: command.as_bytes(),
                    time: *time,
                    unit: line.unit,
                    what: call("read", "3) = 0")
                },
                "{text}"
            );
        }
    }

    #[test]
    fn times_have_their_resolution() {
        let unit =
            |time: &str| parse_line(format!("31 {time} read(3) = 0").as_bytes()).unwrap().unit;
        assert_eq!(unit("1795184746"), 1_000_000_000);
        assert_eq!(unit("1795184746.123"), 1_000_000);
        assert_eq!(unit("1795184746.123456"), 1_000);
        assert_eq!(unit("1795184746.123456789"), 1);
    }

    #[test]
    fn relative_and_dateless_times_are_refused() {
        for (text, problem) in [
            ("31 14:24:51 read(3) = 0", LineProblem::TimeOfDay),
            ("14:24:51.123456 read(3) = 0", LineProblem::TimeOfDay),
            ("31      0.000123 read(3) = 0", LineProblem::Relative),
            ("     0.000123 read(3) = 0", LineProblem::Relative),
            ("31 read(3) = 0", LineProblem::NoTime),
            ("read(3) = 0", LineProblem::NoTime),
        ] {
            assert_eq!(parse_line(text.as_bytes()), Err(problem), "{text}");
        }
    }

    #[test]
    fn calls_in_two_lines_and_ends() {
        let what = |text: &str| {
            parse_line(format!("31 1795184746.5 {text}").as_bytes())
                .map(|line| format!("{:?}", line.what))
        };
        let shown = |what: LineContent| Ok(format!("{what:?}"));
        assert_eq!(
            what("recvfrom(3,  <unfinished ...>"),
            shown(LineContent::Unfinished { name: b"recvfrom", rest: b"3, " })
        );
        assert_eq!(
            what("<... recvfrom resumed>\"x\", 1) = 1"),
            shown(LineContent::Resumed { rest: b"\"x\", 1) = 1" })
        );
        assert_eq!(what("+++ exited with 3 +++"), shown(LineContent::Exited(3)));
        assert_eq!(
            what("+++ killed by SIGSEGV (core dumped) +++"),
            shown(LineContent::Killed(139))
        );
        assert_eq!(
            what("+++ superseded by execve in pid 31 +++"),
            shown(LineContent::Superseded(31))
        );
        assert_eq!(what("--- SIGCHLD {si_signo=SIGCHLD} ---"), shown(LineContent::Remark));
        assert_eq!(what("hello"), Err(LineProblem::NotUnderstood));
        assert_eq!(what("<... recv"), Err(LineProblem::NotUnderstood));
        for remark in [
            "",
            "strace: Process 31 attached",
            "[ Process PID=7 runs in 32 bit mode. ]",
            " > /lib/libc.so(read+0x7) [0x1]",
        ] {
            assert_eq!(
                parse_line(remark.as_bytes()).map(|line| line.what),
                Ok(LineContent::Remark),
                "{remark}"
            );
        }
    }

    proptest! {
        /// Arbitrary lines are accepted.
        #[test]
        fn arbitrary_input_does_not_panic(text in "[\\[\\]<>.+ 0-9:()a-z,=\"\\\\-]{0,60}") {
            let _ = parse_line(text.as_bytes());
        }
    }
}
