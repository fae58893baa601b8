//! The scenarios of the specification (cms A.12), each as a test of its number, and laws.

mod admission;
mod analysis;
mod central;
mod classes;
mod cores;
mod laws;
mod overflow;
mod probes;
mod random;
mod twin;
mod world;
