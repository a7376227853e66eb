//! The table of instrumentations, as plotted in Figures 8 to 10. The full instrumentation is first
//! and has no number.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use message_trace::PathError;
use message_trace::table::columns::{
    build_batch as batch_of, build_schema, float64_array, int64_array, nullable_field,
    required_field,
};

use crate::instrumentation::{InstrumentationPoint, InstrumentationResults};

fn table_columns() -> SchemaRef {
    let counts = [
        "monitoring_points",
        "executions",
        "traces",
        "classes",
        "caller_contexts",
        "stack_contexts",
        "trace_contexts",
    ];
    let shares = ["deviation", "caller_decrease", "stack_decrease", "trace_decrease"];
    let number = std::iter::once(nullable_field("number", DataType::Int64));
    build_schema(
        number
            .chain(counts.map(|name| required_field(name, DataType::Int64)))
            .chain(shares.map(|name| required_field(name, DataType::Float64))),
    )
}

/// All instrumentations as a table. Errors refer to the table as `name`.
///
/// # Errors
/// If the columns do not fit the schema, which would be a bug in this function.
pub fn instrumentation_batch(
    instrumented: &InstrumentationResults,
    name: &Path,
) -> Result<RecordBatch, PathError> {
    let full = std::iter::once((None, &instrumented.full));
    let random = instrumented.random.iter().map(|one| (Some(one.number as i64), one));
    let all: Vec<(Option<i64>, &InstrumentationPoint)> = full.chain(random).collect();
    let count = |of: fn(&InstrumentationPoint) -> u64| {
        int64_array(all.iter().map(move |(_, one)| Some(of(one) as i64)))
    };
    let share = |of: fn(&InstrumentationPoint) -> f64| {
        float64_array(all.iter().map(move |(_, one)| Some(of(one))))
    };
    let columns_of = vec![
        int64_array(all.iter().map(|(number, _)| *number)),
        count(|one| one.monitoring_points),
        count(|one| one.executions),
        count(|one| one.traces),
        count(|one| one.classes),
        count(|one| one.contexts.caller),
        count(|one| one.contexts.stack),
        count(|one| one.contexts.trace),
        share(|one| one.deviation),
        share(|one| one.decrease.caller),
        share(|one| one.decrease.stack),
        share(|one| one.decrease.trace),
    ];
    batch_of(name, &table_columns(), columns_of)
}
