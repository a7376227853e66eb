//! What others put below a data directory: links, FIFOs, logs of their own. No command follows it,
//! waits for it, or changes anything for it, the less so where it has more rights than they.

mod commands;
mod other_users;
mod planted;
mod results;
mod swapped;
mod two_at_once;
