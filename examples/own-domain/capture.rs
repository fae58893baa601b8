//! Records of what Slurm's own tools printed: `own-domain capture DIR` reads `nodes.json`,
//! `partitions.json`, `jobs.json` and `reservations.json` (`scontrol show ... --json`) and
//! `sshare.json` (`sshare -a --json`), and prints a record a line for `import domain-records --prune
//! /dev/stdin`. `--now SECONDS`: when they were printed, if not just now.

use serde_json::{Map, Value, json};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

/// States in which a node runs nothing new.
const OUT_OF_SERVICE: [&str; 7] =
    ["DOWN", "DRAIN", "NOT_RESPONDING", "FAIL", "MAINTENANCE", "POWERED_DOWN", "UNKNOWN"];

pub fn main(words: &[String]) -> ExitCode {
    let clock_s = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs() as i64;
    let printed_s = match words {
        [_] => Some(clock_s),
        [_, flag, at] if flag == "--now" => at.parse().ok(),
        _ => None,
    };
    let Some(printed_s) = printed_s else {
        eprintln!("usage: own-domain capture DIR [--now SECONDS]");
        return ExitCode::from(2);
    };
    let read = |name: &str| -> Result<Value, String> {
        let path = format!("{}/{name}.json", words[0]);
        let text = std::fs::read_to_string(&path).map_err(|fault| format!("{path}: {fault}"))?;
        serde_json::from_str(&text).map_err(|fault| format!("{path}: {fault}"))
    };
    let printed = records(&read, printed_s, clock_s);
    let printed = printed.map(|all| all.iter().for_each(|record| println!("{record}")));
    if let Err(fault) = printed {
        eprintln!("{fault}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn records(
    read: &dyn Fn(&str) -> Result<Value, String>,
    printed_s: i64,
    clock_s: i64,
) -> Result<Vec<Value>, String> {
    let (reservations, shares) = (read("reservations")?, read("sshare")?);
    let is_on = |it: &&Value| {
        let [from, until] = ["start_time", "end_time"].map(|name| number(&it[name]).unwrap_or(0));
        from <= printed_s && printed_s < until
    };
    let reserved: Vec<(Vec<String>, &str)> = list(&reservations["reservations"])
        .iter()
        .filter(is_on)
        .map(|it| (hosts(text(&it["node_list"])), text(&it["name"])))
        .collect();
    let mut all = Vec::new();
    let mut add = |kind: &str, name: &str, values: Value| {
        // What is not known is left out.
        let Value::Object(values) = values else { return };
        let values: Map<String, Value> =
            values.into_iter().filter(|(_, value)| !value.is_null()).collect();
        all.push(json!({ "kind": kind, "name": name, "values": values }));
    };
    for node in list(&read("nodes")?["nodes"]) {
        let name = text(&node["name"]);
        let is_it = |(hosts, _): &&(Vec<String>, &str)| hosts.iter().any(|host| host == name);
        add(
            "node",
            name,
            json!({
                "cpus": node["cpus"],
                "idle": node["alloc_idle_cpus"],
                "mb": node["real_memory"],
                "gpus": gpus(&node["gres"]),
                "in_service": !list(&node["state"]).iter().any(|it| OUT_OF_SERVICE.contains(&text(it))),
                "reservation": reserved.iter().find(is_it).map(|(_, name)| *name),
            }),
        );
    }
    for it in list(&read("partitions")?["partitions"]) {
        let state: Vec<&str> = list(&it["partition"]["state"]).iter().map(text).collect();
        add(
            "partition",
            text(&it["name"]),
            json!({
                "state": state.join("+"),
                "nodes": hosts(text(&it["nodes"]["configured"])),
                "accounts": words_of(&it["accounts"]["allowed"]),
                "most_minutes": number(&it["maximums"]["time"]),
                "default_minutes": number(&it["defaults"]["time"]),
                "most_nodes": number(&it["maximums"]["nodes"]),
                "most_mb_per_cpu": number(&it["maximums"]["partition_memory_per_cpu"]).filter(|mb| *mb > 0),
            }),
        );
    }
    // Newer versions have them one level deeper.
    let shares = shares["shares"].get("shares").unwrap_or(&shares["shares"]);
    for it in list(shares).iter().filter(|it| list(&it["type"]).contains(&json!("USER"))) {
        let factor = it["fairshare"]["factor"].get("number").unwrap_or(&it["fairshare"]["factor"]);
        let name = format!("{}/{}", text(&it["parent"]), text(&it["name"]));
        add("user", &name, json!({ "fair_share": factor }));
    }
    for job in list(&read("jobs")?["jobs"]).iter().filter(|it| it["job_state"][0] == "PENDING") {
        let eligible_s = number(&job["eligible_time"]).unwrap_or(0);
        let later = (eligible_s - printed_s).max(i64::from(job["state_reason"] == "BeginTime"));
        add(
            "job",
            &job["job_id"].to_string(),
            json!({
                "user": job["user_name"],
                "account": job["account"],
                "partitions": words_of(&job["partition"]),
                "cpus": number(&job["cpus"]),
                "nodes": number(&job["node_count"]),
                "gpus": words_of(&job["tres_per_node"]).iter().map(|it| gpus(&json!(it))).sum::<i64>(),
                "minutes": number(&job["time_limit"]),
                "mb_per_cpu": number(&job["memory_per_cpu"]),
                "mb_per_node": number(&job["memory_per_node"]).filter(|mb| *mb > 0),
                "on_nodes": hosts(text(&job["required_nodes"])),
                "reservation": job["resv_name"],
                "waits_for": waits_for(job),
                "eligible_at": (later > 0).then_some((clock_s + later) * 1_000),
            }),
        );
    }
    Ok(all)
}

/// What a job waits for that no partition cures. Slurm states the reason of the partition that it
/// tried last, so that others are not to be trusted.
fn waits_for(job: &Value) -> Option<&'static str> {
    let reason = text(&job["state_reason"]);
    if number(&job["priority"]) == Some(0) {
        Some("held")
    } else if !text(&job["dependency"]).is_empty() {
        Some("dependency")
    } else {
        let limits = ["Assoc", "Licenses", "JobArrayTaskLimit"];
        limits.iter().any(|it| reason.starts_with(it)).then_some("limit")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// A number as Slurm prints it: `None` where it is not set, or has no limit (the largest there is).
fn number(value: &Value) -> Option<i64> {
    let is_set = value["set"] != false && value["infinite"] != true;
    let number = value.as_i64().or(value["number"].as_i64());
    number.filter(|it| is_set && *it != i64::MAX)
}

/// GPUs of `gpu:a100:2` or `gres/gpu:2(IDX:0-1)`.
fn gpus(value: &Value) -> i64 {
    let text = text(value).split('(').next().unwrap_or("");
    let count = text.rsplit_once(':').filter(|(kind, _)| kind.contains("gpu"));
    count.and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

/// Words between commas.
fn words_of(value: &Value) -> Vec<String> {
    text(value).split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Hosts of a list: `n[4,7-8],login` is n4, n7, n8, login.
fn hosts(list: &str) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), list);
    while !rest.is_empty() {
        let (stem, after) = rest.split_at(rest.find([',', '[']).unwrap_or(rest.len()));
        let (inner, after) = match after.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
            None => ("", after),
        };
        for part in inner.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match first.parse::<u32>().ok().zip(last.parse::<u32>().ok()) {
                Some((from, to)) => {
                    let width = first.len();
                    all.extend((from..=to).map(|number| format!("{stem}{number:0width$}")));
                }
                None => all.push(stem.to_owned()),
            }
        }
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    all
}
