//! Call sites: an operation as it is called from one other operation, over all categories.
//!
//! Categories describe whole requests, and many of them have few requests each. If one slow node
//! makes hundreds of categories slow, this shows at its call sites, with all requests together:
//!
//! ```text
//! frontend GET / ──> cart GetCart     own time, network, calls that it makes, failures;
//!                                     each in both periods and in their windows
//! ```
//!
//! Times are kept as histograms, so that the memory does not grow with the number of requests.

mod call_pattern;
mod call_site;
mod collector;
mod histogram;

pub use call_pattern::{CallPattern, PatternCall};
pub use call_site::{CallSite, CallSites, ExecutionWeights, SiteKey};
pub use collector::SiteCollector;
pub use histogram::{SiteHistogram, TimeTest};
