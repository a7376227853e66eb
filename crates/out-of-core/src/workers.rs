//! The only helpers for work on all processors. Whatever the number of threads, equal input gives
//! equal output.
//!
//! | helper | for |
//! |---|---|
//! | [`run_in_order`] | pieces of work, their results one by one in the order of the pieces |
//! | [`run_stream()`] | the same, where one source makes the pieces one after the other |
//! | [`run_ahead`] | one producer that runs ahead of its consumer |
//! | [`map_ranges`] | one contiguous part of a range for each processor |
//! | [`map_items`] | few items, each worth a thread |
//! | [`for_each_item`] | items of very different sizes, the largest first |

mod ordered;
mod ranges;
mod stream;
mod threads;

pub use ordered::{run_ahead, run_in_order};
pub use ranges::{for_each_item, map_items, map_ranges};
pub use stream::run_stream;
pub use threads::{lock_mutex, thread_count};
