//! Attribute values that are written as texts; some are numbers.

use std::borrow::Cow;

use ::events::AttributeValue;

/// Value of a text.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::events) enum ParsedValue<'t> {
    Int(i64),
    Real(f64),
    Text(Cow<'t, str>),
}

impl ParsedValue<'_> {
    pub(in crate::events) fn as_value(&self) -> AttributeValue<'_> {
        match self {
            ParsedValue::Int(number) => AttributeValue::Int(*number),
            ParsedValue::Real(number) => AttributeValue::Real(*number),
            ParsedValue::Text(text) => AttributeValue::Text(text),
        }
    }
}

/// Parses the value of a field called `name`: a number if it is one, except that commands are
/// texts.
pub(in crate::events) fn parse_value<'t>(name: &[u8], text: &'t [u8]) -> ParsedValue<'t> {
    if name.ends_with(b"comm") {
        return ParsedValue::Text(String::from_utf8_lossy(text));
    }
    if let Some(number) = parse_int(text) {
        return ParsedValue::Int(number);
    }
    parse_real(text)
        .map_or_else(|| ParsedValue::Text(String::from_utf8_lossy(text)), ParsedValue::Real)
}

/// Parses a whole number: decimal, or hexadecimal with `0x`. Unsigned numbers beyond `i64` keep
/// their bits.
fn parse_int(text: &[u8]) -> Option<i64> {
    if let Some(digits) = text.strip_prefix(b"0x") {
        if digits.is_empty() || digits.len() > 16 {
            return None;
        }
        let mut number = 0_u64;
        for digit in digits {
            number = number << 4 | u64::from(char::from(*digit).to_digit(16)?);
        }
        return Some(number as i64);
    }
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut number = 0_u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    match negative {
        true if number > i64::MIN.unsigned_abs() => None,
        true => Some((number as i64).wrapping_neg()),
        false => Some(number as i64),
    }
}

/// Parses a number with decimals: digits, a point, and digits.
fn parse_real(text: &[u8]) -> Option<f64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let point = digits.iter().position(|byte| *byte == b'.')?;
    let (whole, decimals) = (digits.get(..point)?, digits.get(point + 1..)?);
    let all = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if !(all(whole) && all(decimals)) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinguished_from_texts() {
        let text = |text: &'static str| ParsedValue::Text(Cow::Borrowed(text));
        for (written, expected) in [
            ("12", ParsedValue::Int(12)),
            ("-12", ParsedValue::Int(-12)),
            ("007", ParsedValue::Int(7)),
            ("0x1F", ParsedValue::Int(31)),
            ("0xffffffffffffffff", ParsedValue::Int(-1)),
            ("18446744073709551615", ParsedValue::Int(-1)),
            ("-9223372036854775808", ParsedValue::Int(i64::MIN)),
            ("-9223372036854775809", text("-9223372036854775809")),
            ("18446744073709551616", text("18446744073709551616")),
            ("0.25", ParsedValue::Real(0.25)),
            ("-0.5", ParsedValue::Real(-0.5)),
            ("1.", text("1.")),
            ("1.2.3", text("1.2.3")),
            ("", text("")),
            ("0x", text("0x")),
            ("-", text("-")),
            ("R+", text("R+")),
        ] {
            assert_eq!(parse_value(b"x", written.as_bytes()), expected, "{written}");
        }
        assert_eq!(parse_value(b"prev_comm", b"12"), text("12"));
    }
}
