//! The join is the plain relational join of all events, and never mixes two requests.

use std::collections::BTreeMap;

use proptest::prelude::*;
use workload::join::JoinOptions;
use workload::joined_request::JoinedEvent;

use crate::streams::{join_text, joined_with, schema};

const MODES: [&str; 3] = ["BASIC", "START", "STOP"];
const ATTRIBUTES: [&str; 3] = ["a", "b", "c"];

/// Kinds of a random schema: for each, whether it is a seed, and the mode of each attribute.
type Kinds = Vec<(bool, [Option<usize>; 3])>;

fn kinds() -> impl Strategy<Value = Kinds> {
    let modes = prop::array::uniform3(prop::option::weighted(0.6, 0usize..3));
    prop::collection::vec((prop::bool::weighted(0.3), modes), 2..6)
}

fn text_of(kinds: &Kinds) -> String {
    let mut text = "EVENT never/seen\nSEED\n".to_owned();
    for (kind, (is_seed, modes)) in kinds.iter().enumerate() {
        text += &format!("EVENT k/{kind}\n{}\n", if *is_seed { "SEED" } else { "" });
        for (attribute, mode) in ATTRIBUTES.iter().zip(modes) {
            if let Some(mode) = mode {
                text += &format!("ATTRIBUTE {attribute} {}\n", MODES[*mode]);
            }
        }
    }
    text
}

/// The relational join: two events are joined if they share a value within one valid-interval. All
/// pairs are compared, and a connected component is a request if it has a seed.
fn relational(kinds: &Kinds, events: &[(usize, [u8; 3])]) -> Vec<Vec<i64>> {
    let kind = |event: usize| &kinds[events[event].0 % kinds.len()];
    let mut intervals: Vec<Vec<(usize, u8, u32)>> = Vec::new();
    let mut current: BTreeMap<(usize, u8), u32> = BTreeMap::new();
    for (event, (_, values)) in events.iter().enumerate() {
        let mut of = Vec::new();
        for (attribute, (mode, value)) in kind(event).1.iter().zip(values).enumerate() {
            let Some(mode) = *mode else { continue };
            let at = current.entry((attribute, *value)).or_default();
            *at += u32::from(MODES[mode] == "START");
            of.push((attribute, *value, *at));
            *at += u32::from(MODES[mode] == "STOP");
        }
        intervals.push(of);
    }
    let mut component: Vec<usize> = (0..events.len()).collect();
    loop {
        let before = component.clone();
        for one in 0..events.len() {
            for other in 0..events.len() {
                if intervals[one].iter().any(|interval| intervals[other].contains(interval)) {
                    let least = component[one].min(component[other]);
                    (component[one], component[other]) = (least, least);
                }
            }
        }
        if component == before {
            break;
        }
    }
    let mut sets: BTreeMap<usize, (bool, Vec<i64>)> = BTreeMap::new();
    for (event, component) in component.iter().enumerate() {
        let set = sets.entry(*component).or_default();
        set.0 |= kind(event).0;
        set.1.push(event as i64 * 10);
    }
    let mut sets: Vec<_> = sets.into_values().filter(|set| set.0).map(|set| set.1).collect();
    sets.sort();
    sets
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_join_is_the_relational_join(
        kinds in kinds(),
        events in prop::collection::vec((0usize..6, prop::array::uniform3(0u8..4)), 1..40),
    ) {
        let mut text = String::new();
        for (place, (kind, [a, b, c])) in events.iter().enumerate() {
            let (time, kind) = (place * 10, kind % kinds.len());
            text += &format!("{time} 0 0 k/{kind} a={a} b={b} c={c}\n");
        }
        let outcome = join_text(&schema(&text_of(&kinds)), &text);
        let mut times: Vec<_> = (0..outcome.requests.len()).map(|of| outcome.times(of)).collect();
        times.sort();
        prop_assert_eq!(times, relational(&kinds, &events));
    }
}

/// A pool of threads serves requests on persistent connections: a thread and a connection belong to
/// one request at a time.
const POOL: &str = "
    APART
    EVENT s/Receive
      SEED
      ATTRIBUTE connection START
      ATTRIBUTE thread START
    EVENT s/Work
      ATTRIBUTE thread LIVE
    EVENT s/HandOn
      ATTRIBUTE connection LIVE
      ATTRIBUTE thread STOP
    EVENT s/TakeOn
      ATTRIBUTE connection LIVE
      ATTRIBUTE thread START
    EVENT s/Send
      ATTRIBUTE connection STOP
      ATTRIBUTE thread STOP
";

/// Events of interleaved requests by time, with the request of each: `steps` selects the open
/// request that continues.
fn pool(steps: &[u8]) -> Vec<(i64, usize, String)> {
    let mut events = Vec::new();
    // Each lane is a connection with two threads that take turns.
    let mut lanes = [(0usize, 0usize); 3];
    let mut requests = 0;
    for (step, lane) in steps.iter().enumerate() {
        let lane = usize::from(*lane) % lanes.len();
        let time = 1000 + step as i64 * 10;
        let (at, request) = &mut lanes[lane];
        let (first, second) = (10 + lane, 20 + lane);
        let (kind, thread) = [
            ("s/Receive", first),
            ("s/Work", first),
            ("s/HandOn", first),
            ("s/TakeOn", second),
            ("s/Work", second),
            ("s/Send", second),
        ][*at];
        if *at == 0 {
            requests += 1;
            *request = requests;
        }
        let event = format!("{time} {thread} 0 {kind} connection={lane}");
        events.push((time, *request, event));
        *at = (*at + 1) % 6;
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn interleaved_requests_are_whole_and_damaged_streams_never_mix_them(
        steps in prop::collection::vec(0u8..3, 1..120),
        damage in prop::collection::vec(0u8..20, 120),
    ) {
        let schema = schema(POOL);
        let events = pool(&steps);
        let truth: BTreeMap<i64, usize> =
            events.iter().map(|(time, request, _)| (*time, *request)).collect();
        let lines: Vec<&str> = events.iter().map(|(_, _, line)| line.as_str()).collect();
        let outcome = join_text(&schema, &lines.join("\n"));
        let all: usize = outcome.requests.iter().map(|request| request.events.len()).sum();
        prop_assert_eq!(all, events.len());
        for request in &outcome.requests {
            let of = truth[&request.events[0].time];
            prop_assert!(request.events.iter().all(|event| truth[&event.time] == of));
        }

        // Events are lost, duplicated, or late: within the delay, or beyond it, which loses them.
        // An interval with a lost end lasts until the next begin of its value, so that a second
        // loss within the same two requests of a connection could mix these.
        let mut damaged: Vec<(usize, &str)> = Vec::new();
        let mut since_loss = [100; 3];
        for (place, (line, damage)) in lines.iter().zip(&damage).enumerate() {
            let since = &mut since_loss[usize::from(steps[place])];
            *since += 1;
            let can_be_lost = *since > 12;
            if *damage == 0 || *damage == 3 {
                *since = if can_be_lost { 0 } else { *since };
            }
            match damage {
                0 if can_be_lost => {}
                1 => damaged.extend([(place, *line), (place + 1, *line)]),
                2 => damaged.push((place + 4, line)),
                3 if can_be_lost => damaged.push((place + 30, line)),
                _ => damaged.push((place, line)),
            }
        }
        damaged.sort_by_key(|(place, _)| *place);
        let lines: Vec<&str> = damaged.iter().map(|(_, line)| *line).collect();
        let options = JoinOptions { reorder_ns: 100, ..JoinOptions::default() };
        let less = joined_with(&schema, &lines.join("\n"), options);
        for request in &less.requests {
            let is_seed = |event: &&JoinedEvent| less.names.name_of(event.kind) == "s/Receive";
            let seed = request.events.iter().find(is_seed);
            let of = truth[&seed.unwrap().time];
            let mixed = request.events.iter().filter(|event| truth[&event.time] != of).count();
            prop_assert_eq!((mixed, request.seeds), (0, 1), "{:?}", lines);
        }
        let joined: usize = less.requests.iter().map(|request| request.events.len()).sum();
        prop_assert!(joined <= events.len());
    }
}

#[test]
fn late_events_are_counted_and_a_clock_that_jumps_back_ends_open_requests() {
    let schema = schema(POOL);
    let mut text = "5000000 1 0 s/Receive connection=1\n4000000 1 0 s/Work\n".to_owned();
    for time in 0..2000 {
        text += &format!("{} 1 0 s/Work\n", 1000 + time);
    }
    text += "4000 2 0 s/Receive connection=1\n4010 2 0 s/Send connection=1\n";
    let outcome = join_text(&schema, &text);
    assert_eq!((outcome.counts.late, outcome.counts.jumps), (999, 1));
    let whole: Vec<bool> = outcome.requests.iter().map(|request| request.whole).collect();
    assert_eq!((whole, outcome.times(1)), (vec![false, true], vec![4000, 4010]));
}

#[test]
fn an_open_request_ends_by_a_time_out_and_memory_is_bounded() {
    let schema = schema(POOL);
    let mut text = "10 1 0 s/Receive connection=1\n20 1 0 s/Work\n".to_owned();
    for time in 0..100 {
        text += &format!("{} 2 0 s/Receive connection=2\n", 1000 + time * 100);
    }
    let options = JoinOptions { reorder_ns: 0, timeout_ns: 500, ..JoinOptions::default() };
    let outcome = joined_with(&schema, &text, options);
    assert_eq!(outcome.counts.timed_out, 1);
    assert_eq!((outcome.times(0), outcome.requests[0].whole), (vec![10, 20], false));

    let mut text = String::new();
    for time in 0..100 {
        text += &format!("{time} {} 0 s/Receive connection={time}\n", time + 1);
    }
    let options = JoinOptions { reorder_ns: 0, memory_bytes: 960, ..JoinOptions::default() };
    let outcome = joined_with(&schema, &text, options);
    assert_eq!((outcome.requests.len(), outcome.counts.crowded_out > 80), (100, true));
}

const AFFECTING: &str = "
    EVENT s/Receive
      SEED
      ATTRIBUTE connection START
      ATTRIBUTE thread BASIC
    EVENT s/Next
      SEED
      ATTRIBUTE connection START
      AFFECT thread START
    EVENT s/Work
      ATTRIBUTE thread LIVE
    EVENT s/End
      ATTRIBUTE connection STOP
      AFFECT thread STOP
";

#[test]
fn an_event_can_end_or_carry_on_the_intervals_of_other_attributes_of_its_request() {
    let text = "
        10 1 0 s/Receive connection=1
        20 1 0 s/Work
        30 9 0 s/Next connection=1
        40 1 0 s/Work
        50 9 0 s/End connection=1
        60 1 0 s/Work
    ";
    let outcome = join_text(&schema(AFFECTING), text);
    assert_eq!((outcome.times(0), outcome.times(1)), (vec![10, 20], vec![30, 40, 50]));
    assert!(outcome.requests.iter().all(|request| request.whole));
    assert_eq!(outcome.counts.unjoined, 1);
}

#[test]
fn an_event_that_is_posted_at_its_end_has_a_begin() {
    let text = "
        EVENT disk/Read
          BEGIN BEFORE duration AS disk/Read.begin
          ATTRIBUTE thread STOP
          RESOURCE disk_read sectors * 512
        EVENT disk/Read.begin
          SEED
          ATTRIBUTE thread START
        EVENT s/Work
          ATTRIBUTE thread LIVE
    ";
    let events = "10 1 0 s/Work\n30 1 0 s/Work\n50 1 0 disk/Read duration=30 sectors=2\n";
    let options = JoinOptions { reorder_ns: 100, ..JoinOptions::default() };
    let outcome = joined_with(&schema(text), events, options);
    assert_eq!(outcome.events(0), ["20 disk/Read.begin", "30 s/Work", "50 disk/Read"]);
    assert_eq!(outcome.requests[0].demands.disk_read_bytes, 1024);
    // If earlier events were joined already, the late event comes right after them.
    let late = join_text(&schema(text), events);
    assert_eq!(late.events(0), ["30 disk/Read.begin", "50 disk/Read"]);
    assert_eq!(late.counts.late, 0);
}

#[test]
fn a_value_that_an_event_begins_anew_is_not_joined_by_its_old_interval() {
    let text = "
        EVENT s/Begin
          SEED
          ATTRIBUTE thread START
        EVENT s/Work
          ATTRIBUTE thread LIVE
        EVENT s/Anew
          ATTRIBUTE thread LIVE
        EVENT s/Anew
          ATTRIBUTE thread START
    ";
    let events = "10 1 0 s/Begin\n20 1 0 s/Work\n30 1 0 s/Anew\n40 1 0 s/Work\n50 1 0 s/Begin\n";
    let outcome = join_text(&schema(text), events);
    assert_eq!(outcome.requests.len(), 2);
    assert_eq!(outcome.events(0), ["10 s/Begin", "20 s/Work"]);
    assert_eq!(outcome.events(1), ["50 s/Begin"]);
}

/// Two connections with a request each, with a thread that occurs on both.
const SEEN_WITH_BOTH: &str = "
    10 1 0 s/Receive connection=1
    20 2 0 s/Receive connection=2
    30 1 0 s/Both connection=2
    40 1 0 s/Work
    50 1 0 s/End connection=1
    60 2 0 s/End connection=2
";

#[test]
fn requests_stay_apart_although_they_share_a_thread() {
    let text = |apart: &str, mode: &str| {
        format!(
            "{apart}
            EVENT s/Receive
              SEED
              ATTRIBUTE connection START
              ATTRIBUTE thread START
            EVENT s/Both
              ATTRIBUTE connection LIVE
              ATTRIBUTE thread {mode}
            EVENT s/Work
              ATTRIBUTE thread LIVE
            EVENT s/End
              ATTRIBUTE connection STOP
              AFFECT thread STOP"
        )
    };
    let times = |apart: &str, mode: &str| {
        let outcome = join_text(&schema(&text(apart, mode)), SEEN_WITH_BOTH);
        let mut times: Vec<_> = (0..outcome.requests.len()).map(|of| outcome.times(of)).collect();
        times.sort();
        (times, outcome.counts.conflicts)
    };
    // The thread moves to the connection's request, is in none, or stays with its own.
    assert_eq!(times("APART", "BASIC"), (vec![vec![10, 50], vec![20, 30, 40, 60]], 1));
    assert_eq!(times("APART", "STOP"), (vec![vec![10, 50], vec![20, 30, 60]], 1));
    assert_eq!(times("APART", "LIVE"), (vec![vec![10, 40, 50], vec![20, 30, 60]], 1));
    assert_eq!(times("APART", "CLAIM"), (vec![vec![10, 40, 50], vec![20, 30, 60]], 0));
    assert_eq!(times("", "BASIC"), (vec![vec![10, 20, 30, 40, 50, 60]], 0));
}

#[test]
fn waiting_events_are_processed_when_time_advances_without_events() {
    let text = format!("{POOL}\nEVENT s/Answer\nCOMPLETE\nATTRIBUTE thread LIVE\n");
    let mut names = out_of_core::NameInterner::default();
    let options = JoinOptions { reorder_ns: 100, linger_ns: 1000, ..JoinOptions::default() };
    let mut join = workload::join::TemporalJoin::new(&schema(&text), options, &mut names).unwrap();
    let events = "10 1 0 s/Receive connection=1\n20 1 0 s/Answer\n";
    let piece = crate::streams::parse_batch(events, &mut names);
    let mut requests = Vec::new();
    join.push_batch(&piece, &mut names, &mut |request| requests.push(request));
    join.advance_to(1000, &mut |request| requests.push(request));
    assert_eq!(requests, []);
    join.advance_to(1200, &mut |request| requests.push(request));
    assert_eq!((requests.len(), requests[0].whole, requests[0].events.len()), (1, true, 2));
}

/// A preempted thread continues on another processor. Later events of its former processor do not
/// affect it.
#[test]
fn a_thread_that_moved_to_another_processor_keeps_its_usage() {
    let schema = schema(
        "EVENT t/In\n PROCESSOR in\n ATTRIBUTE thread LIVE\n\
         EVENT t/Out\n PROCESSOR out\n ATTRIBUTE thread LIVE\n\
         EVENT t/Start\n SEED\n ATTRIBUTE thread START\n\
         EVENT t/End\n ATTRIBUTE thread STOP\n",
    );
    let events = "
        1000 2 0 t/In
        1010 2 -1 t/Start
        1050 2 0 t/Out
        1060 2 1 t/In
        1100 9 0 t/In
        1160 2 -1 t/End
    ";
    let outcome = join_text(&schema, events);
    let used: Vec<i64> = outcome.requests.iter().map(|of| of.demands.processor_ns).collect();
    assert_eq!(used, [40 + 100]);
    // If another thread is seen on a processor, the end of the former thread's run is unknown.
    let lost = events.replace("1060 2 1 t/In", "1060 2 0 t/In");
    assert_eq!(join_text(&schema, &lost).requests[0].demands.processor_ns, 40);
}
