//! Patterns and the map of the system: folded stacks, graphs and sequence diagrams.

use std::cmp::Ordering;
use std::io::Write;
use std::ops::ControlFlow;

use analyze::calls::windows::in_windows;
use analyze::infer::convolution::DelayGraph;
use analyze::paths::{ChosenPatterns, PathPattern};
use message_trace::DataDir;
use report::export::PatternWriter;
use report::export::dot::{CallHierarchy, Messages, delays, system};
use report::export::folded::Folded;
use report::export::map::MapBuilder;
use report::export::mermaid::Mermaid;

use super::{Export, Exported, Graph};
use crate::arguments::Inference;
use crate::error::Error;
use crate::progress::Terminal;
use crate::stages;
use crate::tuning::{MAX_EDGES_EXPORTED, MAX_PATTERNS_EXPORTED};

pub(super) fn run(arguments: &Export) -> Result<(), Error> {
    let data = arguments.data.dir();
    let ready = || stages::analysis(&data, &Inference::named_by(arguments.aliases.clone()));
    let edges = arguments.limit.unwrap_or(MAX_EDGES_EXPORTED);
    super::to_output(arguments, ready, |analysis, output: &mut (dyn Write + Send), _| {
        let mut output = output;
        match (arguments.exported, arguments.what.unwrap_or_default()) {
            (Exported::Folded, _) => {
                let most = arguments.limit.unwrap_or(MAX_PATTERNS_EXPORTED);
                Folded.write(&chosen(&data, arguments.pattern, most)?, &mut output)?;
            }
            (Exported::Dot, Graph::Map) => {
                let mut map = MapBuilder::default();
                in_windows::<Error>(&data, &analysis.options, |window| {
                    map.window(window);
                    Ok(ControlFlow::Continue(()))
                })?;
                system(&map.finish(), edges, &mut output)?;
            }
            (Exported::Dot, Graph::Delays) => {
                let graph = DelayGraph::of_data(&data, &analysis.options, &Terminal::new())?;
                delays(&graph, edges, &mut output)?;
            }
            (exported, graph) => {
                let writer: &dyn PatternWriter = match (exported, graph) {
                    (Exported::Mermaid, _) => &Mermaid,
                    (_, Graph::Calls) => &CallHierarchy,
                    _ => &Messages,
                };
                writer
                    .write(&chosen(&data, Some(arguments.pattern.unwrap_or(0)), 1)?, &mut output)?;
            }
        }
        Ok(output.flush()?)
    })
}

/// The pattern of that number or, where none is named, the first `most`.
fn chosen(data: &DataDir, pattern: Option<i64>, most: usize) -> Result<Vec<PathPattern>, Error> {
    let Some(wanted) = pattern else {
        // The table has those with the largest total time first.
        return Ok(ChosenPatterns::read(&data.patterns(), most, |_, _| Ordering::Equal)?.patterns);
    };
    let first =
        |one: &PathPattern, other: &PathPattern| (other.id == wanted).cmp(&(one.id == wanted));
    let chosen = ChosenPatterns::read(&data.patterns(), 1, first)?;
    match chosen.patterns.first() {
        Some(pattern) if pattern.id == wanted => Ok(chosen.patterns),
        _ => Err(no_pattern(data, wanted, chosen.all)),
    }
}

/// That there is no such pattern, of so many in all.
pub(super) fn no_pattern(data: &DataDir, pattern: i64, all: u64) -> Error {
    let data = data.path().to_owned();
    match all.checked_sub(1) {
        Some(last) => Error::NoPattern { data, pattern, last },
        None => Error::NoPatterns(data),
    }
}
