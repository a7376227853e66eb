//! Categories: requests with the same structure (Spectroscope, 4.1).
//!
//! A request's steps are encoded by a depth-first walk, in which concurrent steps are in a fixed
//! order, so that different orders of arrival make no new category:
//!
//! ```text
//! shop GET /page
//! ├── cache get          then, concurrently
//! ├─┬ prices GET /a      ┐ ordered by symbol,
//! └─┴ stock GET /b       ┘ not by arrival
//! ```

mod encode;
mod name_hashes;
mod structure;
mod zoom;

pub use encode::{CategoryEncoder, EncodedRequest};
pub use name_hashes::NameHashes;
pub use structure::{CategoryKey, CategoryPlace, CategoryStructure, StepSymbol};
pub use zoom::ZoomLevel;
