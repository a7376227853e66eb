//! A row for each request.

use std::io::Write;
use std::path::Path;

use message_trace::table::export::{TableFormat, export_batches};
use out_of_core::{NameInterner, PathError};
use workload::analysis::{RequestTableRow, WorkloadReport, rows_table};

use super::request_input::RequestInput;
use crate::error::CommandError;

/// Number of rows in memory at a time.
const BATCH_ROWS: usize = 1 << 16;

/// Writes a row for each request, with its cluster. The requests are read a second time.
pub(super) fn write_request_rows(
    given: &RequestInput,
    answer: &WorkloadReport,
    names: &mut NameInterner,
    format: TableFormat,
    path: Option<&Path>,
    out: &mut (impl Write + Send),
) -> Result<(), CommandError> {
    let name = path.unwrap_or(Path::new("standard output"));
    let members = &answer.model.members;
    let mut rows = Vec::new();
    let mut batches = Vec::new();
    given.request_source().for_each(names, &mut |found, names| {
        let place = members.binary_search_by_key(&found.facts.number, |member| member.request);
        let member = place.ok().and_then(|place| members.get(place));
        rows.push(RequestTableRow::from_source(found, names, member.copied()));
        if rows.len() == BATCH_ROWS {
            batches.push(rows_table(&rows, name)?);
            rows.clear();
        }
        Ok::<bool, PathError>(true)
    })?;
    batches.push(rows_table(&rows, name)?);
    let schema = rows_table(&[], name)?.schema();
    Ok(export_batches(schema, batches.into_iter().map(Ok), format, out, name)?)
}
