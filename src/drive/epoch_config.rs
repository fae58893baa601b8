//! The configuration that a domain is run by: the resolved topology, as text and in checked form.

use sha2::{Digest, Sha256};
use std::sync::Arc;
use yardmaster_core::cut::Topic;
use yardmaster_core::domain::cms::state::PoolSetting;
use yardmaster_core::policy::{Mistake, Policy};
use yardmaster_core::state::{DomainRequests, Setting};
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_wire::pseudonym::Pseudonyms;
use yardmaster_wire::topology::{AttentionSettings, Topology};

/// The resolved topology of an epoch. Its text is published in the first `progress` record, so that
/// every decision can be made again from the log alone.
#[derive(Clone)]
pub struct EpochConfig {
    /// The text: all of the topology file that decides, nothing of how the broker is reached.
    pub text: String,
    /// First 16 hex digits of the text's SHA-256.
    pub hash: String,
    /// Domain, limits, silence limits.
    pub setting: Setting,
    /// Policies, ready to judge.
    pub policies: Vec<Policy>,
    /// Fingerprint of the key of users' pseudonyms; `None`: users have their names.
    pub key_fingerprint: Option<String>,
    /// Maker of the pseudonyms; `None` too if the text is a published one, which has no key.
    pub pseudonyms: Option<Arc<Pseudonyms>>,
    /// By topic number, how long a record is safe from compaction; `None`: always.
    pub compact_after: [Option<Millis>; Topic::ALL.len()],
    /// From when on a person is wanted. It decides nothing, and the text does not have it.
    pub attention: AttentionSettings,
}

impl EpochConfig {
    /// The configuration of a topology text, as published in `progress` or as read from a file.
    ///
    /// # Errors
    /// Every mistake in the text, a line each.
    pub fn of(name: &str, text: &str) -> Result<EpochConfig, Vec<String>> {
        EpochConfig::with_key(name, text, None)
    }

    /// The same with what makes users' pseudonyms, if the text asks for them.
    ///
    /// # Errors
    /// As [`EpochConfig::of`].
    pub fn with_key(
        name: &str,
        text: &str,
        pseudonyms: Option<Arc<Pseudonyms>>,
    ) -> Result<EpochConfig, Vec<String>> {
        let topology = Topology::parse(name, text)
            .map_err(|complaints| complaints.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let pseudonyms = pseudonyms.filter(|_| topology.pseudonyms.users);
        let key_fingerprint = match &pseudonyms {
            Some(pseudonyms) => Some(pseudonyms.fingerprint().to_owned()),
            None => topology.pseudonyms.key_fingerprint.filter(|_| topology.pseudonyms.users),
        };
        let text = deciding_part(text, key_fingerprint.as_deref())
            .map_err(|error| vec![format!("{name}: {error}")])?;
        let mut silence = [None; Topic::ALL.len()];
        let mut stale_after = [None; Topic::ALL.len()];
        let mut compact_after = [None; Topic::ALL.len()];
        for (topic, settings) in &topology.topics {
            silence[*topic as usize] = settings.silence_limit_ms;
            stale_after[*topic as usize] = settings.stale_after_ms;
            compact_after[*topic as usize] =
                settings.cleanup.compacts().then_some(settings.compact_after_ms);
        }
        let hash = hash_of(&text);
        let (domain, limits) = (topology.domain.clone(), topology.limits.clone());
        let commands = topology.commands.clone();
        let mut policies = Vec::new();
        for spec in &topology.policies {
            let policy = Policy::compile(spec).map_err(|mistakes| {
                let text = |it: &Mistake| format!("{}: {}; {}", it.place, it.found, it.allowed);
                mistakes.iter().map(text).collect::<Vec<_>>()
            })?;
            policies.push(policy);
        }
        let judges_targets = policies.iter().any(|policy: &Policy| policy.flavour.judges_targets());
        let pool = policies.iter().find(|policy| policy.flavour.judges_offers()).map(pool_setting);
        let domain_requests = policies.iter().find_map(|policy| {
            let domain = policy.flavour.domain()?;
            let policy = policy.spec.name.clone();
            Some(DomainRequests { kind: domain.asks, policy, request: domain.request })
        });
        let setting = Setting {
            domain,
            limits,
            silence,
            stale_after,
            commands,
            judges_targets,
            pool,
            domain_requests,
        };
        Ok(EpochConfig {
            text,
            hash,
            setting,
            policies,
            key_fingerprint,
            pseudonyms,
            compact_after,
            attention: topology.attention,
        })
    }
}

/// By what the records of a pool are kept whose offers a policy answers.
fn pool_setting(policy: &Policy) -> PoolSetting {
    let settings = policy.pool_settings(&policy.unchanged());
    PoolSetting {
        half_life_s: settings.half_life_s,
        match_lifetime_ms: settings.reservation_ttl_s.saturating_mul(SECOND),
    }
}

/// First 16 hex digits of a text's SHA-256.
pub fn hash_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex::encode(&digest[..8])
}

/// The text without the parts on how broker and registry are reached, which decide nothing and may
/// be secret, what intake reads, whose records are facts like any others, and from when on a person
/// is wanted. Of pseudonyms the key's fingerprint is left: what is published depends on the key,
/// not on where it lies.
fn deciding_part(text: &str, key_fingerprint: Option<&str>) -> Result<String, toml::de::Error> {
    let mut table: toml::Table = text.parse()?;
    table.remove("kafka");
    table.remove("intake");
    table.remove("registry");
    table.remove("pseudonyms");
    table.remove("attention");
    if let Some(fingerprint) = key_fingerprint {
        let mut pseudonyms = toml::Table::new();
        pseudonyms.insert("users".to_owned(), true.into());
        pseudonyms.insert("key_fingerprint".to_owned(), fingerprint.into());
        table.insert("pseudonyms".to_owned(), pseudonyms.into());
    }
    Ok(table.to_string())
}
