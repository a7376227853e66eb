//! What tests of outputs share: these are compared with the files of `tests/golden` (with
//! `UPDATE_GOLDEN=1` they are written instead), and fit the terminal.

use std::path::Path;

/// Asserts that `text` is what the file `name` says.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if golden != text {
        let line = golden.lines().zip(text.lines()).position(|(golden, text)| golden != text);
        panic!(
            "{name} differs, first at line {:?}; this is what came out:\n{text}",
            line.map(|line| line + 1)
        );
    }
}

/// Asserts that every line of `text` has no more columns than that, nothing behind its end, and
/// nothing that a terminal obeys.
pub(crate) fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= width, "{} columns: {line}", line.chars().count());
        assert_eq!(line, line.trim_end());
        assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
    }
}
