//! The table of contexts: a row for each node of the calling-context tree except its root, parents
//! first. `docs/contexts.md` explains the columns.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use message_trace::PathError;
use message_trace::table::columns::{
    build_batch as batch_of, build_schema, dictionary_array, dictionary_type, float64_array,
    int64_array, nullable_field, required_field, string_array,
};

use crate::analysis::ContextAnalysis;
use crate::equivalence::ContextLevel;
use crate::result::{ContextProfile, ContextSummary, OperationProfile, ResponseTimes};

/// A row of the table.
struct ContextRow<'a> {
    id: u32,
    parent: u32,
    level: ContextLevel,
    operation: &'a OperationProfile,
    caller: Option<&'a str>,
    stack: Option<&'a str>,
    context: Option<&'a ContextProfile>,
    summary: &'a ContextSummary,
    decrease: [Option<f64>; 3],
    leaf: Option<u32>,
}

fn table_columns() -> SchemaRef {
    build_schema([
        required_field("id", DataType::Int64),
        required_field("parent", DataType::Int64),
        required_field("level", dictionary_type()),
        nullable_field("host", dictionary_type()),
        nullable_field("node", dictionary_type()),
        nullable_field("operation", dictionary_type()),
        nullable_field("caller", dictionary_type()),
        nullable_field("stack", DataType::Utf8),
        nullable_field("class", DataType::Int64),
        nullable_field("step", DataType::Int64),
        required_field("count", DataType::Int64),
        required_field("expected", DataType::Float64),
        required_field("timed", DataType::Int64),
        required_field("failed", DataType::Int64),
        required_field("outliving", DataType::Int64),
        nullable_field("mean", DataType::Float64),
        nullable_field("deviation", DataType::Float64),
        nullable_field("min", DataType::Int64),
        nullable_field("q1", DataType::Float64),
        nullable_field("median", DataType::Float64),
        nullable_field("q3", DataType::Float64),
        nullable_field("max", DataType::Int64),
        nullable_field("modes", DataType::Int64),
        nullable_field("caller_decrease", DataType::Float64),
        nullable_field("stack_decrease", DataType::Float64),
        nullable_field("trace_decrease", DataType::Float64),
        nullable_field("leaf", DataType::Int64),
    ])
}

/// All contexts as a table. Errors refer to the table as `name`.
///
/// # Errors
/// If the columns do not fit the schema, which would be a bug in this function.
pub fn context_batch(analysis: &ContextAnalysis, name: &Path) -> Result<RecordBatch, PathError> {
    let rows = context_rows(analysis);
    let all = || rows.iter();
    let number =
        |of: fn(&ContextRow<'_>) -> u64| int64_array(all().map(move |row| Some(of(row) as i64)));
    let names = |of: for<'r> fn(&ContextRow<'r>) -> &'r str| {
        dictionary_array(all().map(move |row| Some(of(row)).filter(|name| !name.is_empty())))
    };
    let of_times = |of: fn(&ResponseTimes) -> f64| {
        float64_array(all().map(move |row| row.summary.times.as_ref().map(of)))
    };
    let decrease = |place: usize| float64_array(all().map(move |row| row.decrease[place]));
    let of_context = |of: fn(&ContextProfile) -> Option<u32>| {
        int64_array(all().map(move |row| row.context.and_then(of).map(i64::from)))
    };
    let whole = |of: fn(&ResponseTimes) -> Option<i64>| {
        int64_array(all().map(move |row| row.summary.times.as_ref().and_then(of)))
    };
    let columns_of = vec![
        number(|row| row.id.into()),
        number(|row| row.parent.into()),
        dictionary_array(all().map(|row| Some(row.level.to_string()))),
        names(|row| &row.operation.names.host),
        names(|row| &row.operation.names.node),
        names(|row| &row.operation.names.operation),
        dictionary_array(all().map(|row| row.caller)),
        string_array(all().map(|row| row.stack)),
        of_context(|context| context.class),
        of_context(|context| context.step),
        number(|row| row.summary.count),
        float64_array(all().map(|row| Some(row.summary.expected))),
        number(|row| row.summary.timed),
        number(|row| row.summary.failed),
        number(|row| row.summary.outliving),
        of_times(|times| times.mean),
        of_times(|times| times.deviation),
        whole(|times| Some(times.min)),
        of_times(|times| times.q1),
        of_times(|times| times.median),
        of_times(|times| times.q3),
        whole(|times| Some(times.max)),
        whole(|times| times.modes.map(i64::from)),
        decrease(0),
        decrease(1),
        decrease(2),
        int64_array(all().map(|row| row.leaf.map(i64::from))),
    ];
    batch_of(name, &table_columns(), columns_of)
}

fn context_rows(analysis: &ContextAnalysis) -> Vec<ContextRow<'_>> {
    let mut rows = Vec::new();
    let leaf = |id: u32| analysis.model.leaf_of.get(id as usize).copied().flatten();
    for operation in &analysis.profile.operations {
        let decrease = operation.decrease;
        let own = ContextRow {
            id: operation.id,
            parent: 0,
            level: ContextLevel::Operation,
            operation,
            caller: None,
            stack: None,
            context: None,
            summary: &operation.summary,
            decrease: ContextLevel::CONTEXTS.map(|level| Some(decrease.get(level).share)),
            leaf: leaf(operation.id),
        };
        rows.push(own);
        for caller in &operation.contexts {
            add_rows(operation, operation.id, caller, [Some(&caller.name), None], &leaf, &mut rows);
        }
    }
    rows
}

/// Adds the rows of a context and its subcontexts. `caller` and `stack` are the names of the
/// enclosing contexts.
fn add_rows<'a>(
    operation: &'a OperationProfile,
    parent: u32,
    context: &'a ContextProfile,
    [caller, stack]: [Option<&'a str>; 2],
    leaf: &impl Fn(u32) -> Option<u32>,
    rows: &mut Vec<ContextRow<'a>>,
) {
    let stack =
        if context.level == ContextLevel::Stack { Some(context.name.as_str()) } else { stack };
    rows.push(ContextRow {
        id: context.id,
        parent,
        level: context.level,
        operation,
        caller,
        stack,
        context: Some(context),
        summary: &context.summary,
        decrease: ContextLevel::CONTEXTS.map(|level| *context.decrease.get(level)),
        leaf: leaf(context.id),
    });
    for inner in &context.contexts {
        add_rows(operation, context.id, inner, [caller, stack], leaf, rows);
    }
}
