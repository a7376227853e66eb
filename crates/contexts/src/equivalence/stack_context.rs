//! Stack-contexts: paths of operations from the caller of a trace downwards. Each is identified by
//! its last operation and the stack-context of the calling operation, so that a further call costs
//! one hash. The caller-context of an execution follows from its stack-context.

use rustc_hash::FxHashMap;

use crate::identity::OperationId;

/// Number of a stack among the stacks of a [`StackContexts`], dense from 0: a caller is numbered
/// before its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct StackId(u32);

impl StackId {
    /// The id of the stack at this index.
    pub const fn from_index(index: usize) -> StackId {
        StackId(index as u32)
    }

    /// The index of the stack.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// All stacks so far. Some belong only to the callers of traces and to no execution.
#[derive(Clone, Debug, Default)]
pub struct StackContexts {
    numbers: FxHashMap<(Option<StackId>, OperationId), StackId>,
    stacks: Vec<(Option<StackId>, OperationId)>,
}

impl StackContexts {
    /// Removes all stacks, and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.stacks.clear();
    }

    /// The stack of the caller of a trace.
    pub fn root_stack(&mut self, caller: OperationId) -> StackId {
        self.intern_stack(None, caller)
    }

    /// The stack of an execution of `operation` that is called by an execution with the stack
    /// `caller`.
    pub fn callee_stack(&mut self, caller: StackId, operation: OperationId) -> StackId {
        self.intern_stack(Some(caller), operation)
    }

    fn intern_stack(&mut self, caller: Option<StackId>, operation: OperationId) -> StackId {
        let next = StackId::from_index(self.stacks.len());
        *self.numbers.entry((caller, operation)).or_insert_with(|| {
            self.stacks.push((caller, operation));
            next
        })
    }

    /// The operation at the end of a stack.
    pub fn last_operation(&self, stack: StackId) -> OperationId {
        self.stacks.get(stack.index()).map(|(_, operation)| *operation).unwrap_or_default()
    }

    /// The stack of the caller; `None` for the caller of a trace itself.
    pub fn caller_stack(&self, stack: StackId) -> Option<StackId> {
        self.stacks.get(stack.index()).and_then(|(caller, _)| *caller)
    }

    /// The caller-context of an execution with this stack: the calling operation, and its own.
    /// `None` for the caller of a trace.
    pub fn caller_context(&self, stack: StackId) -> Option<(OperationId, OperationId)> {
        Some((self.last_operation(self.caller_stack(stack)?), self.last_operation(stack)))
    }

    /// The operations of a stack, the caller of the trace first.
    pub fn path_of_stack(&self, stack: StackId) -> Vec<OperationId> {
        let callers = std::iter::successors(Some(stack), |stack| self.caller_stack(*stack));
        let mut path: Vec<OperationId> = callers.map(|stack| self.last_operation(stack)).collect();
        path.reverse();
        path
    }

    /// All stacks, in the order of their numbers.
    pub fn ids(&self) -> impl Iterator<Item = StackId> + use<> {
        (0..self.len()).map(StackId::from_index)
    }

    /// Number of stacks, including the stacks of callers of traces.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there is no stack.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_have_one_number() {
        let mut stacks = StackContexts::default();
        let [zero, one, two, three] = [0, 1, 2, 3].map(OperationId::from_index);
        let external = stacks.root_stack(zero);
        let a = stacks.callee_stack(external, one);
        let b = stacks.callee_stack(a, two);
        assert_eq!(
            (stacks.callee_stack(a, two), stacks.path_of_stack(b)),
            (b, vec![zero, one, two])
        );
        // The caller-context occurs on another path, too.
        let c = stacks.callee_stack(external, three);
        let inner = stacks.callee_stack(c, one);
        let other = stacks.callee_stack(inner, two);
        assert_ne!(other, b);
        assert_eq!(stacks.caller_context(other), stacks.caller_context(b));
        assert_eq!(
            (stacks.caller_context(a), stacks.caller_context(external)),
            (Some((zero, one)), None)
        );
    }
}
