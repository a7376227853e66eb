//! The flags of the convolution algorithm.

use std::time::Duration;

use clap::Args;
use registry::{ShownDefault, values};

use crate::infer::flags::{WindowFlag, to_nanoseconds};
use crate::infer::inference::AlgorithmFlags;
use crate::options::{ConvolutionOptions, Options};

#[derive(Debug, Args)]
#[command(next_help_heading = "Convolution (--algorithm convolution)")]
pub(super) struct ConvolutionFlags {
    #[command(flatten)]
    window: WindowFlag,
    /// Divide time into steps of this length, which is the precision of delays [default: half of
    /// the usual delay]
    #[arg(long, value_name = "TIME", value_parser = values::parse_duration)]
    time_step: Option<Duration>,
    /// Height of a spike, which shows a delay, above the mean, in standard deviations
    #[arg(
        long,
        value_name = "N",
        value_parser = values::parse_positive,
        add = ShownDefault::new(ConvolutionOptions::default().spike)
    )]
    spike: Option<f64>,
    /// Two spikes are separate if a point between them is less than this many standard deviations
    /// above the mean
    #[arg(
        long,
        value_name = "S",
        value_parser = values::parse_positive,
        add = ShownDefault::new(ConvolutionOptions::default().between_spikes)
    )]
    between_spikes: Option<f64>,
    /// Select messages up to this much before and after the delay of a spike [default: the extent
    /// of the spike]
    #[arg(long, value_name = "TIME", value_parser = values::parse_duration)]
    variation: Option<Duration>,
    /// Leave out edges with fewer messages than this
    #[arg(
        long,
        value_name = "COUNT",
        add = ShownDefault::new(ConvolutionOptions::default().least_messages)
    )]
    least_messages: Option<u32>,
    /// Leave out edges with a smaller share of the messages of their path's first edge, from 0 to 1
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = values::parse_share,
        add = ShownDefault::new(ConvolutionOptions::default().least_share)
    )]
    least_share: Option<f64>,
}

impl AlgorithmFlags for ConvolutionFlags {
    fn apply_to(&self, options: &mut Options) {
        self.window.apply_to(options);
        let former = &options.convolution;
        let least_messages = self.least_messages.map(|least| least as usize);
        options.convolution = ConvolutionOptions {
            time_step: self.time_step.map(to_nanoseconds).or(former.time_step),
            spike: self.spike.unwrap_or(former.spike),
            between_spikes: self.between_spikes.unwrap_or(former.between_spikes),
            variation: self.variation.map(to_nanoseconds).or(former.variation),
            least_messages: least_messages.unwrap_or(former.least_messages),
            least_share: self.least_share.unwrap_or(former.least_share),
        };
    }
}
