//! What is shown and exported: calls, and other tools' formats.

mod calls;
mod exports;
