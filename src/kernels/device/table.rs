//! Tables of numbers in the memory of a device.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::queue::Queue;
use super::runtime::{KernelArgument, Memory};

/// The element types of tables.
pub trait Element: Copy + Default + Send + Sync + 'static {
    /// The type in the text of the kernels.
    const NAME: &'static str;
}

impl Element for f32 {
    const NAME: &'static str = "float";
}

impl Element for f64 {
    const NAME: &'static str = "double";
}

impl Element for i32 {
    const NAME: &'static str = "int";
}

impl Element for u32 {
    const NAME: &'static str = "unsigned int";
}

/// The bytes of elements, as the machine has them.
pub fn bytes<E: Element>(of: &[E]) -> &[u8] {
    // SAFETY: elements are plain numbers without padding, and a byte may lie anywhere.
    unsafe { std::slice::from_raw_parts(of.as_ptr().cast(), size_of_val(of)) }
}

/// The same, to be written.
pub fn bytes_mut<E: Element>(of: &mut [E]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are a number.
    unsafe { std::slice::from_raw_parts_mut(of.as_mut_ptr().cast(), size_of_val(of)) }
}

/// Elements in a row, in the memory of a device. It is given back when the table is dropped, and used again.
#[derive(Debug)]
pub struct DeviceTable<E: Element> {
    queue: Arc<Queue>,
    memory: Memory,
    length: usize,
    kind: PhantomData<E>,
}

impl<E: Element> DeviceTable<E> {
    pub(super) fn new(queue: &Arc<Queue>, length: usize) -> Self {
        let memory = queue.allocate(length * size_of::<E>());
        Self { queue: queue.clone(), memory, length, kind: PhantomData }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The elements from this one on.
    pub fn from(&self, at: usize) -> TablePart<'_, E> {
        TablePart { table: self, at }
    }

    /// The elements of a range.
    ///
    /// # Panics
    /// Where the table is shorter.
    pub fn read(&self, range: Range<usize>) -> Vec<E> {
        assert!(range.start <= range.end && range.end <= self.length, "a part of a table");
        let mut elements = vec![E::default(); range.len()];
        self.queue.read(self.memory, range.start * size_of::<E>(), bytes_mut(&mut elements));
        elements
    }

    /// All elements.
    pub fn read_all(&self) -> Vec<E> {
        self.read(0..self.length)
    }

    /// Writes elements, from number `at` on.
    ///
    /// # Panics
    /// Where the table is shorter.
    pub fn write(&mut self, at: usize, elements: &[E]) {
        assert!(at + elements.len() <= self.length, "a part of a table");
        self.queue.write(self.memory, at * size_of::<E>(), bytes(elements));
    }
}

impl<E: Element> Drop for DeviceTable<E> {
    fn drop(&mut self) {
        self.queue.keep(self.memory);
    }
}

/// The elements of a table from some place on.
#[derive(Debug, Clone, Copy)]
pub struct TablePart<'a, E: Element> {
    table: &'a DeviceTable<E>,
    at: usize,
}

impl<E: Element> From<TablePart<'_, E>> for KernelArgument {
    fn from(part: TablePart<'_, E>) -> Self {
        Self::Table(part.table.memory, E::NAME, part.at)
    }
}

impl<E: Element> From<&DeviceTable<E>> for KernelArgument {
    fn from(table: &DeviceTable<E>) -> Self {
        Self::Table(table.memory, E::NAME, 0)
    }
}

impl<E: Element> From<&mut DeviceTable<E>> for KernelArgument {
    fn from(table: &mut DeviceTable<E>) -> Self {
        Self::Table(table.memory, E::NAME, 0)
    }
}

impl From<f32> for KernelArgument {
    fn from(number: f32) -> Self {
        Self::Float(number)
    }
}

impl From<f64> for KernelArgument {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

impl From<i32> for KernelArgument {
    fn from(number: i32) -> Self {
        Self::Int(number)
    }
}

impl From<i64> for KernelArgument {
    fn from(number: i64) -> Self {
        Self::Long(number)
    }
}
