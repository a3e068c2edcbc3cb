//! The console's guards: who may see a page, and whose forms are taken. A browser sees the pages themselves: `tests/console`.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use adjourn_server::config::Config;
use serde_json::json;

use super::rig::{Reply, Site, Web};
use super::tokens::site_with_tokens_and;
use crate::server_rig::adjourn;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A person's browser: a connection, and its cookie.
struct Person {
    web: Web,
    cookie: String,
}

impl Person {
    fn of(site: &Site) -> Self {
        Self { web: site.web(), cookie: String::new() }
    }

    fn get(&mut self, path: &str) -> Reply {
        self.see(path, "")
    }

    fn see(&mut self, path: &str, headers: &str) -> Reply {
        let headers = format!("{}{headers}", self.cookie());
        self.web.ask_with("GET", path, &headers, b"")
    }

    fn post(&mut self, path: &str, headers: &str, form: &str) -> Reply {
        let headers = format!("{}{headers}", self.cookie());
        self.web.ask_with("POST", path, &headers, form.as_bytes())
    }

    fn cookie(&self) -> String {
        if self.cookie.is_empty() { String::new() } else { format!("Cookie: a=b; {}\r\n", self.cookie) }
    }

    /// Logs in, and keeps the cookie.
    fn log_in(&mut self, token: &str, next: &str) -> Reply {
        let reply = self.post("/console/login", FORM, &format!("token={token}&next={next}"));
        if let Some(cookie) = reply.header("set-cookie") {
            cookie.split(';').next().expect("a cookie").clone_into(&mut self.cookie);
        }
        reply
    }

    /// What the forms of a page carry.
    fn form_token(&mut self, path: &str) -> String {
        let page = text(&self.get(path));
        let (_, rest) = page.split_once("name=\"form_token\" value=\"").expect("a form");
        rest.split('"').next().expect("a token").to_owned()
    }
}

#[track_caller]
fn text(reply: &Reply) -> String {
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"), "{reply}");
    let policy = reply.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    String::from_utf8(reply.body.clone()).expect("text")
}

fn with_console(config: &mut Config) {
    config.console.is_at_http = true;
}

fn site() -> Site {
    let site = Site::with(with_console);
    site.web().post("/v1/topics/orders/jobs", &json!({"body": "17", "delay": "1h"}));
    site
}

#[test]
fn nobody_sees_a_page_without_a_session() {
    let (site, [token]) = site_with_tokens_and([&["--allow", "read,manage,push"]], with_console);
    let mut person = Person::of(&site);
    let led = person.get("/console/topics?find=a%26b");
    let login = "/console/login?next=%2Fconsole%2Ftopics%3Ffind%3Da%2526b";
    assert_eq!((led.status, led.header("location")), (303, Some(login)));
    let part = person.see("/console/topics", "HX-Request: true\r\n");
    assert_eq!((part.status, part.header("hx-redirect").is_some()), (204, true), "{part}");
    assert!(text(&person.get(login)).contains("type=\"password\""));
    assert_eq!(person.get("/console/assets/style.css").status, 200);
    let refused = person.log_in("adjourn_guess", "/console");
    assert_eq!(refused.status, 401);
    assert!(text(&refused).contains("there is no such token") && person.cookie.is_empty());
    let inside = person.log_in(&token, "/console/topics?find=a%26b");
    assert_eq!((inside.status, inside.header("location")), (303, Some("/console/topics?find=a&b")));
    let cookie = inside.header("set-cookie").expect("a cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/console", "Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "it has no TLS: {cookie}");
    assert!(text(&person.get("/console/topics")).contains("token1"));
    let stolen = person.cookie.clone();
    let form_token = person.form_token("/console");
    assert_eq!(person.post("/console/logout", FORM, &format!("form_token={form_token}")).status, 303);
    let mut thief = Person { web: site.web(), cookie: stolen };
    assert_eq!(thief.get("/console").status, 303, "the session has ended");
    for elsewhere in ["//evil.example", "https://evil.example", "/v1/jobs", ""] {
        assert_eq!(person.log_in(&token, elsewhere).header("location"), Some("/console"), "{elsewhere}");
    }
}

#[test]
fn a_session_ends_with_its_token() {
    let (site, [token, other]) =
        site_with_tokens_and([&["--allow", "read"], &["--allow", "read"]], with_console);
    let (mut person, mut stays) = (Person::of(&site), Person::of(&site));
    assert_eq!(person.log_in(&token, "/console").status, 303);
    assert_eq!(stays.log_in(&other, "/console").status, 303);
    assert_eq!((person.get("/console").status, stays.get("/console").status), (200, 200));
    let file = site.folder().join("tokens.toml");
    let revoked = adjourn(&["token", "revoke", "token1", "--file", file.to_str().expect("a path")]).status();
    assert!(revoked.expect("it ran").success());
    while person.get("/console").status == 200 {}
    assert_eq!(person.get("/console").header("location"), Some("/console/login?next=%2Fconsole"));
    assert_eq!(stays.get("/console").status, 200);
}

#[test]
fn who_guesses_tokens_has_to_wait() {
    let (site, [token]) = site_with_tokens_and([&["--allow", "read"]], with_console);
    let statuses: Vec<u16> =
        (0..12).map(|_| Person::of(&site).log_in("adjourn_guess", "/console").status).collect();
    assert!(statuses.iter().take(10).all(|status| *status == 401), "{statuses:?}");
    assert!(statuses.iter().skip(10).any(|status| *status == 429), "{statuses:?}");
    let let_in = Person::of(&site).log_in(&token, "/console");
    assert_eq!(let_in.status, 303, "{let_in}");
}

#[test]
fn forms_are_taken_from_pages_of_the_session_alone() {
    let site = site();
    let mut person = Person::of(&site);
    let form_token = person.form_token("/console/topics/orders");
    let right = format!("form_token={form_token}");
    let pause = "/console/topics/orders/pause";
    for (headers, form, status) in [
        (FORM, "", 403),
        (FORM, "form_token=guessed", 403),
        ("Content-Type: text/plain\r\n", right.as_str(), 415),
        (&format!("{FORM}Origin: http://evil.example\r\n"), &right, 403),
        (&format!("{FORM}Sec-Fetch-Site: cross-site\r\n"), &right, 403),
        (
            &format!(
                "{FORM}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
            ),
            &right,
            403,
        ),
    ] {
        let refused = person.post(pause, headers, form);
        assert_eq!(refused.status, status, "{headers:?} {form:?}: {refused}");
    }
    assert_eq!(site.web().get("/v1/topics/orders").json()["paused"], json!(false));
    let done = person.post(
        pause,
        &format!("{FORM}Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"),
        &right,
    );
    assert_eq!(
        (done.status, done.header("location")),
        (303, Some("/console/topics/orders?said=paused")),
        "{done}"
    );
    assert_eq!(site.web().get("/v1/topics/orders").json()["paused"], json!(true));
    assert!(text(&person.get("/console/topics/orders?said=paused")).contains("class=\"said\""));
    assert!(!text(&person.get("/console/topics/orders?said=%3Cb%3E")).contains("class=\"said\""));
}

#[test]
fn links_of_other_sites_lead_to_pages_and_to_nothing_else() {
    let site = site();
    let mut person = Person::of(&site);
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(person.see("/console/topics", link).status, 200);
    assert_eq!(person.see("/v1/topics", link).status, 403);
    let framed = link.replace("document", "iframe");
    assert_eq!(person.see("/console/topics", &framed).status, 403);
    assert_eq!(person.see("/console/topics", "Sec-Fetch-Site: cross-site\r\n").status, 403);
}

#[test]
fn a_page_has_what_the_token_allows() {
    let grants = [&["--allow", "read:orders.*"][..], &["--allow", "read,manage,push,admin"]];
    let (site, [reader, operator]) = site_with_tokens_and(grants, with_console);
    let mut api = site.web().with_token(&operator);
    for topic in ["orders.eu", "mails"] {
        api.post(&format!("/v1/topics/{topic}/jobs"), &json!({"body": "secret-of-mails", "delay": "1h"}));
    }
    let (mut few, mut all) = (Person::of(&site), Person::of(&site));
    few.log_in(&reader, "/console");
    all.log_in(&operator, "/console");
    let topics = text(&few.get("/console/topics"));
    assert!(topics.contains("orders.eu") && !topics.contains("mails"), "{topics}");
    assert!(text(&all.get("/console/topics")).contains("mails"));
    let page = text(&few.get("/console/topics/orders.eu"));
    assert!(!page.contains("/pause\"") && text(&all.get("/console/topics/orders.eu")).contains("/pause\""));
    assert_eq!(few.get("/console/topics/mails").status, 403);
    assert_eq!(few.get("/console/jobs/2").status, 404, "as if there were no such job");
    for operators in ["consumers", "cluster", "alerts", "audit"] {
        assert_eq!(few.get(&format!("/console/{operators}")).status, 403, "{operators}");
        assert_eq!(all.get(&format!("/console/{operators}")).status, 200, "{operators}");
    }
    let form = format!("form_token={}", few.form_token("/console"));
    for path in ["topics/orders.eu/pause", "jobs/1/delete", "topics/orders.eu/push", "cluster"] {
        let refused = few.post(&format!("/console/{path}"), FORM, &form);
        assert_eq!(refused.status, 403, "{path}: {refused}");
        assert!(text(&refused).contains("role=\"alert\""));
    }
    let theirs = all.form_token("/console");
    assert_eq!(few.post("/console/logout", FORM, &format!("form_token={theirs}")).status, 403);
}

#[test]
fn a_console_that_only_shows_changes_nothing() {
    let site = Site::with(|config| {
        with_console(config);
        config.console.is_read_only = true;
    });
    site.web().post("/v1/topics/orders/jobs", &json!({"delay": "1h"}));
    let mut person = Person::of(&site);
    let page = text(&person.get("/console/topics/orders"));
    assert!(!page.contains("form_token"), "{page}");
    let refused = person.post("/console/topics/orders/pause", FORM, "form_token=x");
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(site.web().get("/v1/topics/orders").json()["paused"], json!(false));
}

#[test]
fn there_is_no_console_unless_it_is_turned_on() {
    let site = Site::new();
    assert_eq!(site.web().get("/console").refusal().0, 404);
    assert_eq!(Person::of(&self::site()).get("/console/nothing").status, 404);
}
