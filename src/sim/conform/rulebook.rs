//! The topology that a case is judged by.

use toml::{Table, Value};
use yardmaster_core::policy::Rules;
use yardmaster_wire::topology::{ATLAS, CMS, NORDUGRID, PANDA};

/// The configuration that cases are judged by.
#[derive(Clone, Copy, Debug)]
pub enum Configuration<'a> {
    /// The shipped topology of a case's kind, with a set of defaults.
    Shipped(Rules),
    /// A topology file.
    File {
        /// Its name in complaints.
        name: &'a str,
        /// Its text.
        text: &'a str,
    },
}

impl From<Rules> for Configuration<'_> {
    fn from(rules: Rules) -> Self {
        Configuration::Shipped(rules)
    }
}

/// Budgets that hold no command back: a case of CMS tells what is due.
const BUDGETS: &str = "
[governor]
jobs_per_queue = 100_000
jobs_per_rule = 100_000
jobs = 100_000
[[rule]]
name = \"kill_workflow\"
batch_jobs = 1_000
";

/// A topology, and the policy in it that answers a case.
#[derive(Debug)]
pub(super) struct Rulebook {
    /// Its name in complaints.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Its domain.
    pub domain: String,
    /// Name of the policy.
    pub policy: String,
    /// The policy's set of defaults.
    pub rules: Rules,
}

impl Rulebook {
    /// The topology with parameters of a case in the policy of a kind that answers it.
    ///
    /// # Errors
    /// That the file is no topology or has no such policy.
    pub(super) fn new(
        by: Configuration<'_>,
        kind: &str,
        parameters: Table,
    ) -> Result<Rulebook, String> {
        let (name, text) = match by {
            Configuration::File { name, text } => (name, text.to_owned()),
            Configuration::Shipped(_) => shipped(kind),
        };
        let mut file: Table = text.parse().map_err(|error| format!("{name}: {error}"))?;
        let word = |table: &Table, key: &str| table.get(key)?.as_str().map(str::to_owned);
        let domain = word(&file, "domain").unwrap_or_default();
        let policies = file.get_mut("policy").and_then(Value::as_array_mut);
        let mut policies: Vec<&mut Table> =
            policies.into_iter().flatten().filter_map(Value::as_table_mut).collect();
        if let Configuration::Shipped(rules) = by {
            for policy in &mut policies {
                policy.insert("rules".to_owned(), rules.name().into());
            }
        }
        let mut meant = policies.into_iter();
        let policy = meant.find(|it| word(it, "kind").as_deref() == Some(kind));
        let policy = policy.ok_or_else(|| {
            format!("{name}: it has no policy of kind {kind}; name a topology that has one")
        })?;
        policy.extend(parameters);
        let rules = word(policy, "rules").and_then(|rules| Rules::from_name(&rules));
        let policy = word(policy, "name").unwrap_or_default();
        let (name, text) = (name.to_owned(), file.to_string());
        Ok(Rulebook { name, text, domain, policy, rules: rules.unwrap_or_default() })
    }
}

/// The shipped topology with a policy of a kind, and its name.
fn shipped(kind: &str) -> (&'static str, String) {
    match kind {
        "cms" => ("topology/cms.toml", format!("{CMS}{BUDGETS}")),
        "generic-job" => ("topology/panda.toml", PANDA.to_owned()),
        "nordugrid" => ("topology/nordugrid.toml", NORDUGRID.to_owned()),
        _ => ("topology/atlas.toml", ATLAS.to_owned()),
    }
}
