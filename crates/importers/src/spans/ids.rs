//! Ids of traces and spans in tracers' notation: hexadecimal numbers, and other texts.

use request_flow::spans::TracingId;

/// Parses an id: a number of 64 or 128 bits, with or without leading zeros, or any other text.
/// `None` for an empty text.
pub(super) fn parse_hexadecimal_id(text: &str) -> Option<TracingId<'_>> {
    let digits = (1..=32).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_hexdigit());
    match digits.then(|| u128::from_str_radix(text, 16)) {
        Some(Ok(number)) => Some(TracingId::Number(number)),
        _ => Some(TracingId::Text(text)).filter(|_| !text.is_empty()),
    }
}

/// Parses a parent's id; `None` for zero or an empty text, which tracers write if there is no
/// parent.
pub(super) fn parse_parent_id(text: &str) -> Option<TracingId<'_>> {
    parse_hexadecimal_id(text).filter(|id| *id != TracingId::Number(0))
}

/// Parses an id if any text is possible: a number if it looks like a tracer's, which has 16 or 32
/// lower-case hexadecimal digits. `None` for an empty text.
pub(super) fn parse_any_id(text: &str) -> Option<TracingId<'_>> {
    let is_lower_hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    match matches!(text.len(), 16 | 32) && text.bytes().all(is_lower_hexadecimal) {
        true => parse_hexadecimal_id(text),
        false => Some(TracingId::Text(text)).filter(|_| !text.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_make_no_difference() {
        assert_eq!(parse_hexadecimal_id("00000000000000ab"), Some(TracingId::Number(0xab)));
        assert_eq!(parse_hexadecimal_id("AB"), parse_hexadecimal_id("ab"));
        assert_eq!(
            parse_hexadecimal_id("f".repeat(32).as_str()),
            Some(TracingId::Number(u128::MAX))
        );
        for text in ["order-7", "+1", "0123456789abcdef0123456789abcdef0"] {
            assert_eq!(parse_hexadecimal_id(text), Some(TracingId::Text(text)));
        }
        assert_eq!(parse_hexadecimal_id(""), None);
    }

    #[test]
    fn a_parent_of_zeros_is_none() {
        assert_eq!(
            (parse_parent_id("0000000000000000"), parse_parent_id("0"), parse_parent_id("")),
            (None, None, None)
        );
        assert_eq!(parse_parent_id("10"), Some(TracingId::Number(16)));
    }

    #[test]
    fn only_ids_in_a_tracers_format_are_numbers() {
        assert_eq!(parse_any_id("00000000000000ab"), Some(TracingId::Number(0xab)));
        for text in ["ab", "00000000000000AB", "7"] {
            assert_eq!(parse_any_id(text), Some(TracingId::Text(text)));
        }
        assert_eq!(parse_any_id(""), None);
    }
}
