"""Parameter counts of the reference implementation, built on the meta device.

    python scripts/reference/params_counts.py tests/corpus/params/*.json

Prints a line `file,total,active` for each config that transformers has a class for: that of its `architectures`, else the first that has
a head. A tied matrix counts once. What is registered as a parameter counts, whether a gradient reaches it or not (ERNIE's
`e_score_correction_bias`); what is a buffer does not (DeepSeek-V3's). Active: all but the routed experts that a token does not use.
"""

import json
import sys

import torch
import transformers
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForSeq2SeqLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

RENAMED = {"kimi_k2": "deepseek_v3", "minimax_text_01": "minimax"}
EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
USED = ("num_experts_per_tok", "moe_topk", "moe_k", "top_k_experts")
AUTO = (AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForSeq2SeqLM, AutoModel)


def first(config, names):
    values = (getattr(config, name, None) for name in names)
    value = next((value for value in values if value), 1)
    return value[0] if isinstance(value, list) else value


def config_of(table):
    kind = RENAMED.get(table["model_type"], table["model_type"])
    if "attn_type_list" in table:
        words = ["linear_attention", "full_attention"]
        table = {**table, "layer_types": [words[kind] for kind in table["attn_type_list"]]}
    fields = {key: value for key, value in table.items() if key not in ("model_type", "quantization_config")}
    if kind.startswith("hunyuan"):
        fields.setdefault("rope_theta", 10_000.0)
    return CONFIG_MAPPING[kind].from_dict(fields)


def class_of(table, config):
    for name in table.get("architectures") or []:
        if hasattr(transformers, name):
            return getattr(transformers, name)
    found = next(auto._model_mapping[type(config)] for auto in AUTO if type(config) in auto._model_mapping)
    return found[0] if isinstance(found, (list, tuple)) else found


def counts(table):
    config = config_of(table)
    if config.model_type == "dbrx":
        config.attn_config.rope_theta = 500_000.0
    with torch.device("meta"):
        model = class_of(table, config)._from_config(config)
    model.tie_weights()
    text = config.get_text_config()
    if config.model_type == "dbrx":
        e, k = config.ffn_config.moe_num_experts, config.ffn_config.moe_top_k
    else:
        e, k = first(text, EXPERTS), first(text, USED)
    total = routed = 0
    for name, parameter in model.named_parameters():
        total += parameter.numel()
        if ".experts." in name:
            routed += parameter.numel()
    return total, total - routed + routed // e * k


transformers.logging.set_verbosity_error()
print(f"# transformers {transformers.__version__}, torch {torch.__version__}")
for path in sys.argv[1:]:
    with open(path) as file:
        table = json.load(file)
    name = path.rsplit("/", 1)[-1]
    try:
        print(f"{name},%d,%d" % counts(table), flush=True)
    except Exception as error:  # the class is missing, or refuses the config
        print(f"# {name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
