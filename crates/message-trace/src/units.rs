//! Numbers and names for people: durations with three significant digits in a suitable unit,
//! grouped counts, and names that can neither break a line nor command a terminal.

use std::fmt;

/// A duration with three significant digits and its unit, made by [`format_duration`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormattedDuration {
    /// The digits, with a sign if negative.
    pub number: String,
    /// ns, µs, ms or s; empty for zero.
    pub unit: &'static str,
}

/// Formats `nanoseconds` in a suitable unit.
pub fn format_duration(nanoseconds: f64) -> FormattedDuration {
    if !nanoseconds.is_finite() {
        return FormattedDuration { number: "–".to_owned(), unit: "" };
    }
    if nanoseconds == 0.0 {
        return FormattedDuration { number: "0".to_owned(), unit: "" };
    }
    let units = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms")];
    // 999.5 would be shown as 1000, so it belongs to the next unit.
    let fitting = units.into_iter().find(|(scale, _)| (nanoseconds / scale).abs() < 999.5);
    let (scale, unit) = fitting.unwrap_or((1e9, "s"));
    FormattedDuration { number: three_digits(nanoseconds / scale), unit }
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

impl FormattedDuration {
    /// Returns the duration without a space, for narrow columns; `ascii` writes us for µs.
    pub fn compact(&self, ascii: bool) -> String {
        let unit = if ascii && self.unit == "µs" { "us" } else { self.unit };
        let number = if ascii { self.number.replace('–', "-") } else { self.number.clone() };
        format!("{number}{unit}")
    }
}

impl fmt::Display for FormattedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            "" => f.pad(&self.number),
            unit => f.pad(&format!("{} {unit}", self.number)),
        }
    }
}

/// Formats a whole number with grouped thousands: 1,234,567.
pub fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats an expected count, which need not be whole: one decimal below a thousand, none above.
pub fn format_expected(number: f64) -> String {
    if number.is_finite() && number < 999.95 {
        format!("{:.1}", number.max(0.0))
    } else {
        format_count(number.round() as u64)
    }
}

/// Formats a share from 0 to 1 in per cent with one decimal; the smallest are `<0.1%`. A share of
/// -0, which is the sum of no shares in Rust, is printed as 0.
pub fn format_percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        "<0.1%".to_owned()
    } else {
        format!("{:.1}%", share * 100.0 + 0.0)
    }
}

/// Formats a share from 0 to 1 in whole per cent; the smallest are `<1%`.
pub fn format_whole_percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        "<1%".to_owned()
    } else {
        format!("{:.0}%", share * 100.0 + 0.0)
    }
}

/// Formats a count with its noun: "1 host", "2 hosts".
pub fn count_noun(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", format_count(number), if number == 1 { one } else { many })
}

/// Replaces characters in `name` that would move the cursor, start an escape sequence or turn the
/// reading direction.
pub fn to_printable(name: &str) -> String {
    name.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// Returns whether a character moves the cursor, starts an escape sequence, is invisible, or turns
/// the reading direction.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Shortens `text` to at most `width` characters, with an ellipsis in its middle, because both ends
/// of a name distinguish names.
pub fn shorten_middle(text: &str, width: usize, ellipsis: char) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head: String = text.chars().take(kept.div_ceil(2)).collect();
    let tail: String = text.chars().skip(length - kept / 2).collect();
    if width == 0 { String::new() } else { format!("{head}{ellipsis}{tail}") }
}

/// Formats a mean size in bytes.
pub fn format_bytes(size: f64) -> String {
    match size {
        size if size < 999.5 => format!("{size:.0} B"),
        size if size < 999.5e3 => format!("{} kB", three_digits(size / 1e3)),
        size if size < 999.5e6 => format!("{} MB", three_digits(size / 1e6)),
        size => format!("{} GB", three_digits(size / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_suitable_unit() {
        let cases = [
            (0.0, "0"),
            (0.25, "0.25 ns"),
            (1.0, "1.00 ns"),
            (42.0, "42.0 ns"),
            (999.4, "999 ns"),
            (999.5, "1.00 µs"),
            (9_994.0, "9.99 µs"),
            (9_995.1, "10.0 µs"),
            (12_345.0, "12.3 µs"),
            (99_960.0, "100 µs"),
            (999_499.0, "999 µs"),
            (999_500.0, "1.00 ms"),
            (64_700_000.0, "64.7 ms"),
            (1_234_000_000.0, "1.23 s"),
            (3_600e9, "3600 s"),
            (-12_345.0, "-12.3 µs"),
            (f64::NAN, "–"),
        ];
        for (nanoseconds, text) in cases {
            assert_eq!(format_duration(nanoseconds).to_string(), text, "{nanoseconds}");
        }
        assert_eq!(format_duration(12_345.0).compact(true), "12.3us");
        assert_eq!(format_duration(12_345.0).compact(false), "12.3µs");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!((format_count(0).as_str(), format_count(999).as_str()), ("0", "999"));
        assert_eq!(
            (format_count(1_000).as_str(), format_count(1_234_567).as_str()),
            ("1,000", "1,234,567")
        );
        assert_eq!(
            (format_expected(288.44).as_str(), format_expected(12_345.6).as_str()),
            ("288.4", "12,346")
        );
        assert_eq!(
            (count_noun(1, "host", "hosts"), count_noun(2, "host", "hosts")),
            ("1 host".into(), "2 hosts".into())
        );
        assert_eq!(
            (format_bytes(812.4), format_bytes(65_536.0)),
            ("812 B".into(), "65.5 kB".into())
        );
    }

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(to_printable("a\x1b[31mb\n\u{202e}c"), "a\u{fffd}[31mb\u{fffd}\u{fffd}c");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten_middle("application-server-17", 9, '…'), "appl…r-17");
        assert_eq!(shorten_middle("short", 5, '…'), "short");
        assert_eq!(
            (shorten_middle("short", 1, '…').as_str(), shorten_middle("short", 0, '…').as_str()),
            ("…", "")
        );
    }

    #[test]
    fn the_sum_of_no_shares_has_no_sign() {
        let none: f64 = std::iter::empty::<f64>().sum();
        assert!(none.is_sign_negative());
        assert_eq!([format_percent(none), format_whole_percent(none)], ["0.0%", "0%"]);
    }
}
