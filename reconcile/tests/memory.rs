//! Memory of matching: the calls of one connection are matched together, up to a number, and equal
//! datagrams, whatever their number. This counts the bytes for each call, so that
//! docs/reconciliation.md stays correct, and checks that memory does not grow with the number of
//! calls of a connection, or of datagrams of a flow, beyond that, nor with the number of ends.
#![expect(clippy::unwrap_used, reason = "helpers of the tests fail them by panicking")]

#[path = "it/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use common::{System, accept, bind, connect, log, receive_from, send_to};
use message_trace::Progress;
use reconcile::{Options, Reconciliation, reconcile};
use socket_log::encode::{FlowOrigin, FlowRole};
use socket_log::write::{LogWriter, UNIX_STREAM, unix_address};

/// The heap, with its current and maximum use.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// Use before the measurement.
static BEFORE: AtomicUsize = AtomicUsize::new(0);
/// Maximum use up to the last step before writing, which has batches of some size however little
/// there is.
static BEFORE_WRITING: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each method forwards its arguments to the system's allocator, and only counts bytes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller passes a `layout` of nonzero size, as `Heap` requires.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller passes a `place` of `alloc`, so of `Heap`, with its `layout`.
        unsafe { Heap.dealloc(place, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// Detects the beginning of writing.
struct Steps;

impl Progress for Steps {
    fn begin_step(&self, what: &str, _: u64) {
        if what == "writing messages" {
            BEFORE_WRITING.store(MOST.load(Relaxed) - BEFORE.load(Relaxed), Relaxed);
        }
    }

    fn advance_step(&self, _: u64) {}
}

/// Reconciles with as little as possible in memory, on one thread, and counts from then on.
fn reconciled(system: &System, at_once: usize) -> Reconciliation {
    let options =
        Options { memory: 0, threads: NonZeroUsize::new(1), at_once, ..Options::default() };
    BEFORE.store(NOW.load(Relaxed), Relaxed);
    MOST.store(NOW.load(Relaxed), Relaxed);
    reconcile(&system.data(), &options, &Steps).unwrap()
}

/// Peak memory of reconciling one connection of `turns` requests and responses, and its calls.
/// `both` ends of it were recorded, or one.
fn most(turns: u64, both: bool, at_once: usize) -> (usize, usize) {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    connect(&mut client, 100, 1, 11, "10.0.0.1:40000", "10.0.0.2:80");
    accept(&mut server, 110, 1, 12, "10.0.0.2:80", "10.0.0.1:40000");
    for turn in 0..turns {
        let at = 10_000 * (turn + 1);
        client.send(at, 1, 10).receive(at + 4_000, 1, 20);
        server.receive(at + 1_000, 1, 10).send(at + 2_000, 1, 20);
    }
    system.add("one", "a", &client);
    if both {
        system.add("one", "b", &server);
    }
    drop((client, server));
    let counts = reconciled(&system, at_once);
    assert_eq!((counts.total_messages(), counts.flows), (2 * turns, 1));
    (BEFORE_WRITING.load(Relaxed), (if both { 4 } else { 2 }) * turns as usize)
}

/// Peak memory for `count` datagrams from one socket to another, all equal or all different, and
/// their calls.
fn most_of_datagrams(count: u64, equal: bool, at_once: usize) -> (usize, usize) {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    bind(&mut client, 100, 1, 11, "10.0.0.1:4000");
    bind(&mut server, 110, 1, 12, "10.0.0.2:53");
    for number in 0..count {
        let (at, content) = (10_000 * (number + 1), if equal { 7 } else { number as u32 });
        send_to(&mut client, 1, at, content, "10.0.0.2:53");
        receive_from(&mut server, 1, at + 1_000, content, "10.0.0.1:4000");
    }
    system.add("one", "a", &client).add("one", "b", &server);
    drop((client, server));
    let counts = reconciled(&system, at_once);
    assert_eq!(counts.datagrams.matched, count);
    (BEFORE_WRITING.load(Relaxed), 2 * count as usize)
}

/// Peak memory for `count` connections of a request and a response each between two processes.
/// `make` makes each of them from the logs of both, its number, its time, and its flow.
fn most_of_made(count: u64, make: impl Fn(&mut LogWriter, &mut LogWriter, u64, u64, u32)) -> usize {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    for number in 0..count {
        let (at, flow) = (10_000 * (number + 1), number as u32 + 1);
        make(&mut client, &mut server, number, at, flow);
        client.send(at + 1_000, flow, 10).receive(at + 4_000, flow, 20);
        server.receive(at + 2_000, flow, 10).send(at + 3_000, flow, 20);
    }
    system.add("one", "a", &client).add("one", "b", &server);
    drop((client, server));
    let counts = reconciled(&system, 10_000);
    assert_eq!((counts.both_ends, counts.flows), (2 * count, count));
    BEFORE_WRITING.load(Relaxed)
}

/// Peak memory for `count` connections by TCP.
fn most_of_connections(count: u64) -> usize {
    most_of_made(count, |client, server, number, at, flow| {
        let own = format!(
            "10.{}.{}.1:{}",
            1 + number / 2_560_000,
            number / 10_000 % 256,
            1024 + number % 10_000
        );
        connect(client, at, flow, 2 * number + 1, &own, "10.0.0.2:80");
        accept(server, at + 100, flow, 2 * number + 2, "10.0.0.2:80", &own);
    })
}

/// Peak memory for `count` connections of a proxy with clients, and as many with servers. Neither
/// were recorded.
fn most_of_halves(count: u64) -> usize {
    let system = System::new();
    let mut proxy = log(10, "proxy");
    for number in 0..count {
        let (at, flow, bytes) =
            (1_000_000 * (number + 1), 2 * number as u32 + 1, 100 + number % 1_000);
        let [client, server, own] = [1, 2, 3].map(|network| far(network, number));
        accept(&mut proxy, at, flow, 2 * number + 1, "10.0.0.1:80", &client);
        connect(&mut proxy, at + 100_000, flow + 1, 2 * number + 2, &own, &server);
        proxy.receive(at + 200_000, flow, bytes).send(at + 300_000, flow + 1, bytes);
        proxy.receive(at + 600_000, flow + 1, 20).send(at + 700_000, flow, 20);
        proxy.close(at + 800_000, flow).close(at + 800_000, flow + 1);
    }
    system.add("one", "a", &proxy);
    drop(proxy);
    let counts = reconciled(&system, 10_000);
    assert_eq!(
        (counts.total_messages(), counts.both_ends, counts.flows),
        (4 * count, 0, 2 * count)
    );
    BEFORE_WRITING.load(Relaxed)
}

/// Peak memory for `count` unix connections by one path.
fn most_of_unix(count: u64) -> usize {
    most_of_made(count, |client, server, number, at, flow| {
        client.flow(at, flow, UNIX_STREAM, FlowOrigin::Socket, 2 * number + 1);
        client.endpoints(
            at,
            flow,
            FlowRole::Connect,
            &unix_address(""),
            &unix_address("/run/x"),
            20,
        );
        server.flow(at + 100, flow, UNIX_STREAM, FlowOrigin::Accept, 2 * number + 2);
        server.endpoints(
            at + 100,
            flow,
            FlowRole::Accept,
            &unix_address("/run/x"),
            &unix_address(""),
            10,
        );
    })
}

/// Peak memory for `count` unrecorded peers. A socket got a datagram from each.
fn most_of_peers(count: u64) -> usize {
    let system = System::new();
    let mut server = log(20, "server");
    bind(&mut server, 110, 1, 12, "10.0.0.2:53");
    for number in 0..count {
        receive_from(&mut server, 1, 10_000 * (number + 1), number as u32, &far(1, number));
    }
    system.add("one", "b", &server);
    drop(server);
    let counts = reconciled(&system, 10_000);
    assert_eq!((counts.total_messages(), counts.flows), (count, count));
    BEFORE_WRITING.load(Relaxed)
}

/// An address of `10.NETWORK.0.0` and a port, different for each number up to 2^24.
fn far(network: u8, number: u64) -> String {
    format!("10.{network}.{}.1:{}", number >> 16, number % (1 << 16))
}

/// Peak memory by the number of connections or flows.
type MostOf = fn(u64) -> usize;

/// Peak memory by the number of turns, and their calls.
type Most = fn(u64) -> (usize, usize);

/// One measurement at a time: all count on one heap.
static ONE: Mutex<()> = Mutex::new(());

/// Number of turns compared with which all other memory is small.
const TURNS: u64 = 80_000;

#[test]
fn calls_matched_in_memory_take_the_documented_bytes_each() {
    let _one = ONE.lock();
    for (what, (bytes, calls), documented) in [
        ("both ends", most(TURNS, true, usize::MAX), 50.0),
        ("one end", most(TURNS, false, usize::MAX), 50.0),
    ] {
        let each = bytes as f64 / calls as f64;
        println!("{what}: {each:.1} bytes a call");
        assert!(each < documented, "{what}: {each} bytes a call, more than documented");
    }
}

/// Fails if calls take more than their share of a sample of the messages.
fn is_in_files(what: &str, most: Most) {
    let [(few, calls), (many, more_calls)] = [TURNS / 2, TURNS].map(most);
    let each = many.saturating_sub(few) as f64 / (more_calls - calls) as f64;
    println!("{what}: {few} bytes for {calls} calls, {many} for {more_calls}, {each:.1} a call");
    assert!(many < 10 << 20 && each < 4.0, "{what}: {each} bytes a call, which should be in files");
}

// If fewer are matched in memory than there are.

#[test]
fn calls_beyond_the_memory_limit_are_in_files() {
    let _one = ONE.lock();
    is_in_files("both ends", |turns| most(turns, true, 10_000));
}

#[test]
fn calls_of_one_end_and_datagrams_beyond_the_memory_limit_are_in_files() {
    let _one = ONE.lock();
    is_in_files("one end", |turns| most(turns, false, 10_000));
    is_in_files("datagrams of one flow", |turns| most_of_datagrams(2 * turns, false, 10_000));
    is_in_files("equal datagrams", |turns| most_of_datagrams(2 * turns, true, 10_000));
}

/// Data that exists once for each of many items is in tables, which are not on the heap if there is
/// no memory for them.
#[test]
#[ignore = "takes a minute: `scripts/test --all` runs it"]
fn data_for_each_of_many_ends_is_in_files() {
    let _one = ONE.lock();
    let ends: [(&str, MostOf, f64); 4] = [
        ("connections", most_of_connections, 60.0),
        ("connections whose other ends are missing", most_of_halves, 60.0),
        ("unix connections", most_of_unix, 60.0),
        ("flows of datagrams", most_of_peers, 60.0),
    ];
    for (what, most, documented) in ends {
        let count = 60_000;
        let [few, many] = [count, 2 * count].map(most);
        let each = many.saturating_sub(few) as f64 / count as f64;
        println!("{few} bytes for {count} {what}, {many} for twice as many, {each:.1} each");
        assert!(each < documented, "{what}: {each} bytes each, which should be in files");
    }
}
