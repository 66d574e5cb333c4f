//! The formulas of equal-resource comparisons: what a model of a given shape stores, multiplies and
//! costs, and how much more data a mixture takes than a dense model of the same size and compute.
//!
//! A shape is width D, L layers of full multi-head attention (4·D² weights) and gated feed-forward
//! blocks (3·e·D² weights at the expansion e = inner width over D), so D = ζ·L. A token of a mixture
//! passes the expansion β = (K·D_e + D_se)/D of the µ = (E·D_e + D_se)/D that are stored. The context
//! is γ·D tokens. Embeddings, head, norms and router are left out.
//!
//! An entry that transcribes a printed formula quotes it in its source, letter by letter.

use super::registry::formulas;
use super::{Formula, FormulaTree, InputSpec, Precision, number};
use crate::decimal::Unit;

/// Weights of one layer in units of D²: attention, and gate, up and down at this expansion.
fn layer(expansion: FormulaTree) -> FormulaTree {
    number(4) + number(3) * expansion
}

/// Forward FLOPs of one layer for one token in units of D²: two for each weight, and two for each
/// product of the scores with keys and with values.
fn flops_of_layer(expansion: FormulaTree, gamma: FormulaTree) -> FormulaTree {
    number(2) * layer(expansion) + number(4) * gamma
}

formulas! {
    ffn_expansion(
        experts: Count "experts: the K per token for β, all E for µ",
        expert_width: Count "inner width of one expert",
        shared_width: Count "total inner width of the shared experts; 0 if there are none",
        width: Count "width D of the model",
    ) -> Plain = (experts * expert_width + shared_width) / width;
        what "Feed-forward width over model width: β for the experts that a token uses, µ for all.";
        source "definition";
        misleads "A dense layer has its own expansion; `mixed_expansion` takes the mean over layers.";
        example ["4", "512", "2,048", "1,024"] => "4";

    mixed_expansion(
        dense_layers: Count "layers without experts",
        layers: Count "all layers",
        dense: Auto "expansion of a dense layer",
        experts: Auto "expansion of a layer with experts: β or µ",
    ) -> Plain = (dense_layers.clone() * dense + (layers.clone() - dense_layers) * experts) / layers;
        what "Mean expansion over the layers. Stored and multiplied weights are linear in the \
            expansion of each layer, so every formula of this family holds for a model with some \
            dense layers if β and µ are these means.";
        source "derived from `shape_params_by_layer`, summed over layers of two kinds";
        misleads "β and µ each need their own mean: the dense layers count in full in both.";
        example ["1", "16", "2.75", "22.0"] => "20.8";

    shape_params(
        zeta: Auto "aspect ratio ζ = D/L",
        layers: Count "layers L",
        expansion: Auto "α of a dense model; µ of a mixture, or β for the weights that a token uses",
    ) -> Plain = layer(expansion) * zeta.clone() * zeta
            * layers.clone() * layers.clone() * layers;
        what "Weights without embeddings, head, norms and router.";
        source "review of Mixture-of-Experts Can Surpass Dense LLMs, key design 1: \
            `N\\approx(4+3\\alpha)\\zeta^2 L^3`";
        misleads "Grouped or latent attention has fewer weights than 4·D² per layer, blocks \
            without a gate have 2·e·D², and small models are mostly embeddings.";
        example ["128", "32", "2.6875"] => "6.48B";

    shape_params_by_layer(
        zeta: Auto "aspect ratio ζ = D/L",
        layers: Count "layers L",
        expansion: Auto "feed-forward width over D",
    ) -> Plain = {
        let width = zeta * layers.clone();
        let attention = number(4) * width.clone() * width.clone();
        layers * (attention + number(3) * width.clone() * (expansion * width))
    };
        what "The same weights layer by layer: four D × D matrices of attention, three of D × eD.";
        source "derivation of `shape_params`: D = ζ·L put into L·(4·D² + 3·D·eD)";
        misleads "As `shape_params`.";
        example ["128", "32", "2.6875"] => "6.48B";

    shape_activation_rate(
        beta: Auto "expansion β that a token uses",
        mu: Auto "expansion µ that is stored",
    ) -> Plain = layer(beta) / layer(mu);
        what "The share r_a of the weights that one token uses: all of attention, and β of µ for \
            the experts.";
        source "review of Mixture-of-Experts Can Surpass Dense LLMs, key design 1: \
            `r_a=N_a/N=(4+3\\beta)/(4+3\\mu)`";
        misleads "Without embeddings; and attention keeps it above 4/(4+3µ) however few experts a \
            token uses.";
        example ["3.3333", "22"] => "0.2000";

    shape_forward_flops(
        zeta: Auto "aspect ratio ζ = D/L",
        layers: Count "layers L",
        expansion: Auto "α of a dense model, β of a mixture",
        gamma: Auto "context in tokens over D",
    ) -> Plain = {
        let cube = zeta.clone() * zeta * layers.clone() * layers.clone() * layers;
        number(2) * (layer(expansion) * cube.clone()) + number(4) * cube * gamma
    };
        what "M, the forward FLOPs of one token: two for each weight N and 4·T·D per layer for \
            scores over a context of T = γ·D tokens.";
        source "review of Mixture-of-Experts Can Surpass Dense LLMs, key design 1: \
            `M\\approx 2N+4\\zeta^2\\gamma L^3`";
        misleads "It counts the whole square of scores, though a causal mask needs half of it, and \
            no head.";
        example ["128", "32", "2.6875", "0.5000"] => "1.40e10";

    shape_forward_flops_by_layer(
        zeta: Auto "aspect ratio ζ = D/L",
        layers: Count "layers L",
        expansion: Auto "α of a dense model, β of a mixture",
        gamma: Auto "context in tokens over D",
    ) -> Plain = {
        let width = zeta * layers.clone();
        let weights = number(4) * width.clone() * width.clone()
            + number(3) * width.clone() * (expansion * width.clone());
        let scores = number(2) * width.clone() * (gamma * width);
        layers * (number(2) * weights + number(2) * scores)
    };
        what "The same FLOPs layer by layer: two for each weight, two for each product with a key \
            and with a value, each D wide for each of the γ·D tokens.";
        source "derivation of `shape_forward_flops` and `mixture_forward_flops`; Chowdhery et al., \
            PaLM, 2022, appendix B counts the same scores";
        misleads "As `shape_forward_flops`.";
        example ["128", "32", "2.6875", "0.5000"] => "1.40e10";

    mixture_forward_flops(
        zeta: Auto "aspect ratio ζ = D/L",
        layers: Count "layers L",
        beta: Auto "expansion β that a token uses",
        mu: Auto "expansion µ that is stored",
        gamma: Auto "context in tokens over D",
    ) -> Plain = {
        let cube = zeta.clone() * zeta * layers.clone() * layers.clone() * layers;
        let params = layer(mu.clone()) * cube.clone();
        number(2) * (layer(beta) / layer(mu)) * params + number(4) * cube * gamma
    };
        what "M of a mixture: two for each of the r_a·N weights that a token uses, and the scores.";
        source "review of Mixture-of-Experts Can Surpass Dense LLMs, key design 1: \
            `M\\approx 2r_aN+4\\zeta^2\\gamma L^3`";
        misleads "Attention scores do not shrink with the activation rate, so M falls more slowly \
            than r_a.";
        example ["88", "16", "3.3333", "22.0", "1.5000"] => "1.08e9";

    relative_cost(
        alpha: Auto "expansion α of the dense model",
        beta: Auto "expansion β that a token of the mixture uses",
        mu: Auto "expansion µ that the mixture stores",
        gamma_d: Auto "context over D of the dense model",
        gamma_m: Auto "context over D of the mixture",
    ) -> Plain = (flops_of_layer(beta, gamma_m) / layer(mu))
            / (flops_of_layer(alpha.clone(), gamma_d) / layer(alpha));
        what "M of a mixture over M of a dense model with equally many weights: M/N of the one over \
            M/N of the other, where the common D²·L cancels. It equals \
            r_a·(4+3α)(4+3β+2γ_m)/((4+3β)(4+3α+2γ_d)), is r_a without context, and 1 where β = µ = α \
            and the contexts are alike.";
        source "derived from `shape_params_by_layer` and `shape_forward_flops_by_layer`";
        misleads "At equal N, ζ and context in tokens the mixture is narrower, so its γ is larger: \
            (γ_m/γ_d)³ = (4+3µ)/(4+3α).";
        example ["2.75", "3.3333", "22.0", "1.0000", "1.7500"] => "0.215";

    data_multiplier(
        alpha: Auto "expansion α of the dense model",
        beta: Auto "expansion β that a token of the mixture uses",
        mu: Auto "expansion µ that the mixture stores",
        gamma_d: Auto "context over D of the dense model",
        gamma_m: Auto "context over D of the mixture",
    ) -> Plain = (flops_of_layer(alpha.clone(), gamma_d) / layer(alpha))
            / (flops_of_layer(beta, gamma_m) / layer(mu));
        what "How many times the tokens of a dense model a mixture trains on at equal N and C: as \
            C = 3·M·D, it is M_dense/M_mixture, the reciprocal of `relative_cost`.";
        source "derived from C = 3·M·D and `relative_cost`";
        misleads "It counts tokens trained, not unique tokens: with the data fixed it is the \
            number of epochs.";
        example ["2.75", "3.3333", "22.0", "1.0000", "1.7500"] => "4.64";

    epochs_of_share(
        share: Auto "unique tokens over all tokens trained",
    ) -> Plain = number(1) / share;
        what "How often each token is seen if the unique tokens are this share of all.";
        source "`epochs`, for a share";
        misleads "Under strict reuse the share is the relative cost, which is the activation rate \
            only without context.";
        example ["0.25"] => "4";

    relative_cost_as_printed(
        alpha: Auto "expansion α of the dense model",
        beta: Auto "expansion β that a token of the mixture uses",
        mu: Auto "expansion µ that the mixture stores",
        gamma_d: Auto "context over D of the dense model",
        gamma_m: Auto "context over D of the mixture",
    ) -> Plain = (layer(beta.clone()) / layer(mu))
            * ((layer(alpha) + number(2) * gamma_d) / (layer(beta) + number(2) * gamma_m));
        what "The relative cost as one review prints it, kept for comparison with `relative_cost`.";
        source "review of Mixture-of-Experts Can Surpass Dense LLMs, key design 1: \
            `R_c=r_a\\frac{4+3\\alpha+2\\gamma_d}{4+3\\beta+2\\gamma_m}`";
        misleads "It is not the cost at equal N: without context it is (4+3α)/(4+3µ), whatever a \
            token uses, where the cost is r_a. Do not compute with it.";
        example ["2.75", "3.3333", "22.0", "1.0000", "1.7500"] => "0.163";
}
