//! The profile of contexts for a page. Pages are often written repeatedly from the same requests,
//! so a profile that takes long to make is kept in the data directory.

use std::time::SystemTime;

use contexts::collect::CollectedContexts;
use contexts::identity::OperationIdentity;
use contexts::result::Profile;
use message_trace::{DataDir, DataPath, json};
use out_of_core::MemoryBudget;
use request_flow::tables::{ColumnSelection, RequestTables};
use serde::{Deserialize, Serialize};

use crate::error::CommandError;
use crate::progress::TerminalProgress;
use crate::tuning::RESPONSE_TIMES_IN_MEMORY_BYTES;

/// A profile, with the version and the tables that it was made from.
#[derive(Serialize, Deserialize)]
struct KeptProfile<P> {
    version: String,
    /// The tables of requests and of steps.
    made_of: [TableStamp; 2],
    profile: P,
}

/// The state of a file. The tables of a single import are as old as the import, so a newer file was
/// not necessarily made later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TableStamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl TableStamp {
    fn from_path(path: &DataPath) -> TableStamp {
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        TableStamp { bytes, modified: DataDir::modified_time(path) }
    }
}

/// The profile of the requests of `data`: the kept one, if nothing has changed since. A profile of
/// `min_kept` steps or more is kept, if the directory is writable.
///
/// # Errors
/// When the tables of requests cannot be read.
pub(super) fn profile_of_page(data: &DataDir, min_kept: u64) -> Result<Profile, CommandError> {
    let version = env!("CARGO_PKG_VERSION");
    let made_of =
        [data.requests_path(), data.steps_path()].map(|table| TableStamp::from_path(&table));
    if let Ok(kept) = json::read_json::<KeptProfile<Profile>>(&data.contexts_path())
        && kept.version == version
        && kept.made_of == made_of
    {
        return Ok(kept.profile);
    }
    let tables = RequestTables::open(
        data.requests_path(),
        data.steps_path(),
        ColumnSelection {
            hosts: true,
            sizes: data.own_events_path().is_file(),
            ..ColumnSelection::default()
        },
    )?;
    let budget = MemoryBudget::new(RESPONSE_TIMES_IN_MEMORY_BYTES);
    let progress = TerminalProgress::new();
    let collected = CollectedContexts::read_requests(
        &tables,
        (OperationIdentity::Operation, None),
        &budget,
        data.path(),
        &progress,
    )?;
    let profile = contexts::profile::profile_contexts(&collected, &budget, &progress)?.profile;
    if profile.totals.steps >= min_kept {
        let kept = KeptProfile { version: version.to_owned(), made_of, profile: &profile };
        // If the file cannot be written, nothing is lost: it is made again.
        let _ = json::write_compact_json(data.contexts_path(), &kept);
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use request_flow::tables::RequestWriter;
    use request_flow::{NameInterner, Request, Step};

    use super::*;

    /// Writes tables of `requests` requests with one step each. The last request takes longest.
    fn write_tables(data: &DataDir, requests: i64) {
        let mut names = NameInterner::default();
        let (node, get) = (names.intern("redis"), names.intern("GET"));
        let mut writer = RequestWriter::create(data.requests_path(), data.steps_path()).unwrap();
        for at in 0..requests {
            let mut request = Request { probability: 1.0, ..Request::default() };
            let (begin, end) = (Some(100 * at), Some(101 * at + 7));
            request.push_step(Step { begin, end, ..Step::new(node, get) }, []);
            writer.push_request(request, &names).unwrap();
        }
        writer.finish(&names).unwrap();
    }

    #[test]
    fn a_profile_is_kept_until_requests_change() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        write_tables(&data, 50);
        let made = profile_of_page(&data, 50).unwrap();
        assert_eq!(made.totals.requests, 50);
        assert_eq!(profile_of_page(&data, 50).unwrap(), made, "what is kept is what was made");
        // The kept profile is read and not made again.
        let text = fs::read_to_string(data.contexts_path()).unwrap();
        assert!(text.contains("\"requests\":50,"), "{text}");
        fs::write(data.contexts_path(), text.replace("\"requests\":50,", "\"requests\":51,"))
            .unwrap();
        assert_eq!(profile_of_page(&data, 50).unwrap().totals.requests, 51);
        // A profile of another version may have another meaning.
        let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
        fs::write(data.contexts_path(), text.replace(&version, "\"version\":\"0.0.0\"")).unwrap();
        assert_eq!(profile_of_page(&data, 50).unwrap(), made);
        write_tables(&data, 60);
        assert_eq!(profile_of_page(&data, 50).unwrap().totals.requests, 60);
        fs::write(data.contexts_path(), "damaged").unwrap();
        assert_eq!(profile_of_page(&data, 50).unwrap().totals.requests, 60);
    }

    #[test]
    fn a_small_profile_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        write_tables(&data, 50);
        assert_eq!(profile_of_page(&data, 51).unwrap().totals.steps, 50);
        assert!(!data.contexts_path().exists());
    }
}
