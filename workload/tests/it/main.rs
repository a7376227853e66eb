//! Integration tests of requests' costs.

mod canonical_figures;
mod rescheduling;
mod steps;
mod stitching;
mod threads;
