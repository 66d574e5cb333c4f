//! The table of formulas. To add one, add one entry: its name and inputs, its expression, what it is,
//! its source, how it can mislead, and an example. The example is its test, and its text is its help.
//!
//! An input written `name[many]` may be given several times; it stands last, and only inside
//! `total()`, `multiplied()` and `count()`.

use super::{Formula, FormulaTree, InputSpec, Precision, number};
use crate::decimal::Unit;

macro_rules! formulas {
    ($($name:ident($($input:ident $([$many:ident])?: $precision:ident $doc:literal),+ $(,)?) -> $unit:ident = $expression:expr;
        what $what:literal;
        source $source:literal;
        misleads $misleads:literal;
        example [$($value:literal),+] => $claimed:literal;
    )+) => {
        /// The formulas of this table, in the order of the help.
        pub static FORMULAS: &[Formula] = &[$(Formula {
            name: stringify!($name),
            inputs: &[$(InputSpec {
                name: stringify!($input),
                precision: Precision::$precision,
                many: formulas!(@given $($many)?),
                doc: $doc,
            }),+],
            expression: || {
                let [$($input),+] = std::array::from_fn(FormulaTree::Input);
                $expression
            },
            unit: Unit::$unit,
            what: $what,
            source: $source,
            misleads: $misleads,
            example: (&[$($value),+], $claimed),
        }),+];
    };
    (@given) => { false };
    (@given many) => { true };
}
pub(super) use formulas;

formulas! {
    // Plain arithmetic between printed numbers.

    ratio(a: Auto "the number divided", b: Auto "the number it is divided by") -> Plain = a / b;
        what "How large a is, measured in b.";
        source "definition";
        misleads "A ratio of losses is not a ratio of compute or of quality, and it hides which \
            side is the baseline.";
        example ["1.5", "2.0"] => "0.75";

    multiple(a: Auto "the larger side, usually", b: Auto "the baseline") -> Times = a / b;
        what "How many times b is a.";
        source "definition";
        misleads "`1.5× faster` can mean a ratio of times or of rates, and `2× more` is read as \
            3× by some.";
        example ["34.4", "10.0"] => "3.44×";

    delta(a: Auto "the value", b: Auto "the baseline") -> Plain = a - b;
        what "How far a lies above b; negative below.";
        source "definition";
        misleads "The difference of two rounded numbers is known to a whole unit in the last \
            place, not to half.";
        example ["3.280", "3.310"] => "-0.030";

    distance(a: Auto "one value", b: Auto "the other") -> Plain = (a - b).abs();
        what "How far two values lie apart, without direction.";
        source "definition";
        misleads "It hides which of the two is better.";
        example ["3.280", "3.310"] => "0.030";

    relative_delta(
        a: Auto "the value",
        b: Auto "the baseline",
    ) -> Percent = (a - b.clone()) / b * 100;
        what "How far a lies above b, in percent of b.";
        source "definition";
        misleads "It depends on which side is the baseline: +25% one way is -20% the other way.";
        example ["12.5", "10.0"] => "25%";

    percent(part: Auto "the part", whole: Auto "the whole") -> Percent = part / whole * 100;
        what "What share of the whole the part is.";
        source "definition";
        misleads "The part must lie inside the whole, and the whole must be the one that the \
            sentence names.";
        example ["6", "64"] => "9.4%";

    percentage_points(
        a: Auto "a share, as 24% or 0.24",
        b: Auto "the share it is compared with",
    ) -> Points = (a - b) * 100;
        what "The difference of two shares, in percentage points.";
        source "definition";
        misleads "From 20% to 24% is 4 percentage points, but 20 percent.";
        example ["24.0%", "20.0%"] => "4.0 pp";

    sum(terms[many]: Auto "what is added") -> Plain = terms.total();
        what "The sum of all terms.";
        source "definition";
        misleads "Rounded parts need not add up to the rounded whole: the slack grows with every \
            part.";
        example ["0.10", "0.20", "0.30"] => "0.60";

    product(factors[many]: Auto "what is multiplied") -> Plain = factors.multiplied();
        what "The product of all factors.";
        source "definition";
        misleads "The relative slack of the factors adds up.";
        example ["8", "16", "1,024"] => "131,072";

    mean(values[many]: Auto "what is averaged") -> Plain = values.clone().total() / values.count();
        what "The arithmetic mean.";
        source "definition";
        misleads "A mean of ratios is not the ratio of the means, and unequal groups need weights.";
        example ["3.27", "3.28", "3.30"] => "3.283";

    scaled(
        value: Auto "the value",
        ratio: Measured "what it is multiplied by, as measured",
    ) -> Plain = value * ratio;
        what "A value times a measured ratio.";
        source "definition";
        misleads "A ratio printed with two digits leaves the result with two digits.";
        example ["100", "1.70×"] => "170";

    fraction_of(
        fraction: Coefficient "a declared share: 0.5 for a half, or 40%",
        whole: Auto "what it is a share of",
    ) -> Plain = fraction * whole;
        what "A declared share of a whole.";
        source "definition";
        misleads "If the share was itself rounded, use `scaled`.";
        example ["40%", "5,000"] => "2,000";

    remainder(
        a: Count "the number divided",
        b: Count "the number it is divided by",
    ) -> Plain = a.clone() - (a / b.clone()).floor() * b;
        what "The remainder of a divided by b.";
        source "Euclidean division";
        misleads "It says whether a step lies on a grid only if the grid begins at 0.";
        example ["8,330", "128"] => "10";

    grid_points(
        first: Count "the first step that counts",
        last: Count "the last step that counts",
        every: Count "the steps from one point to the next",
    ) -> Plain = (last - first) / every + 1;
        what "How many points a grid of steps has, including both ends.";
        source "definition";
        misleads "It is a whole number only if the last step lies on the grid that begins at the \
            first.";
        example ["1,000", "7,000", "100"] => "61";

    // Tokens, steps and schedules.

    tokens(
        steps: Auto "optimizer steps",
        batch: Auto "sequences per step, over all devices and accumulation steps",
        length: Auto "tokens per sequence",
    ) -> Plain = steps * batch * length;
        what "Training tokens from steps, batch and length.";
        source "definition";
        misleads "A batch given for one device or one accumulation step is too small by that \
            factor; padding and masked tokens count here.";
        example ["1,000", "512", "1,024"] => "524,288,000";

    tokens_from_step(
        steps: Auto "optimizer steps",
        tokens_per_step: Auto "tokens per step",
    ) -> Plain = steps * tokens_per_step;
        what "Training tokens from steps and tokens per step.";
        source "definition";
        misleads "A batch size that was ramped up makes this an upper bound.";
        example ["2,000", "524,288"] => "1.049B";

    schedule_steps(
        tokens: Auto "training tokens",
        tokens_per_step: Auto "tokens per step",
    ) -> Plain = tokens / tokens_per_step;
        what "How many steps a token budget lasts.";
        source "definition";
        misleads "Step counts are whole, so this was rounded; `horizon_steps` checks the rounding \
            rule.";
        example ["1,048,576,000", "524,288"] => "2,000";

    schedule_total(
        parts[many]: Auto "the consecutive parts, in steps or tokens",
    ) -> Plain = parts.total();
        what "The length of a schedule from its parts.";
        source "definition";
        misleads "If warmup lies inside hold, do not give it: which parts are given declares this.";
        example ["100", "1,500", "400"] => "2,000";

    epochs(
        tokens: Auto "training tokens",
        unique: Auto "unique tokens in the data",
    ) -> Plain = tokens / unique;
        what "How often each token of the data was seen.";
        source "definition";
        misleads "It assumes even sampling; a mixture repeats some sources more than others.";
        example ["40B", "10B"] => "4";

    tokens_per_expert(
        tokens: Auto "training tokens",
        k: Count "experts per token",
        experts: Count "routed experts",
    ) -> Plain = tokens * k / experts;
        what "Tokens that one routed expert sees if routing is even.";
        source "definition";
        misleads "It is a mean: routing is rarely even, and dropped tokens are counted.";
        example ["64,000,000", "2", "16"] => "8,000,000";

    tokens_for_expert(
        tokens_per_expert: Auto "tokens that each expert should see",
        experts: Count "routed experts",
        k: Count "experts per token",
    ) -> Plain = tokens_per_expert * experts / k;
        what "Training tokens needed for each expert to see the given number.";
        source "`tokens_per_expert`, solved for the tokens";
        misleads "It assumes even routing.";
        example ["8,000,000", "16", "2"] => "64,000,000";

    // Shapes.

    active_ffn_width(
        k: Count "routed experts per token",
        shared: Count "shared experts",
        d_expert: Count "inner width of one expert",
    ) -> Plain = (k + shared) * d_expert;
        what "Inner feed-forward width that one token passes through.";
        source "Dai et al., DeepSeekMoE, 2024 (fine-grained and shared experts)";
        misleads "Shared experts may have another width, and equal width is not equal compute \
            where the router or the gate differ.";
        example ["6", "2", "384"] => "3,072";

    ffn_params(
        hidden: Count "model width H",
        width: Count "inner width W",
    ) -> Plain = number(3) * hidden * width;
        what "Weights of one gated feed-forward block: gate, up and down.";
        source "Shazeer, GLU Variants Improve Transformer, 2020";
        misleads "A block without a gate has 2·H·W, and biases are not counted.";
        example ["1,024", "2,816"] => "8,650,752";

    head_size(
        hidden: Count "model width H",
        heads: Count "attention heads",
    ) -> Plain = hidden / heads;
        what "Width of one attention head if the heads split the model width.";
        source "Vaswani et al., Attention Is All You Need, 2017";
        misleads "Many families set the head size apart from H / heads.";
        example ["1,024", "16"] => "64";

    padded_vocabulary(
        vocabulary: Count "tokens in the tokenizer's vocabulary",
        multiple: Count "the multiple that the size is rounded up to",
    ) -> Plain = (vocabulary / multiple.clone()).ceil() * multiple;
        what "Rows of an embedding that is padded to a multiple.";
        source "Shoeybi et al., Megatron-LM, 2019";
        misleads "Padding rows are stored and counted as parameters, but no token reaches them.";
        example ["50,257", "128"] => "50,304";

    activation_rate(
        active: Auto "active parameters",
        total: Auto "all parameters",
    ) -> Plain = active / total;
        what "Active parameters as a share of all parameters.";
        source "definition";
        misleads "With or without embeddings it differs much for small models.";
        example ["1.3B", "6.9B"] => "19%";

    // Time and compute.

    tokens_per_second(
        tokens: Auto "tokens per step",
        milliseconds: Measured "time per step in milliseconds",
    ) -> Plain = tokens / (milliseconds / 1000);
        what "Throughput from the time of one step.";
        source "definition";
        misleads "Mean, median and fastest step differ, and evaluation or checkpoints may be \
            inside.";
        example ["524,288", "250.0"] => "2.10M";

    tokens_per_second_per_device(
        tokens_per_step: Auto "tokens per step, over all devices",
        ms_per_step: Measured "time per step in milliseconds",
        devices: Count "devices",
    ) -> Plain = tokens_per_step / (ms_per_step / 1000) / devices;
        what "Throughput of one device.";
        source "definition";
        misleads "It says nothing without the device's name and precision.";
        example ["524,288", "250.0", "8"] => "262K";

    step_average(
        time: Measured "time of all steps, in any unit",
        steps: Count "steps that were timed",
    ) -> Plain = time / steps;
        what "Mean time of a step, in the unit of the time.";
        source "definition";
        misleads "Untimed warmup steps belong to neither side.";
        example ["250.0", "1,000"] => "0.2500";

    total_time(
        step_average: Measured "mean time of a step, in any unit",
        steps: Count "steps that were timed",
    ) -> Plain = step_average * steps;
        what "Time of all steps, in the unit of the mean.";
        source "definition";
        misleads "A median in place of the mean leaves out the slow steps.";
        example ["0.2500", "1,000"] => "250.0";

    flops_per_token(
        tflops: Measured "achieved TFLOP/s of one device",
        tokens_per_second: Measured "tokens per second of one device",
    ) -> Plain = tflops * 1_000_000_000_000 / tokens_per_second;
        what "FLOPs per token by the source's own count.";
        source "definition, solved from FLOP/s = FLOPs per token × tokens per second";
        misleads "It returns the formula that the source counted with, not what the hardware \
            executed.";
        example ["400.0", "100.0k"] => "4.00e9";

    training_flops(
        params: Auto "parameters that one token is multiplied with, without the embedding table",
        layers: Count "layers with attention",
        heads: Count "attention heads of a layer",
        length: Count "tokens per sequence",
        head_sizes[many]: Count "sizes of a head: of query and key, of value",
    ) -> Plain = (params + layers * heads * length * head_sizes.total()) * 6;
        what "FLOPs per token, forward and backward: six for each parameter and for each product \
            of the attention scores.";
        source "Chowdhery et al., PaLM, 2022, appendix B (12·L·H·Q·T for equal head sizes)";
        misleads "It counts the whole square of scores, though a causal mask needs half of it; and \
            the head sizes must be those of the model that ran.";
        example ["100", "2", "4", "8", "16", "16"] => "12,888";

    achieved_tflops(
        tokens_per_second: Measured "tokens per second of one device",
        flops_per_token: Auto "FLOPs counted per token",
    ) -> Plain = tokens_per_second * flops_per_token / 1_000_000_000_000;
        what "TFLOP/s of one device.";
        source "definition";
        misleads "It follows the count of FLOPs per token, right or wrong.";
        example ["100,000", "4.00e9"] => "400";

    flops_difference(
        tflops_a: Measured "achieved TFLOP/s of a device in run a",
        tps_a: Measured "tokens per second of a device in run a",
        tflops_b: Measured "the same of run b",
        tps_b: Measured "the same of run b",
    ) -> Plain = (tflops_a / tps_a - tflops_b / tps_b) * 1_000_000_000_000;
        what "By how much the FLOPs per token of two runs differ.";
        source "`flops_per_token` of both runs";
        misleads "A small difference of two large numbers: few of its digits are left.";
        example ["400.0", "100,000", "300.0", "100,000"] => "1.00e9";

    six_times_difference(
        p_a: Auto "active parameters of model a",
        p_b: Auto "active parameters of model b",
    ) -> Plain = number(6) * (p_a - p_b);
        what "By how much the FLOPs per token of two models differ if each parameter costs six.";
        source "Kaplan et al., Scaling Laws for Neural Language Models, 2020 (C = 6·N·D)";
        misleads "Attention scores cost FLOPs without parameters, and input embeddings are \
            parameters without FLOPs.";
        example ["400M", "300M"] => "0.6B";

    flops_per_parameter(
        tflops_a: Measured "achieved TFLOP/s of a device in run a",
        tps_a: Measured "tokens per second of a device in run a",
        tflops_b: Measured "the same of run b",
        tps_b: Measured "the same of run b",
        p_a: Auto "active parameters of model a",
        p_b: Auto "active parameters of model b",
    ) -> Plain = (tflops_a / tps_a - tflops_b / tps_b) * 1_000_000_000_000 / (p_a - p_b);
        what "Difference of the FLOPs per token over difference of the active parameters: 6 where \
            the source counts 6·N and the rest is equal.";
        source "`flops_difference` over the parameters of `six_times_difference`";
        misleads "What both models share cancels, so a wrong term in both stays unseen.";
        example ["480.0", "100,000", "300.0", "100,000", "800,000,000", "500,000,000"] => "6.0";

    // Information.

    perplexity(nats: Measured "mean loss in nats per token") -> Plain = nats.exp();
        what "e to the loss.";
        source "Jelinek et al., Perplexity: a measure of the difficulty of speech recognition \
            tasks, 1977";
        misleads "Perplexities of different tokenizers are not comparable, and a mean of \
            perplexities is not the perplexity of the mean.";
        example ["3.28"] => "26.6";

    effective_experts(
        entropy: Measured "entropy of the expert loads in nats",
    ) -> Plain = entropy.exp();
        what "How many equally used experts have this entropy.";
        source "Hill, Diversity and evenness, 1973 (order 1)";
        misleads "A mean over layers is not e to the mean entropy.";
        example ["2.77"] => "16.0";

    bits_per_byte(
        nats: Measured "summed loss in nats",
        bytes: Auto "bytes of the same text",
    ) -> Plain = nats / (number(2).ln() * bytes);
        what "Loss in bits for each byte of text, whatever the tokenizer.";
        source "Gao et al., The Pile, 2020, section 3.1";
        misleads "Nats and bytes must cover the same text: masks, special tokens and padding \
            change one and not the other.";
        example ["1000.0", "1,500"] => "0.9618";
}
