//! Explaining: which contexts make an operation slow, in a sentence with figures; and when no
//! context does.
//!
//! 1. [`evidence`]: how much each kind of context explains. The coarsest kind that explains nearly
//!    as much as the best is used.
//! 2. [`split`]: the contexts of that kind in two: slow ones and the rest.
//! 3. [`spent`]: how slow contexts spend their time, compared with the rest.
//! 4. [`sentence`]: the reason in words.
//!
//! No reason is given unless the Kruskal-Wallis test is sure that contexts differ, the part that
//! they explain beyond chance is large enough, and slow contexts are clearly slower than the rest.
//! A few very long times in all contexts can hide the difference from the standard deviation; then
//! ranks and medians show it.

mod evidence;
mod sentence;
mod spent;
mod split;

pub(crate) use evidence::{OperationEvidence, find_reason};
pub use sentence::sentence_without_reason;
