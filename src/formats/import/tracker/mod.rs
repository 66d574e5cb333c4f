//! What trackers of experiments keep: TensorBoard, W&B, MLflow, DVCLive, and small documents of results.

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
