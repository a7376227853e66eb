//! Average deviation: the standard deviation that remains within contexts, weighted by call
//! frequency, and its decrease compared with no contexts (trace-context profiling, sections 3.3 and
//! 5.2).

use super::moments::TimeMoments;

/// Average of the standard deviations of some contexts, each weighted by its frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AverageDeviation {
    /// Sum of the frequencies.
    weight: f64,
    /// Sum of the standard deviations times the frequencies.
    sum: f64,
}

impl AverageDeviation {
    /// Adds a context.
    pub fn add(&mut self, context: &TimeMoments) {
        self.weight += context.weight;
        self.sum += context.weight * context.deviation();
    }

    /// The average over `contexts`.
    pub fn from_contexts<'a>(
        contexts: impl IntoIterator<Item = &'a TimeMoments>,
    ) -> AverageDeviation {
        let mut average = AverageDeviation::default();
        contexts.into_iter().for_each(|context| average.add(context));
        average
    }

    /// The average; 0 if there is no context.
    pub fn mean(&self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }
}

/// The relative decrease from the average deviation `without` contexts to the average `within`
/// contexts: 0.12 for 12% less. A deviation of 0 cannot decrease.
pub fn relative_decrease(without: &AverageDeviation, within: &AverageDeviation) -> f64 {
    let before = without.mean();
    if before > 0.0 { 1.0 - within.mean() / before } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operation f of the paper (3.3). Frequencies follow from its figures: a share w of the calls
    /// on stack 1 makes 155.54 w + 49.74 (1 - w) = 120.13, so w = 0.6653; a share v of them in
    /// trace-context 1 makes 53.83 v + 2.20 (0.6653 - v) + 49.74 * 0.3347 = 35.94, so v = 0.3453.
    #[test]
    fn the_example_of_the_paper() {
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        let of = |contexts: &[(f64, f64)]| {
            let contexts: Vec<TimeMoments> = contexts
                .iter()
                .map(|(calls, deviation)| TimeMoments::from_figures(*calls, 0.0, *deviation))
                .collect();
            AverageDeviation::from_contexts(&contexts)
        };
        let without = of(&[(10_000.0, 136.47)]);
        let stack = of(&[(6_653.0, 155.54), (3_347.0, 49.74)]);
        assert_eq!(rounded(stack.mean()), 120.13);
        assert_eq!(rounded(100.0 * relative_decrease(&without, &stack)), 11.97);
        let trace = of(&[(3_453.0, 53.83), (3_200.0, 2.20), (3_347.0, 49.74)]);
        assert_eq!(rounded(trace.mean()), 35.94);
        assert_eq!(rounded(100.0 * relative_decrease(&without, &trace)), 73.66);
    }

    #[test]
    fn a_deviation_of_zero_has_no_decrease() {
        let none = AverageDeviation::default();
        assert_eq!((none.mean(), relative_decrease(&none, &none)), (0.0, 0.0));
    }
}
