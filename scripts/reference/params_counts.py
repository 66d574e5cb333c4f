"""Parameter counts of the reference implementation, built on the meta device.

    python scripts/reference/params_counts.py tests/corpus/params/*.json

Prints a line `file,total,active` for each config that transformers has a class for; ties count once, and what no
gradient reaches is left out. Active: all but the routed experts that a token does not use.
"""

import json
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

RENAMED = {"kimi_k2": "deepseek_v3", "minimax_text_01": "minimax"}
EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
USED = ("num_experts_per_tok", "moe_topk", "moe_k")


def first(config, names):
    values = (getattr(config, name, None) for name in names)
    value = next((value for value in values if value), 1)
    return value[0] if isinstance(value, list) else value


def config_of(table):
    table = table.get("text_config", table)
    kind = RENAMED.get(table["model_type"], table["model_type"])
    if "attn_type_list" in table:
        words = ["linear_attention", "full_attention"]
        table = {**table, "layer_types": [words[kind] for kind in table["attn_type_list"]]}
    fields = {key: value for key, value in table.items() if key not in ("model_type", "architectures")}
    if kind.startswith("hunyuan"):
        fields.setdefault("rope_theta", 10_000.0)
    return CONFIG_MAPPING[kind](**fields)


def counts(table):
    config = config_of(table)
    if config.model_type == "dbrx":
        config.attn_config.rope_theta = 500_000.0
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    experts, used = config, config
    if config.model_type == "dbrx":
        experts = used = config.ffn_config
        e, k = experts.moe_num_experts, used.moe_top_k
    else:
        e, k = first(experts, EXPERTS), first(used, USED)
    total = routed = 0
    for name, parameter in model.named_parameters():
        if name.endswith("e_score_correction_bias"):
            continue
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
        print(f"{name},%d,%d" % counts(table))
    except Exception as error:  # the class is missing, or refuses the config
        print(f"# {name}: {type(error).__name__}: {str(error)[:200]}")
