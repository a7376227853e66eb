#![doc = include_str!("../README.md")]

mod from_paths;
mod parameter;
mod request;
mod request_numbers;
mod resource;
mod siblings;
pub mod spans;
mod step;
mod step_threads;
pub mod tables;
mod to_paths;
mod tuning;
mod waits;

pub use from_paths::{Written, from_paths, from_paths_to};
pub use out_of_core::{NameId, Names};
pub use request::{Parameters, Request, RequestBuilder};
pub use request_numbers::{requests_of_messages, requests_of_paths};
pub use resource::Resource;
pub use siblings::{Overlaps, Siblings, order_of};
pub use step::Step;
pub use step_threads::StepThreads;
pub use to_paths::{merge_imports, messages_of_requests, options_of_spans, paths_of_messages};
pub use waits::Waits;
