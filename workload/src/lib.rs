#![doc = include_str!("../README.md")]

pub mod canonical;
pub mod demands;
pub mod joined;
