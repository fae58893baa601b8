//! The parameters of a policy that are in force for a share.

use super::values::Values;

/// The parameters of a policy with gdpconfig's values in place, for one share. Two that are equal
/// judge alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The kind's own parameters.
    pub own: Values,
    /// Parameters of each filter, in the policy's order.
    pub filters: Vec<Values>,
    /// Parameters of each weight, in the policy's order.
    pub weights: Vec<Values>,
    /// The kind's own lists, in the order of their declaration.
    pub lists: Vec<Vec<String>>,
    /// gdpconfig values that were ignored, and why.
    pub notes: Vec<String>,
}
