//! Overall: the response times of all requests together, and what their change is made of.

use serde::Serialize;

use crate::analysis::{CategoryStats, Sample};
use crate::options::Options;
use crate::sites::Histogram;
use crate::statistics::combined;

/// Quantiles that are shown.
pub const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Response times of all requests in both periods.
#[derive(Clone, Debug, Serialize)]
pub struct Overall {
    /// The response times.
    #[serde(skip)]
    pub samples: [Sample; 2],
    /// Means in nanoseconds.
    pub mean: [f64; 2],
    /// The quantiles of [`QUANTILES`], in nanoseconds; `None` without requests.
    pub quantiles: [Option<[f64; 2]>; 3],
    /// How many observations have the information of one: 1 if they are independent. `None` where
    /// there are too few to be tested, or all at about one time.
    pub effect: Option<f64>,
    /// Probability of response times as unlike as these if nothing changed.
    pub p_value: f64,
    /// The same with all tests of the comparison taken together.
    pub adjusted: f64,
    /// Whether they differ by more than chance explains, by however little.
    pub differs: bool,
    /// Whether they changed: they differ, and by enough to matter.
    pub is_changed: bool,
}

impl Overall {
    /// The response times of all categories, tested, not yet decided.
    pub(crate) fn of(
        categories: &[CategoryStats],
        response: &Histogram,
        lengths: [f64; 2],
    ) -> Overall {
        let samples =
            [0, 1].map(|side| Sample::merged(categories.iter().map(|of| &of.response[side])));
        let quantiles = QUANTILES.map(|share| {
            let both = samples[0].quantile(share).zip(samples[1].quantile(share));
            both.map(|(before, after)| [f64::from(before), f64::from(after)])
        });
        let test = response.test(lengths);
        let (p_value, effect) = test.map_or((1.0, None), |test| {
            let shift = (test.shift, 0.5);
            (combined([(test.p_value, 0.5), shift]), Some(test.effect))
        });
        let mean = [samples[0].moments.mean, samples[1].moments.mean];
        Overall {
            samples,
            mean,
            quantiles,
            effect,
            p_value,
            adjusted: p_value,
            differs: false,
            is_changed: false,
        }
    }

    /// Decides whether they changed, when `adjusted` is known. They differ, too, where a part of
    /// them does: response times of all requests together vary more than those of one category.
    pub(crate) fn decide(&mut self, options: &Options, has_changed_part: bool) {
        self.differs = self.adjusted <= options.false_discoveries || has_changed_part;
        self.is_changed = self.differs && crate::mutations::matters(&self.samples, options);
    }
}
