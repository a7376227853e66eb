//! The clocks of the hosts as reports show them: plain data, filled in by the caller like the rest
//! of a report, and their wording.

use message_trace::units::{format_duration, to_printable};

/// The clock of a host, compared with the clock of another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedClock {
    /// Name of the host.
    pub host: String,
    /// The host with which the clock is compared: the host itself if there is no other.
    pub against: String,
    /// The method by which the difference was found, in a few words.
    pub found: String,
    /// The time at which the clock had this offset, in nanoseconds since the Unix epoch on the
    /// other clock.
    pub at: i64,
    /// The offset: this clock minus the other, in nanoseconds.
    pub offset_ns: i64,
    /// The skew: how much faster this clock runs, in parts per million.
    pub skew_ppm: f64,
    /// The uncertainty of the offset, in nanoseconds; `None` if it is unknown.
    pub uncertainty_ns: Option<i64>,
    /// The uncertainty of the skew, in parts per million.
    pub skew_uncertainty_ppm: Option<f64>,
    /// The steps of the clock, in the order of time.
    pub steps: Vec<ClockStep>,
    /// The difference between the offset by timestamps exchanged with a collector and the offset by
    /// messages, and the combined uncertainty of both, in nanoseconds. `None` if the difference is
    /// within the uncertainty.
    pub contradiction: Option<[i64; 2]>,
    /// The fastest messages that the host received, and the fastest that it sent. Each has the time
    /// of its sending on the common clock, and its network latency by the corrected clocks.
    pub fastest: [Vec<[i64; 2]>; 2],
}

/// A step of a clock: it was set, or made to run at another rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockStep {
    /// The time of the step, in nanoseconds on the common clock.
    pub at: i64,
    /// The time by which the clock was set forward, in nanoseconds.
    pub offset_ns: i64,
    /// The skew from then on, in parts per million.
    pub skew_ppm: f64,
    /// The uncertainty of the time of the step, in nanoseconds.
    pub within_ns: i64,
}

impl ComparedClock {
    /// Whether this is the reference clock, which the others are compared with.
    pub(crate) fn is_reference(&self) -> bool {
        self.host == self.against
    }
}

impl ClockStep {
    /// The step in words: "set forward by 1.500000 s".
    pub fn describe_step(&self) -> String {
        if self.offset_ns.saturating_abs() < 1_000 {
            return format!("runs {} from then on", format_ppm(self.skew_ppm));
        }
        let direction = if self.offset_ns > 0 { "forward" } else { "back" };
        let by = format_offset(self.offset_ns);
        format!("set {direction} by {}", by.trim_start_matches(['+', '−']))
    }
}

/// A line with the contradiction between messages and timestamps of a collector; `None` if there is
/// none.
pub fn contradiction_line(clocks: &[ComparedClock]) -> Option<String> {
    let all = || clocks.iter().filter_map(|clock| Some((&clock.host, clock.contradiction?)));
    let share = |[by, most]: [i64; 2]| by.unsigned_abs() as f64 / most.max(1) as f64;
    // Of equally large contradictions, the first.
    let worst = all().reduce(|one, other| if share(other.1) > share(one.1) { other } else { one });
    let (host, [by, most]) = worst?;
    let host = to_printable(host);
    let clocks_words = match all().count() {
        1 => format!("the clock of {host}"),
        count => format!("the clocks of {count} hosts, especially of {host}"),
    };
    let (by, most) = (format_offset(by), format_uncertainty(Some(most)));
    Some(format!(
        "messages and timestamps exchanged with the collector disagree about {clocks_words}: by {by}, \
         more than their combined uncertainty ({most}); one of them is wrong, and all times are \
         based on messages"
    ))
}

/// An offset with its sign. From a millisecond on it is exact to the microsecond, as offsets are
/// not estimated more precisely.
pub fn format_offset(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "−" } else { "+" };
    let size = nanoseconds.unsigned_abs();
    match size {
        0 => "0".to_owned(),
        1..1_000_000 => format!("{sign}{}", format_duration(size as f64)),
        1_000_000..1_000_000_000 => format!("{sign}{:.3} ms", size as f64 / 1e6),
        _ => {
            // Rounded to microseconds in integers, so that offsets of hours keep them.
            let micros = size.saturating_add(500) / 1_000;
            let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
            let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}.{fraction:06} s"),
                (0, _) => format!("{sign}{minutes} min {}.{fraction:06} s", seconds % 60),
                _ => format!("{sign}{hours} h {minutes} min {}.{fraction:06} s", seconds % 60),
            }
        }
    }
}

/// A skew with its sign.
pub fn format_ppm(skew: f64) -> String {
    let text = format!("{:.2}", skew.abs());
    match text.as_str() {
        "0.00" => "0 ppm".to_owned(),
        _ if skew < 0.0 => format!("−{text} ppm"),
        _ => format!("+{text} ppm"),
    }
}

/// An uncertainty with its sign, or "unknown".
pub fn format_uncertainty(nanoseconds: Option<i64>) -> String {
    nanoseconds.map_or_else(
        || "unknown".to_owned(),
        |nanoseconds| match nanoseconds {
            0 => "0".to_owned(),
            _ => format!("±{}", format_duration(nanoseconds as f64)),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_keep_their_microseconds() {
        let offsets = [
            0,
            12,
            -45_600,
            1_234_567,
            -999_999_400,
            1_500_000_000,
            -61_000_001_000,
            10_799_999_999_600,
        ];
        let texts = [
            "0",
            "+12.0 ns",
            "−45.6 µs",
            "+1.235 ms",
            "−999.999 ms",
            "+1.500000 s",
            "−1 min 1.000001 s",
            "+3 h 0 min 0.000000 s",
        ];
        assert_eq!(offsets.map(format_offset), texts);
        assert_eq!(format_offset(i64::MIN).chars().next(), Some('−'));
    }

    #[test]
    fn a_contradiction_is_a_line() {
        let clock = |host: &str, contradiction| ComparedClock {
            host: host.to_owned(),
            contradiction,
            ..ComparedClock::default()
        };
        let mut clocks = vec![clock("web", None), clock("db", Some([50_000_000, 7_600_000]))];
        assert_eq!(contradiction_line(&clocks[..1]), None);
        let wanted = "messages and timestamps exchanged with the collector disagree about the clock of db: by +50.000 ms, \
                      more than their combined uncertainty (±7.60 ms); one of them is wrong, and all times are based on \
                      messages";
        assert_eq!(contradiction_line(&clocks).as_deref(), Some(wanted));
        clocks.push(clock("log", Some([-3_000_000_000, 8_000_000])));
        let wanted = "messages and timestamps exchanged with the collector disagree about the clocks of 2 hosts, especially \
                      of log: by −3.000000 s, more than their combined uncertainty (±8.00 ms); one of them is wrong, and \
                      all times are based on messages";
        assert_eq!(contradiction_line(&clocks).as_deref(), Some(wanted));
    }

    #[test]
    fn skews_and_uncertainties() {
        assert_eq!(
            [0.0, -0.004, 33.456, -200.0].map(format_ppm),
            ["0 ppm", "0 ppm", "+33.46 ppm", "−200.00 ppm"]
        );
        assert_eq!(
            [None, Some(0), Some(43_700)].map(format_uncertainty),
            ["unknown", "0", "±43.7 µs"]
        );
    }

    #[test]
    fn steps_in_words() {
        let step = |offset_ns, skew_ppm| {
            ClockStep { offset_ns, skew_ppm, ..ClockStep::default() }.describe_step()
        };
        assert_eq!(step(1_500_000_000, 3.0), "set forward by 1.500000 s");
        assert_eq!(step(-5_000_000, 3.0), "set back by 5.000 ms");
        assert_eq!(step(12, -500.0), "runs −500.00 ppm from then on");
    }
}
