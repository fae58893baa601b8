//! The scenarios of spec cms-nordugrid B.14 that concern the rules themselves, and the laws that
//! hold over them.

#[cfg(test)]
mod choosing;
#[cfg(test)]
mod discovering;
#[cfg(test)]
mod free_slots;
#[cfg(test)]
mod input_files;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod matching;
#[cfg(test)]
mod prechecks;
#[cfg(test)]
mod retrying;
#[cfg(test)]
mod world;
