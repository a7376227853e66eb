//! Lookups of names (`getaddrinfo` and its like), whose datagrams libc sends past every function
//! that the library stands in for. The log says which thread was held up there and how long, so
//! each becomes a request to the host's *name lookup* and an answer from it. Where the name server
//! was recorded, it saw the datagrams come from an address of the host and from no socket that is
//! in a log: these are the name lookup's too.
//!
//! ```text
//! caller            ├── getaddrinfo ──────────────┤
//! name lookup       └→ (asks)                     ┘
//! name server                ├ receives  sends ┤
//! ```

use message_trace::{Endpoint, PathError, Protocol};
use rustc_hash::FxHashMap;
use socket_log::api::Api;

use crate::capture::Capture;
use crate::imported::ImportedRow;
use crate::output::Output;
use crate::rows::{NIL, NO_THREAD, Place, Row, Slot};

/// Lookups that took less, in nanoseconds, asked nobody who would be worth a hop: what `/etc/hosts`
/// has takes some 60 µs, and the first of a process, which loads libraries for it, 200 to 400.
const SHORTEST: i64 = 500_000;
/// How long before or after a lookup a name server may see its datagram, in nanoseconds: the clocks
/// of two hosts are not the same yet.
const SLACK: i64 = 20_000_000;

/// A call of libc's that looks a name up, as its log has it: in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup {
    pub(crate) api: Api,
    pub(crate) tid: u32,
    pub(crate) begin: u64,
    pub(crate) duration: u64,
}

impl Lookup {
    /// Whether `api` looks names up.
    pub(crate) fn is_made_by(api: Api) -> bool {
        use Api::{
            GetAddrInfo, GetHostByAddr, GetHostByName, GetNameInfo, ResQuery, ResQueryDomain,
        };
        use Api::{ResSearch, ResSend};
        matches!(
            api,
            GetAddrInfo
                | GetNameInfo
                | GetHostByName
                | GetHostByAddr
                | ResQuery
                | ResSearch
                | ResQueryDomain
                | ResSend
        )
    }
}

/// A lookup in the time of its host.
#[derive(Clone, Copy, Debug)]
struct Timed {
    process: u32,
    tid: u32,
    api: Api,
    begin: i64,
    end: i64,
}

/// All lookups that took long enough to have asked somebody.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    all: Vec<Timed>,
    /// For each machine its host, and its lookups' times by their beginnings.
    of_machine: FxHashMap<u32, (u32, Vec<(i64, i64)>)>,
    /// The longest of all, in nanoseconds.
    longest: i64,
}

impl Lookups {
    /// The lookups of all logs of `capture`.
    pub(crate) fn of(capture: &Capture) -> Lookups {
        let mut lookups = Lookups::default();
        for (place, lookup) in &capture.lookups {
            let at = *place as usize;
            let (Some(process), Some(log)) = (capture.processes.get(at), capture.logs.get(at))
            else {
                continue;
            };
            let begin = log.clock.realtime(lookup.begin);
            let end = log.clock.realtime(lookup.begin.saturating_add(lookup.duration));
            if end.saturating_sub(begin) < SHORTEST {
                continue;
            }
            lookups.all.push(Timed {
                process: *place,
                tid: lookup.tid,
                api: lookup.api,
                begin,
                end,
            });
            let (_, times) =
                lookups.of_machine.entry(process.machine).or_insert((process.host, Vec::new()));
            times.push((begin, end));
            lookups.longest = lookups.longest.max(end - begin);
        }
        lookups.of_machine.values_mut().for_each(|(_, times)| times.sort_unstable());
        lookups
    }

    /// The host that looked a name up on `machine` when a datagram was seen at `time`.
    pub(crate) fn host(&self, machine: u32, time: i64) -> Option<u32> {
        let (host, times) = self.of_machine.get(&machine)?;
        let earliest = time.saturating_sub(self.longest + SLACK);
        let first = times.partition_point(|(begin, _)| *begin < earliest);
        let begun = times
            .get(first..)?
            .iter()
            .take_while(|(begin, _)| *begin <= time.saturating_add(SLACK));
        let mut begun = begun;
        begun.any(|(_, end)| time <= end.saturating_add(SLACK)).then_some(*host)
    }

    /// Hands the two messages of each lookup to `row`, and returns how many there are. The calls of
    /// a thread are one flow.
    pub(crate) fn rows(
        &self,
        output: &mut Output<'_>,
        mut row: impl FnMut(ImportedRow) -> Result<(), PathError>,
    ) -> Result<u64, PathError> {
        let mut slots: FxHashMap<(u32, u32, Api), u32> = FxHashMap::default();
        for lookup in &self.all {
            let slot = match slots.get(&(lookup.process, lookup.tid, lookup.api)) {
                Some(slot) => *slot,
                None => {
                    let slot = output.slots.len() as u32;
                    let ends = ends(output, lookup)?;
                    let flow = output.flow();
                    output.slots.push(Slot { flow, protocol: Protocol::Other, ends })?;
                    slots.insert((lookup.process, lookup.tid, lookup.api), slot);
                    slot
                }
            };
            let sent = [lookup.begin, lookup.begin, NIL, NIL];
            let received = [NIL, NIL, lookup.end, lookup.end];
            for (times, side) in [(sent, 0), (received, 1)] {
                row(ImportedRow {
                    row: message(lookup, times, side, slot),
                    common: [NIL; 2],
                    call: 0,
                })?;
            }
        }
        Ok(2 * self.all.len() as u64)
    }
}

/// The ends of a thread's lookups.
fn ends(output: &mut Output<'_>, lookup: &Timed) -> Result<[Place; 2], PathError> {
    let own = Endpoint::Other(format!("lookup:{}/{}", lookup.process, lookup.tid));
    let caller = Place { node: lookup.process as i32, endpoint: output.imported_endpoint(&own)? };
    let called = Endpoint::Other(lookup.api.name().to_owned());
    let endpoint = output.imported_endpoint(&called)?;
    Ok([caller, Place { node: output.name_lookup(lookup.process)?, endpoint }])
}

/// The request (`side` 0) or the answer of a lookup.
fn message(lookup: &Timed, times: [i64; 4], side: usize, slot: u32) -> Row {
    let mut row = Row::between(times, slot, side);
    row.tids = [NO_THREAD; 2];
    row.nodes[side] = lookup.process;
    row.tids[side] = lookup.tid as i32;
    row
}
