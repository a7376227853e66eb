//! Pass 12: if logs have rare words (hashes of words that a process seldom sees in messages), each
//! one is joined with its message.

use std::io;

use message_trace::PathError;
use out_of_core::{ExternalSorter, MemoryBudget};
use socket_log::encode::Direction;
use socket_log::{LogRecord, SocketLog};
use tracing::info;

use crate::error::Error;
use crate::indices::{ProcessIndex, SocketIndex};
use crate::logs::capture::LogFile;
use crate::pipeline::connect::ConnectedCapture;
use crate::pipeline::run::PipelineRun;
use crate::rows::message_span::{LoggedWord, MessageSpan, place_of_call};
use crate::tuning::SORTED_AT_ONCE;
use crate::words::{MessageWord, join_words, write_table};

/// Sorter for the spans of all messages; `None` if no log has rare words.
pub(crate) fn span_sorter<'a>(
    run: &PipelineRun,
    connected: &ConnectedCapture,
    budget: &'a MemoryBudget,
) -> Option<ExternalSorter<'a, MessageSpan>> {
    let some = connected.capture.logs.iter().any(|log| log.rare_words);
    some.then(|| ExternalSorter::new(budget, run.data.path(), SORTED_AT_ONCE))
}

/// Writes `words.parquet`: the messages of `spans`, each with the rare words that logs recorded
/// with the calls that sent or received it. Without `spans` no log has rare words; then there is no
/// table, and a previous one is removed. `used` marks the connections that have messages.
pub(crate) fn write_words(
    run: &PipelineRun,
    connected: &ConnectedCapture,
    used: &[bool],
    spans: Option<ExternalSorter<MessageSpan>>,
    budget: &MemoryBudget,
) -> Result<(), Error> {
    let path = run.data.words_path();
    let Some(messages) = spans else {
        return match path.remove_file() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(PathError::io(&path, error).into())
            }
            _ => Ok(()),
        };
    };
    let logs = || connected.capture.logs.iter().enumerate().filter(|(_, log)| log.rare_words);
    run.progress.begin_step("writing words", logs().map(|(_, log)| log.records).sum());
    let mut all = ExternalSorter::new(budget, run.data.path(), SORTED_AT_ONCE);
    for (place, log) in logs() {
        read_words(connected, used, (ProcessIndex::from_index(place), log), &mut all)?;
        run.progress.advance_step(log.records);
    }
    let mut joined = ExternalSorter::<MessageWord>::new(budget, run.data.path(), SORTED_AT_ONCE);
    let alone = join_words(&messages.finish(), &all.finish(), &mut joined)?;
    let words = write_table(&path, &joined.finish())?;
    info!(words, alone, "words are written");
    Ok(())
}

/// Appends the rare words of a log to `all`. A log that cannot be opened any more has none.
fn read_words(
    connected: &ConnectedCapture,
    used: &[bool],
    (process, file): (ProcessIndex, &LogFile),
    all: &mut ExternalSorter<LoggedWord>,
) -> Result<(), Error> {
    let Ok(log) = SocketLog::open(&file.path) else { return Ok(()) };
    let places = connected.sockets.places_of_log(file);
    let mut clock = file.clock.cursor();
    let mut result = Ok(());
    for chunk in log.chunks() {
        // Size of the latest transfer or datagram, to which words belong.
        let mut bytes = 0;
        chunk.for_each(|entry| match entry.record {
            LogRecord::Transfer { bytes: moved, .. } | LogRecord::Datagram { bytes: moved, .. } => {
                bytes = moved;
            }
            LogRecord::RareWords { direction, flow, words } if result.is_ok() => {
                let call = (usize::from(direction == Direction::Receive), bytes);
                let Some(place) = places
                    .get(flow)
                    .and_then(|socket| locate_call(connected, used, socket, process, call))
                else {
                    return;
                };
                let time = clock.realtime(entry.ticks);
                result = words.as_slice().iter().try_for_each(|word| {
                    all.push(LoggedWord { place, time, word: u64::from(*word) })
                });
            }
            _ => {}
        });
    }
    Ok(result?)
}

/// The place of a call of `process` on a socket, in [`place_of_call`]; `None` if it has no message.
fn locate_call(
    connected: &ConnectedCapture,
    used: &[bool],
    socket: SocketIndex,
    process: ProcessIndex,
    (side, bytes): (usize, u64),
) -> Option<u64> {
    let ConnectedCapture { sockets, connections, partitions, .. } = connected;
    let protocol = sockets.all.get(socket.index())?.protocol;
    let connection = partitions.connection_of.get(socket.index()).and_then(|of| of.get());
    let direction = match connection.and_then(|of| connections.get(of.index())) {
        // A process that talks to itself has no messages.
        Some(_) if connection.and_then(|of| used.get(of.index())) == Some(&false) => return None,
        Some(ends) => usize::from(ends.accepting.get() == Some(socket)) ^ side,
        None => 0,
    };
    Some(place_of_call(protocol, connection.into(), direction, process.node(), (side, bytes)))
}
