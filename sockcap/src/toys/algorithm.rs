//! An algorithm that treats every message as spontaneous.

use std::time::Duration;

use analyze::Options;
use analyze::infer::{
    AlgorithmEntry, AlgorithmFlags, AlgorithmSpec, Inference, InferenceInput, Links, read_flags,
};
use clap::Args;
use registry::{EntryHelp, Spec, values};

#[derive(Debug, Args)]
struct ToyFlags {
    /// How long a window is for those who use it
    #[arg(long, value_name = "TIME", value_parser = values::parse_duration)]
    grown_up: Option<Duration>,
}

impl AlgorithmFlags for ToyFlags {
    fn apply_to(&self, options: &mut Options) {
        let chosen = self.grown_up.map(|span| span.as_nanos() as i64);
        options.window = chosen.unwrap_or(options.window);
    }
}

pub(crate) static ENTRY: AlgorithmSpec = Spec {
    about: EntryHelp { name: "toy", summary: "nothing causes anything", ..EntryHelp::NOTHING },
    flags: ToyFlags::augment_args,
    entry: AlgorithmEntry { read_flags: read_flags::<ToyFlags>, begin: || Box::new(ToyAlgorithm) },
};

struct ToyAlgorithm;

impl Inference for ToyAlgorithm {
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
        Links::spontaneous_only(input.trace.len())
    }
}
