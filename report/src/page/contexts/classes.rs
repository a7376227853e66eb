//! The classes of traces in a page: those of its trace-contexts, as a reader of "step 3 of class 2"
//! needs to see class 2.

use contexts::result::Profile;
use message_trace::units::{shorten_middle, to_printable};
use serde::Serialize;

use crate::page::names::PageNames;
use crate::tuning::{MAX_CLASS_STEPS, MAX_CLASSES, MAX_CONTEXT_NAME};

/// A class of traces.
#[derive(Debug, Serialize)]
pub(super) struct PageClass {
    number: u32,
    requests: u64,
    caller: String,
    /// Depth, number of the operation's name, number of equal concurrent calls that the step
    /// represents, and the first step of its group, in depth-first order.
    steps: Vec<(u32, u32, u32, u32)>,
    /// Number of further steps.
    left: usize,
}

/// The first of the classes with the numbers `wanted`, in the order of the numbers. The names of
/// their operations are numbered in `names`.
pub(super) fn page_classes(
    profile: &Profile,
    wanted: &[u32],
    names: &mut PageNames,
) -> Vec<PageClass> {
    let mut wanted = wanted.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let class = |number: u32| {
        let class = profile.classes.get(number as usize)?;
        let step = |step: &contexts::result::ClassStep| {
            let operation = profile.operations.get(step.operation as usize);
            let name = names.intern(operation.map_or("?", |operation| &operation.name));
            (step.depth, name, step.times, step.group)
        };
        Some(PageClass {
            number,
            requests: class.requests,
            caller: shown_name(&class.caller),
            steps: class.steps.iter().take(MAX_CLASS_STEPS).map(step).collect(),
            left: class.steps.len().saturating_sub(MAX_CLASS_STEPS),
        })
    };
    wanted.into_iter().take(MAX_CLASSES).filter_map(class).collect()
}

/// A name as the page shows it.
pub(super) fn shown_name(name: &str) -> String {
    shorten_middle(&to_printable(name), MAX_CONTEXT_NAME, '…')
}
