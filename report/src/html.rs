//! x
use crate::{Options, Output, Report};
/// x
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;
impl Output for Html {
    fn write(&self, _: &Report<'_>, _: &Options, _: &mut dyn std::io::Write) -> std::io::Result<()> {
        Ok(())
    }
}
