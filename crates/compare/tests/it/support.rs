//! A small shop with requests that are generated from a seed: front end, cart, prices with a cache
//! in front, and a store. The fields determine what happens in a period.

use std::path::Path;

use compare::{Comparison, Options, Period, compare_periods};
use request_flow::tables::{ColumnSelection, RequestTables, RequestWriter};
use request_flow::{NameInterner, Request, Step};
use tempfile::TempDir;

/// One millisecond in nanoseconds.
pub(crate) const MS: i64 = 1_000_000;

/// Parameters of a period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestWorld {
    pub(crate) seed: u64,
    pub(crate) requests: u64,
    /// Own time of the cart, in nanoseconds.
    pub(crate) cart: i64,
    /// Transfer time to the store and back.
    pub(crate) to_store: i64,
    /// Share of the prices that are cached, in percent.
    pub(crate) cached: u64,
    /// Share of the requests in which the cart fails before it calls the store, in percent.
    pub(crate) failing: u64,
    /// Share of the requests with a large cart, which takes 20 ms more, in percent.
    pub(crate) large: u64,
    /// Share of the requests with a cart that is not found, which takes 20 ms more, in percent.
    pub(crate) missing: u64,
    /// Share of the requests for another page, in percent.
    pub(crate) other_kind: u64,
    /// Factor of all times, in percent.
    pub(crate) percent: i64,
    /// Number of operations of the cart, called in sequence.
    pub(crate) operations: u64,
    /// Whether rows are in the reverse order of time.
    pub(crate) reversed: bool,
    /// Prefix of each name.
    pub(crate) prefix: &'static str,
}

impl TestWorld {
    /// A period without faults.
    pub(crate) const WELL: TestWorld = TestWorld {
        seed: 1,
        requests: 600,
        cart: 2 * MS,
        to_store: MS / 2,
        cached: 70,
        failing: 0,
        large: 0,
        missing: 0,
        other_kind: 0,
        percent: 100,
        operations: 1,
        reversed: false,
        prefix: "",
    };

    /// The world with other requests.
    pub(crate) fn again(self) -> TestWorld {
        TestWorld { seed: self.seed + 1_000, ..self }
    }

    fn drawn(&self, request: u64, what: u64) -> u64 {
        message_trace::mix_bits(self.seed << 40 | request << 8 | what)
    }

    /// A time that varies around `mean` by up to a half.
    fn around(&self, request: u64, what: u64, mean: i64) -> i64 {
        let mean = mean * self.percent / 100;
        mean / 2 + (self.drawn(request, what) % (mean.max(1) as u64)) as i64
    }

    fn request(&self, number: u64, names: &mut NameInterner) -> Request {
        let mut name = |text: &str| names.intern(&format!("{}{text}", self.prefix));
        let [client, front, cart, cache, store] =
            ["client", "front", "cart", "cache", "store"].map(&mut name);
        let [page, look, read] = ["page", "look", "read"].map(&mut name);
        let get = match number % self.operations {
            0 => name("get"),
            which => name(&format!("get {which}")),
        };
        let of_cart = ["items", "http.response.status_code"].map(|name| names.intern(name));
        let of = |what, mean| self.around(number, what, mean);
        let hit = self.drawn(number, 90) % 100 < self.cached;
        let fails = self.drawn(number, 91) % 100 < self.failing;
        let is_large = self.drawn(number, 92) % 100 < self.large;
        let is_missing = self.drawn(number, 94) % 100 < self.missing;
        let values = [if is_large { "40" } else { "3" }, if is_missing { "404" } else { "200" }];
        let begin = number as i64 * 100 * MS;
        let mut request = Request { caller: client, probability: 1.0, ..Request::default() };
        // The front end calls cart, then cache; the cart calls the store.
        let mut time = begin + of(1, MS);
        let call = |parent, at: i64, way: i64, takes: i64, node, operation| Step {
            parent: Some(parent),
            caller_begin: Some(at),
            begin: Some(at + way / 2),
            end: Some(at + way / 2 + takes),
            caller_end: Some(at + way + takes),
            ..Step::new(node, operation)
        };
        let more = if is_large || is_missing { 20 * MS } else { 0 };
        let (own, way) = (of(2, self.cart) + more, of(3, MS / 4));
        let (store_way, store_takes) = (of(4, self.to_store), of(5, MS));
        let store_time = if fails { 0 } else { store_way + store_takes };
        let mut cart_step = call(0, time, way, own + store_time, cart, get);
        cart_step.failed = fails;
        let cart_begin = cart_step.begin.unwrap();
        let mut steps = vec![cart_step];
        if !fails {
            steps.push(call(1, cart_begin + own / 2, store_way, store_takes, store, read));
        }
        time = steps[0].caller_end.unwrap() + of(6, MS / 4);
        let cache_at = steps.len() as u32 + 1;
        let (cache_own, cache_way) = (of(7, MS / 4), of(8, MS / 4));
        let (way, takes) = (of(9, self.to_store), of(10, MS));
        let missed = if hit { 0 } else { way + takes };
        steps.push(call(0, time, cache_way, cache_own + missed, cache, look));
        if !hit {
            let at = steps.last().unwrap().begin.unwrap() + cache_own / 2;
            steps.push(call(cache_at, at, way, takes, store, read));
        }
        time = steps[cache_at as usize - 1].caller_end.unwrap() + of(11, MS / 2);
        let is_other = self.drawn(number, 93) % 100 < self.other_kind;
        let page = if is_other { names.intern(&format!("{}other", self.prefix)) } else { page };
        let root = Step { begin: Some(begin), end: Some(time), ..Step::new(front, page) };
        request.push_step(root, []);
        for (number, step) in steps.into_iter().enumerate() {
            let parameters = of_cart.into_iter().zip(values).filter(|_| number == 0);
            request.push_step(step, parameters);
        }
        request
    }

    /// Writes the requests into a directory.
    fn write(&self, directory: &Path) -> RequestTables {
        std::fs::create_dir_all(directory).unwrap();
        let paths = [directory.join("requests.parquet"), directory.join("steps.parquet")];
        let mut names = NameInterner::default();
        let mut writer = RequestWriter::create(&paths[0], &paths[1]).unwrap();
        let mut numbers: Vec<u64> = (0..self.requests).collect();
        if self.reversed {
            numbers.reverse();
        }
        for number in numbers {
            let request = self.request(number, &mut names);
            writer.push_request(request, &names).unwrap();
        }
        writer.finish(&names).unwrap();
        RequestTables::open(&paths[0], &paths[1], ColumnSelection::ALL).unwrap()
    }
}

/// Two periods and their tables.
pub(crate) struct WorldTables {
    pub(crate) tables: [RequestTables; 2],
    directory: TempDir,
}

impl WorldTables {
    pub(crate) fn new(before: TestWorld, after: TestWorld) -> WorldTables {
        let directory = tempfile::tempdir().unwrap();
        let tables = [("before", before), ("after", after)]
            .map(|(name, world)| world.write(&directory.path().join(name)));
        WorldTables { tables, directory }
    }

    /// Compares them.
    pub(crate) fn compared(&self, options: &Options) -> Comparison {
        let periods = self.tables.each_ref().map(Period::from_tables);
        compare_periods(periods.each_ref(), options, 1 << 26, self.directory.path(), &()).unwrap()
    }
}

/// The changes from one period to the other.
pub(crate) fn compare_worlds(before: TestWorld, after: TestWorld) -> Comparison {
    WorldTables::new(before, after).compared(&Options::default())
}
