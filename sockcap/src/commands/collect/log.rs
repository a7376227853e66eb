//! Log of a collector, with a rate that no sender can raise. For each kind of event there is at
//! most one line per second, and further ones are counted, so senders cannot fill the disk.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use crate::output::print_message;
use crate::tuning::{LINE_CHARACTERS, LINE_INTERVAL};

/// Log with a limited rate of lines of each kind.
#[derive(Debug, Default)]
pub(super) struct RateLimitedLog {
    kinds: Mutex<BTreeMap<&'static str, LineBudget>>,
}

#[derive(Debug)]
struct LineBudget {
    /// Lines that may be printed without a wait.
    remaining: u32,
    /// Time at which one more line is allowed.
    next: Instant,
    left_out: u64,
}

impl RateLimitedLog {
    /// Prints a line of a kind. `burst` of them may come together, later ones one by one.
    pub(super) fn log_line(&self, kind: &'static str, burst: u32, line: &str) {
        if let Some(line) = self.admitted_line(kind, burst, line, Instant::now()) {
            print_message(&line);
        }
    }

    /// Prints how many lines were suppressed since the last one of their kind.
    pub(super) fn log_suppressed(&self) {
        self.suppressed_lines(Instant::now()).iter().for_each(|line| print_message(line));
    }

    /// The line as printed at `now`, or `None` if it is suppressed.
    fn admitted_line(
        &self,
        kind: &'static str,
        burst: u32,
        line: &str,
        now: Instant,
    ) -> Option<String> {
        // Counts are consistent even if a thread panicked while holding them.
        let mut kinds = self.kinds.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let new = || LineBudget { remaining: burst, next: now, left_out: 0 };
        let kind = kinds.entry(kind).or_insert_with(new);
        if !kind.take_token(burst, now) {
            kind.left_out += 1;
            return None;
        }
        let mut short: String = line.chars().take(LINE_CHARACTERS).collect();
        if short.len() < line.len() {
            short.push_str(" ...");
        }
        Some(match std::mem::take(&mut kind.left_out) {
            0 => short,
            left_out => format!("{short} (and {left_out} more lines like it)"),
        })
    }

    /// Lines with the numbers of suppressed lines, of the kinds that may have a line at `now`.
    fn suppressed_lines(&self, now: Instant) -> Vec<String> {
        let mut kinds = self.kinds.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut lines = Vec::new();
        for (name, kind) in kinds.iter_mut().filter(|(_, kind)| kind.left_out > 0) {
            if kind.take_token(1, now) {
                let left_out = std::mem::take(&mut kind.left_out);
                lines.push(format!("{left_out} more lines were suppressed: {name}"));
            }
        }
        lines
    }
}

impl LineBudget {
    /// Takes a token, which permits one line, if there is one left.
    fn take_token(&mut self, burst: u32, now: Instant) -> bool {
        if now >= self.next {
            let passed = now.duration_since(self.next).as_nanos() / LINE_INTERVAL.as_nanos();
            let more = u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(1);
            self.remaining = self.remaining.saturating_add(more).min(burst.max(1));
            self.next = now + LINE_INTERVAL;
        }
        let has_room = self.remaining > 0;
        self.remaining = self.remaining.saturating_sub(1);
        has_room
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_line_per_second_and_kind_is_printed_and_the_others_are_counted() {
        let (log, begin) = (RateLimitedLog::default(), Instant::now());
        let tell =
            |kind, at: u64| log.admitted_line(kind, 1, "line", begin + Duration::from_millis(at));
        let printed: Vec<String> = (0..10_000).filter_map(|at| tell("many", at)).collect();
        assert_eq!(printed.len(), 10);
        assert_eq!(
            (printed[0].as_str(), printed[1].as_str()),
            ("line", "line (and 999 more lines like it)")
        );
        assert_eq!(tell("other", 9_999), Some("line".to_owned()));
        // Suppressed lines of a kind that does not recur are reported, once.
        assert!(log.suppressed_lines(begin + Duration::from_millis(9_999)).is_empty());
        let later = begin + Duration::from_secs(20);
        assert_eq!(log.suppressed_lines(later), ["999 more lines were suppressed: many"]);
        assert!(log.suppressed_lines(later + Duration::from_secs(9)).is_empty());
    }

    #[test]
    fn bursts_are_permitted_and_long_lines_are_cut() {
        let (log, begin) = (RateLimitedLog::default(), Instant::now());
        let tell = |at| {
            log.admitted_line("connected", 5, "line", begin + Duration::from_secs(at)).is_some()
        };
        assert_eq!((0..20).filter(|_| tell(0)).count(), 5);
        assert_eq!((0..20).filter(|_| tell(1)).count(), 1);
        assert_eq!((0..20).filter(|_| tell(100)).count(), 5);
        let long = log.admitted_line("long", 1, &"é".repeat(100_000), begin).unwrap();
        assert!(long.chars().count() < LINE_CHARACTERS + 10 && long.ends_with(" ..."));
    }
}
