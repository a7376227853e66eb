//! Helpers shared by the plots: coordinates as text, and the ticks of an axis.

/// A coordinate with one decimal at most.
pub(super) fn format_coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Round times from 0 to `span`, about eight.
pub(super) fn axis_ticks(span: f64) -> Vec<f64> {
    if span <= 0.0 {
        return vec![0.0];
    }
    let rough = span / 7.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
    let step = step.unwrap_or(power * 10.0);
    (0..=8).map(|index| f64::from(index) * step).take_while(|tick| *tick <= span * 1.0001).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_end() {
        assert_eq!(axis_ticks(3.25e6), [0.0, 0.5e6, 1e6, 1.5e6, 2e6, 2.5e6, 3e6]);
        for span in [1.0, 7.0, 999.0, 3.2e4, 6.4e7, 1.01e9, 9.9e10] {
            let ticks = axis_ticks(span);
            assert!((3..=9).contains(&ticks.len()), "{span}: {ticks:?}");
            assert!(ticks.last().unwrap() * 1.6 > span, "{span}: {ticks:?}");
        }
        assert_eq!(axis_ticks(0.0), [0.0]);
    }
}
