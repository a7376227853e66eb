//! Records of snippets: the bytes by which a message is identified.

use super::transfers::Direction;
use crate::layout::{SNIPPET_WORDS, kind, snippet};

/// Facts of a snippet's record other than its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnippetHeader {
    /// Direction of the bytes.
    pub direction: Direction,
    /// Class of the snippet: `snippet::HTTP1`, `HTTP2` or `OTHER` of the layout.
    pub class: u8,
    /// Number of the descriptor's flow.
    pub flow: u32,
    /// Time of the transfer or datagram that contains the bytes, in ticks.
    pub ticks: u64,
    /// Offset of the first byte in the transfer or datagram, in bytes; `u32::MAX` if it is larger.
    pub offset: u32,
    /// Number of bytes, at most [`LARGEST_SNIPPET_BYTES`](crate::layout::LARGEST_SNIPPET_BYTES).
    pub length: u32,
    /// Whether the bytes continue the previous record, of the same flow and direction.
    pub continues: bool,
    /// Whether bytes of the message head were left out after these.
    pub cut: bool,
    /// Whether the bytes belong to a datagram.
    pub datagram: bool,
    /// Whether the bytes are plain text of a TLS library. They were encrypted in the transfer, so
    /// the offset only expresses their order.
    pub plain: bool,
}

/// Words of a snippet's record before its bytes, which follow in
/// [`padded_words`](super::padded_words).
#[inline(always)]
pub fn snippet_header(head: &SnippetHeader) -> [u32; SNIPPET_WORDS] {
    let flags = [
        (head.direction == Direction::Receive, snippet::RECEIVED),
        (head.continues, snippet::CONTINUES),
        (head.cut, snippet::CUT),
        (head.datagram, snippet::DATAGRAM),
        (head.plain, snippet::PLAIN),
    ];
    let flags = flags.into_iter().map(|(is_set, flag)| u16::from(is_set) * flag);
    let aux = flags.fold(u16::from(head.class), |aux, flag| aux | flag);
    // Plain text may come long after the transfer, so the low bits of its time would not suffice.
    let time = if head.plain { (head.ticks >> 32 << snippet::LENGTH_BITS) as u32 } else { 0 };
    let words = SNIPPET_WORDS + (head.length as usize).div_ceil(4);
    [
        u32::from(kind::SNIPPET) | (words as u32) << 8 | u32::from(aux) << 16,
        head.ticks as u32,
        head.flow,
        head.offset,
        head.length | time,
    ]
}
