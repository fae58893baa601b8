//! A task's architecture as JSON, turned into the equivalent text (spec atlas 3.2).

use serde_json::Value;

/// The text for an architecture given as a JSON object; anything else is as it is.
pub(crate) fn plain(architecture: String) -> String {
    if !architecture.starts_with('{') {
        return architecture;
    }
    match serde_json::from_str::<Value>(&architecture) {
        Ok(value) if value.is_object() => spell(&value),
        _ => architecture,
    }
}

fn spell(value: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let mut spelt = text(&value["sw_platform"]);
    if let Some(base) = value["base_platform"].as_str().filter(|base| !base.is_empty()) {
        spelt += &format!("@{base}");
    }
    // Without a processor nothing is asked for; the text is a mark with nothing behind it.
    spelt.push('#');
    let cpus: Vec<String> = value["cpu_specs"].as_array().map_or_else(Vec::new, |cpus| {
        cpus.iter()
            .map(|cpu| {
                let part = |name: &str| match cpu[name].as_str() {
                    None | Some("") => "*".to_owned(),
                    Some(text) => text.to_owned(),
                };
                [part("arch"), part("vendor"), part("instr")].join("-")
            })
            .collect()
    });
    spelt += &cpus.join("|");
    if value["gpu_spec"].is_object() {
        spelt += &accelerator(&value["gpu_spec"]);
    }
    spelt
}

/// An accelerator: vendor and model, then conditions. `model` is a pattern, or an object with one
/// and whether it is kept out; `microarchitecture` one name or a list of which any will do.
fn accelerator(gpu: &Value) -> String {
    let or_any = |value: &Value| part(value.as_str().unwrap_or("*"));
    let mut spelt = format!("&{}-{}", or_any(&gpu["vendor"]), or_any(&gpu["model"]));
    if let Some(pattern) = gpu["model"]["pattern"].as_str() {
        let operator = if gpu["model"]["excl"] == Value::Bool(true) { "!=" } else { "=" };
        spelt += &format!(":model{operator}{}", part(pattern));
    }
    for (name, word) in [("version", "cuda"), ("vram", "vram"), ("driver_version", "driver")] {
        let limit = match &gpu[name] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        let has_operator = limit.starts_with(['<', '>', '=', '!']);
        spelt += &format!(":{word}{}{}", if has_operator { "" } else { ">=" }, part(&limit));
    }
    let names: Vec<&str> = match &gpu["microarchitecture"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    };
    if !names.is_empty() {
        spelt += &format!(":uarch={}", part(&names.join("|")));
    }
    spelt
}

/// A part of a text that has its parts between colons: a group without number becomes one with,
/// any other colon any symbol.
fn part(text: &str) -> String {
    text.replace("(?:", "(").replace(':', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_spelt_and_text_is_left() {
        let spelt = |text: &str| plain(text.to_owned());
        assert_eq!(spelt("x86_64-centos7-gcc8-opt"), "x86_64-centos7-gcc8-opt");
        assert_eq!(spelt("{no object"), "{no object");
        assert_eq!(spelt(r#"{"sw_platform": "p"}"#), "p#");
        let two =
            r#"{"sw_platform": "p", "cpu_specs": [{"arch": "a"}, {"arch": "b", "vendor": "v"}]}"#;
        assert_eq!(spelt(two), "p#a-*-*|b-v-*");
        let gpu = r#"{"base_platform": "b",
            "gpu_spec": {"vendor": "nvidia", "vram": ">1", "version": "12"}}"#;
        assert_eq!(spelt(gpu), "@b#&nvidia-*:cuda>=12:vram>1");
        let model = r#"{"gpu_spec": {"model": {"pattern": "(?:A|H)100:8", "excl": true},
            "microarchitecture": ["Ampere", "Hopper"]}}"#;
        assert_eq!(spelt(model), "#&*-*:model!=(A|H)100.8:uarch=Ampere|Hopper");
        let wanted = r#"{"gpu_spec": {"model": {"pattern": "A100.*"}, "vram": 40960}}"#;
        assert_eq!(spelt(wanted), "#&*-*:model=A100.*:vram>=40960");
    }
}
