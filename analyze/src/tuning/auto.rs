//! Tuned figures of the algorithm of our own, by what it does.

pub(crate) mod learning;
pub(crate) mod model;
pub(crate) mod queues;
pub(crate) mod search;
pub(crate) mod services;
pub(crate) mod workers;
