//! Records of all kinds, each as the written words and as the reader's expected result.

use proptest::prelude::*;

use crate::api::Api;
use crate::encode::{
    self, ConnectOutcome, DatagramRecord, Direction, FileOperation, FileUse, FlowOrigin,
    FlowRecord, FlowRole, HandoffObject, LibcCall, ProcessEvent, SignalRecord, SocketKind,
    UncapturedEvent, WaitCall, WakeRecord, datagram_flag, padded_words,
};
use crate::layout::{ANCHOR_REACH, LARGEST_SNIPPET_BYTES};
use crate::write::{inet_address, unix_address};
use crate::{LogEntry, LogRecord, Snippet, SocketName};

/// A record to be written, and the expected result of reading it.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) words: Vec<u32>,
    pub(super) entry: LogEntry,
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Send), Just(Direction::Receive)]
}

/// The raw name, and its decoded form.
fn socket_name() -> impl Strategy<Value = (Vec<u8>, Option<SocketName>)> {
    let decoded = |raw: Vec<u8>| {
        let name = SocketName::from_sockaddr(&raw);
        (raw, name)
    };
    prop_oneof![
        Just((Vec::new(), None)),
        (any::<[u8; 4]>(), any::<u16>())
            .prop_map(move |(ip, port)| decoded(inet_address((ip, port).into()))),
        (any::<[u8; 16]>(), any::<u16>())
            .prop_map(move |(ip, port)| decoded(inet_address((ip, port).into()))),
        "/[a-zCHNK/]{0,90}".prop_map(move |path| decoded(unix_address(&path))),
        "@[a-z]{1,20}".prop_map(move |name| decoded(unix_address(&name))),
    ]
}

/// Event without its time and thread: the words are made when those are known.
#[derive(Clone, Debug)]
enum What {
    Transfer(Direction, u32, u64, u64),
    Datagram(Direction, u32, u32, u8, (Vec<u8>, Option<SocketName>)),
    Flow(u32, i32, u64),
    Endpoints(
        u32,
        (Vec<u8>, Option<SocketName>),
        (Vec<u8>, Option<SocketName>),
        u32,
        Option<ConnectOutcome>,
    ),
    Head(u32, u8, Vec<u8>),
    Small(u32, u8),
}

fn connect() -> impl Strategy<Value = ConnectOutcome> {
    (0..64u64, any::<bool>()).prop_map(|(took, under_way)| ConnectOutcome { took, under_way })
}

fn what() -> impl Strategy<Value = What> {
    let flow = prop_oneof![1..200u32, any::<u32>()];
    let bytes = prop_oneof![0..70_000u64, any::<u64>()];
    prop_oneof![
        6 => (direction(), flow.clone(), bytes, prop_oneof![0..32u64, Just(u64::MAX / 3)])
            .prop_map(|(direction, flow, bytes, duration)| What::Transfer(direction, flow, bytes, duration)),
        2 => (direction(), flow.clone(), any::<u32>(), 0..4u8, socket_name())
            .prop_map(|(direction, flow, sum, flags, peer)| What::Datagram(direction, flow, sum, flags, peer)),
        1 => (flow.clone(), any::<i32>(), any::<u64>()).prop_map(|(flow, fd, cookie)| What::Flow(flow, fd, cookie)),
        1 => (flow.clone(), socket_name(), socket_name(), any::<u32>(), prop::option::of(connect()))
            .prop_map(|(flow, local, peer, pid, connect)| What::Endpoints(flow, local, peer, pid, connect)),
        1 => (flow.clone(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..=LARGEST_SNIPPET_BYTES))
            .prop_map(|(flow, flags, bytes)| What::Head(flow, flags, bytes)),
        2 => (flow, 0..23u8).prop_map(|(flow, kind)| What::Small(flow, kind)),
    ]
}

fn written(what: What, tid: u32, ticks: u64) -> Written {
    let (words, record) = match what {
        What::Transfer(direction, flow, bytes, duration) => (
            match encode::transfer_common(direction, flow, ticks, bytes, duration) {
                Some(words) => words.to_vec(),
                None => encode::transfer_long(direction, flow, ticks, bytes, duration)
                    .as_slice()
                    .to_vec(),
            },
            LogRecord::Transfer { direction, flow, bytes, duration },
        ),
        What::Datagram(direction, flow, checksum, flags, (raw, peer)) => {
            let (bytes, duration) = (u64::from(checksum >> 16), 17);
            let datagram = DatagramRecord {
                direction,
                flow,
                ticks,
                duration,
                bytes,
                checksum,
                flags,
                peer: &raw,
            };
            let truncated = flags & datagram_flag::TRUNCATED != 0;
            let peeked = flags & datagram_flag::PEEKED != 0;
            let unchecked = flags & datagram_flag::NO_CHECKSUM != 0;
            let joined = flags & datagram_flag::JOINED != 0;
            (
                encode::datagram_long(&datagram).as_slice().to_vec(),
                LogRecord::Datagram {
                    direction,
                    flow,
                    bytes,
                    checksum,
                    truncated,
                    peeked,
                    unchecked,
                    joined,
                    duration,
                    peer,
                },
            )
        }
        What::Flow(flow, fd, cookie) => {
            let flow = FlowRecord {
                flow,
                fd,
                domain: 10,
                kind: 1,
                protocol: 6,
                origin: FlowOrigin::Accept,
                cookie,
                listener: flow / 2,
                namespace: cookie >> 3,
            };
            (encode::flow_record(ticks, &flow).as_slice().to_vec(), LogRecord::Flow(flow))
        }
        What::Endpoints(flow, local, peer, peer_pid, connect) => (
            encode::endpoints_record(
                ticks,
                flow,
                FlowRole::Connect,
                &local.0,
                &peer.0,
                peer_pid,
                connect,
            )
            .as_slice()
            .to_vec(),
            LogRecord::Endpoints {
                flow,
                role: FlowRole::Connect,
                local: local.1,
                peer: peer.1,
                peer_pid,
                took: connect.map(|call| call.took),
                under_way: connect.is_some_and(|call| call.under_way),
            },
        ),
        What::Head(flow, flags, bytes) => {
            let is_set = |bit: u8| flags >> bit & 1 != 0;
            let head = encode::SnippetHeader {
                direction: if is_set(0) { Direction::Send } else { Direction::Receive },
                class: flags >> 5,
                flow,
                ticks,
                offset: flow / 3,
                length: bytes.len() as u32,
                continues: is_set(1),
                cut: is_set(2),
                datagram: is_set(3),
                plain: is_set(4),
            };
            let encode::SnippetHeader {
                direction,
                class,
                offset,
                continues,
                cut,
                datagram,
                plain,
                ..
            } = head;
            (
                encode::snippet_header(&head).into_iter().chain(padded_words(&bytes)).collect(),
                LogRecord::Head(Snippet {
                    direction,
                    flow,
                    class,
                    offset,
                    continues,
                    cut,
                    datagram,
                    plain,
                    bytes,
                }),
            )
        }
        What::Small(flow, kind) => {
            let (words, record) = match kind {
                0 => (encode::close_record(ticks, flow, -1), LogRecord::Close { flow, fd: -1 }),
                1 => {
                    (encode::shutdown_record(ticks, flow, 2), LogRecord::Shutdown { flow, how: 2 })
                }
                2 => (encode::end_of_file_record(ticks, flow), LogRecord::EndOfFile { flow }),
                3 => (
                    encode::failure_record(ticks, flow, Direction::Receive, 104),
                    LogRecord::Failure { flow, direction: Direction::Receive, errno: 104 },
                ),
                4 => (
                    encode::socket_pair_record(ticks, flow, 9),
                    LogRecord::Pair { first: flow, second: 9 },
                ),
                5 => (
                    encode::duplicate_record(ticks, flow, 4, 5),
                    LogRecord::Duplicate { flow, old: 4, new: 5 },
                ),
                6 => (
                    encode::wait_record(ticks, WaitCall::Epoll, -1, 1 << 40),
                    LogRecord::Wait { call: WaitCall::Epoll, result: -1, duration: 1 << 40 },
                ),
                7 => (
                    encode::cpu_time_record(ticks, 3 << 33),
                    LogRecord::Cpu { nanoseconds: 3 << 33 },
                ),
                8 => (
                    encode::fingerprint_record(ticks, flow, Direction::Receive, 64, 0xcbf4_3926),
                    LogRecord::Fingerprint {
                        flow,
                        direction: Direction::Receive,
                        bytes: 64,
                        checksum: 0xcbf4_3926,
                    },
                ),
                9 => {
                    let call = LibcCall {
                        api: Api::GetAddrInfo,
                        flow,
                        duration: u64::from(flow) << 20,
                        result: -3,
                    };
                    (encode::libc_call_record(ticks, &call), LogRecord::Call(call))
                }
                10 => {
                    let handle = u64::from(flow % 2) << 40;
                    (
                        encode::thread_record(ticks, flow, handle),
                        LogRecord::Thread { creator: flow, handle },
                    )
                }
                12 => {
                    let file = FileUse {
                        operation: FileOperation::Sync,
                        bytes: u64::from(flow) << (flow % 33),
                        duration: u64::from(flow) << (flow % 31),
                        failed: flow % 2 == 0,
                        moved: flow % 3 == 0,
                    };
                    (encode::file_use_record(ticks, &file), LogRecord::File(file))
                }
                13 => {
                    let duration = u64::from(flow) << (flow % 33);
                    (encode::sleep_record(ticks, duration), LogRecord::Sleep { duration })
                }
                14 => {
                    let signal = SignalRecord {
                        what: HandoffObject::Pipe,
                        object: u64::from(flow) << (flow % 33),
                        all: flow % 2 == 0,
                        amount: flow % 3,
                        duration: u64::from(flow % 5) << (flow % 40),
                    };
                    (encode::signal_record(ticks, &signal), LogRecord::Signal(signal))
                }
                15 => {
                    let wake = WakeRecord {
                        what: HandoffObject::Barrier,
                        object: u64::from(flow) << (flow % 33),
                        timed_out: flow % 2 == 0,
                        interrupted: flow % 3 == 0,
                        amount: flow % 5,
                        duration: u64::from(flow) << (flow % 32),
                    };
                    (encode::wake_record(ticks, &wake), LogRecord::Wake(wake))
                }
                17 => {
                    let number = u64::from(flow) << (flow % 17);
                    let started = flow % 2 == 0;
                    (
                        encode::ready_record(ticks, number, started),
                        LogRecord::Ready { number, started },
                    )
                }
                22 => {
                    let number = u64::from(flow) << (flow % 17);
                    (
                        encode::started_by_record(ticks, number, flow),
                        LogRecord::StartedBy { number, starter: flow },
                    )
                }
                19 => {
                    let what = UncapturedEvent::OutOfSight;
                    let (domain, kind, protocol) = (flow as u8, (flow >> 3) as u8, flow as u16);
                    let socket = SocketKind { domain, kind, protocol };
                    let words = encode::uncaptured_record(ticks, what, flow, socket);
                    let object = String::new();
                    (words, LogRecord::Uncaptured { what, value: flow, socket, object })
                }
                18 => {
                    let (before, begins) = (u64::from(flow) << (flow % 33), flow % 2 == 0);
                    let direction = Direction::Receive;
                    (
                        encode::byte_count_record(ticks, flow, direction, before, begins),
                        LogRecord::Counted { flow, direction, before, begins },
                    )
                }
                20 => {
                    let (bytes, took) = (flow.rotate_left(7), flow.rotate_left(3));
                    (
                        encode::queued_record(ticks, flow, bytes, took),
                        LogRecord::Queued { flow, bytes, took },
                    )
                }
                21 => {
                    let cookie = u64::from(flow) << (flow % 33);
                    (
                        encode::other_end_record(ticks, flow, cookie),
                        LogRecord::OtherEnd { flow, cookie },
                    )
                }
                11 => (
                    encode::position_record(ticks, flow, Direction::Receive, 5 << 33),
                    LogRecord::Position { flow, direction: Direction::Receive, before: 5 << 33 },
                ),
                _ => (
                    encode::process_record(ticks, ProcessEvent::Fork, flow as i32),
                    LogRecord::Process { event: ProcessEvent::Fork, value: flow as i32 },
                ),
            };
            (words.as_slice().to_vec(), record)
        }
    };
    Written { words, entry: LogEntry { tid, ticks, record } }
}

/// Records of three threads, in the order of time.
pub(super) fn records() -> impl Strategy<Value = Vec<Written>> {
    let step = prop_oneof![9 => 0..1_000_000u64, 1 => 0..3 * ANCHOR_REACH];
    prop::collection::vec((what(), 1..4u32, step), 0..400).prop_map(|all| {
        let mut ticks = 0;
        let make = |(what, tid, step)| {
            ticks += step;
            written(what, tid, ticks)
        };
        all.into_iter().map(make).collect()
    })
}
