//! What the user can choose of the convolution algorithm (Project 5 section 5.2).

use serde::{Deserialize, Serialize};

/// The constants of the convolution algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConvolutionOptions {
    /// The time quantum, in nanoseconds (section 5.2.1). None: chosen by the delays of the trace.
    pub time_step: Option<i64>,
    /// N: a spike is so many standard deviations above the mean (section 5.2).
    pub spike: f64,
    /// S: between two spikes is a point less than so many standard deviations above the mean
    /// (section 5.2).
    pub between_spikes: f64,
    /// v, in nanoseconds: messages with delays that differ by so much from that of the spike belong
    /// to it (section 5.2.2). None: as far as the spike reaches.
    pub variation: Option<i64>,
    /// Edges with fewer messages are noise (sections 5.2.3 and 7.5.7).
    pub least_messages: usize,
    /// And so are those with a smaller share of the messages of the edge that their path begins
    /// with.
    pub least_share: f64,
}

impl Default for ConvolutionOptions {
    fn default() -> ConvolutionOptions {
        ConvolutionOptions {
            time_step: None,
            spike: 4.0,
            between_spikes: 3.0,
            variation: None,
            least_messages: 10,
            least_share: 0.03,
        }
    }
}
