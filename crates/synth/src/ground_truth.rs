//! Truth about causes: a table of calls (`call_id,parent_call_id`) or of messages (`child,parent`,
//! rows of the trace), as CSV, plain or compressed with gzip or zstd, recognised by the first
//! bytes.
//!
//! A truth may contain more than the trace, as messages are lost. Effects of a lost call count to
//! the nearest call above it that is in the trace: no algorithm could find a better cause.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use analyze::calls::{Calls, CandidateParents, LikelyParents};
use analyze::infer::Links;
use message_trace::{MessageId, MessageTrace};
use rustc_hash::FxHashMap;

use crate::error::Error;

/// A truth read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroundTruth {
    /// The parent of each call, by ids; `None` for a root.
    Calls(FxHashMap<String, Option<String>>),
    /// The cause of each message, by rows of the trace; `None` for a spontaneous one.
    Messages(FxHashMap<u64, Option<u64>>),
}

/// True origin of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CallOrigin {
    /// The truth does not contain the call.
    #[default]
    Unknown,
    /// Root: it begins a path.
    Root,
    /// The call was made for the call with this number.
    Call(u32),
}

/// A truth about the calls of one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOrigins {
    /// The origin of each call, by its index.
    pub of: Vec<CallOrigin>,
    /// Number of rows of the truth with a call or message that is not in the trace.
    pub missing: u64,
    /// Number of calls with a true parent that is not in the trace, so that they count to a call
    /// above the parent.
    pub adopted: u64,
    /// Number of true traces of more than one call, including those that were not captured; `None`
    /// if the truth cannot contain such.
    pub traces: Option<u64>,
    /// For each call, whether it is the root of a complete trace, with no call missing.
    pub whole: Vec<bool>,
}

/// Columns of a truth about calls, and of one about messages.
const CALLS: [&str; 2] = ["call_id", "parent_call_id"];
const MESSAGES: [&str; 2] = ["child", "parent"];

impl GroundTruth {
    /// Reads the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a table of the ground truth.
    pub fn read(path: &Path) -> Result<GroundTruth, Error> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let bytes = open_unpacked(file).map_err(|error| Error::io(path, error))?;
        GroundTruth::parse_table(path, bytes)
    }

    fn parse_table(path: &Path, bytes: impl Read) -> Result<GroundTruth, Error> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(bytes);
        let header = reader.headers().map_err(|error| Error::malformed(path, error))?;
        let find = |names: [&str; 2]| {
            let place = |name: &str| header.iter().position(|column| column == name);
            place(names[0]).zip(place(names[1]))
        };
        let (calls, messages) = (find(CALLS), find(MESSAGES));
        let Some((child, parent)) = calls.or(messages) else {
            return Err(Error::malformed(
                path,
                "this is not a ground truth; its first line has to name the columns \
                 call_id,parent_call_id or child,parent",
            ));
        };
        let (mut truth, name) = match calls {
            Some(_) => (GroundTruth::Calls(FxHashMap::default()), CALLS[0]),
            None => (GroundTruth::Messages(FxHashMap::default()), MESSAGES[0]),
        };
        for row in reader.records() {
            let row = row.map_err(|error| Error::malformed(path, error))?;
            let line = row.position().map_or(0, csv::Position::line);
            let text = |column: usize| row.get(column).unwrap_or_default();
            let (child, parent) = (text(child), Some(text(parent)).filter(|text| !text.is_empty()));
            if child.trim().is_empty() {
                return Err(Error::malformed(path, format!("line {line}: '{name}' is empty")));
            }
            let new = match &mut truth {
                GroundTruth::Calls(parents) => {
                    parents.insert(child.to_owned(), parent.map(str::to_owned)).is_none()
                }
                GroundTruth::Messages(causes) => {
                    let number = |text: &str| {
                        let why =
                            || format!("line {line}: '{text}' is not the number of a message");
                        text.trim().parse::<u64>().map_err(|_| Error::malformed(path, why()))
                    };
                    causes.insert(number(child)?, parent.map(number).transpose()?).is_none()
                }
            };
            if !new {
                return Err(Error::malformed(
                    path,
                    format!("line {line}: '{child}' occurs a second time"),
                ));
            }
        }
        Ok(truth)
    }

    /// True origins of the calls of `trace`.
    pub fn origins_of_calls(&self, trace: &MessageTrace, calls: &Calls) -> CallOrigins {
        match self {
            GroundTruth::Calls(parents) => origins_by_calls(parents, trace, calls),
            GroundTruth::Messages(causes) => origins_by_messages(causes, trace, calls),
        }
    }
}

/// True origins of the calls of `trace` by a truth about calls; `parents` has the parent of each
/// call, `None` for a root. If the parent is not in the trace, the origin is the nearest call above
/// it that is.
fn origins_by_calls(
    parents: &FxHashMap<String, Option<String>>,
    trace: &MessageTrace,
    calls: &Calls,
) -> CallOrigins {
    let ids: Vec<_> = calls.iter().map(|call| calls.id(trace, call)).collect();
    let numbers: FxHashMap<&str, u32> =
        ids.iter().enumerate().map(|(call, id)| (id.as_ref(), call as u32)).collect();
    let mut origins =
        CallOrigins { of: vec![CallOrigin::Unknown; calls.len()], ..CallOrigins::default() };
    for (call, id) in ids.iter().enumerate() {
        let Some(mut parent) = parents.get(id.as_ref()) else { continue };
        // A cycle in the truth gives no parent.
        for steps in 0..=parents.len() {
            let Some(above) = parent else {
                origins.of[call] = CallOrigin::Root;
                break;
            };
            if let Some(number) = numbers.get(above.as_str()) {
                origins.of[call] = CallOrigin::Call(*number);
                origins.adopted += u64::from(steps > 0);
                break;
            }
            let Some(next) = parents.get(above) else { break };
            parent = next;
        }
    }
    let (traces, whole) = whole_traces(parents, &numbers);
    (origins.traces, origins.whole) = (Some(traces), whole);
    origins.missing = parents.keys().filter(|id| !numbers.contains_key(id.as_str())).count() as u64;
    origins
}

/// The number of true traces of more than one call, and for each call whether it is the root of a
/// complete trace; `parents` has the parent of each call of the truth, `numbers` the calls that are
/// in the trace.
fn whole_traces(
    parents: &FxHashMap<String, Option<String>>,
    numbers: &FxHashMap<&str, u32>,
) -> (u64, Vec<bool>) {
    // For each root, the number of calls and how many of them are missing.
    let mut traces: FxHashMap<&str, (u64, u64)> = FxHashMap::default();
    let mut roots: FxHashMap<&str, &str> = FxHashMap::default();
    let mut path: Vec<&str> = Vec::new();
    for id in parents.keys() {
        let mut at = id.as_str();
        // A cycle, or a chain that leads to a call unknown to the truth, is a trace of its own.
        let root = loop {
            if let Some(root) = roots.get(at) {
                break *root;
            }
            path.push(at);
            let parent = parents.get(at).and_then(Option::as_deref);
            match parent.filter(|_| path.len() <= parents.len()) {
                Some(above) => at = above,
                None => break at,
            }
        };
        for at in path.drain(..) {
            roots.insert(at, root);
        }
        // A root that occurs only as a parent is a call as well.
        let is_only_named = !parents.contains_key(root);
        let lost = is_only_named && !numbers.contains_key(root);
        let (calls, missing) =
            traces.entry(root).or_insert((u64::from(is_only_named), u64::from(lost)));
        *calls += 1;
        *missing += u64::from(!numbers.contains_key(id.as_str()));
    }
    let mut whole = vec![false; numbers.len()];
    for (root, (_, missing)) in &traces {
        if let Some(place) = numbers.get(root).and_then(|number| whole.get_mut(*number as usize)) {
            *place = *missing == 0;
        }
    }
    (traces.values().filter(|(calls, _)| *calls > 1).count() as u64, whole)
}

/// True origins of the calls of `trace` by a truth about messages, by the rules by which inferred
/// links give parents; `causes` has the cause of each message, `None` for a spontaneous one.
fn origins_by_messages(
    causes: &FxHashMap<u64, Option<u64>>,
    trace: &MessageTrace,
    calls: &Calls,
) -> CallOrigins {
    let mut links = Links::spontaneous_only(trace.len());
    let mut origins =
        CallOrigins { of: vec![CallOrigin::Unknown; calls.len()], ..CallOrigins::default() };
    for (child, parent) in causes {
        let id = |number: u64| {
            let row = usize::try_from(number).ok().filter(|row| *row < trace.len());
            row.map(MessageId::from_index)
        };
        match (id(*child), parent.and_then(id)) {
            (None, _) => origins.missing += 1,
            (Some(child), Some(parent)) => links.set_parents(child, &[(parent, 1.0)], 0.0),
            (Some(_), None) => {}
        }
    }
    let parents =
        LikelyParents::from_links(calls, &links, &CandidateParents::from_links(calls, &links));
    for (call, origin) in calls.iter().zip(&mut origins.of) {
        let request = calls.request(call);
        let known = request.is_some_and(|request| causes.contains_key(&(request.index() as u64)));
        if let Some(parent) = parents.of_call(call).filter(|_| known) {
            *origin =
                parent.call.map_or(CallOrigin::Root, |call| CallOrigin::Call(call.index() as u32));
        }
    }
    origins
}

/// Bytes of `file`, which may be compressed.
fn open_unpacked(file: File) -> io::Result<Box<dyn Read>> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut first = Vec::new();
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut first)?;
    let (gzip, zstd) = (first.starts_with(GZIP), first.starts_with(ZSTD));
    let whole = BufReader::new(io::Cursor::new(first).chain(file));
    Ok(if gzip {
        Box::new(flate2::bufread::MultiGzDecoder::new(whole))
    } else if zstd {
        Box::new(zstd::stream::read::Decoder::with_buffer(whole)?)
    } else {
        Box::new(whole)
    })
}

#[cfg(test)]
#[path = "truth_tests.rs"]
mod tests;
