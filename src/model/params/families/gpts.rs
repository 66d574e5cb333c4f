//! Decoders with two norms per layer and no gate: GPT-BigCode, OPT, BLOOM, MPT and GPT-Neo. They differ in names, biases,
//! position encodings, and norms before or after the layers.

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::Dims;
use crate::params::{Layers, Part, Size, Sums, TensorList};

/// GPT-BigCode, whose heads may share one key and one value.
pub static BIGCODE: Family = Family {
    id: "gpt_bigcode",
    model_types: &["gpt_bigcode"],
    architectures: &["GPTBigCodeForCausalLM"],
    inert: &[
        "attention_softmax_in_fp32",
        "attn_pdrop",
        "embd_pdrop",
        "inference_runner",
        "max_batch_size",
        "max_sequence_length",
        "n_ctx",
        "pad_key_length",
        "pre_allocate_kv_cache",
        "resid_pdrop",
        "validate_runner_input",
    ],
    looks_like: never,
    read: |fields| {
        fields.off("add_cross_attention")?;
        let h = fields.size("n_embd|hidden_size", 768)?;
        let names = "n_head|num_attention_heads";
        let size = fields.head_size(names, h, fields.size(names, 12)?)?;
        let keys = if fields.flag("multi_query", true)? { size } else { h };
        let dims = Dims {
            v: fields.size("vocab_size", 50_257)?,
            h,
            i: fields.size_or("n_inner", h * 4, h * 4)?,
            layers: fields.layers("n_layer|num_hidden_layers", 12, |_| false)?,
            tied: fields.flag("tie_word_embeddings", true)?,
        };
        let positions = fields.size("n_positions|max_position_embeddings", 1024)?;
        let plain = Plain {
            positions: Some(("transformer.wpe", positions)),
            input: Input::Joined("attn.c_attn", keys),
            names: NAMES,
            ..Plain::new(dims)
        };
        Ok(plain.finish())
    },
};

/// OPT, with a width of its own for the embedding in one release, and two more rows of positions than it has.
pub static OPT: Family = Family {
    id: "opt",
    model_types: &["opt"],
    architectures: &["OPTForCausalLM"],
    inert: &[
        "activation_dropout",
        "activation_function",
        "dropout",
        "init_std",
        "layerdrop",
        "prefix",
    ],
    looks_like: never,
    read: |fields| {
        let h = fields.size("hidden_size", 768)?;
        fields.head_size("num_attention_heads", h, fields.size("num_attention_heads", 12)?)?;
        let dims = Dims {
            v: fields.size("vocab_size", 50_272)?,
            h,
            i: fields.size("ffn_dim", 3072)?,
            layers: fields.layers("num_hidden_layers", 12, |_| false)?,
            tied: fields.flag("tie_word_embeddings", true)?,
        };
        if fields.size("word_embed_proj_dim", 768)? != h {
            return Err(fields.unsupported("word_embed_proj_dim", "the width of the model"));
        }
        if !fields.flag("layer_norm_elementwise_affine", true)? {
            return Err(fields.unsupported("layer_norm_elementwise_affine", "norms with weights"));
        }
        let last = fields.flag("do_layer_norm_before", true)?
            && !fields.flag("_remove_final_layer_norm", false)?;
        let positions = fields.size("max_position_embeddings", 2048)? + 2;
        let plain = Plain {
            positions: Some(("model.decoder.embed_positions", positions)),
            bias: fields.flag("enable_bias", true)?,
            names: Names {
                embedding: "model.decoder.embed_tokens",
                layer: "model.decoder.layers.{layer}",
                output: "self_attn.out_proj",
                feed: ["fc1", "fc2"],
                norms: ["self_attn_layer_norm", "final_layer_norm"],
                last: if last { "model.decoder.final_layer_norm" } else { "" },
            },
            input: Input::Each(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
            ..Plain::new(dims)
        };
        Ok(plain.finish())
    },
};

/// BLOOM, with fixed position biases and a norm on the embedding.
pub static BLOOM: Family = Family {
    id: "bloom",
    model_types: &["bloom"],
    architectures: &["BloomForCausalLM", "BloomModel"],
    inert: &[
        "apply_residual_connection_post_layernorm",
        "attention_softmax_in_fp32",
        "bias_dropout_fusion",
        "hidden_dropout",
        "masked_softmax_fusion",
        "n_inner",
        "offset_alibi",
        "seq_length",
        "skip_bias_add",
        "skip_bias_add_qkv",
        "slow_but_exact",
        "unk_token_id",
    ],
    looks_like: never,
    read: |fields| {
        let h = fields.size("hidden_size|n_embed", 64)?;
        let names = "n_head|num_attention_heads";
        fields.head_size(names, h, fields.size(names, 8)?)?;
        let dims = Dims {
            v: fields.size("vocab_size", 250_880)?,
            h,
            i: h * 4,
            layers: fields.layers("n_layer|num_hidden_layers", 2, |_| false)?,
            tied: fields.flag("tie_word_embeddings", true)?,
        };
        // A model without a head is its decoder alone, as one whose head is tied.
        if fields.architecture() == Some("BloomModel") && !dims.tied {
            return Err(fields.unsupported("tie_word_embeddings", "a tied head"));
        }
        let plain = Plain {
            first_norm: "transformer.word_embeddings_layernorm",
            input: Input::Joined("self_attention.query_key_value", h),
            names: Names {
                embedding: "transformer.word_embeddings",
                output: "self_attention.dense",
                feed: ["mlp.dense_h_to_4h", "mlp.dense_4h_to_h"],
                norms: ["input_layernorm", "post_attention_layernorm"],
                ..NAMES
            },
            ..Plain::new(dims)
        };
        Ok(plain.finish())
    },
};

/// MPT, without biases.
pub static MPT: Family = Family {
    id: "mpt",
    model_types: &["mpt"],
    architectures: &["MptForCausalLM", "MPTForCausalLM"],
    inert: &[
        "emb_pdrop",
        "embedding_fraction",
        "init_config",
        "init_device",
        "logit_scale",
        "max_seq_len",
        "norm_type",
        "resid_pdrop",
        "tokenizer_name",
        "verbose",
    ],
    looks_like: never,
    read: |fields| {
        let h = fields.size("d_model|hidden_size", 2048)?;
        let names = "n_heads|num_attention_heads";
        fields.head_size(names, h, fields.size(names, 16)?)?;
        let dims = Dims {
            v: fields.size("vocab_size", 50_368)?,
            h,
            i: h * 4,
            layers: fields.layers("n_layers|num_hidden_layers", 24, |_| false)?,
            tied: fields.flag("tie_word_embeddings", true)?,
        };
        // The port has this ratio, and neither biases nor learned positions, regardless of the config.
        fields.exactly("expansion_ratio", 4)?;
        if !fields.flag("no_bias", true)? {
            return Err(fields.unsupported("no_bias", "`no_bias` on"));
        }
        if fields.given("attn_config")? {
            let attention = fields.table("attn_config")?;
            attention.off("qk_ln")?;
            if !attention.flag("alibi", true)? {
                return Err(attention.unsupported("alibi", "`alibi` on"));
            }
            // Any number of key-value heads other than that of the heads has a different layout.
            if attention.given("kv_n_heads")? || attention.given("attn_type")? {
                attention.word("attn_type", "multihead_attention", "multihead_attention")?;
                let heads = fields.size(names, 16)?;
                if attention.size_or("kv_n_heads", heads, heads)? != heads {
                    return Err(attention.unsupported("kv_n_heads", "the number of heads"));
                }
            }
            attention.finish(&["attn_impl", "attn_pdrop", "attn_uses_sequence_id", "prefix_lm"])?;
        }
        fields.flag("learned_pos_emb", true)?;
        let plain = Plain {
            bias: false,
            norm_bias: false,
            input: Input::Joined("attn.Wqkv", h),
            names: Names {
                layer: "transformer.blocks.{layer}",
                output: "attn.out_proj",
                feed: ["ffn.up_proj", "ffn.down_proj"],
                norms: ["norm_1", "norm_2"],
                last: "transformer.norm_f",
                ..NAMES
            },
            ..Plain::new(dims)
        };
        Ok(plain.finish())
    },
};

/// GPT-Neo, whose queries, keys and values have no biases.
pub static NEO: Family = Family {
    id: "gpt_neo",
    model_types: &["gpt_neo"],
    architectures: &["GPTNeoForCausalLM"],
    inert: &[
        "activation_function",
        "attention_layers",
        "attention_types",
        "embed_dropout",
        "gradient_checkpointing",
        "resid_dropout",
        "window_size",
    ],
    looks_like: never,
    read: |fields| {
        let h = fields.size("hidden_size", 2048)?;
        let names = "num_heads|num_attention_heads";
        fields.head_size(names, h, fields.size(names, 16)?)?;
        let dims = Dims {
            v: fields.size("vocab_size", 50_257)?,
            h,
            i: fields.size_or("intermediate_size", h * 4, h * 4)?,
            layers: fields.layers("num_layers|num_hidden_layers", 24, |_| false)?,
            tied: fields.flag("tie_word_embeddings", true)?,
        };
        let positions = fields.size("max_position_embeddings", 2048)?;
        let below = ["attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"];
        let plain = Plain {
            positions: Some(("transformer.wpe", positions)),
            input: Input::Each(below),
            input_bias: false,
            names: Names { output: "attn.attention.out_proj", ..NAMES },
            ..Plain::new(dims)
        };
        Ok(plain.finish())
    },
};

/// The tensor names.
struct Names {
    embedding: &'static str,
    layer: &'static str,
    output: &'static str,
    feed: [&'static str; 2],
    norms: [&'static str; 2],
    /// Empty if there is no norm after the layers.
    last: &'static str,
}

const NAMES: Names = Names {
    embedding: "transformer.wte",
    layer: "transformer.h.{layer}",
    output: "attn.c_proj",
    feed: ["mlp.c_fc", "mlp.c_proj"],
    norms: ["ln_1", "ln_2"],
    last: "transformer.ln_f",
};

/// How queries, keys and values are projected.
enum Input {
    /// One matrix each.
    Each([&'static str; 3]),
    /// One joint matrix, with keys of this width.
    Joined(&'static str, Size),
}

/// A decoder of this kind.
struct Plain {
    dims: Dims,
    positions: Option<(&'static str, Size)>,
    /// Empty if the embedding has no norm.
    first_norm: &'static str,
    input: Input,
    input_bias: bool,
    bias: bool,
    norm_bias: bool,
    names: Names,
}

impl Plain {
    fn new(dims: Dims) -> Self {
        let (input, names) = (Input::Joined("", Size::ZERO), NAMES);
        let (input_bias, bias, norm_bias) = (true, true, true);
        Self { dims, positions: None, first_norm: "", input, input_bias, bias, norm_bias, names }
    }

    fn finish(self) -> Blueprint {
        let (tensors, closed) = (self.list(), self.closed());
        Blueprint { dims: self.dims, mixture: None, tensors, closed, mtp: None }
    }

    fn list(&self) -> TensorList {
        let Dims { v, h, i, ref layers, tied } = self.dims;
        let Names { embedding, layer, output, feed: [up, down], norms, last } = &self.names;
        let mut tensors = TensorList::new(layers);
        tensors.linear(Part::Embedding, embedding, v, h, false);
        if let Some((name, rows)) = self.positions {
            tensors.linear(Part::Positions, name, rows, h, false);
        }
        let input_bias = self.bias && self.input_bias;
        match self.input {
            Input::Each(names) => {
                for name in names {
                    let name = format!("{layer}.{name}");
                    tensors.linear(Part::Attention, &name, h, h, input_bias);
                }
            }
            Input::Joined(name, keys) => {
                let name = format!("{layer}.{name}");
                tensors.linear(Part::Attention, &name, h + keys * 2, h, input_bias);
            }
        }
        tensors.linear(Part::Attention, &format!("{layer}.{output}"), h, h, self.bias);
        tensors.linear(Part::DenseFfn, &format!("{layer}.{up}"), i, h, self.bias);
        tensors.linear(Part::DenseFfn, &format!("{layer}.{down}"), h, i, self.bias);
        for norm in norms {
            tensors.norm(&format!("{layer}.{norm}"), h, self.norm_bias);
        }
        for norm in [self.first_norm, last] {
            if !norm.is_empty() {
                tensors.norm(norm, h, self.norm_bias);
            }
        }
        if !tied {
            tensors.tensor(Part::Head, "lm_head.weight", &[v, h]);
        }
        tensors
    }

    fn closed(&self) -> Sums {
        let Dims { v, h, i, ref layers, tied } = self.dims;
        let l = Layers::all(layers);
        let k = match self.input {
            Input::Each(_) => h,
            Input::Joined(_, keys) => keys,
        };
        let wide = h + k * 2;
        let biases = wide * (self.bias && self.input_bias) + h * self.bias;
        let ends = Size::from(!self.first_norm.is_empty()) + !self.names.last.is_empty();
        Sums::of([
            (Part::Embedding, v * h),
            (Part::Positions, self.positions.map_or(Size::ZERO, |(_, rows)| rows * h)),
            (Part::Attention, l * (h * (wide + h) + biases)),
            (Part::DenseFfn, l * (h * i * 2 + (i + h) * self.bias)),
            (Part::Norms, (l * 2 + ends) * h * (Size::from(1) + self.norm_bias)),
            (Part::Head, v * h * !tied),
        ])
    }
}
