//! A name by which a record refers to a thing, with the field that has it.

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldName<'a> {
    /// The field; of a list in a record the list's.
    pub field: &'static str,
    /// The name.
    pub text: &'a str,
}

impl<'a> FieldName<'a> {
    /// The longest of some names; of equals the first.
    pub fn longest(names: impl IntoIterator<Item = (&'static str, &'a str)>) -> FieldName<'a> {
        names.into_iter().fold(FieldName::default(), |longest, (field, text)| {
            if longest.text.len() < text.len() { FieldName { field, text } } else { longest }
        })
    }

    /// The longest of this and those in a list.
    pub fn or_in(
        self,
        field: &'static str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> FieldName<'a> {
        let all = names.into_iter().map(|text| (field, text));
        FieldName::longest(std::iter::once((self.field, self.text)).chain(all))
    }
}

/// The longest name among fields of a record: `longest!(queue: name, site)` is
/// `FieldName::longest([("name", &*queue.name), ("site", &*queue.site)])`.
macro_rules! longest {
    ($record:ident: $($field:ident),* $(,)?) => {
        $crate::event::FieldName::longest([$((stringify!($field), &*$record.$field)),*])
    };
}
pub(crate) use longest;
