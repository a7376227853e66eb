//! Path instances: from the links of messages to the trees that they make (step 3 of WAP5 section
//! 5.1). Links to parents are turned into links to children ([`possible_children`]). Each of those
//! is taken, left out or tried both ways ([`decision`]), which makes the trees ([`tree`]). What
//! else is known of the messages of a tree is in [`messages`] and [`connect_time`].

pub(crate) mod connect_time;
mod decision;
pub(crate) mod messages;
pub(crate) mod possible_children;
pub(crate) mod tree;
