//! What if configuration were another: requests judged once more at the present cut, as it is and
//! as it would be. The loop does it at the end of a cycle, for a bounded number of requests.

use crate::suppose::{SupposedField, supposed};
use std::cmp::Reverse;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::{Task, TaskPhase};
use yardmaster_core::output::decision::Decision;
use yardmaster_core::state::record::RequestState;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::RowKind;

/// Requests that are judged at most, each twice, while the loop waits: of 300 queues a judgement
/// takes some 60 us ...
pub const JUDGED_MAX: usize = 300;
/// ... of single jobs for queues of clusters some 500 us.
const JOBS_JUDGED_MAX: usize = 50;
/// Of the names that may be held, so many of a hundred may be before nothing is supposed any more:
/// a supposed record may bring new ones, which stay.
const NAMES_PERCENT: usize = 80;
/// Requests that are looked through for those that asked within the window.
const LOOKED_MAX: usize = 100_000;

/// Requests that are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhatIfOf {
    /// A request, or all of a task.
    Name(String),
    /// Those that wait, and those that asked within this time.
    Within(Millis),
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIfAsked {
    /// Fields with the values that they are supposed to have.
    pub fields: Vec<SupposedField>,
    /// The requests.
    pub of: WhatIfOf,
}

/// Why there is no answer: what is wrong, and the remedy.
pub type WhatIfRefused = (String, String);

/// The answer.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// The cycle's now.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// Requests that there are beyond those judged.
    pub left_out: u64,
    /// Each request with its answer as it is, and as it would be.
    pub judged: Vec<(Task, [Option<Decision>; 2])>,
}

impl WhatIf {
    /// Judges at the cycle that just ended.
    ///
    /// # Errors
    /// This process does not judge requests, or there is no such record or field.
    pub fn of(engine: &mut Engine, asked: &WhatIfAsked) -> Result<WhatIf, WhatIfRefused> {
        if RowKind::of(engine.policies()) == RowKind::Sites {
            return Err((
                "a pool of slots has no requests to judge: offers are answered".into(),
                "`yardmaster replay --set` judges the offers of a log".into(),
            ));
        }
        if engine.open_requests().is_none() {
            return Err((
                "this process does not judge: it stands by, or catches up".into(),
                "ask the leader".into(),
            ));
        }
        let names_max = engine.state.setting.limits.names_max;
        if engine.state.names.len() > names_max / 100 * NAMES_PERCENT {
            return Err((
                format!("more than {NAMES_PERCENT} % of the names that may be held are"),
                "raise names_max in the topology; `yardmaster replay --set` answers too".into(),
            ));
        }
        let most = match RowKind::of(engine.policies()) {
            RowKind::ClusterQueues | RowKind::Own => JOBS_JUDGED_MAX,
            RowKind::Queues | RowKind::Sites => JUDGED_MAX,
        };
        let domain = engine.state.setting.domain.clone();
        let policies = engine.policies().to_vec();
        let specs = policies.iter().map(|it| &it.spec);
        let found = supposed(&asked.fields, &engine.state, &domain, specs);
        let fields = found.map_err(|why| {
            (why, "give TOPIC.KEY.FIELD=VALUE, or parameter.NAME=VALUE".to_owned())
        })?;
        let (tasks, left_out) = chosen(engine, &asked.of, most);
        let answers = engine.what_if(policies, fields, &tasks);
        let (now, cycle) = (engine.state.now, engine.state.number);
        Ok(WhatIf { now, cycle, left_out, judged: tasks.into_iter().zip(answers).collect() })
    }
}

/// The requests that are judged, the newest first, and how many more there are.
fn chosen(engine: &Engine, of: &WhatIfOf, most: usize) -> (Vec<Task>, u64) {
    let state = &engine.state;
    let mut found: Vec<&Task> = match of {
        WhatIfOf::Name(name) => {
            let of_task = state.chunks.get(name).into_iter().flatten().map(String::as_str);
            let named = of_task.chain(std::iter::once(name.as_str()));
            named.filter_map(|subject| asking(state.requests.of(subject)?)).collect()
        }
        WhatIfOf::Within(span) => {
            let since = state.now.saturating_sub(*span);
            let open = engine.open_requests().into_iter().flatten().filter_map(asking);
            let all = state.requests.iter().take(LOOKED_MAX);
            let lately = all.filter_map(|(_, request)| asking(request));
            open.chain(lately.filter(|task| task.asked_at >= since)).collect()
        }
    };
    found.sort_by(|a, b| {
        let key = |it: &Task| Reverse(it.asked_at);
        key(a).cmp(&key(b)).then_with(|| a.subject.cmp(&b.subject))
    });
    found.dedup_by(|a, b| a.subject == b.subject);
    let left_out = found.len().saturating_sub(most) as u64;
    (found.into_iter().take(most).cloned().collect(), left_out)
}

fn asking(request: &RequestState) -> Option<&Task> {
    request.task.as_ref().filter(|task| task.phase == TaskPhase::Asking)
}
