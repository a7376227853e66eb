//! A schema to its program.

use std::path::Path;

use out_of_core::{NameId, Names};

use crate::join::beginning::Asked;
use crate::join::key;
use crate::join::program::{
    Begin, Binding, Condition, Group, Kind, Part, Program, Slot, Source, Values,
};
use crate::schema::{self, ANY, INTERRUPTED, SIBLING, Schema, SchemaError, number};
use crate::synchronization::SyncStatement;
use crate::tuning::SLOTS;

/// Makes the program of `schema`, with the numbers that `names` has or gets for its names.
///
/// # Errors
/// Where more attributes of a kind are used than there is room for, with the line of its EVENT.
pub(crate) fn compile(schema: &Schema, names: &mut Names) -> Result<Program, SchemaError> {
    let mut compiler = Compiler {
        names,
        file: &schema.file,
        kinds: Vec::new(),
        attributes: vec!["thread"],
        marks: Vec::new(),
        line: 1,
    };
    for part in &schema.parts {
        for (place, kind) in part.kinds.iter().enumerate() {
            compiler.line = part.line;
            compiler.part(part, kind, part.after.get(place))?;
        }
    }
    compiler.linked(schema)?;
    let syncs = schema.syncs.iter().map(|sync| compiler.sync(sync)).collect::<Vec<_>>();
    let asked = Asked::of(schema, |mark| numbered(&mut compiler.marks, mark));
    let mut program = Program {
        asked,
        apart: schema.apart,
        thread: 0,
        has_processors: schema.parts.iter().any(|part| part.processor.is_some()),
        leave: compiler.names.number("join/Leave"),
        synchronizes: vec![false; compiler.attributes.len()],
        syncs,
        kinds: std::mem::take(&mut compiler.kinds),
        by_name: Vec::new(),
    };
    for sync in &program.syncs {
        if let Some(by) = program.synchronizes.get_mut(usize::from(sync.attribute)) {
            *by = true;
        }
    }
    program.by_name = vec![0; names.len()];
    for (place, kind) in program.kinds.iter().enumerate() {
        if let Some(of) = program.by_name.get_mut(kind.name as usize) {
            *of = place as u16 + 1;
        }
    }
    Ok(program)
}

struct Compiler<'schema> {
    names: &'schema mut Names,
    file: &'schema Path,
    kinds: Vec<Kind>,
    attributes: Vec<&'schema str>,
    marks: Vec<&'schema str>,
    /// Line of the part at hand.
    line: u32,
}

impl<'schema> Compiler<'schema> {
    fn part(
        &mut self,
        part: &'schema schema::Part,
        kind: &str,
        after: Option<&String>,
    ) -> Result<(), SchemaError> {
        let name = self.names.number(kind);
        let renamed = part.renamed.as_deref().map_or(name, |renamed| self.names.number(renamed));
        let at = self.kind(name);
        if let Some(after) = after {
            let after = self.names.number(after);
            let after = self.kind(after);
            let known = self.kinds.get(at).and_then(|kind| kind.after);
            if known.is_some_and(|known| usize::from(known) != after) {
                return Err(self.error(format!("{kind} is AFTER two kinds; write one of them")));
            }
            self.change(at, |kind| kind.after = Some(after as u16));
            self.change(after, |kind| kind.keeps = true);
        }
        let thread = match &part.thread {
            Some(attribute) => Some(self.slot(at, attribute, false)?),
            None => None,
        };
        let compiled = self.compiled(part, at)?;
        self.change(at, |kind| {
            kind.begins_requests |= part.seed;
            let same = |group: &&mut Group| group.kind == renamed && group.thread == thread;
            match kind.groups.iter_mut().find(same) {
                Some(group) => group.parts.push(compiled),
                None => {
                    kind.groups.push(Group { kind: renamed, thread, parts: vec![compiled] });
                }
            }
        });
        for begin in &part.begins {
            let slot = self.slot(at, &begin.attribute, false)?;
            let kind = self.names.number(&begin.kind);
            let kind = self.kind(kind) as u16;
            let begin = Begin { slot, by: begin.by, kind, slots: Vec::new() };
            self.change(at, |kind| kind.begins.push(begin));
        }
        Ok(())
    }

    fn compiled(&mut self, part: &'schema schema::Part, at: usize) -> Result<Part, SchemaError> {
        let mut compiled = Part {
            processor: part.processor,
            inside: part.inside,
            seed: part.seed,
            complete: part.complete,
            wait: part.wait,
            ..Part::default()
        };
        for condition in &part.conditions {
            compiled.conditions.push(self.condition(condition, at)?);
        }
        for binding in &part.bindings {
            let of = numbered(&mut self.attributes, &binding.values.name);
            let sources = self.sources(&binding.values, at)?;
            compiled.bindings.push(Binding { values: Values { of, sources }, mode: binding.mode });
        }
        for affect in &part.affects {
            let of = numbered(&mut self.attributes, &affect.attribute);
            compiled.affects.push((of, affect.starts));
        }
        for mark in &part.marks {
            compiled.marks.push((self.mark(&mark.values, at)?, mark.on));
        }
        for resource in &part.resources {
            let source = self.source(at, &resource.attribute)?;
            compiled.resources.push((resource.kind, source, resource.times));
        }
        if let Some(name) = &part.name {
            compiled.name = Some(self.slot(at, name, true)?);
        }
        Ok(compiled)
    }

    fn condition(
        &mut self,
        condition: &'schema schema::Condition,
        at: usize,
    ) -> Result<Condition, SchemaError> {
        Ok(match condition {
            schema::Condition::Compare { attribute, by, with } => {
                let value = |text: &String| {
                    number(text).map_or_else(|| key::of_text(text), i64::cast_unsigned)
                };
                let with = with.iter().map(value).collect();
                Condition::Compare(self.source(at, attribute)?, *by, with)
            }
            schema::Condition::Marked { values, not } => match &*values.name {
                INTERRUPTED => Condition::Interrupted(*not),
                SIBLING => {
                    let sources = self.sources(values, at)?;
                    Condition::Sibling(sources.first().copied().unwrap_or(Source::Thread), *not)
                }
                _ => Condition::Marked(self.mark(values, at)?, *not),
            },
        })
    }

    fn mark(&mut self, values: &'schema schema::Values, at: usize) -> Result<Values, SchemaError> {
        let of = numbered(&mut self.marks, &values.name);
        Ok(Values { of, sources: self.sources(values, at)? })
    }

    fn sources(&mut self, values: &schema::Values, at: usize) -> Result<Vec<Source>, SchemaError> {
        values.of.iter().map(|attribute| self.source(at, attribute)).collect()
    }

    fn source(&mut self, at: usize, attribute: &str) -> Result<Source, SchemaError> {
        Ok(match attribute {
            "thread" => Source::Thread,
            "process" => Source::Process,
            "processor" => Source::Processor,
            "host" => Source::Host,
            "interrupt" => Source::Interrupt,
            "poster" => Source::Poster,
            _ => Source::Slot(self.slot(at, attribute, false)?),
        })
    }

    /// Slot of an attribute of a kind.
    fn slot(&mut self, at: usize, attribute: &str, is_name: bool) -> Result<u8, SchemaError> {
        let slot = Slot { name: self.names.number(attribute), is_name };
        self.slot_of(at, slot)
    }

    fn slot_of(&mut self, at: usize, slot: Slot) -> Result<u8, SchemaError> {
        let Some(kind) = self.kinds.get_mut(at) else { return Ok(0) };
        if let Some(place) = kind.slots.iter().position(|known| *known == slot) {
            return Ok(place as u8);
        }
        if kind.slots.len() == SLOTS {
            let name = self.names.text(kind.name);
            return Err(
                self.error(format!("more than {SLOTS} attributes of {name} are used; use fewer"))
            );
        }
        kind.slots.push(slot);
        Ok(kind.slots.len() as u8 - 1)
    }

    /// Place of a kind, a new one where it is new.
    fn kind(&mut self, name: NameId) -> usize {
        if let Some(place) = self.kinds.iter().position(|kind| kind.name == name) {
            return place;
        }
        self.kinds.push(Kind { name, ..Kind::default() });
        self.kinds.len() - 1
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut Kind)) {
        if let Some(kind) = self.kinds.get_mut(at) {
            change(kind);
        }
    }

    /// Finds the slots of kept events and of synthetic ones, and marks what blocks.
    fn linked(&mut self, schema: &'schema Schema) -> Result<(), SchemaError> {
        for at in 0..self.kinds.len() {
            let begins = self.kinds.get(at).map_or(0, |kind| kind.begins.len());
            for place in 0..begins {
                let begin = self.kinds.get(at).and_then(|kind| kind.begins.get(place));
                let begin = begin.map_or(0, |begin| usize::from(begin.kind));
                let slots = self.kinds.get(begin).map(|kind| kind.slots.clone());
                let from = self.slots_of(at, slots.unwrap_or_default())?;
                self.change(at, |kind| {
                    if let Some(begin) = kind.begins.get_mut(place) {
                        begin.slots = from;
                    }
                });
            }
        }
        for at in 0..self.kinds.len() {
            if let Some(kind) = self.kinds.get(at)
                && let (Some(after), slots) = (kind.after, kind.slots.clone())
            {
                let from = self.slots_of(usize::from(after), slots)?;
                self.change(at, |kind| kind.from_kept = from);
            }
        }
        for (_, kind) in &schema.waits {
            let name = self.names.number(kind);
            let groups = self.kinds.iter_mut().flat_map(|kind| &mut kind.groups);
            for group in groups.filter(|group| group.kind == name) {
                group.parts.push(Part { wait: true, ..Part::default() });
            }
        }
        Ok(())
    }

    fn slots_of(&mut self, at: usize, slots: Vec<Slot>) -> Result<Vec<Option<u8>>, SchemaError> {
        slots.into_iter().map(|slot| self.slot_of(at, slot).map(Some)).collect()
    }

    fn sync(&mut self, sync: &'schema schema::SyncRule) -> SyncStatement {
        SyncStatement {
            source: self.names.number(&sync.source),
            attribute: numbered(&mut self.attributes, &sync.attribute),
            destination: match sync.destination.as_str() {
                ANY => Names::UNKNOWN,
                kind => self.names.number(kind),
            },
        }
    }

    fn error(&self, why: String) -> SchemaError {
        SchemaError::new(self.file, self.line, why)
    }
}

/// Number of a text in a list, a new one where it is new.
fn numbered<'text>(texts: &mut Vec<&'text str>, text: &'text str) -> u16 {
    if let Some(place) = texts.iter().position(|known| *known == text) {
        return place as u16;
    }
    texts.push(text);
    texts.len() as u16 - 1
}
