//! URI templates (RFC 6570), read backwards: the variables of a URI.

use percent_encoding::percent_decode_str;
use std::collections::HashMap;

/// A template of the levels 1 to 3: expressions with all operators, without the modifiers `*` and `:`.
pub(crate) struct Template {
    parts: Vec<Part>,
    pub variables: Vec<String>,
}

enum Part {
    Literal(String),
    Variable { name: String, before: String, may_lack: bool, reserved: bool, dots: bool },
}

impl Template {
    /// An error when it is no such template.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut parts, mut variables, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some(open) = rest.find(['{', '}']) {
            if open > 0 {
                parts.push(Part::Literal(rest[..open].to_string()));
            }
            let closed = rest[open..].strip_prefix('{').and_then(|e| e.split_once('}'));
            let (expression, after) = closed.ok_or_else(|| format!("the brace at {:?} is of no expression", &rest[open..]))?;
            rest = after;
            expressed(expression, &mut parts, &mut variables)?;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_string()));
        }
        Ok(Self { parts, variables })
    }

    /// The variables of a URI, decoded (what is not UTF-8 then becomes U+FFFD), without those that it leaves out; `None`: it does not match.
    pub fn matches(&self, uri: &str) -> Option<HashMap<String, String>> {
        let mut found = Vec::new();
        let decoded = |value| percent_decode_str(value).decode_utf8_lossy().into_owned();
        step(&self.parts, uri, &mut found).then(|| found.into_iter().map(|(n, v)| (n.to_string(), decoded(v))).collect())
    }
}

fn expressed(expression: &str, parts: &mut Vec<Part>, variables: &mut Vec<String>) -> Result<(), String> {
    let operator = expression.chars().next().filter(|c| "+#./;?&".contains(*c));
    let names = &expression[operator.map_or(0, char::len_utf8)..];
    // What comes first, what between two, and whether values are named.
    let (first, between, named) = match operator {
        None | Some('+') => ("", ",", false),
        Some('#') => ("#", ",", false),
        Some('.') => (".", ".", false),
        Some('/') => ("/", "/", false),
        Some(';') => (";", ";", true),
        Some('?') => ("?", "&", true),
        _ => ("&", "&", true),
    };
    for (i, name) in names.split(',').enumerate() {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if !plain || variables.iter().any(|v| v == name) {
            return Err(format!(
                "{{{expression}}} has a variable without a plain name, or one that comes twice; the modifiers * and : are not supported"
            ));
        }
        let before = if i == 0 { first } else { between };
        parts.push(Part::Variable {
            name: name.to_string(),
            before: if named { format!("{before}{name}=") } else { before.to_string() },
            may_lack: named,
            reserved: matches!(operator, Some('+' | '#')),
            dots: operator != Some('.'),
        });
        variables.push(name.to_string());
    }
    Ok(())
}

/// Whether the parts match all of the text; the longest values are tried first.
fn step<'a>(parts: &'a [Part], text: &'a str, found: &mut Vec<(&'a str, &'a str)>) -> bool {
    let Some((part, parts)) = parts.split_first() else { return text.is_empty() };
    match part {
        Part::Literal(l) => text.strip_prefix(l.as_str()).is_some_and(|rest| step(parts, rest, found)),
        Part::Variable { name, before, may_lack, reserved, dots } => {
            let value = text.strip_prefix(before.as_str()).or_else(|| {
                // The first that is there of a query begins with a question mark.
                let name = before.strip_prefix('&')?;
                text.strip_prefix('?')?.strip_prefix(name)
            });
            if let Some(value) = value {
                let end = value.find(|c| !admits(c, *reserved, *dots)).unwrap_or(value.len());
                for end in (0..=end).rev().filter(|e| value.is_char_boundary(*e)) {
                    found.push((name, &value[..end]));
                    if step(parts, &value[end..], found) {
                        return true;
                    }
                    found.pop();
                }
            }
            *may_lack && step(parts, text, found)
        }
    }
}

fn admits(c: char, reserved: bool, dots: bool) -> bool {
    let unreserved = c.is_ascii_alphanumeric() || "-_~%".contains(c) || !c.is_ascii() || (c == '.' && dots);
    unreserved || (reserved && ":/?#[]@!$&'()*+,;=".contains(c))
}
