//! Imports span files and prints the speed: `spans KIND DIR FILE...`. `scripts/bench spans` runs
//! it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use importers::IMPORTERS;
use message_trace::{DataDir, Progress};

/// Time at which reading ended.
#[derive(Debug)]
struct Steps {
    begin: Instant,
    read_ns: AtomicU64,
    /// Processor time until then, in ticks of 10 ms.
    read_ticks: AtomicU64,
}

impl Progress for Steps {
    fn begin_step(&self, what: &str, _: u64) {
        if what == "joining spans" {
            let elapsed = self.begin.elapsed().as_nanos() as u64;
            self.read_ns.store(elapsed, Ordering::Relaxed);
            self.read_ticks.store(processor_ticks(), Ordering::Relaxed);
        }
    }

    fn advance_step(&self, _: u64) {}
}

/// Processor time of this process, in ticks of 10 ms; 0 if the system does not report it.
fn processor_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name, in parentheses, may contain spaces. After it, the two times are fields 11
    // and 12.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(kind), Some(directory)) = (arguments.next(), arguments.next()) else {
        return Err("usage: spans KIND DIR FILE...".into());
    };
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let kind = registry::find_entry(IMPORTERS, &kind.to_string_lossy()).ok_or("no such kind")?;
    let steps = Steps { begin: Instant::now(), read_ns: 0.into(), read_ticks: 0.into() };
    let importer = (kind.make)(&kind.parse_flags(&[])?)?;
    let summary = importer.import_files(&files, &DataDir::new(directory), &steps)?;
    let seconds = steps.begin.elapsed().as_secs_f64();
    let reading = steps.read_ns.into_inner() as f64 / 1e9;
    let of_processors = steps.read_ticks.into_inner() as f64 / 100.0;
    println!(
        "{{\"bytes\": {}, \"spans\": {}, \"steps\": {}, \"skipped\": {}, \"reading\": {reading:.3}, \
         \"reading_processor\": {of_processors:.2}, \"seconds\": {seconds:.3}}}",
        summary.bytes,
        summary.read,
        summary.made,
        summary.skipped.total(),
    );
    summary.notes.iter().for_each(|note| eprintln!("{note}"));
    Ok(())
}
