//! Laws of the reader: any text is answered, and a tree that is printed is read as it was.

use crate::domain::nordugrid::xrsl::{
    Condition, Dialect, Expression, Item, Operator, Relation, read, tree,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A tree without the places at which its parts stand.
fn unplaced(item: Item) -> Item {
    match item {
        Item::Condition(condition) => Item::Condition(Condition { at: 0, ..condition }),
        Item::Joined { operator, items, .. } => {
            let items = items.into_iter().map(unplaced).collect();
            Item::Joined { operator, items, at: 0 }
        }
    }
}

/// Pieces of which nearly right texts are made.
const PIECES: [&str; 54] = [
    "&",
    "|",
    "+",
    "(",
    ")",
    ")",
    "(a=1)",
    "(",
    "=",
    "!=",
    "<",
    ">=",
    "#",
    "$(A)",
    "$",
    "\"",
    "'",
    "\"\"",
    "^x",
    "x",
    " ",
    "\n",
    "(*",
    "*)",
    "(* *)",
    "executable=a",
    "count=",
    "4",
    "eight",
    "cputime=",
    "2 hours",
    "PT",
    "rsl_substitution=(A b)",
    "inputfiles=(\"a\" \"\")",
    "executables=a",
    "join=yes",
    "stdout=o",
    "queue!=",
    "\u{0}",
    "é",
    "日",
    "😀",
    "_",
    "-",
    "runtimeenvironment>=",
    "R-6.20",
    "memory=99999999999999999999",
    "action=x",
    "<ActivityDescription>",
    "</ActivityDescription>",
    "<InputFile><Name>a</Name>",
    "</InputFile>",
    "<!-- ",
    "&#65;",
];

fn nearly_right() -> impl Strategy<Value = String> {
    vec(prop::sample::select(&PIECES[..]), 0..40).prop_map(|pieces| pieces.concat())
}

fn expression() -> impl Strategy<Value = Expression> {
    let text = any::<String>().prop_map(Expression::Text);
    let variable = "[A-Za-z*_-]{1,4}".prop_map(Expression::Variable);
    let single = prop_oneof![text, variable];
    single.prop_recursive(4, 24, 4, |inner| {
        let parts = vec(inner.clone(), 2..4).prop_filter("joins are flat", |parts| {
            parts.iter().all(|part| !matches!(part, Expression::Join(_)))
        });
        prop_oneof![vec(inner, 0..4).prop_map(Expression::List), parts.prop_map(Expression::Join),]
    })
}

fn condition() -> impl Strategy<Value = Item> {
    let relations = [
        Relation::Equal,
        Relation::NotEqual,
        Relation::Less,
        Relation::LessOrEqual,
        Relation::Greater,
        Relation::GreaterOrEqual,
    ];
    let name = "[A-Za-z*_é-]{1,6}";
    (name, prop::sample::select(relations.to_vec()), vec(expression(), 0..4)).prop_map(
        |(written, relation, values)| {
            let attribute = written.to_lowercase().replace('_', "");
            Item::Condition(Condition { attribute, written, relation, values, at: 0 })
        },
    )
}

/// Trees of `&` and `|`, with a `+` on top in some.
fn item() -> impl Strategy<Value = Item> {
    let joined = |operator| move |items| Item::Joined { operator, items, at: 0 };
    let job = condition().prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(joined(Operator::All)),
            vec(inner, 1..4).prop_map(joined(Operator::Any)),
        ]
    });
    prop_oneof![job.clone(), vec(job, 1..4).prop_map(joined(Operator::Jobs))]
}

proptest! {
    #[test]
    fn any_text_is_answered(text in prop_oneof![any::<String>(), nearly_right()]) {
        for dialect in [Dialect::User, Dialect::Server] {
            let (read, tree) = (read(&text, dialect), tree(&text));
            if let Err(error) = &read {
                let line = text.split('\n').nth(error.line as usize - 1).expect("a line of it");
                prop_assert!(error.column as usize <= line.chars().count() + 1);
            }
            if let Ok(read) = &read {
                prop_assert!(!read.jobs.is_empty());
                prop_assert!(read.jobs.iter().all(|job| !job.is_empty()));
            }
            prop_assert!(tree.is_ok() || read.is_err());
        }
    }

    #[test]
    fn a_tree_that_is_printed_is_read_again(item in item()) {
        let text = item.to_string();
        let again = tree(&text).map(unplaced);
        prop_assert_eq!(again, Ok(item), "{}", text);
    }

    #[test]
    fn a_text_that_is_read_prints_to_the_same_tree(text in nearly_right()) {
        if let Ok(first) = tree(&text).map(unplaced) {
            let again = tree(&first.to_string()).map(unplaced);
            prop_assert_eq!(again, Ok(first), "{}", text);
        }
    }
}
