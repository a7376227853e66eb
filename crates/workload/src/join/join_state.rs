//! State of the join, which each event updates.

use events::Event;
use out_of_core::NameId;

use crate::accounting::{
    PendingUsage, ProcessorStates, ThreadAccount, ThreadAccounts, ThreadRunState,
};
use crate::demands::Demands;
use crate::join::arena::NONE;
use crate::join::counts::StateCounts;
use crate::join::event_context::EventContext;
use crate::join::event_joiner::{BoundValue, EventJoiner, JoinTables};
use crate::join::extracted_event::ExtractedEvent;
use crate::join::marked_values::MarkedValues;
use crate::join::program::{CompiledRule, JoinProgram, RuleGroup};
use crate::join::set_store::{EventOrigin, SetStore};
use crate::schema::{ProcessorUse, ResourceKind};
use crate::tuning::MAX_UNSEEDED_EVENTS;

/// State of the join.
#[derive(Debug, Default)]
pub(crate) struct JoinState {
    pub store: SetStore,
    pub threads: ThreadAccounts,
    pub marks: MarkedValues,
    /// Numbers of closed sets.
    pub closed: Vec<u32>,
    /// Counts of events by outcome.
    pub counts: StateCounts,
    processors: ProcessorStates,
    /// Whether any event showed which thread runs on a processor.
    has_switches: bool,
    joining: EventJoiner,
}

impl JoinState {
    /// Joins an event: updates threads, sets and marks.
    pub(crate) fn process_event(&mut self, program: &JoinProgram, mut item: ExtractedEvent) {
        let Some(kind) = program.kinds.get(usize::from(item.kind)) else { return };
        let poster = self.posting_thread(program, &mut item.event);
        if let Some(thread) = self.threads.get_mut(poster) {
            if kind.after.is_some() && thread.kept_kind == kind.after {
                let kept =
                    ExtractedEvent { present: thread.kept_present, values: thread.kept, ..item };
                for (slot, from) in (0..).zip(&kind.from_kept) {
                    if item.slot_value(slot).is_none()
                        && let Some(value) = from.and_then(|from| kept.slot_value(from))
                    {
                        item.set_slot(slot, value);
                    }
                }
                thread.kept_kind = None;
            }
            if kind.keeps {
                thread.kept_kind = Some(item.kind);
                (thread.kept_present, thread.kept) = (item.present, item.values);
            }
        }
        if kind.begins_requests {
            self.counts.could_begin += 1;
            self.counts.without_process += u64::from(item.event.process == 0);
        }
        let depth = match program.has_processors && item.event.processor >= 0 {
            true => self
                .processors
                .state_of_processor(item.event.host, item.event.processor)
                .interrupt_depth(),
            false => 0,
        };
        let event = &item.event;
        let context = EventContext {
            item,
            thread: poster,
            poster: event.thread,
            poster_process: event.process,
            depth,
        };
        for group in &kind.groups {
            self.process_group(program, group, context);
        }
    }

    /// Number of the thread that posts an event, which then runs on its processor.
    fn posting_thread(&mut self, program: &JoinProgram, event: &mut Event) -> u32 {
        if event.thread == 0 {
            return NONE;
        }
        let number = self.threads.intern_thread(event.host, event.thread, event.time);
        let Some(thread) = self.threads.get_mut(number) else { return NONE };
        thread.last_event = event.time;
        match event.process {
            0 => event.process = thread.process,
            process => thread.process = process,
        }
        if !program.has_processors || !self.has_switches || event.processor < 0 {
            return number;
        }
        if !matches!(thread.state, ThreadRunState::Running | ThreadRunState::Interrupted) {
            thread.change_state(ThreadRunState::Running, event.time);
        }
        self.set_running_thread(event, number);
        number
    }

    /// Records that a thread runs on a processor: the thread that ran on it before no longer runs.
    fn set_running_thread(&mut self, event: &Event, number: u32) {
        let processor = self.processors.state_of_processor(event.host, event.processor);
        let before = processor.thread.replace(number);
        if let Some(thread) = self.threads.get_mut(number) {
            thread.processor = event.processor;
        }
        if before == Some(number) {
            return;
        }
        // The thread may have continued on another processor since.
        if let Some(before) = before.and_then(|before| self.threads.get_mut(before))
            && before.processor == event.processor
            && matches!(before.state, ThreadRunState::Running | ThreadRunState::Interrupted)
        {
            // The event with which that thread left the processor was lost, so the time since its
            // last event is not attributed.
            (before.state, before.since) = (ThreadRunState::Unknown, event.time);
        }
    }

    /// Joins the event that the parts of a group make, if the conditions of any part hold.
    fn process_group(
        &mut self,
        program: &JoinProgram,
        group: &RuleGroup,
        mut context: EventContext,
    ) {
        if let Some(slot) = group.thread {
            let id = context.item.slot_value(slot).unwrap_or(0) as i32;
            let event = &mut context.item.event;
            event.thread = id;
            context.thread = match id {
                0 => NONE,
                _ => self.threads.intern_thread(event.host, id, event.time),
            };
            event.process = self.threads.get(context.thread).map_or(0, |thread| thread.process);
        }
        let JoinState { marks, threads, .. } = self;
        let holds = |part: &&CompiledRule| {
            part.conditions.iter().all(|condition| context.satisfies(condition, marks, threads))
        };
        let mut parts: [Option<&CompiledRule>; MAX_RULES] = [None; MAX_RULES];
        for (place, part) in parts.iter_mut().zip(group.parts.iter().filter(holds)) {
            *place = Some(part);
        }
        let parts = || parts.iter().map_while(|part| *part);
        if parts().next().is_some() {
            self.join_rules(program, group, context, parts);
        }
    }

    /// Joins an event by the matching parts `parts` of the schema: finds its set, charges the usage
    /// of its thread, and applies its effects.
    fn join_rules<'program, P: Iterator<Item = &'program CompiledRule>>(
        &mut self,
        program: &JoinProgram,
        group: &RuleGroup,
        mut context: EventContext,
        parts: impl Fn() -> P,
    ) {
        let now = context.item.event.time;
        let used = parts().find_map(|part| part.processor);
        let interrupt_ns = self.account_interrupt(used, &mut context);
        self.joining.bounds.clear();
        for binding in parts().flat_map(|part| &part.bindings) {
            let handle = context.value_handle(&binding.values, program.thread, &mut self.threads);
            let Some(handle) = handle else { continue };
            let same = |bound: &BoundValue| bound.handle == handle && bound.mode == binding.mode;
            if !self.joining.bounds.iter().any(same) {
                self.joining.bounds.push(BoundValue { handle, mode: binding.mode, sector: NONE });
            }
        }
        let is_seed = parts().any(|part| part.seed);
        let affects = || parts().flat_map(|part| part.affects.iter().copied());
        let JoinState { store, threads, closed, counts, joining, .. } = self;
        let mut tables = JoinTables { program, store, threads, closed, counts, now };
        let set = joining.join_event(&mut tables, affects(), is_seed);
        let JoinTables { store, threads, counts, .. } = &mut tables;
        if let Some(set) = set {
            counts.joined += 1;
            let in_interrupt = context.depth > 0;
            let mut event = Event { kind: group.kind, ..context.item.event };
            let pending = match interrupt_ns {
                Some(processor_ns) => PendingUsage { processor_ns, ..PendingUsage::default() },
                None if in_interrupt => PendingUsage::default(),
                None => pending_in(set, context.thread, store, threads, now),
            };
            if in_interrupt {
                (event.thread, event.process) = (0, 0);
            }
            let what = EventOrigin {
                is_wait: parts().any(|part| part.wait),
                is_interrupt: interrupt_ns.is_some(),
            };
            let order =
                store.append_event(set, event, demands_of_event(&context, parts()), pending, what);
            if let Some(of) = store.sets.get_mut(set) {
                if is_seed {
                    of.seeds += 1;
                    of.seed = of.seed.min((order, group.kind));
                }
                of.complete |= parts().any(|part| part.complete);
                let name = parts().find_map(|part| context.item.slot_value(part.name?));
                if let Some(name) = name.filter(|name| *name != 0) {
                    of.name = of.name.min((order, NameId::from_index(name as usize)));
                }
                if of.seeds == 0 && of.events > MAX_UNSEEDED_EVENTS {
                    counts.forgotten += u64::from(of.events);
                    store.clear_events(set);
                }
            }
            joining.apply_bindings(&mut tables, affects(), set, order);
        } else {
            counts.unjoined += 1;
        }
        self.apply_after_join(used, &context, parts);
    }

    /// Accounts for the begin or end of an interrupt; returns its processor time in nanoseconds, if
    /// it ends.
    fn account_interrupt(
        &mut self,
        used: Option<ProcessorUse>,
        context: &mut EventContext,
    ) -> Option<i64> {
        if !matches!(used, Some(ProcessorUse::Interrupt | ProcessorUse::Return)) {
            return None;
        }
        let event = &context.item.event;
        let processor = self.processors.state_of_processor(event.host, event.processor);
        match used {
            Some(ProcessorUse::Interrupt) => {
                processor.begin_interrupt(event.time);
                context.depth = processor.interrupt_depth();
                if let Some(thread) = self.threads.get_mut(context.thread)
                    && thread.state == ThreadRunState::Running
                {
                    thread.change_state(ThreadRunState::Interrupted, event.time);
                }
                None
            }
            Some(ProcessorUse::Return) => {
                let time = processor.end_interrupt(event.time);
                if processor.interrupt_depth() == 0
                    && let Some(thread) = self.threads.get_mut(context.thread)
                    && thread.state == ThreadRunState::Interrupted
                {
                    thread.change_state(ThreadRunState::Running, event.time);
                }
                Some(time)
            }
            _ => None,
        }
    }

    /// Applies the effects of a joined event on its thread and on marks.
    fn apply_after_join<'program, P: Iterator<Item = &'program CompiledRule>>(
        &mut self,
        used: Option<ProcessorUse>,
        context: &EventContext,
        parts: impl Fn() -> P,
    ) {
        let event = &context.item.event;
        let now = event.time;
        self.has_switches |= matches!(used, Some(ProcessorUse::In | ProcessorUse::Out(_)));
        if let Some(thread) = self.threads.get_mut(context.thread) {
            match used {
                Some(ProcessorUse::In) => thread.change_state(ThreadRunState::Running, now),
                Some(ProcessorUse::Out(why)) => {
                    let why = why.unwrap_or(thread.wait_reason);
                    thread.change_state(ThreadRunState::Off(why), now);
                }
                Some(ProcessorUse::Ready) if matches!(thread.state, ThreadRunState::Off(_)) => {
                    thread.change_state(
                        ThreadRunState::Off(crate::schema::WaitReason::Runnable),
                        now,
                    );
                }
                _ => {}
            }
            if let Some(inside) = parts().find_map(|part| part.inside) {
                thread.wait_reason = inside;
            }
        }
        if used == Some(ProcessorUse::In) && event.processor >= 0 {
            self.processors.state_of_processor(event.host, event.processor).clear_interrupts();
            self.set_running_thread(event, context.thread);
        }
        for (values, on) in parts().flat_map(|part| &part.marks) {
            let Some(key) = context.mark_key(values) else { continue };
            if *on { self.marks.set_mark(values.of, key) } else { self.marks.clear_mark(key) }
        }
    }
}

/// Maximum number of parts of a schema that match one event.
const MAX_RULES: usize = 12;

/// Takes the usage of a thread since its last event; none if the thread does not work for the set.
fn pending_in(
    set: u32,
    thread: u32,
    store: &SetStore,
    threads: &mut ThreadAccounts,
    now: i64,
) -> PendingUsage {
    let Some(thread) = threads.get_mut(thread) else { return PendingUsage::default() };
    if thread.sector == ThreadAccount::NO_SECTOR || store.sectors.get(thread.sector).set != set {
        return PendingUsage::default();
    }
    thread.account_until(now);
    thread.take_pending()
}

/// Resources that an event uses, except for processors.
fn demands_of_event<'program>(
    context: &EventContext,
    parts: impl Iterator<Item = &'program CompiledRule>,
) -> Demands {
    let mut demands = Demands::default();
    for (kind, source, times) in parts.flat_map(|part| &part.resources) {
        let amount = context.value_from(*source).map_or(0, |value| value.cast_signed());
        let amount = amount.saturating_mul(*times).max(0);
        match kind {
            ResourceKind::DiskRead => demands.disk_read_bytes += amount,
            ResourceKind::DiskWrite => demands.disk_written_bytes += amount,
            ResourceKind::Sent => demands.sent_bytes += amount,
            ResourceKind::Received => demands.received_bytes += amount,
        }
        if matches!(kind, ResourceKind::DiskRead | ResourceKind::DiskWrite) {
            demands.disk_calls += 1;
        }
    }
    demands
}
