#![doc = include_str!("../README.md")]

pub mod accounting;
pub mod analysis;
pub mod canonical;
pub mod clusters;
pub mod demands;
pub mod join;
pub mod joined_request;
pub mod model;
pub mod resources;
pub mod schema;
mod synchronization;
mod tuning;
pub mod unusual;

pub use model::{Workload, WorkloadModel};
