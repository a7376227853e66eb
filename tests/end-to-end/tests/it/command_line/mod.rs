//! The program `sockcap` as a user meets it.

mod info;
mod names;
mod names_of_servers;
mod record;
mod requests;
mod services;
mod usage;
