//! The page of a process that leads two domains.

use super::browser::{Browser, is_installed};
use crate::domains::Place;
use crate::kill::process::wait_until;
use std::time::Duration;

#[test]
fn of_several_domains_one_is_chosen_by_the_list_and_named_in_the_address() {
    if !is_installed() {
        return;
    }
    let place = Place::new();
    let process = place.start();
    let leads = || ["one", "two"].iter().all(|domain| process.leads_in(domain));
    wait_until(Duration::from_secs(60), || process.logged(), leads);
    let address = process.address_for("one").unwrap();
    let browser = Browser::start();
    browser.load(&format!("http://{address}/"));
    let shows = |domain: &str| {
        browser.wait(&format!(
            "!document.querySelector('#domains').hidden && \
             document.querySelector('#domains').value === '{domain}' && \
             document.querySelector('#domain').textContent === '{domain}'"
        ));
        browser.wait("document.querySelector('#standing').textContent.startsWith('leads')");
    };
    shows("one");
    let names = "[...document.querySelectorAll('#domains option')].map(it => it.value).join()";
    assert_eq!(browser.get(names), "one,two");
    browser.run(
        "const list = document.querySelector('#domains'); list.value = 'two'; \
         list.dispatchEvent(new Event('change'))",
    );
    browser.wait("location.search === '?domain=two'");
    shows("two");
    // The views ask about the same domain, and an address of one can be sent.
    browser.load(&format!("http://{address}/?domain=two#decisions"));
    shows("two");
    assert_eq!(browser.errors(), Vec::<String>::new());
}
