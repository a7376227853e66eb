//! More records than memory may hold: dealt into partitions by many workers ([`Dealer`]), kept in
//! memory while a [`Budget`] lasts and in temporary files beyond it ([`Store`]).

mod budget;
mod dealer;
mod store;

pub use budget::Budget;
pub use dealer::Dealer;
pub use store::{Plain, Store, joined};
