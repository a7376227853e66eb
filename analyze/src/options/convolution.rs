//! Options of the convolution algorithm (Project 5 section 5.2).

use serde::{Deserialize, Serialize};

/// The constants of the convolution algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConvolutionOptions {
    /// The time quantum, in nanoseconds (section 5.2.1). `None`: chosen from the delays of the
    /// trace.
    pub time_step: Option<i64>,
    /// N: height of a spike above the mean, in standard deviations (section 5.2).
    pub spike: f64,
    /// S: height above the mean below which the correlation falls between two spikes, in standard
    /// deviations (section 5.2).
    pub between_spikes: f64,
    /// v: largest difference between the delays of a message and of the spike, in nanoseconds
    /// (section 5.2.2). `None`: the extent of the spike.
    pub variation: Option<i64>,
    /// Edges with fewer messages are noise (sections 5.2.3 and 7.5.7).
    pub least_messages: usize,
    /// Edges with a smaller share of the messages of their path's first edge are noise, too.
    pub least_share: f64,
}
