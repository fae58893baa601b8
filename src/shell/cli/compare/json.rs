//! Comparisons as JSON: one in full, or all summed up.

use super::by::GroupKey;
use super::report::PERCENTILES;
use serde_json::{Map, Value, json};
use yardmaster_core::comparison::{
    Agreement, AnswerOutcome, Comparison, FiguresSeen, Group, Measure, Side, Tally, overlap,
};
use yardmaster_wire::json::record_json;

/// A comparison: its record, and in what the two answers agree.
pub(super) fn one(it: &Comparison) -> Value {
    let mut value = record_json(it);
    value["agreement"] = Agreement::of(it).name().into();
    value["overlap"] = overlap(it).into();
    value
}

/// All of them; parts are from 0 to 1, times in ms, and `null` where nothing is known.
pub(super) fn sum(tally: &mut Tally, by: Option<GroupKey>, measure: Measure) -> Value {
    let mut value = group(&mut tally.all, measure);
    value["asked_from"] = tally.asked.map(|(first, _)| first).into();
    value["asked_to"] = tally.asked.map(|(_, last)| last).into();
    value["led"] = tally.led.into();
    value["outcomes"] = outcomes(tally);
    value["not_chosen"] = refusals(tally);
    value["figures"] = figures(tally);
    value["queues"] = queues(tally);
    if let Some(by) = by {
        value["by"] = by.name().into();
        let groups = tally.groups.iter_mut();
        let groups = groups.map(|(name, it)| (name.clone(), group(it, measure)));
        value["groups"] = Value::Object(groups.collect());
    }
    value
}

fn group(it: &mut Group, measure: Measure) -> Value {
    let counts = Agreement::ALL.map(|agreement| (agreement.name(), it.count(agreement)));
    let mut sides = Map::new();
    for side in Side::ALL {
        let answers = AnswerOutcome::ALL.map(|outcome| (outcome.name(), it.answers(side, outcome)));
        let mut of_side: Map<String, Value> =
            answers.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
        for percent in PERCENTILES {
            let ms = it.times.get_mut(&side).and_then(|times| times.percentile(percent));
            of_side.insert(format!("p{percent}_ms"), ms.into());
        }
        sides.insert(side.name().to_owned(), Value::Object(of_side));
    }
    json!({
        "requests": it.all(),
        "answered": it.answered(),
        "agree": it.agreement(measure),
        "same_outcome": it.agreement(Measure::Outcome),
        "same_first": it.agreement(Measure::First),
        "same_queues": it.agreement(Measure::Queues),
        "overlap": it.overlap(),
        "agreements": counts.into_iter().map(|(name, count)| (name.to_owned(), count.into()))
            .collect::<Map<String, Value>>(),
        "sides": sides,
    })
}

fn outcomes(tally: &Tally) -> Value {
    let each = tally.outcomes.iter().map(|(pair, count)| {
        let side = |(outcome, reason): &(AnswerOutcome, String)| {
            json!({"outcome": outcome.name(), "reason": reason})
        };
        json!({
            "yardmaster": side(&pair.yardmaster),
            "other": side(&pair.other),
            "requests": count,
        })
    });
    each.collect()
}

fn refusals(tally: &Tally) -> Value {
    let each = tally.refusals.iter().map(|(why, (requests, queues))| {
        json!({
            "by": why.by.name(),
            "filter": why.filter,
            "reason": why.reason,
            "requests": requests,
            "queues": queues,
        })
    });
    each.collect()
}

fn figures(tally: &Tally) -> Value {
    let of = |is_same| {
        let count = |seen| tally.figures.get(&(is_same, seen)).copied().unwrap_or(0);
        let counts = FiguresSeen::ALL.map(|seen| (seen.name().to_owned(), count(seen).into()));
        Value::Object(counts.into_iter().collect())
    };
    json!({"same_choice": of(true), "other_choice": of(false)})
}

fn queues(tally: &Tally) -> Value {
    let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
    let each = tally.gaps.iter().map(|(queue, gap)| {
        let pair = |(mine, theirs, count): (u64, u64, u64)| {
            json!({"yardmaster": mean(mine, count), "other": mean(theirs, count)})
        };
        json!({
            "queue": queue,
            "requests": gap.comparisons,
            "apart": gap.wide,
            "running": pair(gap.running),
            "queued": pair(gap.queued),
        })
    });
    each.collect()
}
