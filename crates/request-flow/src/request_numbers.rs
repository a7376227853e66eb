//! Maps path instances to requests. The numbers of a path instance and of its request are often
//! equal, but need not be: requests are in the order of their begins and paths nearly so, and a
//! request with an uncertain step yields several paths: with the step, without it, and the step by
//! itself.

use message_trace::table::columns::BatchColumns;
use message_trace::table::read_columns;
use message_trace::{DataDir, PathError};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns those requests of `wanted` that were made from paths, by the number of the path.
///
/// # Errors
/// If the table of requests cannot be read.
pub fn requests_of_paths(
    data: &DataDir,
    wanted: &FxHashSet<i64>,
) -> Result<FxHashMap<i64, i64>, PathError> {
    let table = data.requests_path();
    let mut found = FxHashMap::default();
    for batch in read_columns(&table, &["request", "path"])? {
        let batch = batch?;
        let columns = BatchColumns::new(&table, &batch);
        let rows = columns.int64_column("request")?.into_iter().zip(columns.int64_column("path")?);
        let known = rows.filter_map(|(request, path)| Some((path?, request?)));
        found.extend(known.filter(|(_, request)| wanted.contains(request)));
    }
    Ok(found)
}

/// Returns the requests of `wanted`, from which the messages of `data` were made, by the numbers of
/// the messages of their roots: the first message of a path identifies its request.
///
/// # Errors
/// If one of the tables of requests and of messages cannot be read.
pub fn requests_of_messages(
    data: &DataDir,
    wanted: &FxHashSet<i64>,
) -> Result<FxHashMap<i64, i64>, PathError> {
    // The call id of a message is the number of its step, counted through all requests.
    let table = data.requests_path();
    let (mut of_root, mut step) = (FxHashMap::default(), 0_i64);
    for batch in read_columns(&table, &["request", "steps"])? {
        let batch = batch?;
        let columns = BatchColumns::new(&table, &batch);
        let rows = columns.int64_column("request")?.into_iter().zip(columns.int32_column("steps")?);
        for (request, steps) in rows {
            let request = columns.required_value("request", request)?;
            if wanted.contains(&request) {
                of_root.insert(step, request);
            }
            step += i64::from(columns.required_value("steps", steps)?);
        }
    }
    let (table, mut found) = (data.messages_path(), FxHashMap::default());
    for batch in read_columns(&table, &["id", "call_id"])? {
        let batch = batch?;
        let columns = BatchColumns::new(&table, &batch);
        let (calls, texts) = columns.numbered_texts("call_id")?;
        let request = |text: &&str| of_root.get(&text.parse().ok()?).copied();
        let requests: Vec<Option<i64>> = texts.iter().map(request).collect();
        for (message, call) in columns.int64_column("id")?.into_iter().zip(calls) {
            let request = call.and_then(|call| requests.get(call as usize).copied().flatten());
            found.extend(message.zip(request));
        }
    }
    Ok(found)
}
