//! Why jobs wait, against what is decided (C-60).

use super::random::Records;
use super::world::NOW_S;
use crate::domain::cms::policy::cut::next;
use crate::domain::cms::policy::entry::Standing;
use crate::domain::cms::policy::judge::MatchRules;
use crate::domain::cms::policy::look::Look;
use crate::domain::cms::policy::why::site_wait;
use crate::unit::{Millis, SECOND};
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::{prop_assert, prop_assert_eq};

const NOW: Millis = NOW_S * SECOND;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// A job waits for the reason by which the look at an offer refuses it. Of the jobs that fit,
    /// the n-th has n jobs before it, and the one with none before it is matched.
    #[test]
    fn a_job_waits_for_what_decides(seed in any::<u64>()) {
        let records = Records::of(seed, 40);
        let (pool, judges) = (records.pool(), MatchRules::full());
        for offer in &records.offers {
            let explained = judges.explain(&Look::new(&pool, offer, NOW));
            let (chosen, _) = next(&judges, &pool, offer, NOW);
            let chosen = chosen.as_ref().map(|it| it.matched.job.as_str());
            let mut before = Vec::new();
            for standing in pool.jobs() {
                let Standing::Pending(job) = standing else { continue };
                let found = site_wait(&judges, &pool, &job.job, &[offer], false, NOW).unwrap();
                prop_assert_eq!(found.offers, 1);
                let refused = explained.not_eligible.iter();
                let mut refused = refused.filter(|(_, jobs)| jobs.contains(&job.job));
                match (refused.next(), &found.ahead) {
                    (Some((code, _)), None) => {
                        prop_assert_eq!(found.objections[0].objection.reason.name, *code);
                    }
                    (None, Some(ahead)) => {
                        prop_assert!(found.objections.is_empty());
                        prop_assert_eq!(ahead.jobs == 0, ahead.first.is_none());
                        let is_chosen = chosen == Some(&*job.job);
                        prop_assert_eq!(ahead.jobs == 0, is_chosen);
                        if let Some(first) = &ahead.first {
                            prop_assert_eq!(Some(&*first.job), chosen);
                        }
                        before.push(ahead.jobs);
                    }
                    other => prop_assert!(false, "{}: {other:?}", job.job),
                }
            }
            before.sort_unstable();
            prop_assert!(before.iter().copied().eq(0..explained.eligible), "{before:?}");
        }
    }
}
