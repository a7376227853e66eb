//! Step 3 of message linking (WAP5 section 5.1): from a root's link probability tree, Figure 4 (a),
//! to the path instances it generates, Figure 4 (b). Every link taken contributes a factor p, every
//! link left out 1 - p, and a link that is tried both ways makes two instances of one.
//!
//! The paper leaves open what happens if two links of one tree lead to the same message. A message
//! has one cause, so it is in an instance once, and the factors are those of a choice among
//! exclusive causes (docs/decisions/0202).

use message_trace::MessageId;

use super::decision::LinkDecision;
use super::possible_children::PossibleChildren;
use crate::options::Options;
use crate::tuning::paths::tree::MIN_PROBABILITY;

/// Counts of the built instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildCounts {
    /// Messages from which instances were built.
    pub(crate) roots: u64,
    /// Roots with more links to try both ways than the limit.
    pub(crate) bounded: u64,
    /// Instances that were cut off at the limit on their size.
    pub(crate) cut: u64,
    /// Instances that were too unlikely to be kept.
    pub(crate) unlikely: u64,
}

impl BuildCounts {
    /// Adds the counts of another builder.
    pub(crate) fn add_counts(&mut self, other: BuildCounts) {
        self.roots += other.roots;
        self.bounded += other.bounded;
        self.cut += other.cut;
        self.unlikely += other.unlikely;
    }
}

/// A link: parent and child.
type ParentChild = (MessageId, MessageId);

/// The builder of the instances of one root after the other.
#[derive(Default)]
pub(crate) struct InstanceBuilder {
    /// Maximum number of links of a root that are tried both ways (the bound on k).
    max_tried: usize,
    /// Maximum number of messages of an instance.
    max_messages: usize,
    /// The messages met on this walk with their states.
    met: Vec<(MessageId, WalkState)>,
    /// By message: the index in `met` at which it is if it was met on this walk.
    slots: Vec<u32>,
    /// The links below the root that could be tried both ways, each with the distance of its
    /// probability from a half.
    ambiguous: Vec<(f64, ParentChild)>,
    /// The links of the root that are tried both ways, sorted.
    tried: Vec<ParentChild>,
    /// The choices of the current instance, one for each tried link in the order in which they are
    /// met.
    choices: Vec<bool>,
    stack: Vec<(MessageId, u32)>,
    tree: Vec<(MessageId, u32)>,
    /// The likeliest tree of the root while all of them are unlikely.
    unlikely: Vec<(MessageId, u32)>,
    pub(crate) built: BuildCounts,
}

/// State of a message in a walk.
#[derive(Clone, Copy)]
enum WalkState {
    /// In the tree.
    Taken,
    /// Not in the tree so far: the probability of the causes that were not left out yet.
    Open(f64),
}

impl InstanceBuilder {
    /// Creates a builder with the limits of `options`.
    pub(crate) fn new(options: &Options) -> InstanceBuilder {
        InstanceBuilder {
            max_tried: options.try_both_limit.min(usize::BITS as usize / 2),
            max_messages: options.path_limit.max(1),
            ..InstanceBuilder::default()
        }
    }

    /// Builds all instances of `root`, which is spontaneous with this probability, and passes each
    /// to `instance`: its messages with their depths, depth first, and its probability.
    pub(crate) fn build_instances<E>(
        &mut self,
        children: &PossibleChildren,
        root: MessageId,
        spontaneous: f64,
        mut instance: impl FnMut(&[(MessageId, u32)], f64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.built.roots += 1;
        // The slot of a message is checked against the messages met, so old values do not matter.
        self.slots.resize(children.message_count(), 0);
        self.choose_tried(children, root);
        self.choices.clear();
        let (mut has_likely, mut best, mut best_is_cut) = (false, 0.0, false);
        loop {
            let (probability, cut) = self.grow_tree(children, root);
            if probability > 0.0 {
                // However many factors it has, the probability of a built tree must not become 0.
                let probability = (spontaneous * probability).max(f64::MIN_POSITIVE);
                if probability >= MIN_PROBABILITY {
                    instance(&self.tree, probability)?;
                    has_likely = true;
                    self.built.cut += u64::from(cut);
                } else {
                    self.built.unlikely += 1;
                    if !has_likely && probability > best {
                        (best, best_is_cut) = (probability, cut);
                        self.unlikely.clone_from(&self.tree);
                    }
                }
            }
            if !self.next_choices() {
                break;
            }
        }
        if !has_likely && best > 0.0 {
            instance(&self.unlikely, best)?;
            self.built.cut += u64::from(best_is_cut);
            self.built.unlikely -= 1;
        }
        Ok(())
    }

    /// Moves to the next combination of choices: the last link that was taken is now left out, and
    /// later choices are reset. Returns false after the last combination.
    fn next_choices(&mut self) -> bool {
        while self.choices.last() == Some(&false) {
            self.choices.pop();
        }
        self.choices.last_mut().map(|last| *last = false).is_some()
    }

    /// Chooses which links below `root` are tried both ways: those nearest to a half, up to the
    /// limit on k.
    fn choose_tried(&mut self, children: &PossibleChildren, root: MessageId) {
        self.begin_walk(root);
        self.ambiguous.clear();
        let mut messages = 1;
        while let Some((message, _)) = self.stack.pop() {
            for child in children.of_parent(message) {
                match child.decision {
                    LinkDecision::False => continue,
                    LinkDecision::True => {}
                    LinkDecision::TryBoth { .. } => {
                        let link = (message, child.message);
                        self.ambiguous.push(((child.probability - 0.5).abs(), link));
                    }
                }
                if messages < self.max_messages && self.open_probability(child.message).is_some() {
                    self.set_state(child.message, WalkState::Taken);
                    self.stack.push((child.message, 0));
                    messages += 1;
                }
            }
        }
        let ambiguous = &mut self.ambiguous;
        if ambiguous.len() > self.max_tried {
            ambiguous.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            ambiguous.truncate(self.max_tried);
            self.built.bounded += 1;
        }
        self.tried.clear();
        self.tried.extend(ambiguous.iter().map(|(_, link)| link));
        self.tried.sort_unstable();
    }

    /// Grows the tree of `root` by the choices made so far, taking every tried link that is new.
    /// Returns the product of the factors, and whether the tree was cut off at the limit on its
    /// size.
    fn grow_tree(&mut self, children: &PossibleChildren, root: MessageId) -> (f64, bool) {
        self.begin_walk(root);
        self.tree.clear();
        let (mut probability, mut messages, mut tried) = (1.0, 1, 0);
        let mut cut = false;
        while let Some((message, depth)) = self.stack.pop() {
            self.tree.push((message, depth));
            let first = self.stack.len();
            for child in children.of_parent(message) {
                if cut {
                    break;
                }
                let Some(open) = self.open_probability(child.message) else { continue };
                let taken = match child.decision {
                    LinkDecision::True => true,
                    LinkDecision::False => false,
                    LinkDecision::TryBoth { likely }
                        if self.tried.binary_search(&(message, child.message)).is_err() =>
                    {
                        likely
                    }
                    LinkDecision::TryBoth { .. } => {
                        if tried == self.choices.len() {
                            self.choices.push(true);
                        }
                        tried += 1;
                        self.choices[tried - 1]
                    }
                };
                let share = (child.probability / open).min(1.0);
                if !taken {
                    probability *= 1.0 - share;
                    self.set_state(
                        child.message,
                        WalkState::Open((open - child.probability).max(0.0)),
                    );
                } else if messages == self.max_messages {
                    cut = true;
                } else {
                    probability *= share;
                    messages += 1;
                    self.set_state(child.message, WalkState::Taken);
                    self.stack.push((child.message, depth + 1));
                }
            }
            self.stack[first..].reverse();
        }
        (probability, cut)
    }

    /// Begins a walk at `root`, the only message met so far.
    fn begin_walk(&mut self, root: MessageId) {
        self.met.clear();
        self.stack.clear();
        self.stack.push((root, 0));
        self.set_state(root, WalkState::Taken);
    }

    /// Returns the index of `message` among the messages met.
    fn slot_of(&self, message: MessageId) -> Option<usize> {
        let slot = self.slots[message.index()] as usize;
        self.met.get(slot).is_some_and(|(met, _)| *met == message).then_some(slot)
    }

    /// Returns the remaining probability of the causes of `message`; `None` if it is in the tree.
    fn open_probability(&self, message: MessageId) -> Option<f64> {
        match self.slot_of(message).map(|slot| self.met[slot].1) {
            None => Some(1.0),
            Some(WalkState::Taken) => None,
            Some(WalkState::Open(probability)) => Some(probability),
        }
    }

    fn set_state(&mut self, message: MessageId, state: WalkState) {
        match self.slot_of(message) {
            Some(slot) => self.met[slot].1 = state,
            None => {
                self.slots[message.index()] = self.met.len() as u32;
                self.met.push((message, state));
            }
        }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
pub(crate) mod tests;
