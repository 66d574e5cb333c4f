//! Readers for experiment trackers (TensorBoard, W&B, MLflow, DVCLive) and small result documents.

pub mod dvclive;
pub mod files;
pub mod mlflow;
pub mod nanochat;
mod protobuf;
pub mod results;
pub mod settings;
pub mod tensorboard;
mod tfrecord;
pub mod wandb;
