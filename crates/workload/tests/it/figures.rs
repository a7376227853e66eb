//! The figures of the Magpie paper, with events built by hand.

use workload::joined_request::SyncEdge;

use crate::streams::{JoinOutcome, join_text, schema, shipped_schema};

/// Figure 4 as it is printed, with a seed and without its events of processors.
const FIGURE_4: &str = r#"
EVENT("HttpRequest", "Start");
SEED
ATTRIBUTE("W3Id", BIND_BASIC, 0);

EVENT("W3Server", "Start");
ATTRIBUTE("Tid", BIND_BASIC, 0);
ATTRIBUTE("W3Id", BIND_BASIC, 0);

EVENT("W3Server", "End");
ATTRIBUTE("Tid", BIND_BASIC, 0);
ATTRIBUTE("W3Id", BIND_STOP, 0);

EVENT("AspNetReq", "Start");
ATTRIBUTE("Tid", BIND_BASIC, 0);
ATTRIBUTE("Isapiid", BIND_BASIC, 0);

EVENT("AspNetReq", "End");
ATTRIBUTE("Tid", BIND_BASIC, 0);

EVENT("AspNetReq", "End");
ATTRIBUTE("Tid", BIND_BASIC, 0);

EVENT("Win32", "Unblock");
ATTRIBUTE("Tid", BIND_START, 0);
ATTRIBUTE("Cpuid", BIND_START, 0);

EVENT("Win32", "Block");
ATTRIBUTE("Cpuid", BIND_STOP, 0);
ATTRIBUTE("Cpuid", BIND_STOP, 0);
ATTRIBUTE("Tid", BIND_STOP, 0);
"#;

/// Figure 3: thread 42 hands a request on to thread 44 by IsapiId 87, and serves another one.
const FIGURE_3: &str = "
    100 42 0 Win32/Unblock Tid=42 Cpuid=0
    110 42 0 HttpRequest/Start W3Id=23
    120 42 0 W3Server/Start Tid=42 W3Id=23
    130 42 0 AspNetReq/Start Tid=42 Isapiid=87
    140 42 0 Win32/Block Tid=42 Cpuid=0
    150 44 1 Win32/Unblock Tid=44 Cpuid=1
    160 44 1 AspNetReq/Start Tid=44 Isapiid=87
    170 42 0 Win32/Unblock Tid=42 Cpuid=0
    180 42 0 HttpRequest/Start W3Id=24
    190 42 0 W3Server/Start Tid=42 W3Id=24
    200 44 1 AspNetReq/End Tid=44
    210 44 1 W3Server/End Tid=44 W3Id=23
    220 44 1 Win32/Block Tid=44 Cpuid=1
    230 42 0 W3Server/End Tid=42 W3Id=24
    240 42 0 Win32/Block Tid=42 Cpuid=0
";

fn all_times(outcome: &JoinOutcome) -> Vec<Vec<i64>> {
    let mut times: Vec<_> = (0..outcome.requests.len()).map(|of| outcome.times(of)).collect();
    times.sort();
    times
}

#[test]
fn figures_3_and_4_join_what_two_threads_did_for_one_request() {
    let outcome = join_text(&schema(FIGURE_4), FIGURE_3);
    let first = vec![100, 110, 120, 130, 140, 150, 160, 200, 210, 220];
    assert_eq!(all_times(&outcome), [first, vec![170, 180, 190, 230, 240]]);
    // No event closes IsapiId 87, so the first request ends only with the stream.
    let whole: Vec<bool> = outcome.requests.iter().map(|request| request.whole).collect();
    assert_eq!(whole, [true, false]);
    assert_eq!(outcome.events(0).first().unwrap(), "170 Win32/Unblock");
    assert_eq!((outcome.counts.events, outcome.counts.joined), (15, 15));
}

#[test]
fn without_intervals_the_requests_of_a_thread_would_be_one() {
    let basic = FIGURE_4.replace("BIND_START", "BIND_BASIC").replace("BIND_STOP", "BIND_BASIC");
    let outcome = join_text(&schema(&basic), FIGURE_3);
    assert_eq!((outcome.requests.len(), outcome.requests[0].seeds), (1, 2));
    assert_eq!(outcome.times(0).len(), 15);
}

/// Figure 5: thread 44 sends on processor 1 and is switched out. Its packet is sent in a deferred
/// procedure call, while thread 50 of another program has the processor.
const FIGURE_5: &str = "
    1000 42 0 TcpIp/Recv ConnHash=7
    1010 44 1 Win32/Unblock Tid=44 Cpuid=1
    1020 44 1 HttpRequest/Start Tid=44 ConnHash=7
    1100 44 1 WinSock/Connect Tid=44 ConnHash=12
    1150 44 1 Win32/Block Tid=44 Cpuid=1
    1150 44 1 Win32/Unblock Tid=50 Cpuid=1
    1200 50 1 Dpc/Start
    1230 50 1 WinPCap/PktTx ConnHash=12 Size=1460
    1240 50 1 Dpc/End
    1300 50 1 Dpc/Start
    1390 50 1 Dpc/End
    1400 50 1 Win32/Block Tid=50 Cpuid=1
    1500 42 0 TcpIp/Close ConnHash=12
    1510 42 0 TcpIp/Close ConnHash=7
";

#[test]
fn figure_5_charges_a_request_with_the_packet_and_the_call_that_sent_it() {
    let outcome = join_text(&shipped_schema("iis"), FIGURE_5);
    assert_eq!(outcome.requests.len(), 1);
    let request = &outcome.requests[0];
    assert!(request.whole);
    let expected = vec![1000, 1010, 1020, 1100, 1150, 1200, 1230, 1240, 1500, 1510];
    assert_eq!(outcome.times(0), expected);
    // Thread 44 ran from 1010 to 1150, the call that sent took 40. The other call, and the other
    // work of thread 50, belong to no request.
    assert_eq!((request.demands.processor_ns, request.demands.sent_bytes), (140 + 40, 1460));
    let by_event: Vec<i64> =
        request.events.iter().map(|event| event.demands.processor_ns).collect();
    assert_eq!(by_event, [0, 0, 10, 80, 50, 0, 0, 40, 0, 0]);
    // Thread 50 belongs to the same process here: 250 less both calls.
    assert_eq!(outcome.charged.requests_ns, 180);
    assert_eq!(outcome.charged.relevant_ns, 140 + 40 + 120);
}

/// Figure 8: the network unblocks a thread of IIS, which hands over to 44, which hands over to 46.
const FIGURE_8: &str = "
    10 1 0 TcpIp/Recv ConnHash=7
    20 42 0 Win32/Unblock Tid=42 Cpuid=0
    30 42 0 HttpRequest/Start Tid=42 ConnHash=7
    40 42 0 HttpRequest/Deliver Tid=42 W3Id=23
    50 42 0 Win32/Block Tid=42 Cpuid=0
    60 44 1 Win32/Unblock Tid=44 Cpuid=1
    70 44 1 W3Server/Start Tid=44 W3Id=23 URL=/spin.aspx?ms=15
    80 44 1 AspNetReq/Start Tid=44 IsapiId=87
    90 44 1 Win32/Block Tid=44 Cpuid=1
    100 46 0 Win32/Unblock Tid=46 Cpuid=0
    110 46 0 AspNetReq/End Tid=46 IsapiId=87
    120 46 0 Thread/Exit Tid=46
    130 46 0 Win32/Block Tid=46 Cpuid=0
    140 48 1 Win32/Unblock Tid=48 Cpuid=1
    150 48 1 Thread/Join Tid=48 Joined=46
    160 48 1 W3Server/End Tid=48 W3Id=23
    170 48 1 Win32/Block Tid=48 Cpuid=1
    180 1 0 TcpIp/Close ConnHash=7
";

#[test]
fn figure_8_adds_a_signal_and_a_resume_for_each_statement() {
    let outcome = join_text(&shipped_schema("iis"), FIGURE_8);
    assert_eq!(outcome.requests.len(), 1);
    let request = &outcome.requests[0];
    assert_eq!(outcome.names.name_of(request.name), "/spin.aspx");
    let at = |time: i64| request.events.iter().position(|event| event.time == time).unwrap();
    let sync = |source, destination| SyncEdge {
        source: at(source) as u32,
        destination: at(destination) as u32,
    };
    assert_eq!(request.syncs, [sync(10, 30), sync(40, 60), sync(80, 100), sync(120, 150)]);
    let waits: Vec<i64> =
        request.events.iter().filter(|event| event.is_wait).map(|event| event.time).collect();
    assert_eq!(waits, [50, 90, 130, 170]);
}
