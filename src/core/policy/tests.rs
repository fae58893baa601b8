//! A policy that is read. What judging with one gives is tested beside the kinds of candidates.

#[cfg(test)]
mod compile;
