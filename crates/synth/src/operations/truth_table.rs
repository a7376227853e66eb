//! The truth about traces of operations: one row for each trace-context.

use std::fs::File;
use std::path::Path;

use crate::error::Error;

/// A trace-context, and the duration of its executions.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextTruth {
    /// Number of the context's class: the most frequent one is 0; of equally frequent ones, the
    /// earlier comes first.
    pub class: usize,
    /// Number of the step in the class, in depth-first order.
    pub step: usize,
    /// The node.
    pub node: String,
    /// The operation.
    pub operation: String,
    /// Caller of the operation: the node and operation, or `$`.
    pub caller: String,
    /// Number of executions.
    pub count: u64,
    /// Mean response time that the executions were generated with, in nanoseconds.
    pub mean: f64,
    /// Standard deviation that the executions were generated with, in nanoseconds.
    pub deviation: f64,
}

/// Writes the truth to `path`, as CSV.
///
/// # Errors
/// When the file cannot be written.
pub fn write_truth(contexts: &[ContextTruth], path: &Path) -> Result<(), Error> {
    let file = File::create(path).map_err(|error| Error::io(path, error))?;
    let write = || -> csv::Result<()> {
        let mut writer = csv::Writer::from_writer(file);
        let header = ["class", "step", "node", "operation", "caller", "count", "mean", "deviation"];
        writer.write_record(header)?;
        for context in contexts {
            let ContextTruth { class, step, node, operation, caller, count, mean, deviation } =
                context;
            writer.write_record([
                class.to_string(),
                step.to_string(),
                node.clone(),
                operation.clone(),
                caller.clone(),
                count.to_string(),
                format!("{mean:.1}"),
                format!("{deviation:.1}"),
            ])?;
        }
        Ok(writer.flush()?)
    };
    write().map_err(|error| Error::io(path, error.into()))
}
