//! ERNIE 4.5, dense and with experts: Llama with a head tied to the embedding; experts in the layers that the config
//! picks.

use repro_core::source::Error;

use crate::params::attention::Grouped;
use crate::params::decoder::Decoder;
use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Defaults, HeadSize};

/// The family.
pub static FAMILY: Family = Family {
    id: "ernie4_5",
    model_types: &["ernie4_5"],
    architectures: &["Ernie4_5ForCausalLM"],
    inert: &[],
    looks_like: never,
    read,
};

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    let defaults =
        Defaults { vocabulary: 103_424, hidden: 1024, width: 3072, layers: 18, tied: true };
    let dims = fields.dims(defaults, |_| false)?;
    let heads = fields.heads(dims.h, 16, Some(2), HeadSize::Fixed(128))?;
    let bias = fields.flag("use_bias", false)?;
    let attention = Grouped::new(heads).biased(bias);
    Ok(Decoder { mlp_bias: bias, ..Decoder::new(dims, attention) }.finish())
}
