//! Records as words, made by the writer without allocation and without the standard library.
//!
//! The first word of every record holds its kind in the low eight bits. The common records (one
//! transfer on a stream) are two or three words and use the rest of the first word for other data;
//! every other record has its length in words there, so that a reader can skip unknown kinds.

mod flows;
mod goroutines;
mod numbered_enum;
mod process;
mod rare_words;
mod resources;
mod snippets;
mod transfers;
mod words;

pub use flows::*;
pub use goroutines::*;
pub use process::*;
pub use rare_words::*;
pub use resources::*;
pub use snippets::*;
pub use transfers::*;
pub use words::{RecordWords, join_words, padded_words, reservation_word};
