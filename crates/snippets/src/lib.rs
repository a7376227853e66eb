#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]

mod bytes;
mod context;
mod frames;
pub mod huffman;
mod lines;
mod sql;
mod target;

pub use bytes::BLANK;
use bytes::TurnBytes;
pub use context::TurnContext;
use context::TurnExpectation;
pub use sql::{executable_comment_mark, skip_leading_comments};
pub use target::RequestTarget;

/// Blanks the beginning of a turn, which is what one end sends until the other end does, except for
/// what names its messages. A turn of an unknown protocol is blanked as a whole.
///
/// `turn` has all bytes from the first, as far as they have arrived. `direction` (0 or 1) is the
/// sending end, and `context` is the state of the conversation.
pub fn blank_turn(turn: &mut [u8], context: &mut TurnContext, direction: u8) {
    let length = turn.len();
    let turn = &mut TurnBytes::new(turn);
    // Text has no zero bytes; the lengths of binary protocols do.
    let is_text = turn.byte_at(0).is_some_and(|byte| byte.is_ascii_graphic())
        && turn.byte_at(1).is_none_or(|byte| byte >= b' ' || matches!(byte, b'\r' | b'\n'))
        && !turn.range(0, 16).contains(&0);
    let answers_tls = context.expectation_of_peer(direction) == TurnExpectation::WantsTls
        && length == 1
        && matches!(turn.byte_at(0), Some(b'N' | b'S' | b'G'));
    let is_known = if answers_tls {
        true
    } else if is_text {
        lines::blank_lines(turn, context, direction);
        true
    } else {
        context.note_expectation(direction, TurnExpectation::Nothing);
        // The length of a packet may look like a letter, and the length after a letter like a
        // command.
        let is_packet = turn.little_endian(0, 3).is_some_and(|packet| packet + 4 == length);
        let is_mysql =
            is_packet || frames::is_mysql_statement(turn) || frames::is_mysql_response(turn);
        frames::is_mysql_header(turn)
            || is_mysql && frames::blank_mysql(turn)
            || frames::blank_mongodb(turn)
            || frames::blank_postgresql(turn)
            || blank_frames(turn, context, direction)
            || frames::is_header_only(turn)
    };
    if !is_known {
        turn.blank_range(0, length);
    }
}

/// Whether a turn that begins with `turn` certainly has no known protocol, and so is blanked as a
/// whole: a text with a first word that is too long. This covers most texts of unknown protocols.
#[inline(always)]
pub fn has_no_protocol(turn: &[u8], context: TurnContext) -> bool {
    // In each byte: the smallest graphic character, and the highest bit.
    const LOW: u64 = 0x2121_2121_2121_2121;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Whether each of eight bytes is graphic, so that all are part of one word.
    let is_word = |bytes: &[u8; 8]| {
        let word = u64::from_le_bytes(*bytes);
        word & HIGH == 0 && (word.wrapping_sub(LOW) & !word) & HIGH == 0
    };
    let [first, second, third, ..] = turn.as_chunks::<8>().0 else { return false };
    context.expects_nothing() && is_word(first) && is_word(second) && is_word(third)
}

/// Span of a datagram that is kept or blanked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramSpan<'datagram> {
    /// Bytes that are kept.
    Bytes(&'datagram [u8]),
    /// Number of bytes that are blanked.
    Blank(usize),
}

impl DatagramSpan<'_> {
    /// Number of bytes of the span.
    pub fn byte_count(&self) -> usize {
        match self {
            DatagramSpan::Bytes(bytes) => bytes.len(),
            DatagramSpan::Blank(count) => *count,
        }
    }
}

/// Question of a DNS datagram.
#[derive(Clone, Copy, Debug)]
pub struct DatagramQuestion<'datagram> {
    datagram: &'datagram [u8],
    /// Offset after the question, in bytes.
    end: usize,
}

impl<'datagram> DatagramQuestion<'datagram> {
    /// Finds the question of a datagram; `None` if there is no valid one, in which case everything
    /// is blanked.
    pub fn parse(datagram: &'datagram [u8]) -> Option<DatagramQuestion<'datagram>> {
        frames::question_end(datagram).map(|end| DatagramQuestion { datagram, end })
    }

    /// Spans of the datagram in order; everything after the last one is blanked.
    pub fn spans(self) -> impl Iterator<Item = DatagramSpan<'datagram>> {
        let DatagramQuestion { datagram, end } = self;
        // The header, then labels, then the requested type and class.
        let mut at = 0;
        let mut is_label = false;
        core::iter::from_fn(move || {
            let from = Some(at).filter(|at| *at < end)?;
            if is_label {
                is_label = false;
                let length = usize::from(*datagram.get(from.checked_sub(1)?)?);
                at += length;
                return Some(DatagramSpan::Blank(length));
            }
            at = if from == 0 { 13 } else { from + 1 };
            match datagram.get(at - 1)? {
                0 => at = end,
                _ => is_label = true,
            }
            datagram.get(from..at).map(DatagramSpan::Bytes)
        })
    }
}

/// Blanks a datagram, except for what names it.
pub fn blank_datagram(datagram: &mut [u8]) {
    let length = datagram.len();
    let datagram = &mut TurnBytes::new(datagram);
    if !frames::blank_dns(datagram, 0) {
        datagram.blank_range(0, length);
    }
}

/// Blanks frames of a binary protocol; returns false if the protocol is not recognised.
fn blank_frames(turn: &mut TurnBytes<'_>, context: &mut TurnContext, direction: u8) -> bool {
    frames::blank_postgresql_startup(turn, context, direction)
        || frames::blank_memcached_binary(turn)
        || frames::blank_websocket(turn)
        || frames::blank_amqp(turn)
        || frames::blank_fastcgi(turn)
        || frames::blank_kafka(turn, context)
        || turn.big_endian(0, 2).is_some_and(|length| length >= 17) && frames::blank_dns(turn, 2)
        || frames::blank_mysql(turn)
}

#[cfg(test)]
mod tests;
