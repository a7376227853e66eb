//! Step 3 of message linking (WAP5 section 5.1): from a root's link probability tree, Figure 4 (a), to the path
//! instances it generates, Figure 4 (b). Every link taken brings a factor p, every link left out 1 - p, and a link
//! to be tried both ways makes two instances of one.
//!
//! The paper leaves open what happens where two links of one tree lead to the same message. It has one cause, so it
//! is in an instance once, and the factors are those of a choice among exclusive causes (docs/decisions/0202).

use message_trace::Progress;

use super::children::Children;
use super::decision::Decision;
use super::instances::Instances;
use crate::infer::Links;
use crate::options::Options;
use crate::parallel;

/// How building went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Built {
    /// Messages from which instances were built.
    pub(crate) roots: u64,
    /// Those with more links to try both ways than the bound.
    pub(crate) bounded: u64,
    /// Instances that were cut off at the bound on their size.
    pub(crate) cut: u64,
}

/// Builds the instances of all roots: the messages that are probably spontaneous, or at least may well be, which is
/// decided as for a link.
pub(crate) fn build(links: &Links, options: &Options, progress: &dyn Progress) -> (Instances, Built) {
    let roots: Vec<u32> = (0..links.messages())
        .filter(|message| {
            let likely = links.is_likely_spontaneous(*message);
            Decision::of(links.spontaneous(*message), likely, options.try_both) != Decision::False
        })
        .map(|message| message as u32)
        .collect();
    progress.step("building paths", roots.len() as u64);
    let children = Children::of(links, options);
    let parts = parallel::in_parts(roots.len(), |part| {
        let mut builder = Builder::new(&children, options);
        for roots in roots[part].chunks(4096) {
            for root in roots {
                builder.build(*root, links.spontaneous(*root as usize));
            }
            progress.advance(roots.len() as u64);
        }
        (builder.instances, builder.built)
    });
    let mut parts = parts.into_iter();
    let (mut instances, mut built) = parts.next().unwrap_or_default();
    for (others, counts) in parts {
        instances.append(&others);
        built.roots += counts.roots;
        built.bounded += counts.bounded;
        built.cut += counts.cut;
    }
    (instances, built)
}

/// The builder of the instances of one root after the other.
struct Builder<'links> {
    children: &'links Children,
    most_tried: usize,
    most_messages: usize,
    /// The walk on which each message was last met, and what it is to that walk.
    walk: u32,
    met: Vec<u32>,
    state: Vec<State>,
    /// The links of the root that are tried both ways, sorted.
    tried: Vec<u32>,
    /// The choices of the instance in the making, one for each tried link in the order in which they are met.
    choices: Vec<bool>,
    stack: Vec<(u32, u32)>,
    tree: Vec<(u32, u32)>,
    instances: Instances,
    built: Built,
}

/// What a message is to a walk.
#[derive(Clone, Copy)]
enum State {
    /// In the tree.
    Taken,
    /// Not in it so far: the probability of the causes that were not left out yet.
    Open(f64),
}

impl<'links> Builder<'links> {
    fn new(children: &'links Children, options: &Options) -> Builder<'links> {
        Builder {
            children,
            most_tried: options.try_both_limit.min(usize::BITS as usize / 2),
            most_messages: options.path_limit.max(1),
            walk: 0,
            met: vec![0; children.messages()],
            state: vec![State::Taken; children.messages()],
            tried: Vec::new(),
            choices: Vec::new(),
            stack: Vec::new(),
            tree: Vec::new(),
            instances: Instances::default(),
            built: Built::default(),
        }
    }

    /// Builds all instances of `root`, which is spontaneous with that probability.
    fn build(&mut self, root: u32, spontaneous: f64) {
        self.built.roots += 1;
        self.choose_tried(root);
        self.choices.clear();
        loop {
            let (probability, cut) = self.grow(root);
            if probability > 0.0 {
                // However many factors it has, what was built is not impossible.
                let probability = (spontaneous * probability).max(f64::MIN_POSITIVE);
                self.instances.push(&self.tree, probability);
                self.built.cut += u64::from(cut);
            }
            // The next choices: the last link that was taken is left out, what comes after it is open again.
            while self.choices.last() == Some(&false) {
                self.choices.pop();
            }
            match self.choices.last_mut() {
                Some(last) => *last = false,
                None => break,
            }
        }
    }

    /// Chooses which links below `root` are tried both ways: those nearest to a half, up to the bound on k.
    fn choose_tried(&mut self, root: u32) {
        self.begin(root);
        let mut ambiguous: Vec<(f64, u32)> = Vec::new();
        let mut messages = 1;
        while let Some((message, _)) = self.stack.pop() {
            for (link, child) in self.children.of_parent(message) {
                match child.decision {
                    Decision::False => continue,
                    Decision::True => {}
                    Decision::TryBoth { .. } => ambiguous.push(((child.probability - 0.5).abs(), link)),
                }
                if messages < self.most_messages && self.open(child.message).is_some() {
                    self.set(child.message, State::Taken);
                    self.stack.push((child.message, 0));
                    messages += 1;
                }
            }
        }
        if ambiguous.len() > self.most_tried {
            ambiguous.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            ambiguous.truncate(self.most_tried);
            self.built.bounded += 1;
        }
        self.tried.clear();
        self.tried.extend(ambiguous.into_iter().map(|(_, link)| link));
        self.tried.sort_unstable();
    }

    /// Grows the tree of `root` by the choices made so far, taking every tried link that is new. Returns the
    /// product of the factors, and whether the tree was cut off at the bound on its size.
    fn grow(&mut self, root: u32) -> (f64, bool) {
        self.begin(root);
        self.tree.clear();
        let (mut probability, mut messages, mut tried) = (1.0, 1, 0);
        let mut cut = false;
        while let Some((message, depth)) = self.stack.pop() {
            self.tree.push((message, depth));
            let first = self.stack.len();
            for (link, child) in self.children.of_parent(message) {
                if cut {
                    break;
                }
                let Some(open) = self.open(child.message) else { continue };
                let taken = match child.decision {
                    Decision::True => true,
                    Decision::False => false,
                    Decision::TryBoth { likely } if self.tried.binary_search(&link).is_err() => likely,
                    Decision::TryBoth { .. } => {
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
                    self.set(child.message, State::Open((open - child.probability).max(0.0)));
                } else if messages == self.most_messages {
                    cut = true;
                } else {
                    probability *= share;
                    messages += 1;
                    self.set(child.message, State::Taken);
                    self.stack.push((child.message, depth + 1));
                }
            }
            self.stack[first..].reverse();
        }
        (probability, cut)
    }

    /// Begins a walk at `root`, on which no other message was met yet.
    fn begin(&mut self, root: u32) {
        if self.walk == u32::MAX {
            self.met.fill(0);
            self.walk = 0;
        }
        self.walk += 1;
        self.stack.clear();
        self.stack.push((root, 0));
        self.set(root, State::Taken);
    }

    /// What is left of the probability of the causes of `message`; none if it is in the tree.
    fn open(&self, message: u32) -> Option<f64> {
        if self.met[message as usize] != self.walk {
            return Some(1.0);
        }
        match self.state[message as usize] {
            State::Taken => None,
            State::Open(probability) => Some(probability),
        }
    }

    fn set(&mut self, message: u32, state: State) {
        self.met[message as usize] = self.walk;
        self.state[message as usize] = state;
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
