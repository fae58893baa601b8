//! Hands: everything that touches the world.
