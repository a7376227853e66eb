//! Quality and duration of pairing the ends of translated flows, on synthetic systems with a known
//! ground truth: `cargo run --release -p reconcile --example translation -- SYSTEMS [FIRST]`.

#[path = "../tests/it/translated/mod.rs"]
mod translated;

use std::error::Error;
use std::time::Instant;

use out_of_core::MemoryPool;
use reconcile::translation::find_pairs;
use translated::{Judgement, SystemParameters, system};

fn main() -> Result<(), Box<dyn Error>> {
    let number =
        |place: usize| std::env::args().nth(place).and_then(|number| number.parse::<u64>().ok());
    let (systems, first) = (number(1).unwrap_or(200), number(2).unwrap_or(0));
    let pool = MemoryPool::default();
    for fingerprints in [false, true] {
        let mut all = Judgement::default();
        for seed in first..first + systems {
            let system =
                system(SystemParameters { seed, fingerprints, connections: 120, clients: 6 });
            all.judge(&system, &find_pairs(&system.halves, &[], 0.0, &pool)?);
        }
        println!("fingerprints: {fingerprints}\n{all}");
    }
    println!("many at once:");
    for seed in 0..8 {
        let big = system(SystemParameters {
            seed,
            fingerprints: false,
            connections: 2_000,
            clients: 200,
        });
        let start = Instant::now();
        let found = find_pairs(&big.halves, &[], translated::MIN_CONFIDENCE, &pool)?;
        let took = start.elapsed();
        let truths = big.truth.iter().flatten().count() / 2;
        println!("  {} half flows, {} pairs of {truths}: {took:?}", big.halves.len(), found.len());
    }
    Ok(())
}
