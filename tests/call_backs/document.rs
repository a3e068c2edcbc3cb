//! The page about call-backs, typed word for word: what it shows is what is answered and called.

use adjourn_types::{RetryDefaults, Setting};

use super::{MAY_CALL_HERE, OK, Receiver, attempted, may_call_here};
use crate::http::{Site, type_all};
use crate::tour::{block, shape};

const PAGE: &str = include_str!("../../docs/call-backs.md");

#[test]
fn the_page_shows_what_is_answered_and_called() {
    assert!(PAGE.contains(&MAY_CALL_HERE.join(" ")), "the server of the page may call this machine, as here");
    let receiver = Receiver::always(OK);
    let site = Site::with(|config| {
        may_call_here(config);
        config.retry_defaults = RetryDefaults::default();
    });
    let places = [("127.0.0.1:7480", site.node.http_address()), ("127.0.0.1:8009", receiver.address)];
    let (before, after) = PAGE.split_once("When the job is due").expect("it becomes due");
    let hurried = before.replace("\"delay\": \"15m\"", "\"delay\": \"0s\"");
    assert_ne!(hurried, before, "the job of the page is due later");
    type_all(&hurried, &site, &places);
    let call = receiver.call();
    let mut request = block(after, "text").lines();
    assert_eq!(Some(call.line.as_str()), request.next());
    for (name, value) in request.by_ref().map_while(|line| line.split_once(": ")) {
        let plain = |value: &str| shape(&value.replace(['_'], " "));
        assert_eq!(plain(call.header(name)), plain(value), "{name}");
    }
    assert_eq!(Some(call.body.as_slice()), request.next().map(str::as_bytes));
    attempted(&mut site.web(), call.job(), 1);
    type_all(after, &site, &places);
}

#[test]
fn the_page_has_every_setting() {
    for setting in Setting::ALL.into_iter().filter(|setting| setting.name().starts_with("call_back")) {
        assert!(PAGE.contains(&format!("\n| `{setting}` | ")), "{setting}");
    }
}
