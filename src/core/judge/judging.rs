//! Judging at a cut: what is read, by which policies. It changes nothing.

use crate::domain::atlas::judge::work::WorkTable;
use crate::judge::policies::Policies;
use crate::judge::view::CutView;

/// The inputs of judging at a cut.
#[derive(Clone, Copy)]
pub(crate) struct JudgingInputs<'a> {
    /// State and configuration at the cut.
    pub(crate) view: CutView<'a>,
    /// The policies that answer.
    pub(crate) policies: &'a Policies,
    /// Work that remains at nuclei; kept where a policy judges nuclei.
    pub(crate) work: &'a WorkTable,
}
