//! BERT, RoBERTa, XLM-RoBERTa and DistilBERT: learned positions, a norm after the embedding and after each half of a layer, biases
//! everywhere, and the head of the architecture.

use repro_core::source::Error;

use crate::params::family::{Blueprint, Family, never};
use crate::params::fields::{ConfigFields, Dims};
use crate::params::{Part, Size, Sums, TensorList};

/// The family.
pub static FAMILY: Family = Family {
    id: "bert",
    model_types: &["bert", "roberta", "xlm-roberta", "camembert", "distilbert"],
    architectures: &[
        "BertForMaskedLM",
        "BertForPreTraining",
        "BertForSequenceClassification",
        "BertModel",
        "CamembertForMaskedLM",
        "DistilBertForMaskedLM",
        "DistilBertForSequenceClassification",
        "DistilBertModel",
        "RobertaForMaskedLM",
        "RobertaForSequenceClassification",
        "RobertaModel",
        "XLMRobertaForMaskedLM",
        "XLMRobertaForSequenceClassification",
        "XLMRobertaModel",
    ],
    inert: &[
        "activation",
        "attention_probs_dropout_prob",
        "directionality",
        "dropout",
        "finetuning_task",
        "gradient_checkpointing",
        "hidden_dropout_prob",
        "is_decoder",
        "layer_norm_eps",
        "output_past",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
        "position_embedding_type",
        "problem_type",
        "qa_dropout",
        "seq_classif_dropout",
        "sinusoidal_pos_embds",
    ],
    looks_like: never,
    read,
};

/// The head on the encoder.
#[derive(Debug, Clone, Copy)]
struct Heads {
    /// The dense layer over the first token.
    pooler: bool,
    /// A dense layer and a norm before the words, whose matrix is the embedding.
    words: bool,
    /// A dense layer before the classes.
    dense: bool,
    classes: Size,
}

fn read(fields: &ConfigFields<'_>) -> Result<Blueprint, Error> {
    fields.off("add_cross_attention")?;
    let kind = fields.model_type().unwrap_or("bert");
    let distilled = kind == "distilbert";
    let v = fields.size("vocab_size", if kind == "roberta" { 50_265 } else { 30_522 })?;
    let h = fields.size("hidden_size|dim", 768)?;
    let i = fields.size("intermediate_size|hidden_dim", 3072)?;
    let depth = if distilled { 6 } else { 12 };
    let layers = fields.layers("num_hidden_layers|n_layers", depth, |_| false)?;
    let names = "num_attention_heads|n_heads";
    fields.head_size(names, h, fields.size(names, 12)?)?;
    let positions = fields.size("max_position_embeddings", 512)?;
    let types = if distilled { Size::ZERO } else { fields.size("type_vocab_size", 2)? };
    let heads = heads(fields)?;
    if heads.words && !fields.flag("tie_word_embeddings", true)? {
        return Err(fields.unsupported("tie_word_embeddings", "a head tied to the embedding"));
    }

    let mut tensors = TensorList::new(&layers);
    tensors.tensor(Part::Embedding, "embeddings.word_embeddings.weight", &[v, h]);
    tensors.tensor(Part::Positions, "embeddings.position_embeddings.weight", &[positions, h]);
    if types != Size::ZERO {
        tensors.tensor(Part::Other, "embeddings.token_type_embeddings.weight", &[types, h]);
    }
    tensors.norm("embeddings.LayerNorm", h, true);
    let layer = "encoder.layer.{layer}";
    for name in ["self.query", "self.key", "self.value", "output.dense"] {
        tensors.linear(Part::Attention, &format!("{layer}.attention.{name}"), h, h, true);
    }
    tensors.linear(Part::DenseFfn, &format!("{layer}.intermediate.dense"), i, h, true);
    tensors.linear(Part::DenseFfn, &format!("{layer}.output.dense"), h, i, true);
    tensors.norm(&format!("{layer}.attention.output.LayerNorm"), h, true);
    tensors.norm(&format!("{layer}.output.LayerNorm"), h, true);
    if heads.pooler {
        tensors.linear(Part::Head, "pooler.dense", h, h, true);
    }
    if heads.words {
        tensors.linear(Part::Head, "cls.predictions.transform.dense", h, h, true);
        tensors.norm("cls.predictions.transform.LayerNorm", h, true);
        tensors.tensor(Part::Head, "cls.predictions.bias", &[v]);
    }
    if heads.dense {
        tensors.linear(Part::Head, "classifier.dense", h, h, true);
    }
    if heads.classes != Size::ZERO {
        tensors.linear(Part::Head, "classifier.out_proj", heads.classes, h, true);
    }
    let l = layers.all();
    let squares = Size::from(heads.pooler) + heads.words + heads.dense;
    let closed = Sums::of([
        (Part::Embedding, v * h),
        (Part::Positions, positions * h),
        (Part::Attention, l * (h * h + h) * 4),
        (Part::DenseFfn, l * (h * i * 2 + i + h)),
        (Part::Norms, (l * 2 + 1 + heads.words) * h * 2),
        (Part::Head, squares * (h + 1) * h + v * heads.words + heads.classes * (h + 1)),
        (Part::Other, types * h),
    ]);
    let dims = Dims { v, h, i, layers, tied: heads.words };
    Ok(Blueprint { dims, mixture: None, tensors, closed, mtp: None })
}

fn heads(fields: &ConfigFields<'_>) -> Result<Heads, Error> {
    let none = Heads { pooler: false, words: false, dense: false, classes: Size::ZERO };
    let Some(architecture) = fields.architecture() else {
        return Err(fields.unsupported("architectures", "a known head on the encoder"));
    };
    let bert = architecture.starts_with("Bert");
    if architecture.ends_with("ForMaskedLM") {
        return Ok(Heads { words: true, ..none });
    }
    if architecture.ends_with("ForPreTraining") {
        return Ok(Heads { words: true, pooler: true, classes: 2.into(), ..none });
    }
    if architecture.ends_with("Model") {
        return Ok(Heads { pooler: !architecture.starts_with("DistilBert"), ..none });
    }
    Ok(Heads { pooler: bert, dense: !bert, classes: fields.labels()?, ..none })
}
