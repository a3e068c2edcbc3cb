//! `refusals.py`: an exception for each error code.

use super::naming::class_of_error;
use super::page::Page;
use crate::names::sentence;
use crate::schema::Schema;

const HEAD: &str = "from __future__ import annotations

from ..protocol.numbers import ErrorCode
from .base import OutcomeUnknownError, ServerError
";

pub(super) fn file(schema: &Schema) -> String {
    let mut page = Page::new("What the server refuses: an exception for each error code.");
    for code in &schema.errors {
        let class = class_of_error(&code.name);
        let bases =
            if code.name == "OUTCOME_UNKNOWN" { "ServerError, OutcomeUnknownError" } else { "ServerError" };
        page.gap();
        page.line(0, &format!("class {class}({bases}):"));
        page.doc(1, &format!("{} What to do: {}", sentence(&code.doc), code.remedy));
    }
    page.gap();
    page.line(0, "BY_CODE: dict[int, type[ServerError]] = {");
    for code in &schema.errors {
        page.line(1, &format!("ErrorCode.{}: {},", code.name, class_of_error(&code.name)));
    }
    page.line(0, "}");
    page.line(0, "__all__ = [");
    for code in &schema.errors {
        page.line(1, &format!("\"{}\",", class_of_error(&code.name)));
    }
    page.line(0, "]");
    page.with_head(HEAD)
}
