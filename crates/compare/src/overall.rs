//! Overall change: the response times of all requests together, and whether they changed.

use serde::Serialize;

use crate::analysis::{CategoryStats, PeriodSample};
use crate::options::Options;
use crate::sites::SiteHistogram;
use crate::statistics::combine_p_values;

/// Quantiles that are shown.
pub const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Response times of all requests in both periods.
#[derive(Clone, Debug, Serialize)]
pub struct OverallChange {
    /// Response times of all requests in both periods.
    #[serde(skip)]
    pub samples: [PeriodSample; 2],
    /// Mean response times in both periods, in nanoseconds.
    pub mean: [f64; 2],
    /// The quantiles of [`QUANTILES`], in nanoseconds; `None` without requests.
    pub quantiles: [Option<[f64; 2]>; 3],
    /// Design effect: the number of observations with the information of one; 1 if they are
    /// independent. `None` if there are too few observations to be tested, or all are at about one
    /// time.
    pub effect: Option<f64>,
    /// Probability of response times that differ at least this much, if nothing changed.
    pub p_value: f64,
    /// The p-value adjusted for all tests of the comparison.
    pub adjusted: f64,
    /// Whether the response times differ by more than chance explains, however little.
    pub differs: bool,
    /// Whether the response times changed: they differ, and by enough to matter.
    pub is_changed: bool,
}

impl OverallChange {
    /// The response times of all categories, tested, without a decision yet.
    pub(crate) fn from_categories(
        categories: &[CategoryStats],
        response: &SiteHistogram,
        lengths: [f64; 2],
    ) -> OverallChange {
        let samples = [0, 1].map(|side| {
            PeriodSample::merge_samples(categories.iter().map(|of| &of.response[side]))
        });
        let quantiles = QUANTILES.map(|share| {
            let both = samples[0].quantile(share).zip(samples[1].quantile(share));
            both.map(|(before, after)| [f64::from(before), f64::from(after)])
        });
        let test = response.test_change(lengths);
        let (p_value, effect) = test.map_or((1.0, None), |test| {
            let shift = (test.shift, 0.5);
            (combine_p_values([(test.p_value, 0.5), shift]), Some(test.effect))
        });
        let mean = [samples[0].moments.mean, samples[1].moments.mean];
        OverallChange {
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

    /// Decides whether the response times changed, once `adjusted` is known. They also differ if
    /// those of one part of the requests differ: response times of all requests together vary more
    /// than those of one category.
    pub(crate) fn decide_change(&mut self, options: &Options, has_changed_part: bool) {
        self.differs = self.adjusted <= options.false_discoveries || has_changed_part;
        self.is_changed = self.differs && crate::mutations::is_large_change(&self.samples, options);
    }
}
