//! Path instances: the trees that the links of messages form (step 3 of WAP5 section 5.1). Links to
//! parents are inverted to links to children ([`possible_children`]). Each of those is taken, left
//! out or tried both ways ([`decision`]), which yields the trees ([`tree`]). Further facts about
//! the messages of a tree are in [`messages`] and [`connect_time`].

pub(crate) mod connect_time;
mod decision;
pub(crate) mod messages;
pub(crate) mod possible_children;
pub(crate) mod tree;
