//! Tuned figures of the crate, by algorithm and step, each with its unit and its meaning. Measured
//! figures say so, with the value or the decision that has it. All others were chosen, not
//! measured. Figures that the user can set are in `options.rs`. Constants of formats and data
//! structures stay where they are used.

pub(crate) mod auto;
pub(crate) mod calls;
pub(crate) mod convolution;
pub(crate) mod handoffs;
pub(crate) mod linking;
pub(crate) mod links;
pub(crate) mod naming;
pub(crate) mod nesting;
pub(crate) mod paths;
pub(crate) mod words;
