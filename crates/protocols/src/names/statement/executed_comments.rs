//! Comments that MySQL and MariaDB execute (`/*! */`), replaced by their content for a lexer that
//! does not support them.

use std::borrow::Cow;

use snippets::executable_comment_mark;

/// Replaces executed comments by their content.
pub(super) fn open_comments(text: &str) -> Cow<'_, str> {
    let Some(first) = find_executed(text, 0) else { return Cow::Borrowed(text) };
    let mut opened = text.as_bytes().to_vec();
    let mut next = Some(first);
    while let Some((begin, mark)) = next {
        let after = begin + 2 + mark;
        opened.get_mut(begin..after).unwrap_or_default().fill(b' ');
        let end = text.get(after..).and_then(|rest| rest.find("*/")).map(|end| after + end);
        next = end.and_then(|end| {
            opened.get_mut(end..end + 2).unwrap_or_default().fill(b' ');
            find_executed(text, end + 2)
        });
    }
    // Only whole characters were replaced by spaces, so this is valid.
    String::from_utf8(opened).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Finds the next executed comment from offset `from`. Returns its offset, and the length of its
/// mark (`!40101`).
fn find_executed(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = text.get(from..)?;
    rest.match_indices("/*").find_map(|(at, _)| {
        let mark = executable_comment_mark(rest.as_bytes().get(at + 2..)?);
        (mark > 0).then_some((from + at, mark))
    })
}
