//! Sample: one response time.

/// A response time and its weight. Functions of samples expect them sorted by time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeSample {
    /// The response time in nanoseconds.
    pub time: i64,
    /// The probability of the request, above 0 and at most 1.
    pub weight: f32,
}

impl TimeSample {
    /// A sample that is certain.
    pub fn certain(time: i64) -> TimeSample {
        TimeSample { time, weight: 1.0 }
    }
}

/// The tick of the clock that measured the times, in nanoseconds: the largest power of ten that
/// divides all times, from 1 ns to 1 s.
pub fn clock_tick(samples: &[TimeSample]) -> i64 {
    let mut tick = 1_000_000_000;
    for sample in samples {
        while tick > 1 && sample.time % tick != 0 {
            tick /= 10;
        }
    }
    tick
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_divides_all_times() {
        let of = |times: &[i64]| {
            clock_tick(&times.iter().map(|time| TimeSample::certain(*time)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[15_000_000, 2_000_000, 0]), 1_000_000);
        assert_eq!((of(&[1_000, 20]), of(&[1_000, 7])), (10, 1));
    }
}
