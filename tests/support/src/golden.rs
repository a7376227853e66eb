//! Comparison of outputs with the files of `tests/golden`, and with the width of a terminal. With
//! `UPDATE_GOLDEN=1` the files are written instead.

use std::path::Path;

/// Asserts that a text equals a file of the crate's `tests/golden`: `assert_golden!(NAME, TEXT)`.
#[macro_export]
macro_rules! assert_golden {
    ($name:expr, $text:expr $(,)?) => {
        $crate::golden::compare(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"), $name, $text)
    };
}

/// Asserts that `text` equals the file `name` of `folder`.
pub fn compare(folder: &str, name: &str, text: &str) {
    let path = Path::new(folder).join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if golden != text {
        let line = golden.lines().zip(text.lines()).position(|(golden, text)| golden != text);
        panic!(
            "{name} differs, first at line {:?}; the output is:\n{text}",
            line.map(|line| line + 1)
        );
    }
}

/// Asserts that no line of `text` has more columns than `width`, trailing spaces, or terminal
/// escapes.
pub fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= width, "{} columns: {line}", line.chars().count());
        assert_eq!(line, line.trim_end());
        assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
    }
}
