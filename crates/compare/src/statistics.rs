//! Statistics: tests of two samples, control of false discoveries, and distances of texts. Each
//! formula has a file of its own and is independent of requests.

mod batch_means;
mod combination;
mod edit_distance;
mod effective_size;
mod false_discovery;
mod gain;
mod kolmogorov_smirnov;
mod moments;
mod predictive;
mod rates;
mod student;

pub use batch_means::batch_means;
pub use combination::combine_p_values;
pub use edit_distance::normalized_edit_distance;
pub use effective_size::{WindowedValues, period_scales};
pub use false_discovery::adjust_p_values;
pub use gain::{SplitCounts, best_threshold, gain_ratio};
pub use kolmogorov_smirnov::{KolmogorovSmirnov, grouped_kolmogorov_smirnov, kolmogorov_smirnov};
pub use moments::WeightedMoments;
pub use predictive::RatePrior;
pub use rates::rates_differ;
pub use student::with_estimated_variance;
