//! The data of the HTML page, out of a data directory: the report with the instances of its
//! patterns, read piece by piece, the contexts of its requests, and what they cost.

mod contexts;
mod profile;
mod workload;

use analyze::paths::{LeftInstances, PathFilter};
use analyze::{AnalysisSummary, OneSided};
use message_trace::table::columns::Columns;
use message_trace::{DataDir, table};
use reconcile::Reconciliation;
use report::page::{Instances, Page, PageBuilder};
use report::{Options, Report};

use crate::arguments::Inference;
use crate::error::Error;
use crate::shown::Shown;

/// The page of `report` with the instances that `filter` leaves. Instances that the page has no
/// room for go to `all`, if it is given. `inference` is what the last analysis was asked for with.
pub(crate) fn read(
    shown: &Shown,
    inference: &Inference,
    report: &Report<'_>,
    options: &Options,
    filter: &PathFilter,
    mut all: Option<&mut Instances>,
) -> Result<Page, Error> {
    let data = &shown.data;
    let mut builder = PageBuilder::new(report, options);
    builder.one_sided(&one_sided(data)?);
    if let Some(contexts) = contexts::of(shown, inference, all.is_some())? {
        builder.contexts(contexts);
        // Where there are contexts, there are requests.
        if let Some(workload) = workload::of(shown)? {
            builder.workload(workload);
        }
    }
    let instances = LeftInstances::open(data, filter)?;
    for piece in 0..instances.pieces() {
        instances.read(piece, |instance| {
            builder.add(instance);
            if let (Some(all), Some(rank)) = (&mut all, builder.rank(instance.which.pattern)) {
                all.add(rank, instance);
            }
            Ok(())
        })?;
    }
    builder.finish().map_err(|error| Error::Output(error.into()))
}

/// The nodes whose messages were seen at one end only. If reconcile saw both ends of all messages,
/// no table is read. Of spans many have one end, and nothing was lost.
fn one_sided(data: &DataDir) -> Result<Vec<OneSided>, Error> {
    if data.causes().exists() {
        return Ok(Vec::new());
    }
    if Reconciliation::read(data)
        .is_ok_and(|found| found.send_only.is_empty() && found.receive_only.is_empty())
    {
        return Ok(Vec::new());
    }
    Ok(analyze::one_sided(data, &AnalysisSummary::read(data.analysis())?.options)?)
}

/// The time of the first event of the trace, whose messages are in the order of time.
pub(crate) fn begin(data: &DataDir) -> Result<Option<i64>, Error> {
    let path = data.messages();
    for batch in table::read_columns(&path, &["send_ts", "recv_ts"])? {
        let batch = batch?;
        let columns = Columns::new(&path, &batch);
        let (sent, received) = (columns.int64("send_ts")?, columns.int64("recv_ts")?);
        if let Some((sent, received)) = sent.into_iter().zip(received).next() {
            return Ok(sent.or(received));
        }
    }
    Ok(None)
}
