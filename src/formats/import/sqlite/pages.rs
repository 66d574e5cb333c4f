//! The pages of a database, and the walk over a table's tree.

use super::NoDatabase;
use super::record::varint;

/// The first bytes of the file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The length of the file header; the first page starts after it.
const FILE_HEADER: usize = 100;
/// Page types in a table's tree.
const INTERIOR: u8 = 5;
const LEAF: u8 = 13;
/// The maximum depth of a tree, which no table exceeds.
const DEEPEST: usize = 32;
/// The maximum length of a row.
const PAYLOAD_CAP: usize = 64 << 20;

/// The callback for the key and the payload of a row.
pub type SeePayload<'a> = dyn FnMut(i64, &[u8]) -> Result<(), NoDatabase> + 'a;

/// The pages.
pub struct Pages {
    bytes: Vec<u8>,
    size: usize,
    /// The number of used bytes in a page.
    usable: usize,
}

impl Pages {
    /// Parses `bytes` as the pages of a file.
    pub fn of(bytes: Vec<u8>) -> Result<Self, NoDatabase> {
        let header = bytes.get(..FILE_HEADER).filter(|header| header.starts_with(MAGIC));
        let header = header.ok_or("no SQLite header")?;
        let size = match u16_at(header, 16) {
            Some(1) => 1 << 16,
            Some(size) if size >= 512 && size.is_power_of_two() => usize::from(size),
            _ => return Err("an invalid page size".to_owned()),
        };
        let reserved = usize::from(header.get(20).copied().unwrap_or_default());
        let usable = size - reserved;
        if usable < 480 {
            return Err("pages without usable bytes".to_owned());
        }
        match header.get(56..60) {
            Some([0, 0, 0, 0 | 1]) => {}
            _ => return Err("an encoding other than UTF-8".to_owned()),
        }
        let pages = u32_at(header, 28).unwrap_or_default() as usize;
        if bytes.len() < size || bytes.len() / size < pages {
            return Err(format!("{} bytes for {pages} pages", bytes.len()));
        }
        Ok(Self { bytes, size, usable })
    }

    /// A page by its number, from 1.
    fn page(&self, number: u32) -> Option<&[u8]> {
        let start = (number as usize).checked_sub(1)?.checked_mul(self.size)?;
        self.bytes.get(start..start + self.size)
    }

    /// Calls `see` with the payload of each row in the table whose tree starts at `root`.
    pub fn each_cell(&self, root: u32, see: &mut SeePayload<'_>) -> Result<(), NoDatabase> {
        // A valid tree contains each page once.
        let mut left = self.bytes.len() / self.size;
        self.walk(root, DEEPEST, &mut left, see)
    }

    fn walk(
        &self,
        number: u32,
        depth: usize,
        left: &mut usize,
        see: &mut SeePayload<'_>,
    ) -> Result<(), NoDatabase> {
        let broken = || format!("page {number}, which is not part of a table");
        if depth == 0 || *left == 0 {
            return Err(broken());
        }
        *left -= 1;
        let page = self.page(number).ok_or_else(broken)?;
        let start = if number == 1 { FILE_HEADER } else { 0 };
        let kind = page.get(start).copied();
        let count = u16_at(page, start + 3).ok_or_else(broken)?;
        let pointers = start + if kind == Some(INTERIOR) { 12 } else { 8 };
        for at in 0..usize::from(count) {
            let cell = u16_at(page, pointers + 2 * at).map(usize::from).ok_or_else(broken)?;
            match kind {
                Some(INTERIOR) => {
                    let child = u32_at(page, cell).ok_or_else(broken)?;
                    self.walk(child, depth - 1, left, see)?;
                }
                Some(LEAF) => self.leaf(page, cell, see).ok_or_else(broken)??,
                _ => return Err(broken()),
            }
        }
        match kind {
            Some(INTERIOR) => {
                let last = u32_at(page, start + 8).ok_or_else(broken)?;
                self.walk(last, depth - 1, left, see)
            }
            Some(LEAF) => Ok(()),
            _ => Err(broken()),
        }
    }

    /// One row of a leaf; none if the page is damaged.
    fn leaf(
        &self,
        page: &[u8],
        at: usize,
        see: &mut SeePayload<'_>,
    ) -> Option<Result<(), NoDatabase>> {
        let mut rest = page.get(at..self.usable)?;
        let length =
            usize::try_from(varint(&mut rest)?).ok().filter(|length| *length <= PAYLOAD_CAP)?;
        let key = varint(&mut rest)?.cast_signed();
        let largest = self.usable - 35;
        if length <= largest {
            return Some(see(key, rest.get(..length)?));
        }
        // A long row starts on this page and continues on overflow pages.
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (self.usable - 4);
        let here = if fitting <= largest { fitting } else { least };
        let mut payload = rest.get(..here)?.to_vec();
        let mut next = u32_at(rest, here)?;
        while payload.len() < length {
            let page = self.page(next)?;
            next = u32_at(page, 0)?;
            let part = (length - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(page.get(4..4 + part)?);
        }
        Some(see(key, &payload))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..)?.first_chunk().copied()?))
}
