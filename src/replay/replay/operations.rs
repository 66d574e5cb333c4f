//! The cost of a token.

use crate::RunShape;
use repro_bundle::bundle::{Bundle, CONFIG};
use repro_core::source::Error;

/// The operations of a token, forward and backward: six for each parameter, and, as PaLM counts them (appendix B), twelve in each
/// layer for each number of its width and each token that is looked at.
pub fn operations_of_a_token(bundle: &Bundle) -> Result<f64, Error> {
    let config = bundle.document(CONFIG)?;
    let shape = RunShape::read(config.root())?;
    let objects = repro_model::params::recompute(config)?;
    let active = objects.count(
        repro_model::params::ParameterCount::Active,
        repro_model::params::Convention::Default,
    );
    let of_config = |key| config.root().get(key).and_then(|node| node.integer().ok()).unwrap_or(0);
    let width = of_config("num_hidden_layers") as f64 * of_config("hidden_size") as f64;
    Ok(6.0 * active as f64 + 12.0 * width * shape.seq_len as f64)
}
