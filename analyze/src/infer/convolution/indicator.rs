//! Indicator functions: messages as a signal over time (Project 5 section 5.2), in the
//! discretisation of section 5.2.1: time is divided into quanta of equal length, and the value of a
//! quantum is the square root of the number of messages in it. The product of two values, which a
//! correlation sums up, has the unit of messages again.

use super::sites::SiteEvent;

/// Time in quanta: the beginning of the first one, and their length and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeQuanta {
    origin: i64,
    step: i64,
    count: usize,
}

impl TimeQuanta {
    /// Quanta of `step` nanoseconds from `first` to `last`; longer ones if there would be more than
    /// `most`, so that memory is bounded for any step and trace.
    pub(super) fn new(first: i64, last: i64, step: i64, most: usize) -> TimeQuanta {
        let span = last.saturating_sub(first).max(0);
        let least = span / (most.max(1) as i64) + 1;
        let step = if span / step.max(1) < most.max(1) as i64 { step.max(1) } else { least };
        TimeQuanta { origin: first, step, count: (span / step) as usize + 1 }
    }

    /// Length of a quantum in nanoseconds.
    pub(super) fn step(&self) -> i64 {
        self.step
    }

    /// Number of quanta.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The quantum of `time`. A time outside of the trace belongs to the first or the last one.
    pub(super) fn quantum_at(&self, time: i64) -> usize {
        let since = time.saturating_sub(self.origin).max(0) / self.step;
        (since as usize).min(self.count - 1)
    }

    /// A time span in quanta, rounded up.
    pub(super) fn quanta_covering(&self, span: i64) -> usize {
        usize::try_from((span.max(0) / self.step).saturating_add(i64::from(span % self.step != 0)))
            .unwrap_or(usize::MAX)
    }
}

/// Writes the indicator function of `events` to `signal`, which has at least as many elements as
/// there are quanta. Elements beyond them are zero.
pub(super) fn write_indicator(events: &[SiteEvent], quanta: &TimeQuanta, signal: &mut [f64]) {
    signal.fill(0.0);
    for event in events {
        if let Some(count) = signal.get_mut(quanta.quantum_at(event.time)) {
            *count += 1.0;
        }
    }
    for value in signal.iter_mut().filter(|value| **value > 1.0) {
        *value = value.sqrt();
    }
}

#[cfg(test)]
mod tests {
    use message_trace::MessageId;

    use super::*;

    fn at(times: &[i64]) -> Vec<SiteEvent> {
        times
            .iter()
            .map(|time| SiteEvent { time: *time, place: 0, message: MessageId::from_index(0) })
            .collect()
    }

    #[test]
    fn a_value_is_the_square_root_of_the_messages_in_its_quantum() {
        // Quanta [100, 110), [110, 120), [120, 130), [130, 140): 1, 4, 0 and 2 messages.
        let quanta = TimeQuanta::new(100, 139, 10, 1000);
        assert_eq!((quanta.step(), quanta.count()), (10, 4));
        let mut signal = vec![9.0; 6];
        write_indicator(&at(&[109, 110, 111, 119, 115, 130, 139]), &quanta, &mut signal);
        assert_eq!(signal, [1.0, 2.0, 0.0, 2.0_f64.sqrt(), 0.0, 0.0]);
    }

    #[test]
    fn quanta_get_longer_if_there_would_be_too_many() {
        assert_eq!(
            TimeQuanta::new(0, 999, 1, 1000),
            TimeQuanta { origin: 0, step: 1, count: 1000 }
        );
        let quanta = TimeQuanta::new(0, 1000, 1, 1000);
        assert_eq!((quanta.step(), quanta.count()), (2, 501));
        let quanta = TimeQuanta::new(i64::MIN, i64::MAX, 1, 1 << 22);
        assert!(quanta.count() <= 1 << 22 && quanta.quantum_at(i64::MAX) == quanta.count() - 1);
        assert_eq!(TimeQuanta::new(5, 5, 0, 0), TimeQuanta { origin: 5, step: 1, count: 1 });
    }

    #[test]
    fn a_span_is_covered_by_whole_quanta() {
        let quanta = TimeQuanta::new(0, 1000, 10, 1000);
        assert_eq!([0, 1, 10, 11].map(|span| quanta.quanta_covering(span)), [0, 1, 1, 2]);
        assert_eq!(quanta.quanta_covering(i64::MAX), (i64::MAX / 10 + 1) as usize);
    }
}
