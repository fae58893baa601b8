//! The class of failure that an exit code stands for (spec cms-nordugrid C-42, C-49).

use super::facts::FailureClass;

/// Spans of exit codes with their classes, in the order in which they are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitCodes(Vec<(i64, i64, FailureClass)>);

impl ExitCodes {
    /// Of lines `class=CODE,FROM-TO`. A line that is none of these says nothing: see
    /// [`ExitCodes::fault`].
    pub fn of(lines: &[String]) -> ExitCodes {
        ExitCodes(lines.iter().filter_map(|line| spans(line).ok()).flatten().collect())
    }

    /// Why a line cannot be read; `None`: it can.
    pub fn fault(line: &str) -> Option<String> {
        spans(line).err()
    }

    /// The class of a failure: the stated one, else that of its exit code.
    pub fn failure(&self, stated: Option<FailureClass>, code: Option<i64>) -> Option<FailureClass> {
        stated.or_else(|| {
            let code = code?;
            let held = self.0.iter().find(|(from, to, _)| (*from..=*to).contains(&code));
            Some(held.map_or(FailureClass::Infrastructure, |(.., class)| *class))
        })
    }
}

fn spans(line: &str) -> Result<Vec<(i64, i64, FailureClass)>, String> {
    let bad = || format!("{line:?} is no CLASS=CODE,FROM-TO,...");
    let (class, codes) = line.split_once('=').ok_or_else(bad)?;
    let class = FailureClass::from_name(class.trim()).ok_or_else(|| {
        let all = FailureClass::ALL.map(FailureClass::name).join(", ");
        format!("{line:?}: no class {:?}; there are {all}", class.trim())
    })?;
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| bad());
    let span = |text: &str| {
        let (from, to) = text.trim().split_once('-').unwrap_or((text, text));
        let (from, to) = (number(from)?, number(to)?);
        if from <= to { Ok((from, to, class)) } else { Err(bad()) }
    };
    codes.split(',').map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_cms_jobs_have_their_class() {
        let codes = super::super::settings::Settings::default().exit_codes;
        let class = |code: i64| codes.failure(None, Some(code)).map(FailureClass::name);
        for (code, is) in [
            (8021, "remote_open"),
            (8001, "payload"),
            (139, "payload"),
            (50660, "payload"),
            (11003, "site"),
            (60307, "site"),
            (50115, "infrastructure"),
            (99109, "infrastructure"),
        ] {
            assert_eq!(class(code), Some(is), "{code}");
        }
        assert_eq!(codes.failure(None, None), None, "nothing is known");
        let stated = codes.failure(Some(FailureClass::Site), Some(8021));
        assert_eq!(stated, Some(FailureClass::Site), "what is stated holds");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let fault = |line| ExitCodes::fault(line).unwrap_or_default();
        assert_eq!(fault("site=1-3,9"), "");
        assert!(fault("nobody=1").contains("there are payload, site, infrastructure, remote_open"));
        for line in ["site=abc", "site=9-3", "site="] {
            assert!(fault(line).contains("CLASS=CODE"), "{line}");
        }
    }
}
