//! Words as records: the inverse of [`encode`](crate::encode), for any bytes at all.

use super::damage::DamageKind;
use super::record::{LogRecord, Snippet};
use super::socket_name::SocketName;
use crate::api::Api;
use crate::duration;
use crate::encode::{
    DURATION_SHIFT, Direction, FileOperation, FileUse, FlowOrigin, FlowRecord, FlowRole,
    HAS_DURATION, HandoffObject, LibcCall, ProcessEvent, RareWords, SignalRecord, SocketKind,
    UNDER_WAY, UncapturedEvent, WaitCall, WakeRecord, datagram_flag, resource_flag,
};
use crate::layout::{
    Anchor, SHORT_DATAGRAM_WORDS, SHORT_WORDS, SNIPPET_WORDS, TRANSFER_WORDS, goroutine, kind,
    rare_words, snippet,
};

/// Number of low bits of its time that a plain-text snippet's record stores.
pub(super) const HEAD_TICKS_BITS: u32 = 64 - snippet::LENGTH_BITS;

/// Result of decoding the words from one place of a chunk on.
pub(crate) enum DecodeStep {
    /// A record of `words` words, and its time as far as it was stored.
    Record { words: usize, time: StoredTime, record: LogRecord },
    /// Nothing was committed in this word.
    Empty,
    /// A number of words that are to be skipped, and the reason.
    Damaged { words: usize, fault: DamageKind },
}

/// Time of a record, as stored.
#[derive(Clone, Copy)]
pub(crate) enum StoredTime {
    /// All bits of the ticks.
    Whole(u64),
    /// The low 32 bits of the ticks.
    Low(u32),
    /// The low [`HEAD_TICKS_BITS`] of the ticks.
    Snippet(u64),
    /// The low [`SHORT_TICKS_BITS`](crate::layout::SHORT_TICKS_BITS) of the ticks.
    Short(u32),
    /// The time of the preceding record.
    Before,
}

/// Decodes the record at the beginning of `words`, which extend to the end of the chunk.
pub(crate) fn decode_step(words: &[u32]) -> DecodeStep {
    let Some(&first) = words.first() else { return DecodeStep::Empty };
    let tag = first as u8;
    match tag {
        0 if first == 0 => DecodeStep::Empty,
        kind::SEND | kind::RECEIVE => match words.get(1..TRANSFER_WORDS) {
            Some(&[ticks, rest]) => DecodeStep::Record {
                words: TRANSFER_WORDS,
                time: StoredTime::Low(ticks),
                record: LogRecord::Transfer {
                    direction: direction_of(tag == kind::SEND),
                    flow: first >> 8,
                    bytes: u64::from(rest >> 10),
                    duration: duration::unpack_duration(rest),
                },
            },
            _ => DecodeStep::Damaged { words: words.len(), fault: DamageKind::BadLength },
        },
        kind::SEND_SHORT | kind::RECEIVE_SHORT => match words.get(1..SHORT_WORDS) {
            Some(&[rest]) => DecodeStep::Record {
                words: SHORT_WORDS,
                time: StoredTime::Short(rest >> 10),
                record: LogRecord::Transfer {
                    direction: direction_of(tag == kind::SEND_SHORT),
                    flow: first >> 8 & 0xfff,
                    bytes: u64::from(first >> 20),
                    duration: duration::unpack_duration(rest),
                },
            },
            _ => DecodeStep::Damaged { words: words.len(), fault: DamageKind::BadLength },
        },
        kind::SEND_DATAGRAM_SHORT | kind::RECEIVE_DATAGRAM_SHORT => {
            match words.get(1..SHORT_DATAGRAM_WORDS) {
                Some(&[ticks, rest, checksum]) => DecodeStep::Record {
                    words: SHORT_DATAGRAM_WORDS,
                    time: StoredTime::Low(ticks),
                    record: datagram_record(
                        direction_of(tag == kind::SEND_DATAGRAM_SHORT),
                        first >> 8,
                        u64::from(rest >> 10),
                        checksum,
                        0,
                        duration::unpack_duration(rest),
                        // The walk through the chunk adds the peer.
                        None,
                    ),
                },
                _ => DecodeStep::Damaged { words: words.len(), fault: DamageKind::BadLength },
            }
        }
        _ => decode_sized(tag, first, words),
    }
}

/// Direction in which a call moved data.
fn direction_of(is_send: bool) -> Direction {
    if is_send { Direction::Send } else { Direction::Receive }
}

/// The record of a datagram. `flags` are from [`datagram_flag`].
#[inline]
fn datagram_record(
    direction: Direction,
    flow: u32,
    bytes: u64,
    checksum: u32,
    flags: u8,
    duration: u64,
    peer: Option<SocketName>,
) -> LogRecord {
    LogRecord::Datagram {
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

/// Decodes a record that contains its own length.
fn decode_sized(tag: u8, first: u32, words: &[u32]) -> DecodeStep {
    let length = (first >> 8 & 0xff) as usize;
    let Some(body) = words.get(..length).filter(|body| !body.is_empty()) else {
        return DecodeStep::Damaged { words: words.len(), fault: DamageKind::BadLength };
    };
    if tag == kind::RESERVED {
        return DecodeStep::Damaged { words: length, fault: DamageKind::Unfinished };
    }
    match decode_fields(tag, (first >> 16) as u16, body) {
        Ok((time, record)) => DecodeStep::Record { words: length, time, record },
        Err(fault) => DecodeStep::Damaged { words: length, fault },
    }
}

/// Decodes the fields of a record of the kind `tag`, whose `words` include the first. `aux` is the
/// high half of the first word.
fn decode_fields(tag: u8, aux: u16, words: &[u32]) -> Result<(StoredTime, LogRecord), DamageKind> {
    let word = |index: usize| words.get(index).copied().ok_or(DamageKind::BadLength);
    let long = |index: usize| Ok(u64::from(word(index)?) | u64::from(word(index + 1)?) << 32);
    if tag == kind::RARE_WORDS {
        let words = RareWords::from_values(words.iter().skip(1).copied());
        // The walk through the chunk adds the rest of the flow's number.
        let flow = u32::from(aux >> (16 - rare_words::FLOW_BITS));
        let direction = direction_of(aux & rare_words::RECEIVED == 0);
        return Ok((StoredTime::Before, LogRecord::RareWords { direction, flow, words }));
    }
    let low = StoredTime::Low(word(1)?);
    let flow = word(2)?;
    Ok(match tag {
        kind::SEND_LONG | kind::RECEIVE_LONG => (
            StoredTime::Whole(u64::from(word(1)?) | u64::from(word(3)?) << 32),
            LogRecord::Transfer {
                direction: direction_of(tag == kind::SEND_LONG),
                flow,
                bytes: long(4)?,
                duration: long(6)?,
            },
        ),
        kind::SEND_DATAGRAM | kind::RECEIVE_DATAGRAM => (
            StoredTime::Whole(u64::from(word(1)?) | u64::from(word(3)?) << 32),
            datagram_record(
                direction_of(tag == kind::SEND_DATAGRAM),
                flow,
                u64::from(word(4)?),
                word(5)?,
                (aux >> 8) as u8,
                u64::from(word(6)?),
                socket_name(words.get(7..), usize::from(aux & 0xff))?,
            ),
        ),
        // The walk through the chunk handles the thread that continues from here.
        kind::ANCHOR | kind::CONTINUED => {
            let ticks = long(1)?;
            let anchor = Anchor { ticks, monotonic: long(3)? as i64, realtime: long(5)? as i64 };
            (StoredTime::Whole(ticks), LogRecord::Anchor(anchor))
        }
        kind::FLOW => {
            let what = word(4)?;
            let record = FlowRecord {
                flow,
                fd: word(3)? as i32,
                domain: aux as u8,
                kind: (aux >> 8) as u8,
                protocol: what as u16,
                origin: FlowOrigin::from_number((what >> 16 & 0xff) as u16)
                    .ok_or(DamageKind::BadField)?,
                cookie: long(5)?,
                listener: word(7)?,
                // Older logs lack the namespace.
                namespace: long(8).unwrap_or(0),
            };
            (low, LogRecord::Flow(record))
        }
        kind::ENDPOINTS => {
            let lengths = word(3)?;
            let (local, peer) = ((lengths & 0xff) as usize, (lengths >> 8 & 0xff) as usize);
            let record = LogRecord::Endpoints {
                flow,
                role: FlowRole::from_number(aux).ok_or(DamageKind::BadField)?,
                local: socket_name(words.get(5..), local)?,
                peer: socket_name(words.get(5 + local.div_ceil(4)..), peer)?,
                peer_pid: word(4)?,
                took: (lengths & HAS_DURATION != 0)
                    .then(|| duration::unpack_duration(lengths >> DURATION_SHIFT)),
                under_way: lengths & UNDER_WAY != 0,
            };
            (low, record)
        }
        kind::CLOSE => (low, LogRecord::Close { flow, fd: word(3)? as i32 }),
        kind::SHUTDOWN => (low, LogRecord::Shutdown { flow, how: aux }),
        kind::END_OF_FILE => (low, LogRecord::EndOfFile { flow }),
        kind::FAILURE => {
            let direction = if word(3)? == 0 { Direction::Send } else { Direction::Receive };
            (low, LogRecord::Failure { flow, direction, errno: aux })
        }
        kind::PAIR => (low, LogRecord::Pair { first: flow, second: word(3)? }),
        kind::DUPLICATE => {
            (low, LogRecord::Duplicate { flow, old: word(3)? as i32, new: word(4)? as i32 })
        }
        kind::PROCESS => (
            low,
            LogRecord::Process {
                event: ProcessEvent::from_number(aux).ok_or(DamageKind::BadField)?,
                value: flow as i32,
            },
        ),
        kind::WAIT => (
            low,
            LogRecord::Wait {
                call: WaitCall::from_number(aux).ok_or(DamageKind::BadField)?,
                result: flow as i32,
                duration: long(3)?,
            },
        ),
        kind::CPU => (low, LogRecord::Cpu { nanoseconds: long(2)? }),
        kind::FINGERPRINT => {
            let direction = if aux == 0 { Direction::Send } else { Direction::Receive };
            (low, LogRecord::Fingerprint { flow, direction, bytes: word(3)?, checksum: word(4)? })
        }
        kind::POSITION => {
            let direction = if aux == 0 { Direction::Send } else { Direction::Receive };
            (low, LogRecord::Position { flow, direction, before: long(3)? })
        }
        kind::COUNTED => {
            let direction = if aux & 1 == 0 { Direction::Send } else { Direction::Receive };
            let begins = aux & 2 != 0;
            (low, LogRecord::Counted { flow, direction, before: long(3)?, begins })
        }
        kind::QUEUED => (low, LogRecord::Queued { flow, bytes: word(3)?, took: word(4)? }),
        kind::OTHER_END => (low, LogRecord::OtherEnd { flow, cookie: long(3)? }),
        kind::CALL => {
            let call = LibcCall {
                api: Api::from_number(aux).ok_or(DamageKind::BadField)?,
                flow,
                duration: long(4)?,
                result: word(6)? as i32,
            };
            (
                StoredTime::Whole(u64::from(word(1)?) | u64::from(word(3)?) << 32),
                LogRecord::Call(call),
            )
        }
        kind::UNSEEN => {
            let path = bytes_of_words(words.get(4..), word(3)? as usize)?;
            let program = String::from_utf8_lossy(&path).into_owned();
            (low, LogRecord::Unseen { cause: aux, pid: flow, program })
        }
        kind::UNCAPTURED => {
            let what = UncapturedEvent::from_number(aux).ok_or(DamageKind::BadField)?;
            let socket = word(3)?;
            let object = match what {
                UncapturedEvent::Object | UncapturedEvent::Runtime => {
                    bytes_of_words(words.get(5..), word(4)? as usize)?
                }
                _ => Vec::new(),
            };
            let record = LogRecord::Uncaptured {
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
            (low, LogRecord::Thread { creator: flow, handle: long(3).unwrap_or_default() })
        }
        kind::FILE | kind::SLEEP | kind::SIGNAL | kind::WAKE => {
            (low, decode_resource(tag, aux, words)?)
        }
        kind::SNIPPET => {
            let is_set = |flag: u16| aux & flag != 0;
            let length = word(4)?;
            let (in_bits, plain) =
                (length & ((1 << snippet::LENGTH_BITS) - 1), is_set(snippet::PLAIN));
            let high = u64::from(length >> snippet::LENGTH_BITS) << 32;
            let time = if plain { StoredTime::Snippet(high | u64::from(word(1)?)) } else { low };
            let length = if plain { in_bits } else { length };
            let record = Snippet {
                direction: direction_of(!is_set(snippet::RECEIVED)),
                flow,
                class: aux as u8,
                offset: word(3)?,
                continues: is_set(snippet::CONTINUES),
                cut: is_set(snippet::CUT),
                datagram: is_set(snippet::DATAGRAM),
                plain,
                bytes: bytes_of_words(words.get(SNIPPET_WORDS..), length as usize)?,
            };
            (time, LogRecord::Head(record))
        }
        kind::GOROUTINE => {
            let number = u64::from(aux) << 32 | u64::from(word(1)?);
            let creator = goroutine::thread_id(u64::from(flow));
            (StoredTime::Before, LogRecord::Goroutine { number, creator })
        }
        kind::STARTED_BY => {
            let number = u64::from(aux) << 32 | u64::from(flow);
            let time = StoredTime::Whole(u64::from(word(1)?) | u64::from(word(3)?) << 32);
            (time, LogRecord::StartedBy { number, starter: word(4)? })
        }
        kind::READY | kind::STARTED => {
            let number = u64::from(aux) << 32 | u64::from(flow);
            (low, LogRecord::Ready { number, started: tag == kind::STARTED })
        }
        _ => return Err(DamageKind::BadField),
    })
}

/// Decodes a record of resources, in which zero words at the end may be missing.
fn decode_resource(tag: u8, aux: u16, words: &[u32]) -> Result<LogRecord, DamageKind> {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let join = |low: usize, high: usize| u64::from(word(low)) | u64::from(word(high)) << 32;
    let is_set = |flag: u16| aux & flag != 0;
    let what = || HandoffObject::from_number(aux & 0xff).ok_or(DamageKind::BadField);
    Ok(match tag {
        kind::FILE => LogRecord::File(FileUse {
            operation: FileOperation::from_number(aux & 0xff).ok_or(DamageKind::BadField)?,
            bytes: join(2, 4),
            duration: join(3, 5),
            failed: is_set(resource_flag::FAILED),
            moved: is_set(resource_flag::MOVED),
        }),
        kind::SLEEP => LogRecord::Sleep { duration: join(2, 3) },
        kind::SIGNAL => LogRecord::Signal(SignalRecord {
            what: what()?,
            object: join(2, 3),
            all: is_set(resource_flag::ALL),
            amount: word(5),
            duration: join(4, 6),
        }),
        _ => LogRecord::Wake(WakeRecord {
            what: what()?,
            object: join(2, 3),
            timed_out: is_set(resource_flag::TIMED_OUT),
            interrupted: is_set(resource_flag::INTERRUPTED),
            amount: word(5),
            duration: join(4, 6),
        }),
    })
}

/// Name in the first `length` bytes of `words`; none if the length is zero.
fn socket_name(words: Option<&[u32]>, length: usize) -> Result<Option<SocketName>, DamageKind> {
    if length == 0 {
        return Ok(None);
    }
    SocketName::from_sockaddr(&bytes_of_words(words, length)?).map(Some).ok_or(DamageKind::BadField)
}

/// First `length` bytes of `words`.
fn bytes_of_words(words: Option<&[u32]>, length: usize) -> Result<Vec<u8>, DamageKind> {
    let words = words.unwrap_or(&[]);
    if 4 * words.len() < length {
        return Err(DamageKind::BadLength);
    }
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).take(length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;

    #[test]
    fn a_flow_of_an_older_log_is_in_an_unknown_namespace() {
        let flow = FlowRecord {
            flow: 7,
            fd: 9,
            domain: 2,
            kind: 1,
            protocol: 6,
            origin: FlowOrigin::Socket,
            cookie: 0x1_0000_0002,
            listener: 3,
            namespace: 0x2_0000_0001,
        };
        let mut words = encode::flow_record(5, &flow).as_slice().to_vec();
        let decoded = |words: &[u32]| match decode_step(words) {
            DecodeStep::Record { words, record: LogRecord::Flow(flow), .. } => Some((words, flow)),
            _ => None,
        };
        assert_eq!(decoded(&words), Some((10, flow)));
        // Without the two words of the namespace, and with the matching length.
        words.truncate(8);
        words[0] = words[0] & !0xff00 | 8 << 8;
        assert_eq!(decoded(&words), Some((8, FlowRecord { namespace: 0, ..flow })));
    }
}
