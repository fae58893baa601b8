//! `docker-compose.yml`, read as what it is: nothing in it is root, open to other machines or not
//! pinned, all that it mounts is there, and every command of ours parses. `live` runs them.

mod image;
mod live;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use yaml_rust2::yaml::Hash;
use yaml_rust2::{Yaml, YamlLoader};

const PROGRAM: &str = env!("CARGO_BIN_EXE_yardmaster");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The value of `<<` goes into the mapping it stands in, whose own keys win.
fn merged(yaml: &Yaml) -> Yaml {
    match yaml {
        Yaml::Array(items) => Yaml::Array(items.iter().map(merged).collect()),
        Yaml::Hash(hash) => {
            let mut whole = Hash::new();
            if let Some(under) = hash.get(&Yaml::String("<<".to_owned())) {
                whole = merged(under).into_hash().expect("a mapping below <<");
            }
            for (key, value) in hash.iter().filter(|(key, _)| key.as_str() != Some("<<")) {
                whole.insert(key.clone(), merged(value));
            }
            Yaml::Hash(whole)
        }
        other => other.clone(),
    }
}

fn read(path: &str) -> Yaml {
    let text = std::fs::read_to_string(root().join(path)).expect("a file");
    merged(&YamlLoader::load_from_str(&text).expect("YAML")[0])
}

/// A list of words, or one word.
fn words(yaml: &Yaml) -> Vec<String> {
    match yaml {
        Yaml::Array(items) => items.iter().flat_map(words).collect(),
        Yaml::BadValue => Vec::new(),
        Yaml::Integer(number) => vec![number.to_string()],
        other => vec![other.as_str().expect("a word").to_owned()],
    }
}

/// A container.
struct Service {
    name: String,
    yaml: Yaml,
}

impl Service {
    fn all() -> Vec<Service> {
        let file = read("docker-compose.yml");
        let services = file["services"].as_hash().expect("services");
        let named = |key: &Yaml| key.as_str().expect("a name").to_owned();
        services.iter().map(|(key, it)| Service { name: named(key), yaml: it.clone() }).collect()
    }

    fn of(name: &str) -> Service {
        let mut all = Service::all().into_iter();
        all.find(|it| it.name == name).unwrap_or_else(|| panic!("no service {name}"))
    }

    fn words(&self, key: &str) -> Vec<String> {
        words(&self.yaml[key])
    }

    /// Whether it runs this program.
    fn is_ours(&self) -> bool {
        !self.yaml["build"].is_badvalue()
    }

    /// Mounted files and folders of the repository: where in the container, and where here.
    fn mounts(&self) -> BTreeMap<String, PathBuf> {
        let volumes = self.words("volumes");
        let parts = volumes.iter().filter_map(|it| it.strip_prefix("./")?.split_once(':'));
        let plain = |inside: &str| inside.trim_end_matches(":ro").to_owned();
        parts.map(|(here, inside)| (plain(inside), root().join(here))).collect()
    }

    /// Names of services that must be up before, and in which condition.
    fn needs(&self) -> Vec<(String, String)> {
        let needs = self.yaml["depends_on"].as_hash().cloned().unwrap_or_default();
        let pair = |(name, it): (&Yaml, &Yaml)| {
            let condition = it["condition"].as_str().expect("a condition").to_owned();
            (name.as_str().expect("a name").to_owned(), condition)
        };
        needs.iter().map(pair).collect()
    }

    fn is_checked(&self) -> bool {
        !self.yaml["healthcheck"]["test"].is_badvalue()
            && self.yaml["healthcheck"]["disable"].as_bool() != Some(true)
    }

    /// Defects of it, for a service that listens on a machine of people who only look.
    fn complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut must = |is_so: bool, what: &str| {
            if !is_so {
                found.push(format!("{}: {what}", self.name));
            }
        };
        must(self.yaml["read_only"].as_bool() == Some(true), "its root can be written");
        must(self.words("cap_drop") == ["ALL"], "it keeps capabilities");
        let options = self.words("security_opt");
        must(options == ["no-new-privileges:true"], "it may gain privileges");
        let user = self.words("user").concat();
        let is_root = user.is_empty() || user.starts_with("root") || user.starts_with("0");
        must(!is_root, "it runs as root");
        for limit in ["mem_limit", "cpus", "pids_limit"] {
            must(!self.yaml[limit].is_badvalue(), &format!("it has no {limit}"));
        }
        for key in ["privileged", "network_mode", "pid", "cap_add", "devices", "ipc"] {
            must(self.yaml[key].is_badvalue(), &format!("it has {key}"));
        }
        let restart = self.words("restart").concat();
        must(restart == "on-failure" || !self.is_checked(), "one that died is not started again");
        let image = self.words("image").concat();
        let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
        let is_pinned = tag.chars().filter(|it| *it == '.').count() == 2;
        must(is_pinned || self.is_ours(), "its image is not pinned");
        let is_here = |port: &String| port.starts_with("127.0.0.1:");
        must(self.words("ports").iter().all(is_here), "a port is open to other machines");
        let mounts = self.words("volumes");
        let is_kept = |it: &&String| it.starts_with("./");
        let is_read = mounts.iter().filter(is_kept).all(|it| it.ends_with(":ro"));
        must(is_read, "it can write in the repository");
        found
    }
}

#[test]
fn no_container_is_open_or_privileged_and_all_are_checked() {
    let file = read("docker-compose.yml");
    assert!(file["version"].is_badvalue(), "`version` is obsolete");
    let services = Service::all();
    let found: Vec<String> = services.iter().flat_map(Service::complaints).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    // One that ends is waited for until it has ended.
    let ends: Vec<&str> =
        services.iter().filter(|it| !it.is_checked()).map(|it| it.name.as_str()).collect();
    assert_eq!(ends, ["topics"]);
    for service in &services {
        for (name, condition) in service.needs() {
            let wanted = match Service::of(&name).is_checked() {
                true => "service_healthy",
                false => "service_completed_successfully",
            };
            assert_eq!(condition, wanted, "{} needs {name}", service.name);
        }
    }
    let names: Vec<&str> = services.iter().map(|it| it.name.as_str()).collect();
    for needed in ["kafka", "leader", "standby", "grid", "facts", "prometheus", "grafana"] {
        assert!(names.contains(&needed), "there is no {needed}");
    }
}

#[test]
fn what_is_wrong_with_a_container_is_seen() {
    let good = Service::of("leader");
    assert_eq!(good.complaints(), Vec::<String>::new());
    let wrong = [
        ("read_only", Yaml::Boolean(false)),
        ("cap_drop", Yaml::BadValue),
        ("user", Yaml::String("0:0".to_owned())),
        ("privileged", Yaml::Boolean(true)),
        ("pids_limit", Yaml::BadValue),
        ("restart", Yaml::BadValue),
        ("ports", Yaml::Array(vec![Yaml::String("9187:9187".to_owned())])),
        ("volumes", Yaml::Array(vec![Yaml::String("./compose:/x".to_owned())])),
    ];
    for (key, value) in wrong {
        let mut hash = good.yaml.as_hash().expect("a mapping").clone();
        hash.insert(Yaml::String(key.to_owned()), value);
        let bad = Service { name: "bad".to_owned(), yaml: Yaml::Hash(hash) };
        assert_eq!(bad.complaints().len(), 1, "{key}: {:?}", bad.complaints());
    }
}

/// Where the token is if nothing else is stated.
fn token_file() -> PathBuf {
    let file = read("docker-compose.yml");
    let path = file["secrets"]["yardmaster_token"]["file"].as_str().expect("a file").to_owned();
    let path = path.strip_prefix("${YARDMASTER_TOKEN_FILE:-./").and_then(|it| it.strip_suffix('}'));
    root().join(path.expect("a file of the repository that can be replaced"))
}

#[test]
fn all_that_is_mounted_is_there_and_every_board_is_mounted() {
    let services = Service::all();
    let mounts = services.iter().flat_map(Service::mounts);
    let missing: Vec<PathBuf> = mounts.map(|(_, here)| here).filter(|it| !it.exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(token_file().is_file());
    for service in services.iter().filter(|it| it.is_ours()) {
        assert!(root().join(service.words("build").concat()).join("Dockerfile").is_file());
    }
    let grafana = Service::of("grafana").mounts();
    let boards = std::fs::read_dir(root().join("dashboards")).unwrap().flatten();
    let boards =
        boards.map(|it| it.path()).filter(|it| it.extension().is_some_and(|it| it == "json"));
    let lost: Vec<PathBuf> = boards.filter(|it| !grafana.values().any(|here| here == it)).collect();
    assert!(lost.is_empty(), "boards that Grafana does not get: {lost:?}");
    // The environment that the datasources read is set.
    let set = Service::of("grafana");
    for source in std::fs::read_dir(root().join("dashboards/provisioning/datasources")).unwrap() {
        let text = std::fs::read_to_string(source.unwrap().path()).unwrap();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        for name in lines.flat_map(|line| line.split('$').skip(1)) {
            let name = name.trim_start_matches('{');
            let end = name.find(|c: char| !c.is_ascii_uppercase() && c != '_');
            let name = &name[..end.unwrap_or(name.len())];
            let is_set = !set.yaml["environment"][name].is_badvalue()
                || set.words("entrypoint").concat().contains(&format!("export {name}="));
            assert!(is_set, "Grafana's container has no {name}");
        }
    }
}

#[test]
fn every_command_of_ours_parses() {
    let services = Service::all();
    let mut count = 0;
    for service in services.iter().filter(|it| it.is_ours()) {
        let check = service.yaml["healthcheck"]["test"].as_vec().map(|it| &it[2..]);
        let check: Vec<String> = check.into_iter().flatten().flat_map(words).collect();
        for args in [service.words("command"), check] {
            let output = Command::new(PROGRAM).args(&args).arg("--help").output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {args:?}: {error}", service.name);
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
    let wrong = Command::new(PROGRAM).args(["run", "--no-such-flag", "--help"]).output().unwrap();
    assert!(!wrong.status.success(), "a wrong flag would not be seen");
}

/// The program that reads the file, if there is one: the plugin of docker, or the older program.
fn compose() -> Option<Vec<&'static str>> {
    let known = [vec!["docker", "compose"], vec!["docker-compose"]];
    known.into_iter().find(|words| {
        let output = Command::new(words[0]).args(&words[1..]).arg("version").output();
        output.is_ok_and(|output| output.status.success())
    })
}

#[test]
fn docker_compose_takes_the_file() {
    let Some(compose) = compose() else {
        println!("left out: there is no `docker compose` and no docker-compose");
        return;
    };
    let config = |path: &Path| {
        Command::new(compose[0])
            .args(&compose[1..])
            .arg("--file")
            .arg(path)
            .args(["config", "-q"])
            .current_dir(root())
            .output()
            .unwrap()
    };
    let output = config(&root().join("docker-compose.yml"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // It does see what is wrong.
    let dir = tempfile::TempDir::new().unwrap();
    let wrong = dir.path().join("docker-compose.yml");
    let text = std::fs::read_to_string(root().join("docker-compose.yml")).unwrap();
    std::fs::write(&wrong, text.replace("mem_limit:", "mem_limits:")).unwrap();
    assert!(!config(&wrong).status.success(), "a key that there is not");
}
