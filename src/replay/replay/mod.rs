//! Replay: stretches of training are executed again, and what comes out is held against what the run says
//! came out.
//!
//! Owns the execution: what a bundle says of a stretch (`slice`), what it starts from (`start`), the
//! steps themselves (`course`), the order in which they are compared (`step`), tolerances that are the
//! verifier's own (`calibration`), and planted faults, which show what a stretch can see (`fault`).
//! Which stretch is meant and what a replay came to are data of
//! `repro_model::replay`; whether a claim follows is left to the judge.
//!
//! A run in our arithmetic is compared bit for bit, after the golden bits have come out on this machine.
//! Any other run is compared within a tolerance that is calibrated here, and never one that its author
//! supplies. The numbers of a calibration are computed in portable arithmetic too, so a report is the same
//! on every machine.

mod account;
mod calibration;
#[cfg(feature = "candle")]
mod candle;
mod corpora;
mod course;
mod described;
mod engine;
mod evaluations;
mod fault;
mod first_batch;
mod first_rows;
mod first_settings;
mod kept_end;
mod machine;
mod names;
#[cfg(not(feature = "candle"))]
mod no_candle;
mod operations;
mod passed;
mod records;
mod second;
mod session;
mod settings;
mod slice;
mod start;
mod stated;
mod step;
mod training;
mod uncompared;
mod whole;

#[cfg(not(feature = "candle"))]
use no_candle as candle;

pub use corpora::Corpora;
pub use engine::{beginning, calibrate, cost, micro_batches, replay};
pub use first_batch::{BatchOutcome, FirstBatch, PartDifference, first_batch};
pub use machine::{Machine, Progress, ReplayPhase, on_threads};
pub use settings::{Setting, settings};
