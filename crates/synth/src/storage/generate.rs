//! Generation of a period: one request after the other, so that memory does not grow with their
//! number.

use message_trace::{DataDir, Progress};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use request_flow::NameInterner;
use request_flow::tables::RequestWriter;

use super::load::{SystemLoad, uniform_share};
use super::system::StorageSystem;
use super::workload::ClientWorkload;
use crate::error::Error;

/// The parameters of a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StorageConfig {
    /// Seed: the same configuration always makes the same requests.
    pub seed: u64,
    /// Number of requests. Caches and the source tree scale with it.
    pub requests: u64,
    /// Length of the period in nanoseconds.
    pub length: i64,
    /// Capacity of the NFS server's data cache, in blocks of 16 KiB, in a period of 565,295
    /// requests.
    pub cache: usize,
    /// Time that storage nodes wait before they answer a WRITE, in nanoseconds.
    pub spin: i64,
    /// Variation between runs without any fault: 1 is the usual amount, 0 is none.
    pub variation: f64,
}

impl Default for StorageConfig {
    /// The period without a problem (5.3): 565,295 requests in 44 minutes, a cache of 384 MB.
    fn default() -> StorageConfig {
        StorageConfig {
            seed: 1,
            requests: 565_295,
            length: 44 * 60 * 1_000_000_000,
            cache: 384 << 6,
            spin: 0,
            variation: 1.0,
        }
    }
}

/// Totals of a generated period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntheticPeriod {
    /// Number of requests.
    pub requests: u64,
    /// Number of steps.
    pub steps: u64,
}

/// Makes a period, and writes it to the tables of `data`.
///
/// # Errors
/// When a table cannot be written.
pub fn make_period(
    config: &StorageConfig,
    data: &DataDir,
    progress: &dyn Progress,
) -> Result<SyntheticPeriod, Error> {
    let random = &mut ChaCha8Rng::seed_from_u64(config.seed);
    let load = SystemLoad::new(config.length, config.variation, random);
    let scale = config.requests as f64 / StorageConfig::default().requests as f64;
    let mut workload = ClientWorkload::new(scale);
    let mut system = StorageSystem::new(config.cache, config.spin, scale);
    let mut names = NameInterner::default();
    let mut writer = RequestWriter::create(data.requests_path(), data.steps_path())?;
    progress.begin_step("making requests", config.requests);
    let gap = config.length as f64 / config.requests.max(1) as f64;
    let mut now = 0.0;
    for _ in 0..config.requests {
        now -= uniform_share(random).max(1e-12).ln() * gap;
        let time = now as i64;
        let asked = workload.next_operation(&load, time, random);
        writer.push_request(system.make_request(asked, time, &load, &mut names, random), &names)?;
        progress.advance_step(1);
    }
    let (requests, steps) = writer.written_counts();
    writer.finish(&names)?;
    Ok(SyntheticPeriod { requests, steps })
}

#[cfg(test)]
mod tests {
    use request_flow::Request;
    use request_flow::tables::{ColumnSelection, RequestTables};

    use super::*;

    const FEW: StorageConfig = StorageConfig {
        seed: 7,
        requests: 6_000,
        length: 28_000_000_000,
        cache: 384 << 6,
        spin: 0,
        variation: 1.0,
    };

    fn make_and_read(config: StorageConfig) -> (NameInterner, Vec<Request>) {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let made = make_period(&config, &data, &()).unwrap();
        let mut names = NameInterner::default();
        let tables =
            RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL)
                .unwrap();
        let requests = tables.read_all(&mut names).unwrap();
        assert_eq!((requests.len() as u64, tables.counts().1), (made.requests, made.steps));
        (names, requests)
    }

    /// Times of the steps with one operation, below another.
    fn times(of: &(NameInterner, Vec<Request>), operation: &str, above: &str) -> Vec<i64> {
        let (names, requests) = of;
        let steps = requests.iter().flat_map(|request| {
            request
                .steps
                .iter()
                .map(|step| (step, step.parent.map(|it| request.steps[it as usize])))
        });
        let is_it = |name, text| names.name_of(name) == text;
        let of_it = steps.filter(|(step, parent)| {
            is_it(step.operation, operation)
                && parent.is_some_and(|parent| is_it(parent.operation, above))
        });
        of_it.map(|(step, _)| step.response_time().unwrap()).collect()
    }

    #[test]
    fn requests_are_complete_and_repeatable() {
        let all = make_and_read(FEW);
        assert_eq!(all.1, make_and_read(FEW).1);
        assert_ne!(all.1, make_and_read(StorageConfig { seed: 8, ..FEW }).1);
        for request in &all.1 {
            for step in &request.steps[1..] {
                let parent = &request.steps[step.parent.unwrap() as usize];
                let (first, last) = step.span_at_caller();
                assert!(
                    parent.begin <= first && last <= parent.end && first <= last,
                    "{request:?}"
                );
            }
        }
        assert!(all.1.is_sorted_by_key(Request::begin));
    }

    #[test]
    fn the_spin_is_only_in_responses_to_writes() {
        let [usual, spinning] =
            [0, 1_000_000].map(|spin| make_and_read(StorageConfig { spin, ..FEW }));
        let median = |mut times: Vec<i64>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        for (operation, above, longer) in
            [("reply", "WRITE", 1_000_000), ("reply", "READ", 0), ("store", "WRITE", 0)]
        {
            let [usual, spinning] =
                [&usual, &spinning].map(|of| median(times(of, operation, above)));
            let off = (spinning - usual - longer).abs();
            assert!(off < usual / 10, "{operation} of {above}: {usual} {spinning}");
        }
    }

    #[test]
    fn a_smaller_cache_misses_more() {
        let [large, small] =
            [384 << 6, 20 << 6].map(|cache| make_and_read(StorageConfig { cache, ..FEW }));
        let misses = |of| times(of, "data miss", "READ").len();
        let [large, small] = [misses(&large), misses(&small)];
        // First reads miss in both.
        assert!(5 * large < 4 * small, "{large} {small}");
    }
}
