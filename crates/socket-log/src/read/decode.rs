//! Words as records: the inverse of [`encode`](crate::encode), for any bytes at all.

use super::damage::Fault;
use super::record::{Head, Record};
use super::socket_name::SocketName;
use crate::api::Api;
use crate::duration;
use crate::encode::{
    Call, Direction, FileOperation, FileUse, Flow, Handoff, Origin, ProcessEvent, Role, Signal,
    SocketKind, TOOK, TOOK_SHIFT, UNDER_WAY, Uncaptured, WaitCall, Wake, datagram_flag,
    resource_flag,
};
use crate::layout::{
    Anchor, HEAD_WORDS, SHORT_DATAGRAM_WORDS, SHORT_WORDS, TRANSFER_WORDS, goroutine, head, kind,
};

/// Number of bits of its time that the head of plain text has.
pub(super) const HEAD_TICKS_BITS: u32 = 64 - head::LENGTH_BITS;

/// Result of decoding the words from one place of a chunk on.
pub(crate) enum Step {
    /// A record of `words` words, and its time as far as it was stored.
    Record { words: usize, time: Time, record: Record },
    /// Nothing was committed in this word.
    Empty,
    /// Words that are to be passed over, and why.
    Damaged { words: usize, fault: Fault },
}

/// Time of a record, as stored.
#[derive(Clone, Copy)]
pub(crate) enum Time {
    Whole(u64),
    Low(u32),
    /// The low [`HEAD_TICKS_BITS`].
    Head(u64),
    /// The low [`SHORT_TICKS_BITS`](crate::layout::SHORT_TICKS_BITS).
    Short(u32),
    /// That of what stands before it.
    Before,
}

/// Decodes the record at the beginning of `words`, which reach to the end of the chunk.
pub(crate) fn step(words: &[u32]) -> Step {
    let Some(&first) = words.first() else { return Step::Empty };
    let tag = first as u8;
    match tag {
        0 if first == 0 => Step::Empty,
        kind::SEND | kind::RECEIVE => match words.get(1..TRANSFER_WORDS) {
            Some(&[ticks, rest]) => Step::Record {
                words: TRANSFER_WORDS,
                time: Time::Low(ticks),
                record: Record::Transfer {
                    direction: direction(tag == kind::SEND),
                    flow: first >> 8,
                    bytes: u64::from(rest >> 10),
                    duration: duration::unpack(rest),
                },
            },
            _ => Step::Damaged { words: words.len(), fault: Fault::BadLength },
        },
        kind::SEND_SHORT | kind::RECEIVE_SHORT => match words.get(1..SHORT_WORDS) {
            Some(&[rest]) => Step::Record {
                words: SHORT_WORDS,
                time: Time::Short(rest >> 10),
                record: Record::Transfer {
                    direction: direction(tag == kind::SEND_SHORT),
                    flow: first >> 8 & 0xfff,
                    bytes: u64::from(first >> 20),
                    duration: duration::unpack(rest),
                },
            },
            _ => Step::Damaged { words: words.len(), fault: Fault::BadLength },
        },
        kind::SEND_DATAGRAM_SHORT | kind::RECEIVE_DATAGRAM_SHORT => {
            match words.get(1..SHORT_DATAGRAM_WORDS) {
                Some(&[ticks, rest, checksum]) => Step::Record {
                    words: SHORT_DATAGRAM_WORDS,
                    time: Time::Low(ticks),
                    record: datagram(
                        direction(tag == kind::SEND_DATAGRAM_SHORT),
                        first >> 8,
                        u64::from(rest >> 10),
                        checksum,
                        0,
                        duration::unpack(rest),
                        // The walk through the chunk knows the peer.
                        None,
                    ),
                },
                _ => Step::Damaged { words: words.len(), fault: Fault::BadLength },
            }
        }
        _ => sized(tag, first, words),
    }
}

/// Which way a call moved data.
fn direction(is_send: bool) -> Direction {
    if is_send { Direction::Send } else { Direction::Receive }
}

/// The record of a datagram. `flags` are those of [`datagram_flag`].
#[inline]
fn datagram(
    direction: Direction,
    flow: u32,
    bytes: u64,
    checksum: u32,
    flags: u8,
    duration: u64,
    peer: Option<SocketName>,
) -> Record {
    Record::Datagram {
        direction,
        flow,
        bytes,
        checksum,
        truncated: flags & datagram_flag::TRUNCATED != 0,
        peeked: flags & datagram_flag::PEEKED != 0,
        unchecked: flags & datagram_flag::NO_CHECKSUM != 0,
        joined: flags & datagram_flag::JOINED != 0,
        duration,
        peer,
    }
}

/// Decodes a record that names its own length.
fn sized(tag: u8, first: u32, words: &[u32]) -> Step {
    let length = (first >> 8 & 0xff) as usize;
    let Some(body) = words.get(..length).filter(|body| !body.is_empty()) else {
        return Step::Damaged { words: words.len(), fault: Fault::BadLength };
    };
    if tag == kind::RESERVED {
        return Step::Damaged { words: length, fault: Fault::Unfinished };
    }
    match fields(tag, (first >> 16) as u16, body) {
        Ok((time, record)) => Step::Record { words: length, time, record },
        Err(fault) => Step::Damaged { words: length, fault },
    }
}

fn fields(tag: u8, aux: u16, words: &[u32]) -> Result<(Time, Record), Fault> {
    let word = |index: usize| words.get(index).copied().ok_or(Fault::BadLength);
    let long = |index: usize| Ok(u64::from(word(index)?) | u64::from(word(index + 1)?) << 32);
    let low = Time::Low(word(1)?);
    let flow = word(2)?;
    Ok(match tag {
        kind::SEND_LONG | kind::RECEIVE_LONG => (
            Time::Whole(u64::from(word(1)?) | u64::from(word(3)?) << 32),
            Record::Transfer {
                direction: direction(tag == kind::SEND_LONG),
                flow,
                bytes: long(4)?,
                duration: long(6)?,
            },
        ),
        kind::SEND_DATAGRAM | kind::RECEIVE_DATAGRAM => (
            Time::Whole(u64::from(word(1)?) | u64::from(word(3)?) << 32),
            datagram(
                direction(tag == kind::SEND_DATAGRAM),
                flow,
                u64::from(word(4)?),
                word(5)?,
                (aux >> 8) as u8,
                u64::from(word(6)?),
                name(words.get(7..), usize::from(aux & 0xff))?,
            ),
        ),
        // The walk through the chunk sees to the thread that goes on from here.
        kind::ANCHOR | kind::CONTINUED => {
            let ticks = long(1)?;
            let anchor = Anchor { ticks, monotonic: long(3)? as i64, realtime: long(5)? as i64 };
            (Time::Whole(ticks), Record::Anchor(anchor))
        }
        kind::FLOW => {
            let what = word(4)?;
            let record = Flow {
                flow,
                fd: word(3)? as i32,
                domain: aux as u8,
                kind: (aux >> 8) as u8,
                protocol: what as u16,
                origin: Origin::from_number((what >> 16 & 0xff) as u16).ok_or(Fault::BadField)?,
                cookie: long(5)?,
                listener: word(7)?,
                // Older logs are without the namespace.
                namespace: long(8).unwrap_or(0),
            };
            (low, Record::Flow(record))
        }
        kind::ENDPOINTS => {
            let lengths = word(3)?;
            let (local, peer) = ((lengths & 0xff) as usize, (lengths >> 8 & 0xff) as usize);
            let record = Record::Endpoints {
                flow,
                role: Role::from_number(aux).ok_or(Fault::BadField)?,
                local: name(words.get(5..), local)?,
                peer: name(words.get(5 + local.div_ceil(4)..), peer)?,
                peer_pid: word(4)?,
                took: (lengths & TOOK != 0).then(|| duration::unpack(lengths >> TOOK_SHIFT)),
                under_way: lengths & UNDER_WAY != 0,
            };
            (low, record)
        }
        kind::CLOSE => (low, Record::Close { flow, fd: word(3)? as i32 }),
        kind::SHUTDOWN => (low, Record::Shutdown { flow, how: aux }),
        kind::END_OF_FILE => (low, Record::EndOfFile { flow }),
        kind::FAILURE => {
            let direction = if word(3)? == 0 { Direction::Send } else { Direction::Receive };
            (low, Record::Failure { flow, direction, errno: aux })
        }
        kind::PAIR => (low, Record::Pair { first: flow, second: word(3)? }),
        kind::DUPLICATE => {
            (low, Record::Duplicate { flow, old: word(3)? as i32, new: word(4)? as i32 })
        }
        kind::PROCESS => (
            low,
            Record::Process {
                event: ProcessEvent::from_number(aux).ok_or(Fault::BadField)?,
                value: flow as i32,
            },
        ),
        kind::WAIT => (
            low,
            Record::Wait {
                call: WaitCall::from_number(aux).ok_or(Fault::BadField)?,
                result: flow as i32,
                duration: long(3)?,
            },
        ),
        kind::CPU => (low, Record::Cpu { nanoseconds: long(2)? }),
        kind::FINGERPRINT => {
            let direction = if aux == 0 { Direction::Send } else { Direction::Receive };
            (low, Record::Fingerprint { flow, direction, bytes: word(3)?, checksum: word(4)? })
        }
        kind::POSITION => {
            let direction = if aux == 0 { Direction::Send } else { Direction::Receive };
            (low, Record::Position { flow, direction, before: long(3)? })
        }
        kind::COUNTED => {
            let direction = if aux & 1 == 0 { Direction::Send } else { Direction::Receive };
            let begins = aux & 2 != 0;
            (low, Record::Counted { flow, direction, before: long(3)?, begins })
        }
        kind::QUEUED => (low, Record::Queued { flow, bytes: word(3)?, took: word(4)? }),
        kind::OTHER_END => (low, Record::OtherEnd { flow, cookie: long(3)? }),
        kind::CALL => {
            let call = Call {
                api: Api::from_number(aux).ok_or(Fault::BadField)?,
                flow,
                duration: long(4)?,
                result: word(6)? as i32,
            };
            (Time::Whole(u64::from(word(1)?) | u64::from(word(3)?) << 32), Record::Call(call))
        }
        kind::UNSEEN => {
            let path = bytes(words.get(4..), word(3)? as usize)?;
            let program = String::from_utf8_lossy(&path).into_owned();
            (low, Record::Unseen { cause: aux, pid: flow, program })
        }
        kind::UNCAPTURED => {
            let what = Uncaptured::from_number(aux).ok_or(Fault::BadField)?;
            let socket = word(3)?;
            let object = match what {
                Uncaptured::Object => bytes(words.get(5..), word(4)? as usize)?,
                _ => Vec::new(),
            };
            let record = Record::Uncaptured {
                what,
                value: flow,
                socket: SocketKind {
                    domain: socket as u8,
                    kind: (socket >> 8) as u8,
                    protocol: (socket >> 16) as u16,
                },
                object: String::from_utf8_lossy(&object).into_owned(),
            };
            (low, record)
        }
        kind::THREAD => {
            (low, Record::Thread { creator: flow, handle: long(3).unwrap_or_default() })
        }
        kind::FILE | kind::SLEEP | kind::SIGNAL | kind::WAKE => (low, resource(tag, aux, words)?),
        kind::HEAD => {
            let is_set = |flag: u16| aux & flag != 0;
            let length = word(4)?;
            let (in_bits, plain) = (length & ((1 << head::LENGTH_BITS) - 1), is_set(head::PLAIN));
            let high = u64::from(length >> head::LENGTH_BITS) << 32;
            let time = if plain { Time::Head(high | u64::from(word(1)?)) } else { low };
            let length = if plain { in_bits } else { length };
            let record = Head {
                direction: direction(!is_set(head::RECEIVED)),
                flow,
                class: aux as u8,
                offset: word(3)?,
                continues: is_set(head::CONTINUES),
                cut: is_set(head::CUT),
                datagram: is_set(head::DATAGRAM),
                plain,
                bytes: bytes(words.get(HEAD_WORDS..), length as usize)?,
            };
            (time, Record::Head(record))
        }
        kind::GOROUTINE => {
            let number = u64::from(aux) << 32 | u64::from(word(1)?);
            let creator = goroutine::thread(u64::from(flow));
            (Time::Before, Record::Goroutine { number, creator })
        }
        kind::READY | kind::STARTED => {
            let number = u64::from(aux) << 32 | u64::from(flow);
            (low, Record::Ready { number, started: tag == kind::STARTED })
        }
        _ => return Err(Fault::BadField),
    })
}

/// Decodes a record of resources, in which words at the end that are zero may be missing.
fn resource(tag: u8, aux: u16, words: &[u32]) -> Result<Record, Fault> {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let join = |low: usize, high: usize| u64::from(word(low)) | u64::from(word(high)) << 32;
    let is_set = |flag: u16| aux & flag != 0;
    let what = || Handoff::from_number(aux & 0xff).ok_or(Fault::BadField);
    Ok(match tag {
        kind::FILE => Record::File(FileUse {
            operation: FileOperation::from_number(aux & 0xff).ok_or(Fault::BadField)?,
            bytes: join(2, 4),
            duration: join(3, 5),
            failed: is_set(resource_flag::FAILED),
            moved: is_set(resource_flag::MOVED),
        }),
        kind::SLEEP => Record::Sleep { duration: join(2, 3) },
        kind::SIGNAL => Record::Signal(Signal {
            what: what()?,
            object: join(2, 3),
            all: is_set(resource_flag::ALL),
            amount: word(5),
            duration: join(4, 6),
        }),
        _ => Record::Wake(Wake {
            what: what()?,
            object: join(2, 3),
            timed_out: is_set(resource_flag::TIMED_OUT),
            interrupted: is_set(resource_flag::INTERRUPTED),
            amount: word(5),
            duration: join(4, 6),
        }),
    })
}

/// Name in the first `length` bytes of `words`; none where the length is zero.
fn name(words: Option<&[u32]>, length: usize) -> Result<Option<SocketName>, Fault> {
    if length == 0 {
        return Ok(None);
    }
    SocketName::decode(&bytes(words, length)?).map(Some).ok_or(Fault::BadField)
}

/// First `length` bytes of `words`.
fn bytes(words: Option<&[u32]>, length: usize) -> Result<Vec<u8>, Fault> {
    let words = words.unwrap_or(&[]);
    if 4 * words.len() < length {
        return Err(Fault::BadLength);
    }
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).take(length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;

    #[test]
    fn a_flow_of_an_older_log_is_in_an_unknown_namespace() {
        let flow = Flow {
            flow: 7,
            fd: 9,
            domain: 2,
            kind: 1,
            protocol: 6,
            origin: Origin::Socket,
            cookie: 0x1_0000_0002,
            listener: 3,
            namespace: 0x2_0000_0001,
        };
        let mut words = encode::flow(5, &flow).as_slice().to_vec();
        let decoded = |words: &[u32]| match step(words) {
            Step::Record { words, record: Record::Flow(flow), .. } => Some((words, flow)),
            _ => None,
        };
        assert_eq!(decoded(&words), Some((10, flow)));
        // Without the two words of the namespace, and a length that says so.
        words.truncate(8);
        words[0] = words[0] & !0xff00 | 8 << 8;
        assert_eq!(decoded(&words), Some((8, Flow { namespace: 0, ..flow })));
    }
}
