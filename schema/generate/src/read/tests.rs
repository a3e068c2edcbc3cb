//! What the schema must not say of unknown numbers.

use super::*;

fn read(name: &str, unknown: &str) -> Result<Option<Unknown>, String> {
    let text = format!(
        "name = \"{name}\"\ndoc = \"\"\nopen = \"\"\nvalues = [{{ number = 1, name = \"one\", doc = \"\" }}]\n{unknown}"
    );
    let table = toml::from_str(&text).map_err(|error| error.to_string())?;
    let schema = Schema::load().map_err(|error| error.to_string())?;
    let choice = Choice::read(table, &schema.errors).map_err(|error| error.to_string())?;
    Ok(choice.unknown)
}

#[test]
fn an_unknown_outcome_never_stays_as_it_is() {
    let code = UnknownCode { number: 40, name: "OUTCOME_UNKNOWN".to_owned() };
    let refused = Unknown { number: 1, code: Some(code) };
    assert_eq!(read("outcome", "unknown = { number = 1, code = \"OUTCOME_UNKNOWN\" }"), Ok(Some(refused)));
    assert_eq!(read("applied", "unknown = { number = 1 }"), Ok(Some(Unknown { number: 1, code: None })));
    assert_eq!(read("state", ""), Ok(None));
    for (name, unknown, why) in [
        ("outcome", "", "it must say"),
        ("applied", "", "it must say"),
        ("outcome", "unknown = { number = 9 }", "no choice"),
        ("outcome", "unknown = { number = 1, code = \"NO_SUCH_ERROR\" }", "no error is called NO_SUCH_ERROR"),
        ("applied", "unknown = 1", "expected struct"),
    ] {
        let said = read(name, unknown).expect_err("it is refused");
        assert!(said.contains(why), "{unknown}: {said}");
    }
}
