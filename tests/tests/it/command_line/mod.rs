//! The program `sockcap` as a user meets it.

mod info;
mod record;
mod requests;
mod services;
mod usage;
