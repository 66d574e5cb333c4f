//! A device, and the tables in its memory.

use std::sync::Arc;

use super::queue::Queue;
use super::runtime::{DeviceError, KernelArgument};
use super::table::{DeviceTable, Element};
use super::text::{ITEMS, ProductShape, ROWS};
use crate::portable::product::BLOCK;

/// A device with the kernels compiled; copies of it are the same one. Work on it is done in the order of the calls.
#[derive(Debug, Clone)]
pub struct Device {
    queue: Arc<Queue>,
    /// Consecutive k of products that are one chain.
    block: usize,
}

impl Device {
    pub(super) fn new(queue: Queue) -> Self {
        Self { queue: Arc::new(queue), block: BLOCK }
    }

    /// The same device, on which sums of products are single chains: another arithmetic, for comparison
    /// ([`crate::portable::Isa::chained`]).
    pub fn chained(&self) -> Self {
        Self { block: usize::MAX, ..self.clone() }
    }

    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// Its id for `--device`.
    pub fn id(&self) -> &str {
        &self.queue.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.queue.name
    }

    /// How products are cut here.
    pub(super) fn products(&self) -> ProductShape {
        self.queue.products
    }

    /// The first error, if there was one. All work after it was dropped, and numbers that were read are invalid.
    pub fn fault(&self) -> Option<DeviceError> {
        self.queue.fault()
    }

    /// A table of so many elements, which are left over.
    pub fn table<E: Element>(&self, length: usize) -> DeviceTable<E> {
        DeviceTable::new(&self.queue, length)
    }

    /// A table of these elements.
    pub fn upload<E: Element>(&self, elements: &[E]) -> DeviceTable<E> {
        let mut table = self.table(elements.len());
        table.write(0, elements);
        table
    }

    /// Has a kernel run in so many groups.
    pub(super) fn launch(
        &self,
        kernel: &'static str,
        groups: [usize; 3],
        arguments: &[KernelArgument],
    ) {
        self.queue.launch(kernel, groups, arguments);
    }

    /// The same over so many numbers, an item for each.
    pub(super) fn launch_each(
        &self,
        kernel: &'static str,
        count: usize,
        arguments: &[KernelArgument],
    ) {
        self.launch(kernel, [count.div_ceil(ITEMS), 1, 1], arguments);
    }

    /// The same over so many rows, sixteen items for each.
    pub(super) fn launch_rows(
        &self,
        kernel: &'static str,
        rows: usize,
        arguments: &[KernelArgument],
    ) {
        self.launch(kernel, [rows.div_ceil(ROWS), 1, 1], arguments);
    }
}

/// A number of things as kernels take it; more than they can count is no table that fits any device.
pub(super) fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The same in 64 bits.
pub(super) fn long(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
