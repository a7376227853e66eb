//! Tuned figures of the algorithm `auto`, by step.

pub(crate) mod learning;
pub(crate) mod model;
pub(crate) mod queues;
pub(crate) mod search;
pub(crate) mod services;
pub(crate) mod workers;
