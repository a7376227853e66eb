//! Files that other users put below a data directory: links, FIFOs, logs of their own. No command
//! follows them, blocks on them, or changes anything because of them, especially if it has more
//! rights than these users.

mod commands;
mod other_users;
mod planted;
mod results;
mod swapped;
mod two_at_once;
