//! The lead of a statement: what may stand in front of its first word. Tools put comments there
//! that say whose statement it is.

use std::borrow::Cow;

/// The text from its first word on: behind spaces, semicolons, opening parentheses and comments.
/// What MySQL executes of a comment (`/*!`) is no comment. `None` where a comment does not end.
pub(super) fn behind_lead(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest {
            [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | b';' | b'(', rest @ ..] => rest,
            [b'-', b'-', rest @ ..] | [b'#', rest @ ..] => {
                let end = rest.iter().position(|byte| *byte == b'\n')?;
                rest.get(end..)?
            }
            [b'/', b'*', behind @ ..] => match executed(behind) {
                0 => {
                    let end = behind.windows(2).position(|pair| pair == b"*/")?;
                    behind.get(end + 2..)?
                }
                mark => behind.get(mark..)?,
            },
            // The end of what is executed.
            [b'*', b'/', rest @ ..] => rest,
            _ => return Some(rest),
        }
    }
}

/// The text with what is executed in the place of comments.
pub(super) fn without_marks(text: &str) -> Cow<'_, str> {
    let Some(first) = find_executed(text, 0) else { return Cow::Borrowed(text) };
    let mut opened = text.as_bytes().to_vec();
    let mut next = Some(first);
    while let Some((begin, mark)) = next {
        let behind = begin + 2 + mark;
        opened.get_mut(begin..behind).unwrap_or_default().fill(b' ');
        let end = text.get(behind..).and_then(|rest| rest.find("*/")).map(|end| behind + end);
        next = end.and_then(|end| {
            opened.get_mut(end..end + 2).unwrap_or_default().fill(b' ');
            find_executed(text, end + 2)
        });
    }
    // Whole characters were replaced by spaces.
    String::from_utf8(opened).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The next comment that is executed, from `from` on, and the length of its mark.
fn find_executed(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = text.get(from..)?;
    rest.match_indices("/*").find_map(|(at, _)| {
        let mark = executed(rest.as_bytes().get(at + 2..)?);
        (mark > 0).then_some((from + at, mark))
    })
}

/// Length of the mark behind `/*` that says that MySQL or MariaDB executes the comment: `!` or `M!`
/// with the version from which on; 0 where there is none.
fn executed(behind: &[u8]) -> usize {
    let mark = match behind {
        [b'!', ..] => 1,
        [b'M', b'!', ..] => 2,
        _ => return 0,
    };
    let version = behind.get(mark..).unwrap_or_default();
    mark + version.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
