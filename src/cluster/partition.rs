//! Which items of a plan a worker takes: the longest first, so that all workers end at about the same time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::item::WorkItem;

/// One of `of` parts of a plan, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    part: usize,
    of: usize,
}

impl Partition {
    /// The most parts.
    const MOST: usize = 1_000_000;

    /// Reads `k/n`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<usize>().ok())?
        };
        let (part, of) = text.split_once('/')?;
        let (part, of) = (number(part)?, number(of)?);
        (1..=of).contains(&part).then_some(Self { part, of }).filter(|own| own.of <= Self::MOST)
    }

    /// The items of this part, the longest first.
    pub fn of<'a>(self, items: impl IntoIterator<Item = &'a WorkItem>) -> Vec<&'a WorkItem> {
        // Each item, the longest first, goes to the part that has least.
        let mut parts: BinaryHeap<_> = (1..=self.of).map(|part| Reverse((0_u64, part))).collect();
        let mut own = Vec::new();
        for item in longest_first(items) {
            let Some(mut least) = parts.peek_mut() else { break };
            let Reverse((cost, part)) = &mut *least;
            // What costs nothing by its estimate is work all the same.
            *cost = cost.saturating_add(item.cost_ms.max(1));
            if *part == self.part {
                own.push(item);
            }
        }
        own
    }
}

/// Items in the order in which they are executed: of equal cost by their keys.
pub fn longest_first<'a>(items: impl IntoIterator<Item = &'a WorkItem>) -> Vec<&'a WorkItem> {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_by_key(|item| (Reverse(item.cost_ms), item.key));
    items
}
