//! Our schemas: the current one of each topic, and every version ever released.
//!
//! A released version is never changed. Whatever `main` had is released: to change a schema, copy
//! it to the next number in `schemas/released` and add that in [`each_topic`], then edit
//! `schemas/<topic>.avsc` so that it still reads all released ones. Tests show both.

use super::{canonical_form, rabin};
use apache_avro::Schema;
use std::sync::LazyLock;
use yardmaster_core::topic::{Topic, each_topic};

/// Schema of one record of the directory log.
pub const ENVELOPE: &str = include_str!("../../../schemas/envelope.avsc");

/// The versions of a schema in some releases.
macro_rules! released {
    ($name:literal) => {
        &[]
    };
    ($name:literal 1 2) => {
        &[
            include_str!(concat!("../../../schemas/released/1/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/2/", $name, ".avsc")),
        ]
    };
    ($name:literal 3) => {
        &[include_str!(concat!("../../../schemas/released/3/", $name, ".avsc"))]
    };
    ($name:literal 1 2 3) => {
        &[
            include_str!(concat!("../../../schemas/released/1/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/2/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/3/", $name, ".avsc")),
        ]
    };
    ($name:literal 1 2 4) => {
        &[
            include_str!(concat!("../../../schemas/released/1/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/2/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/4/", $name, ".avsc")),
        ]
    };
    ($name:literal 1 2 3 4) => {
        &[
            include_str!(concat!("../../../schemas/released/1/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/2/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/3/", $name, ".avsc")),
            include_str!(concat!("../../../schemas/released/4/", $name, ".avsc")),
        ]
    };
}

macro_rules! schemas {
    ($(
        $number:literal $kind:ident $name:literal $class:ident $need:ident
            [$($release:tt)*],
            $writer:literal, $reader:literal;
    )*) => {
        /// The current schema of a topic, as text.
        pub const fn schema_text(topic: Topic) -> &'static str {
            match topic {
                $(Topic::$kind => include_str!(concat!("../../../schemas/", $name, ".avsc")),)*
            }
        }

        /// Every released version of a topic's schema, as text, oldest first.
        pub const fn released(topic: Topic) -> &'static [&'static str] {
            match topic {
                $(Topic::$kind => released!($name $($release)*),)*
            }
        }
    };
}
each_topic!(schemas);

/// The current schema of a topic, parsed once.
pub fn schema(topic: Topic) -> &'static Schema {
    &OURS[topic as usize].0
}

/// The fingerprint of a topic's current schema.
pub fn fingerprint(topic: Topic) -> u64 {
    OURS[topic as usize].1
}

static OURS: LazyLock<Vec<(Schema, u64)>> = LazyLock::new(|| {
    Topic::ALL
        .iter()
        .map(|topic| {
            // cannot fail: they are compiled in, and a test parses every one.
            let schema = Schema::parse_str(schema_text(*topic)).expect("our schemas parse");
            let fingerprint = rabin(canonical_form(&schema).as_bytes());
            (schema, fingerprint)
        })
        .collect()
});
