//! Software and hardware that a task wants: its architecture and release (spec atlas 3.2, 3.8).

use crate::event::{Release, Task};
use crate::math::pattern::Pattern;
use std::cell::OnceCell;

/// A release, as a task asks for it.
#[derive(Clone, Debug, PartialEq)]
pub enum WantedRelease {
    /// None is asked for.
    None,
    /// A nightly, which has no number.
    Nightly,
    /// Project and version.
    Release(String, String),
}

/// A task's wishes, taken apart. Made once a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Platform, perhaps an expression.
    pub platform: String,
    /// Base platform; empty: none.
    pub base: String,
    /// Processors, any of which will do; empty: none is asked for.
    pub cpus: Vec<Cpu>,
    /// Whether `cpus` was read off the platform and not asked for by itself.
    pub cpu_is_implied: bool,
    /// Accelerator.
    pub gpu: Option<GpuWish>,
    expression: OnceCell<Option<Pattern>>,
    names: OnceCell<Vec<WantedRelease>>,
}

/// A processor that will do; `*` for any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Architecture, perhaps an expression.
    pub arch: String,
    /// Vendor.
    pub vendor: String,
    /// Instruction set.
    pub instr: String,
    expression: OnceCell<Option<Pattern>>,
}

/// An accelerator that will do; `*` for any.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuWish {
    /// Vendor.
    pub vendor: String,
    /// Model.
    pub model: String,
    /// Further conditions: attribute, operator, value.
    pub limits: Vec<GpuLimit>,
}

/// A condition on an accelerator.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuLimit {
    /// Attribute: cuda, uarch, driver, model, vram.
    pub attribute: String,
    /// Operator: `>=`, `<=`, `!=`, `==`, `>`, `<`, `=`.
    pub operator: String,
    /// Value.
    pub value: String,
}

/// Where a segment of an architecture ends.
const MARKS: [char; 3] = ['@', '#', '&'];

/// Value of a part that is not stated: it matches everything.
const ANY: &str = "*";

impl Wanted {
    /// The wishes of a task.
    pub fn of(task: &Task) -> Wanted {
        Wanted::read(&task.options.architecture)
    }

    /// The wishes an architecture spells (spec atlas 3.2). Never fails: what is no mark is text.
    pub fn read(architecture: &str) -> Wanted {
        let platform = architecture.split(MARKS).next().unwrap_or("");
        let cpu = segment(architecture, '#');
        let gpu = segment(architecture, '&').filter(|text| !text.is_empty());
        let is_implied = cpu.is_none() && !platform.is_empty() && !platform.starts_with('^');
        let cpus = match cpu {
            Some(text) => text
                .trim_matches(['(', ')'])
                .split('|')
                .filter(|text| !text.is_empty())
                .map(Cpu::read)
                .collect(),
            None if is_implied => {
                let arch = platform.split('-').next().unwrap_or("").to_owned();
                vec![Cpu { arch, vendor: ANY.to_owned(), instr: ANY.to_owned(), ..Cpu::default() }]
            }
            None => Vec::new(),
        };
        Wanted {
            platform: platform.to_owned(),
            base: segment(architecture, '@').unwrap_or("").to_owned(),
            cpus,
            cpu_is_implied: is_implied,
            gpu: gpu.map(GpuWish::read),
            ..Wanted::default()
        }
    }

    /// Whether the platform holds what makes it an expression.
    pub fn is_expression(&self) -> bool {
        self.platform.contains(['*', '+', '?', '(', ')', '[', ']', '|', '\\'])
    }

    /// The platform as a pattern; `None` where it is no expression, or cannot be read.
    pub fn expression(&self) -> Option<&Pattern> {
        let read = || Pattern::new(&self.platform).filter(|_| self.is_expression());
        self.expression.get_or_init(read).as_ref()
    }

    /// The first platform of a queue that the task's platform stands for (spec atlas 3.3).
    pub fn resolve<'a>(&self, release: &'a Release) -> Option<&'a str> {
        if let Some(same) = release.cmtconfigs.iter().find(|it| **it == self.platform) {
            return Some(same);
        }
        let pattern = self.expression()?;
        release.cmtconfigs.iter().find(|it| pattern.is_full_match(it)).map(String::as_str)
    }

    /// The platform, with the base platform, that jobs use at a queue where the task's platform is
    /// an expression; `None` where it is none, or the queue has none that it stands for.
    pub fn platform_at(&self, release: &Release) -> Option<String> {
        let platform = self.resolve(release).filter(|platform| **platform != self.platform)?;
        Some(match self.base.as_str() {
            "" => platform.to_owned(),
            base => format!("{platform}@{base}"),
        })
    }

    /// Releases that the task asks for, any of these: as `read` gives them the first time.
    pub fn names(&self, read: impl FnOnce() -> Vec<WantedRelease>) -> &[WantedRelease] {
        self.names.get_or_init(read)
    }
}

/// The text behind a mark, up to the next one.
fn segment(text: &str, mark: char) -> Option<&str> {
    let (_, behind) = text.split_once(mark)?;
    behind.split(MARKS).next()
}

impl Cpu {
    fn read(text: &str) -> Cpu {
        let mut parts = text.splitn(3, '-').map(|part| if part.is_empty() { ANY } else { part });
        let mut next = || parts.next().unwrap_or(ANY).to_owned();
        Cpu { arch: next(), vendor: next(), instr: next(), ..Cpu::default() }
    }

    /// The architecture as a pattern; `None` where it cannot be read.
    pub fn expression(&self) -> Option<&Pattern> {
        self.expression.get_or_init(|| Pattern::new(&self.arch)).as_ref()
    }
}

impl GpuWish {
    fn read(text: &str) -> GpuWish {
        let mut parts = text.split(':');
        let head = parts.next().unwrap_or("");
        let (vendor, model) = head.split_once('-').unwrap_or((head, ""));
        let or_any = |text: &str| if text.is_empty() { ANY } else { text }.to_owned();
        GpuWish {
            vendor: or_any(vendor),
            model: or_any(model),
            limits: parts.filter_map(GpuLimit::read).collect(),
        }
    }
}

impl GpuLimit {
    fn read(text: &str) -> Option<GpuLimit> {
        let at = text.find(['<', '>', '=', '!'])?;
        let (attribute, rest) = text.split_at(at);
        let length = 1 + usize::from(rest[1..].starts_with('='));
        let (operator, value) = rest.split_at(length);
        let [attribute, operator, value] =
            [attribute, operator, value].map(|it| it.trim().to_owned());
        Some(GpuLimit { attribute, operator, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(text: &str) -> Vec<String> {
        let cpus = Wanted::read(text).cpus;
        cpus.iter().map(|cpu| format!("{},{},{}", cpu.arch, cpu.vendor, cpu.instr)).collect()
    }

    /// The table of spec atlas 3.2.
    #[test]
    fn architectures_are_taken_apart() {
        let plain = Wanted::read("x86_64-centos7-gcc8-opt@centos7");
        assert_eq!(
            (plain.platform.as_str(), plain.base.as_str()),
            ("x86_64-centos7-gcc8-opt", "centos7")
        );
        assert!(plain.cpu_is_implied && plain.gpu.is_none());
        assert_eq!(cpus("x86_64-centos7-gcc8-opt"), ["x86_64,*,*"]);
        assert_eq!(cpus("x86_64-slc6-gcc62-opt#x86_64-intel-avx2"), ["x86_64,intel,avx2"]);
        assert_eq!(cpus("#(x86_64|aarch64)"), ["x86_64,*,*", "aarch64,*,*"]);
        assert_eq!(cpus("#x86_64-intel-avx2|aarch64"), ["x86_64,intel,avx2", "aarch64,*,*"]);
        assert_eq!(cpus("(x86_64|aarch64)-el9-gcc13-opt"), ["(x86_64|aarch64),*,*"]);
        assert_eq!(cpus("&nvidia"), [""; 0]);
        assert_eq!(cpus("@centos7"), [""; 0]);
        let gpu = Wanted::read("x86_64-centos7-gcc11-opt&nvidia-kt100").gpu.unwrap();
        assert_eq!((gpu.vendor.as_str(), gpu.model.as_str()), ("nvidia", "kt100"));
        let gpu = Wanted::read("#&nvidia:vram>=40960:model!=.*P100.*").gpu.unwrap();
        let limits: Vec<String> = gpu
            .limits
            .iter()
            .map(|it| format!("{} {} {}", it.attribute, it.operator, it.value))
            .collect();
        assert_eq!(limits, ["vram >= 40960", "model != .*P100.*"]);
    }
}
