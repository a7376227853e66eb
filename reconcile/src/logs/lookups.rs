//! Name lookups (`getaddrinfo` and similar). Libc sends their datagrams without calling any
//! interposed function. The log records which thread was blocked there and how long, so each lookup
//! becomes a request to the host's *name lookup* and an answer from it. If the name server was
//! recorded, it saw the datagrams come from an address of the host and from no socket in a log:
//! these also belong to the name lookup.
//!
//! ```text
//! caller            ├── getaddrinfo ──────────────┤
//! name lookup       └→ (queries)                  ┘
//! name server                ├ receives  sends ┤
//! ```

use rustc_hash::FxHashMap;
use socket_log::api::Api;

use crate::indices::{HostIndex, MachineIndex, ProcessIndex};
use crate::logs::capture::Capture;
use crate::tuning::{LOOKUP_SLACK_NS, MIN_LOOKUP_NS};

/// A lookup in the time of its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedLookup {
    pub(crate) process: ProcessIndex,
    pub(crate) tid: u32,
    pub(crate) api: Api,
    /// Time when the function was called, in nanoseconds.
    pub(crate) begin: i64,
    /// Time when the function returned, in nanoseconds.
    pub(crate) end: i64,
}

/// All lookups that took long enough to have queried a server.
#[derive(Debug, Default)]
pub(crate) struct LookupIndex {
    pub(crate) all: Vec<TimedLookup>,
    /// The host of each machine, and the begin and end of its lookups in nanoseconds, sorted by
    /// their beginnings.
    of_machine: FxHashMap<MachineIndex, (HostIndex, Vec<(i64, i64)>)>,
    /// Duration of the longest lookup, in nanoseconds.
    longest: i64,
}

impl LookupIndex {
    /// The lookups of all logs of `capture`.
    pub(crate) fn from_capture(capture: &Capture) -> LookupIndex {
        let mut lookups = LookupIndex::default();
        for (place, lookup) in &capture.lookups {
            let at = place.index();
            let (Some(process), Some(log)) = (capture.processes.get(at), capture.logs.get(at))
            else {
                continue;
            };
            let begin = log.clock.realtime(lookup.begin);
            let end = log.clock.realtime(lookup.begin.saturating_add(lookup.duration));
            if end.saturating_sub(begin) < MIN_LOOKUP_NS {
                continue;
            }
            lookups.all.push(TimedLookup {
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

    /// The host that was looking a name up on `machine` when a datagram was seen at `time`; `None`
    /// if no lookup was under way.
    pub(crate) fn host_of_lookup(&self, machine: MachineIndex, time: i64) -> Option<HostIndex> {
        let (host, times) = self.of_machine.get(&machine)?;
        let earliest = time.saturating_sub(self.longest + LOOKUP_SLACK_NS);
        let first = times.partition_point(|(begin, _)| *begin < earliest);
        let begun = times
            .get(first..)?
            .iter()
            .take_while(|(begin, _)| *begin <= time.saturating_add(LOOKUP_SLACK_NS));
        let mut begun = begun;
        begun.any(|(_, end)| time <= end.saturating_add(LOOKUP_SLACK_NS)).then_some(*host)
    }
}
