//! Prints the path graph that the convolution algorithm infers from a data directory, path by path,
//! the most frequent first.
//!
//! `cargo run --release -p analyze --example graph -- DIR [TIME-STEP-MS [N [S [V-MS]]]]`

use std::time::Instant;

use analyze::Options;
use analyze::infer::{ConvolutionAlgorithm, InferenceInput};
use analyze::naming::Naming;
use message_trace::{DataDir, MessageTrace};

fn main() -> Result<(), message_trace::PathError> {
    let mut arguments = std::env::args().skip(1);
    let dir = DataDir::new(arguments.next().unwrap_or_else(|| "sockcap.data".into()));
    let mut number = || {
        arguments.next().and_then(|text| text.parse::<f64>().ok()).filter(|number| *number > 0.0)
    };
    let mut options = Options::default();
    let convolution = &mut options.convolution;
    let milliseconds = |number: f64| (number * 1e6) as i64;
    convolution.time_step = number().map(milliseconds);
    convolution.spike = number().unwrap_or(convolution.spike);
    convolution.between_spikes = number().unwrap_or(convolution.between_spikes);
    convolution.variation = number().map(milliseconds);
    let trace = MessageTrace::read(dir.messages_path(), dir.nodes_path())?;
    let naming = Naming::new(&trace, &options);
    let start = Instant::now();
    let graph = ConvolutionAlgorithm
        .build_graph(&InferenceInput::without_progress(&trace, &naming, &options));
    println!(
        "{} messages, {} edges, {:.3} s",
        trace.len(),
        graph.edges().len(),
        start.elapsed().as_secs_f64()
    );
    for path in graph.paths() {
        println!("{path}");
    }
    Ok(())
}
