//! URI templates (RFC 6570): the variables of a URI.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::collections::HashMap;

/// The ASCII characters that a URI must escape.
const FOREIGN: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');

/// A template of the levels 1 to 3: expressions with all operators, without the modifiers `*` and `:`.
#[derive(Default)]
pub(crate) struct Template {
    parts: Vec<Part>,
    pub variables: Vec<String>,
}

/// A literal, which has a prefix and no name, or a variable.
#[derive(Default)]
struct Part {
    /// The spellings of the prefix, of which a URI has one.
    before: Vec<String>,
    name: String,
    /// The characters of a value beside letters and digits.
    marks: String,
    may_lack: bool,
}

impl Part {
    fn admits(&self, c: u8) -> bool {
        !self.name.is_empty() && (c.is_ascii_alphanumeric() || self.marks.as_bytes().contains(&c))
    }

    /// Returns where the value begins if the part is at a position; `None` if it is not.
    fn start(&self, uri: &[u8], at: usize) -> Option<usize> {
        self.before.iter().find(|before| uri[at..].starts_with(before.as_bytes())).map(|before| at + before.len())
    }
}

impl Template {
    /// Parses a template; an error if it is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        // A brace stands for each expression, as literals have none: scheme and host are only known in the whole.
        let (mut literals, mut expressions, mut rest) = (String::new(), Vec::new(), text);
        while let Some(open) = rest.find(['{', '}']) {
            let closed = rest[open..].strip_prefix('{').and_then(|e| e.split_once('}'));
            let (expression, after) = closed.ok_or_else(|| format!("the brace at {:?} is of no expression", &rest[open..]))?;
            literals.push_str(&rest[..=open]);
            expressions.push(expression);
            rest = after;
        }
        let mut template = Self::default();
        for (i, literal) in settled(&(literals + rest)).split('{').enumerate() {
            let before = vec![literal.to_string(), utf8_percent_encode(literal, FOREIGN).to_string()];
            template.parts.push(Part { before, ..Part::default() });
            if let Some(expression) = expressions.get(i) {
                template.express(expression)?;
            }
        }
        Ok(template)
    }

    /// Returns the variables of a URI in any spelling, decoded (invalid UTF-8 becomes U+FFFD), without missing ones; `None` if it does not match.
    /// Each value is the longest, from the left, with which the rest matches, as in the other libraries. If the URI matches as it is spelled, the
    /// values are of that spelling. The time is linear in the length of the URI.
    pub fn matches(&self, uri: &str) -> Option<HashMap<String, String>> {
        uri.split('%').skip(1).all(|behind| escape(behind).is_some()).then_some(())?;
        self.find(uri).or_else(|| self.find(&settled(uri)))
    }

    fn find(&self, uri: &str) -> Option<HashMap<String, String>> {
        let (text, places) = (uri.as_bytes(), 0..=uri.len());
        self.parts[0].start(text, 0)?; // most URIs differ here
        // By position: whether the later parts match from there.
        let mut fits: Vec<bool> = places.clone().map(|at| at == uri.len()).collect();
        // By part, from the last, and position: the end of the longest value from there with which the later parts match.
        let mut ends = Vec::new();
        for part in self.parts.iter().rev() {
            let mut longest: Vec<Option<usize>> = vec![None; uri.len() + 1];
            for at in places.clone().rev() {
                let more = if text.get(at).is_some_and(|c| part.admits(*c)) { longest[at + 1] } else { None };
                let whole = !text[at.saturating_sub(2)..at].contains(&b'%'); // no value ends within an escape
                longest[at] = more.or((fits[at] && whole).then_some(at));
            }
            let there = |at| part.start(text, at).is_some_and(|start| longest[start].is_some());
            fits = places.clone().map(|at| there(at) || (part.may_lack && fits[at])).collect();
            ends.push(longest);
        }
        let (mut found, mut at) = (HashMap::new(), 0);
        for (part, longest) in self.parts.iter().zip(ends.iter().rev()).filter(|_| fits[0]) {
            if let Some((start, end)) = part.start(text, at).and_then(|start| Some((start, longest[start]?))) {
                found.insert(part.name.clone(), percent_decode_str(&uri[start..end]).decode_utf8_lossy().into_owned());
                at = end;
            }
        }
        found.remove("").map(|_| found) // the name of literals
    }

    /// Adds the variables of an expression.
    fn express(&mut self, expression: &str) -> Result<(), String> {
        let (operator, names) = expression.split_at(usize::from(expression.starts_with(|c| "+#./;?&".contains(c))));
        let named = [";", "?", "&"].contains(&operator);
        let first = operator.trim_start_matches('+');
        let between = match first {
            "" | "#" => ",",
            "?" => "&",
            _ => first,
        };
        let marks = if ["+", "#"].contains(&operator) { "-._~%,:/?#[]@!$&'()*+;=" } else { "-._~%," };
        let mut names = names.split(',').enumerate().peekable();
        while let Some((i, name)) = names.next() {
            let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            if !plain || self.variables.iter().any(|v| v == name) {
                return Err(format!(
                    "{{{expression}}} has a variable without a plain name, or one that comes twice; the modifiers * and : are not supported"
                ));
            }
            let before = if i == 0 { first } else { between };
            let before = if named { format!("{before}{name}=") } else { before.to_string() };
            self.parts.push(Part {
                // The first present variable of a query begins with the question mark.
                before: vec![before.replace('&', "?"), before],
                name: name.to_string(),
                // A value of a list may contain commas and dots, unless they end it.
                marks: if names.peek().is_some() { marks.replace(between, "") } else { marks.to_string() },
                may_lack: named || !first.is_empty() || i > 0,
            });
            self.variables.push(name.to_string());
        }
        Ok(())
    }
}

/// Returns the scheme of a URI; empty if it has none and is not absolute.
pub(crate) fn scheme(uri: &str) -> &str {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    if scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(plain) { scheme } else { "" }
}

/// Returns a URI in its normal form (RFC 3986, section 6.2.2): its scheme, and for http, https and file its host, in lower case, unreserved
/// characters without escapes, and escapes in capitals.
fn settled(uri: &str) -> String {
    let scheme = scheme(uri).to_ascii_lowercase();
    let rest = &uri[scheme.len()..];
    let (mut host, mut end) = (0, 0);
    if ["http", "https", "file"].contains(&scheme.as_str()) && rest.starts_with("://") {
        end = rest[3..].find(['/', '?', '#']).map_or(rest.len(), |at| 3 + at);
        host = rest[..end].rfind('@').map_or(3, |at| at + 1);
    }
    unescaped(&(scheme + &rest[..host] + &unescaped(&rest[host..end]).to_ascii_lowercase() + &rest[end..]))
}

fn unescaped(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut out = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        match escape(piece) {
            Some(c) if c.is_ascii_alphanumeric() || b"-._~".contains(&c) => out.push(char::from(c)),
            Some(c) => out += &format!("%{c:02X}"),
            None => out.push('%'),
        }
        out += &piece[escape(piece).map_or(0, |_| 2)..];
    }
    out
}

/// Returns the byte of the escape after a percent sign; `None` if it is no escape.
fn escape(behind: &str) -> Option<u8> {
    let hex = behind.get(..2).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(hex, 16).ok()
}
