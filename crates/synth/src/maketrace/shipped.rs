//! The configurations included in the program: the four pathological cases of Project 5's Figure
//! 18, and the multi-tier system of its Figure 10, without and with the added delay of section 7.2.

use std::path::Path;

use super::config::TraceConfig;
use crate::error::Error;

/// The names and texts of the configurations.
pub const SHIPPED: [(&str, &str); 6] = [
    ("children-parallel", include_str!("../../configs/children-parallel.toml")),
    ("children-0-2", include_str!("../../configs/children-0-2.toml")),
    ("children-d-cc", include_str!("../../configs/children-d-cc.toml")),
    ("penalty-breaker", include_str!("../../configs/penalty-breaker.toml")),
    ("multi-tier", include_str!("../../configs/multi-tier.toml")),
    ("multi-tier-added-delay", include_str!("../../configs/multi-tier-added-delay.toml")),
];

/// The configuration with the name `name`, if there is one.
///
/// # Errors
/// When the configuration is malformed, which a test rules out.
pub fn shipped_config(name: &str) -> Option<Result<TraceConfig, Error>> {
    let (name, text) = SHIPPED.into_iter().find(|(known, _)| *known == name)?;
    Some(TraceConfig::parse(Path::new(name), text))
}
