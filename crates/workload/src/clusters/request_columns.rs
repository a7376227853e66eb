//! Canonical requests in memory for batch clustering: as columns, by their texts. A text is the
//! sequence of the acts and roles of a request's elements.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::fact_sums::RequestFacts;
use super::resource::DemandedResource;
use super::scaled_request::TextCharacter;
use crate::canonical::{CanonicalElement, CanonicalRequest, ElementAct};
use crate::demands::Demands;

/// Canonical requests by their texts. Demands that are 0 in all requests of a text take no memory;
/// others take four bytes each.
#[derive(Debug, Default)]
pub(crate) struct RequestColumns {
    texts: Vec<TextColumns>,
    by_text: FxHashMap<Vec<TextCharacter>, u32>,
    /// Number of requests.
    requests: usize,
}

/// All requests of a text.
#[derive(Debug, Default)]
pub(crate) struct TextColumns {
    pub(crate) text: Vec<TextCharacter>,
    /// Demands in nanoseconds, calls or bytes, by element and resource.
    pub(crate) columns: BTreeMap<(u32, DemandedResource), Vec<f32>>,
    /// Begin of each [`ElementAct::Resume`] element, in nanoseconds from the begin of its request.
    begins: BTreeMap<u32, Vec<f32>>,
    pub(crate) facts: Vec<RequestFacts>,
}

impl RequestColumns {
    /// Adds a request with its facts.
    pub(crate) fn push_request(&mut self, of: &CanonicalRequest, facts: &RequestFacts) {
        let text: Vec<TextCharacter> =
            of.elements.iter().map(|element| (element.act, element.role)).collect();
        let number = match self.by_text.get(&text) {
            Some(number) => *number as usize,
            None => {
                self.by_text.insert(text.clone(), self.texts.len() as u32);
                self.texts.push(TextColumns { text, ..TextColumns::default() });
                self.texts.len() - 1
            }
        };
        self.texts[number].push_row(of, facts);
        self.requests += 1;
    }

    /// Number of requests.
    pub(crate) fn len(&self) -> usize {
        self.requests
    }

    /// All texts with their requests.
    pub(crate) fn texts(&self) -> &[TextColumns] {
        &self.texts
    }
}

impl TextColumns {
    fn push_row(&mut self, of: &CanonicalRequest, facts: &RequestFacts) {
        let before = self.facts.len();
        for (place, element) in (0..).zip(&of.elements) {
            if element.act == ElementAct::Resume && element.begin != 0 {
                set_value(self.begins.entry(place).or_default(), before, element.begin);
            }
            if element.demands == Demands::default() {
                continue;
            }
            for resource in DemandedResource::ALL {
                let demand = resource.amount_in(&element.demands);
                if demand != 0 {
                    set_value(self.columns.entry((place, resource)).or_default(), before, demand);
                }
            }
        }
        self.facts.push(*facts);
    }

    /// The request in the row `row`. Times and demands have a precision of 24 bits.
    pub(crate) fn canonical_request(&self, row: usize) -> CanonicalRequest {
        let element = |(act, role): &TextCharacter| CanonicalElement {
            act: *act,
            role: *role,
            ..CanonicalElement::default()
        };
        let mut elements: Vec<CanonicalElement> = self.text.iter().map(element).collect();
        for ((place, resource), column) in &self.columns {
            let Some(element) = elements.get_mut(*place as usize) else { continue };
            let mut demands: [i64; 6] = element.demands.into();
            demands[*resource as usize] = value_at(column, row) as i64;
            element.demands = demands.into();
        }
        let mut now = 0;
        let mut is_open = false;
        for (place, element) in (0..).zip(&mut elements) {
            if !is_open {
                let begin = self.begins.get(&place).map_or(0.0, |column| value_at(column, row));
                now = begin as i64;
            }
            is_open = element.act != ElementAct::Wait;
            element.begin = now;
            now = now.saturating_add(element.demands.processor_ns);
            element.end = now;
        }
        CanonicalRequest { elements }
    }
}

/// A value of a column, which ends after its last value other than 0.
pub(crate) fn value_at(column: &[f32], row: usize) -> f32 {
    column.get(row).copied().unwrap_or_default()
}

/// Appends `value` for the row `row`. Rows since the last value are 0.
fn set_value(column: &mut Vec<f32>, row: usize, value: i64) {
    column.resize(row, 0.0);
    column.push(value as f32);
}
