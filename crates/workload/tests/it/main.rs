//! Integration tests of requests' costs.

mod canonical_figures;
mod figures;
mod helpers;
mod joins;
mod linux;
mod mixtures;
mod mixtures_are_told_apart;
mod rescheduling;
mod schemas;
mod steps;
mod stitching;
mod streams;
mod threads;
mod ties;
mod what_is_unusual;
