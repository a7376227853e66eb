//! Statistics: tests of two samples, control of false discoveries, and distances of texts. Each
//! formula stands in a file of its own and knows nothing of requests.

mod edit_distance;
mod effective_size;
mod false_discovery;
mod gain;
mod kolmogorov_smirnov;
mod moments;
mod predictive;
mod rates;

pub use edit_distance::normalized_edit_distance;
pub use effective_size::design_effect;
pub use false_discovery::adjusted;
pub use gain::{Split, best_threshold, gain_ratio};
pub use kolmogorov_smirnov::{KolmogorovSmirnov, grouped_kolmogorov_smirnov, kolmogorov_smirnov};
pub use moments::Moments;
pub use predictive::RatePrior;
pub use rates::rates_differ;
