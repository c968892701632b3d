//! Lists in pages.

use prost::Message;
use tonic::Status;

const COUNT: usize = 1000;
/// The maximum size of a page, since receivers accept messages of 4 MiB by default.
const BYTES: usize = 3 << 20;

/// Returns one page of a list, bounded by count and by bytes (but at least one entry), and the token of the next page.
///
/// The token has the position and the key of the last entry, so that entries that are added or removed meanwhile shift nothing.
pub(crate) fn page<T, E: Message + Clone>(
    entries: &[T], listed: impl Fn(&T) -> &E, key: impl Fn(&E) -> &str, token: &str, size: i32,
) -> Result<(Vec<E>, String), Status> {
    let digest = |entry: &T| digest(key(listed(entry)));
    let start = start(entries, digest, token)?;
    let limit = if size > 0 { (size as usize).min(COUNT) } else { COUNT };
    let (mut page, mut used) = (Vec::new(), 0);
    for entry in entries[start..].iter().map(&listed) {
        used += entry.encoded_len() + 8;
        if page.len() == limit || (used > BYTES && !page.is_empty()) {
            break;
        }
        page.push(entry.clone());
    }
    let end = start + page.len();
    let next = if end < entries.len() { format!("{end}-{:016x}", digest(&entries[end - 1])) } else { String::new() };
    Ok((page, next))
}

fn start<T>(entries: &[T], digest: impl Fn(&T) -> u64, token: &str) -> Result<usize, Status> {
    if token.is_empty() {
        return Ok(0);
    }
    let given = token
        .split_once('-')
        .filter(|(_, d)| d.len() == 16)
        .and_then(|(offset, digest)| Some((offset.parse::<usize>().ok().filter(|o| *o > 0)?, u64::from_str_radix(digest, 16).ok()?)));
    let Some((offset, last)) = given else {
        let shown: String = token.chars().take(40).collect();
        return Err(Status::invalid_argument(format!("page token {shown:?} was not given by this list; start from the first page")));
    };
    let is_last = |entry: &T| digest(entry) == last;
    if entries.get(offset - 1).is_some_and(is_last) {
        return Ok(offset);
    }
    let moved = entries.iter().position(is_last).map(|i| i + 1);
    // If the last entry was removed, the entries after it moved up by one.
    Ok(moved.unwrap_or((offset - 1).min(entries.len())))
}

/// FNV-1a.
fn digest(key: &str) -> u64 {
    key.bytes().fold(0xcbf29ce484222325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100000001b3))
}
