//! The integration tests, in one binary.

mod attacks;
mod audits;
mod bundle;
mod check;
mod cli;
mod cluster;
mod compare;
mod core;
#[cfg(feature = "train")]
mod device;
mod diff;
#[cfg(feature = "train")]
mod draft;
mod emitter;
#[cfg(feature = "candle")]
mod engines;
#[cfg(feature = "train")]
mod evaluation;
mod evaluations;
mod executing;
mod functions;
mod fuzz;
mod gate;
#[cfg(feature = "train")]
mod golden;
mod growth;
mod hidden;
mod import;
mod independence;
mod index;
mod init;
#[cfg(all(feature = "train", unix))]
mod kills;
#[cfg(unix)]
mod language;
mod layers;
#[cfg(unix)]
mod links;
mod many;
#[cfg(unix)]
mod mcp;
mod mutations;
mod page;
mod params;
mod posts;
mod program;
mod races;
#[cfg(unix)]
mod readers;
mod readme;
mod relations;
#[cfg(feature = "train")]
mod replay;
mod report;
mod review;
mod schemas;
#[cfg(unix)]
mod sentences;
mod shared;
mod signature;
#[cfg(feature = "train")]
mod started;
#[cfg(feature = "train")]
mod states;
mod statistics;
mod stats;
#[cfg(feature = "cloud")]
mod storage;
#[cfg(feature = "train")]
mod train;
#[cfg(feature = "train")]
mod twin;
mod vouching;
mod writing;

use fuzz::targets::sealed;
