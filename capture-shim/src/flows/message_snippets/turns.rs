//! Blanks secrets and values in the beginnings of turns before they are written. A turn is what one
//! side of a connection sends until the other side sends.
//!
//! A turn may arrive in several transfers, and the meaning of later bytes depends on all bytes from
//! the first on. So the beginning of a turn is remembered here, only in the memory of the process.

use snippets::{BLANK, blank_turn, has_no_protocol};

use super::conversation::FlowConversation;
use crate::tuning::MAX_KEPT_TURN_BYTES;

/// Blank bytes, as many as are kept of a turn.
pub(super) static BLANKS: [u8; MAX_KEPT_TURN_BYTES] = [BLANK; MAX_KEPT_TURN_BYTES];

/// First words of messages that a Redis server pushes, and of its replies to subscriptions.
const PUSH_WORDS: [&[u8]; 10] = [
    b"message",
    b"pmessage",
    b"smessage",
    b"invalidate",
    b"subscribe",
    b"psubscribe",
    b"ssubscribe",
    b"unsubscribe",
    b"punsubscribe",
    b"sunsubscribe",
];

/// Longest name of a Redis command that is kept, in bytes.
const LONGEST_COMMAND: usize = 24;

/// Beginning of a turn of one direction, or of a Redis message. All fields may be zeros.
#[repr(C)]
pub(super) struct TurnStart {
    /// Number of bytes so far.
    length: usize,
    /// The bytes as they were sent.
    original: [u8; MAX_KEPT_TURN_BYTES],
    /// The bytes as they are written to the log, with secrets blanked.
    kept: [u8; MAX_KEPT_TURN_BYTES],
}

impl TurnStart {
    /// Bytes to be written in place of `bytes`, which begin a turn unless it `continues`.
    /// `direction` is the number of their direction: 0 if received, 1 if sent.
    #[inline(always)]
    pub(super) fn blank_bytes<'kept>(
        &'kept mut self,
        bytes: &'kept [u8],
        continues: bool,
        conversation: &FlowConversation,
        direction: u8,
    ) -> &'kept [u8] {
        if !continues && conversation.is_redis() {
            if is_plain_redis(bytes, conversation, direction) {
                return bytes;
            }
        } else if !continues
            && bytes.len() == MAX_KEPT_TURN_BYTES
            && has_no_protocol(bytes, conversation.context())
        {
            return &BLANKS;
        }
        self.begin_turn(continues);
        self.push_bytes(bytes);
        self.blank_last(bytes.len(), conversation, direction)
    }

    /// Begins a turn, unless it `continues`.
    pub(super) fn begin_turn(&mut self, continues: bool) {
        if !continues {
            self.length = 0;
        }
    }

    /// Appends `bytes`.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        let room = self.original.get_mut(self.length..).unwrap_or_default();
        let count = bytes.len().min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        self.length += count;
    }

    /// The last `count` bytes of the turn so far, with secrets and values blanked.
    #[inline(never)]
    pub(super) fn blank_last(
        &mut self,
        count: usize,
        conversation: &FlowConversation,
        direction: u8,
    ) -> &[u8] {
        let TurnStart { length, original, kept } = self;
        let (Some(original), Some(kept)) = (original.get(..*length), kept.get_mut(..*length))
        else {
            return &[];
        };
        kept.copy_from_slice(original);
        let is_redis = match kept {
            // Redis's first command may arrive in parts.
            [b'*', b'0'..=b'9', ..] => true,
            [first, ..] => conversation.is_redis() && super::redis::is_type(*first),
            [] => false,
        };
        if is_redis {
            blank_redis(kept, conversation.is_redis_client(direction));
        } else {
            let mut context = conversation.context();
            blank_turn(kept, &mut context, direction);
            conversation.set_context(context);
        }
        kept.get(length.saturating_sub(count)..).unwrap_or(&[])
    }
}

/// Whether a Redis message is of a frequent kind in which nothing has to be blanked.
#[inline(always)]
fn is_plain_redis(bytes: &[u8], conversation: &FlowConversation, direction: u8) -> bool {
    match bytes {
        [b'*', .., b'\r', b'\n'] if conversation.is_redis_client(direction) => {
            // The name of a command, after the line with its length.
            let name = bytes.get(..bytes.len() - 2).unwrap_or(&[]);
            let letters = name.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let before = name.len() - letters;
            (1..=LONGEST_COMMAND).contains(&letters)
                && before > 6
                && name.get(before - 1) == Some(&b'\n')
                && name.get(4).is_some_and(|byte| matches!(byte, b'$' | b'0'..=b'9' | b'\n'))
        }
        [b'$', digits @ .., b'\r', b'\n'] => digits.len() <= 12,
        b"+OK\r\n" => true,
        _ => false,
    }
}

/// Blanks the kept bytes of a Redis message, except for names of commands and codes of errors.
fn blank_redis(text: &mut [u8], is_client: bool) {
    let end_of_line = |text: &[u8], from: usize| {
        let rest = text.get(from..).unwrap_or(&[]);
        from + rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1)
    };
    let first = text.first().copied();
    let line = end_of_line(text, 0);
    match first {
        Some(b'-') => blank_after_word(text, 1),
        Some(b'!') => blank_after_word(text, line),
        Some(b'$' | b'=') => fill_blanks(text, line),
        Some(b'*' | b'%' | b'~' | b'>' | b'|') => {
            let element = text.get(line).copied();
            let name = end_of_line(text, line);
            match element {
                Some(b'$' | b'=') => {
                    let word = text.get(name..).unwrap_or(&[]).trim_ascii_end();
                    let is_command = is_client
                        && word.len() <= LONGEST_COMMAND
                        && word.iter().all(|of| of.is_ascii_alphabetic() || b"._-|".contains(of));
                    // An incomplete name may be anything.
                    let is_whole = text.ends_with(b"\n") || is_client;
                    if !(is_whole && (is_command || PUSH_WORDS.contains(&word))) {
                        fill_blanks(text, name);
                    }
                }
                Some(kind) if super::redis::is_sized(kind) => fill_blanks(text, name),
                _ => fill_blanks(text, line + 1),
            }
        }
        _ if matches!(&*text, b"+PONG\r\n" | b"+QUEUED\r\n") => {}
        _ => fill_blanks(text, 1),
    }
}

/// Blanks the bytes from `from` on, except for ends of lines.
fn fill_blanks(text: &mut [u8], from: usize) {
    let rest = text.get_mut(from..).unwrap_or_default();
    rest.iter_mut().filter(|byte| !matches!(byte, b'\r' | b'\n')).for_each(|byte| *byte = BLANK);
}

/// Blanks the bytes from `from` on, except for an error code in capitals at their beginning.
fn blank_after_word(text: &mut [u8], from: usize) {
    let rest = text.get(from..).unwrap_or(&[]);
    let word = rest.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let is_code = matches!(rest.get(word), Some(b' ' | b'\r')) && word <= 24;
    // The space after the word shows that it is complete.
    fill_blanks(text, from + if is_code { word + 1 } else { 0 });
}
