//! Records of a pool of slots: what waits, what is offered, who goes first, what a site gives.

pub(crate) mod grant;
pub(crate) mod pool;
pub(crate) mod slot_quota;
