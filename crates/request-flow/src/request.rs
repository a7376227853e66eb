//! Request: a tree of steps.

use serde::{Deserialize, Serialize};

use crate::step::Step;
use out_of_core::NameId;

/// A request: a tree of steps in depth-first order, the root first. Its buffers can be reused for
/// the next one ([`Request::clear`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Id of the request in its source; empty if it has none.
    pub trace: String,
    /// The node that sent the root's call; `NameInterner::UNKNOWN` if unknown.
    pub caller: NameId,
    /// The host of the caller's node.
    pub caller_host: NameId,
    /// Probability that the request happened in this way, from 0 to 1.
    pub probability: f64,
    /// Whether the root is not the real one: the call that led to it was lost, or its caller is no
    /// client.
    pub torn: bool,
    /// Number of the request's path pattern, if the request comes from paths.
    pub pattern: Option<i64>,
    /// Number of the path instance from which the request was made. Requests are in the order of
    /// their begins, paths only nearly so.
    pub path: Option<i64>,
    /// Steps in depth-first order. A parent comes before its children, and siblings are in the
    /// order of [`sibling_order`](crate::sibling_order).
    pub steps: Vec<Step>,
    /// Parameters of the steps.
    pub parameters: StepParameters,
}

/// Parameters of the steps of a request: names and values as in the source. All are concatenated,
/// so that a step needs no allocation of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepParameters {
    /// Where the parameters of each step end.
    ends: Vec<u32>,
    /// Name of each parameter, and where its value ends.
    names: Vec<(NameId, u32)>,
    values: String,
}

impl StepParameters {
    /// Returns the parameters of the step at this index.
    pub fn of_step(&self, step: usize) -> impl ExactSizeIterator<Item = (NameId, &str)> {
        let end = |ends: &[u32], place: usize| ends.get(place).map_or(0, |end| *end as usize);
        let begin = step.checked_sub(1).map_or(0, |before| end(&self.ends, before));
        (begin..end(&self.ends, step).max(begin)).map(|place| {
            let before = place.checked_sub(1).and_then(|before| self.names.get(before));
            let begin = before.map_or(0, |(_, end)| *end as usize);
            let (name, end) = self.names.get(place).copied().unwrap_or_default();
            (name, self.values.get(begin..end as usize).unwrap_or_default())
        })
    }

    /// Adds the parameters of the next step.
    fn push_step<'a>(&mut self, parameters: impl IntoIterator<Item = (NameId, &'a str)>) {
        for (name, value) in parameters {
            self.values.push_str(value);
            self.names.push((name, self.values.len() as u32));
        }
        self.ends.push(self.names.len() as u32);
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.names.clear();
        self.values.clear();
    }
}

impl Request {
    /// Returns the begin of the root: its earliest known time.
    pub fn begin(&self) -> Option<i64> {
        let root = self.steps.first()?;
        root.caller_begin.or(root.begin)
    }

    /// Returns the end of the root: its latest known time.
    pub fn end(&self) -> Option<i64> {
        let root = self.steps.first()?;
        root.caller_end.or(root.end)
    }

    /// Returns whether the root, or any other step, failed.
    pub fn has_failed(&self) -> bool {
        self.steps.iter().any(|step| step.failed)
    }

    /// Returns the value of the parameter `name` of a step.
    pub fn parameter_value(&self, step: usize, name: NameId) -> Option<&str> {
        self.parameters.of_step(step).find(|(of, _)| *of == name).map(|(_, value)| value)
    }

    /// Appends a step with its parameters. The caller ensures depth-first order; [`RequestBuilder`]
    /// sorts steps that come in any order.
    pub fn push_step<'a>(
        &mut self,
        step: Step,
        parameters: impl IntoIterator<Item = (NameId, &'a str)>,
    ) {
        self.parameters.push_step(parameters);
        self.steps.push(step);
    }

    /// Returns the depth of each step: 0 for the root.
    pub fn step_depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let above = step.parent.and_then(|parent| depths.get(parent as usize));
            depths.push(above.map_or(0, |above| above + 1));
        }
        depths
    }

    /// Returns the children of each step, in order.
    pub fn children_of_steps(&self) -> Vec<Vec<u32>> {
        let mut children = vec![Vec::new(); self.steps.len()];
        for (place, step) in (0..).zip(&self.steps) {
            let siblings = step.parent.and_then(|parent| children.get_mut(parent as usize));
            if let Some(siblings) = siblings {
                siblings.push(place);
            }
        }
        children
    }

    /// Replaces the number of each name by the result of `number`.
    pub fn map_names(&mut self, number: impl Fn(NameId) -> NameId) {
        self.caller = number(self.caller);
        self.caller_host = number(self.caller_host);
        for step in &mut self.steps {
            step.node = number(step.node);
            step.host = number(step.host);
            step.operation = number(step.operation);
        }
        self.parameters.names.iter_mut().for_each(|(name, _)| *name = number(*name));
    }

    /// Clears the request, but keeps its buffers.
    pub fn clear(&mut self) {
        let Request { mut trace, mut steps, mut parameters, .. } = std::mem::take(self);
        trace.clear();
        steps.clear();
        parameters.clear();
        *self = Request { trace, steps, parameters, ..Request::default() };
    }
}

/// A builder of requests from steps in any order.
#[derive(Debug, Default)]
pub struct RequestBuilder {
    /// The steps in the order in which they were added.
    steps: Request,
    /// The position of each step among its siblings, if the source has it.
    orders: Vec<Option<i64>>,
}

impl RequestBuilder {
    /// Adds a step, with the index of its parent among the steps that were added or will be. The
    /// first step without a parent is the root. `order` is its position among its siblings if the
    /// source has it; else times decide.
    pub fn add_step<'a>(
        &mut self,
        step: Step,
        order: Option<i64>,
        parameters: impl IntoIterator<Item = (NameId, &'a str)>,
    ) {
        self.orders.push(order);
        self.steps.push_step(step, parameters);
    }

    /// Writes the tree of the root to `request`, in depth-first order. Steps that the root does not
    /// lead to are omitted. The builder is empty afterwards.
    pub fn build(&mut self, request: &mut Request) {
        request.steps.clear();
        request.parameters.clear();
        let mut children = self.steps.children_of_steps();
        for siblings in &mut children {
            siblings.sort_by_key(|child| {
                let child = *child as usize;
                crate::sibling_order(&self.steps.steps[child], self.orders[child])
            });
        }
        let root = self.steps.steps.iter().position(|step| step.parent.is_none());
        let mut open: Vec<(u32, Option<u32>)> =
            root.map(|root| (root as u32, None)).into_iter().collect();
        while let Some((place, parent)) = open.pop() {
            let number = request.steps.len() as u32;
            let step = Step { parent, ..self.steps.steps[place as usize] };
            request.push_step(step, self.steps.parameters.of_step(place as usize));
            let below = std::mem::take(&mut children[place as usize]);
            open.extend(below.into_iter().rev().map(|child| (child, Some(number))));
        }
        self.orders.clear();
        self.steps.clear();
    }
}
