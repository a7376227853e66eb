//! Checks of a schema as a whole: each name that is used is defined somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::schema::error::SchemaError;
use crate::schema::rules::{EventCondition, EventRule, EventSchema};
use crate::tuning::MAX_COMPOSITE_VALUES;

/// Name of the condition that the thread with the given id is of the event's process. It needs no
/// MARK.
pub(crate) const SIBLING: &str = "sibling";

/// Name of the condition that the event happened in an interrupt. It needs no MARK.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// Destination of a SYNC that matches any event of the continuing thread.
pub(crate) const ANY: &str = "ANY";

/// Checks that each name that `schema` uses is defined in it.
pub(super) fn check_schema(schema: &EventSchema, file: &Path) -> Result<(), SchemaError> {
    let error = |line, why: String| Err(SchemaError::new(file, line, why));
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    for part in &schema.parts {
        kinds.extend(part.kinds.iter().chain(&part.renamed).map(String::as_str));
    }
    let sizes = match attribute_sizes(schema) {
        Ok(sizes) => sizes,
        Err((line, why)) => return error(line, why),
    };
    let marks: BTreeSet<&str> =
        schema.parts.iter().flat_map(|part| &part.marks).map(|mark| &*mark.values.name).collect();
    for part in &schema.parts {
        if let Err(why) = check_rule(part, &kinds, &sizes, &marks) {
            return error(part.line, why);
        }
    }
    for (line, kind) in &schema.waits {
        if !kinds.contains(&**kind) {
            return error(*line, unknown_event(kind));
        }
    }
    for sync in &schema.syncs {
        let unknown = |kind: &&String| *kind != ANY && !kinds.contains(kind.as_str());
        if let Some(kind) = [&sync.source, &sync.destination].into_iter().find(unknown) {
            return error(sync.line, unknown_event(kind));
        }
        if !sizes.contains_key(&*sync.attribute) {
            return error(sync.line, unknown_attribute(&sync.attribute));
        }
    }
    if schema.parts.iter().any(|part| part.seed) {
        return Ok(());
    }
    error(
        1,
        "no event is a SEED, so there would be no requests; write SEED below the EVENT that \
              occurs only and always in a request"
            .to_owned(),
    )
}

/// Number of values of each join attribute. The error is a line and what is wrong with it.
fn attribute_sizes(schema: &EventSchema) -> Result<BTreeMap<&str, usize>, (u32, String)> {
    let mut sizes = BTreeMap::new();
    for part in &schema.parts {
        for binding in &part.bindings {
            let (name, size) = (&*binding.values.name, binding.values.of.len());
            let known = *sizes.entry(name).or_insert(size);
            if known != size {
                let why = format!(
                    "attribute {name} has {size} values here and {known} above; give it as many"
                );
                return Err((part.line, why));
            }
            if !(1..=MAX_COMPOSITE_VALUES).contains(&size) {
                let why = format!("attribute {name} takes 1 to {MAX_COMPOSITE_VALUES} values");
                return Err((part.line, why));
            }
        }
    }
    Ok(sizes)
}

fn check_rule(
    part: &EventRule,
    kinds: &BTreeSet<&str>,
    sizes: &BTreeMap<&str, usize>,
    marks: &BTreeSet<&str>,
) -> Result<(), String> {
    if !part.after.is_empty() && part.after.len() != part.kinds.len() {
        let (after, of) = (part.after.len(), part.kinds.len());
        return Err(format!("AFTER has {after} kinds for {of} of its EVENT; write one for each"));
    }
    for condition in &part.conditions {
        let EventCondition::Marked { values, .. } = condition else { continue };
        let name = &*values.name;
        if ![SIBLING, INTERRUPTED].contains(&name) && !marks.contains(name) {
            return Err(format!("nothing is ever marked as {name}; write MARK {name}(...)"));
        }
        if values.of.len() > MAX_COMPOSITE_VALUES {
            return Err(format!("mark {name} takes up to {MAX_COMPOSITE_VALUES} values"));
        }
    }
    if let Some(affect) = part.affects.iter().find(|affect| !sizes.contains_key(&*affect.attribute))
    {
        return Err(unknown_attribute(&affect.attribute));
    }
    for begin in &part.begins {
        if !kinds.contains(&*begin.kind) {
            return Err(unknown_event(&begin.kind));
        }
        if part.kinds.contains(&begin.kind) {
            return Err("BEGIN makes an event of its own kind; give it another".to_owned());
        }
    }
    Ok(())
}

fn unknown_event(kind: &str) -> String {
    format!("{kind} is not an EVENT of this schema; write EVENT {kind} with its attributes")
}

fn unknown_attribute(name: &str) -> String {
    format!("{name} is not an ATTRIBUTE of this schema; write ATTRIBUTE {name} below an EVENT")
}
