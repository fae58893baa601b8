//! The Helm chart.

use super::{files, output, root, text, tool, unknown_flags};
use crate::kill::process::yardmaster;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;
use toml::Table;
use yaml_rust2::YamlLoader;
use yardmaster::wire::topology::ATLAS;

const CHART: &str = "packaging/helm/yardmaster";
const TOKEN: &str = "0123456789abcdef";

fn helm() -> Option<PathBuf> {
    std::env::var_os("YARDMASTER_TEST_HELM").map(PathBuf::from).or_else(|| tool("helm"))
}

/// `helm template` with these flags.
fn template(helm: &PathBuf, more: &[&str]) -> Command {
    let mut command = Command::new(helm);
    command.args(["template", "site", "--namespace", "grid", "--kube-version", "1.33.0"]);
    command.arg(root().join(CHART)).args(more);
    command
}

/// Values that a chart needs, and more of them.
fn needed(more: &str) -> String {
    format!("kafka.bootstrapServer=kafka:9092,http.token={TOKEN}{more}")
}

/// Everything there is.
const ALL: &str = ",http.tls.existingSecret=tls,kafka.properties=linger.ms=1,intake.enabled=true,\
                   serviceMonitor.enabled=true,prometheusRule.enabled=true,antiAffinity=soft,\
                   networkPolicy.enabled=true,env[0].name=YARDMASTER_LOG_FORMAT,\
                   env[0].value=json,prometheusRule.runbooks=https://git.example.org/y/,\
                   imports[0].name=cric,imports[0].every=10m,\
                   imports[0].args={cric,https://cric.example.org/q.json}";

#[test]
fn the_chart_fits_the_program() {
    let manifest: Table = text("Cargo.toml").parse().unwrap();
    let version = manifest["workspace"]["package"]["version"].as_str().unwrap();
    let chart = text(&format!("{CHART}/Chart.yaml"));
    assert!(chart.contains(&format!("\nappVersion: \"{version}\"\n")), "{chart}");
    // Alerts are those of the repository, not a copy of them.
    assert_eq!(text(&format!("{CHART}/files/alerts.yml")), text("dashboards/alerts.yml"));
    let schema: Value =
        serde_json::from_str(&text(&format!("{CHART}/values.schema.json"))).unwrap();
    let known = schema["properties"].as_object().unwrap();
    let values = text(&format!("{CHART}/values.yaml"));
    let keys = values.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let keys: Vec<&str> = keys.filter_map(|line| line.split(':').next()).collect();
    assert!(keys.len() > 15);
    for key in &keys {
        assert!(known.contains_key(*key), "values.schema.json does not know {key}");
    }
    for key in known.keys().filter(|key| *key != "global") {
        assert!(keys.contains(&key.as_str()), "values.yaml does not state {key}");
    }
}

#[test]
fn every_flag_of_the_templates_is_one_of_the_program() {
    let mut flags = Vec::new();
    for path in files(&format!("{CHART}/templates")) {
        let text = fs::read_to_string(path).unwrap();
        let words = text.split_whitespace().filter(|word| word.starts_with("--"));
        flags.extend(words.filter(|word| word.contains('=')).map(str::to_owned));
    }
    assert!(flags.len() > 8, "{flags:?}");
    let words = [vec!["run".to_owned()], flags].concat();
    assert_eq!(unknown_flags(&words), Vec::<String>::new());
}

#[test]
fn what_is_missing_or_misspelt_is_refused_with_the_remedy() {
    let Some(helm) = helm() else { return };
    let refused = |set: &str, parts: &[&str]| {
        let output = template(&helm, &["--set", set]).output().unwrap();
        assert!(!output.status.success(), "{set}");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(parts.iter().all(|part| errors.contains(part)), "{set}: {errors}");
    };
    refused("replicas=2", &["set "]);
    refused("kafka.bootstrapServer=kafka:9092", &["http.token", "http.existingSecret"]);
    refused(&needed(",replica=3"), &["replica", "not allowed"]);
    refused(&needed(",antiAffinity=none"), &["antiAffinity"]);
    refused("kafka.bootstrapServer=kafka,http.existingSecret=s", &["bootstrapServer"]);
    refused("kafka.bootstrapServer=kafka:9092,http.token=short", &["token"]);
    refused(&needed(",topologies.cms=,topology=a"), &["topology and topologies are both set"]);
    refused(
        &needed(",topologies.cms=,topologies.nordugrid=,intake.enabled=true"),
        &["intake", "set its topology to one of cms, nordugrid"],
    );
    refused(
        &needed(",topologies.cms=,intake.enabled=true,intake.topology=atlas"),
        &["no topology \"atlas\"", "give one of cms"],
    );
}

/// The command of a pod with the files of its volumes, up to where it would begin.
#[test]
fn what_a_pod_starts_is_accepted_by_the_program() {
    let Some(helm) = helm() else { return };
    assert_eq!(would_serve(&helm, &["--set", &needed("")]), ["atlas"]);
    let several = needed(",topologies.nordugrid=,topologies.cms=");
    let file = format!("topologies.site={}", root().join("topology/atlas.toml").display());
    let several = ["--set", &several, "--set-file", &file];
    assert_eq!(would_serve(&helm, &several), ["cms", "nordugrid", "atlas"]);
}

/// Domains that a pod's process would serve, by its own word.
fn would_serve(helm: &PathBuf, flags: &[&str]) -> Vec<String> {
    let dir = TempDir::new().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    fs::write(dir.path().join("site.toml"), ATLAS).unwrap();
    let rendered = output(&mut template(helm, flags));
    let objects = YamlLoader::load_from_str(&rendered).unwrap();
    let set = objects.iter().find(|it| it["kind"].as_str() == Some("StatefulSet")).unwrap();
    let words = &set["spec"]["template"]["spec"]["containers"][0]["args"];
    let words = words.as_vec().unwrap().iter().map(|word| {
        let word = word.as_str().unwrap();
        let word = word.replace("/etc/yardmaster/http/token", token.to_str().unwrap());
        word.replace("/etc/yardmaster/topology", dir.path().to_str().unwrap())
    });
    let words: Vec<String> = words.chain(["--dry-run".to_owned()]).collect();
    let output = yardmaster(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let domains = shown.lines().filter_map(|line| line.strip_prefix("would serve domain "));
    domains.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect()
}

/// The rendered objects as JSON.
fn objects(python: &std::ffi::OsString, yaml: &str) -> Vec<Value> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("all.yaml");
    fs::write(&path, yaml).unwrap();
    // Of what Kubernetes has; the objects of the Prometheus operator have schemas of their own.
    let validate = "import sys; from kubernetes_validate.__main__ import main; sys.exit(main())";
    let flags = ["--strict", "--no-warn", "-k", "1.33"];
    output(Command::new(python).args(["-c", validate]).args(flags).arg(&path));
    let convert = "import json, sys, yaml\n\
                   print(json.dumps([it for it in yaml.safe_load_all(open(sys.argv[1])) if it]))";
    let json = output(Command::new(python).args(["-c", convert]).arg(&path));
    serde_json::from_str(&json).unwrap()
}

/// The containers of an object's pods.
fn containers(object: &Value) -> Vec<&Value> {
    let pod = &object["spec"]["template"]["spec"];
    let lists = ["initContainers", "containers"].iter().filter_map(|key| pod[*key].as_array());
    lists.flatten().collect()
}

#[test]
fn what_is_rendered_is_what_kubernetes_takes() {
    let Some(helm) = helm() else { return };
    output(
        Command::new(&helm)
            .args(["lint", "--strict", "--set", &needed("")])
            .arg(root().join(CHART)),
    );
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("topology.toml");
    fs::write(&file, ATLAS).unwrap();
    let topology = format!("topology={}", file.display());
    let plain = output(&mut template(&helm, &["--set", &needed("")]));
    let all = output(&mut template(&helm, &["--set", &needed(ALL), "--set-file", &topology]));
    let Some(python) = std::env::var_os("YARDMASTER_TEST_PYTHON") else {
        println!("left out: YARDMASTER_TEST_PYTHON names no Python with kubernetes-validate");
        return;
    };
    let few = objects(&python, &plain);
    let many = objects(&python, &all);
    let kinds = |objects: &[Value]| {
        let mut kinds: Vec<String> =
            objects.iter().map(|it| it["kind"].as_str().unwrap().to_owned()).collect();
        kinds.sort();
        kinds.join(" ")
    };
    assert_eq!(kinds(&few), "PodDisruptionBudget Secret Service Service StatefulSet");
    assert_eq!(
        kinds(&many),
        "ConfigMap Deployment Deployment NetworkPolicy PodDisruptionBudget PrometheusRule Secret \
         Secret Service Service ServiceMonitor StatefulSet"
    );
    let of_kind = |kind: &str| many.iter().find(|it| it["kind"] == kind).unwrap();
    assert_eq!(
        of_kind("ConfigMap")["data"]["topology.toml"].as_str().unwrap().trim(),
        ATLAS.trim()
    );
    let alerts = of_kind("PrometheusRule");
    assert!(alerts["spec"]["groups"].as_array().unwrap().len() > 1);
    let runbook = &alerts["spec"]["groups"][0]["rules"][0]["annotations"]["runbook_url"];
    let url = "https://git.example.org/y/docs/runbooks.md#yardmasternotscraped";
    assert_eq!(runbook.as_str(), Some(url));
    assert_eq!(of_kind("NetworkPolicy")["spec"]["ingress"][0]["ports"][0]["port"], "http");
    for object in few.iter().chain(&many) {
        let pod = &object["spec"]["template"]["spec"];
        for container in containers(object) {
            let name = &object["metadata"]["name"];
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{name}");
            let security = &container["securityContext"];
            assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
            assert_eq!(security["capabilities"]["drop"][0], "ALL", "{name}");
            let variables = container["env"].as_array().into_iter().flatten();
            let form = variables.filter(|it| it["name"] == "YARDMASTER_LOG_FORMAT").count();
            assert_eq!(form, usize::from(many.contains(object)), "{name}");
            let words = container["args"].as_array().unwrap().iter();
            let words: Vec<String> = words.map(|it| it.as_str().unwrap().to_owned()).collect();
            assert_eq!(unknown_flags(&words), Vec::<String>::new(), "{name}");
        }
    }
    let broker = &of_kind("StatefulSet")["spec"];
    let main = &broker["template"]["spec"]["containers"][0];
    for (probe, path) in
        [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")]
    {
        assert_eq!(main[probe]["httpGet"]["path"], path);
        assert_eq!(main[probe]["httpGet"]["scheme"], "HTTPS");
    }
    assert_eq!(of_kind("PodDisruptionBudget")["spec"]["maxUnavailable"], 1);
}
