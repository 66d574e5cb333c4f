//! CUDA devices, through the driver interface. The driver library is loaded on demand; no other part of CUDA
//! is needed to build or to run.

#![expect(clippy::too_many_arguments, reason = "a launch of the driver has eleven")]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

use dlopen2::wrapper::{Container, WrapperApi};

use super::ptx::{DRIVER, Image};
use super::runtime::{DeviceError, Driver, KernelArgument, Listed, Memory};
use super::text::PREFIX;

const LIBRARY: &str = "libcuda.so.1";

/// Groups that a launch can have in each dimension.
const MOST_GROUPS: [usize; 3] = [(1 << 31) - 1, 65_535, 65_535];

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY_PARTS: [i32; 2] = [75, 76];

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const LOG_AND_SIZE: [i32; 2] = [5, 6];

type Handle = *mut c_void;

/// The called functions of the driver. Names that end with `_v2` are those that `cuda.h` means by the plain ones; drivers have all
/// of these since CUDA 11.
#[derive(WrapperApi)]
struct Api {
    #[dlopen2_name = "cuInit"]
    init: unsafe extern "C" fn(flags: u32) -> i32,
    #[dlopen2_name = "cuDriverGetVersion"]
    driver_version: unsafe extern "C" fn(version: *mut i32) -> i32,
    #[dlopen2_name = "cuGetErrorName"]
    error_name: unsafe extern "C" fn(code: i32, name: *mut *const c_char) -> i32,
    #[dlopen2_name = "cuGetErrorString"]
    error_text: unsafe extern "C" fn(code: i32, text: *mut *const c_char) -> i32,
    #[dlopen2_name = "cuDeviceGetCount"]
    device_count: unsafe extern "C" fn(count: *mut i32) -> i32,
    #[dlopen2_name = "cuDeviceGet"]
    device: unsafe extern "C" fn(device: *mut i32, number: i32) -> i32,
    #[dlopen2_name = "cuDeviceGetName"]
    device_name: unsafe extern "C" fn(name: *mut c_char, size: i32, device: i32) -> i32,
    #[dlopen2_name = "cuDeviceTotalMem_v2"]
    device_memory: unsafe extern "C" fn(bytes: *mut usize, device: i32) -> i32,
    #[dlopen2_name = "cuDeviceGetAttribute"]
    device_attribute: unsafe extern "C" fn(value: *mut i32, attribute: i32, device: i32) -> i32,
    #[dlopen2_name = "cuDevicePrimaryCtxRetain"]
    retain_context: unsafe extern "C" fn(context: *mut Handle, device: i32) -> i32,
    #[dlopen2_name = "cuDevicePrimaryCtxRelease_v2"]
    release_context: unsafe extern "C" fn(device: i32) -> i32,
    #[dlopen2_name = "cuCtxSetCurrent"]
    set_context: unsafe extern "C" fn(context: Handle) -> i32,
    #[dlopen2_name = "cuCtxSynchronize"]
    wait: unsafe extern "C" fn() -> i32,
    #[dlopen2_name = "cuModuleLoadDataEx"]
    load_module: unsafe extern "C" fn(
        module: *mut Handle,
        image: *const c_void,
        count: u32,
        options: *const i32,
        values: *mut Handle,
    ) -> i32,
    #[dlopen2_name = "cuModuleUnload"]
    unload_module: unsafe extern "C" fn(module: Handle) -> i32,
    #[dlopen2_name = "cuModuleGetFunction"]
    find_kernel:
        unsafe extern "C" fn(kernel: *mut Handle, module: Handle, name: *const c_char) -> i32,
    #[dlopen2_name = "cuMemAlloc_v2"]
    allocate: unsafe extern "C" fn(memory: *mut u64, bytes: usize) -> i32,
    #[dlopen2_name = "cuMemFree_v2"]
    free: unsafe extern "C" fn(memory: u64) -> i32,
    #[dlopen2_name = "cuMemcpyHtoD_v2"]
    write: unsafe extern "C" fn(to: u64, from: *const c_void, bytes: usize) -> i32,
    #[dlopen2_name = "cuMemcpyDtoH_v2"]
    read: unsafe extern "C" fn(to: *mut c_void, from: u64, bytes: usize) -> i32,
    #[dlopen2_name = "cuLaunchKernel"]
    launch: unsafe extern "C" fn(
        kernel: Handle,
        groups_x: u32,
        groups_y: u32,
        groups_z: u32,
        items_x: u32,
        items_y: u32,
        items_z: u32,
        shared_bytes: u32,
        stream: Handle,
        arguments: *mut Handle,
        extra: *mut Handle,
    ) -> i32,
}

/// A device with the kernels compiled. Work goes to the one stream that every context has, and copies come after it.
pub struct Cuda {
    api: &'static Api,
    device: i32,
    context: Handle,
    module: Handle,
    kernels: HashMap<&'static str, Handle>,
}

// SAFETY: the handles may be used from any thread that the context is made current on, which every call does.
unsafe impl Send for Cuda {}

fn missing(why: String) -> DeviceError {
    DeviceError::NoRuntime { runtime: "CUDA", why }
}

/// The driver, begun once; it stays until the process ends.
fn api() -> Result<&'static Api, DeviceError> {
    static API: OnceLock<Result<Container<Api>, DeviceError>> = OnceLock::new();
    let loaded = API.get_or_init(|| {
        // SAFETY: this name is that of NVIDIA's driver, whose functions have these types.
        let api = unsafe { Container::<Api>::load(LIBRARY) }.map_err(|error| {
            missing(match error {
                dlopen2::Error::OpeningLibraryError(_) => format!(
                    "its driver library `{LIBRARY}` is missing; NVIDIA's driver includes it"
                ),
                error => format!("the driver in `{LIBRARY}` is too old: {error}"),
            })
        })?;
        // SAFETY: it comes before all other calls.
        match unsafe { api.init(0) } {
            0 => Ok(api),
            code => Err(missing(format!("its driver returns {}", api.named(code)))),
        }
    });
    loaded.as_deref().map_err(Clone::clone)
}

impl Api {
    /// The meaning of a code.
    fn named(&self, code: i32) -> String {
        let (mut name, mut text) = (ptr::null(), ptr::null());
        // SAFETY: the answers are texts that stay, or null where the code is unknown.
        let texts = unsafe {
            self.error_name(code, &raw mut name);
            self.error_text(code, &raw mut text);
            [name, text].map(|of| (!of.is_null()).then(|| CStr::from_ptr(of).to_string_lossy()))
        };
        match texts {
            [Some(name), Some(text)] => format!("{name}: {text}"),
            _ => format!("error {code}"),
        }
    }

    /// The answer of a call that was to do something.
    fn answered(&self, code: i32, what: &str) -> Result<(), DeviceError> {
        let failed = || format!("CUDA could not {what}: {}", self.named(code));
        if code == 0 { Ok(()) } else { Err(DeviceError::Failed { what: failed() }) }
    }

    /// The CUDA that the driver is of, or 0.
    fn version(&self) -> i32 {
        let mut version = 0;
        // SAFETY: the answer is a number.
        unsafe { self.driver_version(&raw mut version) };
        version
    }

    fn name(&self, device: i32) -> String {
        let mut name = [0_u8; 256];
        // SAFETY: there is room for this many bytes, and the last one stays zero.
        unsafe { self.device_name(name.as_mut_ptr().cast(), 255, device) };
        text_until_zero(&name)
    }

    fn capability(&self, device: i32) -> [i32; 2] {
        CAPABILITY_PARTS.map(|part| {
            let mut number = 0;
            // SAFETY: the answer is a number.
            unsafe { self.device_attribute(&raw mut number, part, device) };
            number
        })
    }

    /// The requirements of kernels for this compute capability that a device lacks.
    fn lacking(&self, device: i32, least: [i32; 2]) -> Option<String> {
        let (version, [major, minor]) = (self.version(), self.capability(device));
        let [least_major, least_minor] = least;
        if version < DRIVER {
            let (least, own) = (version_text(DRIVER), version_text(version));
            Some(format!("driver {least} or later: its driver is {own}"))
        } else if [major, minor] < least {
            let least = format!("compute capability {least_major}.{least_minor} or higher");
            Some(format!("{least}: it has {major}.{minor}"))
        } else {
            None
        }
    }
}

fn version_text(version: i32) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}

fn text_until_zero(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}

/// All devices, in the order of the driver.
pub fn devices() -> Result<Vec<i32>, DeviceError> {
    let api = api()?;
    let mut count = 0;
    // SAFETY: the answer is a number.
    api.answered(unsafe { api.device_count(&raw mut count) }, "count its devices")?;
    let device = |number| {
        let mut device = 0;
        // SAFETY: the answer is a number.
        let code = unsafe { api.device(&raw mut device, number) };
        api.answered(code, &format!("read the name of device {number}")).map(|()| device)
    };
    let all = (0..count).map(device).collect::<Result<Vec<_>, _>>()?;
    if all.is_empty() { Err(missing("its driver has no device".to_owned())) } else { Ok(all) }
}

/// The description of a device.
pub fn described(device: i32) -> Result<Listed, DeviceError> {
    let api = api()?;
    let mut memory = 0;
    // SAFETY: the answer is a number.
    unsafe { api.device_memory(&raw mut memory, device) };
    Ok(Listed {
        name: api.name(device),
        driver: version_text(api.version()),
        memory: memory as u64,
    })
}

/// Groups as the driver takes them.
fn grid(kernel: &str, groups: [usize; 3]) -> Result<[u32; 3], DeviceError> {
    if std::iter::zip(groups, MOST_GROUPS).any(|(own, most)| own > most) {
        let what = format!("`{kernel}` has {groups:?} groups, more than CUDA's {MOST_GROUPS:?}");
        return Err(DeviceError::Failed { what });
    }
    Ok(groups.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
}

/// The arguments of a launch: each begins with the first byte of a word. A table is two.
fn words(arguments: &[KernelArgument]) -> Vec<u64> {
    fn word(bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    }
    let mut words = Vec::with_capacity(2 * arguments.len());
    for argument in arguments {
        match argument {
            KernelArgument::Table(memory, _, from) => words.extend([memory.handle, *from as u64]),
            KernelArgument::Int(number) => words.push(word(&number.to_ne_bytes())),
            KernelArgument::Long(number) => words.push(word(&number.to_ne_bytes())),
            KernelArgument::Float(number) => words.push(word(&number.to_ne_bytes())),
            KernelArgument::Double(number) => words.push(word(&number.to_ne_bytes())),
        }
    }
    words
}

impl Cuda {
    /// Opens a device, and has the driver compile kernels for it.
    pub fn open(device: i32, image: &Image<'_>) -> Result<Self, DeviceError> {
        let api = api()?;
        if let Some(what) = api.lacking(device, image.capability) {
            return Err(DeviceError::Lacks { device: api.name(device), what });
        }
        let (mut context, module) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the answer is a handle, which `Drop` gives back.
        let code = unsafe { api.retain_context(&raw mut context, device) };
        api.answered(code, "create a context")?;
        let mut opened = Self { api, device, context, module, kernels: HashMap::new() };
        opened.compile(image)?;
        Ok(opened)
    }

    fn compile(&mut self, image: &Image<'_>) -> Result<(), DeviceError> {
        self.enter()?;
        let mut log = [0_u8; 2048];
        // The size is passed as if it were an address; the last byte stays zero.
        let size = ptr::without_provenance_mut(log.len() - 1);
        let mut values: [Handle; 2] = [log.as_mut_ptr().cast(), size];
        let (options, ptx) = (LOG_AND_SIZE.as_ptr(), image.ptx.as_ptr().cast());
        // SAFETY: the image ends with a zero, and there are two options with their values.
        let code = unsafe {
            self.api.load_module(&raw mut self.module, ptx, 2, options, values.as_mut_ptr())
        };
        if code != 0 {
            let (named, log) = (self.api.named(code), text_until_zero(&log));
            let what = format!("CUDA could not compile the kernels: {named}; {log}");
            return Err(DeviceError::Failed { what });
        }
        for name in image.kernels.iter().copied() {
            let own = CString::new(format!("{PREFIX}{name}")).unwrap_or_default();
            let mut kernel = ptr::null_mut();
            // SAFETY: the module is loaded, and the name ends with a zero.
            let code = unsafe { self.api.find_kernel(&raw mut kernel, self.module, own.as_ptr()) };
            self.api.answered(code, &format!("find the kernel `{name}`"))?;
            self.kernels.insert(name, kernel);
        }
        Ok(())
    }

    /// Has the calls of this thread mean this device.
    fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is kept until `Drop`.
        self.api.answered(unsafe { self.api.set_context(self.context) }, "activate its context")
    }

    /// The answer of a call that comes after work under way: what it tells may be of that work.
    fn found(&self, code: i32, what: &str) -> Result<(), DeviceError> {
        self.api.answered(code, &format!("{what}, or an earlier operation"))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.enter().is_ok() {
            // SAFETY: nothing runs any more when the module goes, and nobody has its kernels.
            unsafe {
                self.api.wait();
                if !self.module.is_null() {
                    self.api.unload_module(self.module);
                }
            }
        }
        // SAFETY: the context was retained once.
        unsafe { self.api.release_context(self.device) };
    }
}

impl Driver for Cuda {
    fn allocate(&mut self, bytes: usize) -> Result<Memory, DeviceError> {
        self.enter()?;
        let mut handle = 0;
        // SAFETY: the answer is an address of the device.
        let code = unsafe { self.api.allocate(&raw mut handle, bytes) };
        self.found(code, &format!("allocate {bytes} bytes of memory"))?;
        Ok(Memory { handle, bytes })
    }

    fn free(&mut self, memory: Memory) {
        if self.enter().is_ok() {
            // SAFETY: the address is one of `allocate`, given back once; the call waits for work under way.
            unsafe { self.api.free(memory.handle) };
        }
    }

    fn write(&mut self, memory: Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.enter()?;
        let (to, from) = (memory.handle + offset as u64, bytes.as_ptr().cast());
        // SAFETY: the call ends when the bytes are read, and `Device` has seen that they fit.
        let code = unsafe { self.api.write(to, from, bytes.len()) };
        self.found(code, "copy to the device")
    }

    fn read(&mut self, memory: Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.enter()?;
        let (to, from) = (bytes.as_mut_ptr().cast(), memory.handle + offset as u64);
        // SAFETY: the call ends when the bytes are written, and `Device` has seen that they are there.
        let code = unsafe { self.api.read(to, from, bytes.len()) };
        self.found(code, "copy from the device")
    }

    fn launch(
        &mut self,
        kernel: &'static str,
        groups: [usize; 3],
        items: usize,
        arguments: &[KernelArgument],
    ) -> Result<(), DeviceError> {
        let Some(own) = self.kernels.get(kernel).copied() else {
            return Err(DeviceError::Failed { what: format!("there is no kernel `{kernel}`") });
        };
        self.enter()?;
        let ([x, y, z], mut words) = (grid(kernel, groups)?, words(arguments));
        let items = u32::try_from(items).unwrap_or(u32::MAX);
        let mut places: Vec<Handle> =
            words.iter_mut().map(|word| ptr::from_mut(word).cast()).collect();
        let (stream, places, extra) = (ptr::null_mut(), places.as_mut_ptr(), ptr::null_mut());
        // SAFETY: `Device` has held the arguments against the kernel's parameters, and the call copies them; memory is given
        // back after work under way.
        let code = unsafe { self.api.launch(own, x, y, z, items, 1, 1, 0, stream, places, extra) };
        self.found(code, &format!("run `{kernel}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_groups_than_a_launch_takes_are_an_error() {
        assert_eq!(grid("k", [1 << 20, 65_535, 1]), Ok([1 << 20, 65_535, 1]));
        for groups in [[1 << 31, 1, 1], [1, 1 << 16, 1], [1, 1, 1 << 16]] {
            let error = grid("k", groups).unwrap_err().to_string();
            assert!(error.contains(&format!("`k` has {groups:?} groups")), "{error}");
        }
    }

    #[test]
    fn arguments_begin_with_their_first_byte() {
        let table = Memory { handle: 0x7f00_0000_0100, bytes: 256 };
        let words = words(&[
            KernelArgument::Table(table, "float", 7),
            KernelArgument::Int(-1),
            KernelArgument::Long(-2),
            KernelArgument::Float(1.5),
            KernelArgument::Double(-0.1),
        ]);
        assert_eq!(words.len(), 6);
        assert_eq!((words[0], words[1]), (table.handle, 7));
        let bytes: Vec<_> = words.iter().map(|word| word.to_ne_bytes()).collect();
        assert_eq!(bytes[2][..4], (-1_i32).to_ne_bytes());
        assert_eq!(bytes[3], (-2_i64).to_ne_bytes());
        assert_eq!(bytes[4][..4], 1.5_f32.to_ne_bytes());
        assert_eq!(bytes[5], (-0.1_f64).to_ne_bytes());
    }

    #[test]
    fn versions_are_told_as_nvidia_tells_them() {
        assert_eq!(version_text(DRIVER), "CUDA 12.0");
        assert_eq!(version_text(11_040), "CUDA 11.4");
    }
}
