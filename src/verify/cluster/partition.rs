//! Which items of a plan a worker takes: the longest first, so that all workers end at about the same time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasher, RandomState};

use crate::cluster::item::WorkItem;

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

/// So many items, drawn by the system's random numbers: whoever made the results cannot know which.
pub fn sample(items: &[WorkItem], count: usize) -> Vec<&WorkItem> {
    let (mut drawn, order) = (items.iter().collect::<Vec<_>>(), RandomState::new());
    drawn.sort_by_cached_key(|item| order.hash_one(item.key));
    drawn.truncate(count);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::item::tests::item;
    use proptest::prelude::*;

    #[test]
    fn parts_are_read() {
        assert_eq!(Partition::parse("3/8"), Some(Partition { part: 3, of: 8 }));
        for text in
            ["", "3", "0/8", "9/8", "1/0", "+1/2", "1/2/3", "1/ 2", "1/99999999999999999999"]
        {
            assert_eq!(Partition::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_item_is_in_one_part_and_the_parts_are_alike(
            costs in proptest::collection::vec(0_u64..10_000, 0..60),
            of in 1_usize..9,
            turned in any::<bool>(),
        ) {
            let mut items: Vec<_> = costs.iter().zip(0_u64..).map(|(cost, at)| item(at, *cost)).collect();
            let longest = costs.iter().copied().max().unwrap_or_default().max(1);
            let part = |items: &[WorkItem], part| -> Vec<_> {
                Partition { part, of }.of(items).into_iter().cloned().collect()
            };
            let parts: Vec<_> = (1..=of).map(|one| part(&items, one)).collect();
            let cost = |part: &Vec<WorkItem>| part.iter().map(|item| item.cost_ms.max(1)).sum::<u64>();
            let (least, most) = (parts.iter().map(cost).min().unwrap(), parts.iter().map(cost).max().unwrap());
            prop_assert!(most - least <= longest);
            for part in &parts {
                prop_assert!(part.windows(2).all(|pair| pair[0].cost_ms >= pair[1].cost_ms));
            }
            // The order of the lines does not matter.
            if turned {
                items.reverse();
            }
            prop_assert_eq!(&parts, &(1..=of).map(|one| part(&items, one)).collect::<Vec<_>>());
            let mut all = parts.concat();
            all.sort_by_key(|item| item.key);
            items.sort_by_key(|item| item.key);
            prop_assert_eq!(all, items);
        }
    }
}
