//! Commands of ATLAS alone. Those of timeouts are general: `crate::govern`.

pub(crate) mod rebroker;
