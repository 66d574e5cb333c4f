//! The work queue of a device: reused memory, copies, launches, and the first error.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::runtime::{DeviceError, Driver, KernelArgument, Memory};
use super::text::{self, ITEMS, Parameter, ProductShape};

/// Memory is asked for in whole numbers of so many bytes.
const GRAIN: usize = 256;

/// Work is done in the order of the calls.
pub struct Queue {
    /// The id of the device for `--device`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How products are cut there.
    pub products: ProductShape,
    state: Mutex<State>,
}

struct State {
    driver: Box<dyn Driver>,
    /// Memory that nobody uses, by size.
    kept: BTreeMap<usize, Vec<Memory>>,
    fault: Option<DeviceError>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.name)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).release();
    }
}

impl State {
    /// Gives back what nobody uses.
    fn release(&mut self) {
        for memory in std::mem::take(&mut self.kept).into_values().flatten() {
            self.driver.free(memory);
        }
    }

    /// Does something, unless something went wrong before.
    fn perform<R>(
        &mut self,
        work: impl FnOnce(&mut dyn Driver) -> Result<R, DeviceError>,
    ) -> Option<R> {
        if self.fault.is_some() {
            return None;
        }
        match work(&mut *self.driver) {
            Ok(done) => Some(done),
            Err(error) => {
                self.fault = Some(error);
                None
            }
        }
    }
}

impl Queue {
    /// The queue of a device that was opened.
    pub fn new(id: String, name: String, products: ProductShape, driver: Box<dyn Driver>) -> Self {
        let state = Mutex::new(State { driver, kept: BTreeMap::new(), fault: None });
        Self { id, name, products, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first error.
    pub fn fault(&self) -> Option<DeviceError> {
        self.state().fault.clone()
    }

    /// Memory of at least this size.
    pub fn allocate(&self, bytes: usize) -> Memory {
        let bytes = bytes.next_multiple_of(GRAIN).max(GRAIN);
        let mut state = self.state();
        if let Some(memory) = state.kept.get_mut(&bytes).and_then(Vec::pop) {
            return memory;
        }
        if state.fault.is_none()
            && let Ok(memory) = state.driver.allocate(bytes)
        {
            return memory;
        }
        // What is kept for later may be what is missing now.
        state.release();
        let memory = state.perform(|driver| driver.allocate(bytes));
        memory.unwrap_or(Memory { handle: 0, bytes: 0 })
    }

    /// Keeps memory for whoever asks for its size next. Work under way that uses it comes before theirs.
    pub fn keep(&self, memory: Memory) {
        if memory.bytes > 0 {
            self.state().kept.entry(memory.bytes).or_default().push(memory);
        }
    }

    /// Copies there.
    pub fn write(&self, memory: Memory, offset: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.state().perform(|driver| driver.write(memory, offset, bytes));
        }
    }

    /// Copies from there, after all work before.
    pub fn read(&self, memory: Memory, offset: usize, bytes: &mut [u8]) {
        if !bytes.is_empty() {
            self.state().perform(|driver| driver.read(memory, offset, bytes));
        }
    }

    /// Has a kernel run in so many groups.
    pub fn launch(&self, kernel: &'static str, groups: [usize; 3], arguments: &[KernelArgument]) {
        if groups.contains(&0) {
            return;
        }
        let items = if kernel == "product" { self.products.items } else { ITEMS };
        self.state().perform(|driver| {
            check(kernel, arguments)?;
            driver.launch(kernel, groups, items, arguments)
        });
    }
}

/// Holds arguments against what a kernel takes: a runtime would read whatever lies there.
fn check(kernel: &str, arguments: &[KernelArgument]) -> Result<(), DeviceError> {
    let fits = |(parameter, argument): (&Parameter, &KernelArgument)| match (parameter, argument) {
        (Parameter::Table(of), KernelArgument::Table(_, element, _)) => of == element,
        (Parameter::Int, KernelArgument::Int(_))
        | (Parameter::Long, KernelArgument::Long(_))
        | (Parameter::Float, KernelArgument::Float(_))
        | (Parameter::Double, KernelArgument::Double(_)) => true,
        _ => false,
    };
    let parameters = text::kernels().get(kernel).map_or(&[][..], Vec::as_slice);
    let first = std::iter::zip(parameters, arguments).position(|pair| !fits(pair));
    let first = first.or((parameters.len() != arguments.len()).then_some(arguments.len()));
    match first {
        None => Ok(()),
        Some(at) => Err(DeviceError::Failed {
            what: format!("`{kernel}` expects a different argument {at}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::device::text::ONE_ITEM;

    /// A device with so much memory, on which nothing is computed. It notes what it is asked.
    struct Small {
        left: usize,
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl Driver for Small {
        fn allocate(&mut self, bytes: usize) -> Result<Memory, DeviceError> {
            if bytes > self.left {
                return Err(DeviceError::Failed { what: format!("no {bytes} bytes") });
            }
            self.left -= bytes;
            Ok(Memory { handle: 1, bytes })
        }

        fn free(&mut self, memory: Memory) {
            self.left += memory.bytes;
        }

        fn write(&mut self, _: Memory, _: usize, _: &[u8]) -> Result<(), DeviceError> {
            Ok(())
        }

        fn read(&mut self, _: Memory, _: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
            bytes.fill(7);
            Ok(())
        }

        fn launch(
            &mut self,
            kernel: &'static str,
            _: [usize; 3],
            _: usize,
            _: &[KernelArgument],
        ) -> Result<(), DeviceError> {
            self.asked.lock().unwrap().push(kernel.to_owned());
            Ok(())
        }
    }

    fn small(left: usize) -> (Queue, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::default();
        let driver = Small { left, asked: Arc::clone(&asked) };
        (Queue::new("small:0".to_owned(), "Small".to_owned(), ONE_ITEM, Box::new(driver)), asked)
    }

    #[test]
    fn memory_is_used_again_and_given_back_where_another_size_is_asked_for() {
        let (queue, _) = small(4 * GRAIN);
        let first = queue.allocate(3 * GRAIN - 5);
        queue.keep(first);
        assert_eq!(queue.allocate(3 * GRAIN), first);
        queue.keep(first);
        // What is kept would not leave enough for this.
        assert_eq!(queue.allocate(4 * GRAIN).bytes, 4 * GRAIN);
        assert_eq!(queue.fault(), None);
    }

    #[test]
    fn after_the_first_failure_nothing_is_done_any_more() {
        let (queue, asked) = small(2 * GRAIN);
        let memory = queue.allocate(GRAIN);
        let arguments = [KernelArgument::Table(memory, "float", 0), 2.0_f32.into(), 1_i64.into()];
        queue.launch("scale", [1; 3], &arguments);
        assert_eq!(queue.allocate(9 * GRAIN), Memory { handle: 0, bytes: 0 });
        queue.launch("scale", [1; 3], &arguments);
        let mut bytes = [0; 4];
        queue.read(memory, 0, &mut bytes);
        assert_eq!((asked.lock().unwrap().len(), bytes), (1, [0; 4]));
        let fault = queue.fault().unwrap().to_string();
        assert_eq!(fault, format!("no {} bytes", 9 * GRAIN));
        assert_eq!(queue.fault().unwrap().to_string(), fault, "it stays");
        // Memory without bytes is nobody's.
        queue.keep(Memory { handle: 0, bytes: 0 });
        assert_eq!(queue.allocate(GRAIN).bytes, 0);
    }
}
