//! The flags of message linking.

use clap::{Args, value_parser};
use registry::{ShownDefault, values};

use crate::infer::flags::WindowFlag;
use crate::infer::inference::AlgorithmFlags;
use crate::options::Options;

#[derive(Debug, Args)]
pub(in crate::infer) struct LinkingFlags {
    #[command(flatten)]
    window: WindowFlag,
    // The constant y of WAP5 section 5.1, step 2.
    /// Weigh being spontaneous like a cause this many mean delays earlier
    #[arg(
        long,
        value_name = "Y",
        value_parser = values::parse_positive,
        add = ShownDefault::new(Options::default().spontaneous_delay)
    )]
    spontaneous_delay: Option<f64>,
    /// Message linking: estimate the delays this many times, from the second time on from the links
    #[arg(
        long,
        value_name = "N",
        value_parser = value_parser!(u16).range(1..=1000),
        add = ShownDefault::new(Options::default().iterations)
    )]
    iterations: Option<u16>,
}

impl AlgorithmFlags for LinkingFlags {
    fn apply_to(&self, options: &mut Options) {
        self.window.apply_to(options);
        options.spontaneous_delay = self.spontaneous_delay.unwrap_or(options.spontaneous_delay);
        options.iterations = self.iterations.map_or(options.iterations, usize::from);
    }
}
