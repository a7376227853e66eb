//! The logs of several hosts gathered in one place: shippers, collectors, keys, units of systemd.

mod faults;
mod four_hosts;
mod keys;
mod removed;
mod units;
mod units_booted;
