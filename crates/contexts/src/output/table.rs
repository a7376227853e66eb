//! The table of contexts: a row for each node of the calling-context tree but its root, parents
//! first. `docs/contexts.md` says what each column means.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use message_trace::PathError;
use message_trace::table::columns::{
    batch as batch_of, dictionary, float64, int64, nullable, required, schema, text, texts,
};

use crate::analysis::Analysis;
use crate::equivalence::Level;
use crate::result::{ContextProfile, OperationProfile, Summary, Times};

/// A row of the table.
struct Row<'a> {
    id: u32,
    parent: u32,
    level: Level,
    operation: &'a OperationProfile,
    caller: Option<&'a str>,
    stack: Option<&'a str>,
    context: Option<&'a ContextProfile>,
    summary: &'a Summary,
    decrease: [Option<f64>; 3],
    leaf: Option<u32>,
}

fn columns() -> SchemaRef {
    schema([
        required("id", DataType::Int64),
        required("parent", DataType::Int64),
        required("level", dictionary()),
        nullable("host", dictionary()),
        nullable("node", dictionary()),
        nullable("operation", dictionary()),
        nullable("caller", dictionary()),
        nullable("stack", DataType::Utf8),
        nullable("class", DataType::Int64),
        nullable("step", DataType::Int64),
        required("count", DataType::Int64),
        required("expected", DataType::Float64),
        required("timed", DataType::Int64),
        required("failed", DataType::Int64),
        required("outliving", DataType::Int64),
        nullable("mean", DataType::Float64),
        nullable("deviation", DataType::Float64),
        nullable("min", DataType::Int64),
        nullable("q1", DataType::Float64),
        nullable("median", DataType::Float64),
        nullable("q3", DataType::Float64),
        nullable("max", DataType::Int64),
        nullable("modes", DataType::Int64),
        nullable("caller_decrease", DataType::Float64),
        nullable("stack_decrease", DataType::Float64),
        nullable("trace_decrease", DataType::Float64),
        nullable("leaf", DataType::Int64),
    ])
}

/// All contexts. Errors call the table `name`.
///
/// # Errors
/// When the columns do not fit, which would be a mistake here.
pub fn batch(analysis: &Analysis, name: &Path) -> Result<RecordBatch, PathError> {
    let rows = rows(analysis);
    let all = || rows.iter();
    let number = |of: fn(&Row<'_>) -> u64| int64(all().map(move |row| Some(of(row) as i64)));
    let names = |of: for<'r> fn(&Row<'r>) -> &'r str| {
        texts(all().map(move |row| Some(of(row)).filter(|name| !name.is_empty())))
    };
    let of_times =
        |of: fn(&Times) -> f64| float64(all().map(move |row| row.summary.times.as_ref().map(of)));
    let decrease = |place: usize| float64(all().map(move |row| row.decrease[place]));
    let of_context = |of: fn(&ContextProfile) -> Option<u32>| {
        int64(all().map(move |row| row.context.and_then(of).map(i64::from)))
    };
    let whole = |of: fn(&Times) -> Option<i64>| {
        int64(all().map(move |row| row.summary.times.as_ref().and_then(of)))
    };
    let columns_of = vec![
        number(|row| row.id.into()),
        number(|row| row.parent.into()),
        texts(all().map(|row| Some(row.level.to_string()))),
        names(|row| &row.operation.names.host),
        names(|row| &row.operation.names.node),
        names(|row| &row.operation.names.operation),
        texts(all().map(|row| row.caller)),
        text(all().map(|row| row.stack)),
        of_context(|context| context.class),
        of_context(|context| context.step),
        number(|row| row.summary.count),
        float64(all().map(|row| Some(row.summary.expected))),
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
        int64(all().map(|row| row.leaf.map(i64::from))),
    ];
    batch_of(name, &columns(), columns_of)
}

fn rows(analysis: &Analysis) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let leaf = |id: u32| analysis.model.leaf_of.get(id as usize).copied().flatten();
    for operation in &analysis.profile.operations {
        let decrease = operation.decrease;
        let own = Row {
            id: operation.id,
            parent: 0,
            level: Level::Operation,
            operation,
            caller: None,
            stack: None,
            context: None,
            summary: &operation.summary,
            decrease: Level::CONTEXTS.map(|level| Some(decrease.of(level).share)),
            leaf: leaf(operation.id),
        };
        rows.push(own);
        for caller in &operation.contexts {
            add(operation, operation.id, caller, [Some(&caller.name), None], &leaf, &mut rows);
        }
    }
    rows
}

fn add<'a>(
    operation: &'a OperationProfile,
    parent: u32,
    context: &'a ContextProfile,
    [caller, stack]: [Option<&'a str>; 2],
    leaf: &impl Fn(u32) -> Option<u32>,
    rows: &mut Vec<Row<'a>>,
) {
    let stack = if context.level == Level::Stack { Some(context.name.as_str()) } else { stack };
    rows.push(Row {
        id: context.id,
        parent,
        level: context.level,
        operation,
        caller,
        stack,
        context: Some(context),
        summary: &context.summary,
        decrease: Level::CONTEXTS.map(|level| *context.decrease.of(level)),
        leaf: leaf(context.id),
    });
    for inner in &context.contexts {
        add(operation, context.id, inner, [caller, stack], leaf, rows);
    }
}
