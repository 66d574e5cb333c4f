//! OpenCL devices. The library is loaded on demand, and the device's own compiler compiles the kernel source.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cl3::command_queue::{
    create_command_queue, enqueue_nd_range_kernel, enqueue_read_buffer, enqueue_write_buffer,
    release_command_queue,
};
use cl3::context::{create_context, release_context};
use cl3::device::{
    CL_DEVICE_AVAILABLE, CL_DEVICE_COMPILER_AVAILABLE, CL_DEVICE_DOUBLE_FP_CONFIG,
    CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_LOCAL_MEM_SIZE, CL_DEVICE_MAX_WORK_GROUP_SIZE,
    CL_DEVICE_NAME, CL_DEVICE_SINGLE_FP_CONFIG, CL_DEVICE_TYPE, CL_DEVICE_TYPE_ALL,
    CL_DEVICE_TYPE_CPU, CL_DRIVER_VERSION, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, CL_FP_DENORM,
    CL_FP_FMA, CL_FP_INF_NAN, CL_FP_ROUND_TO_NEAREST, get_device_ids, get_device_info,
};
use cl3::error_codes::{ClError, DLOPEN_RUNTIME_LOAD_FAILED};
use cl3::event::release_event;
use cl3::kernel::{create_kernel, release_kernel, set_kernel_arg};
use cl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use cl3::platform::get_platform_ids;
use cl3::program::{
    CL_PROGRAM_BUILD_LOG, build_program, create_program_with_source, get_program_build_info,
    release_program,
};
use cl3::types::{
    cl_command_queue, cl_context, cl_device_id, cl_event, cl_int, cl_kernel, cl_mem, cl_program,
};

use super::runtime::{DeviceError, Driver, KernelArgument, Listed, Memory};
use super::text::{self, ITEMS, PREFIX, TEXT};

/// The way to a device of OpenCL where none is found.
const WAY_OUT: &str =
    "`apt-get install pocl-opencl-icd ocl-icd-libopencl1` installs one that runs on the CPU";

/// Letters of a device's name that are kept.
const NAME: usize = 200;

/// Some drivers do not bear two threads at once, not even on contexts of their own: calls of this process take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device with its queue.
pub struct OpenCl {
    context: cl_context,
    queue: cl_command_queue,
    program: cl_program,
    kernels: HashMap<&'static str, cl_kernel>,
}

// SAFETY: the handles may be used from any thread, one call at a time, and `Driver` takes `&mut self`.
unsafe impl Send for OpenCl {}

fn failed(what: &str, code: cl_int) -> DeviceError {
    DeviceError::Failed { what: format!("OpenCL could not {what}: {}", ClError(code)) }
}

/// All devices, platform by platform.
pub fn devices() -> Result<Vec<cl_device_id>, DeviceError> {
    let _turn = turn();
    let missing = |what: String| {
        let why = format!("{what}; {WAY_OUT}");
        DeviceError::NoRuntime { runtime: "OpenCL", why }
    };
    let none = |code: cl_int| match code {
        DLOPEN_RUNTIME_LOAD_FAILED => {
            missing("its library `libOpenCL.so.1` cannot be loaded".to_owned())
        }
        code => missing(format!("its library found no driver ({})", ClError(code))),
    };
    let mut all = Vec::new();
    for platform in get_platform_ids().map_err(none)? {
        // A platform without devices answers with an error.
        all.extend(get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default());
    }
    if all.is_empty() { Err(missing("its drivers have no device".to_owned())) } else { Ok(all) }
}

/// A text that a device has for itself, no longer than a line.
fn text_of(device: cl_device_id, what: u32) -> String {
    let text = get_device_info(device, what).map(String::from).unwrap_or_default();
    text.trim().chars().take(NAME).collect()
}

fn number_of(device: cl_device_id, what: u32) -> u64 {
    get_device_info(device, what).map_or(0, |info| info.to_ulong())
}

fn is(device: cl_device_id, what: u32) -> bool {
    get_device_info(device, what).is_ok_and(|info| info.to_uint() != 0)
}

/// The description of a device.
pub fn described(device: cl_device_id) -> Listed {
    let _turn = turn();
    Listed {
        name: text_of(device, CL_DEVICE_NAME),
        driver: text_of(device, CL_DRIVER_VERSION),
        memory: number_of(device, CL_DEVICE_GLOBAL_MEM_SIZE),
    }
}

/// The first requirement that a device lacks.
fn lacking(device: cl_device_id) -> Option<&'static str> {
    let (single, double) = (
        number_of(device, CL_DEVICE_SINGLE_FP_CONFIG),
        number_of(device, CL_DEVICE_DOUBLE_FP_CONFIG),
    );
    let needs = [
        (is(device, CL_DEVICE_AVAILABLE), "available driver"),
        (is(device, CL_DEVICE_COMPILER_AVAILABLE), "OpenCL C compiler"),
        (double != 0, "float64"),
        (single & CL_FP_ROUND_TO_NEAREST != 0, "rounding to nearest"),
        (
            single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0,
            "correctly rounded division and square root",
        ),
        (single & CL_FP_DENORM != 0, "support for subnormal numbers"),
        (single & CL_FP_INF_NAN != 0, "infinities"),
        (single & CL_FP_FMA != 0, "fused multiply-add"),
        (
            get_device_info(device, CL_DEVICE_MAX_WORK_GROUP_SIZE)
                .is_ok_and(|size| size.to_size() >= ITEMS),
            "work groups of 256 items",
        ),
        (number_of(device, CL_DEVICE_LOCAL_MEM_SIZE) >= 16 << 10, "16 KiB of shared memory"),
    ];
    needs.into_iter().find(|(has, _)| !has).map(|(_, what)| what)
}

/// Whether products have one item a group here.
pub fn is_processor(device: cl_device_id) -> bool {
    number_of(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU != 0
}

impl OpenCl {
    /// Opens a device, and compiles the kernels for it.
    pub fn open(device: cl_device_id) -> Result<Self, DeviceError> {
        let mut opened = Self::begin(device)?;
        // A device that cannot be opened is closed after its turn.
        let compiled = opened.compile(device);
        compiled.map(|()| opened)
    }

    fn begin(device: cl_device_id) -> Result<Self, DeviceError> {
        let _turn = turn();
        if let Some(what) = lacking(device) {
            let device = text_of(device, CL_DEVICE_NAME);
            return Err(DeviceError::Lacks { device, what: what.to_owned() });
        }
        let context = create_context(&[device], ptr::null(), None, ptr::null_mut())
            .map_err(|code| failed("create a context", code))?;
        let (queue, program) = (ptr::null_mut(), ptr::null_mut());
        Ok(Self { context, queue, program, kernels: HashMap::new() })
    }

    /// Makes the queue, and the kernels for the device.
    fn compile(&mut self, device: cl_device_id) -> Result<(), DeviceError> {
        let _turn = turn();
        // SAFETY: the device is that of the context.
        self.queue = unsafe { create_command_queue(self.context, device, 0) }
            .map_err(|code| failed("create a queue", code))?;
        self.program = create_program_with_source(self.context, &[TEXT])
            .map_err(|code| failed("load the kernels", code))?;
        let mut options = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt".to_owned();
        if is_processor(device) {
            options.push_str(" -DONE_ITEM");
        }
        let options = CString::new(options).unwrap_or_default();
        build_program(self.program, &[device], &options, None, ptr::null_mut()).map_err(
            |code| {
                let log = get_program_build_info(self.program, device, CL_PROGRAM_BUILD_LOG);
                let log: String =
                    log.map(String::from).unwrap_or_default().chars().take(2000).collect();
                DeviceError::Failed {
                    what: format!("{}; {}", failed("compile the kernels", code), log.trim()),
                }
            },
        )?;
        for name in text::kernels().keys().copied() {
            let own = CString::new(format!("{PREFIX}{name}")).unwrap_or_default();
            let kernel = create_kernel(self.program, &own)
                .map_err(|code| failed(&format!("find the kernel `{name}`"), code))?;
            self.kernels.insert(name, kernel);
        }
        Ok(())
    }
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        let _turn = turn();
        // SAFETY: each handle is this one's own, and released once; those that were never made are not released.
        unsafe {
            for kernel in self.kernels.values() {
                let _ = release_kernel(*kernel);
            }
            if !self.program.is_null() {
                let _ = release_program(self.program);
            }
            if !self.queue.is_null() {
                let _ = release_command_queue(self.queue);
            }
            let _ = release_context(self.context);
        }
    }
}

/// Nobody waits for single pieces of work.
fn forget(event: cl_event) {
    // SAFETY: the event is that of a call that succeeded.
    let _ = unsafe { release_event(event) };
}

impl Driver for OpenCl {
    fn allocate(&mut self, bytes: usize) -> Result<Memory, DeviceError> {
        let _turn = turn();
        // SAFETY: without a host pointer the flags leave nothing to chance.
        let made =
            unsafe { create_buffer(self.context, CL_MEM_READ_WRITE, bytes, ptr::null_mut()) };
        let handle =
            made.map_err(|code| failed(&format!("allocate {bytes} bytes of memory"), code))?;
        Ok(Memory { handle: handle as u64, bytes })
    }

    fn free(&mut self, memory: Memory) {
        let _turn = turn();
        // SAFETY: the handle is one of `allocate`, given back once; the runtime keeps it for work under way.
        let _ = unsafe { release_mem_object(memory.handle as cl_mem) };
    }

    fn write(&mut self, memory: Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let _turn = turn();
        let (to, from) = (memory.handle as cl_mem, bytes.as_ptr().cast::<c_void>());
        // SAFETY: the call ends when the bytes are read, and `Device` has seen that they fit.
        let event = unsafe {
            enqueue_write_buffer(self.queue, to, 1, offset, bytes.len(), from, 0, ptr::null())
        };
        event.map(forget).map_err(|code| failed("copy to the device", code))
    }

    fn read(&mut self, memory: Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let _turn = turn();
        let (from, to) = (memory.handle as cl_mem, bytes.as_mut_ptr().cast::<c_void>());
        // SAFETY: the call ends when the bytes are written, and `Device` has seen that they are there.
        let event = unsafe {
            enqueue_read_buffer(self.queue, from, 1, offset, bytes.len(), to, 0, ptr::null())
        };
        event.map(forget).map_err(|code| failed("copy from the device", code))
    }

    fn launch(
        &mut self,
        kernel: &'static str,
        groups: [usize; 3],
        items: usize,
        arguments: &[KernelArgument],
    ) -> Result<(), DeviceError> {
        let _turn = turn();
        let Some(own) = self.kernels.get(kernel).copied() else {
            return Err(DeviceError::Failed { what: format!("there is no kernel `{kernel}`") });
        };
        let mut place = 0;
        let mut set = |size: usize, value: *const c_void| {
            // SAFETY: `Device` has held the arguments against the kernel's parameters; values are copied by the call.
            let answer = unsafe { set_kernel_arg(own, place, size, value) };
            place += 1;
            answer.map_err(|code| failed(&format!("set argument {place} of `{kernel}`"), code))
        };
        for argument in arguments {
            match argument {
                KernelArgument::Table(memory, _, from) => {
                    let (memory, from) = (memory.handle as cl_mem, *from as i64);
                    set(size_of::<cl_mem>(), (&raw const memory).cast())?;
                    set(8, (&raw const from).cast())?;
                }
                KernelArgument::Int(number) => set(4, ptr::from_ref(number).cast())?,
                KernelArgument::Long(number) => set(8, ptr::from_ref(number).cast())?,
                KernelArgument::Float(number) => set(4, ptr::from_ref(number).cast())?,
                KernelArgument::Double(number) => set(8, ptr::from_ref(number).cast())?,
            }
        }
        let (all, own_items) = ([groups[0] * items, groups[1], groups[2]], [items, 1, 1]);
        // SAFETY: three dimensions of each; tables outlive the call, and the runtime keeps them for work under way.
        let event = unsafe {
            let (none, wait) = (ptr::null(), ptr::null());
            enqueue_nd_range_kernel(
                self.queue,
                own,
                3,
                none,
                all.as_ptr(),
                own_items.as_ptr(),
                0,
                wait,
            )
        };
        event.map(forget).map_err(|code| failed(&format!("run `{kernel}`"), code))
    }
}
