//! Compiles a schema to its program.

use std::path::Path;

use out_of_core::{NameId, NameInterner};

use crate::join::key;
use crate::join::program::{
    AttributeSlot, CompiledBegin, CompiledBinding, CompiledCondition, CompiledKind, CompiledRule,
    CompiledValues, JoinProgram, RuleGroup, ValueSource,
};
use crate::join::seed_counts::SeedRequirements;
use crate::schema::{self, ANY, EventSchema, INTERRUPTED, SIBLING, SchemaError, parse_number};
use crate::synchronization::SyncStatement;
use crate::tuning::MAX_SLOTS;

/// Compiles `schema` and interns its names in `names`.
///
/// # Errors
/// If more attributes of a kind are used than there are slots, with the line of its EVENT.
pub(crate) fn compile_schema(
    schema: &EventSchema,
    names: &mut NameInterner,
) -> Result<JoinProgram, SchemaError> {
    let mut compiler = SchemaCompiler {
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
            compiler.add_rule(part, kind, part.after.get(place))?;
        }
    }
    compiler.link_slots(schema)?;
    let syncs = schema.syncs.iter().map(|sync| compiler.compile_sync(sync)).collect::<Vec<_>>();
    let seed_requirements =
        SeedRequirements::from_schema(schema, |mark| intern_text(&mut compiler.marks, mark));
    let mut program = JoinProgram {
        seed_requirements,
        apart: schema.apart,
        thread: 0,
        has_processors: schema.parts.iter().any(|part| part.processor.is_some()),
        leave: compiler.names.intern("join/Leave"),
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
        if let Some(of) = program.by_name.get_mut(kind.name.index()) {
            *of = place as u16 + 1;
        }
    }
    Ok(program)
}

struct SchemaCompiler<'schema> {
    names: &'schema mut NameInterner,
    file: &'schema Path,
    kinds: Vec<CompiledKind>,
    attributes: Vec<&'schema str>,
    marks: Vec<&'schema str>,
    /// Line of the current part.
    line: u32,
}

impl<'schema> SchemaCompiler<'schema> {
    fn add_rule(
        &mut self,
        part: &'schema schema::EventRule,
        kind: &str,
        after: Option<&String>,
    ) -> Result<(), SchemaError> {
        let name = self.names.intern(kind);
        let renamed = part.renamed.as_deref().map_or(name, |renamed| self.names.intern(renamed));
        let at = self.intern_kind(name);
        if let Some(after) = after {
            let after = self.names.intern(after);
            let after = self.intern_kind(after);
            let known = self.kinds.get(at).and_then(|kind| kind.after);
            if known.is_some_and(|known| usize::from(known) != after) {
                return Err(
                    self.schema_error(format!("{kind} is AFTER two kinds; write one of them"))
                );
            }
            self.update_kind(at, |kind| kind.after = Some(after as u16));
            self.update_kind(after, |kind| kind.keeps = true);
        }
        let thread = match &part.thread {
            Some(attribute) => Some(self.attribute_slot(at, attribute, false)?),
            None => None,
        };
        let compiled = self.compile_rule(part, at)?;
        self.update_kind(at, |kind| {
            kind.begins_requests |= part.seed;
            let same = |group: &&mut RuleGroup| group.kind == renamed && group.thread == thread;
            match kind.groups.iter_mut().find(same) {
                Some(group) => group.parts.push(compiled),
                None => {
                    kind.groups.push(RuleGroup { kind: renamed, thread, parts: vec![compiled] });
                }
            }
        });
        for begin in &part.begins {
            let slot = self.attribute_slot(at, &begin.attribute, false)?;
            let kind = self.names.intern(&begin.kind);
            let kind = self.intern_kind(kind) as u16;
            let begin = CompiledBegin { slot, by: begin.by, kind, slots: Vec::new() };
            self.update_kind(at, |kind| kind.begins.push(begin));
        }
        Ok(())
    }

    fn compile_rule(
        &mut self,
        part: &'schema schema::EventRule,
        at: usize,
    ) -> Result<CompiledRule, SchemaError> {
        let mut compiled = CompiledRule {
            processor: part.processor,
            inside: part.inside,
            seed: part.seed,
            complete: part.complete,
            wait: part.wait,
            ..CompiledRule::default()
        };
        for condition in &part.conditions {
            compiled.conditions.push(self.compile_condition(condition, at)?);
        }
        for binding in &part.bindings {
            let of = intern_text(&mut self.attributes, &binding.values.name);
            let sources = self.value_sources(&binding.values, at)?;
            compiled.bindings.push(CompiledBinding {
                values: CompiledValues { of, sources },
                mode: binding.mode,
            });
        }
        for affect in &part.affects {
            let of = intern_text(&mut self.attributes, &affect.attribute);
            compiled.affects.push((of, affect.starts));
        }
        for mark in &part.marks {
            compiled.marks.push((self.compile_mark(&mark.values, at)?, mark.on));
        }
        for resource in &part.resources {
            let source = self.value_source(at, &resource.attribute)?;
            compiled.resources.push((resource.kind, source, resource.times));
        }
        if let Some(name) = &part.name {
            compiled.name = Some(self.attribute_slot(at, name, true)?);
        }
        Ok(compiled)
    }

    fn compile_condition(
        &mut self,
        condition: &'schema schema::EventCondition,
        at: usize,
    ) -> Result<CompiledCondition, SchemaError> {
        Ok(match condition {
            schema::EventCondition::Compare { attribute, by, with } => {
                let value = |text: &String| {
                    parse_number(text).map_or_else(|| key::key_of_text(text), i64::cast_unsigned)
                };
                let with = with.iter().map(value).collect();
                CompiledCondition::Compare(self.value_source(at, attribute)?, *by, with)
            }
            schema::EventCondition::Marked { values, not } => match &*values.name {
                INTERRUPTED => CompiledCondition::Interrupted(*not),
                SIBLING => {
                    let sources = self.value_sources(values, at)?;
                    CompiledCondition::Sibling(
                        sources.first().copied().unwrap_or(ValueSource::Thread),
                        *not,
                    )
                }
                _ => CompiledCondition::Marked(self.compile_mark(values, at)?, *not),
            },
        })
    }

    fn compile_mark(
        &mut self,
        values: &'schema schema::AttributeValues,
        at: usize,
    ) -> Result<CompiledValues, SchemaError> {
        let of = intern_text(&mut self.marks, &values.name);
        Ok(CompiledValues { of, sources: self.value_sources(values, at)? })
    }

    fn value_sources(
        &mut self,
        values: &schema::AttributeValues,
        at: usize,
    ) -> Result<Vec<ValueSource>, SchemaError> {
        values.of.iter().map(|attribute| self.value_source(at, attribute)).collect()
    }

    fn value_source(&mut self, at: usize, attribute: &str) -> Result<ValueSource, SchemaError> {
        Ok(match attribute {
            "thread" => ValueSource::Thread,
            "process" => ValueSource::Process,
            "processor" => ValueSource::Processor,
            "host" => ValueSource::Host,
            "interrupt" => ValueSource::Interrupt,
            "poster" => ValueSource::Poster,
            _ => ValueSource::Slot(self.attribute_slot(at, attribute, false)?),
        })
    }

    /// Slot of an attribute of the kind at the index `at`; it is added if it is new. `is_name` says
    /// whether the text of the attribute names requests.
    fn attribute_slot(
        &mut self,
        at: usize,
        attribute: &str,
        is_name: bool,
    ) -> Result<u8, SchemaError> {
        let slot = AttributeSlot { name: self.names.intern(attribute), is_name };
        self.allocate_slot(at, slot)
    }

    fn allocate_slot(&mut self, at: usize, slot: AttributeSlot) -> Result<u8, SchemaError> {
        let Some(kind) = self.kinds.get_mut(at) else { return Ok(0) };
        if let Some(place) = kind.slots.iter().position(|known| *known == slot) {
            return Ok(place as u8);
        }
        if kind.slots.len() == MAX_SLOTS {
            let name = self.names.name_of(kind.name);
            return Err(self.schema_error(format!(
                "more than {MAX_SLOTS} attributes of {name} are used; use fewer"
            )));
        }
        kind.slots.push(slot);
        Ok(kind.slots.len() as u8 - 1)
    }

    /// Index of a kind, which is added if it is new.
    fn intern_kind(&mut self, name: NameId) -> usize {
        if let Some(place) = self.kinds.iter().position(|kind| kind.name == name) {
            return place;
        }
        self.kinds.push(CompiledKind { name, ..CompiledKind::default() });
        self.kinds.len() - 1
    }

    fn update_kind(&mut self, at: usize, change: impl FnOnce(&mut CompiledKind)) {
        if let Some(kind) = self.kinds.get_mut(at) {
            change(kind);
        }
    }

    /// Resolves the slots from which synthetic events, and events after a kept one (AFTER), take
    /// their values, and marks the kinds that block (WAIT).
    fn link_slots(&mut self, schema: &'schema EventSchema) -> Result<(), SchemaError> {
        for at in 0..self.kinds.len() {
            let begins = self.kinds.get(at).map_or(0, |kind| kind.begins.len());
            for place in 0..begins {
                let begin = self.kinds.get(at).and_then(|kind| kind.begins.get(place));
                let begin = begin.map_or(0, |begin| usize::from(begin.kind));
                let slots = self.kinds.get(begin).map(|kind| kind.slots.clone());
                let from = self.slots_of(at, slots.unwrap_or_default())?;
                self.update_kind(at, |kind| {
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
                self.update_kind(at, |kind| kind.from_kept = from);
            }
        }
        for (_, kind) in &schema.waits {
            let name = self.names.intern(kind);
            let groups = self.kinds.iter_mut().flat_map(|kind| &mut kind.groups);
            for group in groups.filter(|group| group.kind == name) {
                group.parts.push(CompiledRule { wait: true, ..CompiledRule::default() });
            }
        }
        Ok(())
    }

    /// The slots of the kind `at` for the attributes `slots`, which are added if they are new.
    fn slots_of(
        &mut self,
        at: usize,
        slots: Vec<AttributeSlot>,
    ) -> Result<Vec<Option<u8>>, SchemaError> {
        slots.into_iter().map(|slot| self.allocate_slot(at, slot).map(Some)).collect()
    }

    fn compile_sync(&mut self, sync: &'schema schema::SyncRule) -> SyncStatement {
        SyncStatement {
            source: self.names.intern(&sync.source),
            attribute: intern_text(&mut self.attributes, &sync.attribute),
            destination: match sync.destination.as_str() {
                ANY => NameInterner::UNKNOWN,
                kind => self.names.intern(kind),
            },
        }
    }

    fn schema_error(&self, why: String) -> SchemaError {
        SchemaError::new(self.file, self.line, why)
    }
}

/// Index of a text in a list, which is added if it is new.
fn intern_text<'text>(texts: &mut Vec<&'text str>, text: &'text str) -> u16 {
    if let Some(place) = texts.iter().position(|known| *known == text) {
        return place as u16;
    }
    texts.push(text);
    texts.len() as u16 - 1
}
