//! Synthetic systems with address translation: their connections, and the view of each traced end,
//! with unknown clocks. The ground truth is known, so that the result can be judged.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a test helper, of which each user uses a part"
)]
#![allow(unused_imports, reason = "each user needs a part of what is handed on")]

mod connection;
mod judgement;
mod random;
mod system;

pub use judgement::{BOUNDS, Judgement, MIN_CONFIDENCE};
pub use random::Random;
pub use system::{Kind, System, SystemParameters, system};
