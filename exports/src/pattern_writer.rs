//! What a format of patterns does: it writes patterns, all at once.

use std::io;

use analyze::paths::PathPattern;

/// One format of patterns.
pub trait PatternWriter {
    /// Writes all of `patterns` to `out`.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn write(&self, patterns: &[PathPattern], out: &mut dyn io::Write) -> io::Result<()>;
}
