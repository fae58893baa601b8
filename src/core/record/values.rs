//! How plain values, lists and names are written and read.

use super::{Decode, Decoder, Encode, Encoder};
use crate::cut::{Lane, Topic};
use crate::id::Key;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

macro_rules! plain {
    ($($kind:ty: $word:ident($value:ident => $given:expr)),* $(,)?) => {
        $(
            impl Encode for $kind {
                #[inline(always)]
                fn encode<E: Encoder>(&self, to: &mut E) {
                    let $value = self;
                    to.$word($given);
                }
            }
        )*
    };
}
plain!(
    bool: boolean(it => *it),
    i32: long(it => i64::from(*it)),
    u16: long(it => i64::from(*it)),
    u32: long(it => i64::from(*it)),
    i64: long(it => *it),
    u64: amount(it => *it),
    f64: number(it => *it),
    str: text(it => it),
    String: text(it => it),
    Cow<'_, str>: text(it => it),
    Arc<str>: text(it => it),
);

macro_rules! plainly {
    ($($kind:ty: $word:ident),* $(,)?) => {
        $(
            impl<'a> Decode<'a> for $kind {
                #[inline(always)]
                fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Self, D::Fault> {
                    from.$word()
                }
            }
        )*
    };
}
plainly!(bool: boolean, i32: int, u32: count, i64: long, u64: amount, f64: number, &'a str: text);

impl<'a> Decode<'a> for String {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<String, D::Fault> {
        from.text().map(str::to_owned)
    }
}

impl<'a> Decode<'a> for Arc<str> {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Arc<str>, D::Fault> {
        from.text().map(Arc::from)
    }
}

impl<'a> Decode<'a> for Cow<'static, str> {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Cow<'static, str>, D::Fault> {
        String::decode(from).map(Cow::Owned)
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode<E: Encoder>(&self, to: &mut E) {
        (*self).encode(to);
    }
}

impl<T: Encode> Encode for Box<T> {
    fn encode<E: Encoder>(&self, to: &mut E) {
        (**self).encode(to);
    }
}

/// Apart from what is beside it: what lies in a box is rarely there.
impl<'a, T: Decode<'a>> Decode<'a> for Box<T> {
    #[cold]
    #[inline(never)]
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Box<T>, D::Fault> {
        T::decode(from).map(Box::new)
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode<E: Encoder>(&self, to: &mut E) {
        to.present(self.is_some());
        if let Some(value) = self {
            value.encode(to);
        }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    #[inline(always)]
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Option<T>, D::Fault> {
        if from.present()? { T::decode(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Encode> Encode for [T] {
    fn encode<E: Encoder>(&self, to: &mut E) {
        to.items(self.len());
        for item in self {
            to.item();
            item.encode(to);
        }
        to.end();
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode<E: Encoder>(&self, to: &mut E) {
        self.as_slice().encode(to);
    }
}

impl Encode for i128 {
    fn encode<E: Encoder>(&self, to: &mut E) {
        to.long((self >> 64) as i64);
        to.word(*self as u64);
    }
}

impl<'a> Decode<'a> for i128 {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<i128, D::Fault> {
        Ok(i128::from(from.long()?) << 64 | i128::from(from.word()?))
    }
}

/// Memory for this many items is asked for at once at most.
const RESERVED_MAX: usize = 1_024;

impl<'a, T: Decode<'a>> Decode<'a> for Vec<T> {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Vec<T>, D::Fault> {
        let mut items = Vec::new();
        loop {
            let count = from.items()?;
            if count == 0 {
                return Ok(items);
            }
            items.reserve(count.min(from.items_max()).min(RESERVED_MAX));
            for _ in 0..count {
                items.push(T::decode(from)?);
            }
        }
    }
}

impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    fn encode<E: Encoder>(&self, to: &mut E) {
        to.items(self.len());
        for (key, value) in self {
            to.item();
            key.encode(to);
            value.encode(to);
        }
        to.end();
    }
}

impl<'a, K: Decode<'a> + Ord, V: Decode<'a>> Decode<'a> for BTreeMap<K, V> {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<BTreeMap<K, V>, D::Fault> {
        Vec::<(K, V)>::decode(from).map(|entries| entries.into_iter().collect())
    }
}

impl<const N: usize> Encode for [u8; N] {
    fn encode<E: Encoder>(&self, to: &mut E) {
        to.raw(self);
    }
}

impl<'a, const N: usize> Decode<'a> for [u8; N] {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<[u8; N], D::Fault> {
        from.raw()
    }
}

macro_rules! tuples {
    ($(($($kind:ident $at:tt),*)),* $(,)?) => {
        $(
            impl<$($kind: Encode),*> Encode for ($($kind,)*) {
                fn encode<E: Encoder>(&self, to: &mut E) {
                    $(self.$at.encode(to);)*
                }
            }

            impl<'a, $($kind: Decode<'a>),*> Decode<'a> for ($($kind,)*) {
                fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Self, D::Fault> {
                    Ok(($($kind::decode(from)?,)*))
                }
            }
        )*
    };
}
tuples!((A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, F 3));

impl Encode for Key {
    fn encode<E: Encoder>(&self, to: &mut E) {
        to.word(self.0);
    }
}

impl<'a> Decode<'a> for Key {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Key, D::Fault> {
        from.word().map(Key)
    }
}

impl Encode for Topic {
    fn encode<E: Encoder>(&self, to: &mut E) {
        to.text(self.name());
    }
}

/// A lane of a topic that is not known cannot be read past: nothing would be known of it.
impl<'a> Decode<'a> for Topic {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Topic, D::Fault> {
        Topic::from_name(from.text()?).ok_or_else(|| from.refuse())
    }
}

/// Kafka counts partitions in 31 bits.
impl Encode for Lane {
    fn encode<E: Encoder>(&self, to: &mut E) {
        self.topic.encode(to);
        to.long(i64::from(self.partition));
    }
}

impl<'a> Decode<'a> for Lane {
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Lane, D::Fault> {
        let topic = Topic::decode(from)?;
        let partition = u32::try_from(from.int()?).map_err(|_| from.refuse())?;
        Ok(Lane { topic, partition })
    }
}
