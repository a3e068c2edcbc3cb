//! The error codes, and the exceptions that stand for them.

use crate::java::code::Code;
use crate::java::tables::PUBLIC;
use crate::names::{pascal, without_links};
use crate::schema::{ErrorCode, Schema};

/// The code that has an exception outside of `ServerException`: the client meets it by itself, too.
const OWN: &str = "OUTCOME_UNKNOWN";

pub(super) fn codes(schema: &Schema) -> String {
    let mut code = Code::file(PUBLIC, &[]);
    code.doc("The error codes of the protocol");
    code.open("public enum ErrorCode");
    for one in &schema.errors {
        code.doc(&one.doc);
        let values =
            [one.number.to_string(), one.is_retryable.to_string(), quoted(&one.doc), quoted(&one.remedy)];
        code.list(&format!("{}(", one.name), &values, "),");
    }
    code.doc("A code of a newer server");
    code.line(r#"UNKNOWN(0, false, "a code of a newer server", "decide by its marks");"#);
    code.blank();
    code.lines(BODY_OF_CODES);
    code.blank();
    code.doc("The code of this number");
    code.open("public static ErrorCode of(int number)");
    code.open("return switch (number)");
    for one in &schema.errors {
        code.line(&format!("case {} -> {};", one.number, one.name));
    }
    code.line("default -> UNKNOWN;");
    code.close_with("};");
    code.close();
    code.close();
    code.finish()
}

const BODY_OF_CODES: &str = r"
private final int number;
private final boolean isRetryable;
private final String meaning;
private final String remedy;

ErrorCode(int number, boolean isRetryable, String meaning, String remedy) {
    this.number = number;
    this.isRetryable = isRetryable;
    this.meaning = meaning;
    this.remedy = remedy;
}

/** The number on the wire; 0 for {@link #UNKNOWN}. */
public int number() {
    return number;
}

/** Whether the protocol calls it retryable. An ERROR frame says so itself. */
public boolean isRetryable() {
    return isRetryable;
}

/** What it means, without a full stop. */
public String meaning() {
    return meaning;
}

/** What to do, without a full stop. */
public String remedy() {
    return remedy;
}";

/// The exceptions: one for each code.
pub(super) fn exceptions(schema: &Schema) -> String {
    let mut code = Code::file(PUBLIC, &[]);
    code.lines(
        "/** The server refused a request, or one item of it. There is a type for each code; {@link Unknown} for those of a newer server. */",
    );
    code.open("public abstract sealed class ServerException extends RefusalException");
    code.lines(START_OF_EXCEPTIONS);
    code.blank();
    code.open("static AdjournException of(Refusal refusal)");
    code.open("return switch (ErrorCode.of(refusal.number()))");
    for one in schema.errors.iter().filter(|one| one.name != OWN) {
        code.line(&format!("case {} -> new {}(refusal);", one.name, pascal(&one.name)));
    }
    code.line("case OUTCOME_UNKNOWN -> new OutcomeUnknownException(\"the outcome is not known: \" + refusal.message());");
    code.line("case UNKNOWN -> new Unknown(refusal);");
    code.close_with("};");
    code.close();
    for one in schema.errors.iter().filter(|one| one.name != OWN) {
        exception(&mut code, &doc(one), &one.name);
    }
    exception(
        &mut code,
        "A code that this version of the library does not know: decide by its marks",
        "UNKNOWN",
    );
    code.close();
    code.finish()
}

const START_OF_EXCEPTIONS: &str = r"
private static final long serialVersionUID = 1;

private ServerException(String code, Refusal refusal) {
    super(code, refusal);
}";

fn doc(one: &ErrorCode) -> String {
    format!("{}. What to do: {}", without_links(&one.doc), without_links(&one.remedy))
}

fn exception(code: &mut Code, doc: &str, name: &str) {
    let class = pascal(name);
    code.blank();
    code.doc(doc);
    code.open(&format!("public static final class {class} extends ServerException"));
    code.lines(&format!(
        "private static final long serialVersionUID = 1;

private {class}(Refusal refusal) {{
    super(\"{name}\", refusal);
}}"
    ));
    code.close();
}

fn quoted(doc: &str) -> String {
    format!("\"{}\"", without_links(doc).replace(['`', '*'], "").replace('"', "\\\""))
}
