use super::*;
use crate::dice::Dice;

fn share(name: &str, parent: &str, value: f64, position: u32) -> Share {
    let (name, parent) = (name.to_owned(), parent.to_owned());
    Share { name, parent, value, position, ..Share::default() }
}

/// The tree of the worked example (spec atlas 13.8).
fn example() -> Tree {
    Tree::new(&[
        share("Prod", "", 80.0, 0),
        share("Anal", "", 20.0, 1),
        share("MC", "Prod", 60.0, 0),
        share("Data", "Prod", 40.0, 1),
    ])
}

fn power(shares: &[(&str, f64, f64)]) -> BTreeMap<String, Hs06> {
    let power = shares.iter().map(|(name, executing, queued)| {
        ((*name).to_owned(), Hs06 { executing: *executing, queued: *queued })
    });
    power.collect()
}

fn names<'a>(nodes: impl Iterator<Item = &'a ShareNode>) -> Vec<&'a str> {
    nodes.map(|node| node.name.as_str()).collect()
}

#[test]
fn the_worked_example_of_the_specification() {
    let tree = example();
    let values: Vec<(&str, f64)> =
        tree.leaves().map(|leaf| (leaf.name.as_str(), leaf.value)).collect();
    assert_eq!(values, [("MC", 48.0), ("Data", 32.0), ("Anal", 20.0)]);
    let power = power(&[("MC", 600.0, 0.0), ("Data", 250.0, 0.0), ("Anal", 150.0, 0.0)]);
    let balance = Balance::new(&tree, &power);
    let pledged = |name| balance.of(&tree, name).expect(name).pledged;
    assert_eq!([pledged("MC"), pledged("Data"), pledged("Anal")], [480.0, 320.0, 200.0]);
    let percent = |name| balance.of(&tree, name).expect(name).percent();
    assert_eq!([percent("MC"), percent("Data"), percent("Anal")], [125.0, 78.125, 75.0]);
    assert_eq!((pledged("Prod"), percent("Prod")), (800.0, 106.25));
    assert_eq!(balance.order(&tree), ["Anal", "Data", "MC"]);
}

#[test]
fn what_idle_shares_leave_goes_to_busy_ones() {
    let tree = example();
    // Prod: target 800, runs 950. Anal: target 200, runs 50, and 60 HS06 queued: half of them are
    // fewer than what runs. So 150 are left, all for Prod.
    let now = power(&[("MC", 600.0, 0.0), ("Data", 350.0, 0.0), ("Anal", 50.0, 60.0)]);
    let balance = Balance::new(&tree, &now);
    let prod = balance.equivalent_percent(&tree, "MC").expect("a share");
    assert!((prod - 100.0 * 950.0 / (800.0 + 150.0 * 800.0 / 801.0)).abs() < 1e-9, "{prod}");
    assert_eq!(balance.equivalent_percent(&tree, "Prod"), Some(prod));
    assert_eq!(balance.equivalent_percent(&tree, "Anal"), Some(25.0));
    assert_eq!(balance.equivalent_percent(&tree, "nobody"), None);
    // With enough queued to use its target up Anal leaves nothing.
    let now = power(&[("MC", 600.0, 0.0), ("Data", 350.0, 0.0), ("Anal", 50.0, 500.0)]);
    let balance = Balance::new(&tree, &now);
    assert_eq!(balance.equivalent_percent(&tree, "MC"), Some(118.75));
}

#[test]
fn a_share_without_pledge_comes_last() {
    let tree = Tree::new(&[share("a", "", 0.0, 0), share("b", "", 1.0, 1), share("c", "", 1.0, 2)]);
    let balance = Balance::new(&tree, &power(&[("b", 10.0, 0.0)]));
    assert_eq!(balance.order(&tree), ["c", "b", "a"]);
    assert_eq!(balance.of(&tree, "a").expect("a").percent(), 999_999.0);
    // With nothing running all are equal, and stand in tree order.
    let balance = Balance::new(&tree, &BTreeMap::new());
    assert_eq!(balance.order(&tree), ["a", "b", "c"]);
}

#[test]
fn power_of_a_share_that_is_no_leaf_counts_in_the_whole_alone() {
    let tree = example();
    let now = power(&[("MC", 100.0, 0.0), ("Prod", 50.0, 0.0), ("gone", 50.0, 7.0)]);
    let balance = Balance::new(&tree, &now);
    let prod = balance.of(&tree, "Prod").expect("a node");
    assert_eq!((prod.executing, prod.pledged, prod.queued), (100.0, 160.0, 0.0));
}

#[test]
fn siblings_stand_by_position_then_by_name() {
    let tree = Tree::new(&[
        share("b", "", 1.0, 1),
        share("a", "", 1.0, 1),
        share("z", "", 1.0, 0),
        share("y", "z", 1.0, 9),
        share("x", "z", 1.0, 3),
    ]);
    assert_eq!(names(tree.leaves()), ["x", "y", "a", "b"]);
    assert_eq!(names(tree.nodes().iter()), ["z", "x", "y", "a", "b"]);
}

#[test]
fn nodes_that_do_not_hang_on_the_root_are_left_out_and_named() {
    let tree = Tree::new(&[
        share("a", "", 1.0, 0),
        share("orphan", "nobody", 1.0, 0),
        share("child", "orphan", 1.0, 0),
        share("self", "self", 1.0, 0),
        share("one", "other", 1.0, 0),
        share("other", "one", 1.0, 0),
        share("", "", 1.0, 0),
    ]);
    assert_eq!(names(tree.leaves()), ["a"]);
    assert_eq!(tree.strays, ["", "child", "one", "orphan", "other", "self"]);
    assert_eq!(tree.leaf("a").map(|leaf| leaf.value), Some(100.0));
}

fn ruled(name: &str, position: u32, change: impl Fn(&mut Share)) -> Share {
    let mut share = share(name, "", 1.0, position);
    change(&mut share);
    share
}

#[test]
fn a_task_belongs_to_the_leaf_it_names_or_to_the_first_that_matches() {
    let some = |text: &str| Some(text.to_owned());
    let tree = Tree::new(&[
        ruled("Group", 0, |it| it.working_group = some("(AP|GP)_")),
        ruled("Evgen", 1, |it| {
            it.label = some("managed");
            it.processing_type = some("^(evgen|simul)$");
            it.working_group = some("(?!(GP_|SOFT)).*");
        }),
        ruled("NoGroup", 2, |it| it.working_group = some("^ $")),
        ruled("Camp", 3, |it| {
            it.campaign = some("MC23.*");
            it.trans_path = some(".*pile");
            it.resource_type = some("MCORE");
        }),
    ]);
    let of = |named: &str, traits: Traits<'_>| tree.tag(named, &traits).map(|it| it.name.clone());
    let group = |group| Traits { working_group: Some(group), ..Traits::default() };
    assert_eq!(of("", group("AP_MCGN")), some("Group"), "from the start, not in full");
    assert_eq!(of("Camp", group("AP_MCGN")), some("Camp"), "named");
    assert_eq!(of("nobody", group("XAP_")), some("Evgen"), "what is not known matches");
    let simul = |group, kind| Traits {
        label: Some("managed"),
        working_group: group,
        processing_type: Some(kind),
        ..Traits::default()
    };
    assert_eq!(of("", simul(Some("SOFT"), "simul")), some("Camp"));
    assert_eq!(of("", simul(None, "simul")), some("Evgen"), "no group is a space");
    assert_eq!(of("", simul(None, "pile")), some("NoGroup"));
    let score = Traits { resource_type: Some("SCORE"), ..simul(Some("SOFT"), "pile") };
    assert_eq!(of("", score), None, "no leaf takes it");
}

#[test]
fn an_expression_that_is_no_pattern_matches_nothing_and_is_named() {
    let bad = [ruled("bad", 0, |it| it.label = Some("(".into())), share("any", "", 1.0, 1)];
    let tree = Tree::new(&bad);
    assert_eq!(tree.unread, [("bad".to_owned(), "prodsourcelabel")]);
    let of = |traits| tree.tag("", &traits).map(|it| it.name.as_str());
    assert_eq!(of(Traits { label: Some("("), ..Traits::default() }), Some("any"));
    assert_eq!(of(Traits::default()), Some("any"), "not even what is not known");
}

/// Random trees, with every possible value and parents drawn at random: circles, orphans
/// and depths come by themselves.
#[test]
fn leaves_add_to_100_whatever_is_published() {
    const VALUES: [f64; 10] =
        [0.0, 0.0, 1.0, 30.0, -5.0, f64::MAX, f64::MIN_POSITIVE, 1e-320, f64::NAN, f64::INFINITY];
    for seed in 0..400 {
        let mut dice = Dice::of("share", "tree", seed, 0, 0);
        let mut draw = |sides: usize| (dice.word() % sides as u64) as usize;
        let count = 1 + draw(40);
        let mut shares = vec![share("0", "", VALUES[draw(VALUES.len())], 0)];
        for number in 1..count {
            let parent = match draw(3) {
                0 => String::new(),
                1 => draw(number).to_string(),
                _ => draw(count + 2).to_string(),
            };
            let value = VALUES[draw(VALUES.len())];
            shares.push(share(&number.to_string(), &parent, value, draw(3) as u32));
        }
        let tree = Tree::new(&shares);
        assert_eq!(tree.nodes().len() + tree.strays.len(), count);
        let sum: f64 = tree.leaves().map(|leaf| leaf.value).sum();
        assert!((sum - WHOLE).abs() < 1e-9, "seed {seed}: {sum}");
        assert!(tree.nodes().iter().all(|node| node.value >= 0.0), "seed {seed}");
        let now: BTreeMap<String, Hs06> = (0..count)
            .map(|at| {
                let hs06 = Hs06 { executing: draw(3) as f64 * 7.0, queued: draw(3) as f64 };
                (at.to_string(), hs06)
            })
            .collect();
        let balance = Balance::new(&tree, &now);
        let mut order = balance.order(&tree);
        for name in &order {
            let it = balance.of(&tree, name).expect("a leaf");
            let equivalent = balance.equivalent_percent(&tree, name).expect("a leaf");
            assert!(it.percent().is_finite() && equivalent.is_finite(), "seed {seed}");
            assert!(it.percent() >= 0.0 && equivalent >= 0.0, "seed {seed}");
        }
        let mut leaves = names(tree.leaves());
        order.sort_unstable();
        leaves.sort_unstable();
        assert_eq!(order, leaves, "each leaf once");
    }
}

#[test]
fn a_deep_tree_needs_no_deep_stack() {
    let name = |at: u32| format!("s{at}");
    let chain = (0..100_000u32).map(|at| match at {
        0 => share("s0", "", 1.0, 0),
        at => share(&name(at), &name(at - 1), 1.0, 0),
    });
    let chain: Vec<Share> = chain.collect();
    let tree = Tree::new(&chain);
    assert_eq!((tree.nodes().len(), tree.leaves().count()), (100_000, 1));
    let balance = Balance::new(&tree, &power(&[("s99999", 5.0, 0.0)]));
    assert_eq!(balance.order(&tree), ["s99999"]);
    assert_eq!(balance.equivalent_percent(&tree, "s99999"), Some(100.0));
}
