//! Integration tests of requests' costs.

mod canonical_figures;
mod figures;
mod helpers;
mod joins;
mod linux;
mod mixture_clusters;
mod mixtures;
mod rescheduling;
mod schemas;
mod steps;
mod stitching;
mod streams;
mod threads;
mod ties;
mod unusual_requests;
