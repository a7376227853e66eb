//! Random test cases.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Runs `test` on `cases` random values of `strategy`.
pub(crate) fn run_cases<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value)) {
    let config = ProptestConfig { cases, failure_persistence: None, ..Default::default() };
    let run = |value| {
        test(value);
        Ok(())
    };
    TestRunner::new(config).run(&strategy, run).unwrap();
}
