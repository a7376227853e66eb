//! Records of all kinds, each as the words that are written and as what a reader should make of
//! them.

use proptest::prelude::*;

use crate::api::Api;
use crate::encode::{
    self, Call, Connect, Datagram, Direction, FileOperation, FileUse, Flow, Handoff, Origin,
    ProcessEvent, Role, Signal, SocketKind, Uncaptured, WaitCall, Wake, datagram_flag, padded,
};
use crate::layout::{ANCHOR_REACH, LARGEST_HEAD_BYTES};
use crate::write::{inet, unix};
use crate::{Entry, Head, Record, SocketName};

/// A record to be written, and how it must come back.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) words: Vec<u32>,
    pub(super) entry: Entry,
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Send), Just(Direction::Receive)]
}

/// The raw name, and what it says.
fn socket_name() -> impl Strategy<Value = (Vec<u8>, Option<SocketName>)> {
    let decoded = |raw: Vec<u8>| {
        let name = SocketName::decode(&raw);
        (raw, name)
    };
    prop_oneof![
        Just((Vec::new(), None)),
        (any::<[u8; 4]>(), any::<u16>())
            .prop_map(move |(ip, port)| decoded(inet((ip, port).into()))),
        (any::<[u8; 16]>(), any::<u16>())
            .prop_map(move |(ip, port)| decoded(inet((ip, port).into()))),
        "/[a-zCHNK/]{0,90}".prop_map(move |path| decoded(unix(&path))),
        "@[a-z]{1,20}".prop_map(move |name| decoded(unix(&name))),
    ]
}

/// What happened, without its time and thread: the words are made when those are known.
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
        Option<Connect>,
    ),
    Head(u32, u8, Vec<u8>),
    Small(u32, u8),
}

fn connect() -> impl Strategy<Value = Connect> {
    (0..64u64, any::<bool>()).prop_map(|(took, under_way)| Connect { took, under_way })
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
        1 => (flow.clone(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..=LARGEST_HEAD_BYTES))
            .prop_map(|(flow, flags, bytes)| What::Head(flow, flags, bytes)),
        2 => (flow, 0..22u8).prop_map(|(flow, kind)| What::Small(flow, kind)),
    ]
}

fn written(what: What, tid: u32, ticks: u64) -> Written {
    let (words, record) = match what {
        What::Transfer(direction, flow, bytes, duration) => (
            match encode::transfer(direction, flow, ticks, bytes, duration) {
                Some(words) => words.to_vec(),
                None => encode::transfer_long(direction, flow, ticks, bytes, duration)
                    .as_slice()
                    .to_vec(),
            },
            Record::Transfer { direction, flow, bytes, duration },
        ),
        What::Datagram(direction, flow, checksum, flags, (raw, peer)) => {
            let (bytes, duration) = (u64::from(checksum >> 16), 17);
            let datagram =
                Datagram { direction, flow, ticks, duration, bytes, checksum, flags, peer: &raw };
            let truncated = flags & datagram_flag::TRUNCATED != 0;
            let peeked = flags & datagram_flag::PEEKED != 0;
            let unchecked = flags & datagram_flag::NO_CHECKSUM != 0;
            let joined = flags & datagram_flag::JOINED != 0;
            (
                encode::datagram(&datagram).as_slice().to_vec(),
                Record::Datagram {
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
            let flow = Flow {
                flow,
                fd,
                domain: 10,
                kind: 1,
                protocol: 6,
                origin: Origin::Accept,
                cookie,
                listener: flow / 2,
                namespace: cookie >> 3,
            };
            (encode::flow(ticks, &flow).as_slice().to_vec(), Record::Flow(flow))
        }
        What::Endpoints(flow, local, peer, peer_pid, connect) => (
            encode::endpoints(ticks, flow, Role::Connect, &local.0, &peer.0, peer_pid, connect)
                .as_slice()
                .to_vec(),
            Record::Endpoints {
                flow,
                role: Role::Connect,
                local: local.1,
                peer: peer.1,
                peer_pid,
                took: connect.map(|call| call.took),
                under_way: connect.is_some_and(|call| call.under_way),
            },
        ),
        What::Head(flow, flags, bytes) => {
            let is_set = |bit: u8| flags >> bit & 1 != 0;
            let head = encode::Head {
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
            let encode::Head { direction, class, offset, continues, cut, datagram, plain, .. } =
                head;
            (
                encode::head(&head).into_iter().chain(padded(&bytes)).collect(),
                Record::Head(Head {
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
                0 => (encode::close(ticks, flow, -1), Record::Close { flow, fd: -1 }),
                1 => (encode::shutdown(ticks, flow, 2), Record::Shutdown { flow, how: 2 }),
                2 => (encode::end_of_file(ticks, flow), Record::EndOfFile { flow }),
                3 => (
                    encode::failure(ticks, flow, Direction::Receive, 104),
                    Record::Failure { flow, direction: Direction::Receive, errno: 104 },
                ),
                4 => (encode::pair(ticks, flow, 9), Record::Pair { first: flow, second: 9 }),
                5 => (
                    encode::duplicate(ticks, flow, 4, 5),
                    Record::Duplicate { flow, old: 4, new: 5 },
                ),
                6 => (
                    encode::wait(ticks, WaitCall::Epoll, -1, 1 << 40),
                    Record::Wait { call: WaitCall::Epoll, result: -1, duration: 1 << 40 },
                ),
                7 => (encode::cpu(ticks, 3 << 33), Record::Cpu { nanoseconds: 3 << 33 }),
                8 => (
                    encode::fingerprint(ticks, flow, Direction::Receive, 64, 0xcbf4_3926),
                    Record::Fingerprint {
                        flow,
                        direction: Direction::Receive,
                        bytes: 64,
                        checksum: 0xcbf4_3926,
                    },
                ),
                9 => {
                    let call = Call {
                        api: Api::GetAddrInfo,
                        flow,
                        duration: u64::from(flow) << 20,
                        result: -3,
                    };
                    (encode::call(ticks, &call), Record::Call(call))
                }
                10 => {
                    let handle = u64::from(flow % 2) << 40;
                    (encode::thread(ticks, flow, handle), Record::Thread { creator: flow, handle })
                }
                12 => {
                    let file = FileUse {
                        operation: FileOperation::Sync,
                        bytes: u64::from(flow) << (flow % 33),
                        duration: u64::from(flow) << (flow % 31),
                        failed: flow % 2 == 0,
                        moved: flow % 3 == 0,
                    };
                    (encode::file_use(ticks, &file), Record::File(file))
                }
                13 => {
                    let duration = u64::from(flow) << (flow % 33);
                    (encode::sleep(ticks, duration), Record::Sleep { duration })
                }
                14 => {
                    let signal = Signal {
                        what: Handoff::Pipe,
                        object: u64::from(flow) << (flow % 33),
                        all: flow % 2 == 0,
                        amount: flow % 3,
                        duration: u64::from(flow % 5) << (flow % 40),
                    };
                    (encode::signal(ticks, &signal), Record::Signal(signal))
                }
                15 => {
                    let wake = Wake {
                        what: Handoff::Barrier,
                        object: u64::from(flow) << (flow % 33),
                        timed_out: flow % 2 == 0,
                        interrupted: flow % 3 == 0,
                        amount: flow % 5,
                        duration: u64::from(flow) << (flow % 32),
                    };
                    (encode::wake(ticks, &wake), Record::Wake(wake))
                }
                17 => {
                    let number = u64::from(flow) << (flow % 17);
                    let started = flow % 2 == 0;
                    (encode::ready(ticks, number, started), Record::Ready { number, started })
                }
                19 => {
                    let what = Uncaptured::OutOfSight;
                    let (domain, kind, protocol) = (flow as u8, (flow >> 3) as u8, flow as u16);
                    let socket = SocketKind { domain, kind, protocol };
                    let words = encode::uncaptured(ticks, what, flow, socket);
                    let object = String::new();
                    (words, Record::Uncaptured { what, value: flow, socket, object })
                }
                18 => {
                    let (before, begins) = (u64::from(flow) << (flow % 33), flow % 2 == 0);
                    let direction = Direction::Receive;
                    (
                        encode::counted(ticks, flow, direction, before, begins),
                        Record::Counted { flow, direction, before, begins },
                    )
                }
                20 => {
                    let (bytes, took) = (flow.rotate_left(7), flow.rotate_left(3));
                    (encode::queued(ticks, flow, bytes, took), Record::Queued { flow, bytes, took })
                }
                21 => {
                    let cookie = u64::from(flow) << (flow % 33);
                    (encode::other_end(ticks, flow, cookie), Record::OtherEnd { flow, cookie })
                }
                11 => (
                    encode::position(ticks, flow, Direction::Receive, 5 << 33),
                    Record::Position { flow, direction: Direction::Receive, before: 5 << 33 },
                ),
                _ => (
                    encode::process(ticks, ProcessEvent::Fork, flow as i32),
                    Record::Process { event: ProcessEvent::Fork, value: flow as i32 },
                ),
            };
            (words.as_slice().to_vec(), record)
        }
    };
    Written { words, entry: Entry { tid, ticks, record } }
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
