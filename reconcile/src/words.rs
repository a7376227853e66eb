//! Rare words with their messages: words from the logs, joined with the messages whose calls they
//! belong to, and written to `words.parquet`.

mod join;
mod write;

pub(crate) use join::{MessageWord, join_words};
pub(crate) use write::write_table;
