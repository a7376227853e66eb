//! Rare words of messages: what a message may share with another one to which it belongs, such as
//! an order number that is received on one connection and sent on another.
//!
//! The first bytes of each message are divided into words. Words that the process sees all the time
//! are dropped, and of the others up to two are logged after the message, as 32-bit hashes with a
//! secret key that is never written (`docs/privacy.md`). Nothing is known about protocols: a word
//! is a run of letters, digits, `-` and `_`, or a window of binary data.

mod choice;
mod classes;
mod counts;
mod key;
mod narrow;
mod scan;
mod turn;
#[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
mod wide;

use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::Direction;

use self::counts::WordCounts;
use self::key::WordKey;
use self::scan::{PIECE_BYTES, WordScan};
use self::turn::{StreamTurn, TurnFacts, WordTail};
use super::{CallBuffers, WatchedTransfer};
use crate::log::{RecordWriter, StreamTransfer};
use crate::platform::{InitOnce, raw};
use crate::state;
use crate::state::options::recording_options;
use crate::state::settings;
use crate::tuning::{MAX_VAIN, SMALL_TRANSFER_BYTES, STREAMS_WITH_WORDS, TRIES_IN_VAIN};

/// Key of this process and its children.
static KEY: InitOnce<WordKey> = InitOnce::new(WordKey::NONE);

/// Counts of the words of this process.
static COUNTS: WordCounts = WordCounts::new();

/// State of the current turn of each stream: what one side sends until the other side sends. Null
/// if words are not recorded.
static TURNS: AtomicPtr<StreamTurn> = AtomicPtr::new(ptr::null_mut());

/// Prepares the recording of words, if it is wanted. Returns false if memory is lacking. Without a
/// key, which is the recording's or random, no words are recorded.
pub(super) fn create_tables() -> bool {
    if recording_options().words == 0 {
        return true;
    }
    let Some(secret) = settings::word_secret().or_else(raw::random_bytes) else { return true };
    #[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
    crate::platform::processor::detect_instructions();
    // SAFETY: the constructor runs before the program has a second thread.
    unsafe { KEY.set(WordKey::from_secret(secret)) };
    let Some(memory) = state::private_to_process(STREAMS_WITH_WORDS * size_of::<StreamTurn>())
    else {
        return false;
    };
    TURNS.store(memory.cast(), Relaxed);
    true
}

/// State at the place of `flow` in the table, which another flow may have; `None` if words are not
/// recorded.
#[inline(always)]
fn turn_place(flow: u32) -> Option<&'static StreamTurn> {
    let all = TURNS.load(Relaxed);
    // SAFETY: null, or [`STREAMS_WITH_WORDS`] places, which stay mapped and in which zeros are
    // valid.
    (!all.is_null()).then(|| unsafe { &*all.add(flow as usize % STREAMS_WITH_WORDS) })
}

/// Writes the rare words of a stream's transfer to the log, in which the transfer has just been
/// written.
///
/// # Safety
/// The buffers are readable as far as the transfer has bytes.
#[inline(never)]
pub(super) unsafe fn log_words(moved: &WatchedTransfer) {
    let StreamTransfer { direction, flow, bytes, ticks, .. } = moved.transfer;
    let Some(turn) = turn_place(flow) else { return };
    let received = direction == Direction::Receive;
    let mut facts = turn.facts();
    if facts.flow != flow {
        facts = TurnFacts::new(flow, received);
    } else if facts.received != received {
        (facts.received, facts.tail, facts.searched) = (received, WordTail::NONE, 0);
    } else if bytes < SMALL_TRANSFER_BYTES {
        // Many streams have no turns, since one end sends message after message. There a small
        // transfer begins a message.
        facts.searched = 0;
    }
    let limit = recording_options().words.saturating_sub(facts.searched);
    if facts.encrypted || limit == 0 {
        return;
    }
    // SAFETY: as the caller guarantees.
    let first = unsafe { moved.buffers.first_slice(bytes as usize) };
    if is_encrypted(first, bytes) {
        facts.encrypted = true;
        return turn.set_facts(facts);
    }
    let age = COUNTS.count_message(ticks);
    let may_try_letters = facts.vain_messages < TRIES_IN_VAIN || (ticks >> 4) % MAX_VAIN == 0;
    let mut scan = WordScan::new(KEY.get(), &COUNTS, age, may_try_letters);
    let limit = usize::from(limit).min(bytes as usize);
    if first.len() >= limit && limit <= PIECE_BYTES {
        let piece = first.get(..limit).unwrap_or(first);
        facts.tail = scan.search_piece(piece, turn, facts.tail);
    } else {
        // SAFETY: as the caller guarantees.
        facts.tail = unsafe { search_buffers(&mut scan, moved.buffers, limit, turn, facts.tail) };
    }
    if limit as u64 != bytes {
        facts.tail = WordTail::NONE;
    }
    facts.searched = facts.searched.saturating_add(limit as u16);
    if scan.tried_letters {
        facts.vain_messages =
            if scan.found_nothing() { (facts.vain_messages + 1).min(TRIES_IN_VAIN) } else { 0 };
    }
    turn.set_facts(facts);
    write_words(moved.writer, &scan, direction, flow);
}

/// Writes the words that were found to the log.
#[inline(always)]
fn write_words(writer: RecordWriter, scan: &WordScan, direction: Direction, flow: u32) {
    let mut values = scan.values();
    if let Some(first) = values.next() {
        writer.write_rare_words(direction, flow, first, values.next());
    }
}

/// Searches the first `limit` bytes in the buffers. Returns the unfinished word at their end.
///
/// # Safety
/// The buffers are readable up to `limit` bytes, or up to their end.
#[inline(never)]
unsafe fn search_buffers(
    scan: &mut WordScan,
    buffers: CallBuffers,
    limit: usize,
    turn: &StreamTurn,
    before: WordTail,
) -> WordTail {
    let mut tail = before;
    // SAFETY: as the caller guarantees.
    for slice in unsafe { buffers.filled_slices(limit) } {
        for piece in slice.chunks(PIECE_BYTES) {
            tail = scan.search_piece(piece, turn, tail);
        }
    }
    tail
}

/// Notes a transfer of a stream whose bytes never were in the program's memory.
pub(super) fn pass_transfer(moved: &StreamTransfer) {
    let Some(turn) = turn_place(moved.flow) else { return };
    let mut facts = turn.facts();
    if facts.flow == moved.flow {
        facts.tail = WordTail::NONE;
        turn.set_facts(facts);
    }
}

/// Writes the rare words of a datagram to the log, in which it has just been written.
///
/// # Safety
/// The buffers are readable up to the end of the datagram, or up to their own end.
#[inline(never)]
pub(super) unsafe fn log_datagram_words(
    writer: RecordWriter,
    moved: &StreamTransfer,
    buffers: CallBuffers,
) {
    let StreamTransfer { direction, flow, bytes, ticks, .. } = *moved;
    // A word that is split between two buffers of the call is kept at the flow's place.
    let Some(turn) = turn_place(flow).filter(|_| buffers.count > 0) else { return };
    let age = COUNTS.count_message(ticks);
    let mut scan = WordScan::new(KEY.get(), &COUNTS, age, true);
    let limit = usize::from(recording_options().words).min(bytes as usize);
    // SAFETY: as the caller guarantees.
    unsafe { search_buffers(&mut scan, buffers, limit, turn, WordTail::NONE) };
    write_words(writer, &scan, direction, flow);
}

/// Whether a transfer of `bytes` bytes begins with the header of a TLS record. Libraries often
/// receive the header alone. Words of encrypted bytes would be shared with no other message.
#[inline(always)]
fn is_encrypted(first: &[u8], bytes: u64) -> bool {
    const HEADER_BYTES: u64 = 5;
    const LARGEST_RECORD: u16 = (1 << 14) + 256;
    match *first {
        [0x14..=0x17, 3, 0..=4, high, low, ..] => {
            let length = u16::from_be_bytes([high, low]);
            (1..=LARGEST_RECORD).contains(&length) && bytes >= HEADER_BYTES
        }
        _ => false,
    }
}
