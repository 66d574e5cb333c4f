//! The names of tensors in checkpoints of other programs.
//!
//! Wrappers of a model add prefixes to names (`module.` of data parallelism, `_orig_mod.` of `torch.compile`,
//! `_fsdp_wrapped_module.` of FSDP), and is left out. Hugging Face's Llama uses the names that we use. Its Mixtral calls the router of a block
//! `block_sparse_moe.gate`, and the matrices of expert `e` `block_sparse_moe.experts.e.w1` (gate), `w3`
//! (up) and `w2` (down).

use crate::checkpoint::MOMENTS;

/// Parts of names that are of what wraps a model.
const WRAPPERS: [&str; 4] =
    ["module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"];

/// The name that a tensor of a checkpoint has in our models; moments keep their prefix.
pub fn ours(theirs: &str) -> String {
    let prefix = MOMENTS.into_iter().find(|prefix| theirs.starts_with(prefix)).unwrap_or_default();
    let name = theirs.strip_prefix(prefix).unwrap_or(theirs);
    let parts: Vec<_> = name.split('.').filter(|part| !WRAPPERS.contains(part)).collect();
    let name = parts.join(".");
    format!("{prefix}{}", of_mixtral(&name).unwrap_or(name))
}

/// The name of a tensor of a sparse block.
fn of_mixtral(name: &str) -> Option<String> {
    let (block, part) = name.split_once(".block_sparse_moe.")?;
    let Some(expert) = part.strip_prefix("experts.") else {
        return Some(format!("{block}.mlp.{part}"));
    };
    let (number, matrix) = expert.split_once('.')?;
    let matrix = match matrix {
        "w1.weight" => "gate_proj.weight",
        "w2.weight" => "down_proj.weight",
        "w3.weight" => "up_proj.weight",
        _ => return None,
    };
    Some(format!("{block}.mlp.experts.{number}.{matrix}"))
}

#[cfg(test)]
mod tests {
    use super::ours;

    #[test]
    fn names_of_llama_and_mixtral_are_understood() {
        for (theirs, wanted) in [
            ("model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.q_proj.weight"),
            ("model.layers.3.block_sparse_moe.gate.weight", "model.layers.3.mlp.gate.weight"),
            (
                "model.layers.3.block_sparse_moe.experts.11.w1.weight",
                "model.layers.3.mlp.experts.11.gate_proj.weight",
            ),
            (
                "optimizer.v.model.layers.0.block_sparse_moe.experts.1.w2.weight",
                "optimizer.v.model.layers.0.mlp.experts.1.down_proj.weight",
            ),
            ("module._orig_mod.model.norm.weight", "model.norm.weight"),
            (
                "optimizer.m._fsdp_wrapped_module.model.layers.0._fsdp_wrapped_module.mlp.up_proj.weight",
                "optimizer.m.model.layers.0.mlp.up_proj.weight",
            ),
            (
                "model.layers.3.block_sparse_moe.experts.0.w3.weight",
                "model.layers.3.mlp.experts.0.up_proj.weight",
            ),
            (
                "model.layers.3.block_sparse_moe.experts.0.w4.weight",
                "model.layers.3.block_sparse_moe.experts.0.w4.weight",
            ),
        ] {
            assert_eq!(ours(theirs), wanted);
        }
    }
}
