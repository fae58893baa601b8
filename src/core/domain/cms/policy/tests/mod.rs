//! The scenarios of the specification (cms A.12), each as a test of its number, and laws.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod again;
#[cfg(test)]
mod analysis;
#[cfg(test)]
mod blocks;
#[cfg(test)]
mod central;
#[cfg(test)]
mod classes;
#[cfg(test)]
mod cores;
#[cfg(test)]
mod drains;
mod hostile;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod overflow;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod random;
#[cfg(test)]
mod twin;
#[cfg(test)]
mod waits;
#[cfg(test)]
mod whole;
#[cfg(test)]
mod world;
