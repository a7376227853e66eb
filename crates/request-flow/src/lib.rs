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

pub use from_paths::{WrittenCounts, from_paths, from_paths_to};
pub use out_of_core::{NameId, NameInterner};
pub use request::{Request, RequestBuilder, StepParameters};
pub use request_numbers::{requests_of_messages, requests_of_paths};
pub use resource::StepResource;
pub use siblings::{OverlapTracker, SiblingSteps, sibling_order};
pub use step::Step;
pub use step_threads::StepThreads;
pub use to_paths::{merge_imports, messages_of_requests, options_of_spans, paths_of_messages};
pub use waits::WaitTimes;
