//! Decisions of the stages, printed on standard error for users who ask for reasons: `-v`, `-vv`,
//! or by stage `SOCKCAP_LOG=analyze=debug,reconcile=info`. Off by default; the preloaded library
//! never prints decisions.

use std::env;
use std::io::{self, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::output::tell;

/// Environment variable with the level of each stage.
const VARIABLE: &str = "SOCKCAP_LOG";

/// Begins to print decisions: the ones that `SOCKCAP_LOG` selects; otherwise with `-v` what each
/// step found, and with `-vv` what it decided, too.
pub(crate) fn begin(verbosity: u8) {
    let Some(wanted) = requested_levels(env::var(VARIABLE).ok().as_deref(), verbosity) else {
        return;
    };
    let lines = fmt::layer().with_writer(Lines).with_ansi(false).with_timer(fmt::time::uptime());
    // A test has several command lines in one process, and the first counts.
    let _ = tracing_subscriber::registry().with(wanted).with(lines).try_init();
}

/// The levels by stage; `None` if nothing is requested.
fn requested_levels(variable: Option<&str>, verbosity: u8) -> Option<Targets> {
    match variable.filter(|text| !text.is_empty()) {
        Some(text) => text.parse().map_err(|error| refuse(text, &error)).ok(),
        None => match verbosity {
            0 => None,
            1 => Some(Targets::new().with_default(LevelFilter::INFO)),
            2 => Some(Targets::new().with_default(LevelFilter::DEBUG)),
            _ => Some(Targets::new().with_default(LevelFilter::TRACE)),
        },
    }
}

fn refuse(text: &str, error: &dyn std::error::Error) {
    tell!("sockcap: {VARIABLE}={text}: {error}; write it as in {VARIABLE}=analyze=debug");
}

/// Writer of lines: they may contain recorded text, so they are printed with escapes as all text
/// is.
struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(Vec::new())
    }
}

/// A line that is printed when it is complete.
struct Line(Vec<u8>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        tell!("{}", String::from_utf8_lossy(&self.0).trim_end());
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn nothing_is_printed_by_default() {
        assert!(requested_levels(None, 0).is_none());
        assert!(requested_levels(Some(""), 0).is_none());
    }

    #[test]
    fn the_variable_sets_the_level_of_each_stage() {
        let wanted = requested_levels(Some("analyze=debug"), 0).unwrap();
        assert!(wanted.would_enable("analyze::analysis", &Level::DEBUG));
        assert!(!wanted.would_enable("analyze::analysis", &Level::TRACE));
        assert!(!wanted.would_enable("reconcile::pipeline", &Level::ERROR));
    }

    #[test]
    fn flags_count_for_all_stages() {
        let one = requested_levels(None, 1).unwrap();
        assert!(one.would_enable("reconcile::pipeline", &Level::INFO));
        assert!(!one.would_enable("reconcile::pipeline", &Level::DEBUG));
        assert!(
            requested_levels(None, 2).unwrap().would_enable("collector::collect", &Level::DEBUG)
        );
    }

    #[test]
    fn an_invalid_variable_prints_nothing() {
        assert!(requested_levels(Some("analyze=loud"), 2).is_none());
    }
}
