//! What the user may say of an analysis wherever one is made: the algorithm and its constants.

use std::path::PathBuf;
use std::time::Duration;

use analyze::{Algorithm, Evidence, NestingOptions};
use clap::Args;
use message_trace::Grain;

use super::values::{
    algorithm, duration, duration_or_none, evidence, grain, not_negative, positive, share, three,
};

/// What the user may say of the analysis. To `report`, what is left out is as in the last one.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct Inference {
    /// What a node is: host, process, command (all processes of a command on a host) or thread
    /// [default: command]
    #[arg(long, value_name = "GRAIN", value_parser = grain(), hide_possible_values = true)]
    node: Option<Grain>,
    /// Make one pattern of paths whose nodes do the same, whichever of several servers they pass:
    /// nodes are called by what they do, a second one of a role in a path NAME#2 (docs/names.md)
    /// [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    roles: Option<bool>,
    /// A file that says what addresses, hosts, commands and endpoints are to be called
    /// (docs/names.md) [default: DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) aliases: Option<PathBuf>,
    /// The algorithm: auto (learns each service), linking (WAP5), nesting (Project 5, for calls and
    /// their returns) or convolution (Project 5) [default: auto]
    #[arg(long, value_name = "NAME", value_parser = algorithm(), hide_possible_values = true)]
    algorithm: Option<Algorithm>,
    /// Leave out a kind of evidence that auto weighs: delays, context, shapes, order, turns,
    /// nesting, threads, connections, sizes (docs/accuracy.md)
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = evidence(), hide_possible_values = true)]
    without: Option<Vec<Evidence>>,
    /// The longest time for which a message may wait for its cause to take effect [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    window: Option<Duration>,
    /// Take a message as spontaneous as if its cause lay this many mean delays back [default: 4]
    #[arg(long, value_name = "Y", value_parser = positive)]
    spontaneous_delay: Option<f64>,
    /// Message linking: estimate the delays this many times, from the second on by the links
    /// [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    iterations: Option<u16>,
    /// How many uncertain links of one path are tried both ways [default: 4]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(0..=16))]
    try_both: Option<u8>,
    /// Let a client's request be caused by the response before it, as the paper has it, instead of
    /// starting a path with each request [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    link_clients: Option<bool>,
    /// Look at this many messages together, and at a quarter as many before and behind them: more
    /// takes more memory, less tears paths that last longer [default: 786432]
    #[arg(long, value_name = "MESSAGES", value_parser = clap::value_parser!(u32).range(1..))]
    stretch: Option<u32>,
    #[command(flatten)]
    nesting: Nesting,
    #[command(flatten)]
    convolution: Convolution,
}

impl Inference {
    /// Nothing is said but what the nodes are to be called.
    pub(crate) fn named_by(aliases: Option<PathBuf>) -> Inference {
        Inference { aliases, ..Inference::default() }
    }

    /// `options` with what was asked for.
    pub(crate) fn applied_to(&self, options: analyze::Options) -> analyze::Options {
        analyze::Options {
            grain: self.node.unwrap_or(options.grain),
            roles: self.roles.unwrap_or(options.roles),
            algorithm: self.algorithm.unwrap_or(options.algorithm),
            without: self.without.clone().unwrap_or(options.without),
            window: self.window.map_or(options.window, |window| window.as_nanos() as i64),
            spontaneous_delay: self.spontaneous_delay.unwrap_or(options.spontaneous_delay),
            iterations: self.iterations.map_or(options.iterations, usize::from),
            try_both_limit: self.try_both.map_or(options.try_both_limit, usize::from),
            clients_start_paths: self
                .link_clients
                .map_or(options.clients_start_paths, |link| !link),
            stretch: self.stretch.map_or(options.stretch, |messages| messages as usize),
            nesting: self.nesting.applied_to(options.nesting),
            convolution: self.convolution.applied_to(options.convolution),
            ..options
        }
    }
}

/// What the user may say of the convolution algorithm.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Convolution (--algorithm convolution)")]
struct Convolution {
    /// Cut time into steps of this length; delays are told to a step
    /// [default: half of the usual delay]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time_step: Option<Duration>,
    /// A delay stands out that is so many standard deviations above the mean [default: 4]
    #[arg(long, value_name = "N", value_parser = positive)]
    spike: Option<f64>,
    /// Two delays are two if between them is a point less than so many standard deviations above
    /// the mean [default: 3]
    #[arg(long, value_name = "S", value_parser = positive)]
    between_spikes: Option<f64>,
    /// Take messages up to this much before and after a delay that stands out [default: as far as
    /// it stands out]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    variation: Option<Duration>,
    /// Leave out what fewer messages show than this [default: 10]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32))]
    least_messages: Option<u32>,
    /// And what a smaller share of the messages that a path begins with shows, from 0 to 1
    /// [default: 0.03]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    least_share: Option<f64>,
}

impl Convolution {
    fn applied_to(&self, options: analyze::ConvolutionOptions) -> analyze::ConvolutionOptions {
        let nanoseconds = |time: Option<Duration>| time.map(|time| time.as_nanos() as i64);
        analyze::ConvolutionOptions {
            time_step: nanoseconds(self.time_step).or(options.time_step),
            spike: self.spike.unwrap_or(options.spike),
            between_spikes: self.between_spikes.unwrap_or(options.between_spikes),
            variation: nanoseconds(self.variation).or(options.variation),
            least_messages: self
                .least_messages
                .map_or(options.least_messages, |least| least as usize),
            least_share: self.least_share.unwrap_or(options.least_share),
        }
    }
}

/// What the user may say of the nesting algorithm.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Nesting (--algorithm nesting)")]
struct Nesting {
    /// Let a call begin before its parent, or end after it, by this much: what clocks may differ by
    /// [default: 0]
    #[arg(long, value_name = "TIME", value_parser = duration_or_none)]
    skew_window: Option<Duration>,
    /// Smooth the scoreboard by a normal curve of so many bins, each 5% of a delay [default: 0]
    #[arg(long, value_name = "BINS", value_parser = not_negative)]
    smoothing: Option<f64>,
    /// The exponents of the penalties for a parent's children that overlap, that go to the same
    /// node, and all [default: 2,0,0]
    #[arg(long, value_name = "X,Y,Z", value_parser = three)]
    penalties: Option<[f64; 3]>,
    /// Choose parents by the calls within a window of this length around, for systems that change
    /// [default: by the whole trace]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    scoreboard_window: Option<Duration>,
}

impl Nesting {
    fn applied_to(&self, options: NestingOptions) -> NestingOptions {
        let nanoseconds = |time: Duration| time.as_nanos() as i64;
        NestingOptions {
            skew_window: self.skew_window.map_or(options.skew_window, nanoseconds),
            smoothing: self.smoothing.unwrap_or(options.smoothing),
            penalties: self.penalties.unwrap_or(options.penalties),
            scoreboard_window: self
                .scoreboard_window
                .map(nanoseconds)
                .or(options.scoreboard_window),
        }
    }
}
