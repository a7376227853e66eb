//! Logs with resources, and files of switches, against the expected events and hand-offs.

use std::num::NonZeroUsize;

use events::{AttributeValue, EventBatch, EventReader};
use message_trace::table::{self, columns::BatchColumns};
use message_trace::{MessageId, MessageTrace};
use out_of_core::NameInterner;
use reconcile::{Options, reconcile};
use socket_log::encode::{self, FileOperation, FileUse, HandoffObject, SignalRecord, WakeRecord};
use socket_log::layout;
use socket_log::switches::{SwitchEvent, SwitchFileHeader, SwitchWriter, ThreadSwitch};
use socket_log::write::{EPOCH, LogWriter};

use crate::common::{System, accept, connect, log};

const CONDITION: u64 = 0x7000;

fn signal(log: &mut LogWriter, ticks: u64) {
    let of = (HandoffObject::Condition, CONDITION);
    let signal = SignalRecord { what: of.0, object: of.1, all: false, amount: 0, duration: 0 };
    log.raw_record(ticks, encode::signal_record(ticks, &signal).as_slice());
}

fn wake(log: &mut LogWriter, ticks: u64, duration: u64) {
    let of = (HandoffObject::Condition, CONDITION);
    let (timed_out, interrupted, amount) = (false, false, 0);
    let (what, object) = of;
    let wake = WakeRecord { what, object, timed_out, interrupted, amount, duration };
    log.raw_record(ticks, encode::wake_record(ticks, &wake).as_slice());
}

/// A server: its thread 71 reads a file and wakes 72, which answers.
fn server() -> LogWriter {
    let mut server = log(70, "server");
    server.set_resources();
    accept(&mut server, 1_000, 1, 11, "10.0.0.1:80", "10.0.0.2:5000");
    server.set_thread(71).receive(2_000, 1, 100);
    let read = FileUse {
        operation: FileOperation::Read,
        bytes: 4_096,
        duration: 500,
        failed: false,
        moved: false,
    };
    server.raw_record(3_000, encode::file_use_record(3_000, &read).as_slice());
    signal(&mut server, 4_000);
    signal(&mut server, 4_500);
    server.raw_record(9_000, encode::sleep_record(9_000, 3_000).as_slice());
    server.set_thread(72);
    wake(&mut server, 4_100, 3_000);
    server.send(5_000, 1, 200).close(6_000, 1);
    server
}

fn client() -> LogWriter {
    let mut client = log(80, "client");
    connect(&mut client, 900, 1, 12, "10.0.0.2:5000", "10.0.0.1:80");
    client.send(1_500, 1, 100).receive(5_500, 1, 200);
    client
}

/// Writes switches of the server's threads: 71 waits within its read.
fn switches(system: &System) {
    switches_of(system, "one");
}

/// Writes switches of the server's threads, by a recorder with the host name `host`.
fn switches_of(system: &System, host: &str) {
    let path = system.path(host, "x").with_file_name("99-1.switches");
    let host = host.to_owned();
    let about =
        SwitchFileHeader { host, boot_id: [7; 16], realtime: EPOCH, ..SwitchFileHeader::default() };
    let mut writer = SwitchWriter::create(&path, &about).unwrap();
    let out = SwitchEvent::Out { preempted: false };
    let mut name = [0; 16];
    name[..6].copy_from_slice(b"reader");
    for (time, thread, event) in [
        (1_100, 71, SwitchEvent::Start { creator: 70 }),
        (1_200, 71, SwitchEvent::In),
        (1_300, 71, SwitchEvent::Name(name)),
        (2_600, 71, out),
        (2_900, 71, SwitchEvent::In),
        (6_100, 71, SwitchEvent::Out { preempted: true }),
        (8_900, 71, SwitchEvent::In),
        (9_500, 71, SwitchEvent::Exit),
    ] {
        writer.push(&ThreadSwitch { time, processor: 1, thread, process: 70, event });
    }
    let (processor, event) = (ThreadSwitch::ANY_PROCESSOR, SwitchEvent::Mark);
    writer.push(&ThreadSwitch { time: 9_900, processor, thread: 0, process: 0, event });
    writer.finish(9_900).unwrap();
}

/// All events as lines: time, process/thread, kind, attributes.
fn events(system: &System) -> Vec<String> {
    let mut reader = EventReader::open(&[system.data().own_events_path()]).unwrap();
    let (mut names, mut piece, mut lines) =
        (NameInterner::default(), EventBatch::default(), Vec::new());
    while reader.read_next(&mut names, &mut piece).unwrap() {
        for (place, event) in piece.events().iter().enumerate() {
            assert_eq!(names.name_of(event.host), "one");
            let mut attributes: Vec<String> = piece
                .attributes_of_event(place)
                .map(|(name, value)| match value {
                    AttributeValue::Int(number) if names.name_of(name) == "signalled" => {
                        format!("signalled={}", number - EPOCH)
                    }
                    AttributeValue::Int(number) => format!("{}={number}", names.name_of(name)),
                    AttributeValue::Real(number) => format!("{}={number}", names.name_of(name)),
                    AttributeValue::Text(text) => format!("{}={text}", names.name_of(name)),
                })
                .collect();
            attributes.sort();
            let (time, kind) = (event.time - EPOCH, names.name_of(event.kind));
            let line = format!("{time} {}/{} {kind} ", event.process, event.thread);
            lines.push((line + &attributes.join(" ")).trim_end().to_owned());
        }
    }
    lines
}

fn run(system: &System) {
    let data = system.data();
    let read =
        || [data.own_events_path(), data.handoffs_path()].map(|path| std::fs::read(path).unwrap());
    let spilled = Options { memory: 0, threads: NonZeroUsize::new(3), ..Options::default() };
    reconcile(&data, &spilled, &()).unwrap();
    let from_files = read();
    reconcile(&data, &Options::default(), &()).unwrap();
    assert!(read() == from_files, "the same with any memory");
}

#[test]
fn calls_and_switches_become_events() {
    let system = System::new();
    system.add("one", "server", &server()).add("one", "client", &client());
    switches(&system);
    run(&system);
    let expected = [
        "1000 70/70 sockcap/Connection connection=0 local=10.0.0.1:80 peer=10.0.0.2:5000 \
         role=accepted",
        "1100 70/71 sched/Start parent=70",
        "1200 70/71 sched/In",
        "1300 70/71 sched/Name comm=reader",
        "2000 70/71 sockcap/Receive bytes=100 connection=0 duration=0",
        "2600 70/71 sched/Out preempted=0",
        "2900 70/71 sched/In",
        "3000 70/71 sockcap/FileRead bytes=4096 cached=0 duration=500",
        "4000 70/71 sockcap/Signal all=0 object=28672 what=condition",
        "4100 70/72 sockcap/Wake by=71 duration=3000 object=28672 signalled=4000 what=condition",
        "4500 70/71 sockcap/Signal all=0 object=28672 what=condition",
        "5000 70/72 sockcap/Send bytes=200 connection=0 duration=0",
        "6000 70/72 sockcap/Close connection=0",
        "6100 70/71 sched/Out preempted=1",
        "8900 70/71 sched/In",
        "9000 70/71 sockcap/Sleep duration=3000",
        "9500 70/71 sched/Exit",
    ];
    assert_eq!(events(&system), expected);
}

#[test]
fn switches_belong_to_the_host_in_the_logs() {
    let lines = |host: &str| {
        let system = System::new();
        system.add("one", "server", &server()).add("one", "client", &client());
        system.data().hosts_dir().join(host).create_dir_all().unwrap();
        switches_of(&system, host);
        run(&system);
        events(&system)
    };
    assert_eq!(lines("the-kernel-s"), lines("one"));
    assert!(lines("one").iter().any(|line| line.contains("sched/In")));
}

/// A hand-off: times of the signal and the wake-up, its node and object, the two threads, and its
/// kind.
type Row = ([i64; 2], [i64; 2], [i32; 2], String);

/// The hand-offs, in their order.
fn handoffs(system: &System) -> Vec<Row> {
    let path = system.data().handoffs_path();
    let mut rows = Vec::new();
    for batch in table::read_batches(&path).unwrap() {
        let batch = batch.unwrap();
        let columns = BatchColumns::new(&path, &batch);
        let long = |name| columns.int64_column(name).unwrap();
        let int = |name| columns.int32_column(name).unwrap();
        let what = columns.text_column("what").unwrap();
        for (row, what) in what.into_iter().enumerate() {
            rows.push((
                ["signalled", "woken"].map(|name| long(name)[row].unwrap() - EPOCH),
                ["node", "object"].map(|name| long(name)[row].unwrap()),
                ["from_tid", "to_tid"].map(|name| int(name)[row].unwrap()),
                what.unwrap().to_owned(),
            ));
        }
    }
    rows
}

#[test]
fn signals_become_hand_offs_and_unreceived_ones_are_reported() {
    let system = System::new();
    system.add("one", "server", &server());
    run(&system);
    let what = || "condition".to_owned();
    let expected = [
        ([4_000, 4_100], [0, 0x7000], [71, 72], what()),
        ([4_500, 4_500], [0, 0x7000], [71, 0], what()),
    ];
    assert_eq!(handoffs(&system), expected);
    assert!(events(&system).iter().all(|line| !line.contains("sched/")), "without switches");
}

#[test]
fn an_unreceived_signal_is_for_the_sole_waiter() {
    let unheard = |last_waiter: u32| {
        let system = System::new();
        let mut server = log(70, "server");
        server.set_resources();
        server.set_thread(71);
        for time in [1_000, 2_000, 3_000, 3_500, 4_000] {
            signal(&mut server, time);
        }
        server.set_thread(72);
        wake(&mut server, 1_100, 300);
        wake(&mut server, 2_100, 300);
        wake(server.set_thread(last_waiter), 4_100, 300);
        system.add("one", "server", &server);
        run(&system);
        let lines = events(&system).into_iter();
        lines.filter(|line| line.contains("Unheard")).collect::<Vec<_>>()
    };
    let of = |time| format!("{time} 70/71 sockcap/Unheard object=28672 waiter=72 what=condition");
    assert_eq!(unheard(72), [of(3_001), of(3_501)]);
    assert!(unheard(73).is_empty(), "two threads wait there");
}

#[test]
fn goroutines_hand_off_to_goroutines_that_they_unblock_or_start() {
    let goroutine = |log: &mut LogWriter, number: u64, creator: u64| {
        log.raw_record(1_500, encode::goroutine_record(number, creator).as_slice());
    };
    let ready = |log: &mut LogWriter, ticks: u64, number: u64| {
        log.raw_record(ticks, encode::ready_record(ticks, number, false).as_slice());
    };
    let start = |log: &mut LogWriter, ticks: u64, number: u64| {
        log.raw_record(ticks, encode::ready_record(ticks, number, true).as_slice());
    };
    let mut server = log(70, "server");
    accept(&mut server, 1_000, 1, 11, "10.0.0.1:80", "10.0.0.2:5000");
    goroutine(server.set_thread(71), 17, 1);
    server.receive(2_000, 1, 100);
    ready(&mut server, 2_100, 18);
    // The runtime itself unblocks no recorded goroutine.
    goroutine(&mut server, 0, 0);
    ready(&mut server, 2_200, 17);
    // A goroutine continues on another thread, where its first record is earlier.
    goroutine(server.set_thread(72), 18, 17);
    ready(&mut server, 3_000, 17);
    goroutine(server.set_thread(73), 18, 17);
    server.send(2_500, 1, 200);
    // If the start is recorded, the first record of the started goroutine adds nothing.
    start(&mut server, 3_100, 19);
    goroutine(&mut server, 19, 18);
    ready(&mut server, 3_200, 17);
    let system = System::new();
    system.add("one", "server", &server).add("one", "client", &client());
    reconcile(&system.data(), &Options::default(), &()).unwrap();
    let of = |time, object, threads: [u64; 2]| {
        let threads = threads.map(|number| layout::goroutine::thread_id(number) as i32);
        // The client is the first node.
        ([time; 2], [1, object], threads, "goroutine".to_owned())
    };
    let expected = [
        of(2_000, 0, [1, 17]),
        of(2_100, 0, [17, 18]),
        of(2_500, 0, [17, 18]),
        of(3_000, 0, [18, 17]),
        of(3_100, 1, [18, 19]),
        of(3_200, 0, [19, 17]),
    ];
    assert_eq!(handoffs(&system), expected);
    assert!(!system.data().own_events_path().exists(), "nothing else is known of the process");
    let trace =
        MessageTrace::read(system.data().messages_path(), system.data().nodes_path()).unwrap();
    let [first, second] = [0, 1].map(|row| trace.message(MessageId::from_index(row)));
    let tids = [first.dst_tid, second.src_tid];
    let tid = |number| Some(layout::goroutine::thread_id(number) as i32);
    assert_eq!(tids, [tid(17), tid(18)]);
}

#[test]
fn without_resources_there_are_no_tables_and_previous_ones_are_removed() {
    let system = System::new();
    system.add("one", "server", &server());
    run(&system);
    std::fs::remove_file(system.path("one", "server")).unwrap();
    system.add("one", "client", &client());
    switches(&system);
    reconcile(&system.data(), &Options::default(), &()).unwrap();
    let data = system.data();
    assert!(!data.own_events_path().exists() && !data.handoffs_path().exists());
}
