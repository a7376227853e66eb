//! Captured packets become messages: handmade for every link and format, by one sniffer and by
//! several, whole and damaged. A file for each concern; [`bench`] imports and reconciles, [`wire`]
//! makes the captures.
#![allow(dead_code, unreachable_pub, reason = "helpers, of which tests use a part")]

mod bench;
mod copies;
mod files;
mod flows;
mod hosts;
mod joined;
mod links;
mod order;
mod segments;
mod wire;
