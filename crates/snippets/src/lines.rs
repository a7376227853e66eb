//! Protocols of text lines: SMTP, IMAP and memcached. The words by which a line is recognised are
//! kept, and so are numbers that determine where it ends; everything else is blanked, including
//! lines that are not recognised.

use crate::bytes::{BLANK, TurnBytes};
use crate::context::{TurnContext, TurnExpectation};

/// SMTP commands.
const SMTP: &[&[u8]] = &[
    b"EHLO",
    b"HELO",
    b"LHLO",
    b"MAIL",
    b"RCPT",
    b"DATA",
    b"BDAT",
    b"RSET",
    b"NOOP",
    b"QUIT",
    b"VRFY",
    b"EXPN",
    b"HELP",
    b"AUTH",
    b"STARTTLS",
    b"ETRN",
    b"XCLIENT",
    b"XFORWARD",
];

/// IMAP commands.
const IMAP: &[&[u8]] = &[
    b"CAPABILITY",
    b"NOOP",
    b"LOGOUT",
    b"STARTTLS",
    b"AUTHENTICATE",
    b"LOGIN",
    b"ENABLE",
    b"SELECT",
    b"EXAMINE",
    b"CREATE",
    b"DELETE",
    b"RENAME",
    b"SUBSCRIBE",
    b"UNSUBSCRIBE",
    b"LIST",
    b"LSUB",
    b"NAMESPACE",
    b"STATUS",
    b"APPEND",
    b"IDLE",
    b"CLOSE",
    b"UNSELECT",
    b"EXPUNGE",
    b"SEARCH",
    b"FETCH",
    b"STORE",
    b"COPY",
    b"MOVE",
    b"CHECK",
    b"SORT",
    b"THREAD",
    b"ID",
    b"GETQUOTA",
    b"GETQUOTAROOT",
    b"COMPRESS",
    b"UID",
];

/// IMAP statuses.
const STATUSES: &[&[u8]] = &[b"OK", b"NO", b"BAD", b"BYE", b"PREAUTH"];

/// Longest IMAP tag that is kept, in bytes.
const MAX_TAG_BYTES: usize = 16;

/// Form of the arguments of a memcached command.
#[derive(Clone, Copy)]
enum CommandForm {
    /// This number of numeric words, then keys.
    Keys(usize),
    /// A key and numbers; the fourth word is the length of the value that follows the line.
    Stores,
    /// A key and numbers.
    Key,
    /// A key and flags.
    Meta,
    /// A key, the length of a value, and flags.
    MetaStores,
    /// Words that are not kept.
    Words,
}

/// memcached commands.
const MEMCACHED: &[(&[u8], CommandForm)] = &[
    (b"get", CommandForm::Keys(0)),
    (b"gets", CommandForm::Keys(0)),
    (b"gat", CommandForm::Keys(1)),
    (b"gats", CommandForm::Keys(1)),
    (b"set", CommandForm::Stores),
    (b"add", CommandForm::Stores),
    (b"replace", CommandForm::Stores),
    (b"append", CommandForm::Stores),
    (b"prepend", CommandForm::Stores),
    (b"cas", CommandForm::Stores),
    (b"delete", CommandForm::Key),
    (b"incr", CommandForm::Key),
    (b"decr", CommandForm::Key),
    (b"touch", CommandForm::Key),
    (b"mg", CommandForm::Meta),
    (b"md", CommandForm::Meta),
    (b"ma", CommandForm::Meta),
    (b"me", CommandForm::Meta),
    (b"ms", CommandForm::MetaStores),
    (b"mn", CommandForm::Words),
    (b"version", CommandForm::Words),
    (b"quit", CommandForm::Words),
    (b"stats", CommandForm::Words),
    (b"flush_all", CommandForm::Words),
    (b"verbosity", CommandForm::Words),
];

/// memcached responses.
const ANSWERS: &[&[u8]] = &[
    b"STORED",
    b"NOT_STORED",
    b"EXISTS",
    b"NOT_FOUND",
    b"DELETED",
    b"TOUCHED",
    b"OK",
    b"ERROR",
    b"CLIENT_ERROR",
    b"SERVER_ERROR",
    b"VERSION",
    b"END",
    b"RESET",
    b"HD",
    b"EN",
    b"NF",
    b"NS",
    b"EX",
    b"MN",
    b"ME",
    b"STAT",
];

/// Blanks lines of text. `context` is the state of the conversation, and `direction` the sending
/// end.
pub(crate) fn blank_lines(turn: &mut TurnBytes<'_>, context: &mut TurnContext, direction: u8) {
    let mut state = context.expectation_of_peer(direction);
    context.note_expectation(direction, TurnExpectation::Nothing);
    let mut at = 0;
    while at < turn.len() {
        let end = turn.find_byte(b'\n', at, turn.len()).unwrap_or(turn.len());
        let is_whole = end < turn.len();
        let text_end = if end > at && turn.byte_at(end - 1) == Some(b'\r') { end - 1 } else { end };
        let mut value = 0;
        match state {
            // A mail, or the reply to a request for a password.
            TurnExpectation::WantsMail | TurnExpectation::WantsLogin => {
                if state == TurnExpectation::WantsMail
                    && is_whole
                    && turn.range(at, text_end) == b"."
                {
                    // Commands may follow the mail.
                    state = TurnExpectation::Nothing;
                } else {
                    turn.blank_range(at, text_end);
                }
            }
            TurnExpectation::Nothing | TurnExpectation::WantsTls => {
                value = blank_line(turn, at, text_end, is_whole, context, direction)
            }
        }
        at = (end + 1).saturating_add(value);
        turn.blank_range(end + 1, at);
    }
}

/// Blanks the line from `from` to `to`, except for its kept parts. Returns the length in bytes of
/// the value that follows the line, 0 for none. `is_whole` is whether the line's end has arrived.
fn blank_line(
    turn: &mut TurnBytes<'_>,
    from: usize,
    to: usize,
    is_whole: bool,
    context: &mut TurnContext,
    direction: u8,
) -> usize {
    let first = word_end(turn, from, to);
    let text = turn.range(from, to);
    let word_at = |end: usize| text.get(..end - from).unwrap_or(&[]);
    let first_word = word_at(first);
    // An incomplete word identifies nothing.
    if first == to && !is_whole {
        turn.blank_range(from, to);
        return 0;
    }
    // SMTP replies.
    if let [a @ b'2'..=b'5', b, c, rest @ ..] = text
        && [a, b, c].into_iter().all(u8::is_ascii_digit)
        && matches!(rest.first(), None | Some(b' ' | b'-'))
    {
        let state = match [*a, *b, *c] {
            [b'3', b'5', b'4'] => TurnExpectation::WantsMail,
            [b'3', b'3', b'4'] => TurnExpectation::WantsLogin,
            _ => TurnExpectation::Nothing,
        };
        context.note_expectation(direction, state);
        turn.blank_range(from + 4, to);
        return 0;
    }
    if is_in(SMTP, first_word) {
        let after = turn.range(first, to);
        let kept = match () {
            () if after.get(..7).is_some_and(|of| of.eq_ignore_ascii_case(b" FROM:<")) => 7,
            () if first_word.eq_ignore_ascii_case(b"BDAT") => {
                1 + after.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count()
            }
            () => 1,
        };
        let is_chunk = first_word.eq_ignore_ascii_case(b"BDAT");
        let length =
            if is_chunk { parse_number(turn.range(first + 1, first + kept)) } else { None };
        turn.blank_range(first + kept, to);
        return length.unwrap_or(0);
    }
    if let Some((_, form)) = MEMCACHED.iter().find(|(name, _)| *name == first_word) {
        return blank_memcached_command(turn, first, to, *form);
    }
    if first_word == b"VALUE" || first_word == b"VA" {
        let key = first_word == b"VALUE";
        return blank_numbers(turn, first, to, usize::from(key), if key { 2 } else { 0 });
    }
    if ANSWERS.contains(&first_word) {
        turn.blank_range(first + 1, to);
        return 0;
    }
    if (1..=20).contains(&first_word.len())
        && first == to
        && first_word.iter().all(u8::is_ascii_digit)
    {
        turn.range_mut(from, to).fill(b'0');
        return 0;
    }
    blank_imap_line(turn, from, first, to)
}

/// Blanks an IMAP line, except for its kept parts and the length of a literal at its end, which is
/// returned (0 for none). `first` is the end of the line's first word.
fn blank_imap_line(turn: &mut TurnBytes<'_>, from: usize, first: usize, to: usize) -> usize {
    let literal = imap_literal(turn.range(from, to));
    let tail = to - literal.map_or(0, |(_, length)| length);
    let tag = turn.range(from, first);
    let second_from = (first + 1).min(to);
    let second = word_end(turn, second_from, to);
    let verb = turn.range(second_from, second);
    let is_tag = (1..=MAX_TAG_BYTES).contains(&tag.len())
        && tag.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        && tag.iter().any(u8::is_ascii_digit);
    let kept = match tag {
        b"*" if is_in(STATUSES, verb) => second,
        b"*" | b"+" => first,
        _ if is_tag && is_in(STATUSES, verb) => second,
        _ if is_tag && verb.eq_ignore_ascii_case(b"UID") => {
            let third = word_end(turn, (second + 1).min(to), to);
            let of_uid = turn.range((second + 1).min(to), third);
            if is_in(IMAP, of_uid) { third } else { second }
        }
        _ if is_tag && is_in(IMAP, verb) => second,
        _ => from,
    };
    // The space after the word shows that the word is complete.
    let kept = if kept > from { (kept + 1).min(to) } else { kept };
    turn.blank_range(kept.min(tail), tail);
    literal.map_or(0, |(value, _)| value)
}

/// Parses the announcement of an IMAP literal at the end of a line, `{12}` or `{12+}`: the length
/// of the literal, and the length of the announcement.
fn imap_literal(line: &[u8]) -> Option<(usize, usize)> {
    let inner = line.strip_suffix(b"}")?;
    let digits = inner.strip_suffix(b"+").unwrap_or(inner);
    let begin = digits.iter().rposition(|byte| !byte.is_ascii_digit())?;
    let of = digits.get(begin + 1..)?;
    let is_literal = digits.get(begin) == Some(&b'{') && (1..=9).contains(&of.len());
    Some((parse_number(of)?, line.len() - begin)).filter(|_| is_literal)
}

/// Blanks the arguments of a memcached command, except for what determines its form. Returns the
/// length of the value that follows the line.
fn blank_memcached_command(
    turn: &mut TurnBytes<'_>,
    from: usize,
    to: usize,
    form: CommandForm,
) -> usize {
    match form {
        CommandForm::Keys(count) => {
            let mut index = 0;
            for_each_word(turn, from, to, |word| {
                let is_kept = index < count && word.iter().all(u8::is_ascii_digit);
                index += 1;
                if !is_kept {
                    word.fill(BLANK);
                }
            });
            0
        }
        CommandForm::Stores => blank_numbers(turn, from, to, 1, 3),
        CommandForm::Key => {
            let mut index = 0;
            for_each_word(turn, from, to, |word| {
                // Times may be negative.
                if word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') && index > 0 {
                    word.iter_mut().filter(|byte| **byte != b'-').for_each(|byte| *byte = b'0');
                } else if word != b"noreply" || index == 0 {
                    word.fill(BLANK);
                }
                index += 1;
            });
            0
        }
        CommandForm::Meta | CommandForm::MetaStores => {
            let (mut index, mut value) = (0, 0);
            for_each_word(turn, from, to, |word| {
                let length = parse_number(word).filter(|_| index == 1);
                match (index, form, length) {
                    (1, CommandForm::MetaStores, Some(length)) => value = length + 2,
                    // The flag is kept, its value is not.
                    (1.., ..) if word.first().is_some_and(u8::is_ascii_alphabetic) => {
                        word.get_mut(1..).unwrap_or_default().fill(BLANK);
                    }
                    _ => word.fill(BLANK),
                }
                index += 1;
            });
            value
        }
        CommandForm::Words => {
            turn.blank_range(from + 1, to);
            0
        }
    }
}

/// Blanks the first `keys` words from `from`, and other words that are not numbers. The word at
/// index `length` states the length of the value that follows the line, which is returned, together
/// with the value's line end.
fn blank_numbers(
    turn: &mut TurnBytes<'_>,
    from: usize,
    to: usize,
    keys: usize,
    length: usize,
) -> usize {
    let (mut index, mut value) = (0, 0);
    for_each_word(turn, from, to, |word| {
        match parse_number(word).filter(|_| index >= keys) {
            Some(parsed) if index == length => value = parsed + 2,
            Some(_) => {}
            None if word == b"noreply" && index > keys => {}
            None => word.fill(BLANK),
        }
        index += 1;
    });
    value
}

/// Calls `each` for the words from `from` to `to`.
fn for_each_word(turn: &mut TurnBytes<'_>, from: usize, to: usize, each: impl FnMut(&mut [u8])) {
    let words = turn.range_mut(from, to).split_mut(|byte| *byte == b' ');
    words.filter(|word| !word.is_empty()).for_each(each);
}

/// End of the word that begins at `from`.
fn word_end(turn: &TurnBytes<'_>, from: usize, to: usize) -> usize {
    turn.find_byte(b' ', from, to).unwrap_or(to)
}

/// Parses a number of one to nine digits.
fn parse_number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| 10 * number + usize::from(digit - b'0'))
    })
}

/// Whether `list` contains the word, in any case of its letters.
fn is_in(list: &[&[u8]], word: &[u8]) -> bool {
    list.iter().any(|of| of.eq_ignore_ascii_case(word))
}
