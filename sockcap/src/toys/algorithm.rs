//! An algorithm that treats every message as spontaneous.

use std::time::Duration;

use analyze::infer::{AlgorithmEntry, AlgorithmSpec, Inference, InferenceInput, Links};
use registry::{EntryHelp, Flag, Spec, values};

static GROWN_UP: Flag<Duration> = Flag::text(
    "grown-up",
    "TIME",
    values::parse_duration,
    "How long a window is for those who use it",
);

pub(crate) static ENTRY: AlgorithmSpec = Spec {
    about: EntryHelp { name: "toy", summary: "nothing causes anything", ..EntryHelp::NOTHING },
    flags: &[&GROWN_UP],
    entry: AlgorithmEntry {
        apply: |given, options| {
            let chosen = given.get(&GROWN_UP).map(|span| span.as_nanos() as i64);
            options.window = chosen.unwrap_or(options.window);
        },
        begin: || Box::new(ToyAlgorithm),
    },
};

struct ToyAlgorithm;

impl Inference for ToyAlgorithm {
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
        Links::spontaneous_only(input.trace.len())
    }
}
