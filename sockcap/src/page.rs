//! The data of the HTML page, from a data directory: the report with the instances of its patterns,
//! read batch by batch, the contexts of its requests, and their costs.

mod contexts;
mod profile;
mod workload;

use analyze::paths::{FilteredInstances, PathFilter};
use analyze::{AnalysisSummary, OneSided};
use message_trace::table::columns::BatchColumns;
use message_trace::{DataDir, table};
use reconcile::Reconciliation;
use report::page::{InstanceStore, PageBuilder, PageData};
use report::{Options, Report};

use crate::arguments::InferenceArguments;
use crate::error::CommandError;
use crate::shown::ShownData;

/// The page of `report` with the instances that match `filter`. If `all` is given, all instances of
/// the page's patterns are added to it, including those that the page has no room for. `inference`
/// has the options of the last analysis.
pub(crate) fn read_page(
    shown: &ShownData,
    inference: &InferenceArguments,
    report: &Report<'_>,
    options: &Options,
    filter: &PathFilter,
    mut all: Option<&mut InstanceStore>,
) -> Result<PageData, CommandError> {
    let data = &shown.data;
    let mut builder = PageBuilder::new(report, options);
    builder.set_one_sided(&one_sided_counts(data)?);
    if let Some(contexts) = contexts::contexts_of_page(shown, inference, all.is_some())? {
        builder.set_contexts(contexts);
        // If there are contexts, there are requests.
        if let Some(workload) = workload::workload_of_page(shown)? {
            builder.set_workload(workload);
        }
    }
    let instances = FilteredInstances::open(data, filter)?;
    for piece in 0..instances.group_count() {
        instances.read_group(piece, |instance| {
            builder.add_instance(instance);
            if let (Some(all), Some(rank)) =
                (&mut all, builder.rank_of_pattern(instance.which.pattern))
            {
                all.add_instance(rank, instance);
            }
            Ok(())
        })?;
    }
    builder.finish().map_err(|error| CommandError::Output(error.into()))
}

/// The nodes with messages that were seen at one end only. If reconcile saw both ends of all
/// messages, no table is read. Many spans have one end, although nothing was lost.
fn one_sided_counts(data: &DataDir) -> Result<Vec<OneSided>, CommandError> {
    if data.causes_path().exists() {
        return Ok(Vec::new());
    }
    if Reconciliation::read(data)
        .is_ok_and(|found| found.send_only.is_empty() && found.receive_only.is_empty())
    {
        return Ok(Vec::new());
    }
    Ok(analyze::one_sided(data, &AnalysisSummary::read(data.analysis_path())?.options)?)
}

/// The time of the first event of the trace; messages are in the order of time.
pub(crate) fn first_event_time(data: &DataDir) -> Result<Option<i64>, CommandError> {
    let path = data.messages_path();
    for batch in table::read_columns(&path, &["send_ts", "recv_ts"])? {
        let batch = batch?;
        let columns = BatchColumns::new(&path, &batch);
        let (sent, received) = (columns.int64_column("send_ts")?, columns.int64_column("recv_ts")?);
        if let Some((sent, received)) = sent.into_iter().zip(received).next() {
            return Ok(sent.or(received));
        }
    }
    Ok(None)
}
