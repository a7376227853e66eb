//! Reports and exports: calls, and other tools' formats.

mod calls;
mod exports;
