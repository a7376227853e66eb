//! A period of a storage system, as an import of spans, for `scripts/bench diff`:
//! `cargo run --release -p synth --example storage -- DIRECTORY [KEY=NUMBER...]`. The keys are the
//! fields of [`StorageConfig`]: seed, requests, length (ns), cache (blocks), spin (ns), variation.

use std::error::Error;

use message_trace::DataDir;
use synth::storage::{StorageConfig, make_period};
use synth::synthetic_import;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: storage DIRECTORY [KEY=NUMBER...]")?;
    let mut config = StorageConfig::default();
    for argument in arguments {
        let (key, number) = argument.split_once('=').ok_or("write KEY=NUMBER")?;
        match key {
            "seed" => config.seed = number.parse()?,
            "requests" => config.requests = number.parse()?,
            "length" => config.length = number.parse()?,
            "cache" => config.cache = number.parse()?,
            "spin" => config.spin = number.parse()?,
            "variation" => config.variation = number.parse()?,
            _ => return Err(format!("'{key}' is no key").into()),
        }
    }
    let data = DataDir::new(&directory);
    let (made, place) = synthetic_import::write_requests(&data.spans_dir(), "storage", |tables| {
        make_period(&config, tables, &())
    })?;
    println!("{} requests, {} steps in {}", made.requests, made.steps, place.display());
    Ok(())
}
