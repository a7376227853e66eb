//! Threads as tracks: the states of each thread, and an arrow from each thread that wakes another.

use message_trace::{DataDir, mix_bits};
use rustc_hash::FxHashMap;
use workload::resources::{RecordedThreads, ThreadName};

use super::messages::{
    Data, NOT_MERGED, SLICE_BEGIN, SLICE_END, SLICE_INSTANT, TrackDescriptor, TrackEvent,
};
use crate::error::Error;
use crate::tuning::THREADS_IN_MEMORY_BYTES;

/// Bit in the numbers of tracks of threads, which those of nodes and lanes do not have.
const THREAD_BIT: u64 = 1 << 63;
/// Bit in the numbers of tracks of processes, which those of nodes and lanes do not have.
const PROCESS_BIT: u64 = 1 << 62;

/// Passes `packet` the tracks of all threads that were recorded with resources in `data`, with
/// their times in nanoseconds.
///
/// # Errors
/// When their events cannot be read, and any error of `packet`.
pub(super) fn write_threads(
    data: &DataDir,
    packet: &mut dyn FnMut(Option<i64>, Data) -> Result<(), Error>,
) -> Result<(), Error> {
    let threads =
        RecordedThreads::read_events(data.own_events_path(), THREADS_IN_MEMORY_BYTES, data.path())?;
    let mut processes: FxHashMap<(&str, i32), u64> = FxHashMap::default();
    let mut flow = 0;
    for (place, ThreadName { host, process, thread }) in threads.thread_names().enumerate() {
        let track = THREAD_BIT | place as u64;
        let next = PROCESS_BIT | processes.len() as u64;
        let known = processes.insert((host, process), next);
        let above = known.unwrap_or(next);
        if known.is_some() {
            processes.insert((host, process), above);
        } else {
            packet(None, track_descriptor(above, format!("threads of {process} ({host})"), None))?;
        }
        packet(None, track_descriptor(track, format!("thread {thread}"), Some(above)))?;
        for slice in threads.slices_of_thread(place) {
            let begin = TrackEvent {
                r#type: Some(SLICE_BEGIN),
                track_uuid: Some(track),
                categories: vec!["thread".to_owned()],
                name: Some(slice.what.sentence_words().to_owned()),
                ..TrackEvent::default()
            };
            packet(Some(slice.from), Data::Event(begin))?;
            let end = TrackEvent {
                r#type: Some(SLICE_END),
                track_uuid: Some(track),
                ..TrackEvent::default()
            };
            packet(Some(slice.to), Data::Event(end))?;
        }
        for wake in threads.wakes_of_thread(place) {
            flow += 1;
            // Spans use the numbers of flows, too: mixed numbers hardly ever collide.
            let number = mix_bits(u64::MAX - flow);
            let moment = |track: u64, name: &str, begins: bool| TrackEvent {
                r#type: Some(SLICE_INSTANT),
                track_uuid: Some(track),
                categories: vec!["thread".to_owned()],
                name: Some(name.to_owned()),
                flow_ids: if begins { vec![number] } else { Vec::new() },
                terminating_flow_ids: if begins { Vec::new() } else { vec![number] },
                ..TrackEvent::default()
            };
            let by = THREAD_BIT | wake.by as u64;
            packet(Some(wake.signalled), Data::Event(moment(by, "signals", true)))?;
            packet(Some(wake.woken), Data::Event(moment(track, "woken", false)))?;
        }
    }
    Ok(())
}

fn track_descriptor(uuid: u64, name: String, parent: Option<u64>) -> Data {
    Data::Track(TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name),
        parent_uuid: parent,
        sibling_merge_behavior: Some(NOT_MERGED),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use events::{AttributeValue, Event, EventWriter};

    use super::*;

    #[test]
    fn threads_are_tracks_with_slices_and_arrows() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        std::fs::create_dir_all(data.events_dir()).unwrap();
        let mut names = out_of_core::NameInterner::default();
        let mut number = |name: &str| names.intern(name);
        let (host, going, coming) = (number("h"), number("sched/Out"), number("sched/In"));
        let (wake, by, signalled) = (number("sockcap/Wake"), number("by"), number("signalled"));
        let event =
            |time, thread, kind| Event { time, kind, host, process: 7, thread, ..Event::default() };
        let mut writer = EventWriter::create(data.own_events_path()).unwrap();
        for (time, thread, kind) in [(10, 8, coming), (15, 9, coming), (20, 8, going)] {
            writer.push_event(event(time, thread, kind), [], &names).unwrap();
        }
        let of = [(by, AttributeValue::Int(8)), (signalled, AttributeValue::Int(14))];
        writer.push_event(event(25, 9, wake), of, &names).unwrap();
        writer.push_event(event(30, 9, going), [], &names).unwrap();
        writer.finish(&names).unwrap();

        let (mut tracks, mut slices, mut flows) = (Vec::new(), Vec::new(), Vec::new());
        write_threads(&data, &mut |time, data| {
            match data {
                Data::Track(track) => tracks.push(track),
                Data::Event(event) if event.r#type == Some(SLICE_INSTANT) => {
                    let of = [event.flow_ids, event.terminating_flow_ids];
                    flows.push((time.unwrap(), event.track_uuid, of));
                }
                Data::Event(event) => slices.push((time.unwrap(), event.track_uuid, event.name)),
            }
            Ok(())
        })
        .unwrap();
        let named: Vec<&str> = tracks.iter().filter_map(|track| track.name.as_deref()).collect();
        assert_eq!(named, ["threads of 7 (h)", "thread 8", "thread 9"]);
        let uuids: BTreeSet<Option<u64>> = tracks.iter().map(|track| track.uuid).collect();
        assert_eq!(uuids.len(), 3);
        let times: Vec<i64> = slices.iter().map(|(time, ..)| *time).collect();
        assert_eq!(times, [10, 20, 15, 30]);
        assert_eq!(slices[0].2.as_deref(), Some("processor time"));
        // From thread 8 at 14 to thread 9 at 25.
        let [(14, from, begun), (25, to, ended)] = &flows[..] else { panic!("{flows:?}") };
        assert_eq!((*from, *to), (tracks[1].uuid, tracks[2].uuid));
        assert_eq!((&begun[0], begun[1].len()), (&ended[1], 0));
    }
}
