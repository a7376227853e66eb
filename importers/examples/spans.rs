//! Imports files of spans, and says how fast that was: `spans KIND DIR FILE...`. `scripts/bench
//! spans` runs it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use importers::IMPORTERS;
use message_trace::{DataDir, Progress};
use registry::Given;

/// When reading ended.
#[derive(Debug)]
struct Steps {
    begin: Instant,
    read_ns: AtomicU64,
}

impl Progress for Steps {
    fn step(&self, what: &str, _: u64) {
        if what == "joining spans" {
            let elapsed = self.begin.elapsed().as_nanos() as u64;
            self.read_ns.store(elapsed, Ordering::Relaxed);
        }
    }

    fn advance(&self, _: u64) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(kind), Some(directory)) = (arguments.next(), arguments.next()) else {
        return Err("usage: spans KIND DIR FILE...".into());
    };
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let kind = registry::find(IMPORTERS, &kind.to_string_lossy()).ok_or("no such kind")?;
    let steps = Steps { begin: Instant::now(), read_ns: AtomicU64::new(0) };
    let importer = (kind.make)(&Given::default());
    let summary = importer.import(&files, &DataDir::new(directory), &steps)?;
    let seconds = steps.begin.elapsed().as_secs_f64();
    let reading = steps.read_ns.into_inner() as f64 / 1e9;
    println!(
        "{{\"bytes\": {}, \"spans\": {}, \"steps\": {}, \"skipped\": {}, \"reading\": {reading:.3}, \
         \"seconds\": {seconds:.3}}}",
        summary.bytes,
        summary.read,
        summary.made,
        summary.skipped.total(),
    );
    summary.notes.iter().for_each(|note| eprintln!("{note}"));
    Ok(())
}
