//! Statistics of response times: what each context is described by. A response time may count with
//! a weight, the probability of its request.
//!
//! Variances are those of the population (divided by the sum of the weights). So the variance of an
//! operation is exactly the one within its contexts plus the one between them, and a context with a
//! single observation has the deviation 0. The paper's figures are of many observations, so that
//! they do not tell which definition it used.

mod deviation;
mod histogram;
mod modes;
mod moments;
mod quartiles;
mod ranks;
mod sample;
mod spent;

pub use deviation::{AverageDeviation, decrease};
pub use histogram::Bins;
pub use modes::modes;
pub use moments::Moments;
pub use quartiles::quartiles;
pub use ranks::{RankSums, kruskal_wallis};
pub use sample::{Sample, tick};
pub use spent::{MeanSpent, SpentSums};
