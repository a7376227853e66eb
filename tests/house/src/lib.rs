//! Checks of the house itself: reads the sources of a crate and says which module uses which.
//!
//! A module is a file. An arrow goes from a file to the file that defines what it uses, however
//! many re-exports lie between. What only tests use makes no arrow, and neither does a `mod` line
//! or a re-export, as those say where a thing is and use nothing of it.
//!
//! ```
//! use std::path::Path;
//!
//! let house = house::Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))?;
//! assert!(house.circles().is_empty());
//! # Ok::<(), house::Error>(())
//! ```

mod arrows;
mod circles;
mod paths;
mod reading;
mod source;
pub mod workspace;

pub use arrows::Arrow;
pub use source::{Crate, Error, Module};
