//! The clock model: the offset of each host's clock from the reference host's, and the correction
//! of times by it.

use message_trace::{DataPath, PathError};
use serde::{Deserialize, Serialize};

/// The clocks of all hosts, `clocks.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockModel {
    /// The host with the common clock.
    pub reference: String,
    /// Every host's clock.
    pub hosts: Vec<HostClock>,
    /// Evidence of the estimate, for display.
    #[serde(default)]
    pub links: Vec<ClockEvidence>,
}

/// One host's clock against the reference's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    /// The host.
    pub host: String,
    /// The host that this clock is compared with: the reference or, if no messages lead to that,
    /// the best connected host that they do lead to.
    #[serde(default)]
    pub against: String,
    /// When the clock had this offset, in nanoseconds on the reference clock.
    pub at: i64,
    /// This clock minus the reference clock at `at`, in nanoseconds.
    pub offset_ns: i64,
    /// How much faster than the reference the clock runs, in parts per million.
    pub skew_ppm: f64,
    /// Bound on the error of the offset at any time at which the host had messages, in nanoseconds.
    /// `None`: bounded on one side only, or not at all.
    pub uncertainty_ns: Option<i64>,
    /// Bound on the error of the skew, in parts per million.
    #[serde(default)]
    pub skew_uncertainty_ppm: Option<f64>,
    /// How the clock was found.
    pub source: ClockSource,
    /// The first time that this clock showed, in nanoseconds, if it was set later: earlier times
    /// were shown after a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// When the clock was set or made to run at another rate, in the order of time.
    pub steps: Vec<HostClockStep>,
    /// Summary of the timestamps exchanged with the collector, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<HintSummary>,
}

/// The timestamps that a host exchanged with the collector, and whether they agree with its
/// messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintSummary {
    /// Number of exchanges of the host.
    pub exchanges: u64,
    /// The least round-trip time of request and response, in nanoseconds.
    pub round_trip_ns: i64,
    /// Lines of the file that are no exchange, or an impossible one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
    /// Exchanges that were left out: of a boot without a log, or at a time that the clock showed
    /// twice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Agreement with messages, if messages connect two hosts that both have exchanges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<HintCheck>,
}

/// A clock's offset by the timestamps that were exchanged with the collector, compared with its
/// offset by messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintCheck {
    /// The host with which the clock was compared, both by way of the collector and by messages.
    pub against: String,
    /// The offset by exchanges minus the offset by messages, at its maximum, in nanoseconds.
    pub difference_ns: i64,
    /// Sum of the uncertainties of the two offsets, in nanoseconds.
    pub within_ns: i64,
    /// Whether one of the two offsets must be wrong.
    pub contradicts: bool,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A setting of a clock, or a change of its rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostClockStep {
    /// Time of the step, in nanoseconds on the reference clock.
    pub at: i64,
    /// Amount by which it was set forward, in nanoseconds.
    pub offset_ns: i64,
    /// How much faster than the reference the clock runs from then on, in parts per million.
    pub skew_ppm: f64,
    /// Uncertainty of `at`, in nanoseconds before and after it.
    #[serde(default)]
    pub within_ns: i64,
}

/// How a clock was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSource {
    /// The clock is the reference clock.
    Reference,
    /// The clock is the same kernel's as the clock that it is compared with.
    Machine,
    /// Nothing is known of the host's kernel, and no message contradicts that its clock is the
    /// clock that it is compared with.
    Presumed,
    /// From messages in both directions.
    Messages,
    /// From messages in one direction: the fastest are assumed to have taken no time.
    OneWay,
    /// From timestamps exchanged with the collector, since no message connects the host.
    Hints,
    /// Nothing is known: the host's times are used unchanged.
    #[default]
    None,
}

/// Evidence from the messages between two hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockEvidence {
    /// The two hosts.
    pub hosts: [String; 2],
    /// Number of messages from the first to the second host, and back.
    pub messages: [u64; 2],
    /// Number of kept messages that contradict the others, and were left out because they were
    /// matched wrongly.
    pub contradicting: u64,
    /// Some of the fastest messages, from the first to the second host and back: time of sending on
    /// the reference clock, and delay after correction, in nanoseconds.
    pub least: [Vec<[i64; 2]>; 2],
}

impl ClockModel {
    /// Creates a model in which all `hosts` have one clock, with messages from `at` on (in
    /// nanoseconds): no difference is known.
    pub fn identical_clocks(reference: &str, hosts: &[String], at: i64) -> ClockModel {
        let host = |host: &String| HostClock {
            host: host.clone(),
            against: reference.to_owned(),
            at,
            uncertainty_ns: Some(0),
            ..HostClock::default()
        };
        ClockModel {
            reference: reference.to_owned(),
            hosts: hosts.iter().map(host).collect(),
            links: Vec::new(),
        }
    }

    /// Converts `time` on the clock of host number `host` to the common clock, in nanoseconds.
    pub fn common_time(&self, host: usize, time: i64) -> i64 {
        self.hosts.get(host).map_or(time, |clock| clock.common_time(time))
    }

    /// Reads the model from a `clocks.json`.
    ///
    /// # Errors
    /// If the file cannot be read or does not contain a clock model.
    pub fn read(path: impl Into<DataPath>) -> Result<ClockModel, PathError> {
        let path = &path.into();
        message_trace::json::read_json(path)
    }

    /// Writes the model to a `clocks.json`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: impl Into<DataPath>) -> Result<(), PathError> {
        let path = &path.into();
        message_trace::json::write_json(path, self)
    }
}

impl HostClock {
    /// Converts `time` on this clock to the reference clock, in nanoseconds.
    ///
    /// A time that the clock jumped over becomes the time of the step. A time that it showed twice,
    /// because it was set back, becomes the first; so a later time of the clock is never an earlier
    /// common time, unless the clock was set back to before it began.
    pub fn common_time(&self, time: i64) -> i64 {
        let mut piece = self.first_piece();
        // The step that jumped over this time.
        let mut jumped = None;
        for step in &self.steps {
            let end = piece.shown_time(step.at);
            if piece.begin <= time && time < end {
                return piece.common_time(time);
            }
            let next = piece.after_step(step);
            if end <= time && time < next.begin {
                jumped = jumped.or(Some(step.at));
            }
            piece = next;
        }
        if piece.begin <= time {
            return piece.common_time(time);
        }
        jumped.unwrap_or_else(|| self.first_piece().common_time(time))
    }

    /// Returns the time that this clock showed when the reference clock showed `common`, in
    /// nanoseconds.
    pub fn shown_time(&self, common: i64) -> i64 {
        let mut piece = self.first_piece();
        for step in self.steps.iter().take_while(|step| step.at <= common) {
            piece = piece.after_step(step);
        }
        piece.shown_time(common)
    }

    /// Returns the straight clock after its first `steps` steps.
    pub(crate) fn after_steps(&self, steps: usize) -> HostClock {
        let line = self
            .steps
            .iter()
            .take(steps)
            .fold(self.first_piece(), |line, step| line.after_step(step));
        HostClock {
            at: line.at,
            offset_ns: line.shown.saturating_sub(line.at),
            skew_ppm: line.skew * 1e6,
            ..HostClock::default()
        }
    }

    /// The clock before its first step.
    fn first_piece(&self) -> ClockLine {
        ClockLine {
            at: self.at,
            shown: self.at.saturating_add(self.offset_ns),
            skew: self.skew_ppm / 1e6,
            begin: self.since.unwrap_or(i64::MIN),
        }
    }
}

/// A clock between two steps.
#[derive(Clone, Copy)]
struct ClockLine {
    /// A time on the reference clock, in nanoseconds.
    at: i64,
    /// The time that the clock showed at `at`, in nanoseconds.
    shown: i64,
    /// Relative rate by which it runs faster.
    skew: f64,
    /// The first time that the clock showed on this line, in nanoseconds.
    begin: i64,
}

impl ClockLine {
    /// Returns the time that the clock showed at a common time.
    fn shown_time(&self, common: i64) -> i64 {
        let elapsed = common.saturating_sub(self.at);
        let gained = (elapsed as f64 * self.skew).round() as i64;
        self.shown.saturating_add(elapsed).saturating_add(gained)
    }

    /// Returns the time on the reference clock at which this clock showed `time`. Only the gain is
    /// a fraction, so everything else is exact.
    fn common_time(&self, time: i64) -> i64 {
        let elapsed = time.saturating_sub(self.shown);
        let gained = (elapsed as f64 * (self.skew / (1.0 + self.skew))).round() as i64;
        self.at.saturating_add(elapsed).saturating_sub(gained)
    }

    /// The clock after a step at the end of this line.
    fn after_step(&self, step: &HostClockStep) -> ClockLine {
        let shown = self.shown_time(step.at).saturating_add(step.offset_ns);
        ClockLine { at: step.at, shown, skew: step.skew_ppm / 1e6, begin: shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_clock(offset_ns: i64, skew_ppm: f64, steps: Vec<HostClockStep>) -> HostClock {
        HostClock { at: 1_000, offset_ns, skew_ppm, steps, ..HostClock::default() }
    }

    fn make_step(at: i64, offset_ns: i64, skew_ppm: f64) -> HostClockStep {
        HostClockStep { at, offset_ns, skew_ppm, within_ns: 0 }
    }

    #[test]
    fn offset_and_skew_are_subtracted() {
        assert_eq!(make_clock(0, 0.0, vec![]).common_time(5), 5);
        assert_eq!(make_clock(50, 0.0, vec![]).common_time(1_050), 1_000);
        let fast = make_clock(50, 100.0, vec![]);
        assert_eq!(fast.common_time(1_050 + 1_000_100), 1_001_000);
        assert_eq!(fast.shown_time(1_001_000), 1_050 + 1_000_100);
        assert_eq!(ClockModel { hosts: vec![fast], ..ClockModel::default() }.common_time(1, 7), 7);
    }

    #[test]
    fn a_day_is_exact_to_the_nanosecond() {
        let day = 86_400_000_000_000;
        // 200 ppm of a day are 17.28 s; after a day and 1 ns it showed 1 ns more.
        let fast = make_clock(7, 200.0, vec![]);
        let shown = 1_007 + day + 17_280_000_000;
        assert_eq!((fast.shown_time(1_000 + day), fast.common_time(shown)), (shown, 1_000 + day));
        assert_eq!(fast.common_time(shown + 1), 1_000 + day + 1);
    }

    #[test]
    fn a_clock_set_forward_jumps_over_times() {
        // 10 ahead; at 2000 it was set forward by 500, from 2010 to 2510.
        let clock = make_clock(10, 0.0, vec![make_step(2_000, 500, 0.0)]);
        let times = [1_010, 2_009, 2_010, 2_300, 2_509, 2_510, 2_600];
        assert_eq!(
            times.map(|time| clock.common_time(time)),
            [1_000, 1_999, 2_000, 2_000, 2_000, 2_000, 2_090]
        );
        assert_eq!((clock.shown_time(1_999), clock.shown_time(2_000)), (2_009, 2_510));
    }

    #[test]
    fn a_clock_set_back_shows_times_twice() {
        // At 2000 it was set back by 500, from 2010 to 1510: 1510 to 2010 were shown twice, and
        // count as the first.
        let clock = make_clock(10, 0.0, vec![make_step(2_000, -500, 0.0)]);
        let times = [1_400, 1_510, 2_009, 2_010, 2_011];
        assert_eq!(times.map(|time| clock.common_time(time)), [1_390, 1_500, 1_999, 2_500, 2_501]);
    }

    #[test]
    fn a_clock_set_back_to_before_it_began() {
        // The clock began at 1000, showing 1010, and was set back at 2000 by 5000: from 2010 to
        // -2990.
        let clock = HostClock {
            since: Some(1_010),
            ..make_clock(10, 0.0, vec![make_step(2_000, -5_000, 0.0)])
        };
        let times = [1_010, 2_009, -2_990, -2_000, 1_009];
        assert_eq!(times.map(|time| clock.common_time(time)), [1_000, 1_999, 2_000, 2_990, 5_999]);
        // Before any time that it showed.
        assert_eq!(clock.common_time(-3_000), -3_010);
    }

    #[test]
    fn steps_add_up_and_rates_change() {
        // +100 at 2000, -40 at 3000, then twice the rate from 4000 on.
        let clock = make_clock(
            0,
            0.0,
            vec![
                make_step(2_000, 100, 0.0),
                make_step(3_000, -40, 0.0),
                make_step(4_000, 0, 1_000_000.0),
            ],
        );
        let shown = [1_500, 2_500, 3_500, 4_010].map(|common| clock.shown_time(common));
        assert_eq!(shown, [1_500, 2_600, 3_560, 4_080]);
        assert_eq!(shown.map(|time| clock.common_time(time)), [1_500, 2_500, 3_500, 4_010]);
    }

    #[test]
    fn times_stay_in_order_unless_the_clock_was_set_back_to_before_it_began() {
        let clock = make_clock(
            3,
            150.0,
            vec![make_step(20_000, 700, -120.0), make_step(50_000, -900, 10.0)],
        );
        let common: Vec<i64> =
            (0..100_000).step_by(7).map(|time| clock.common_time(time)).collect();
        assert!(common.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
