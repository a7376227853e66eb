//! Integration tests of requests' costs.

mod canonical_figures;
mod figures;
mod rescheduling;
mod steps;
mod stitching;
mod streams;
mod threads;
