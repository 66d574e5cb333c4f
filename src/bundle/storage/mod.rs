//! A folder of objects, here or in object storage: each has a name and bytes, is written as a whole and, where nobody
//! found it damaged, once.

mod address;
mod bundle;
#[cfg(feature = "cloud")]
mod cloud;
#[cfg(not(feature = "cloud"))]
#[path = "no_cloud.rs"]
mod cloud;
mod created;
mod head;
mod limits;
mod local;
mod located;
mod name;
mod part;
mod settings;
mod store;

pub use address::local_path;
pub use bundle::fetch_bundle;
pub use created::Created;
pub use head::fetch_head;
pub use limits::Limits;
pub use located::{Located, is_url};
pub use part::ObjectPart;
pub use settings::StoreSettings;
pub use store::Store;

use repro_core::source::codes;

codes! {
    BAD_ADDRESS = "storage::bad-address", "a store's address cannot be used", "name a folder, or a URL such as `s3://bucket/folder`";
    NO_CLOUD = "storage::not-in-this-build", "this build reads and writes folders alone", "build with `--features cloud`, or copy the objects into a folder and name that";
    BAD_NAME = "storage::bad-name", "a name cannot be that of an object", "name objects by letters, digits and `._-=+,`, with `/` between";
    NOT_A_FOLDER = "storage::not-a-folder", "a store is no folder", "name a folder; one that is absent is made by the first object";
    NOT_AN_OBJECT = "storage::not-an-object", "a store holds what is no object", "a store holds plain files and folders: move what is something else away";
    TOO_LARGE = "storage::too-large", "an object is larger than anything that is read as one", "it is not what it is taken for: look at it, and move it away";
    NO_CREDENTIALS = "storage::no-credentials", "the environment has no credentials", "set those of your provider in the environment";
    BAD_SETTINGS = "storage::bad-settings", "the settings in the environment cannot be used", "check them one by one; their values are shown nowhere";
    REFUSED = "storage::refused", "the server refuses", "check that the credentials in the environment are those of somebody who may";
    UNREACHABLE = "storage::unreachable", "the server cannot be reached, or does not answer in time", "start the command again: what was done is kept";
    READ_ONLY = "storage::read-only", "a server by `https://` is only read from, file by file", "name a store of another kind";
    UNREADABLE = "storage::unreadable", "an object cannot be read", "check that the store is there and that you may read it";
    NOT_WRITTEN = "storage::not-written", "an object could not be written", "make room, or check that you may write there; then start the command again";
}
