//! The page of a running `demo`: each view shows what the API says, and goes on by itself.

use super::browser::{DOWN, ENTER, ESCAPE, SHIFT, TAB, is_installed};
use super::stage::{HOSTILE, Stage, digits, each, encoded, sum, text};
use super::views;
use serde_json::Value;

#[test]
fn a_chromium_shows_what_a_demo_knows() {
    if !is_installed() {
        return;
    }
    let stage = Stage::set();
    now_shows_each_group_and_goes_on_by_itself(&stage);
    queues_are_tiles_that_can_be_filtered(&stage);
    stage.no_errors();
    decisions_are_shown_as_they_are_published_and_filtered(&stage);
    stage.no_errors();
    why_shows_the_reasons_that_the_api_gives(&stage);
    time_shows_a_past_moment(&stage);
    views::waiting_names_what_waits_longest_and_why(&stage);
    views::sites_are_all_there(&stage);
    views::pages_of_a_queue_a_site_a_share_and_a_user_say_where_they_stand(&stage);
    views::a_task_shows_its_jobs(&stage);
    views::throttles_and_usage_are_those_of_the_state(&stage);
    views::a_queue_that_were_offline_would_get_nothing(&stage);
    stage.no_errors();
    everything_is_reached_by_the_keyboard(&stage);
    every_view_fits_a_narrow_window_and_can_be_read(&stage);
    stage.no_errors();
    an_unknown_name_is_answered_with_what_can_be_searched(&stage);
}

fn now_shows_each_group_and_goes_on_by_itself(stage: &Stage) {
    let browser = &stage.browser;
    stage.show("", ".group");
    browser.shot("now");
    assert_eq!(browser.text("h1"), "Now");
    // Every queue is in a group: named in it, or counted.
    let in_groups = "[...document.querySelectorAll('.group h3 .soft')]\
                     .reduce((sum, it) => sum + parseInt(it.textContent), 0)";
    assert_eq!(browser.get(in_groups), each(&stage.ask("queues")["queues"]).len());
    assert_eq!(browser.count("img"), 0, "a queue's name became markup");

    // Figures go on, and it is still the same document and the same card.
    browser.run("window.card = document.querySelector('.figures')");
    let (cycle, figures) = (stage.cycle(), browser.text(".figures"));
    browser.wait_for("the cycle advances", || stage.cycle() != cycle);
    browser.wait_for("the figures advance", || browser.text(".figures") != figures);
    assert_eq!(browser.get("window.card === document.querySelector('.figures')"), true);
    assert!(browser.text("#standing").starts_with("leads, "), "{}", browser.text("#standing"));

    // Held, it stands still; then it shows what the process says.
    browser.click("#pause");
    let lead = browser.text(".lead p");
    let past = stage.ask("status")["cycle"].as_u64().unwrap() + 20;
    browser.wait_for("cycles pass", || stage.ask("status")["cycle"].as_u64().unwrap() > past);
    assert_eq!(browser.text(".lead p"), lead, "it went on while it was held");
    assert!(browser.text("#age").starts_with("held since "));
    browser.click("#pause");
    browser.wait_for("it goes on", || browser.text(".lead p") != lead);
}

fn queues_are_tiles_that_can_be_filtered(stage: &Stage) {
    let browser = &stage.browser;
    stage.show("#queues", "li.tile");
    let queues = stage.ask("queues");
    let names: Vec<String> =
        each(&queues["queues"]).iter().map(|it| text(&it["queue"]).to_owned()).collect();
    assert_eq!(browser.texts("li.tile .name"), names);
    assert!(names.iter().any(|name| name == HOSTILE), "{names:?}");
    assert_eq!(browser.count("img"), 0, "a queue's name became markup");
    let figures = browser.texts("li.tile .figures");
    browser.wait_for("the figures advance", || browser.texts("li.tile .figures") != figures);

    // A filter leaves those that it names, and the address keeps it.
    browser.click("main input[type=search]");
    browser.press("bnl");
    browser.wait("document.querySelectorAll('li.tile').length === 1");
    assert_eq!(browser.texts("li.tile .name"), ["BNL"]);
    assert_eq!(browser.get("location.hash"), "#queues?q=bnl");
    browser.press("xyz");
    browser.wait("document.querySelector('.empty')");
    assert!(browser.text(".empty").starts_with("None of the 11"));
    // Where Now had the filters once, their addresses lead here.
    stage.show("#now?q=mwt2&sort=queued", "li.tile");
    assert_eq!(browser.texts("li.tile .name"), ["MWT2"]);
    assert_eq!(browser.get("location.hash"), "#queues?q=mwt2&sort=queued");
}

fn decisions_are_shown_as_they_are_published_and_filtered(stage: &Stage) {
    let browser = &stage.browser;
    stage.show("#decisions", "table.events tbody tr");
    browser.shot("decisions");
    let sequences = || -> Vec<u64> {
        let all = "[...document.querySelectorAll('tbody tr[data-sequence]')]\
                   .map(it => Number(it.dataset.sequence))";
        each(&browser.get(all)).iter().map(|it| it.as_u64().unwrap()).collect()
    };
    let first = sequences();
    assert!(first.is_sorted_by(|a, b| a > b), "not the newest first: {first:?}");
    browser.wait_for("newer ones come", || sequences()[0] > first[0]);

    browser.click("#pause");
    let (held, last) = (sequences(), stage.last_sequence());
    browser.wait_for("newer ones are published", || stage.last_sequence() > last);
    assert_eq!(sequences(), held, "rows came while it was paused");
    browser.click("#pause");
    browser.wait_for("it goes on", || sequences()[0] > held[0]);
    assert!(sequences().len() <= 300, "{} rows", sequences().len());

    stage.show("#decisions?kind=decision&what=defer", "table.events tbody tr");
    let whats = browser.texts("table.events tbody td:nth-child(2)");
    assert!(whats.iter().all(|it| it == "◆ defer"), "{whats:?}");
    stage.show("#decisions?kind=decision&queue=MWT2&what=assign", "table.events tbody tr");
    let queues = browser.texts("table.events tbody td:nth-child(5)");
    assert!(queues.iter().all(|it| it.contains("MWT2") || it.contains("more")), "{queues:?}");
    // A field that is changed asks again.
    browser.click(".filters input[name=queue]");
    browser.press("-no-such-queue");
    browser.wait("!document.querySelector('tr[data-sequence]')");
    browser.wait(
        "document.querySelector('main .note')?.textContent.startsWith('Nothing that is kept')",
    );
}

fn why_shows_the_reasons_that_the_api_gives(stage: &Stage) {
    let browser = &stage.browser;
    // A row leads to the reasons of the very decision.
    stage.show("#decisions?kind=decision&what=defer", "table.events tbody tr");
    browser.click("#pause");
    let subject = browser.text("table.events tbody td:nth-child(3)");
    browser.click("table.events tbody td:nth-child(4)");
    browser.wait("document.querySelector('article.decision')");
    browser.shot("why-deferred");
    let hash = browser.get("location.hash");
    let (place, id) = text(&hash).split_once("id=").expect("the address names the decision");
    assert!(place.starts_with(&format!("#why/{}", subject.replace('/', "%2F"))), "{place}");
    let decision = &stage.ask(&format!("decisions/{id}"))["decision"];
    assert!(browser.text("article.decision h2").contains(text(&decision["headline"])));
    assert!(browser.text(".ahead").contains("Judged again"), "{}", browser.text(".ahead"));
    let changes: Vec<&str> = each(&decision["waits"]["would_change"]).iter().map(text).collect();
    assert_eq!(browser.texts(".ahead li"), changes);
    let cut = |it: &&Value| it["rejected"].as_u64() > Some(0);
    let steps = each(&decision["steps"]).iter().filter(cut);
    let steps: Vec<(&str, u64)> =
        steps.map(|it| (text(&it["filter"]), it["left"].as_u64().unwrap())).collect();
    let rows = "[...document.querySelectorAll('.cut[data-filter]:not(.end)')]\
                .map(it => [it.dataset.filter, it.querySelector('small').textContent])";
    let rows = browser.get(rows);
    let shown: Vec<(&str, u64)> = each(&rows)
        .iter()
        .map(|it| {
            (text(&it[0]), text(&it[1]).replace(" left", "").replace(',', "").parse().unwrap())
        })
        .collect();
    assert_eq!(shown, steps);
    // It is held still; another view goes on when it is let go.
    browser.click("#pause");

    // Of an assignment: the queues that were chosen, with each factor.
    let assigned = stage.ask("decisions?kind=decision&what=assign&rule=analysis-job&limit=1");
    let event = &assigned["items"][0];
    let decision = &stage.ask(&format!("decisions/{}", text(&event["id"])))["decision"];
    let subject = encoded(text(&event["subject"]));
    stage.show(&format!("#why/{subject}?kind=task&id={}", text(&event["id"])), "article.decision");
    browser.shot("why-assigned");
    let queues: Vec<&str> = each(&decision["queues"]).iter().map(|it| text(&it["queue"])).collect();
    let ranked = "[aria-label='Queues that passed all filters']";
    assert_eq!(browser.texts(&format!("{ranked} tbody td:first-child")), queues);
    let heads = browser.texts(&format!("{ranked} thead th"));
    for factor in each(&decision["queues"][0]["factors"]) {
        assert!(heads.iter().any(|it| it == text(&factor["name"])), "{factor} is not in {heads:?}");
    }

    // Of a queue: where it stands. Its name is text here too.
    stage.show(&format!("#why/{}?kind=queue", encoded(HOSTILE)), ".headline");
    assert_eq!(browser.text(".headline .what b"), HOSTILE);
    assert!(browser.text(".steps").contains("online"), "{}", browser.text(".steps"));
    assert_eq!(browser.count("img"), 0, "a queue's name became markup");
    stage.no_errors();
}

fn time_shows_a_past_moment(stage: &Stage) {
    let browser = &stage.browser;
    browser.wait_for("there is a history of some minutes", || {
        let history = &stage.ask("status")["history"];
        let at = |end: &str| history[end].as_i64().unwrap_or(0);
        at("to") - at("from") > 20 * 60_000
    });
    stage.show("#time", "li.tile");
    // Ten minutes back, by the button.
    let before = browser.get("location.hash");
    browser.click(".when button:nth-of-type(2)");
    browser.wait_for("the address names a moment", || browser.get("location.hash") != before);
    let hash = browser.get("location.hash");
    let at = text(&hash).strip_prefix("#time?at=").expect("a moment").to_owned();
    let past = stage.ask(&format!("queues?at={at}"));
    let total = digits(sum(&past, "running"));
    browser.wait_for(&format!("{total} jobs ran as of {at}"), || {
        browser.text(".total").contains(&format!(": {total} jobs running"))
    });
    browser.shot("time");
    assert!(browser.count("[aria-label=Counters] tbody tr") > 0);
    assert!(browser.text("#moment + *, .past").contains("UTC"), "{}", browser.text(".past"));
    // Reasons as of then.
    let name = text(&past["queues"][0]["queue"]).to_owned();
    browser.click("[aria-label='What is explained as of the moment']");
    browser.press(&name);
    browser.press(ENTER);
    browser.wait("document.querySelector('.headline')");
    assert!(browser.text(".past").starts_with("As of 20"), "{}", browser.text(".past"));
    stage.no_errors();

    // A moment outside is named as such, with the way to look there.
    stage.open("#time?at=2001-02-03T04:05:06Z");
    browser.wait("document.querySelector('main pre')");
    let way = browser.text("main pre");
    assert!(way.contains("yardmaster counters --at 2001-02-03T04:05:06Z"), "{way}");
    let errors = browser.errors();
    assert!(errors.iter().all(|it| it.contains("2001-02-03") && it.contains("404")), "{errors:?}");
}

fn everything_is_reached_by_the_keyboard(stage: &Stage) {
    let browser = &stage.browser;
    stage.show("#queues", "li.tile");
    let focus = || {
        let name = "const it = document.activeElement; return it.id || it.name || \
                    it.querySelector('span:not(.n)')?.textContent || it.className || it.tagName";
        text(&browser.run(name)).to_owned()
    };
    // The first Tab shows the way past the header.
    browser.press(TAB);
    assert_eq!(browser.get("document.activeElement.id"), "skip");
    let top = browser.get("document.activeElement.getBoundingClientRect().top");
    assert!(top.as_f64().unwrap() >= 0.0, "the skip link is not seen: {top}");
    browser.press(ENTER);
    assert_eq!(browser.get("document.activeElement.id"), "main");
    // From there through the controls to the tiles, and on by arrows.
    let is_tile = "document.activeElement.closest('li.tile') !== null";
    for _ in 0..8 {
        if browser.get(is_tile) == true {
            break;
        }
        browser.press(TAB);
    }
    assert_eq!(browser.get(is_tile), true, "no tile was reached: {}", focus());
    assert_eq!(browser.get("document.activeElement.matches(':focus-visible')"), true);
    let first = browser.get("document.activeElement.getAttribute('aria-label')");
    browser.press(DOWN);
    let second = browser.get("document.activeElement.getAttribute('aria-label')");
    assert_ne!(first, second, "an arrow did not lead to another tile");
    assert!(text(&second).contains(" running, "), "{second}");
    let queue = browser.get("document.activeElement.closest('li').dataset.queue");
    browser.press(ENTER);
    browser.wait("document.querySelector('.steps')");
    assert_eq!(browser.text("h1"), text(&queue));
    // The search by its key, from anywhere.
    browser.press("/");
    assert_eq!(browser.get("document.activeElement.id"), "name");
    browser.press("MWT2");
    browser.press(ENTER);
    browser.wait("document.querySelector('h1')?.textContent === 'MWT2'");
    browser.press(ESCAPE);
    assert_eq!(browser.get("document.activeElement.id"), "main");
    // Back to the header, to every view.
    let mut seen = Vec::new();
    for _ in 0..24 {
        browser.press_with(SHIFT, TAB);
        seen.push(focus());
    }
    for wanted in ["theme", "pause", "name", "kind", "Now", "Why", "Decisions", "Time", "skip"] {
        assert!(seen.iter().any(|it| it == wanted), "{wanted} is not reached: {seen:?}");
    }
}

/// A choice between long answers, as a request that was made twice offers it, fits too.
fn a_long_choice_fits(stage: &Stage, fragment: &str) {
    let browser = &stage.browser;
    browser.size(360, 740);
    stage.show(fragment, "article.decision");
    let add = format!(
        "const long = '{}'; document.querySelector('main').insertAdjacentHTML('beforeend',\
         `<p class=controls><label>${{long}}: <select><option>${{long}}</option></select></label>`)",
        "2 requests, ".repeat(20)
    );
    browser.run(&add);
    let root = "document.documentElement";
    let wider = browser.get(&format!("{root}.scrollWidth - {root}.clientWidth"));
    assert!(wider.as_i64().unwrap() <= 0, "a choice is wider: {wider}");
}

fn every_view_fits_a_narrow_window_and_can_be_read(stage: &Stage) {
    let browser = &stage.browser;
    let contrast = include_str!("contrast.js");
    let why = stage.ask("decisions?kind=decision&what=defer&limit=1");
    let why = format!("#why/{}?kind=task", encoded(text(&why["items"][0]["subject"])));
    a_long_choice_fits(stage, &why);
    let views = [
        ("#now", ".group", "now"),
        ("#queues", "li.tile", "queues"),
        ("#queue/MWT2", ".steps", "queue"),
        ("#more", ".steps", "more"),
        ("#waiting", "h1", "waiting"),
        ("#sites", "tbody tr", "sites"),
        ("#site/MWT2", ".steps", "site"),
        ("#throttles", ".empty, tbody tr", "throttles"),
        ("#changes", ".empty, .acts li", "changes"),
        ("#usage", "tbody tr", "usage"),
        ("#whatif", "form.controls, .sets", "whatif"),
        (&why, "article.decision", "why"),
        ("#decisions", "table.events tbody tr", "decisions"),
        ("#time", "li.tile", "time"),
    ];
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        for (fragment, something, name) in views {
            browser.size(360, 740);
            stage.show(fragment, something);
            let widths = browser.get(
                "[document.documentElement, document.body]\
                                      .map(it => it.scrollWidth - it.clientWidth)",
            );
            let fits = |it: &Value| it.as_i64().unwrap() <= 0;
            assert!(each(&widths).iter().all(fits), "{fragment} is wider: {widths}");
            browser.shot(&format!("{name}-narrow-{scheme}"));
            browser.size(1400, 900);
            browser.shot(&format!("{name}-{scheme}"));
            let faint = browser.run(contrast);
            assert!(each(&faint).is_empty(), "{scheme} {fragment}: {faint:#}");
        }
    }
    // The switch wins over the system, and is remembered.
    let ground = "getComputedStyle(document.body).backgroundColor";
    let dark = browser.get(ground);
    browser.click("#theme");
    assert_eq!(browser.text("#theme"), "Theme: light");
    let light = browser.get(ground);
    assert_ne!(light, dark);
    stage.open("#now");
    assert_eq!(browser.get(ground), light);
    browser.prefer("light");
}

fn an_unknown_name_is_answered_with_what_can_be_searched(stage: &Stage) {
    let browser = &stage.browser;
    stage.open("#why/no-such-thing");
    browser
        .wait("document.querySelector('main h1')?.textContent.startsWith('Nothing is known of')");
    let help = browser.text("main");
    for kind in ["task", "job", "user", "group", "queue", "share"] {
        assert!(help.contains(kind), "{help}");
    }
    let errors = browser.errors();
    assert!(errors.iter().all(|it| it.contains("name=no-such-thing")), "{errors:?}");
}
