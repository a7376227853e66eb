//! The program `sockcap` from the user's point of view.

mod info;
mod names;
mod names_of_servers;
mod record;
mod requests;
mod services;
mod usage;
