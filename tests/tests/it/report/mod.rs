//! What is shown and exported: the page in a real browser, and other tools' formats.

mod calls;
mod exports;
mod web;
