//! Profiles of generated traces, compared with their ground truth.

use std::path::Path;

use contexts::result::ContextProfile;
use contexts::{Options, analyze_contexts};
use message_trace::DataDir;
use request_flow::tables::{ColumnSelection, RequestTables};
use synth::operations::{OperationsConfig, make_operations};

const SHOP: &str = r#"
[operations]
seed = 3
requests = 4000
executions = 60000
operations = 40
caller_contexts = 60
stack_contexts = 75
trace_contexts = 300
entries = 4
own = "200us"
spread = 1.0
noise = 0.3
by_caller = 0.6
by_stack = 0.4
by_trace = 0.8
"#;

#[test]
fn every_trace_context_has_its_generated_mean_and_deviation() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let config = OperationsConfig::parse(Path::new("shop"), SHOP).unwrap().unwrap();
    let made = make_operations(&config, &data, &()).unwrap();
    assert_eq!((made.requests, made.executions), (4_000, 60_000));
    let tables = RequestTables::open(
        data.requests_path(),
        data.steps_path(),
        ColumnSelection { hosts: true, ..ColumnSelection::default() },
    )
    .unwrap();
    let profile =
        analyze_contexts(&tables, &Options::default(), directory.path(), &()).unwrap().profile;
    let contexts = profile.totals.contexts;
    assert_eq!((profile.totals.requests, profile.totals.steps), (4_000, 60_000));
    assert_eq!(profile.totals.classes, made.classes);
    assert_eq!(
        (profile.totals.operations, contexts.caller, contexts.stack, contexts.trace),
        (40, 60, 75, 300)
    );
    let mut compared = 0;
    for operation in &profile.operations {
        for caller in &operation.contexts {
            let traces = caller.all_contexts().filter(|context| context.class.is_some());
            for context in traces {
                let place = (context.class.unwrap() as usize, context.step.unwrap() as usize);
                let truth = made.truth.iter().find(|truth| (truth.class, truth.step) == place);
                let truth = truth.unwrap();
                assert_eq!(
                    (&truth.operation, &truth.caller),
                    (&operation.names.operation, &caller.name)
                );
                is_as_generated(context, truth.count, truth.mean, truth.deviation);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 300);
}

/// Checks that mean and deviation are within five standard errors; the standard error of a
/// deviation assumes a kurtosis of 5.
fn is_as_generated(context: &ContextProfile, count: u64, mean: f64, deviation: f64) {
    let times = context.summary.times.as_ref().unwrap();
    assert_eq!(context.summary.count, count);
    let of = count as f64;
    assert!((times.mean - mean).abs() <= 5.0 * deviation / of.sqrt() + 100.0, "{context:?} {mean}");
    if count > 30 {
        let apart = (times.deviation - deviation).abs();
        assert!(apart <= 5.0 * deviation / of.sqrt(), "{context:?} {deviation}");
        assert_eq!(times.modes, Some(1), "{context:?}");
    }
}
