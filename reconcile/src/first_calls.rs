//! The first calls of chosen sockets, for questions that are asked before connections are known: which of several
//! connections that look alike is which. It reads the logs once more, and only where there is such a question.

use message_trace::Progress;
use message_trace::parallel;
use rustc_hash::FxHashMap;

use crate::calls::Transfer;
use crate::capture::Capture;
use crate::error::Error;
use crate::second_reading::{Call, SecondReading};
use crate::socket::Sockets;
use crate::streams;

/// The sends and the receives that one socket began with, in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beginning {
    pub(crate) ways: [Vec<Transfer>; 2],
    /// Whether the log has forgotten calls of it.
    forgotten: bool,
}

/// The first calls of the chosen sockets.
#[derive(Debug, Default)]
pub(crate) struct FirstCalls {
    of: FxHashMap<u32, Beginning>,
    /// At most so many calls of each direction are known.
    limit: usize,
}

/// How many bytes of calls may be held.
const MEMORY: usize = 64 << 20;
/// At least so many calls of each direction are held, however many sockets there are.
const FEWEST: usize = 8;
/// At most so many.
const MOST: usize = 4096;

impl FirstCalls {
    /// Reads them for the sockets of `chosen`.
    pub(crate) fn read(
        capture: &Capture,
        sockets: &Sockets,
        chosen: &[u32],
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<FirstCalls, Error> {
        let mut this = FirstCalls { of: FxHashMap::default(), limit: MOST };
        if chosen.is_empty() {
            return Ok(this);
        }
        this.limit = (MEMORY / (2 * size_of::<Transfer>() * chosen.len())).clamp(FEWEST, MOST);
        this.of = chosen.iter().map(|socket| (*socket, Beginning::default())).collect();
        progress.step("comparing connections", capture.logs.len() as u64);
        let (all, limit) = (std::mem::take(&mut this.of), this.limit);
        let wanted = &all;
        let mut of_logs: Vec<FxHashMap<u32, Beginning>> = Vec::new();
        parallel::in_order(
            threads,
            capture.logs.len(),
            |log| {
                Ok::<_, Error>(beginnings(
                    &SecondReading::of(capture, sockets, log),
                    log as u32,
                    wanted,
                    limit,
                ))
            },
            |_, found| {
                progress.advance(1);
                of_logs.push(found);
                Ok(())
            },
        )?;
        this.of = all;
        for (socket, beginning) in of_logs.into_iter().flatten() {
            let Some(of_socket) = this.of.get_mut(&socket) else { continue };
            of_socket.forgotten |= beginning.forgotten;
            for (way, more) in of_socket.ways.iter_mut().zip(beginning.ways) {
                way.extend(more);
                way.sort_by_key(|call| call.time);
                way.truncate(limit);
            }
        }
        Ok(this)
    }

    /// The first calls of `socket`.
    pub(crate) fn of(&self, socket: u32) -> Option<&Beginning> {
        self.of.get(&socket)
    }

    /// Whether the calls of the two, as far as they are known, can be those of the two ends of one connection: at no
    /// time had one received more than the other had sent. Their times are of one clock, up to `slack` nanoseconds.
    pub(crate) fn possible(&self, one: u32, other: u32, slack: i64) -> bool {
        let (Some(one), Some(other)) = (self.of(one), self.of(other)) else { return true };
        if one.forgotten || other.forgotten {
            return true;
        }
        let way = |from: &Beginning, to: &Beginning| {
            let (sends, mut receives) = (from.ways[0].as_slice(), to.ways[1].as_slice());
            if let Some(last) = sends.last().filter(|_| sends.len() >= self.limit) {
                // What was sent after the last known send is not known.
                let known = receives.partition_point(|call| call.time.saturating_add(slack) < last.time);
                receives = receives.get(..known).unwrap_or(receives);
            }
            streams::possible(sends, receives, slack)
        };
        way(one, other) && way(other, one)
    }
}

fn beginnings(
    log: &SecondReading,
    process: u32,
    wanted: &FxHashMap<u32, Beginning>,
    limit: usize,
) -> FxHashMap<u32, Beginning> {
    let mut found: FxHashMap<u32, Beginning> = FxHashMap::default();
    log.for_each(|call| {
        let call = match call {
            Call::Transfer(call) => call,
            Call::Forgotten { socket, .. } if wanted.contains_key(&socket) => {
                found.entry(socket).or_default().forgotten = true;
                return;
            }
            _ => return,
        };
        if !wanted.contains_key(&call.socket) {
            return;
        }
        let way = &mut found.entry(call.socket).or_default().ways[usize::from(!call.sent)];
        if way.len() < limit {
            way.push(Transfer { time: call.time, bytes: u64::from(call.bytes), process, tid: call.tid });
        }
    });
    found
}
