#![doc = include_str!("../README.md")]

pub mod canonical;
pub mod clusters;
pub mod demands;
pub mod joined;
pub mod model;
mod tuning;
pub mod unusual;

pub use model::{Model, Workload};
