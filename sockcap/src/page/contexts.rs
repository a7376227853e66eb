//! The contexts of a page: the profile of the requests, where the directory has them.

use contexts::collect::Collected;
use contexts::identity::By;
use message_trace::DataDir;
use out_of_core::MemoryBudget;
use report::page::{MoreByCommand, PageContexts};
use request_flow::tables::{Columns, RequestTables};

use crate::error::Error;
use crate::progress::Terminal;
use crate::tuning::RESPONSE_TIMES_IN_MEMORY_BYTES;
use crate::words::same_directory;

/// The contexts of the requests of `data`; `None` where there are no requests, or only some of an
/// analysis before the last. A page that is served has all instances itself.
///
/// # Errors
/// When the tables of requests cannot be read.
pub(super) fn of(data: &DataDir, is_served: bool) -> Result<Option<PageContexts>, Error> {
    if !are_current(data) {
        return Ok(None);
    }
    let tables = RequestTables::open(&data.requests(), &data.steps(), Columns::default())?;
    let budget = MemoryBudget::new(RESPONSE_TIMES_IN_MEMORY_BYTES);
    let progress = Terminal::new();
    let collected = Collected::read(&tables, By::Operation, &budget, data.path(), &progress)?;
    let profile = contexts::profile::profile(&collected, &budget, &progress)?.profile;
    let directory = same_directory(data);
    let more = MoreByCommand {
        contexts: format!("sockcap contexts{directory}"),
        instances: (!is_served).then(|| format!("sockcap view{directory}")),
        steps: format!("sockcap export steps{directory}"),
    };
    Ok(Some(PageContexts::of(&profile, more)))
}

/// Whether there are requests of the paths that are there now. Those of spans are what paths are
/// made of, and so are older.
fn are_current(data: &DataDir) -> bool {
    let analysis = DataDir::written(&data.analysis());
    let is_of_spans = data.causes().exists();
    [data.requests(), data.steps()].iter().all(|table| {
        DataDir::written(table)
            .is_some_and(|written| is_of_spans || analysis.is_none_or(|than| written > than))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    #[test]
    fn requests_of_an_analysis_before_the_last_have_no_contexts() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let written = |path: &std::path::Path, seconds| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::create(path).unwrap().set_modified(time).unwrap();
        };
        assert!(!are_current(&data));
        assert!(of(&data, true).unwrap().is_none());
        written(&data.requests(), 20);
        written(&data.analysis(), 10);
        assert!(!are_current(&data), "there are no steps");
        written(&data.steps(), 20);
        assert!(are_current(&data));
        written(&data.analysis(), 30);
        assert!(!are_current(&data));
        // What paths of spans are made of is older than they are.
        fs::write(data.causes(), "").unwrap();
        assert!(are_current(&data));
        assert!(of(&data, true).is_err(), "they are no tables");
    }
}
