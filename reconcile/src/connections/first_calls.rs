//! First calls of chosen sockets, needed before connections are known: they distinguish connections
//! with equal names. The logs are read once more for them, and only if names leave some pairs
//! undecided.

use message_trace::Progress;
use out_of_core::{MemoryPool, SpillableVec, workers};

use crate::calls::{StreamTransfer, TransferOrigin};
use crate::connections::causality_check::is_causally_possible;
use crate::error::Error;
use crate::event_pass::chosen_sockets::{ChosenMembers, ChosenSockets};
use crate::event_pass::log_pass::{EventPass, SocketCall};
use crate::indices::{ProcessIndex, SocketIndex};
use crate::logs::capture::Capture;
use crate::sockets::socket::KernelSockets;
use crate::tuning::{FIRST_CALLS_BYTES, MAX_FIRST_CALLS, MIN_FIRST_CALLS};

/// The first calls of the chosen sockets.
pub(crate) struct FirstCalls {
    /// The chosen sockets; `None` if no socket was chosen.
    chosen: Option<ChosenSockets>,
    /// Calls of each chosen socket: its sends and then its receives, each sorted by time.
    calls: SpillableVec<StreamTransfer>,
    /// End of the calls of each direction, by twice the socket's number. They begin at the end of
    /// the previous direction's.
    ends: SpillableVec<u64>,
    /// By the socket's number, whether records of its calls were overwritten.
    forgotten: SpillableVec<bool>,
    /// Maximum number of calls known of each direction.
    limit: usize,
}

impl FirstCalls {
    /// Reads the first calls of the sockets that are `wanted`, by index.
    pub(crate) fn read_calls(
        capture: &Capture,
        sockets: &KernelSockets,
        wanted: &SpillableVec<bool>,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<FirstCalls, Error> {
        let pool = &capture.pool;
        let (calls, ends, forgotten) =
            (SpillableVec::new(pool), SpillableVec::new(pool), SpillableVec::new(pool));
        let mut this = FirstCalls { chosen: None, calls, ends, forgotten, limit: MAX_FIRST_CALLS };
        if !wanted.iter().any(|wanted| *wanted) {
            return Ok(this);
        }
        let chosen = ChosenSockets::choose_sockets(capture, sockets, |place, _| {
            wanted.get(place.index()) == Some(&true)
        })?;
        let count = chosen.sockets.len();
        let limit = (FIRST_CALLS_BYTES / (2 * size_of::<StreamTransfer>() * count))
            .clamp(MIN_FIRST_CALLS, MAX_FIRST_CALLS);
        this.limit = limit;
        progress.begin_step("comparing connections", capture.logs.len() as u64);
        let mut calls: SpillableVec<(u32, StreamTransfer)> = SpillableVec::new(pool);
        this.forgotten.resize(count, false)?;
        let work = |log| {
            let process = ProcessIndex::from_index(log);
            let reading = EventPass::from_process(capture, sockets, process);
            let members = chosen.members_of_log(capture, sockets, log)?;
            Ok::<_, Error>(LogFirstCalls::read_log(&reading, process, &members, limit, pool)?)
        };
        workers::run_in_order(threads, capture.logs.len(), work, |_, of_log: LogFirstCalls| {
            progress.advance_step(1);
            calls.extend(of_log.calls.iter().copied())?;
            for number in of_log.forgotten.iter() {
                this.forgotten[*number as usize] = true;
            }
            Ok(())
        })?;
        // Calls of one time stay in the order of the logs.
        calls.sort_by_key(|(stream, call)| (*stream, call.time))?;
        let mut all = calls.iter().peekable();
        for stream in 0..2 * count as u32 {
            let mut of_stream = std::iter::from_fn(|| all.next_if(|(of, _)| *of == stream));
            this.calls.extend(of_stream.by_ref().take(limit).map(|(_, call)| *call))?;
            of_stream.for_each(drop);
            this.ends.push(this.calls.len() as u64)?;
        }
        drop(all);
        this.chosen = Some(chosen);
        Ok(this)
    }

    /// The number of `socket`, if its calls are known.
    fn number_of_socket(&self, socket: SocketIndex) -> Option<usize> {
        self.chosen.as_ref()?.number_of_socket(socket).map(|number| number as usize)
    }

    /// The first sends, or receives, of a chosen socket.
    fn calls_of_socket(&self, number: usize, received: bool) -> &[StreamTransfer] {
        let stream = 2 * number + usize::from(received);
        let begin =
            stream.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(stream).copied().unwrap_or(begin);
        self.calls.slice(begin as usize..end as usize)
    }

    /// Whether the known calls of two sockets can belong to the two ends of one connection: at no
    /// time had one socket received more than the other had sent. Their times are of one clock, up
    /// to `slack` nanoseconds.
    pub(crate) fn can_connect(&self, one: SocketIndex, other: SocketIndex, slack: i64) -> bool {
        let (Some(one), Some(other)) = (self.number_of_socket(one), self.number_of_socket(other))
        else {
            return true;
        };
        if [one, other].iter().any(|number| self.forgotten.get(*number) == Some(&true)) {
            return true;
        }
        let can_flow = |from: usize, to: usize| {
            let (sends, mut receives) =
                (self.calls_of_socket(from, false), self.calls_of_socket(to, true));
            if let Some(last) = sends.last().filter(|_| sends.len() >= self.limit) {
                // Sends after the last known one are unknown.
                let known =
                    receives.partition_point(|call| call.time.saturating_add(slack) < last.time);
                receives = receives.get(..known).unwrap_or(receives);
            }
            is_causally_possible(sends.iter().copied(), receives.iter().copied(), slack)
        };
        can_flow(one, other) && can_flow(other, one)
    }
}

/// Calls of the chosen sockets in one log.
struct LogFirstCalls {
    /// Calls with twice the socket's number, plus one for a receive.
    calls: SpillableVec<(u32, StreamTransfer)>,
    /// The numbers of sockets with overwritten records.
    forgotten: SpillableVec<u32>,
}

impl LogFirstCalls {
    /// Reads at most `limit` calls of each direction of each chosen socket in a log.
    fn read_log(
        log: &EventPass,
        process: ProcessIndex,
        members: &ChosenMembers,
        limit: usize,
        pool: &MemoryPool,
    ) -> Result<LogFirstCalls, message_trace::PathError> {
        let mut this =
            LogFirstCalls { calls: SpillableVec::new(pool), forgotten: SpillableVec::new(pool) };
        // Number of calls of each direction, and whether records were overwritten.
        let mut counts: SpillableVec<([u16; 2], bool)> =
            SpillableVec::collect(pool, members.iter_numbers().map(|_| ([0; 2], false)))?;
        if counts.is_empty() {
            return Ok(this);
        }
        let mut done = Ok(());
        log.for_each_call(|call| {
            let added = match call {
                SocketCall::Transfer(call) => {
                    let Some((place, number)) = members.place_of_socket(call.socket) else {
                        return;
                    };
                    let Some((counts, _)) = counts.get_mut(place) else { return };
                    let stream = usize::from(!call.sent);
                    if usize::from(counts[stream]) >= limit {
                        return;
                    }
                    counts[stream] += 1;
                    let bytes = u64::from(call.bytes);
                    let (time, tid) = (call.time, call.tid);
                    let call = StreamTransfer {
                        time,
                        bytes,
                        origin: TransferOrigin::from_call(process),
                        tid,
                        elsewhere: false,
                        begins: false,
                    };
                    this.calls.push((2 * number + stream as u32, call))
                }
                SocketCall::Forgotten { socket, .. } => {
                    let Some((place, number)) = members.place_of_socket(socket) else { return };
                    let Some((_, forgotten)) = counts.get_mut(place) else { return };
                    if std::mem::replace(forgotten, true) {
                        Ok(())
                    } else {
                        this.forgotten.push(number)
                    }
                }
                _ => return,
            };
            if done.is_ok() {
                done = added;
            }
        });
        done.map(|()| this)
    }
}
