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
    let gpu = &value["gpu_spec"];
    if gpu.is_object() {
        let or_any = |name: &str| gpu[name].as_str().unwrap_or("*").to_owned();
        spelt += &format!("&{}-{}", or_any("vendor"), or_any("model"));
        for (name, word) in [
            ("version", "cuda"),
            ("vram", "vram"),
            ("microarchitecture", "uarch"),
            ("driver_version", "driver"),
        ] {
            let limit = match &gpu[name] {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            let has_operator = limit.starts_with(['<', '>', '=', '!']);
            spelt += &format!(":{word}{}{limit}", if has_operator { "" } else { ">=" });
        }
    }
    spelt
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
    }
}
