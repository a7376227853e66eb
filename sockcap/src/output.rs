//! Output on the screen: numbers with their units, and the capabilities of standard output. All
//! text passes through `terminal_output`.

mod terminal_output;

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal;

pub(crate) use terminal_output::{
    EscapingWriter, escape_line_breaks, machine_output, print_styled, styled_output, text_output,
};

/// Prints a line on standard error, formatted as by `format!`. A failure to print is ignored: no
/// command may end differently because its terminal was closed or the disk is full.
macro_rules! tell {
    ($($words:tt)*) => {
        $crate::output::line(format_args!($($words)*))
    };
}
pub(crate) use tell;

/// Prints a line on standard error that begins with sockcap's name.
pub(crate) fn print_message(line: &str) {
    tell!("sockcap: {line}");
}

/// Prints a line on standard error, as [`tell`] describes. Unprintable characters are shown as
/// escapes, including line breaks: each message is one line.
pub(crate) fn line(words: fmt::Arguments<'_>) {
    terminal_output::print_line(words);
}

/// Whether standard error is a terminal.
pub(crate) fn has_progress() -> bool {
    std::io::stderr().is_terminal()
}

/// The width of lines: the terminal's; without one the value of `COLUMNS`, which the user of a
/// pager may set, or a width that suits a file.
pub(crate) fn line_width() -> usize {
    const FILE: usize = 120;
    width_limit().unwrap_or(FILE)
}

/// The width of lines, if there is a terminal or `COLUMNS` is set; a file has lines of any length.
pub(crate) fn width_limit() -> Option<usize> {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    match std::io::stdout().is_terminal() {
        true => terminal(),
        false => parse_columns(std::env::var_os("COLUMNS").as_deref()),
    }
}

/// The number of columns from the environment, if it has one.
fn parse_columns(variable: Option<&OsStr>) -> Option<usize> {
    variable?.to_str()?.trim().parse().ok().filter(|columns| (1..=10_000).contains(columns))
}

/// Whether to use colours on standard output: as requested, or on a terminal unless `NO_COLOR` is
/// set.
pub(crate) fn use_color(choice: clap::ColorChoice) -> bool {
    match choice {
        clap::ColorChoice::Always => true,
        clap::ColorChoice::Never => false,
        clap::ColorChoice::Auto => {
            anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
        }
    }
}

/// Whether the user's locale can show more than ASCII. Files may always contain more.
pub(crate) fn use_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|v| !v.is_empty());
    let utf8 = |locale: std::ffi::OsString| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    !std::io::stdout().is_terminal() || locale.is_some_and(utf8)
}

/// A number of bytes as text: `812 B`, `3.4 MiB`.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `1 process`, `2 processes`.
pub(crate) fn count_noun(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_sets_the_width() {
        let of = |text: &str| parse_columns(Some(OsStr::new(text)));
        assert_eq!((of("80"), of(" 200 "), parse_columns(None)), (Some(80), Some(200), None));
        assert_eq!([of(""), of("0"), of("-5"), of("wide"), of("99999999999")], [None; 5]);
    }

    #[test]
    fn sizes() {
        assert_eq!(format_bytes(812), "812 B");
        assert_eq!(format_bytes(1536), "1.5 KiB");
        assert_eq!(format_bytes(5 << 20), "5.0 MiB");
    }

    #[test]
    fn one_and_many() {
        assert_eq!(count_noun(1, "process", "processes"), "1 process");
        assert_eq!(count_noun(0, "process", "processes"), "0 processes");
    }
}
