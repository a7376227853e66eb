//! Statistics of response times: the description of each context. A response time may have a
//! weight, the probability of its request.
//!
//! Variances are population variances (divided by the sum of the weights). So the variance of an
//! operation is exactly the one within its contexts plus the one between them, and a context with a
//! single observation has the deviation 0. The paper's figures rest on many observations and do not
//! reveal which definition it used.

mod deviation;
mod histogram;
mod modes;
mod moments;
mod quartiles;
mod ranks;
mod sample;
mod spent;

pub use deviation::{AverageDeviation, relative_decrease};
pub use histogram::LogBins;
pub use modes::count_modes;
pub use moments::TimeMoments;
pub use quartiles::sample_quartiles;
pub use ranks::{RankSums, kruskal_wallis};
pub use sample::{TimeSample, clock_tick};
pub use spent::{MeanSpent, SpentSums};
