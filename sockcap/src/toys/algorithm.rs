//! An algorithm that takes every message as spontaneous.

use std::time::Duration;

use analyze::infer::{AlgorithmEntry, Inference, Input, Links};
use registry::{About, Flag, values};

static GROWN_UP: Flag<Duration> =
    Flag::text("grown-up", "TIME", values::duration, "How long a window is for those who use it");

pub(crate) static ENTRY: AlgorithmEntry = AlgorithmEntry {
    about: About { name: "toy", summary: "nothing causes anything", ..About::NOTHING },
    flags: &[&GROWN_UP],
    apply: |given, options| {
        let chosen = given.get(&GROWN_UP).map(|span| span.as_nanos() as i64);
        options.window = chosen.unwrap_or(options.window);
    },
    begin: || Box::new(Toy),
};

struct Toy;

impl Inference for Toy {
    fn infer(&mut self, input: &Input<'_>) -> Links {
        Links::spontaneous_only(input.trace.len())
    }
}
