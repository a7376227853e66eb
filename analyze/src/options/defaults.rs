//! Default options: the values that hold where the user gives none. Their meanings and sources are
//! at the fields.

use message_trace::NodeGrain;

use super::{Algorithm, Aliases, AnalysisResources, ConvolutionOptions, NestingOptions, Options};

impl Default for Options {
    fn default() -> Options {
        Options {
            algorithm: Algorithm::default(),
            without: Vec::new(),
            grain: NodeGrain::default(),
            roles: false,
            aliases: Aliases::default(),
            window: 2_000_000_000,
            spontaneous_delay: 4.0,
            iterations: 1,
            try_both: [0.4, 0.6],
            try_both_limit: 4,
            path_limit: 1000,
            clients_start_paths: true,
            fixed_port_peers: 16,
            stretch: 3 << 18,
            nesting: NestingOptions::default(),
            convolution: ConvolutionOptions::default(),
            resources: AnalysisResources::default(),
        }
    }
}

impl Default for NestingOptions {
    fn default() -> NestingOptions {
        NestingOptions {
            skew_window: 0,
            smoothing: 0.0,
            penalties: [2.0, 0.0, 0.0],
            scoreboard_window: None,
        }
    }
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
