//! The one set of helpers for work on all processors. Whatever the number of threads, equal input
//! gives equal output.
//!
//! | helper | for |
//! |---|---|
//! | [`in_order`] | pieces of work whose results are taken one by one, in the order of the pieces |
//! | [`stream()`] | the same, where one source makes the pieces one after the other |
//! | [`ahead`] | one producer that runs ahead of its consumer |
//! | [`in_parts`] | one contiguous part of a range for each processor |
//! | [`one_by_one`] | few items, each worth a thread |
//! | [`on_each`] | items of very different sizes, the largest first |

mod ordered;
mod parts;
mod stream;
mod threads;

pub use ordered::{ahead, in_order};
pub use parts::{in_parts, on_each, one_by_one};
pub use stream::stream;
pub use threads::{lock, threads};
