//! Encoding: from a request to its category, and to the place of each of its steps: the index of
//! the step in the structure that all requests of the category share.

use std::cmp::Reverse;

use request_flow::{NameInterner, OverlapTracker, Request, Step};

use super::name_hashes::{NameHashes, hash_words};
use super::structure::{CategoryKey, CategoryPlace, CategoryStructure, StepSymbol};
use super::zoom::{ShownSteps, ZoomLevel};

/// Stands for no step, group or place.
const NONE: u32 = u32::MAX;

/// Encoder of requests that share one numbering of names.
#[derive(Debug)]
pub struct CategoryEncoder<'n> {
    hashes: &'n NameHashes,
    shown: ShownSteps,
    /// Options of the [`ZoomLevel`].
    loops: bool,
    races: bool,
    steps: Vec<EncodedStep>,
    /// Shown children of each step, in order: one list, with the start of each step's children.
    children: Vec<u32>,
    begins: Vec<u32>,
    /// Buffer: where the next child of each step goes in `children`.
    next: Vec<u32>,
    words: Vec<u128>,
    bytes: Vec<u8>,
    open: Vec<u32>,
    /// The step at each place.
    order: Vec<u32>,
}

/// Facts about a step while its request is encoded.
#[derive(Clone, Copy, Debug, Default)]
struct EncodedStep {
    /// The nearest shown step above the step, or [`NONE`].
    parent: u32,
    is_shown: bool,
    /// Hash of the step and everything below it.
    hash: u128,
    /// Number of the step's group of concurrent siblings.
    group: u32,
    /// Whether the step is a repetition of the call before it.
    is_repetition: bool,
    /// Whether further steps are repetitions of this one.
    repeated: bool,
    place: u32,
    overlaps: OverlapTracker,
    /// Number of the last group of concurrent children so far.
    groups: u32,
    /// Number of the shown children.
    children: u32,
}

/// A request's category and places, until the next one is encoded.
#[derive(Debug)]
pub struct EncodedRequest<'e> {
    /// Category of the request.
    pub key: CategoryKey,
    steps: &'e [EncodedStep],
    order: &'e [u32],
}

impl<'n> CategoryEncoder<'n> {
    /// An encoder at the level of detail `zoom`; `hashes` are the hashes of `names`.
    pub fn new(
        zoom: &ZoomLevel,
        names: &NameInterner,
        hashes: &'n NameHashes,
    ) -> CategoryEncoder<'n> {
        CategoryEncoder {
            hashes,
            shown: ShownSteps::from_zoom(zoom, names),
            loops: zoom.loops,
            races: zoom.races,
            steps: Vec::new(),
            children: Vec::new(),
            begins: Vec::new(),
            next: Vec::new(),
            words: Vec::new(),
            bytes: Vec::new(),
            open: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Encodes a request.
    pub fn encode(&mut self, request: &Request) -> EncodedRequest<'_> {
        self.find_parents(&request.steps);
        self.list_children();
        for step in (0..self.steps.len()).rev() {
            if self.steps[step].is_shown {
                self.order_children(step, &request.steps);
                self.steps[step].hash = self.hash_step(step, &request.steps[step]);
            }
        }
        let root = self.steps.first().map_or(0, |root| root.hash);
        let words = [root, self.hashes.get(request.caller), u128::from(request.torn)];
        let key = hash_words(&words, &mut self.bytes);
        self.number_places();
        EncodedRequest { key, steps: &self.steps, order: &self.order }
    }

    /// Determines which steps are shown, the nearest shown step above each, and which run
    /// concurrently.
    fn find_parents(&mut self, steps: &[Step]) {
        self.steps.clear();
        for (place, step) in (0_u32..).zip(steps) {
            let above = step.parent.filter(|parent| *parent < place);
            let is_shown = self.shown.shows_step(step, above.and_then(|of| steps.get(of as usize)));
            let parent =
                match above.and_then(|above| Some((above, self.steps.get(above as usize)?))) {
                    Some((above, known)) => {
                        if known.is_shown {
                            above
                        } else {
                            known.parent
                        }
                    }
                    None => NONE,
                };
            let mut of = EncodedStep { parent, is_shown, place: NONE, ..EncodedStep::default() };
            if is_shown && let Some(above) = self.steps.get_mut(parent as usize) {
                let overlaps = above.overlaps.joins_previous(step) && !self.races;
                if !overlaps && above.children > 0 {
                    above.groups += 1;
                }
                above.children += 1;
                of.group = above.groups;
            }
            self.steps.push(of);
        }
    }

    /// Lists the shown children of each step in `children`.
    fn list_children(&mut self) {
        let CategoryEncoder { steps, children, begins, next, .. } = self;
        begins.clear();
        let mut begin = 0;
        for step in steps.iter() {
            begins.push(begin);
            begin += step.children;
        }
        begins.push(begin);
        children.clear();
        children.resize(begin as usize, NONE);
        next.clear();
        next.extend_from_slice(begins);
        for (place, step) in (0_u32..).zip(steps.iter()) {
            if step.is_shown && step.parent != NONE {
                let at = &mut next[step.parent as usize];
                children[*at as usize] = place;
                *at += 1;
            }
        }
    }

    /// Sorts concurrent children into their fixed order, by hash. Of equal children the one that
    /// ends last is first, as the caller waits for it. Marks repetitions if loops are collapsed.
    fn order_children(&mut self, step: usize, of: &[Step]) {
        let range = self.begins[step] as usize..self.begins[step + 1] as usize;
        let (children, steps) = (&mut self.children[range], &mut self.steps);
        if children.len() < 2 {
            return;
        }
        children.sort_by_key(|child| {
            let (child, until) = (&steps[*child as usize], of[*child as usize].span_at_caller().1);
            (child.group, child.hash, Reverse(until))
        });
        if !self.loops {
            return;
        }
        // Consecutive equal calls, none of them concurrent with another call, are a loop.
        let is_alone = |place: usize, steps: &[EncodedStep]| {
            let group = steps[children[place] as usize].group;
            let differs =
                |other: Option<&u32>| other.is_none_or(|of| steps[*of as usize].group != group);
            differs(place.checked_sub(1).and_then(|before| children.get(before)))
                && differs(children.get(place + 1))
        };
        let mut first: Option<usize> = None;
        for (place, child) in children.iter().enumerate() {
            let child = *child as usize;
            match first {
                Some(first) if is_alone(place, steps) && steps[first].hash == steps[child].hash => {
                    steps[child].is_repetition = true;
                    steps[first].repeated = true;
                }
                _ => first = is_alone(place, steps).then_some(child),
            }
        }
    }

    fn hash_step(&mut self, step: usize, of: &Step) -> u128 {
        let CategoryEncoder { words, steps, children, begins, .. } = self;
        words.clear();
        words.extend([
            self.hashes.get(of.node),
            self.hashes.get(of.operation),
            u128::from(of.failed),
        ]);
        let mut group = NONE;
        for child in &children[begins[step] as usize..begins[step + 1] as usize] {
            let child = &steps[*child as usize];
            if !child.is_repetition {
                words.extend([
                    u128::from(child.group != group) | u128::from(child.repeated) << 1,
                    child.hash,
                ]);
                group = child.group;
            }
        }
        hash_words(words, &mut self.bytes)
    }

    /// Sets the place of each step: places are numbered depth first.
    fn number_places(&mut self) {
        let CategoryEncoder { steps, children, begins, open, order, .. } = self;
        open.clear();
        order.clear();
        open.extend((!steps.is_empty()).then_some(0));
        // Steps that are not in a further iteration of a loop have places of their own.
        while let Some(step) = open.pop() {
            let (of, range) =
                (step as usize, begins[step as usize] as usize..begins[step as usize + 1] as usize);
            steps[of].place = order.len() as u32;
            order.push(step);
            open.extend(
                children[range].iter().rev().filter(|child| !steps[**child as usize].is_repetition),
            );
        }
        // Further iterations of a loop, and the steps below, share the places of the first one.
        for step in 0..steps.len() {
            let range = begins[step] as usize..begins[step + 1] as usize;
            let mut first = NONE;
            for place in range {
                let child = children[place] as usize;
                if steps[child].is_repetition {
                    copy_places(steps, children, begins, first, child as u32);
                } else {
                    first = child as u32;
                }
            }
        }
        for step in 0..steps.len() {
            if !steps[step].is_shown {
                steps[step].place = steps.get(steps[step].parent as usize).map_or(0, |of| of.place);
            }
        }
    }
}

/// Copies the places of the first iteration of a loop to a further one. Both iterations have the
/// same structure.
fn copy_places(
    steps: &mut [EncodedStep],
    children: &[u32],
    begins: &[u32],
    first: u32,
    other: u32,
) {
    let mut open = vec![(first, other)];
    while let Some((first, other)) = open.pop() {
        let Some(place) = steps.get(first as usize).map(|step| step.place) else { continue };
        let Some(step) = steps.get_mut(other as usize) else { continue };
        step.place = place;
        let of = |step: u32| {
            let range = begins[step as usize] as usize..begins[step as usize + 1] as usize;
            children[range].iter().copied()
        };
        let own = |list: Vec<u32>| {
            list.into_iter()
                .filter(|child| !steps[*child as usize].is_repetition)
                .collect::<Vec<_>>()
        };
        let (firsts, others) = (own(of(first).collect()), own(of(other).collect()));
        open.extend(firsts.into_iter().zip(others));
    }
}

impl EncodedRequest<'_> {
    /// Number of places of the request's category.
    pub fn place_count(&self) -> usize {
        self.order.len()
    }

    /// The place of a step; a hidden one has the place of the step above it.
    pub fn place_of_step(&self, step: usize) -> u32 {
        self.steps.get(step).map_or(0, |step| step.place.min(self.order.len() as u32))
    }

    /// Whether a step has a place of its own.
    pub fn is_shown(&self, step: usize) -> bool {
        self.steps.get(step).is_some_and(|step| step.is_shown)
    }

    /// The structure of the category, with names as numbered in the request.
    pub fn build_structure(&self, request: &Request) -> CategoryStructure {
        let mut places: Vec<CategoryPlace> = Vec::with_capacity(self.order.len());
        let mut last_child: Vec<Option<usize>> = vec![None; self.order.len()];
        for step in self.order {
            let (of, step) = (&self.steps[*step as usize], &request.steps[*step as usize]);
            let parent = self.steps.get(of.parent as usize).map(|above| above.place);
            let above = parent.and_then(|parent| places.get(parent as usize));
            let depth = above.map_or(0, |above: &CategoryPlace| above.depth + 1);
            let symbol = StepSymbol {
                node: step.node,
                operation: step.operation,
                failed: step.failed,
                repeated: of.repeated,
            };
            // The previous sibling is the last place under the same parent.
            let last = parent.and_then(|parent| last_child.get_mut(parent as usize));
            let sibling = last.and_then(|last| last.replace(places.len()));
            let with_previous = sibling.is_some_and(|at| {
                let sibling = self.order.get(at).and_then(|step| self.steps.get(*step as usize));
                sibling.is_some_and(|sibling| sibling.group == of.group)
            });
            places.push(CategoryPlace { parent, symbol, with_previous, depth });
        }
        CategoryStructure { caller: request.caller, torn: request.torn, places }
    }
}
