//! URI templates (RFC 6570), read backwards: the variables of a URI.

use percent_encoding::percent_decode_str;
use std::collections::HashMap;

/// A template of the levels 1 to 3: expressions with all operators, without the modifiers `*` and `:`.
pub(crate) struct Template {
    parts: Vec<Part>,
    pub variables: Vec<String>,
    /// The template with its literals in normal form, if it is another.
    normal: Option<Box<Template>>,
}

/// A literal, which is all before and has no name, or a variable.
#[derive(Default)]
struct Part {
    before: String,
    name: String,
    /// What a value may have beside letters and digits.
    marks: String,
    may_lack: bool,
}

impl Part {
    fn literal(text: &str) -> Self {
        Self { before: text.to_string(), ..Self::default() }
    }

    fn admits(&self, c: u8) -> bool {
        !self.name.is_empty() && (c.is_ascii_alphanumeric() || self.marks.as_bytes().contains(&c))
    }

    /// Where the value begins, if the part is at a position. The first of a query that is there begins with the question mark.
    fn start(&self, uri: &[u8], at: usize) -> Option<usize> {
        let (before, rest) = (self.before.as_bytes(), &uri[at..]);
        let first = self.may_lack && before.starts_with(b"&") && rest.starts_with(b"?") && rest[1..].starts_with(&before[1..]);
        (first || rest.starts_with(before)).then_some(at + before.len())
    }
}

impl Template {
    /// An error when it is no such template.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut template, normal) = (Self::read(text)?, normal(text));
        if normal != text {
            template.normal = Some(Box::new(Self::read(&normal)?));
        }
        Ok(template)
    }

    fn read(text: &str) -> Result<Self, String> {
        let (mut parts, mut variables, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some(open) = rest.find(['{', '}']) {
            parts.push(Part::literal(&rest[..open]));
            let closed = rest[open..].strip_prefix('{').and_then(|e| e.split_once('}'));
            let (expression, after) = closed.ok_or_else(|| format!("the brace at {:?} is of no expression", &rest[open..]))?;
            rest = after;
            expressed(expression, &mut parts, &mut variables)?;
        }
        parts.push(Part::literal(rest));
        Ok(Self { parts, variables, normal: None })
    }

    /// The variables of a URI in any spelling, decoded (what is not UTF-8 then becomes U+FFFD), without those that it leaves out; `None`: it does not match.
    /// Each value is the longest, from the left, with which the rest matches, as in the other libraries. Takes time in proportion to the URI's
    /// length.
    pub fn matches(&self, uri: &str) -> Option<HashMap<String, String>> {
        let find = |uri: &str| self.find(uri).or_else(|| self.normal.as_ref()?.find(uri));
        find(uri).or_else(|| find(&settled(uri)))
    }

    fn find(&self, uri: &str) -> Option<HashMap<String, String>> {
        let (text, places) = (uri.as_bytes(), 0..=uri.len());
        let escape = |(at, _)| text.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        // By position: whether the parts behind match from there on.
        let mut fits: Vec<bool> = places.clone().map(|at| at == uri.len() && uri.match_indices('%').all(escape)).collect();
        // By part, from the last, and position: how far the longest value from there on goes so that what is behind fits.
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
        found.remove("").map(|_| found) // which the literals have
    }
}

/// A template with its literals in normal form.
fn normal(text: &str) -> String {
    let (mut out, mut rest, mut first) = (String::new(), text, true);
    loop {
        let (literal, expression) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
        let literal = if first { settled(literal) } else { unescaped(literal) };
        for b in literal.bytes() {
            if b.is_ascii_alphanumeric() || b":/?#[]@!$&'()*+,;=%-._~}".contains(&b) {
                out.push(char::from(b));
            } else {
                out.push_str(&format!("%{b:02X}"));
            }
        }
        let end = expression.find('}').map_or(expression.len(), |at| at + 1);
        out.push_str(&expression[..end]);
        rest = &expression[end..];
        first = false;
        if rest.is_empty() {
            return out;
        }
    }
}

/// A URI with its scheme, and for http, https and file its host, in lower case, and without needless escapes (RFC 3986, section 6.2.2).
fn settled(uri: &str) -> String {
    let scheme = uri.split(':').next().unwrap_or_default();
    let valid =
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
    if !valid || scheme.len() == uri.len() {
        return unescaped(uri);
    }
    let lower = scheme.to_ascii_lowercase();
    let rest = &uri[scheme.len()..];
    let host = match (lower.as_str(), rest.strip_prefix("://")) {
        ("http" | "https" | "file", Some(after)) => 3 + after.find(['/', '?', '#', '{']).unwrap_or(after.len()),
        _ => 0,
    };
    unescaped(&(lower + &unescaped(&rest[..host]).to_ascii_lowercase() + &rest[host..]))
}

/// A text without escapes of unreserved characters, and with capitals in all others.
fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let hex = rest.get(at + 1..at + 3).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(b) if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => out.push(char::from(b)),
            Some(b) => out.push_str(&format!("%{b:02X}")),
            None => {
                out.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 3..];
    }
    out + rest
}

fn expressed(expression: &str, parts: &mut Vec<Part>, variables: &mut Vec<String>) -> Result<(), String> {
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
        if !plain || variables.iter().any(|v| v == name) {
            return Err(format!(
                "{{{expression}}} has a variable without a plain name, or one that comes twice; the modifiers * and : are not supported"
            ));
        }
        let before = if i == 0 { first } else { between };
        parts.push(Part {
            before: if named { format!("{before}{name}=") } else { before.to_string() },
            name: name.to_string(),
            // Commas and dots belong to a list's value, but where they end it.
            marks: if names.peek().is_some() { marks.replace(between, "") } else { marks.to_string() },
            may_lack: named || !first.is_empty() || i > 0,
        });
        variables.push(name.to_string());
    }
    Ok(())
}
