//! The forward pass of a decoder, from tokens to logits, in candle's operations that have a backward pass.

use candle_core::Tensor;

use crate::candle::EngineError;
use crate::candle::architecture::{BlockStyle, NanochatNames, NormSites, limited};
use crate::candle::attention::{AttentionContext, TokenRows};
use crate::candle::mixture::RouterOutcome;
use crate::candle::task::HiddenState;
use crate::candle::weights::CandleDecoder;

/// The result of a forward pass.
pub(crate) struct DecoderOutput {
    /// Tokens by vocabulary.
    pub logits: Tensor,
    /// Of each sparse layer.
    pub routers: Vec<RouterOutcome>,
    /// The residual stream behind each part, where it was watched.
    pub hidden: Vec<HiddenState>,
}

/// A pass under way.
struct ForwardPass<'a> {
    decoder: &'a CandleDecoder<'a>,
    context: AttentionContext,
    routers: Vec<RouterOutcome>,
    hidden: Option<Vec<HiddenState>>,
}

impl CandleDecoder<'_> {
    /// Runs a batch, and watches the residual stream where asked to.
    pub fn run(
        &self,
        batch: &TokenRows<'_>,
        is_watched: bool,
    ) -> Result<DecoderOutput, EngineError> {
        let context = AttentionContext::new(self.plan, batch, self.precision, self.device)?;
        let hidden = is_watched.then(Vec::new);
        let mut pass = ForwardPass { decoder: self, context, routers: Vec::new(), hidden };
        let (x, table) = match self.plan.style {
            BlockStyle::Llama(sites) => pass.llama(batch, sites)?,
            BlockStyle::Gpt2 { is_transposed } => pass.gpt2(batch, is_transposed)?,
            BlockStyle::Nanochat(names) => pass.nanochat(batch, names)?,
        };
        let head = if self.plan.is_tied { table } else { "lm_head.weight".to_owned() };
        let logits =
            limited(self.precision.product(&x, &self.tensor(&head)?.t()?)?, self.plan.logit_limit)?;
        Ok(DecoderOutput { logits, routers: pass.routers, hidden: pass.hidden.unwrap_or_default() })
    }
}

impl ForwardPass<'_> {
    /// Rows of a table by number.
    fn rows(&self, table: &str, numbers: &[u32]) -> Result<Tensor, EngineError> {
        let numbers = Tensor::new(numbers, self.decoder.device)?;
        Ok(self.decoder.tensor(table)?.index_select(&numbers, 0)?)
    }

    /// Keeps the residual stream behind a part, where it is watched.
    fn watch(&mut self, part: impl Fn() -> String, x: &Tensor) -> Result<(), EngineError> {
        if let Some(hidden) = &mut self.hidden {
            let rows = x.flatten_all()?.to_vec1()?;
            hidden.push(HiddenState { part: part(), rows });
        }
        Ok(())
    }

    fn llama(
        &mut self,
        batch: &TokenRows<'_>,
        sites: NormSites,
    ) -> Result<(Tensor, String), EngineError> {
        let (decoder, plan) = (self.decoder, self.decoder.plan);
        let table = "model.embed_tokens.weight";
        let mut x = self.rows(table, &batch.inputs)?;
        if let Some(factor) = plan.embedding_factor {
            x = decoder.precision.other((x * factor)?)?;
        }
        self.watch(|| "embedding".to_owned(), &x)?;
        for layer in 0..plan.layers {
            let block = format!("model.layers.{layer}");
            let h = match sites {
                NormSites::After => x.clone(),
                _ => decoder.norm(&x, &format!("{block}.input_layernorm"))?,
            };
            let mut y = self.llama_attention(&h, layer, &format!("{block}.self_attn"))?;
            if sites != NormSites::Before {
                y = decoder.norm(&y, &format!("{block}.post_attention_layernorm"))?;
            }
            x = decoder.sum(x, y)?;
            self.watch(|| format!("attention of layer {layer}"), &x)?;
            let h = match sites {
                NormSites::Before => {
                    decoder.norm(&x, &format!("{block}.post_attention_layernorm"))?
                }
                NormSites::Both => {
                    decoder.norm(&x, &format!("{block}.pre_feedforward_layernorm"))?
                }
                NormSites::After => x.clone(),
            };
            let mut y = match plan.experts_of(layer) {
                None => decoder.gated(&h, &format!("{block}.mlp"))?,
                Some(experts) => {
                    let (y, router) = decoder.mixture(experts, &h, &format!("{block}.mlp"))?;
                    self.routers.push(router);
                    y
                }
            };
            if sites != NormSites::Before {
                y = decoder.norm(&y, &format!("{block}.post_feedforward_layernorm"))?;
            }
            x = decoder.sum(x, y)?;
            self.watch(|| format!("network of layer {layer}"), &x)?;
        }
        Ok((decoder.norm(&x, "model.norm")?, table.to_owned()))
    }

    fn llama_attention(&self, h: &Tensor, layer: usize, name: &str) -> Result<Tensor, EngineError> {
        let (decoder, plan) = (self.decoder, self.decoder.plan);
        let q = self.rotated(h, layer, &format!("{name}.q"), plan.heads)?;
        let k = self.rotated(h, layer, &format!("{name}.k"), plan.shared_heads)?;
        let v = decoder.linear(h, &format!("{name}.v_proj"))?;
        let v = self.context.heads(&v, plan.shared_heads, plan.head_size)?;
        let mixed = self.context.attend(plan, layer, [&q, &k, &v])?;
        decoder.linear(&mixed, &format!("{name}.o_proj"))
    }

    /// Queries or keys: projected, normalised where the start has a norm for them, rotated.
    fn rotated(
        &self,
        h: &Tensor,
        layer: usize,
        name: &str,
        heads: usize,
    ) -> Result<Tensor, EngineError> {
        let (decoder, plan, size) = (self.decoder, self.decoder.plan, self.decoder.plan.head_size);
        let norm = format!("{name}_norm");
        // A weight as long as a head normalises each head, a longer one the whole row.
        let length = decoder.weights.get(&format!("{norm}.weight")).map(Tensor::elem_count);
        let mut x = decoder.linear(h, &format!("{name}_proj"))?;
        if length.is_some_and(|length| length != size) {
            x = decoder.norm(&x, &norm)?;
        }
        x = self.context.heads(&x, heads, size)?;
        if length == Some(size) {
            x = decoder.norm(&x, &norm)?;
        }
        Ok(self.context.rotate(plan, layer, &x)?)
    }

    fn gpt2(
        &mut self,
        batch: &TokenRows<'_>,
        is_transposed: bool,
    ) -> Result<(Tensor, String), EngineError> {
        let (decoder, plan) = (self.decoder, self.decoder.plan);
        let project = |x: &Tensor, name: &str| {
            if is_transposed { decoder.transposed(x, name) } else { decoder.linear(x, name) }
        };
        let table = "transformer.wte.weight";
        let places: Vec<u32> =
            batch.places().into_iter().cycle().take(batch.inputs.len()).collect();
        let tokens = self.rows(table, &batch.inputs)?;
        let mut x = decoder.sum(tokens, self.rows("transformer.wpe.weight", &places)?)?;
        self.watch(|| "embedding".to_owned(), &x)?;
        for layer in 0..plan.layers {
            let block = format!("transformer.h.{layer}");
            let h = decoder.norm(&x, &format!("{block}.ln_1"))?;
            let vectors = project(&h, &format!("{block}.attn.c_attn"))?;
            let mut parts = Vec::with_capacity(3);
            for part in 0..3 {
                let part = vectors.narrow(1, part * plan.width, plan.width)?;
                parts.push(self.context.heads(&part, plan.heads, plan.head_size)?);
            }
            let [q, k, v] = parts.as_slice() else { break };
            let mixed = self.context.attend(plan, layer, [q, k, v])?;
            x = decoder.sum(x, project(&mixed, &format!("{block}.attn.c_proj"))?)?;
            self.watch(|| format!("attention of layer {layer}"), &x)?;
            let h = decoder.norm(&x, &format!("{block}.ln_2"))?;
            let inner = decoder.activation(&project(&h, &format!("{block}.mlp.c_fc"))?)?;
            x = decoder.sum(x, project(&inner, &format!("{block}.mlp.c_proj"))?)?;
            self.watch(|| format!("network of layer {layer}"), &x)?;
        }
        Ok((decoder.norm(&x, "transformer.ln_f")?, table.to_owned()))
    }

    /// nanochat normalises queries and keys after their rotation.
    fn nanochat(
        &mut self,
        batch: &TokenRows<'_>,
        names: &NanochatNames,
    ) -> Result<(Tensor, String), EngineError> {
        let (decoder, plan) = (self.decoder, self.decoder.plan);
        let table = format!("{}.weight", names.table);
        let mut x = decoder.norm(&self.rows(&table, &batch.inputs)?, "")?;
        self.watch(|| "embedding".to_owned(), &x)?;
        for layer in 0..plan.layers {
            let block = format!("{}.{layer}", names.block);
            let h = decoder.norm(&x, "")?;
            let mut vectors = Vec::with_capacity(3);
            let heads = [plan.heads, plan.shared_heads, plan.shared_heads];
            for (part, heads) in names.vectors.iter().zip(heads) {
                let rows = decoder.linear(&h, &format!("{block}.{part}"))?;
                vectors.push(self.context.heads(&rows, heads, plan.head_size)?);
            }
            let [q, k, v] = vectors.as_slice() else { break };
            let q = decoder.norm(&self.context.rotate(plan, layer, q)?, "")?;
            let k = decoder.norm(&self.context.rotate(plan, layer, k)?, "")?;
            let mixed = self.context.attend(plan, layer, [&q, &k, v])?;
            x = decoder.sum(x, decoder.linear(&mixed, &format!("{block}.{}", names.output))?)?;
            self.watch(|| format!("attention of layer {layer}"), &x)?;
            let [up, down] = names.network;
            let h = decoder.norm(&x, "")?;
            let inner = decoder.activation(&decoder.linear(&h, &format!("{block}.{up}"))?)?;
            x = decoder.sum(x, decoder.linear(&inner, &format!("{block}.{down}"))?)?;
            self.watch(|| format!("network of layer {layer}"), &x)?;
        }
        Ok((decoder.norm(&x, "")?, table))
    }
}
