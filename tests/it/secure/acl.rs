//! Rights on a broker: as docs/security.md lists them, granted and taken back through librdkafka.

use rdkafka::ClientConfig;
use rdkafka::admin::AdminClient;
use rdkafka::client::DefaultClientContext;
use rdkafka_sys as rdsys;
use std::ffi::CString;
use std::ptr::{null, null_mut};

/// Kind of object that a right is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Topic,
    Group,
    TransactionalId,
}

/// One right of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// `Read` or `Write`.
    pub operation: String,
    /// Kind of the object.
    pub kind: Kind,
    /// The name of that.
    pub name: String,
}

/// The rights that docs/security.md lists for `who` (`acl`: `run`; `intake`), for the topics of another
/// domain.
pub fn published(who: &str, domain: &str) -> Vec<Right> {
    let page = include_str!("../../../docs/security.md");
    let head = format!("${who} --operation ");
    let lines = page.lines().filter_map(|line| line.trim().strip_prefix(&head));
    let right = |line: &str| {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        let [operation, kind, name] = words[..] else { panic!("{line:?} is no right") };
        let kind = match kind {
            "--topic" => Kind::Topic,
            "--group" => Kind::Group,
            "--transactional-id" => Kind::TransactionalId,
            other => panic!("{other} in {line:?}"),
        };
        let name = match kind {
            Kind::Topic => name.replace("yardmaster.", &format!("{domain}.")),
            Kind::Group | Kind::TransactionalId => {
                let topic = if name.ends_with("-intake") { "job-state-intake" } else { "progress" };
                name.split("-intake").next().unwrap().replace("-atlas", &format!("-{domain}"))
                    + &format!("-{domain}.{topic}")
            }
        };
        Right { operation: operation.to_owned(), kind, name }
    };
    lines.map(right).collect()
}

/// A client that may grant rights.
pub struct Rights {
    client: AdminClient<DefaultClientContext>,
    principal: String,
}

impl Rights {
    /// Rights of one user, by a client with these properties.
    pub fn of(principal: &str, bootstrap: &str, properties: &[(&str, &str)]) -> Rights {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap);
        for (name, value) in properties {
            config.set(*name, *value);
        }
        Rights { client: config.create().unwrap(), principal: principal.to_owned() }
    }

    /// Gives a right.
    pub fn grant(&self, right: &Right) {
        self.change(right, true);
    }

    /// Takes a right away.
    pub fn revoke(&self, right: &Right) {
        self.change(right, false);
    }

    fn change(&self, right: &Right, grant: bool) {
        use rdsys::rd_kafka_AclOperation_t as Operation;
        use rdsys::rd_kafka_ResourceType_t as Resource;
        let text = |text: &str| CString::new(text).unwrap();
        let (name, host) = (text(&right.name), text("*"));
        let principal = text(&self.principal);
        let kind = match right.kind {
            Kind::TransactionalId => Resource::RD_KAFKA_RESOURCE_TRANSACTIONAL_ID,
            Kind::Group => Resource::RD_KAFKA_RESOURCE_GROUP,
            Kind::Topic => Resource::RD_KAFKA_RESOURCE_TOPIC,
        };
        let operation = match right.operation.as_str() {
            "Read" => Operation::RD_KAFKA_ACL_OPERATION_READ,
            "Write" => Operation::RD_KAFKA_ACL_OPERATION_WRITE,
            other => panic!("{other}: no operation of ours"),
        };
        let literal = rdsys::rd_kafka_ResourcePatternType_t::RD_KAFKA_RESOURCE_PATTERN_LITERAL;
        let allow = rdsys::rd_kafka_AclPermissionType_t::RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW;
        let (name, principal, host) = (name.as_ptr(), principal.as_ptr(), host.as_ptr());
        let client = self.client.inner().native_ptr();
        // SAFETY: the texts and the client outlive every call; queue, binding and event are ours,
        // and each is destroyed once after its last use. A binding serves as a filter: they are one
        // type in librdkafka.
        unsafe {
            let queue = rdsys::rd_kafka_queue_new(client);
            let new = if grant {
                rdsys::rd_kafka_AclBinding_new
            } else {
                rdsys::rd_kafka_AclBindingFilter_new
            };
            let mut acl =
                new(kind, name, literal, principal, host, operation, allow, null_mut(), 0);
            assert!(!acl.is_null(), "{right:?}");
            let ask = if grant { rdsys::rd_kafka_CreateAcls } else { rdsys::rd_kafka_DeleteAcls };
            ask(client, &raw mut acl, 1, null(), queue);
            let event = rdsys::rd_kafka_queue_poll(queue, 30_000);
            assert!(!event.is_null(), "no answer about {right:?}");
            let error = rdsys::rd_kafka_event_error(event);
            rdsys::rd_kafka_event_destroy(event);
            rdsys::rd_kafka_AclBinding_destroy(acl);
            rdsys::rd_kafka_queue_destroy(queue);
            let fine = rdsys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
            assert_eq!(error, fine, "{right:?}");
        }
    }
}
